"""fsmeu: finite-state maximum expected utility.

A loss over label sequences is a two-tape automaton; its expectation under a label model is a
shortest distance in a composition; the best decision is a query of the same composition.

- ``load``, ``loads``, ``library``, ``function_loss``: losses from the shelf, a file, a text, Python
- ``evaluate``: the value of one pair of sequences
- ``models``: label models (``Bernoulli``, ``Markov``, ``from_potentials``, ``NBest``, ...)
- ``expect``, ``expect_many``, ``compose``: expectations and the machines behind them
- ``gradient``, ``value_and_gradient``: derivatives with respect to a model's parameters
- ``decode``, ``decode_many``, ``explain``: the best label sequence, with or without a proof
- ``FsmeuError``: the root of everything raised on purpose
"""

from fsmeu import models
from fsmeu.decoding.decode import decode, explain
from fsmeu.decoding.many import decode_many
from fsmeu.errors import FsmeuError
from fsmeu.expectation.expect import compose, expect
from fsmeu.expectation.gradient import gradient, value_and_gradient
from fsmeu.expectation.many import expect_many
from fsmeu.losses.library import library, load, loads
from fsmeu.losses.loss import evaluate, function_loss

__version__ = "0.1.0"

__all__ = [
    "FsmeuError",
    "__version__",
    "compose",
    "decode",
    "decode_many",
    "evaluate",
    "expect",
    "expect_many",
    "explain",
    "function_loss",
    "gradient",
    "library",
    "load",
    "loads",
    "models",
    "value_and_gradient",
]
