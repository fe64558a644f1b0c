"""Label models: probability distributions over label sequences, read as automata.

Models, each a frozen dataclass whose ``layered()`` is an acyclic acceptor in layers:

- ``Bernoulli(p)``, ``Independent(probabilities, labels)``: independent labels, and
  ``Markov(initial, transition, n, labels)``: chains of any order; ``as_model(x)``: what may stand
  for a model (``chains``)
- ``Potentials(unary, pairwise, labels)``, also ``from_potentials``: linear-chain conditional random
  fields (``potentials``)
- ``NBest(sequences, weights)``: n-best lists, as a trie; ``Acceptor(fst, labels)``: any acyclic
  OpenFst acceptor; ``Mixture(models, weights)`` (``lattices``)
- ``from_samples(samples)``: samples of one answer: sequences, sets of labels, sets of spans
  (``samples``)
- ``hmm(initial, transition, emission, observations)``: posterior of hidden labels;
  ``from_logits(logits, labels)``, ``from_crfsuite(crf, features)``,
  ``from_hmmlearn(model, observations)``: models of other tools; ``from_json(x)``: models from
  files (``adapters``)
- ``model.given(constraint)``, ``tempered(model, temperature)``, ``calibrate(models, references)``:
  models made of models (``derived``)

Questions, each a function of layers with a method of the same name on every model: ``probability``,
``log_probability``, ``marginals``, ``sample``, ``most_probable``; and the distances behind them
(``paths``). ``Parametrized`` models pull derivatives back to their parameters (``base``).
"""

from fsmeu.models.adapters import from_crfsuite, from_hmmlearn, from_json, from_logits, hmm
from fsmeu.models.base import Gradient, HypothesisLike, Model, ModelLike, Parametrized
from fsmeu.models.chains import Bernoulli, Independent, Markov, as_model
from fsmeu.models.derived import calibrate, tempered
from fsmeu.models.lattices import Acceptor, Mixture, NBest
from fsmeu.models.potentials import Potentials, from_potentials
from fsmeu.models.samples import from_samples

__all__ = [
    "Acceptor",
    "Bernoulli",
    "Gradient",
    "HypothesisLike",
    "Independent",
    "Markov",
    "Mixture",
    "Model",
    "ModelLike",
    "NBest",
    "Parametrized",
    "Potentials",
    "as_model",
    "calibrate",
    "from_crfsuite",
    "from_hmmlearn",
    "from_json",
    "from_logits",
    "from_potentials",
    "from_samples",
    "hmm",
    "tempered",
]
