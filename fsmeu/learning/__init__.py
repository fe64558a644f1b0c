"""Learning for a utility: estimators with the interface of scikit-learn.

They are loaded on demand (``fsmeu.learning``), because scikit-learn takes a while to load.
"""
