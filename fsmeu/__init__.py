"""fsmeu: finite-state maximum expected utility.

A loss over label sequences is a two-tape automaton; its expectation under a label model is a
shortest distance in a composition; the best decision is a query of the same composition.
"""

__version__ = "0.1.0"
