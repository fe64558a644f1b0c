"""The methods of the explicit engine: everything composed and searched is a machine of OpenFst.

Which of them applies is said by the conditions of the default engine's methods, by name. The work
is another:

* ``additive`` and ``counting`` compose the model with the reference's tape of the loss, and take
  distances from both sides (``tape_machines``). They are what the steps of the hypothesis's tape
  are worth, so that a shortest path through that tape, composed with the sequences that are
  allowed and a counter, is the best hypothesis: one search for each count that it can end with.
* ``viterbi`` is a shortest path through the model.
* ``ranking`` is Algorithm 1 of Jansche (2007): n + 1 hypotheses, each composed with the loss and
  the model.
* ``exhaustive`` composes all hypotheses at once (``explicit_lists``).

A shortest path is that of singles with a proof in doubles (``fst/best_path.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.candidates import (
    EXHAUSTIVE,
    VITERBI,
    WHY_EQUAL,
)
from fsmeu.decoding.decision import Decision
from fsmeu.decoding.explicit_lists import best_of_all, guard_prefixes
from fsmeu.decoding.problem import (
    Answer,
    Method,
    Problem,
    one_by_one,
)
from fsmeu.decoding.ranked import RANKING, ranked, valued_ranking
from fsmeu.decoding.split import ADDITIVE, COUNTING, GAINS_OVERFLOW, why_split
from fsmeu.decoding.tape_machines import StepGains, TapeMachine, tape_machine
from fsmeu.expectation.query import allowed_layers, fitted
from fsmeu.fst.best_path import COARSE, ROUNDS, shortest_path
from fsmeu.fst.constraint import ConstraintLike, as_constraint, restricted
from fsmeu.fst.distance import determinized
from fsmeu.fst.image import ArcTable, fst_from_table, symbol_table, trimmed, without_zero_arcs
from fsmeu.fst.layers import table_from_layered
from fsmeu.fst.openfst import Fst
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.protocol import LossLike
from fsmeu.models import ModelLike, NBest, as_model
from fsmeu.trellis.tapes import value_coefficients

# -- losses that split by tape ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class TapeSearch:
    """The search for a best path through the tape of the hypothesis, for each of its ends."""

    problem: Problem
    form: Split

    @cached_property
    def hypotheses(self) -> TapeMachine:
        """The tape of the hypothesis over all allowed sequences."""
        allowed = allowed_layers(self.problem.model, self.problem.constraint)
        return tape_machine(self.form.z, allowed)

    @cached_property
    def reference(self) -> TapeMachine:
        """The tape of the reference over the model."""
        return tape_machine(self.form.y, self.problem.model.layered())

    @cached_property
    def gains(self) -> StepGains:
        """What steps of the hypothesis add to the expected value, by slopes."""
        return StepGains(self.form, self.hypotheses, self.reference)

    @cached_property
    def tables(self) -> tuple[list[Floats], Floats]:
        """The slopes of each joint count and the offset, (ends of z, ends of y) each."""
        hyp = self.hypotheses.ends[0]
        ref = self.reference.ends[0]
        possible = np.ones((len(hyp), len(ref)), bool)
        return value_coefficients(self.form, self.problem.n, hyp[:, None], ref[None, :], possible)

    def costs(self, end: int) -> Floats:
        """What arcs of the hypothesis's tape cost where it has this end, (arcs,)."""
        gains = self.gains([slope[end] for slope in self.tables[0]])
        machine = self.hypotheses
        return -self.problem.sign * gains[machine.position, machine.step]

    def ending(self, end: int) -> Floats:
        """What ending in a state costs: nothing where a path has this end, else inf, (states,)."""
        return np.where(self.hypotheses.ends[1] == end, 0.0, np.inf)

    def offsets(self) -> Floats:
        """What every hypothesis with an end is worth before any step, (ends,)."""
        return self.tables[1] @ self.gains.flows.masses

    def likely_first(self) -> list[int]:
        """The ends in the order of their distance from the expected end of the reference."""
        masses = self.gains.flows.masses
        ref = self.reference.ends[0]
        middle = float(ref @ masses) / (float(masses.sum()) or 1.0)
        order = np.argsort(np.abs(self.hypotheses.ends[0] - middle), kind="stable")
        return [int(end) for end in order]


@np.errstate(over="ignore", invalid="ignore")  # what comes of it is checked
def _split_answer(problem: Problem) -> Answer | str:
    """The best of the shortest paths for all ends of the hypothesis's counter.

    Arcs cost what they take from the expected value: one search for each end.
    """
    assert problem.split is not None
    search = TapeSearch(problem, problem.split)
    sign = problem.sign
    table = search.hypotheses.table
    offsets = search.offsets()
    best = Answer(np.zeros(0, np.int64), why_split(problem), value=-np.inf, gap=0.0)
    tried = 0
    for end in search.likely_first():
        spent = tried * (1 + table.arcs // limits.ARCS_PER_CANDIDATE)
        if tried and (spent >= problem.budget or problem.clock.over(tried / len(offsets))):
            break
        tried += 1
        costs = search.costs(end)
        if not (np.isfinite(costs).all() and np.isfinite(offsets[end])):
            return GAINS_OVERFLOW
        room = COARSE * float(np.abs(costs).max(initial=0.0)) * problem.n
        for rounds in (1, ROUNDS):  # an end that cannot be the best is searched coarsely
            path = shortest_path(table, costs, search.ending(end), rounds)
            assert path is not None
            assert best.value is not None
            value = sign * float(offsets[end]) - float(costs[path].sum())
            if value + room <= best.value:
                break
            if value > best.value:
                best = replace(best, indices=table.ilabel[path] - 1, value=value)
    assert best.value is not None
    candidates = 0 if problem.split.additive else len(offsets)
    answer = replace(best, value=sign * best.value, candidates=candidates)
    if tried < len(offsets):
        counts = f"{tried} of {len(offsets)} counts of z were tried"
        return replace(answer, gap=np.inf, doubt=f"only {counts} before {problem.stopped}")
    return answer


# -- the most probable sequence --------------------------------------------------------------------


def _likely(problem: Problem) -> ArcTable:
    """The model's machine of allowed sequences, one path each."""
    layered = problem.model.layered()
    if problem.constraint is not None:
        layered = restricted(layered, problem.constraint)
    table = trimmed(table_from_layered(layered))
    if layered.unambiguous:
        return table
    guard_prefixes(table, np.inf)
    return determinized(table)


def _viterbi(problem: Problem) -> Answer:
    """The most probable allowed sequence; any that is allowed where all have probability 0.

    E[value] is v1 + (v0 - v1) P(z), with the values of equal and of different sequences.
    """
    table = _likely(problem)
    path = shortest_path(table, table.weight, table.final)
    if path is None:
        table = table_from_layered(allowed_layers(problem.model, problem.constraint))
        path = shortest_path(table, 0.0 * table.weight, table.final)
    labels = table.ilabel[path] - 1
    value = float(problem.values([labels], "openfst")[0])
    return Answer(labels, WHY_EQUAL, 1, value, gap=0.0)


EXPLICIT = {
    method.name: Method(method.name, method.condition, one_by_one(decide))
    for method, decide in (
        (ADDITIVE, _split_answer),
        (COUNTING, _split_answer),
        (VITERBI, _viterbi),
        (RANKING, partial(valued_ranking, engine="openfst")),
        (EXHAUSTIVE, best_of_all),
    )
}
"""The methods of the explicit engine by name, in the order in which "auto" takes them.

They have the conditions of the default engine's methods, and its order.
"""


# -- pictures --------------------------------------------------------------------------------------


def searched_machine(
    loss: LossLike,
    model: ModelLike,
    decision: Decision,
    constraint: ConstraintLike | None = None,
) -> tuple[str, Fst]:
    """The name and the acceptor of hypotheses that a decision was found in, by its method.

    One path reads the decision. Of ``additive`` and ``counting``, it is the tape of the hypothesis
    up to the decision's count, and the weight of an arc is what taking it loses of the expected
    value against the best way on; of ``viterbi``, the model; of ``ranking``, the ranked sequences.
    What ``exhaustive`` lists is ``hypotheses_composition``.
    """
    bound, model = fitted(loss, as_model(model), "decode")
    allowed = as_constraint(constraint, model.alphabet, model.n)
    problem = Problem(bound, model, allowed)
    title = f"{bound.kind} {bound.name}"
    n = model.n
    if decision.method == VITERBI.name:
        name = f"the most probable sequence, n = {n}"
        table = _likely(problem)
    elif decision.method == RANKING.name:
        name = f"{title}: sequences ranked by probability, n = {n}"
        table = _ranked(problem)
    else:
        name = f"{title}: what steps of z lose, n = {n}"
        table = _regrets(problem, model.alphabet.encode(decision.labels))
    symbols = symbol_table(model.alphabet)
    return name, fst_from_table(table, symbols, symbols)


def _ranked(problem: Problem) -> ArcTable:
    """The acceptor of the n + 1 sequences that rank positions by probability."""
    p = problem.probabilities
    assert p is not None
    order = np.argsort(-p, kind="stable")
    labels = problem.model.alphabet
    candidates = [labels.decode(ranked(order, k)) for k in range(problem.n + 1)]
    chances = np.full(len(candidates), 1.0 / len(candidates))
    return trimmed(table_from_layered(NBest(candidates, chances, labels.labels).layered()))


def _regrets(problem: Problem, indices: Ints) -> ArcTable:
    """The tape of the hypothesis up to the end that a sequence has, weighted by what arcs lose."""
    assert problem.split is not None
    search = TapeSearch(problem, problem.split)
    table = search.hypotheses.table
    state = table.start
    for label in indices.tolist():
        here = (table.source == state) & (table.ilabel == label + 1)
        state = int(table.target[here][0])
    end = int(search.hypotheses.ends[1][state])
    costs = search.costs(end)
    distance = search.ending(end)
    final = distance.copy()
    for arcs in reversed(table.depths[1]):
        np.minimum.at(distance, table.source[arcs], costs[arcs] + distance[table.target[arcs]])
    live = np.isfinite(distance[table.target])
    lost = np.full(table.arcs, np.inf)
    lost[live] = costs[live] + distance[table.target[live]] - distance[table.source[live]]
    weight = np.maximum(lost, 0.0)
    return trimmed(
        without_zero_arcs(replace(table, olabel=table.ilabel, weight=weight, final=final))
    )
