"""The public names and the modules that define them: ``__init__.py`` reads them here."""

from fsmeu import learning as learning
from fsmeu import models as models
from fsmeu import searn as searn
from fsmeu.decoding.corpus import decode_corpus as decode_corpus
from fsmeu.decoding.decode import decode as decode
from fsmeu.decoding.decode import decode_many as decode_many
from fsmeu.decoding.decode import explain as explain
from fsmeu.drawing.draw import draw as draw
from fsmeu.drawing.pages import explore as explore
from fsmeu.drawing.plots import plot_hypotheses as plot_hypotheses
from fsmeu.drawing.plots import plot_levels as plot_levels
from fsmeu.errors import FsmeuError as FsmeuError
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
from fsmeu.fst import tags as _tags
from fsmeu.losses.loss import library as library
from fsmeu.losses.loss import load as load
from fsmeu.losses.loss import loads as loads
from fsmeu.losses.protocol import evaluate as evaluate
from fsmeu.losses.protocol import evaluate_corpus as evaluate_corpus
from fsmeu.losses.protocol import evaluate_many as evaluate_many
from fsmeu.losses.protocol import evaluate_outputs as evaluate_outputs
from fsmeu.losses.protocol import function_loss as function_loss
from fsmeu.losses.sum_over_paths import compile_summed as compile_summed
from fsmeu.models.derived import calibrate as calibrate

__version__: str
_HOMES: dict[str, str]
constraints = _tags
