"""fsmeu: finite-state maximum expected utility.

A loss over label sequences is a two-tape automaton; its expectation under a label model is a
shortest distance in a composition; the best decision is a query of the same composition.

- ``load``, ``loads``, ``library``, ``function_loss``: losses built in, of a file, a text, Python
- ``evaluate``, ``evaluate_many``, ``evaluate_corpus``: the value of a pair of sequences, of each of
  many, or of a corpus
- ``evaluate_outputs``: the further outputs that a file names beside its value
- ``constraints``: sets of label sequences (``bio``, ``min_gap``, ...), for ``decode`` and
  ``model.given``
- ``models``: label models (``Bernoulli``, ``Markov``, ``from_potentials``, ``NBest``, ...)
- ``expect``, ``expect_many``, ``compose``: expectations and the machines behind them
- ``expect_corpus``: the expected value of a corpus, counts summed over its sentences
- ``compile_summed``: a smaller machine, whose paths add up to the value
- ``gradient``, ``value_and_gradient``: derivatives with respect to a model's parameters
- ``decode``, ``decode_many``, ``explain``: the best label sequence, with or without a proof
- ``decode_corpus``: the best label sequences for the value of a corpus, with bounds of it
- ``consensus``: the best answer against samples of it: sequences, sets of labels, sets of spans
- ``learning``, ``searn``: estimators, and search-based structured prediction
- ``testing``: checks of label models and losses of one's own, against enumeration
- ``calibrate``: the temperature of models at which held-out references are most probable
- ``draw``, ``explore``, ``plot_levels``, ``plot_hypotheses``: pictures, pages and plots
- ``plot_calibration``: what models expect of decisions against what comes out
- ``to_networkx``, ``from_networkx``, ``to_openfst``, ``from_openfst``: machines for other tools
- ``LossLike``, ``ModelLike``, ``HypothesisLike``, ``ConstraintLike``, ``Progress``: types of what
  functions take
- ``FsmeuError``: the root of everything raised on purpose
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsmeu import constraints, learning, models, searn, testing
    from fsmeu.checking.report import Report as Report
    from fsmeu.checking.report import check as check
    from fsmeu.decoding.consensus import consensus as consensus
    from fsmeu.decoding.corpus import decode_corpus as decode_corpus
    from fsmeu.decoding.decision import CorpusDecision as CorpusDecision
    from fsmeu.decoding.decision import Decision as Decision
    from fsmeu.decoding.decision import explain as explain
    from fsmeu.decoding.decode import decode as decode
    from fsmeu.decoding.decode import decode_many as decode_many
    from fsmeu.decoding.regret import Regret as Regret
    from fsmeu.decoding.regret import regret as regret
    from fsmeu.drawing.draw import draw as draw
    from fsmeu.drawing.pages import explore as explore
    from fsmeu.drawing.plots import plot_calibration as plot_calibration
    from fsmeu.drawing.plots import plot_hypotheses as plot_hypotheses
    from fsmeu.drawing.plots import plot_levels as plot_levels
    from fsmeu.errors import EmptyError as EmptyError
    from fsmeu.errors import FsmeuError as FsmeuError
    from fsmeu.errors import FstError as FstError
    from fsmeu.errors import InputError as InputError
    from fsmeu.errors import LossFileError as LossFileError
    from fsmeu.errors import MissingExtra as MissingExtra
    from fsmeu.errors import SizeLimitError as SizeLimitError
    from fsmeu.exchange.networkx_graph import from_networkx as from_networkx
    from fsmeu.exchange.networkx_graph import to_networkx as to_networkx
    from fsmeu.exchange.openfst import from_openfst as from_openfst
    from fsmeu.exchange.openfst import to_openfst as to_openfst
    from fsmeu.expectation.composition import compose as compose
    from fsmeu.expectation.corpus import expect_corpus as expect_corpus
    from fsmeu.expectation.expect import expect as expect
    from fsmeu.expectation.expect import expect_many as expect_many
    from fsmeu.expectation.expect import gradient as gradient
    from fsmeu.expectation.expect import value_and_gradient as value_and_gradient
    from fsmeu.expectation.expect import value_and_gradient_many as value_and_gradient_many
    from fsmeu.expectation.result import Expectation as Expectation
    from fsmeu.expectation.result import Expectations as Expectations
    from fsmeu.fst.constraint import ConstraintLike as ConstraintLike
    from fsmeu.losses.function import function_loss as function_loss
    from fsmeu.losses.loss import library as library
    from fsmeu.losses.loss import load as load
    from fsmeu.losses.loss import loads as loads
    from fsmeu.losses.protocol import Loss as Loss
    from fsmeu.losses.protocol import LossLike as LossLike
    from fsmeu.losses.protocol import evaluate as evaluate
    from fsmeu.losses.protocol import evaluate_corpus as evaluate_corpus
    from fsmeu.losses.protocol import evaluate_many as evaluate_many
    from fsmeu.losses.protocol import evaluate_outputs as evaluate_outputs
    from fsmeu.losses.sum_over_paths import compile_summed as compile_summed
    from fsmeu.models.base import HypothesisLike as HypothesisLike
    from fsmeu.models.base import Model as Model
    from fsmeu.models.base import ModelLike as ModelLike
    from fsmeu.models.derived import calibrate as calibrate
    from fsmeu.progress import Progress as Progress

__version__ = "1.0.0"

# Where modules and other names live. They are loaded when a name is first asked for: a command that
# only shows help need not load OpenFst.
_ROOMS = {
    name: f"fsmeu.{name}" for name in ("constraints", "learning", "models", "searn", "testing")
}
_HOMES = {
    name: f"fsmeu.{module}"
    for module, names in {
        "decoding.consensus": "consensus",
        "decoding.corpus": "decode_corpus",
        "decoding.decision": "CorpusDecision Decision explain",
        "decoding.decode": "decode decode_many",
        "decoding.regret": "Regret regret",
        "checking.report": "Report check",
        "drawing.draw": "draw",
        "drawing.pages": "explore",
        "drawing.plots": "plot_calibration plot_hypotheses plot_levels",
        "errors": (
            "EmptyError FsmeuError FstError InputError LossFileError MissingExtra SizeLimitError"
        ),
        "exchange.networkx_graph": "from_networkx to_networkx",
        "exchange.openfst": "from_openfst to_openfst",
        "expectation.composition": "compose",
        "expectation.corpus": "expect_corpus",
        "expectation.expect": (
            "expect expect_many gradient value_and_gradient value_and_gradient_many"
        ),
        "expectation.result": "Expectation Expectations",
        "fst.constraint": "ConstraintLike",
        "losses.loss": "library load loads",
        "losses.function": "function_loss",
        "losses.protocol": "Loss LossLike evaluate evaluate_corpus evaluate_many evaluate_outputs",
        "losses.sum_over_paths": "compile_summed",
        "models.base": "HypothesisLike Model ModelLike",
        "models.derived": "calibrate",
        "progress": "Progress",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS.keys() | _HOMES.keys():
        raise AttributeError(f"module 'fsmeu' has no attribute {name!r}")
    module = import_module(_ROOMS.get(name) or _HOMES[name])
    globals()[name] = result = module if name in _ROOMS else getattr(module, name)
    return result


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = ["__version__", "constraints", "learning", "models", "searn", "testing", *_HOMES]
