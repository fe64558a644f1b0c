"""Online learners: ``partial_fit``, predictions before labels, a running measure, constant memory.

In the order of the data flow: ``state`` (what is remembered), ``kernels`` (how learners decide and
learn, in one loop over examples), ``base``, ``classifiers``, and ``streaming`` (a learner's measure
against the examples it has seen).
"""

from fsmeu.learning.online.classifiers import (
    FOFOClassifier,
    OFOClassifier,
    OMCSLClassifier,
    OnlineLogisticClassifier,
    STAMPClassifier,
)

__all__ = [
    "FOFOClassifier",
    "OFOClassifier",
    "OMCSLClassifier",
    "OnlineLogisticClassifier",
    "STAMPClassifier",
]
