"""The tapes of a split loss as explicit machines, and what the steps of one expect of the other.

A tape is a transducer from labels to *steps*: a step is a row of feature values and what it adds to
the counter that the value looks at. The acceptor of the tape's sequences, composed with it and with
an acceptor that counts, has the paths of one tape alone. For the reference these are weighted: the
distance of an arc from the start, times that to the ends with one count, is the probability of
taking it and ending there. What a step of the hypothesis is worth is linear in these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.fst.compose import compose, guard_arcs, guard_size
from fsmeu.fst.distance import backward_by_end, forward
from fsmeu.fst.image import ArcTable, fst_from_table, table_from_fst, trimmed
from fsmeu.fst.layers import Layered, fst_from_layered, pair_layers, string_layers
from fsmeu.fst.openfst import Fst
from fsmeu.losses.algebra.split import Split, TapeLoss
from fsmeu.losses.machine.machine import explore, machine_view
from fsmeu.losses.semantics.domains import not_told_apart
from fsmeu.losses.semantics.evaluator import Scope, is_undefined
from fsmeu.trellis.tapes import Term, joint_terms, term_amounts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_WHERE = "composition"


@dataclass(frozen=True, eq=False)
class TapeMachine:
    """The sequences of an acceptor with the steps that one tape of a loss takes on them.

    Every path of ``table`` reads a label and writes the number of a step, from 1, at each position.
    """

    table: ArcTable  # trimmed; weights are those of the acceptor
    steps: Floats  # the feature values of each step, (steps, features)
    counted: Floats  # what each step adds to the counter, (steps,)
    n: int

    @cached_property
    def position(self) -> Ints:
        """The position of each arc, counted from 0, (arcs,)."""
        return self.table.depths[0][self.table.source]

    @property
    def step(self) -> Ints:
        """The number of the step of each arc, (arcs,)."""
        return self.table.olabel - 1

    @cached_property
    def ends(self) -> tuple[Floats, Ints]:
        """The counts that paths end with, ascending, and which of them each state has.

        It is -1 where no path ends.
        """
        table = self.table
        count = np.zeros(table.states)
        for arcs in table.depths[1]:
            count[table.target[arcs]] = count[table.source[arcs]] + self.counted[self.step[arcs]]
        final = np.isfinite(table.final)
        counts, number = np.unique(count[final], return_inverse=True)
        end = np.full(table.states, -1)
        end[final] = number.ravel()
        return counts, end


def tape_machine(part: TapeLoss, sequences: Layered) -> TapeMachine:
    """The machine of one tape over the sequences of an acceptor; there may be too many states."""
    n = sequences.n
    size = len(sequences.alphabet)
    names = [f"#{k}" for k in range(part.features)]  # the counter is composed in
    names += [part.counter] if part.counter is not None else []
    view = machine_view(part.bound.at(n), merge=True, linear=tuple(names))
    zeros = string_layers(sequences.alphabet, np.zeros(n, np.int64))  # the other tape is not read
    pairs = pair_layers(zeros, sequences)
    codes, targets, ending, gains = explore(_WHERE, view, pairs, size, None)
    source, label = np.nonzero(targets[:, :size] >= 0)
    rows = gains[:, source, label].T + 0.0  # -0.0 becomes 0.0
    rows, step = np.unique(rows, axis=0, return_inverse=True)
    step = step.ravel()
    written = list(view.linear_names)
    columns = [written.index(name) for name in names[: part.features]]
    counted = np.zeros(len(rows))
    if part.counter is not None:
        counted = rows[:, written.index(part.counter)]
    final = np.where(ending, 0.0, np.inf)
    target = targets[source, label]
    steps = ArcTable(0, source, label + 1, step + 1, np.zeros(len(source)), target, final)
    guard_size(_WHERE, sum(sequences.widths) * len(codes))
    acceptor = fst_from_layered(sequences)
    acceptor.set_output_symbols(None)
    composed = compose(acceptor, fst_from_table(steps), ("sequences", "tape"))
    if counted.any():
        composed = compose(composed, _counter(part, counted, composed, n), ("tape", "counter"))
    table = trimmed(table_from_fst(composed, _WHERE))
    return TapeMachine(table, rows[:, columns], counted, n)


def _counter(part: TapeLoss, counted: Floats, before: Fst, n: int) -> Fst:
    """The acceptor of steps whose states are the sums that up to n of them can have.

    It is composed with a machine ``before`` it, which limits how many there may be. Whole sums that
    doubles do not hold are refused.
    """
    added = np.unique(counted)
    sums = np.zeros(1)
    fresh = np.zeros(1)
    is_whole = bool((added == np.rint(added)).all())
    for _ in range(n):
        after = fresh[:, None] + added
        if is_whole and (after - fresh[:, None] != added).any():
            spec = part.bound.spec
            register = next(r for r in spec.registers if r.name == part.counter)
            raise not_told_apart(register, Scope(part.bound, {}, {}, {}))
        fresh = np.setdiff1d(after, sums)
        if not len(fresh):
            break
        sums = np.concatenate([sums, fresh])  # the first is the start
        guard_size(_WHERE, len(sums) * before.num_states())
        guard_arcs(_WHERE, len(sums) * len(counted))
    order = np.argsort(sums, kind="stable")
    after = np.add.outer(sums, counted)
    place = np.minimum(np.searchsorted(sums[order], after), len(sums) - 1)
    target = np.where(sums[order][place] == after, order[place], -1)
    source, step = np.nonzero(target >= 0)
    weights = np.zeros(len(source))
    arcs = ArcTable(0, source, step + 1, step + 1, weights, target[source, step], 0 * sums)
    return fst_from_table(arcs)


# -- what steps of z add ---------------------------------------------------------------------------


class Flows(NamedTuple):
    """The steps of the reference, by its count at the end."""

    masses: Floats  # P(ending with each count), (ends,)
    joint: Floats  # P(taking each step at each position and ending so), (ends, n, steps)


def flows_of(reference: TapeMachine) -> Flows:
    """The probabilities of the steps of a reference, by distances from the start and the ends."""
    table = reference.table
    counts, end = reference.ends
    guard_size(_WHERE, len(counts) * table.states // limits.KEPT_CELLS_PER_STATE)
    before = forward(table)
    behind = backward_by_end(table, end, len(counts))
    shape = reference.n, len(reference.steps)
    place = reference.position * shape[1] + reference.step
    guard_size(_WHERE, len(counts) * shape[0] * shape[1] // limits.KEPT_CELLS_PER_STATE)
    joint = np.empty((len(counts), *shape))
    for row, distance in zip(joint, behind, strict=True):
        flow = before[table.source] * table.factor * distance[table.target]
        row[:] = np.bincount(place, flow, minlength=shape[0] * shape[1]).reshape(shape)
    return Flows(behind[:, table.start], joint)


class StepGains:
    """What steps of a hypothesis add to the expected value, by slopes at the reference's end."""

    def __init__(self, form: Split, hypothesis: TapeMachine, reference: TapeMachine) -> None:
        self._shape = hypothesis.n, len(hypothesis.steps)
        self.flows = flows_of(reference)
        terms = joint_terms(form)
        self._terms = [self._term(form, term, hypothesis, reference) for term in terms]

    def _term(
        self, form: Split, term: Term, hypothesis: TapeMachine, reference: TapeMachine
    ) -> _Term:
        from scipy.sparse import csr_array  # takes a third of a second to load

        n = hypothesis.n
        z_rows, z_row = _distinct(hypothesis.steps[:, list(term.z)])
        y_rows, y_row = _distinct(reference.steps[:, list(term.y)])
        guard_size(_WHERE, len(z_rows) * len(y_rows) // limits.STEP_PAIRS_PER_STATE)
        added = term_amounts(form, term, z_rows, y_rows, n)
        for table in added.tables:  # the gain of every step is computed, whatever the position
            if is_undefined(table.amount).any():
                must = "what is counted must have a value for every pair of steps of this engine"
                raise LossFileError(_WHERE, must)
        shape = len(z_rows), len(y_rows)
        amounts = [csr_array((x.amount, (x.row, x.feature)), shape=shape) for x in added.tables]
        ends = len(self.flows.masses)
        by_row = np.zeros((ends, n, len(y_rows)))
        for step, row in enumerate(y_row.tolist()):
            by_row[:, :, row] += self.flows.joint[:, :, step]
        return _Term(term.count, z_row, amounts, added.table, added.common, by_row)

    def __call__(self, slopes: Sequence[Floats]) -> Floats:
        """The gains, (n, steps), where each joint count has these slopes, (ends of y,) each."""
        gains = np.zeros(self._shape)
        for term in self._terms:
            gains += term.gains(slopes[term.joint])
        return gains


class _Term(NamedTuple):
    """A term of a joint count, with the flows of the reference through what it reads."""

    joint: int  # the number of the joint count
    z_row: Ints  # the row of features that each step of z shows
    amounts: list[csr_array]  # tables of what is added, (rows of z, rows of y)
    table: Ints  # the table of each position, (n,)
    common: float  # what is added at every position beside these
    flows: Floats  # (ends, n, rows of y)

    def gains(self, slope: Floats) -> Floats:
        """What the term adds at each step of z, (n, steps)."""
        flow = np.tensordot(slope, self.flows, axes=1)  # (n, rows of y)
        gains = np.zeros((len(flow), len(self.z_row)))
        for k, amounts in enumerate(self.amounts):
            at = np.flatnonzero(self.table == k)
            gains[at] = (amounts @ flow[at].T).T[:, self.z_row]
        gains += self.common * flow.sum(axis=1)[:, None]
        return gains


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    """The distinct rows, and the number of each row among them."""
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), np.int64)
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    return distinct, number.ravel()
