"""Learning for a utility: estimators with the interface of scikit-learn.

They are loaded on demand (``import fsmeu.learning``), because scikit-learn takes a while to load.
"""

from fsmeu.learning.cross_validation import cross_val_models
from fsmeu.learning.expected_utility import MaxExpectedFClassifier, MaxExpectedUtilityClassifier
from fsmeu.learning.online import FOFOClassifier, OFOClassifier, OnlineLogisticClassifier
from fsmeu.learning.plug_in import DTAClassifier, EUMClassifier, ExampleWiseClassifier
from fsmeu.learning.prior import ShareWarning
from fsmeu.learning.saving import load, save
from fsmeu.learning.tagger import MaxExpectedUtilityTagger

__all__ = [
    "DTAClassifier",
    "EUMClassifier",
    "ExampleWiseClassifier",
    "FOFOClassifier",
    "MaxExpectedFClassifier",
    "MaxExpectedUtilityClassifier",
    "MaxExpectedUtilityTagger",
    "OFOClassifier",
    "OnlineLogisticClassifier",
    "ShareWarning",
    "cross_val_models",
    "load",
    "save",
]
