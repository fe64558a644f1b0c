"""Label models: probability distributions over label sequences, read as automata."""

from fsmeu.models.base import Model, Parametrized
from fsmeu.models.independent import Bernoulli, Independent
from fsmeu.models.markov import Markov
from fsmeu.models.potentials import Potentials, from_potentials

__all__ = [
    "Bernoulli",
    "Independent",
    "Markov",
    "Model",
    "Parametrized",
    "Potentials",
    "from_potentials",
]
