"""Online learners: ``partial_fit``, predictions before labels, a running measure, constant memory.

In the order of the data flow: ``state`` (what is remembered), ``rules`` (how each learner decides
and learns), ``loops`` (the loop over examples, by numpy or compiled), ``base``, the estimators, and
``streaming`` (a learner's measure against the examples it has seen).
"""

from fsmeu.learning.online.costs import OMCSLClassifier, STAMPClassifier
from fsmeu.learning.online.fofo import FOFOClassifier
from fsmeu.learning.online.probabilistic import OFOClassifier, OnlineLogisticClassifier

__all__ = [
    "FOFOClassifier",
    "OFOClassifier",
    "OMCSLClassifier",
    "OnlineLogisticClassifier",
    "STAMPClassifier",
]
