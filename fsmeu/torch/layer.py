"""``ExpectedScore``: the exact expected value of a loss as a layer of a neural network."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fsmeu.errors import InputError, LossFileError, check_bool, one_of
from fsmeu.losses.protocol import Loss, LossLike, as_loss, check_totals
from fsmeu.torch import inputs
from fsmeu.torch.by_engine import References, engine_values
from fsmeu.torch.core import TableScore
from fsmeu.torch.derive import Derivation, NoTables, derive
from fsmeu.torch.plan import Plan, plan_of
from fsmeu.torch.tables import ScoreTables, walk_tags
from fsmeu.torch.values import Case, distinct_cases, lanes_of

REDUCTIONS = ("mean", "sum", "none")
_WHERE = "ExpectedScore"
_LEFT_OUT = {torch.float64: 1e-13, torch.float32: 1e-7}  # by sums of exponentials, as a part


class ExpectedScore(nn.Module):
    """The expectation over the model's label sequences z of loss(z, y), for given tags y.

    The model is a linear chain: z has the score sum of emissions[z_i] and of transitions between
    neighbours, and a probability proportional to its exponential. Values and derivatives are exact
    up to rounding; nothing is sampled. A utility is to be maximised: train with its negative.

    Which algorithm runs follows from the text of the loss: sweeps side by side on the device of the
    emissions where the loss has tables (``tables``), else the engine on the CPU, and ``why`` says
    what does not hold.

    Args:
        loss: a loss or utility, or its name or path as ``fsmeu.load`` takes it. Its labels, in
            their order, are what the last axis of emissions stands for.
        corpus: whether the batch is one corpus, whose counts are summed before the value is taken
            (micro-averaged); the result is then one number.
        reduction: "mean", "sum" or "none" (one number a sequence).
        sums: the precision of sums over positions. float32 is silently wrong where scores are
            spread over more than 80.

    Attributes:
        loss: the loss.
        why: what keeps the loss from having tables; nothing where it has them.

    >>> score = ExpectedScore("fscore")
    >>> logits = torch.zeros(1, 3, requires_grad=True)
    >>> value = score(logits, torch.tensor([[1, 0, 0]]))
    >>> round(value.item(), 4)
    0.3958
    """

    def __init__(
        self,
        loss: LossLike,
        corpus: bool = False,
        reduction: str = "mean",
        sums: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        self.loss: Loss = as_loss(loss, _WHERE)
        self.corpus = check_bool(_WHERE, "corpus", corpus)
        self.reduction = one_of(_WHERE, "reduction", reduction, REDUCTIONS)
        if sums not in _LEFT_OUT:
            must = "sums must be torch.float64 or torch.float32"
            raise InputError(_WHERE, must, given=sums)
        self.sums = sums
        if self.loss.requirement:
            must = (
                "the loss must be defined for all label sequences, as the model draws any of them"
            )
            raise InputError(_WHERE, must, given=f"one in which {self.loss.requirement}")
        if self.corpus:
            check_totals(self.loss, _WHERE)
        found = self.loss.derived.get("torch tables", lambda: _derived(self.loss))
        self.why = found if isinstance(found, str) else ""
        self._derivation = None if isinstance(found, str) else found
        self._core = None if self._derivation is None else TableScore(self._derivation.tables, sums)

    @property
    def tables(self) -> ScoreTables | None:
        """The tables of the loss; None where it has none, and the engine is asked."""
        return None if self._derivation is None else self._derivation.tables

    def plan(self, tags: Tensor, mask: Tensor | None = None) -> Plan | References:
        """What follows from tags (B, n) and a mask (B, n): made once, given to ``forward`` as tags.

        It is made on the CPU. ``to`` moves it to a device; ``forward`` does so where it must.

        Args:
            tags: label indices; what they are at padding does not matter.
            mask: True at tokens, False behind them; None where all sequences have n tokens.
        """
        known, lengths = inputs.check_tags(_WHERE, tags, mask, len(self.loss.alphabet))
        why = self.why
        if self._derivation is not None:
            try:
                return self._planned(self._derivation, known, lengths)
            except NoTables as error:
                why = str(error)
            except LossFileError as error:
                why = f"the value has none for some counts: {error}"
        if self.corpus:
            must = "the value of a corpus must have a generating function (lanes)"
            raise InputError(_WHERE, must, given=f"a loss of which {why}")
        return References(known, lengths)

    def _planned(self, derivation: Derivation, tags: Tensor, lengths: Tensor) -> Plan:
        """The plan of tags, where lanes serve the loss."""
        eps = _LEFT_OUT[self.sums]
        indices = tags.numpy()
        sizes = lengths.numpy()
        given = walk_tags(derivation.tables, indices, sizes).given
        if not self.corpus:
            cases, places = distinct_cases(sizes, given)
            return plan_of(
                derivation.tables, indices, sizes, lanes_of(derivation, cases, eps), places
            )
        whole = Case(int(sizes.sum()), tuple(given.sum(axis=0).tolist()))
        places = np.zeros(len(sizes), np.int64)
        lanes = lanes_of(derivation, [whole], eps)
        plan = plan_of(derivation.tables, indices, sizes, lanes, places)
        return replace(plan, weights=plan.weights[:1], is_corpus=True)

    def forward(
        self,
        emissions: Tensor,
        tags: Tensor | Plan | References,
        mask: Tensor | None = None,
        transitions: Tensor | None = None,
        start: Tensor | None = None,
        end: Tensor | None = None,
    ) -> Tensor:
        """The expected value: one number, or (B,) with reduction="none", in the emissions' type.

        Args:
            emissions: scores (B, n, L), or (B, n) logits of the second of two labels.
            tags: the label indices of y, (B, n), or what ``plan`` made of them.
            mask: True at tokens, False behind them, (B, n); None where ``tags`` is a plan.
            transitions: scores of a label (last axis) after another, (L, L), or (B, n - 1, L, L) by
                sequence and position; None for independent labels.
            start: scores of first labels, (L,).
            end: scores of last labels, (L,).
        """
        scores = inputs.check_emissions(_WHERE, emissions, len(self.loss.alphabet))
        plan = self._plan_of(tags, mask, scores)
        if transitions is not None:
            transitions = inputs.check_transitions(_WHERE, transitions, scores)
        scores = _with_ends(scores, plan, start, end)
        if isinstance(plan, Plan):
            assert self._core is not None
            values = self._core(scores, plan, transitions)
        else:
            moves = scores.new_zeros(scores.shape[2], scores.shape[2])
            moves = moves if transitions is None else transitions
            values = engine_values(self.loss, plan, scores, moves)
        inputs.check_results(_WHERE, values, inputs.Scores(scores, transitions))
        return self._reduced(values).to(emissions.dtype)

    def _plan_of(self, tags: Any, mask: Tensor | None, scores: Tensor) -> Plan | References:
        """The plan that was given, or one of the tags that were."""
        if not isinstance(tags, Plan | References):
            tags = self.plan(tags, mask)
        elif mask is not None:
            must = "a plan knows the mask that it was made with"
            raise InputError(_WHERE, must, given="another mask beside it", remedy="Leave it out")
        if tags.shape != tuple(scores.shape[:2]):
            must = f"emissions and tags must have the same sequences and positions, {tags.shape}"
            raise InputError(_WHERE, must, given=tuple(scores.shape))
        return tags

    def _reduced(self, values: Tensor) -> Tensor:
        """The mean, the sum, or all values; a corpus has one."""
        if self.reduction == "none" or self.corpus:
            return values
        return values.mean() if self.reduction == "mean" else values.sum()


def _derived(loss: Loss) -> Derivation | str:
    """The derivation of a loss, or what does not hold."""
    try:
        return derive(loss)
    except NoTables as error:
        return str(error)


def _with_ends(
    scores: Tensor, plan: Plan | References, start: Tensor | None, end: Tensor | None
) -> Tensor:
    """Emissions to which the scores of first and last labels are added."""
    position = torch.arange(scores.shape[1], device=scores.device)[None, :, None]
    if start is not None:
        first = inputs.check_scores(_WHERE, "start", start, scores)
        scores = torch.where(position == 0, scores + first, scores)
    if end is not None:
        last = inputs.check_scores(_WHERE, "end", end, scores)
        lengths = plan.lengths.to(scores.device)[:, None, None]
        scores = torch.where(position == lengths - 1, scores + last, scores)
    return scores
