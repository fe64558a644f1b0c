"""The product of a loss, a reference and a constraint: a machine over z, merged backwards.

With the reference given, a loss is deterministic in z. What only adds up and is read by the value
alone is a *sum*; the other registers that read z, with what the last label says about the next, are
the states. Registers that read the reference alone are constants of each position, and a step
depends on the reference through them: through the *context* of its position. Steps are computed
once for each context, however many references share it.

Two states before a position are one *class* if every continuation adds the same to the sums and
ends in what the value does not tell apart. Classes are found from the last position to the first
and kept by context and classes ahead, so that references that share the end of a context share
the work.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.compose import guard_size
from fsmeu.fst.distinct import distinct, distinct_rows
from fsmeu.limits import (
    KEPT_ORACLE_CELLS,
    KEPT_STEPS,
    LEAST_TRELLIS_LENGTH,
    MOST_TRELLISES,
    ORACLE_LENGTH_STEP,
    STEPS_PER_STATE,
)
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.checks import guard_bytes
from fsmeu.searn.oracle.steps import (
    Advance,
    CannotServeError,
    FunctionSteps,
    SpecSteps,
    reads_length,
)

__all__ = ["ClassLayer", "Machine", "equal_rows", "machines_of"]

Steps = SpecSteps | FunctionSteps

Small = NDArray[np.int32]
_CONTEXTS_AT_ONCE = 16
_FACTORS = np.random.default_rng(20090).integers(1, 1 << 62, 4096, np.int64) * 2 + 1


class TransitionConstraint:
    """What the last label says about the next: labels of equal rows say the same.

    A label that may not follow *falls back* to one that may: it leads where that one leads and adds
    what that one adds. So every sequence of labels stands for one that is allowed, all allowed ones
    are among these, and the best over all completions is the best over allowed ones.

    Args:
        fallback: the label that each label stands for after each other, (L + 1, L), its last row
            at the start; None where each stands for itself.
        labels: the number of labels, L.

    Attributes:
        start: the kind of the start.
        kinds: how many kinds of last labels there are.
        label: the label that each label stands for in each kind, (kinds, L).
        after: the kind after it, (kinds, L).
    """

    def __init__(self, fallback: Ints | None, labels: int) -> None:
        table = np.tile(np.arange(labels), (labels + 1, 1)) if fallback is None else fallback
        self.label, kind = np.unique(table, axis=0, return_inverse=True)
        kind = np.asarray(kind, np.int64).ravel()
        self.kinds, self.start = len(self.label), int(kind[-1])
        self.after: Ints = kind[self.label]


class ClassLayer(NamedTuple):
    """The steps of one position.

    Attributes:
        next: the class after each step, (classes, labels).
        gains: what each step adds to each sum, (sums, classes, labels).
    """

    next: Ints
    gains: Floats


class Machine(NamedTuple):
    """The machine of one reference.

    Attributes:
        steps: the loss with the reference given.
        start: the class of the first state.
        layers: the steps of positions 0, ..., n - 1.
        ends: what the value reads in the classes after the last, (classes, registers).
        constants: what it reads in the reference, (constants,).
    """

    steps: Steps
    start: int
    layers: list[ClassLayer]
    ends: Floats
    constants: Floats


class Product:
    """The layers of all references that share their steps.

    Where steps lead to the same states in all contexts, every layer has all states that any
    position reaches, so that layers depend on contexts and classes ahead alone.

    Args:
        steps: the loss with the reference given.
        constraint: which label may follow which.
    """

    def __init__(self, steps: Steps, constraint: TransitionConstraint) -> None:
        self.steps, self.constraint = steps, constraint
        self._forget()

    def _forget(self) -> None:
        """Forgets all layers."""
        self._codes: list[Ints] = []
        self._numbers: dict[bytes, int] = {}
        self._after: dict[tuple[int, int], int] = {}
        self._within: set[tuple[int, int]] = set()
        self._final: dict[int, tuple[Small, Floats]] = {}
        self._found: dict[Hashable, tuple[Hashable, Small, ClassLayer]] = {}
        self._steps: dict[tuple[int, int], Advance] = {}
        self._layers: dict[bytes, ClassLayer] = {}
        self._partitions: dict[bytes, int] = {}
        self._cells = self._step_cells = 0
        kinds, start = self.constraint.kinds, self.constraint.start
        self._first = np.array([self.steps.start * kinds + start], np.int64)
        self._start = 0
        self._levels: list[int] = []  # how many states are reached within 0, 1, ... steps
        self._places: Ints | None = None  # targets of all states, where these are in every layer

    def walk(self, contexts: Ints, constants: Floats) -> Machine:
        """The machine of the reference with these contexts, (n,), and constants.

        Raises:
            LossFileError: a step, or what it adds, is not defined after some sequence of labels.
            SizeLimitError: there are too many states.
            CannotServeError: a register leaves the bounds that the reference's length gives it.
        """
        if self._cells > KEPT_ORACLE_CELLS:
            self._forget()
        asked, n = contexts.tolist(), len(contexts)
        self.prepare(asked)
        path = [self._number(self._first)]
        for context in asked:
            path.append(self._forward(path[-1], context))
        self._check_bounds(path, n)
        if path[-1] not in self._final:
            self._final[path[-1]] = self._classes_at_end(self._codes[path[-1]])
        classes, ends = self._final[path[-1]]
        key: Hashable = (path[-1], "end")
        layers: list[ClassLayer] = []
        for codes, context in zip(reversed(path[:-1]), reversed(asked), strict=True):
            key, classes, layer = self._backward(codes, context, key, classes)
            layers.append(layer)
        return Machine(self.steps, int(classes[self._start]), layers[::-1], ends, constants)

    def forget_steps(self) -> None:
        """Frees what only another walk would use, and is not shared by all positions."""
        if not self._levels:
            self._steps.clear()
            self._step_cells = 0

    def _check_bounds(self, path: Sequence[int], n: int) -> None:
        for codes in set(path):
            if (codes, n) not in self._within:
                held = self._codes[codes]
                if self._levels:
                    held = held[: self._levels[min(n, len(self._levels) - 1)]]
                if not self.steps.keeps_bounds(np.unique(held // self.constraint.kinds), n):
                    raise CannotServeError
                self._within.add((codes, n))

    def prepare(self, contexts: Sequence[int]) -> None:
        """Finds the steps in contexts that are new, many at once, where steps are steady."""
        if not isinstance(self.steps, SpecSteps) or not self.steps.steady or not len(contexts):
            return
        if not self._levels:
            self._close(self.steps, contexts[0])
        number = self._number(self._first)
        new = [one for one in dict.fromkeys(contexts) if (number, one) not in self._steps]
        held, _ = distinct(self._first // self.constraint.kinds)
        for begin in range(0, len(new), _CONTEXTS_AT_ONCE):
            some = new[begin : begin + _CONTEXTS_AT_ONCE]
            for context, one in zip(some, self.steps.advance_all(some, held), strict=True):
                self._after[number, context] = number
                self._steps[number, context] = self._steady(one)
                self._cells += one.kinds.size // 4

    def _close(self, steps: SpecSteps, context: int) -> None:
        """Lists all states that sequences up to the greatest length reach, the nearest first."""
        found, level, counts = self._first, self._first, [1]
        for _ in range(steps.n - 1):
            held, rows = distinct(level // self.constraint.kinds)
            self._guard(len(held))
            after = self._constrained(level, rows, steps.advance_all([context], held)[0])
            level = np.setdiff1d(after.targets, found)
            if not len(level):
                break
            found = np.concatenate((found, level))
            counts.append(len(found))
        self._guard(len(found))
        self._first, self._levels = found, counts

    def _targets(self, context: int, codes: Ints) -> Advance:
        """What a step does in a context; targets are codes."""
        held, rows = distinct(codes // self.constraint.kinds)
        return self._constrained(codes, rows, self.steps.advance(context, held))

    def _constrained(self, codes: Ints, rows: Ints, found: Advance) -> Advance:
        """What a step does in states, from what it does in the loss's own, at these rows."""
        kind = codes % self.constraint.kinds
        at = (rows[:, None], self.constraint.label[kind])  # (states, labels)
        targets = found.targets[at] * self.constraint.kinds + self.constraint.after[kind]
        return Advance(targets, found.kinds[at], found.amounts)

    def _guard(self, states: int) -> int:
        """The cells of the steps of so many states."""
        cells = states * self.steps.labels * (1 + len(self.steps.sum_order))
        guard_size("cost oracle", cells // STEPS_PER_STATE)
        return cells

    def _number(self, codes: Ints) -> int:
        key = codes.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._codes)
            self._codes.append(codes)
            self._cells += codes.size
            guard_bytes(8 * self._cells)
        return self._numbers[key]

    def _forward(self, codes: int, context: int) -> int:
        """The number of the states after a step of these."""
        if (codes, context) not in self._after:
            self._advance(codes, context)
        return self._after[codes, context]

    def _advance(self, codes: int, context: int) -> Advance:
        """What a step does; targets are numbered within the next layer."""
        key = (codes, context)
        if key in self._steps:
            return self._steps[key]
        held = self._codes[codes]
        cells = self._guard(len(held))
        if self._step_cells + cells > KEPT_STEPS:
            self.forget_steps()
        self._step_cells += cells
        found = self._targets(context, held)
        after, places = distinct(found.targets)
        self._after[key] = self._number(after)
        self._steps[key] = found._replace(targets=places)
        return self._steps[key]

    def _steady(self, found: Advance) -> Advance:
        """What a step does in all states that any position reaches, which every layer has.

        A step from what only the longest sequences reach may lead out of these states; it is made
        to lead back, which makes no difference, since no sequence takes it.
        """
        codes = self._first
        _, rows = distinct(codes // self.constraint.kinds)
        found = self._constrained(codes, rows, found)
        if self._places is None:
            order = np.argsort(codes)
            places = order[np.searchsorted(codes[order], found.targets) % len(codes)]
            own = np.arange(len(codes))[:, None]
            self._places = np.where(codes[places] == found.targets, places, own)
        return found._replace(targets=self._places)

    def _classes_at_end(self, codes: Ints) -> tuple[Small, Floats]:
        """The class of each state after the last position, and what the value reads there."""
        ends = self.steps.ends(codes // self.constraint.kinds) + 0.0
        columns = [np.unique(column, return_inverse=True)[1] for column in ends.T]
        rows = np.array(columns, np.int64).reshape(len(columns), len(ends)).T
        first, classes = equal_rows(rows)
        return classes.astype(np.int32), ends[first]

    def _backward(
        self, codes: int, context: int, ahead: Hashable, classes: Small
    ) -> tuple[Hashable, Small, ClassLayer]:
        """A key of the classes before a position, the class of each state, and the steps."""
        key = (codes, context, ahead)
        if key not in self._found:
            targets, kinds, amounts = self._advance(codes, context)
            goals = classes[targets].astype(np.int64)
            first, number_of = equal_rows(goals * amounts.shape[1] + kinds)
            before = number_of.astype(np.int32)
            layer = self._layer(goals[first], amounts[:, kinds[first]])
            self._cells += before.size
            guard_bytes(8 * self._cells)
            number = self._partitions.setdefault(_digest(before), len(self._partitions))
            self._found[key] = (codes, number), before, layer
        return self._found[key]

    def _layer(self, goals: Ints, gains: Floats) -> ClassLayer:
        """The layer with these steps: equal ones are one."""
        key = _digest(goals, gains)
        if key not in self._layers:
            self._layers[key] = ClassLayer(goals, gains)
            self._cells += goals.size + gains.size
        return self._layers[key]


def _digest(*arrays: NDArray[Any]) -> bytes:
    """A hash of the contents of arrays, 16 bytes, in place of a copy of them as a key."""
    found = blake2b(digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.digest()


def equal_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The first place of each distinct row (rows,), and the number of each row.

    Rows are multiplied by fixed odd numbers and summed modulo 2^64; whether rows with equal sums
    are equal is checked, and where they are not (about once in 2^64 / rows^2) they are sorted.

    Args:
        rows: whole numbers of at least -1, (rows, columns).
    """
    if not rows.shape[1]:
        return np.zeros(min(1, len(rows)), np.int64), np.zeros(len(rows), np.int64)
    factors = np.resize(_FACTORS, rows.shape[1])
    with np.errstate(over="ignore"):
        keys = rows @ factors
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[number]], rows):
        return distinct_rows([column + 1 for column in rows.T])
    return first, number


def machines_of(loss: Loss, ys: Sequence[Ints], fallback: Ints | None = None) -> list[Machine]:
    """The machine of each reference, given as label indices.

    Args:
        loss: the loss.
        ys: the references.
        fallback: as in ``TransitionConstraint``.

    Raises:
        LossFileError: a step is not defined after some sequence of labels.
        SizeLimitError: there are too many states.
    """
    kept: dict[Any, Any] = {}
    if isinstance(loss, SpecLoss):
        kept = loss.memo(("oracles", None if fallback is None else fallback.tobytes()))
    constraint = TransitionConstraint(fallback, len(loss.alphabet))
    lengths: dict[int, list[int]] = {}
    for k, y in enumerate(ys):
        lengths.setdefault(len(y), []).append(k)
    found: dict[int, Machine] = {}
    for n in sorted(lengths, reverse=True):
        given = np.array([ys[k] for k in lengths[n]], np.int64).reshape(len(lengths[n]), n)
        found |= zip(lengths[n], _machines(loss, given, kept, constraint), strict=True)
    for product in kept.values():
        product.forget_steps()
    return [found[k] for k in range(len(ys))]


def _machines(
    loss: Loss, ys: Ints, kept: dict[Any, Any], constraint: TransitionConstraint
) -> list[Machine]:
    """Machines of references of one length, by the first steps that can serve them all."""
    n = ys.shape[1]
    for shared, product in _products(loss, ys[0], kept, constraint):
        try:
            contexts, constants = product.steps.contexts(ys)
            product.prepare(np.unique(contexts).tolist())
            made = [product.walk(*pair) for pair in zip(contexts, constants, strict=True)]
        except CannotServeError:
            continue
        except (LossFileError, SizeLimitError):
            if not shared:
                raise
            continue  # perhaps of states that only longer references reach
        kept.pop(product.steps.n, None)
        kept[product.steps.n] = product
        while len(kept) > MOST_TRELLISES:
            del kept[next(iter(kept))]
        return made
    raise AssertionError(n)  # the last steps serve their own length


def _products(
    loss: Loss, y: Ints, kept: dict[Any, Any], constraint: TransitionConstraint
) -> Iterator[tuple[bool, Product]]:
    """Products that are kept, then new ones: for several lengths first, at last for this one."""
    n = len(y)
    yield from [(True, one) for one in reversed(kept.values()) if one.steps.serves(n)]
    if not isinstance(loss, SpecLoss):
        yield False, Product(FunctionSteps(loss), constraint)
        return
    if n and not reads_length(loss):
        rounded = -(-n // ORACLE_LENGTH_STEP) * ORACLE_LENGTH_STEP
        with suppress(LossFileError, SizeLimitError):  # perhaps one that long is refused
            steps = SpecSteps(loss, np.resize(y, rounded + 1), shared=True)
            if not steps.steady:
                longer = max(LEAST_TRELLIS_LENGTH, 1 << (n - 1).bit_length())
                steps = SpecSteps(loss, np.resize(y, longer), shared=True)
            yield True, Product(steps, constraint)
    yield False, Product(SpecSteps(loss, y, shared=False), constraint)
