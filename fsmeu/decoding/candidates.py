"""Methods that need no algebra: they value candidates, or take the most probable labels.

The explicit engine values all hypotheses as one machine: an acceptor of all sequences that are
allowed, composed with the loss and the model by pynini, and determinized on the tape of hypotheses
by OpenFst, has one path for each hypothesis, whose weight is its expected value. So the best is
proven where a bound on the rounding errors of all values leaves no other better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.problem import (
    HIDDEN,
    PRECISION,
    Answer,
    Changes,
    Method,
    Problem,
    judged,
    one_by_one,
    reach_beyond,
    with_best_of_all,
)
from fsmeu.errors import FsmeuError, SizeLimitError, message
from fsmeu.expectation import composition
from fsmeu.expectation.composition import Composition, compose_layers
from fsmeu.expectation.corpus import Corpus
from fsmeu.expectation.query import allowed_layers, bind_labels
from fsmeu.expectation.result import check_finite
from fsmeu.fst.compose import guard_size, max_states
from fsmeu.fst.constraint import Constraint, as_constraint, walk
from fsmeu.fst.distance import signed_parts, weights_of_inputs
from fsmeu.fst.image import ArcTable
from fsmeu.fst.layers import any_layers
from fsmeu.limits import CANDIDATES, KEPT_CELLS_PER_STATE
from fsmeu.losses.language.syntax import Number
from fsmeu.losses.protocol import Loss, counts_read, state_of_totals, value_of_totals
from fsmeu.models import Model, as_model
from fsmeu.models.base import most_probable_many
from fsmeu.trellis.roundings import LEAST, Sums
from fsmeu.trellis.value_roundings import register_errors, value_errors
from fsmeu.twofold import two_sum

ZERO_ONE_STATES = 20_000  # states walked to see whether only equality counts: such losses have few
ZERO_ONE_TRIAL = 3  # the length walked first: most losses show another value there already
LARGEST_BLOCK = 1024  # sequences that are valued between two looks at the clock
LIST_LENGTH = 100  # sequences of an n-best list
SEARCH_STARTS = 4  # most probable sequences that a search climbs from, beside other starts
CLIMB_STEPS = 100  # changes of one label in a climb, so that tiny gains come to an end
ELEMENTS_PER_STATE = 20  # pairs (prefix, state) of determinization for each state allowed


# -- the most probable sequence, or labels ---------------------------------------------------------


def _equality_alone(problem: Problem) -> str | None:
    """The condition the problem does not meet; None where the most probable sequence is best."""
    what = ("zero_one", max_states())  # past the limit on states it is not known
    values = problem.cached(what, lambda: _zero_one_values(problem.loss, problem.n))
    if values is None or problem.sign * (values[0] - values[1]) < 0:
        return "the value must only tell whether the sequences are equal, equal being better"
    return None


def _zero_one_values(loss: Loss, n: int) -> tuple[float, float] | None:
    """The value of equal and of different pairs of length n; None if there are more, or unknown."""
    same = np.eye(len(loss.alphabet), dtype=bool)
    for length in sorted({min(n, ZERO_ONE_TRIAL), n}):
        try:
            machine = loss.compile(length, max_states=ZERO_ONE_STATES)
        except FsmeuError:
            return None
        reached = np.zeros((machine.states, 2), bool)  # by labels that are equal, or have differed
        reached[0, 0] = True
        for _ in range(length):
            after = np.zeros_like(reached)
            equal = machine.next[reached[:, 0]][:, same]
            after[equal[equal >= 0], 0] = True
            for states in (machine.next[reached[:, 0]][:, ~same], machine.next[reached[:, 1]]):
                after[states[states >= 0], 1] = True
            reached = after
        values = [np.unique(machine.values[reached[:, k]]) for k in (0, 1)]
        if any(len(v) > 1 for v in values) or not len(values[0]):
            return None
    different = float(values[1][0]) if len(values[1]) else float(values[0][0])
    return float(values[0][0]), different


def _viterbi(problems: Sequence[Problem]) -> list[Answer]:
    """The most probable sequences; the best ones when the value only asks whether z equals y.

    Proven: all equal pairs have one value and all others one value that is no better, so that
    E[value] is v1 + (v0 - v1) P(z). Probabilities are products of n factors, so that the decision
    is off by n units of rounding of (v0 - v1) P(z) at most.
    """
    why = "the value only tells whether the sequences are equal, so the most probable one is best"
    best: Sequence[Ints | None] = [None] * len(problems)
    if len(problems) > 1 and problems[0].constraint is None:
        best = most_probable_many([problem.model for problem in problems])
    return [
        Answer(problem.likely_sequence() if z is None else z, True, why, 1)
        for problem, z in zip(problems, best, strict=True)
    ]


def _marginal(problem: Problem) -> Answer | str:
    """The most probable label at each position, where the constraint allows these; not proven."""
    indices = problem.model.marginals().argmax(axis=1)
    if not problem.allows(indices):
        return "the most probable labels must satisfy the constraint"
    why = "the most probable label at each position; the loss was not asked"
    return Answer(indices.astype(np.int64), False, why, 1)


# -- lists -----------------------------------------------------------------------------------------


def _sequences(model: Model, constraint: Constraint | None, budget: int) -> Ints:
    """All allowed sequences of label indices in order, (sequences, n), no more than the budget."""
    steps = walk(constraint, len(model.labels), model.n)
    count = np.isin(np.arange(steps.widths[-1]), steps.ends).astype(np.float64)
    for after in reversed(steps.next):
        count = np.where(after >= 0, np.append(count, 0.0)[after], 0.0).sum(axis=1)
    if count.sum() > budget:
        must = f"there may be at most {budget:,} allowed sequences, not {count.sum():.6g}"
        raise SizeLimitError(message("decode", must, None, "Raise the budget"))
    prefixes, state = np.zeros((1, 0), np.int64), np.zeros(1, np.int64)
    for after in steps.next:
        row, label = np.nonzero(after[state] >= 0)
        prefixes = np.column_stack([prefixes[row], label])
        state = after[state[row], label]
    return prefixes


def _few_sequences(problem: Problem) -> str | None:
    """The condition that the problem does not meet; None where all sequences may be compared."""
    labels = len(problem.model.labels)
    if problem.n * np.log(max(labels, 2)) > np.log(problem.budget) + 1e-9 and labels > 1:
        must = f"there may be at most {problem.budget:,} sequences, not {labels}^{problem.n}"
        return must + " (raise it with budget=...)"
    return None


def _exhaustive(problem: Problem) -> Answer:
    """The best of all sequences, or of those that were compared until the time was over."""
    candidates = list(_sequences(problem.model, problem.constraint, problem.budget))
    why = f"all {len(candidates)} sequences were compared"
    return _best_listed(problem, candidates, why, everything=True)


def _nbest(problem: Problem) -> Answer | str:
    """The best of the most probable sequences (minimum risk); proven where these are all."""
    candidates = problem.most_probable(min(LIST_LENGTH, problem.budget))
    if not candidates:
        return "a sequence of positive probability must satisfy the constraint"
    why = f"the best of the {len(candidates)} most probable sequences"
    everything = len(candidates) == len(problem.model.labels) ** problem.n
    return _best_listed(problem, candidates, why, everything)


def _best_listed(
    problem: Problem, candidates: Sequence[Ints], why: str, everything: bool
) -> Answer:
    """The best of the candidates that there was time for; proven best of all where it is."""
    values, errors = _valued(problem, candidates)
    signed = problem.sign * values
    best, late = int(signed.argmax()), _late(problem, len(values), len(candidates))
    value, error = float(values[best]), float(errors[best])
    answer = Answer(candidates[best], False, late or why, len(values), value, error)
    if late or not everything or problem.keep is not None:
        return answer
    return judged(problem, answer, reach_beyond(signed, errors, best))


def _valued(problem: Problem, candidates: Sequence[Ints], engine: str = "lattice") -> Floats:
    """Values and bounds on errors, (2, k), of the k >= 1 first candidates, as time allows."""
    blocks, done, clock = [problem.values(candidates[:1], engine)], 1, problem.clock
    while done < len(candidates) and not clock.over(done / len(candidates)):
        left = (clock.seconds - clock.elapsed) / max(clock.elapsed, 1e-9)
        size = max(1, min(done, LARGEST_BLOCK, int(min(left * done, LARGEST_BLOCK))))
        blocks.append(problem.values(candidates[done : done + size], engine))
        done = min(done + size, len(candidates))
    return np.concatenate(blocks, axis=1)


def _late(problem: Problem, valued: int, count: int) -> str:
    """The sentence that the time was over; empty where all candidates were valued."""
    best = f"the best of {valued:,} sequences, of {count:,}: {problem.clock.ran_out}"
    return best if valued < count else ""


# -- the search ------------------------------------------------------------------------------------


def _search(problem: Problem) -> Answer:
    """The best of several local optima; proven only if no pair of sequences has a better value."""
    best, top, tried = problem.likely_sequence(), -np.inf, 0
    why = "the most probable allowed sequence"
    answer = with_best_of_all(problem, Answer(best, False, why, 1))
    if answer.exact:
        return answer
    try:
        starts = _starts(problem, best)
        for z, value, valued in _climbed(problem, starts):
            best, top = (z, value) if value > top else (best, top)
            tried += valued
        why = f"a local optimum: no single label change improves it, from {len(starts)} starts"
    except TimeoutError:
        until = "any other was compared with it"
        if tried:
            why, until = "the best so far", "no single label change improved it"
        why = f"{why}: {problem.clock.ran_out} before {until}"
    return Answer(best, False, why, tried)


def _starts(problem: Problem, first: Ints) -> list[Ints]:
    """Distinct allowed sequences to climb from: probable ones, probable labels, ranked ones."""
    marginals = problem.model.marginals()
    candidates = [first, *problem.most_probable(SEARCH_STARTS), marginals.argmax(axis=1)]
    order = np.argsort(marginals[:, 0], kind="stable")
    for share in (0.25, 0.5, 0.75):
        changed = np.zeros(problem.n, np.int64)
        positions = order[: round(share * problem.n)]
        if marginals.shape[1] > 1:
            changed[positions] = 1 + marginals[positions, 1:].argmax(axis=1)
        candidates.append(changed)
    distinct = {z.tobytes(): z.astype(np.int64) for z in candidates if problem.allows(z)}
    return list(distinct.values())


def _climbed(problem: Problem, starts: Sequence[Ints]) -> Iterator[tuple[Ints, float, int]]:
    """The sequences on the way up from each start, sign times value, and how many were valued."""
    changes, visited = Changes(problem), set[bytes]()
    for k, start in enumerate(starts):
        current: Ints | None = start
        for _ in range(CLIMB_STEPS):
            if current is None or current.tobytes() in visited:
                break
            visited.add(current.tobytes())
            table = problem.sign * changes.values(current)
            value = float(table[0, current[0]]) if table.size else 0.0
            yield current, value, max(1, table.size)
            current = _best_change(problem, current, table, value)
        problem.clock.over((k + 1) / len(starts))


def _best_change(problem: Problem, current: Ints, table: Floats, value: float) -> Ints | None:
    """The sequence with the best change of one label that is allowed and improves the value."""
    for flat in np.argsort(-table, axis=None, kind="stable").tolist():
        place = divmod(flat, table.shape[1])
        if table[place] <= value + 1e-12 * max(1.0, abs(value)):
            return None
        changed: Ints = current.copy()
        changed[place[0]] = place[1]
        if problem.allows(changed):
            return changed
    return None


VITERBI = Method("viterbi", _equality_alone, _viterbi, together=True)
MARGINAL = Method("marginal", lambda problem: None, one_by_one(_marginal), together=True)
NBEST = Method("nbest", lambda problem: None, one_by_one(_nbest))
EXHAUSTIVE = Method("exhaustive", _few_sequences, one_by_one(_exhaustive))
SEARCH = Method("search", lambda problem: None, one_by_one(_search))


# -- the explicit engine ---------------------------------------------------------------------------


def explicit_answer(problem: Problem) -> Answer:
    """The best of all allowed sequences, with its expected value; there may be too many."""
    with composition.advising_default():
        sequences = _sequences(problem.model, problem.constraint, problem.budget)
    count = len(sequences)
    try:
        built = hypotheses_composition(problem.loss, problem.model, problem.constraint)
        values, errors = _sums_of_inputs(built, sequences, problem.model.roundings)
        how = f"is a path of one composition of {built.states:,} states"
    except SizeLimitError:  # then one by one
        values, errors = _valued(problem, list(sequences), "openfst")
        how = "was composed with loss and model"
    row, (value, _, _, exact) = _best("decode", problem.sign, values, errors, sequences)
    why = f"each of the {count:,} allowed sequences {how}"
    why = why if exact else f"{why}; but {HIDDEN}"
    late = _late(problem, len(values), count)
    proven, error = exact and not late, float(errors[row])
    answer = Answer(sequences[row], proven, late or why, len(values), value, error)
    return with_best_of_all(problem, answer)


def hypotheses_composition(loss: Loss, model: Any, constraint: Any = None) -> Composition:
    """The composition of all allowed sequences, the loss and the model, given as to ``decode``."""
    model = as_model(model)
    hypotheses = allowed_layers(model, as_constraint(constraint, model.alphabet, model.n))
    return compose_layers(bind_labels(loss, model.alphabet, "decode"), hypotheses, model.layered())


def _sums_of_inputs(built: Composition, sequences: Ints, behind: int) -> tuple[Floats, Floats]:
    """The expected values of sequences, and bounds on their errors.

    ``behind`` bounds the roundings behind the weights of the model.
    """
    total, size, roundings = np.zeros(len(sequences)), np.zeros(len(sequences)), 0
    for sign, part in signed_parts(built.values):
        table = built.weighted(part)
        _guard_prefixes(table, len(sequences))
        weights = weights_of_inputs(table, sequences + 1)
        total, size = total + sign * weights, size + weights
        # Determinization sums, multiplies and divides where a sum over paths only sums.
        roundings = max(roundings, 3 * composition.path_roundings(table, built.machine.n))
    return total, Sums(total, size, size, roundings + behind).errors


def _best(
    where: str, sign: float, values: Floats, errors: Floats, sequences: Ints
) -> tuple[int, tuple[float, float, float, bool]]:
    """The row of the best value; the value, bounds of the best, and whether it is proven."""
    row = int((sign * values).argmax())
    value, error = float(values[row]), float(errors[row])
    check_finite(where, value)
    ends = [value - sign * error, sign * float((sign * values + errors).max())]
    changed = (sequences[: len(values)] != sequences[row]).sum(axis=1) == 1
    step = float(np.median(np.abs(values[changed] - value))) if changed.any() else 0.0
    exact = max(ends) - min(ends) <= PRECISION * max(abs(value), step) + 4 * LEAST
    return row, (value, min(ends), max(ends), exact)


def _guard_prefixes(table: ArcTable, sequences: int) -> None:
    """Refuses what determinization may list: each prefix with each state of its layer."""
    labels = float(table.ilabel.max(initial=1))
    widths = np.bincount(table.depths[0])
    prefixes = np.minimum(labels ** np.arange(len(widths)), sequences)
    guard_size("composition", int(widths @ prefixes) // ELEMENTS_PER_STATE)


def best_corpus_hypotheses(
    corpus: Corpus, sign: float
) -> tuple[list[Ints], tuple[float, float, float, bool]]:
    """The best hypotheses as label indices; their value, bounds, and whether it is proven best."""
    with composition.advising_default():
        hypotheses = [
            _sequences(model, corpus.allowed(row), CANDIDATES)
            for row, model in enumerate(corpus.models)
        ]
        sizes = [len(zs) for zs in hypotheses]
        count = math.prod(sizes)
        if count > CANDIDATES:
            must = f"there may be at most {CANDIDATES:,} hypotheses for all sentences together"
            raise SizeLimitError(message("decode_corpus", must, f"{float(count):.6g}"))
        values, errors = _corpus_values(corpus, hypotheses)
    rows = np.unravel_index(np.arange(count), sizes) if sizes else ()
    choices = [zs[row] for zs, row in zip(hypotheses, rows, strict=True)]
    joined = np.column_stack([np.zeros((count, 0), np.int64), *choices])
    row, best = _best("decode_corpus", sign, values, errors, joined)
    return [zs[row] for zs in choices], best


def _corpus_values(corpus: Corpus, hypotheses: Sequence[Ints]) -> tuple[Floats, Floats]:
    """The expected value of the corpus and its error for all choices of hypotheses, two arrays.

    Each sentence is a composition, whose ends are told apart by the counts of the pair; the
    distributions of totals, (choices, totals), grow by one sentence at a time.
    """
    names, bound = counts_read(corpus.loss.bound), corpus.loss.bound
    # A row of zeros comes before the totals, as there may be no name.
    totals, chances, roundings = np.zeros((1 + len(names), 1)), np.ones((1, 1)), 8
    lost = dict.fromkeys(names, 0.0)  # bounds on the errors of totals
    for loss, model, zs in zip(corpus.losses, corpus.models, hypotheses, strict=True):
        # without its value, which need not be defined for a sentence by itself
        plain = replace(loss, spec=replace(loss.spec, value=Number(0.0), range=None))
        free = any_layers(model.alphabet, model.n)
        built = compose_layers(plain, free, model.layered())
        added, counts, more = _counts(built, names, zs)
        sums, rest = two_sum(totals[:, :, None], counts[:, None])
        errors = register_errors(built.machine)
        for name, part in zip(names, np.abs(rest[1:]), strict=True):
            lost[name] += errors.get(name, 0.0) + float(part.max(initial=0.0))
        reached, place = np.unique(sums.reshape(len(sums), -1), axis=1, return_inverse=True)
        place = place.reshape(sums.shape[1:])
        cells = len(chances) * len(zs) * reached.shape[1]
        guard_size("sums of counts", cells // KEPT_CELLS_PER_STATE)
        after = np.zeros((len(chances), len(zs), reached.shape[1]))
        for k, places in enumerate(place.T):  # other totals so far, other totals now
            after[:, :, places] += chances[:, None] * added[:, k, None]
        totals, chances = reached, after.reshape(-1, reached.shape[1])
        roundings += more + len(place.T) + model.roundings
    read = dict(zip(names, totals[1:], strict=True))
    values = value_of_totals(bound, corpus.n, read, totals.shape[1])
    at_end = state_of_totals(bound, corpus.n, read, totals.shape[1])
    roundings += totals.shape[1]
    expected = Sums(chances @ values, chances.sum(axis=1), chances @ np.abs(values), roundings)
    off = value_errors(bound, corpus.n, at_end, lost, totals.shape[1])
    known = np.isfinite(off)
    unknown = np.where((chances[:, ~known] > 0).any(axis=1), np.inf, 0.0)
    return expected.values, expected.errors + chances[:, known] @ off[known] + unknown


def _counts(built: Composition, names: Sequence[str], zs: Ints) -> tuple[Floats, Floats, int]:
    """P(counts given z), (sequences, tuples of counts), 0 and the counts, a bound on roundings."""
    table, registers = built.plain, built.registers()
    _guard_prefixes(table, len(zs))
    ends, begin = np.flatnonzero(np.isfinite(table.final)), table.start
    counts = [registers[name][ends] - registers[name][begin] for name in names]
    rows = np.array([np.zeros(len(ends)), *counts])
    kinds, kind = np.unique(rows, axis=1, return_inverse=True)
    kind = kind.ravel()
    chances = np.zeros((len(zs), kinds.shape[1]))
    for k in range(kinds.shape[1]):
        final = np.full(table.states, np.inf)
        final[ends[kind == k]] = table.final[ends[kind == k]]
        chances[:, k] = weights_of_inputs(replace(table, final=final), zs + 1)
    return chances, kinds, 3 * composition.path_roundings(table, zs.shape[1])
