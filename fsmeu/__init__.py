"""fsmeu: finite-state maximum expected utility.

A loss over label sequences is a two-tape automaton; its expectation under a label model is a
shortest distance in a composition; the best decision is a query of the same composition.

- ``load``, ``loads``, ``library``, ``function_loss``: losses built in, of a file, a text, Python
- ``evaluate``, ``evaluate_many``, ``evaluate_corpus``: the value of a pair of sequences, of each of
  many, or of a corpus
- ``evaluate_outputs``: the further outputs that a file names beside its value
- ``constraints``: sets of label sequences (``bio``, ...), for ``decode`` and ``model.given``
- ``models``: label models (``Bernoulli``, ``Markov``, ``from_potentials``, ``NBest``, ...)
- ``expect``, ``expect_many``, ``compose``: expectations and the machines behind them
- ``expect_corpus``: the expected value of a corpus, counts summed over its sentences
- ``compile_summed``: a smaller machine, whose paths add up to the value
- ``gradient``, ``value_and_gradient``: derivatives with respect to a model's parameters
- ``decode``, ``decode_many``, ``explain``: the best label sequence, with or without a proof
- ``decode_corpus``: the best label sequences for the value of a corpus, with bounds of it
- ``learning``, ``searn``: estimators, and search-based structured prediction
- ``calibrate``: the temperature of models at which held-out references are most probable
- ``draw``, ``explore``, ``plot_levels``, ``plot_hypotheses``: pictures, pages and plots
- ``to_networkx``, ``from_networkx``, ``to_openfst``, ``from_openfst``: machines for other tools
- ``FsmeuError``: the root of everything raised on purpose
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsmeu import learning, models, searn
    from fsmeu.decoding.corpus import decode_corpus
    from fsmeu.decoding.decode import decode, explain
    from fsmeu.decoding.decode_many import decode_many
    from fsmeu.drawing.draw import draw
    from fsmeu.drawing.pages.explore import explore
    from fsmeu.drawing.plots import plot_hypotheses, plot_levels
    from fsmeu.errors import FsmeuError
    from fsmeu.exchange.networkx_graph import from_networkx, to_networkx
    from fsmeu.exchange.openfst import from_openfst, to_openfst
    from fsmeu.expectation.composition import compose
    from fsmeu.expectation.corpus import expect_corpus
    from fsmeu.expectation.expect import expect
    from fsmeu.expectation.expect_many import expect_many
    from fsmeu.expectation.gradient import gradient, value_and_gradient
    from fsmeu.fst import tags as constraints
    from fsmeu.losses.corpus import evaluate_corpus, evaluate_many
    from fsmeu.losses.evaluate import evaluate
    from fsmeu.losses.function import function_loss
    from fsmeu.losses.library import library, load, loads
    from fsmeu.losses.outputs import evaluate_outputs
    from fsmeu.losses.sum_over_paths import compile_summed
    from fsmeu.models.derived import calibrate

__version__ = "0.1.0"

_ROOMS = {
    "constraints": "fsmeu.fst.tags",
    "learning": "fsmeu.learning",
    "models": "fsmeu.models",
    "searn": "fsmeu.searn",
}
"""Packages and modules that are names of the package themselves."""

_HOMES = {
    "FsmeuError": "fsmeu.errors",
    "calibrate": "fsmeu.models.derived",
    "compile_summed": "fsmeu.losses.sum_over_paths",
    "compose": "fsmeu.expectation.composition",
    "decode": "fsmeu.decoding.decode",
    "decode_corpus": "fsmeu.decoding.corpus",
    "decode_many": "fsmeu.decoding.decode_many",
    "draw": "fsmeu.drawing.draw",
    "evaluate": "fsmeu.losses.evaluate",
    "evaluate_corpus": "fsmeu.losses.corpus",
    "evaluate_many": "fsmeu.losses.corpus",
    "evaluate_outputs": "fsmeu.losses.outputs",
    "expect": "fsmeu.expectation.expect",
    "expect_corpus": "fsmeu.expectation.corpus",
    "expect_many": "fsmeu.expectation.expect_many",
    "explain": "fsmeu.decoding.decode",
    "explore": "fsmeu.drawing.pages.explore",
    "from_networkx": "fsmeu.exchange.networkx_graph",
    "from_openfst": "fsmeu.exchange.openfst",
    "function_loss": "fsmeu.losses.function",
    "gradient": "fsmeu.expectation.gradient",
    "library": "fsmeu.losses.library",
    "load": "fsmeu.losses.library",
    "loads": "fsmeu.losses.library",
    "plot_hypotheses": "fsmeu.drawing.plots",
    "plot_levels": "fsmeu.drawing.plots",
    "to_networkx": "fsmeu.exchange.networkx_graph",
    "to_openfst": "fsmeu.exchange.openfst",
    "value_and_gradient": "fsmeu.expectation.gradient",
}
"""Where each name lives. Modules are loaded when a name is first asked for: a command that only
shows help need not load OpenFst."""


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        found: Any = import_module(_ROOMS[name])
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        message = f"module 'fsmeu' has no attribute {name!r}"
        raise AttributeError(message)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "FsmeuError",
    "__version__",
    "calibrate",
    "compile_summed",
    "compose",
    "constraints",
    "decode",
    "decode_corpus",
    "decode_many",
    "draw",
    "evaluate",
    "evaluate_corpus",
    "evaluate_many",
    "evaluate_outputs",
    "expect",
    "expect_corpus",
    "expect_many",
    "explain",
    "explore",
    "from_networkx",
    "from_openfst",
    "function_loss",
    "gradient",
    "learning",
    "library",
    "load",
    "loads",
    "models",
    "plot_hypotheses",
    "plot_levels",
    "searn",
    "to_networkx",
    "to_openfst",
    "value_and_gradient",
]
