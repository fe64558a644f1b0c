"""The product of a loss, a reference and a constraint: a machine over z, merged backwards.

Steps depend on the reference through the context of their position, and are computed once for each
context, however many references share it.

Two states before a position are one *class* if every continuation adds the same to the sums and
ends in what the value does not tell apart. Classes are computed from the last position to the first
and cached by context and classes ahead, so that references that share the end of a context share
the work.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from threading import RLock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsmeu import limits
from fsmeu.arrays import Bools, Floats, Ints
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.compose import guard_arcs, guard_size, max_states
from fsmeu.fst.distinct import bits, distinct, distinct_rows, first_places, group
from fsmeu.losses.protocol import Loss
from fsmeu.searn.oracle.steps import ReferenceSteps, reads_length

Small = NDArray[np.int32]
_BUILDING = RLock()
_CONTEXTS_AT_ONCE = 16
_EXACT_BITS = 42
_FACTORS = np.random.default_rng(20090).integers(1, 1 << 62, 4096, np.int64) * 2 + 1


class CostLayer(NamedTuple):
    """The steps of one position."""

    next: Small  # the class after each step, (classes, labels)
    kinds: Small  # the number of what each step adds to the sums, (classes, labels)


class Machine(NamedTuple):
    """The machine of one reference."""

    steps: ReferenceSteps  # the loss with the reference given
    start: int  # the class of the first state
    layers: list[CostLayer]  # the steps of positions 0, ..., n - 1
    ends: Floats  # what the value reads in the classes after the last, (classes, registers)
    constants: Floats  # what it reads in the reference, (constants,)


class Path(NamedTuple):
    """The layers of a machine of one reference."""

    start: int  # the class of the first state
    layers: list[CostLayer]  # the steps of positions 0, ..., n - 1
    ranks: Ints  # what the classes after the last position begin with, (classes,)
    scores: Floats  # the scores, greater being better, that ranks stand for, if any


class Product:
    """The layers of all references that share their steps.

    Where steps lead to the same states in all contexts, every layer has all states that any
    position reaches (it is *closed*), so that layers depend on contexts and classes ahead alone.

    A label that may not follow the last one *falls back* to one that may: it leads where that one
    leads and adds what that one adds. So every sequence of labels stands for one that is allowed,
    all allowed ones are among these, and the best over all completions is that over allowed ones.
    Last labels of equal rows of ``fallback`` are of one kind; a state is that of the loss times the
    number of kinds, plus the kind.

    ``fallback`` is the label that each label stands for after each other, (L + 1, L), its last row
    at the start; None where each stands for itself.
    """

    def __init__(self, steps: ReferenceSteps, fallback: Ints | None) -> None:
        self.steps = steps
        table = np.arange(steps.labels)[None] if fallback is None else fallback
        self._label, kind = np.unique(table, axis=0, return_inverse=True)
        kind = np.resize(kind, steps.labels + 1)
        self._kinds = len(self._label)
        self._start = kind[-1]
        self._kind_after = kind[self._label]
        self._forget()

    def _forget(self) -> None:
        """Forgets all layers."""
        self._codes: list[Ints] = []
        self._numbers: dict[bytes, int] = {}
        self._ends: dict[int, tuple[Small, Floats]] = {}
        self._before: dict[Hashable, tuple[Hashable, Small, CostLayer]] = {}
        self._steps: dict[tuple[int, int], tuple[int, Ints, Small]] = {}
        self._layers: dict[bytes, CostLayer] = {}
        self._partitions: dict[bytes, int] = {}
        self._cells = self._step_cells = 0
        self._first = np.array([self.steps.start * self._kinds + self._start], np.int64)
        self._closed = False  # whether every layer has all states
        self._places: Ints | None = None  # targets of all states, if so

    def machine(self, contexts: Ints, constants: Floats) -> Machine:
        """The machine of the reference with these contexts, (n,), and constants."""
        if self._cells > limits.KEPT_ORACLE_CELLS:
            self._forget()
        self.prepare(contexts)
        path = [self._number(self._first)]
        line = contexts.tolist()
        for context in line:
            path.append(self._step(path[-1], context)[0])
        if path[-1] not in self._ends:
            values = self.steps.ends(self._codes[path[-1]] // self._kinds)
            class_of = group(bits(values))
            first = first_places(class_of, int(class_of.max()) + 1)
            self._ends[path[-1]] = class_of.astype(np.int32), values[first]
        classes, ends = self._ends[path[-1]]  # of each last state, and what the value reads there
        ahead: Hashable = (path[-1], "end")  # a key of these classes
        layers: list[CostLayer] = []
        for codes, context in zip(reversed(path[:-1]), reversed(line), strict=True):
            key = (codes, context, ahead)
            if key not in self._before:
                _, targets, kinds = self._step(codes, context)
                after = classes[targets]
                first, number_of = equal_rows(after * (int(kinds.max()) + np.int64(1)) + kinds)
                before = number_of.astype(np.int32)
                layer = CostLayer(after[first], kinds[first])
                mark = _digest(*layer)
                if mark not in self._layers:
                    self._layers[mark] = layer
                    self._count(layer.next.size)
                number = self._partitions.setdefault(_digest(before), len(self._partitions))
                self._before[key] = (codes, number), before, self._layers[mark]
                self._count(before.size)
            ahead, classes, layer = self._before[key]
            layers.append(layer)
        return Machine(self.steps, int(classes[0]), layers[::-1], ends, constants)

    def prepare(self, contexts: Ints) -> None:
        """Computes the steps in contexts that are new, many at once, where steps are steady."""
        if not self.steps.steady or not contexts.size:
            return
        if not self._closed:  # all states that sequences reach, the nearest first
            reached = level = self._first
            for n in range(1, self.steps.n):
                if len(level):
                    self._guard(len(level))
                    ((targets, _),) = self._advance([int(contexts.flat[0])], level)
                    level = np.setdiff1d(targets, reached)
                    reached = np.concatenate((reached, level))
                if self.steps.serves(n):
                    self.steps.keep_bounds(reached // self._kinds, n)
            self._first = reached
            self._closed = True
        number = self._number(self._first)
        distinct_contexts = dict.fromkeys(contexts.ravel().tolist())
        new = [context for context in distinct_contexts if (number, context) not in self._steps]
        for begin in range(0, len(new), _CONTEXTS_AT_ONCE):
            self._expand(number, new[begin : begin + _CONTEXTS_AT_ONCE])

    def _advance(self, contexts: Sequence[int], codes: Ints) -> Iterator[tuple[Ints, Ints]]:
        """The codes after steps and numbers of amounts, (states, labels), in each context."""
        loss_codes, rows = distinct(codes // self._kinds)
        kind = codes % self._kinds
        at = (rows[:, None], self._label[kind])  # (states, labels)
        for targets, added in self.steps.advance(contexts, loss_codes):
            yield targets[at] * self._kinds + self._kind_after[kind], added[at]

    def _guard(self, states: int) -> int:
        """The cells of the steps of so many states, unless they are too many."""
        cells = states * self.steps.labels * (1 + len(self.steps.sum_order))
        guard_size("cost oracle", cells // limits.STEPS_PER_STATE)
        return cells

    def _count(self, cells: int) -> None:
        """Counts cells of layers that are kept, unless they get too many."""
        self._cells += cells
        guard_bytes(8 * self._cells)

    def _number(self, codes: Ints) -> int:
        """The number of a set of states, given by their codes."""
        key = codes.tobytes()
        if key not in self._numbers:
            self._numbers[key] = len(self._codes)
            self._codes.append(codes)
            self._count(codes.size)
        return self._numbers[key]

    def _step(self, codes: int, context: int) -> tuple[int, Ints, Small]:
        """The number of the states after a step, the place of each target, numbers of amounts."""
        if (codes, context) not in self._steps:
            self._expand(codes, [context])
        return self._steps[codes, context]

    def _expand(self, number: int, contexts: Sequence[int]) -> None:
        """Computes the steps of these states in contexts."""
        codes = self._codes[number]
        cells = len(contexts) * self._guard(len(codes))
        if not self._closed and self._step_cells + cells > limits.KEPT_STEPS:
            self._steps.clear()
            self._step_cells = 0
        self._step_cells += cells
        for context, (targets, kinds) in zip(contexts, self._advance(contexts, codes), strict=True):
            after = codes
            places = self._places
            if not self._closed:
                after, places = distinct(targets)
            elif places is None:
                order = np.argsort(codes)
                places = order[np.searchsorted(codes[order], targets) % len(codes)]
                here = np.arange(len(codes))[:, None]  # a step out of these: no sequence takes it
                self._places = places = np.where(codes[places] == targets, places, here)
            self._steps[number, context] = self._number(after), places, kinds.astype(np.int32)
            self._count(kinds.size // 2 if self._closed else 0)


def _digest(*arrays: NDArray[Any]) -> bytes:
    """A hash of the contents of arrays, 16 bytes, in place of a copy of them as a key."""
    return blake2b(b"".join(array.tobytes() for array in arrays), digest_size=16).digest()


def equal_rows(rows: Ints) -> tuple[Ints, Ints]:
    """The first place of each distinct row (rows,), and the number of each row.

    Rows are multiplied by fixed odd numbers and summed modulo 2^64; whether rows with equal sums
    are equal is checked, and where they are not (about once in 2^64 / rows^2) they are sorted.
    """
    with np.errstate(over="ignore"):
        keys = rows @ _FACTORS[np.arange(rows.shape[1]) % len(_FACTORS)]
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first[number]], rows):
        return distinct_rows([column + 1 for column in rows.T])
    return first, number


def guard_bytes(size: int) -> None:
    """Refuses tables of so many bytes, where they are more than the limit."""
    most = limits.ORACLE_BYTES_PER_STATE * max_states()
    if size > most:
        must = f"the tables of all references may take at most {most:,} bytes"
        remedy = "Give fewer references at a time, or raise the limit with FSMEU_MAX_STATES"
        raise SizeLimitError("cost oracle", must, given=f"{size:,}", remedy=remedy)


def machines_of(
    loss: Loss, ys: Sequence[Ints], fallback: Ints | None
) -> tuple[list[Machine], Floats]:
    """The machine of each reference, and the amounts that their layers number, (sums, numbers).

    References are given as label indices; ``fallback`` is as in ``Product``. Products are cached on
    the loss. One thread at a time extends them, and a product is not in the cache meanwhile: what
    an exception leaves of it is not asked again.
    """
    with _BUILDING:
        key = "oracles", None if fallback is None else fallback.tobytes()
        cache = loss.derived.get(key, dict[Any, Any])
        lengths: dict[int, list[int]] = {}
        for k, y in enumerate(ys):
            lengths.setdefault(len(y), []).append(k)
        machines: dict[int, Machine] = {}
        for n, rows in sorted(lengths.items(), reverse=True):
            references = np.array([ys[k] for k in rows], np.int64).reshape(len(rows), n)
            walked = _walked(loss, references, cache, fallback)
            machines |= zip(rows, walked, strict=True)
        amounts = machines[0].steps.amounts() if machines else np.zeros((0, 0))
    return [machines[k] for k in range(len(ys))], amounts


def _walked(
    loss: Loss, references: Ints, cache: dict[Any, Any], fallback: Ints | None
) -> list[Machine]:
    """The machines of references (rows, n), by the first product that serves; it is then cached."""
    products: dict[int, Product] = cache.setdefault("products", {})
    for product in _products(loss, references[0], cache, fallback):
        if products.get(product.steps.n) is product:
            del products[product.steps.n]
        try:
            contexts, constants = product.steps.contexts(references)
            product.prepare(contexts)
            walked = [product.machine(*pair) for pair in zip(contexts, constants, strict=True)]
            break
        except (LossFileError, SizeLimitError):  # perhaps of states that only longer ones reach
            if not product.steps.shared:  # the last one
                raise
    products.pop(product.steps.n, None)
    products[product.steps.n] = product
    while len(products) > limits.MOST_TRELLISES:
        del products[next(iter(products))]
    return walked


def _products(
    loss: Loss, y: Ints, cache: dict[Any, Any], fallback: Ints | None
) -> Iterator[Product]:
    """Products that may serve: cached ones, a new one for several lengths, then for this one."""
    n = len(y)
    amounts = cache.setdefault("amounts", {})
    yield from [p for p in reversed(cache["products"].values()) if p.steps.serves(n)]
    if n and not reads_length(loss):
        rounded = -(-n // limits.ORACLE_LENGTH_STEP) * limits.ORACLE_LENGTH_STEP
        with suppress(LossFileError, SizeLimitError):  # perhaps one that long is refused
            steps = ReferenceSteps(loss, np.resize(y, rounded + 1), True, amounts)
            if not steps.steady:
                longer = max(limits.LEAST_TRELLIS_LENGTH, 1 << (n - 1).bit_length())
                steps = ReferenceSteps(loss, np.resize(y, longer), True, amounts)
            if steps.steady or not steps.bounded:
                yield Product(steps, fallback)
    yield Product(ReferenceSteps(loss, y, False, amounts), fallback)


# -- states that hold the sums so far --------------------------------------------------------------


def ranked_path(start: int, following: Sequence[Ints], scores: Floats) -> Path:
    """The path of last states with scores (states,), and of steps to states (states, labels)."""
    levels, ranks = np.unique(scores + 0.0, return_inverse=True)
    zero = np.zeros((), np.int32)
    layers = [CostLayer(x.astype(np.int32), np.broadcast_to(zero, x.shape)) for x in following]
    return Path(start, layers, ranks, levels)


def unfolded(machine: Machine, amounts: Floats, sign: float) -> Path:
    """The machine whose states hold the sums so far, with scores at its end, merged backwards."""
    n = len(machine.layers)
    classes = np.array([machine.start], np.int64)
    sums = machine.steps.begin(n)[:, None]
    steps: list[Ints] = []
    arcs = 0
    for layer in machine.layers:
        arcs += len(classes) * machine.steps.labels
        guard_arcs("cost oracle", arcs)
        targets = layer.next[classes].astype(np.int64)
        kinds = layer.kinds[classes]
        after = sums[:, :, None] + amounts[:, kinds]
        ranks = [np.unique(total.ravel(), return_inverse=True)[1] for total in after]
        first, number = distinct_rows([targets.ravel(), *ranks])
        steps.append(number.reshape(targets.shape))
        classes = targets.ravel()[first]
        sums = after.reshape(len(sums), targets.size)[:, first]
    ends = machine.ends[classes].T
    values = machine.steps.values(n, machine.constants, ends, sums)
    scores, merged = np.unique(sign * values + 0.0, return_inverse=True)
    layers: list[Ints] = []
    for table in reversed(steps):
        first, before = equal_rows(merged[table])
        layers.append(merged[table[first]])
        merged = before
    return ranked_path(0, layers[::-1], scores)


def is_exact(numbers: Floats) -> Bools:
    """Whether numbers have so few digits that they can hardly be the outcome of a rounding."""
    digits = np.ldexp(np.frexp(numbers)[0], _EXACT_BITS)
    return np.asarray(digits == np.floor(digits))
