"""Expected values that are ratios of totals, by lanes: documents, corpora, chains of two labels.

The value is b T / D^a + c of totals over independent sentences: T >= 0 is the joint count, D affine
in the reference's count S, k the hypotheses' count; b and c depend on k. With D = d (v + S) and a
rule (v + S)^-a = sum over m of w_m exp(-x_m (v + S)) + R (``trellis/rules.py``),

    E[T (v + S)^-a]  =  sum over m of  w_m exp(-x_m v) E[T exp(-x_m S)]  +  E[T R].

T is a sum over sentences, and S one of independent counts, so that E[T exp(-x S)] is the product of
all G_s(x) = E[exp(-x S_s)] times the sum over sentences of E[T_s exp(-x S_s)] / G_s(x): one sweep
over lanes for each sentence (``trellis/lanes.py``). Where D does not depend on S, there is but
the lane x = 0. Where T is proven to be 0 at S = 0, S is at least 1 in all that follows, and what
the file answers at S = 0, times the probability of that, is a part of c.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.expectation.forms import SplitTotals, TotalsForm
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.algebra.value import ratio_of_totals
from fsmeu.losses.protocol import Loss
from fsmeu.trellis.lanes import Counted, CountRange, LaneGroup, count_range, rounded_rule
from fsmeu.trellis.rules import Rule, rule_for, wide_rule

ESCAPED = 2e-13  # what ages that reach a cap may be worth

_EPS = 1e-14  # the part of a value that a rule is meant to leave out
_NOTHING = 1e-11  # what it may leave out of the total that is best
# Of a rule that is tried before it is known whether it serves: how many nodes it may have, a number
# that rows of lanes need not be padded to, and the parts of a range by which it is made wider on
# both sides for that.
_TRIED = ((4, 1.0), (4, 0.5), (8, 1.0), (8, 0.5), (8, 0.25), (8, 0.1))
_TINY = 1e-300  # stands for a denominator of 0, which has no mass


@dataclass(frozen=True, eq=False)
class TotalsProblem:
    """Sentences to be valued or decided for a value of their totals."""

    form: TotalsForm  # of the value
    n: int  # the total length
    sign: float  # 1 for a utility, -1 for a loss
    largest: float  # the greatest absolute value that the file declares
    groups: Sequence[Counted]

    @cached_property
    def range(self) -> CountRange:
        """Where the sum of the references' counts lies."""
        return count_range(self.groups)

    @property
    def sentences(self) -> int:
        """How many sentences there are."""
        return sum(group.size for group in self.groups)

    @property
    def escaped(self) -> float:
        """A bound on the error by ages that reach the cap at which they stop."""
        return 2 * self.largest * self.range.escaped if self.range.escaped else 0.0

    @property
    def allows_none(self) -> bool:
        """Whether hypotheses that count nothing are allowed."""
        return all(group.allows_none for group in self.groups)

    @cached_property
    def most_counted(self) -> tuple[int, int]:
        """The greatest counts of all hypotheses, and of all references, together."""
        hyp = sum(group.size * group.most_counted[0] for group in self.groups)
        return hyp, sum(group.size * group.most_counted[1] for group in self.groups)


def totals_problem(loss: Loss, n: int, groups: Sequence[LaneGroup]) -> TotalsProblem | None:
    """Sentences of a total length n whose loss splits by tape, to be decided for their totals.

    None where references may count too much.
    """
    form = groups[0].trellis.tapes.form if groups else loss.split
    assert form is not None
    return problem_of(loss, n, SplitTotals(form), groups)


def problem_of(
    loss: Loss, n: int, form: TotalsForm, groups: Sequence[Counted]
) -> TotalsProblem | None:
    """The problem of a value of totals; None where references may count too much."""
    sign = 1.0 if loss.kind == "utility" else -1.0
    problem = TotalsProblem(form, n, sign, max(map(abs, loss.value_range(n))), groups)
    return problem if max(problem.most_counted) <= limits.MOST_TOTALS else None


def unmet_by_totals(loss: Loss, n: int) -> str | None:
    """The condition of ratios of totals that a loss does not satisfy, in words; None if it does."""
    form = loss.split
    if form is None or not form.counted or form.additive or len(form.joint_counts) != 1:
        return "the value must be a ratio of one joint count and of counts of each tape"
    if loss.ages and not loss.value_range(n).finite:
        return "the file must declare a finite range, as ages stop at a cap"
    known = loss.derived.get("is ratio of totals", lambda: _is_ratio(form))
    return None if known else "the value must be a joint count over a sum of counts"


def _is_ratio(form: Split) -> bool:
    """Whether the value of short sequences is a ratio of totals."""
    return ratio_of_totals(form, 4, np.arange(1.0, 5.0), 1.0, 4.0) is not None


def caps(loss: Loss, n: int) -> list[int | None]:
    """The caps on ages to try, ascending; None, for no cap, is the last."""
    few = (
        [cap for cap in limits.CAPS if 3 * cap <= 2 * n and cap > loss.least_cap]
        if loss.ages
        else []
    )
    return [*few, None]


@dataclass(frozen=True, eq=False)
class RatioByTotal:
    """The value, signed, as gain E[T (v + S)^-power] + offset, by the total k of z's counts."""

    gain: Floats  # (k,)
    v: Floats  # (k,)
    power: float  # 0 where the references' count does not matter
    offset: Floats  # (k,)
    begin: int  # the first k that this holds for: 1 where T is 0 for k = 0, which stands apart
    reach: CountRange  # where S lies unless T is 0
    adds_nothing: bool  # whether offsets are 0 whatever the probabilities are

    @cached_property
    def centre(self) -> Floats:
        """v + E[S], (k,)."""
        centre: Floats = np.maximum(self.v + self.reach.mean, _TINY)
        return centre

    @cached_property
    def least(self) -> Floats:
        """The least v + S, (k,)."""
        least: Floats = np.maximum(self.v + self.reach.low, _TINY)
        return least

    @cached_property
    def greatest(self) -> Floats:
        """The greatest v + S, (k,)."""
        greatest: Floats = np.maximum(self.v + self.reach.high, _TINY)
        return greatest


def ratio_by_total(problem: TotalsProblem) -> RatioByTotal | None:
    """The value as a ratio of totals; None if lanes do not apply.

    It must be b T / D^a + c, derived from the text, more of T never worse, and T proven to be at
    least 0.
    """
    if not problem.groups or not all(group.is_nonnegative for group in problem.groups):
        return None
    high, most = problem.most_counted
    begin = int(all(group.needs_item("z") for group in problem.groups))
    least = int(all(group.needs_item("y") for group in problem.groups))
    if high < begin or most < least or high > limits.MOST_TOTALS:
        return None
    totals = np.maximum(np.arange(high + 1.0), begin)
    derived = problem.form.derived(problem.n)
    derive = partial(problem.form.ratio, problem.n, totals, float(least), float(most))
    ratio = derived.get(("ratio of totals", high, begin, least, most), derive)
    if ratio is None or (problem.sign * ratio.gain <= 0).any():
        return None
    has_count = bool(ratio.steep.any())
    if has_count and (ratio.steep <= 0).any():
        return None
    reach = problem.range.around(float(least), float(most))
    extra = np.zeros(len(totals))  # what is added where the references count nothing: T is 0 there
    if least:
        key = ("answers without items of y", high, begin)
        extra = (
            derived.get(key, partial(problem.form.answers, problem.n, totals, np.zeros(1)))
            - ratio.offset
        )
    # Where S does not matter, no power of it does, and v only has to be above 0.
    gain = ratio.gain * (ratio.steep if has_count else ratio.fixed) ** -ratio.power
    return RatioByTotal(
        gain=problem.sign * gain,
        v=ratio.fixed / ratio.steep if has_count else totals + 1.0,
        power=ratio.power if has_count else 0.0,
        offset=problem.sign * (ratio.offset + extra * reach.none),
        begin=begin,
        reach=reach,
        adds_nothing=not (ratio.offset.any() or extra.any()),
    )


def value_of_none(problem: TotalsProblem) -> float | None:
    """The expected value, signed, if z counts nothing; None where it depends on S from 1 on."""
    most = problem.most_counted[1]
    derived = problem.form.derived(problem.n)
    derive = partial(problem.form.answers, problem.n, np.zeros(1), np.arange(most + 1.0))
    offset = derived.get(("answers without items of z", most), derive)
    if (offset[1:] != offset[-1]).any():
        return None
    some = float(offset[-1])
    more = (float(offset[0]) - some) * problem.range.none  # by references that count nothing
    return problem.sign * (some + more)


# -- rules -----------------------------------------------------------------------------------------


def rule_of_totals(ratio: RatioByTotal, k: int) -> Rule:
    """The rule with few nodes for the denominators of a total."""
    if ratio.power == 0.0:
        return Rule(np.zeros(1), np.ones(1), 0.0)
    high = float(ratio.greatest[k])
    centre = float(ratio.v[k]) + max(ratio.reach.mean, ratio.reach.low)
    low = max(float(ratio.least[k]), 1e-9 * centre)
    return rounded_rule(rule_for(low, high, centre, ratio.power, _EPS))


def rule_about(ratio: RatioByTotal, k: int) -> tuple[Rule, range]:
    """A rule for denominators of totals that are near one, and the totals that can be tried by it.

    It serves wider ranges as far as few nodes allow it. A one-sided rule bounds all totals.
    """
    every = range(ratio.begin, len(ratio.v))
    if ratio.power == 0.0:
        return rule_of_totals(ratio, k), every
    low = float(ratio.least[k])
    high = float(ratio.greatest[k])
    for most_nodes, part in _TRIED:
        more = part * (high - low)
        if low > more:
            rule = rule_for(low - more, high + more, float(ratio.centre[k]), ratio.power, _EPS)
            if rule.is_one_sided and len(rule.nodes) <= most_nodes:
                return rounded_rule(rule), every
    rule = rule_of_totals(ratio, k)
    if rule.is_one_sided:
        return rule, every
    most = 4 * k + 2 * math.ceil(ratio.reach.high)
    near = range(max(ratio.begin, k // 4), min(most + 8, len(ratio.v)))
    return wide_rule_of_totals(ratio, near), near


def wide_rule_of_totals(ratio: RatioByTotal, totals: range) -> Rule:
    """The rule for the denominators of consecutive totals."""
    if ratio.power == 0.0:
        return rule_of_totals(ratio, totals[0])
    low = float(ratio.least[totals[0]])
    return rounded_rule(wide_rule(low, float(ratio.greatest[totals[-1]]), ratio.power))


def left_out(rule: Rule, ratio: RatioByTotal) -> Floats:
    """Bounds on what a one-sided rule leaves out of (v + S)^-a by total, (k,); 0 for others."""
    if ratio.power == 0.0 or not rule.is_one_sided:
        return np.zeros(len(ratio.v))
    with np.errstate(over="ignore"):
        return rule.remainders(ratio.least, ratio.greatest)


def serves(rule: Rule, ratio: RatioByTotal, k: int) -> bool:
    """Whether a one-sided rule leaves out next to nothing at the total k."""
    if ratio.power == 0.0:
        return True
    rest = rule.remainder(ratio.least[k], ratio.greatest[k])
    return bool(rule.is_one_sided and rest * rule.centre**rule.power <= _NOTHING)


# -- expectations ----------------------------------------------------------------------------------


class RatioValue(NamedTuple):
    """The expected value of hypotheses."""

    value: float
    size: float  # of what it is a sum of
    escaped: float  # how far the value may be off by ages that reach a cap


def expected_ratio(problem: TotalsProblem, zs: Sequence[Sequence[Ints]]) -> RatioValue | None:
    """The expected value of hypotheses, given by group; None if lanes do not apply.

    No age of a hypothesis may reach the cap of its trellis, where there is one.
    """
    ratio = ratio_by_total(problem)
    if ratio is None:
        return None
    pairs = list(zip(problem.groups, zs, strict=True))
    k = sum(int(group.hypothesis_counts(own).sum()) for group, own in pairs)
    if k < ratio.begin:
        none = value_of_none(problem)
        if none is None:
            return None
        return RatioValue(problem.sign * none, abs(none), problem.escaped)
    rule = rule_of_totals(ratio, k)
    logs, joint = np.zeros((2, len(rule.nodes)))
    for group, own in pairs:
        means = group.node_means(rule.nodes, own)
        logs += means.logs.sum(axis=0)
        joint += means.joint.sum(axis=0)
    gain = float(ratio.gain[k]) * rule.weights * np.exp(logs - rule.nodes * ratio.v[k])
    ratios = float(gain @ joint)
    offset = float(ratio.offset[k])
    return RatioValue(problem.sign * (ratios + offset), ratios + abs(offset), problem.escaped)


def ratio_gradient(
    problem: TotalsProblem, zs: Sequence[Ints]
) -> tuple[Floats, list[list[Floats]]] | None:
    """The expected value of one hypothesis, (1,), and its derivatives by weights of arcs; or None.

    None where something is added to the ratio.
    """
    ratio = ratio_by_total(problem)
    group = problem.groups[0]
    k = int(group.hypothesis_counts(zs).sum())
    if ratio is None or not isinstance(group, LaneGroup):
        return None
    if k < ratio.begin or not ratio.adds_nothing:
        return None
    rule = rule_of_totals(ratio, k)
    ends = np.zeros((1, 2, len(rule.nodes)))
    gain = problem.sign * float(ratio.gain[k])
    ends[0, 1] = gain * rule.weights * np.exp(-rule.nodes * ratio.v[k])
    return group.trellis.with_lanes(rule.nodes).adjoints(group.weights, zs, ends)
