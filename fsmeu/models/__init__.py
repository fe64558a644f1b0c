"""Label models: probability distributions over label sequences, read as automata.

Models, each a frozen dataclass whose ``layered()`` is an acyclic acceptor in layers:

- ``Bernoulli(p)``, ``Independent(probabilities, labels)``: independent labels (``independent``)
- ``Markov(initial, transition, n, labels)``: chains of any order (``markov``)
- ``Potentials(unary, pairwise, labels)``, also ``from_potentials``: linear-chain conditional random
  fields (``potentials``, arithmetic in ``chain``)
- ``hmm(initial, transition, emission, observations)``: posterior of hidden labels (``hidden``)
- ``NBest(sequences, weights)``: n-best lists, as a trie (``nbest``)
- ``Acceptor(fst, labels)``: any acyclic OpenFst acceptor (``acceptor``)
- ``Mixture(models, weights)``: mixtures (``mixture``)
- ``as_model(x)``: what may stand for a model (``coerce``); ``from_json(x)``: models from files
  (``interchange``, ``layers_json``)

Questions, each a function of layers with a method of the same name on every model:

- ``probability``, ``log_probability``, ``marginals`` (``marginals``)
- ``sample`` (``sample``), ``most_probable`` (``most_probable``, ``best_first``)
- ``forward``, ``backward``, ``total``, ``log_total``, ``normalize`` (``distances``)
- ``dense_tables`` (``dense``)

``Model``, and ``Parametrized``, which can pull derivatives back to its parameters, are in ``base``;
there is ``layered_many(models)``, too, which builds the layers of many models together. What is
asked of numbers and sizes is in ``checks``.
"""

from fsmeu.models.acceptor import Acceptor
from fsmeu.models.base import Gradient, Model, Parametrized, layered_many, marginals_many
from fsmeu.models.checks import MAX_ARCS
from fsmeu.models.coerce import as_model
from fsmeu.models.dense import dense_tables
from fsmeu.models.distances import backward, forward, log_total, normalize, total
from fsmeu.models.hidden import hmm
from fsmeu.models.independent import Bernoulli, Independent
from fsmeu.models.interchange import from_json
from fsmeu.models.markov import Markov
from fsmeu.models.mixture import Mixture
from fsmeu.models.nbest import NBest
from fsmeu.models.potentials import Potentials, from_potentials

__all__ = [
    "MAX_ARCS",
    "Acceptor",
    "Bernoulli",
    "Gradient",
    "Independent",
    "Markov",
    "Mixture",
    "Model",
    "NBest",
    "Parametrized",
    "Potentials",
    "as_model",
    "backward",
    "dense_tables",
    "forward",
    "from_json",
    "from_potentials",
    "hmm",
    "layered_many",
    "log_total",
    "marginals_many",
    "normalize",
    "total",
]
