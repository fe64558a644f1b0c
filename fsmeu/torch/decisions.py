"""``decode``: the best labels for batches of scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fsmeu.arrays import Floats
from fsmeu.decoding.decode import decode_many
from fsmeu.errors import InputError, LossFileError, check_bool
from fsmeu.fst.constraint import ConstraintLike
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.algebra.value import ratio_of_totals
from fsmeu.losses.protocol import Loss, LossLike, as_loss, takes_loss
from fsmeu.models import Independent, Model, from_potentials
from fsmeu.torch import inputs
from fsmeu.torch.rows import Decisions, RowRule, decide_rows
from fsmeu.trellis.rules import wide_rule
from fsmeu.trellis.tapes import value_coefficients

_WHERE = "fsmeu.torch.decode"
_LEFT_OUT = 1e-14


@takes_loss
def decode(
    loss: LossLike,
    emissions: Tensor,
    mask: Tensor | None = None,
    transitions: Tensor | None = None,
    constraint: ConstraintLike | None = None,
    *,
    probabilities: bool | None = None,
) -> Decisions:
    """The labels with the best expected value for each sequence of a batch.

    Rows of two independent labels whose value is a ratio with true positives above (F-scores,
    precision, recall, and such ratios of a user) are decided on the device of the emissions, all
    together. All others, chains of two labels and tag sequences among them, are decided by
    ``fsmeu.decode_many`` on the CPU, to which scores are copied.

    Args:
        loss: a loss or utility, or its name or path as ``fsmeu.load`` takes it.
        emissions: scores (B, n, L) before a softmax, or (B, n) logits of the second of two labels.
        mask: True at tokens, False behind them, (B, n).
        transitions: scores of a label (last axis) after another, (L, L) or (B, n - 1, L, L).
        constraint: what labels must satisfy, as ``fsmeu.decode`` takes it.
        probabilities: True where emissions are probabilities, after a softmax or sigmoid; False
            where they are scores. Unless given, they are scores, and a batch of which all could be
            probabilities is refused.

    Returns:
        Label indices (B, n), -1 at padding; expected values (B,); and whether each is proven, (B,).
        On the device a row is not proven where two numbers of ones are worth the same up to
        rounding.

    >>> decode("fscore", torch.tensor([[-0.4, -0.6, -2.0]])).labels
    tensor([[1, 1, 0]])
    """
    known = as_loss(loss, _WHERE)
    if probabilities is not None:
        probabilities = check_bool(_WHERE, "probabilities", probabilities)
    scores = inputs.check_emissions(_WHERE, emissions, len(known.alphabet)).detach()
    lengths = inputs.check_lengths(_WHERE, mask, (scores.shape[0], scores.shape[1]))
    lengths = lengths.to(scores.device)
    if transitions is not None:
        transitions = inputs.check_transitions(_WHERE, transitions, scores).detach()
    if not inputs.is_capturing(scores):
        inside = torch.arange(scores.shape[1], device=scores.device) < lengths[:, None]
        inputs.check_finite(_WHERE, inputs.Scores(scores[inside], transitions))
        if probabilities is not False:
            inputs.check_probabilities(_WHERE, emissions[inside], probabilities is True)
    if probabilities:
        if transitions is not None:
            must = "probabilities must be those of independent labels, without transitions"
            raise InputError(_WHERE, must, remedy="Give the scores before the softmax")
        scores = inputs.log_probabilities(emissions.detach())
    if transitions is None and constraint is None:
        distinct = tuple(sorted(set(lengths.tolist())))
        rule = known.derived.get(("torch rows", distinct), lambda: row_rule(known, distinct))
        if rule is not None:
            return decide_rows(rule, _logits(scores), lengths)
    return _by_engine(known, scores, lengths, transitions, constraint)


def _logits(scores: Tensor) -> Tensor:
    """The logits of the second of two labels, (B, n), in double precision."""
    doubles = scores.double()
    return doubles[:, :, 1] - doubles[:, :, 0]


def _by_engine(
    loss: Loss,
    scores: Tensor,
    lengths: Tensor,
    transitions: Tensor | None,
    constraint: ConstraintLike | None,
) -> Decisions:
    """The decisions of the engine on the CPU."""
    unary = scores.double().cpu().numpy()
    sizes = lengths.tolist()
    models = list[Model]()
    for row, n in enumerate(sizes):
        own = unary[row, :n]
        if transitions is None:
            shares = torch.softmax(torch.from_numpy(own), 1).numpy()
            models.append(Independent(shares, loss.labels))
            continue
        moves = transitions.double().cpu().numpy()
        moves = moves if moves.ndim == 2 else moves[row, : n - 1]
        models.append(from_potentials(own, moves, loss.labels))
    decided = decode_many(loss, models, constraint=constraint)
    labels = torch.full(scores.shape[:2], -1)
    for row, decision in enumerate(decided):
        indices = [loss.alphabet.index[label] for label in decision.labels]
        labels[row, : sizes[row]] = torch.tensor(indices)
    values = torch.tensor([decision.value for decision in decided], dtype=torch.float64)
    exact = torch.tensor([decision.exact for decision in decided])
    device = scores.device
    return Decisions(labels.to(device), values.to(device), exact.to(device))


# -- the rule of rows ------------------------------------------------------------------------------


def row_rule(loss: Loss, lengths: tuple[int, ...]) -> RowRule | None:
    """The value by number of ones for rows of these lengths, ascending; None where it has no rule.

    The loss must count ones of z, ones of y, and positions where both are, be a ratio of totals
    (``losses/algebra/ratios.py``) in which more of the last is better, and be a constant where z
    has no ones and y has some.
    """
    form = loss.split
    if form is None or not _counts_ones(loss, form) or loss.requirement:
        return None
    sign = 1.0 if loss.kind == "utility" else -1.0
    try:
        columns = [_columns(form, n, lengths[-1], sign) for n in lengths]
    except LossFileError:
        return None
    known = [column for column in columns if column is not None]
    powers = {column.power for column in known}
    if len(known) < len(columns) or len(powers) > 1:
        return None
    gain = np.stack([column.gain for column in known])
    shift = np.stack([column.shift for column in known])
    nodes = np.zeros(1)
    weights = np.ones(1)
    off = 0.0
    power = powers.pop()
    if power:
        low = float(shift[gain > 0].min()) + 1.0
        rule = wide_rule(low, float(shift[gain > 0].max()) + lengths[-1], power, _LEFT_OUT)
        nodes = rule.nodes
        weights = rule.weights
        off = rule.off
    return RowRule(
        lengths=np.array(lengths),
        gain=gain,
        shift=shift,
        offset=np.stack([column.offset for column in known]),
        none=np.stack([column.none for column in known]),
        nodes=nodes,
        weights=weights,
        off=off,
        sign=sign,
    )


def _counts_ones(loss: Loss, form: Split) -> bool:
    """Whether the counts are ones of z, ones of y, and pairs of ones."""
    table = loss.confusion
    if table is None or not form.counted or len(form.joint_counts) != 1:
        return False
    wanted = {
        form.joint_counts[0].register: [[0, 0], [0, 1]],
        form.z.counter: [[0, 0], [1, 1]],
        form.y.counter: [[0, 1], [0, 1]],
    }
    amounts = table.amounts  # a count of both tapes that the form writes as two is not among them
    return all(
        name in amounts and np.array_equal(amounts[name], cells)
        for name, cells in wanted.items()
        if name is not None
    )


class _Columns(NamedTuple):
    """What ``RowRule`` has of one length, (most + 1,) each; and the power of the ratio."""

    gain: Floats
    shift: Floats
    offset: Floats
    none: Floats
    power: float  # 0 where the ones of y do not matter


def _columns(form: Split, n: int, most: int, sign: float) -> _Columns | None:
    """The value of rows of length n by number of ones, up to ``most``; None if it has no rule."""
    ks = np.arange(1.0, n + 1)
    ratio = ratio_of_totals(form, n, ks, 1.0, float(n))
    if ratio is None or (sign * ratio.gain <= 0).any() or (ratio.steep < 0).any():
        return None
    steep = ratio.steep
    if steep.any() and not steep.all():
        return None
    every = np.ones(n + 1, bool)
    _, alone = value_coefficients(form, n, 0, np.arange(n + 1), every)
    if (alone[1:] != alone[-1]).any():
        return None
    _, without = value_coefficients(form, n, ks, 0, every[1:])
    gain = np.zeros(most + 1)
    shift = np.zeros(most + 1)
    offset = np.full(most + 1, -np.inf)
    none = np.zeros(most + 1)
    below = steep if steep.any() else ratio.fixed
    gain[1 : n + 1] = sign * ratio.gain * below**-ratio.power
    shift[1 : n + 1] = ratio.fixed / steep if steep.any() else 0.0
    offset[0] = sign * alone[-1]
    offset[1 : n + 1] = sign * ratio.offset
    none[0] = sign * (alone[0] - alone[-1])
    none[1 : n + 1] = sign * (without - ratio.offset)
    return _Columns(gain, shift, offset, none, ratio.power if steep.any() else 0.0)
