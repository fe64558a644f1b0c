"""What the value of a loss is as a function of the one count that is random, y being given.

For a length n and the counts of y, the value is affine in the joint counts; its offset and its
slopes, the *channels*, are functions of the counter k alone. They are ratios if the algebra proves
it from the text (``losses/algebra/count_ratio.py``), for all k or for all but 0; else their values
for every k are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.losses.algebra.value import Count, CountRatio, ratio_of_count
from fsmeu.losses.language.syntax import Expr
from fsmeu.losses.semantics.at_length import LossAtLength
from fsmeu.losses.semantics.evaluator import Scope
from fsmeu.torch.derive import Derivation, NoTables
from fsmeu.torch.lanes import (
    Lanes,
    RatioValue,
    one_lane,
    ratio_lanes,
    root_lanes,
)

_LEAST_BELOW = 2.0**-10  # k + shift is at least this: nodes would be next to 0


class Case(NamedTuple):
    """A length and the counts of y: sentences of one case have the same weights."""

    n: int
    given: tuple[float, ...]


def lanes_of(derivation: Derivation, cases: Sequence[Case], eps: float) -> Lanes:
    """Nodes and weights for each case; a NoTables where lanes do not serve them.

    A LossFileError says that the value has none for some count.
    """
    most = max(case.n for case in cases) * derivation.tables.most_counted
    if derivation.roles.counter is None or not most:  # or it never counts
        tables = [value_table(derivation, case, 0)[..., 0] for case in cases]
        return one_lane(np.stack(tables))
    ratios = [ratio_value(derivation, case, most) for case in cases]
    known = [ratio for ratio in ratios if ratio is not None]
    powers = {ratio.power for ratio in known if ratio.gains.any()}
    if len(known) == len(cases) and len(powers) <= 1:
        return ratio_lanes(known, most, eps)
    if most >= 2 * limits.TORCH_LANES:
        said = f"the value is no ratio, and its counter may be as great as {most:,}"
        raise NoTables(said)
    per_step = derivation.tables.most_counted
    tables = [value_table(derivation, case, case.n * per_step) for case in cases]
    return root_lanes(np.stack([_padded(table, most) for table in tables]))


def distinct_cases(lengths: Ints, given: Floats) -> tuple[list[Case], Ints]:
    """The distinct cases of sentences, and the place of each sentence's among them, (B,)."""
    rows, place = np.unique(np.column_stack([lengths, given]), axis=0, return_inverse=True)
    return [Case(int(row[0]), tuple(row[1:].tolist())) for row in rows], place.ravel()


def ratio_value(derivation: Derivation, case: Case, most: int) -> RatioValue | None:
    """The channels as ratios, for counts up to ``most``; None where they are not seen to be."""
    if len(derivation.ends) > 1:
        return None
    at = derivation.bound.at(case.n)
    counter = derivation.roles.counter
    assert counter is not None
    alone = dict(zip(derivation.roles.ends, derivation.ends[0].tolist(), strict=True))
    current = {**_known(derivation, at, case), **alone, "n": float(case.n)}
    scope = Scope(derivation.bound, current, current, at.memories)
    for least in (0, 1):
        count = Count(counter, at.starts[counter], float(least), float(max(most, 1)))
        ratios = [ratio_of_count(expr, scope, count) for expr in _channels(derivation)]
        joined = _one_denominator([ratio for ratio in ratios if ratio is not None], least)
        if None in ratios or joined is None or joined.shift + least < _LEAST_BELOW:
            continue
        at_zero = value_table(derivation, case, 0)[:, 0, 0]
        offsets = np.array([ratio.offset for ratio in ratios if ratio is not None])
        gains = np.array([ratio.gain for ratio in ratios if ratio is not None])
        return RatioValue(offsets, gains, at_zero, joined.shift, joined.power, least)
    return None


def _one_denominator(ratios: Sequence[CountRatio], least: int) -> CountRatio | None:
    """A ratio with the denominator of all that have a gain; None where they differ."""
    gaining = [ratio for ratio in ratios if ratio.gain]
    if not gaining:
        return CountRatio(0.0, 0.0, 1.0 - least, 1.0)
    same = {(ratio.shift, ratio.power) for ratio in gaining}
    return gaining[0] if len(same) == 1 else None


def value_table(derivation: Derivation, case: Case, most: int) -> Floats:
    """The channels for each end and each count from 0 to most, (C, ends, most + 1)."""
    at = derivation.bound.at(case.n)
    registers = {**_known(derivation, at, case)}
    shape = (len(derivation.ends), most + 1)
    for name, column in zip(derivation.roles.ends, derivation.ends.T, strict=True):
        registers[name] = np.broadcast_to(column[:, None], shape)
    counter = derivation.roles.counter
    if counter is not None:
        registers[counter] = np.broadcast_to(at.starts[counter] + np.arange(most + 1.0), shape)
    return np.stack([at.at_end(expr, registers, shape) for expr in _channels(derivation)])


def _channels(derivation: Derivation) -> list[Expr]:
    """The value, whose joint counts are taken to be at their starts, and its slopes."""
    spec = derivation.bound.spec
    return [spec.value, *(spec.slope(name) for name in derivation.roles.joint)]


def _known(derivation: Derivation, at: LossAtLength, case: Case) -> dict[str, Floats | float]:
    """The registers that do not depend on z, and joint counts at their starts, by name."""
    roles = derivation.roles
    known: dict[str, Floats | float] = {name: at.starts[name] for name in roles.joint}
    for name, count in zip(roles.given, case.given, strict=True):
        known[name] = at.starts[name] + count
    return known


def _padded(table: Floats, most: int) -> Floats:
    """The table with zeros up to a greater count."""
    return np.pad(table, [(0, 0), (0, 0), (0, most + 1 - table.shape[2])])
