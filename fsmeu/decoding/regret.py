"""``regret``: how much a hypothesis gives away against the best one under a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsmeu.decoding.decision import Decision
from fsmeu.decoding.decode import DecisionOptions, decode
from fsmeu.expectation.expect import expect
from fsmeu.expectation.result import Expectation
from fsmeu.losses.protocol import LossLike, as_loss, takes_loss
from fsmeu.models import HypothesisLike, ModelLike

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False)
class Regret:
    """What a hypothesis gives away.

    Attributes:
        value: the difference between the best expected value that was found and that of the
            hypothesis, at least 0 up to rounding where ``best`` is exact.
        lower: the regret is at least this.
        upper: the regret is at most this.
        expectation: the expected value of the hypothesis.
        best: the decision that it is compared with.
    """

    value: float
    lower: float
    upper: float
    expectation: Expectation
    best: Decision

    def __float__(self) -> float:
        return self.value


@takes_loss
def regret(
    loss: LossLike, z: HypothesisLike, model: ModelLike, **options: Unpack[DecisionOptions]
) -> Regret:
    """How much the hypothesis z gives away against the best sequence under the model.

    Args:
        loss: a loss or utility, or its name or path as ``load`` takes it.
        z: the hypothesis; its expected value must be defined.
        model: a label model; a sequence of probabilities stands for ``Bernoulli``.
        options: those of ``decode``; with a ``constraint``, the best among what it allows, so that
            the regret of a hypothesis that it does not allow may be negative.

    >>> round(regret("fscore", [1, 0, 0], [0.9, 0.5, 0.3]).value, 4)
    0.0488
    """
    chosen = as_loss(loss, "regret")
    best = decode(chosen, model, **options)
    own = expect(chosen, z, model)
    if chosen.kind == "utility":
        return Regret(
            best.value - own.value, best.lower - own.upper, best.upper - own.lower, own, best
        )
    return Regret(own.value - best.value, own.lower - best.upper, own.upper - best.lower, own, best)
