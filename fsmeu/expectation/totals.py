"""Expected values that are ratios of totals, by lanes: documents, and corpora of sentences.

The value is b T / D^a + c of totals over independent sentences: T >= 0 is the joint count, D affine
in the reference's count S, k the hypotheses' count; b and c depend on k. With D = d (v + S) and a
rule (v + S)^-a = sum over m of w_m exp(-x_m (v + S)) + R (``trellis/rules.py``),

    E[T (v + S)^-a]  =  sum over m of  w_m exp(-x_m v) E[T exp(-x_m S)]  +  E[T R].

T is a sum over sentences, and S one of independent counts, so that E[T exp(-x S)] is the product of
all G_s(x) = E[exp(-x S_s)] times the sum over sentences of E[T_s exp(-x S_s)] / G_s(x): one sweep
over lanes for each sentence (``trellis/rows.py``). Where D does not depend on S, there is but
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
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.algebra.value import ratio_of_totals
from fsmeu.losses.protocol import Loss
from fsmeu.trellis.lanes import (
    TAIL,
    CountRange,
    LaneGroup,
    NodeLogs,
    count_range,
    node_logs,
    rounded_rule,
)
from fsmeu.trellis.roundings import BoundedValue
from fsmeu.trellis.rules import Rule, rule_for, wide_rule
from fsmeu.trellis.tapes import value_coefficients
from fsmeu.twofold import UNIT

ESCAPED = 2e-13  # what ages that reach a cap may be worth

_EPS = 1e-14  # the part of a value that a rule is meant to leave out
# Of a rule that is tried before it is known whether it serves: how many nodes it may have, a number
# that rows of lanes need not be padded to, and the parts of a range by which it is made wider on
# both sides for that.
_TRIED = ((4, 1.0), (4, 0.5), (8, 1.0), (8, 0.5), (8, 0.25), (8, 0.1))
_TINY = 1e-300  # stands for a denominator of 0, which has no mass


@dataclass(frozen=True, eq=False)
class TotalsProblem:
    """Sentences to be decided for a value of their totals."""

    form: Split  # the loss, split by tape
    n: int  # the total length
    sign: float  # 1 for a utility, -1 for a loss
    largest: float  # the greatest absolute value that the file declares
    groups: Sequence[LaneGroup]

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
        return 2 * self.largest * self.range.escaped

    @property
    def allows_none(self) -> bool:
        """Whether hypotheses that count nothing are allowed."""
        return all(g.trellis.allows_none(g.n) for g in self.groups)

    @property
    def most_counted(self) -> int:
        """The greatest count of all references together."""
        columns = (int(g.trellis.y_tables.columns[g.n]) for g in self.groups)
        return sum(g.size * (c - 1) for g, c in zip(self.groups, columns, strict=True))

    @property
    def rounding(self) -> float:
        """A bound on the relative error of a product of sums over the positions of sentences."""
        return sum(group.size * group.rounding for group in self.groups)

    @property
    def greatest(self) -> float:
        """A bound on the joint count of all sentences together, signs aside."""
        return sum(group.size * group.greatest for group in self.groups)


def totals_problem(loss: Loss, n: int, groups: Sequence[LaneGroup]) -> TotalsProblem | None:
    """Sentences of a total length n whose loss splits by tape, to be decided for their totals.

    None where references may count too much.
    """
    form = groups[0].trellis.tapes.form if groups else loss.split
    assert form is not None
    sign = 1.0 if loss.kind == "utility" else -1.0
    problem = TotalsProblem(form, n, sign, max(map(abs, loss.value_range(n))), groups)
    return problem if problem.most_counted <= limits.MOST_TOTALS else None


def unmet_by_totals(loss: Loss, n: int) -> str | None:
    """The condition of ratios of totals that a loss does not satisfy, in words; None if it does."""
    form = loss.split
    if form is None or not form.counted or form.additive or len(form.joint_counts) != 1:
        return "the value must be a ratio of one joint count and of counts of each tape"
    if not loss.value_range(n).finite:
        return "the file must declare a finite range"
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


class RatioByTotal(NamedTuple):
    """The value, signed, as gain E[T (v + S)^-power] + offset, by the total k of z's counts."""

    gain: Floats  # (k,)
    v: Floats  # (k,)
    power: float  # 0 where the references' count does not matter
    offset: Floats  # (k,)
    offset_error: float  # a bound on the error of offsets; 0 where nothing is ever added
    largest: float  # a bound on gain T (v + S)^-power
    begin: int  # the first k that this holds for: 1 where T is 0 for k = 0, which stands apart
    reach: CountRange  # where S lies unless T is 0


def ratio_by_total(problem: TotalsProblem) -> RatioByTotal | None:
    """The value as a ratio of totals; None if lanes do not apply.

    It must be b T / D^a + c, derived from the text, in a finite declared range, more of T never
    worse, and T proven to be at least 0.
    """
    if not problem.groups or not math.isfinite(problem.largest):
        return None
    high = 0
    for group in problem.groups:
        if not group.trellis.is_nonnegative:
            return None
        high += group.size * (int(group.trellis.z_tables.columns[group.n]) - 1)
    begin = int(all(group.trellis.needs_item("z", group.n) for group in problem.groups))
    least = int(all(group.trellis.needs_item("y", group.n) for group in problem.groups))
    most = problem.most_counted
    if high < begin or most < least or high > limits.MOST_TOTALS:
        return None
    totals = np.maximum(np.arange(high + 1.0), begin)
    derived = problem.form.bound.at(problem.n).derived
    derive = partial(ratio_of_totals, problem.form, problem.n, totals, float(least), float(most))
    ratio = derived.get(("ratio of totals", high, begin, least, most), derive)
    if ratio is None or (problem.sign * ratio.gain <= 0).any():
        return None
    steep = float(ratio.steep[0])
    if (ratio.steep != steep).any() or steep < 0:
        return None
    reach = problem.range.around(float(least), float(most))
    extra = np.zeros(len(totals))  # what is added where the references count nothing: T is 0 there
    if least:
        key = ("answers without items of y", high, begin)
        extra = derived.get(key, partial(_answers, problem, totals, np.zeros(1))) - ratio.offset
    largest = problem.largest + float(np.abs(ratio.offset).max())
    error = problem.rounding * reach.none * float(np.abs(extra).max())
    # Where S does not matter, no power of it does, and v only has to be above 0.
    has_count = steep > 0
    gain = ratio.gain * (steep if has_count else ratio.fixed) ** -ratio.power
    return RatioByTotal(
        gain=problem.sign * gain,
        v=ratio.fixed / steep if has_count else totals + 1.0,
        power=ratio.power if has_count else 0.0,
        offset=problem.sign * (ratio.offset + extra * reach.none),
        offset_error=error + 4 * UNIT * largest if ratio.offset.any() or extra.any() else 0.0,
        largest=largest,
        begin=begin,
        reach=reach,
    )


def _answers(problem: TotalsProblem, hyp: Floats, ref: Floats) -> Floats:
    """What the file answers where the joint count is 0, for counts of z and y, (k,) or (1,)."""
    possible = np.ones(max(len(hyp), len(ref)), bool)
    return value_coefficients(problem.form, problem.n, hyp, ref, possible)[1]


def value_of_none(problem: TotalsProblem) -> BoundedValue | None:
    """The expected value, signed, if z counts nothing; None where it depends on S from 1 on."""
    most = problem.most_counted
    derived = problem.form.bound.at(problem.n).derived
    derive = partial(_answers, problem, np.zeros(1), np.arange(most + 1.0))
    offset = derived.get(("answers without items of z", most), derive)
    if (offset[1:] != offset[-1]).any():
        return None
    some = float(offset[-1])
    more = (float(offset[0]) - some) * problem.range.none  # by references that count nothing
    error = problem.escaped
    if offset.any():
        error += 2 * problem.rounding * abs(more) + 4 * UNIT * problem.largest
    return BoundedValue(problem.sign * (some + more), error)


def rule_of_totals(ratio: RatioByTotal, k: int) -> Rule:
    """The rule with few nodes for the denominators of a total."""
    if ratio.power == 0.0:
        return Rule(np.zeros(1), np.ones(1), 0.0)
    reach = ratio.reach
    low = float(ratio.v[k]) + reach.low
    high = float(ratio.v[k]) + reach.high
    centre = float(ratio.v[k]) + max(reach.mean, reach.low)
    return rounded_rule(rule_for(max(low, 1e-9 * centre), high, centre, ratio.power, _EPS))


def rule_about_mean(ratio: RatioByTotal) -> Rule:
    """A rule for denominators of totals about the mean of S, before it is known which is best.

    Best hypotheses count about as much as references do. The rule serves wider ranges as far as few
    nodes allow it; where they allow none it has no nodes, and serves no total.
    """
    k = min(max(round(ratio.reach.mean), ratio.begin), len(ratio.v) - 1)
    if ratio.power == 0.0:
        return rule_of_totals(ratio, k)
    low = float(ratio.v[k]) + ratio.reach.low
    high = float(ratio.v[k]) + ratio.reach.high
    centre = float(ratio.v[k]) + ratio.reach.mean
    for most_nodes, part in _TRIED:
        more = part * (high - low)
        if low > more:
            rule = rule_for(low - more, high + more, centre, ratio.power, _EPS)
            if rule.is_one_sided and len(rule.nodes) <= most_nodes:
                return rounded_rule(rule)
    return Rule(np.zeros(0), np.zeros(0), ratio.power)


def serves(rule: Rule, ratio: RatioByTotal, k: int) -> bool:
    """Whether the error of a rule is small enough for the denominators of the total k."""
    if ratio.power == 0.0 or not rule.is_one_sided:
        return ratio.power == 0.0
    low = max(float(ratio.v[k]) + ratio.reach.low, _TINY)
    rest = rule.remainder(np.float64(low), np.float64(ratio.v[k] + ratio.reach.high))
    return bool(rest * rule.centre**rule.power <= 4 * _EPS)


def wide_rule_of_totals(ratio: RatioByTotal, first: int, last: int) -> Rule:
    """The rule for the denominators of all totals from the first to the last."""
    if ratio.power == 0.0:
        return rule_of_totals(ratio, first)
    low = max(float(ratio.v[first]) + ratio.reach.low, _TINY)
    return rounded_rule(wide_rule(low, float(ratio.v[last]) + ratio.reach.high, ratio.power))


def left_out(rule: Rule, ratio: RatioByTotal) -> Floats:
    """Bounds on the error of the rule by total, (k,), for S in its range; rounding included."""
    reach = ratio.reach
    low = np.maximum(ratio.v + reach.low, _TINY)
    with np.errstate(over="ignore"):
        rest = rule.remainder(low, ratio.v + reach.high)
        rounded: Floats = rest + (reach.high - reach.low) * UNIT * low**-rule.power
    return rounded


def expected_ratio(problem: TotalsProblem, zs: Sequence[Sequence[Ints]]) -> BoundedValue | None:
    """The expected value of hypotheses, given by group; None if lanes do not apply.

    No age of a hypothesis may reach the cap of its trellis, where there is one.
    """
    ratio = ratio_by_total(problem)
    if ratio is None:
        return None
    pairs = list(zip(problem.groups, zs, strict=True))
    k = sum(int(group.trellis.hypothesis_counts(own).sum()) for group, own in pairs)
    if k < ratio.begin:
        none = value_of_none(problem)
        return None if none is None else BoundedValue(problem.sign * none.value, none.error)
    rule = rule_of_totals(ratio, k)
    means = _MeanSums(rule.nodes, sum(group.size for group in problem.groups))
    for group, own in pairs:
        means.add(group, own)
    masses = rule.weights * np.exp(means.logs - rule.nodes * ratio.v[k])
    gain = float(ratio.gain[k])
    value = gain * float(masses @ means.joint)
    # T is at most T (v + S)^-a times the greatest (v + S)^a, but for the tail.
    high = (float(ratio.v[k]) + ratio.reach.high) ** ratio.power
    expected = abs(value) / gain * high * (1 + 1e-6) + TAIL * problem.greatest
    error = gain * expected * float(left_out(rule, ratio)[k])
    error += gain * float(masses @ (means.rounding + means.log_errors * means.sizes))
    error += 16 * UNIT * abs(value) + TAIL * ratio.largest + problem.escaped + ratio.offset_error
    return BoundedValue(problem.sign * (value + float(ratio.offset[k])), error)


def ratio_gradient(
    problem: TotalsProblem, zs: Sequence[Ints]
) -> tuple[Floats, list[list[Floats]]] | None:
    """The expected value of one hypothesis, (1,), and its derivatives by weights of arcs; or None.

    Those of the sum of exponentials, which leaves out a part of about 1e-14 of the value. None
    where something is added to it.
    """
    ratio = ratio_by_total(problem)
    group = problem.groups[0]
    k = int(group.trellis.hypothesis_counts(zs).sum())
    if ratio is None or k < ratio.begin or ratio.offset_error:
        return None
    rule = rule_of_totals(ratio, k)
    ends = np.zeros((1, 2, len(rule.nodes)))
    gain = problem.sign * float(ratio.gain[k])
    ends[0, 1] = gain * rule.weights * np.exp(-rule.nodes * ratio.v[k])
    return group.trellis.with_lanes(rule.nodes).adjoints(group.weights, zs, ends)


class _MeanSums:
    """Sums over sentences, by lane: log G, and E[T exp(-x S)] / G with bounds on errors.

    Of one sentence alone, E[T exp(-x S)] is found itself, and log G is taken to be 0.
    """

    def __init__(self, nodes: Floats, sentences: int) -> None:
        lanes = len(nodes)
        self.nodes = nodes
        self.is_alone = sentences == 1
        self.logs = np.zeros(lanes)
        self.log_errors = np.zeros(lanes)
        self.joint = np.zeros(lanes)
        self.sizes = np.zeros(lanes)  # the sums of the terms of T without their signs
        self.rounding = np.zeros(lanes)

    def add(self, group: LaneGroup, zs: Sequence[Ints]) -> None:
        """Adds the sentences of a group with their hypotheses."""
        trellis = group.trellis.with_lanes(self.nodes)
        found = trellis.sums(group.weights, zs)
        none = np.zeros((group.size, len(self.nodes)))
        logs = NodeLogs(none, none)
        rounding = group.rounding
        if not self.is_alone:
            logs = node_logs(group, found.totals[:, 0])
            rounding *= 2
        shares = np.exp(-logs.logs)
        joint = found.totals[:, 1] * shares
        sizes = joint
        if trellis.amounts.signs(1)[0].any():
            sizes = trellis.sums(group.weights, zs, absolute=True).totals[:, 1] * shares
        self.logs += [math.fsum(column) for column in logs.logs.T]
        self.log_errors += logs.errors.sum(axis=0)
        self.joint += [math.fsum(column) for column in joint.T]
        self.sizes += sizes.sum(axis=0)
        self.rounding += ((rounding + logs.errors) * sizes).sum(axis=0)
