"""The core of a loss that splits by tape: the steps of each tape are found once for all references.

With the tapes apart (``trellis.tape``), a reference is a path through the tape of y, which shows a
row of feature values at each position; what a step of z adds there is looked up by its own row. A
new reference then asks nothing of the evaluator, but for rows that no other has shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.affine import starts_of
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.evaluator import Scope, evaluate, number
from fsmeu.searn.oracle.core import CannotServeError, Gain
from fsmeu.searn.oracle.spec_core import slopes_of
from fsmeu.trellis.tape import Tape, UncountableError
from fsmeu.trellis.tapes import Tapes

__all__ = ["SplitCore", "can_split"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def can_split(loss: SpecLoss) -> Split | None:
    """The loss split by tape, where its value looks at counts alone and no step at the length."""
    form = loss.split
    if form is None or form.reads_length or not form.counted:
        return None
    counters = {form.z.counter, form.y.counter, *(one.register for one in form.joint_counts)}
    registers = {register.name for register in form.bound.spec.registers}
    read = names_read(form.bound.spec.value) & registers
    return form if read <= counters else None


class _Steps:
    """The steps of all states of a tape that sequences up to a length reach.

    A step from what only sequences of this length reach may lead out of these states; it is made to
    lead back to where it began, which makes no difference, since no sequence takes it.

    Args:
        tape: the tape, for sequences longer by one.
        n: the length.

    Attributes:
        start: the place of the first state.
        targets: the place of the state after each step, (states, labels).
        counted: what the step adds to the counter, of the same shape.
        features: for each term, the number of the row of features that it shows, of that shape.
    """

    def __init__(self, tape: Tape, n: int) -> None:
        positions = [0]
        while positions[-1] < n and tape.layer(len(positions)) is not tape.layer(positions[-1]):
            positions.append(len(positions))
        every = np.unique(np.concatenate([tape.codes(i) for i in positions]))
        layers = [tape.layer(i) for i in positions]
        shape = (len(every), layers[0].targets.shape[1])
        self.start = int(np.searchsorted(every, tape.codes(0)[0]))
        self.targets, self.counted = np.empty(shape, np.int64), np.empty(shape, np.int64)
        self.features = [np.empty(shape, np.int64) for _ in layers[0].features]
        for i, layer in zip(positions, layers, strict=True):
            rows = np.searchsorted(every, tape.codes(i))
            goals = tape.codes(i + 1)[layer.targets]
            place = np.minimum(np.searchsorted(every, goals), len(every) - 1)
            self.targets[rows] = np.where(every[place] == goals, place, rows[:, None])
            self.counted[rows] = layer.counted
            for ids, shown in zip(self.features, layer.features, strict=True):
                ids[rows] = shown


class SplitCore:
    """The core of a loss that splits by tape, for references up to a length.

    Every layer has the states that any position can reach, so that layers depend on contexts alone;
    steps of some of them can be asked for, too.

    Args:
        loss: the loss.
        form: the loss split by tape.
        n: the length.

    Raises:
        CannotServeError: a step depends on the position, or is undefined for some reference.
    """

    def __init__(self, loss: SpecLoss, form: Split, n: int) -> None:
        self.n, self._form, self._bound = n, form, loss.bound
        self._trellis = Tapes(form, n + 1)
        if len(set(self._trellis.z.view.contexts())) > 1:
            raise CannotServeError
        try:
            self._steps = _Steps(self._trellis.z, n)
        except (LossFileError, UncountableError):
            raise CannotServeError from None
        self.labels, self.start = len(loss.alphabet), self._steps.start
        self.first = np.arange(len(self._steps.targets))
        self.steady: Ints | None = self._steps.targets
        read = names_read(form.bound.spec.value)
        self._joint = [k for k, one in enumerate(form.joint_counts) if one.register in read]
        self._names = [form.joint_counts[k].register for k in self._joint]
        if form.z.counter is not None:
            self._names.append(form.z.counter)
        self.sums = len(self._names)
        self.sum_order = list(range(self.sums))
        self._numbers: dict[tuple[int, ...], int] = {}
        self._met: list[tuple[int, ...]] = []
        self._columns: dict[tuple[int, int, int], Gain] = {}
        found, kinds = np.unique(self._steps.counted, return_inverse=True)
        kinds = kinds.reshape(self._steps.counted.shape)
        self._counted = Gain(kinds, found.astype(np.float64))

    def serves(self, n: int) -> bool:
        """Whether references of this length can be given."""
        if n > self.n:
            return False
        try:
            return self._trellis.serves(n)
        except (LossFileError, UncountableError):
            return False

    def contexts(self, ys: Ints) -> tuple[Ints, Floats]:
        """The context of each position (rows, n), and the count of y at the end (rows, 1)."""
        rows, n = ys.shape
        try:
            layers = [self._trellis.y.layer(i) for i in range(n)]
        except (LossFileError, UncountableError):
            raise CannotServeError from None
        found, ends = np.empty((rows, n), np.int64), np.zeros((rows, 1))
        state = np.zeros(rows, np.int64)
        clock = self._trellis.reads_clock
        for i, layer in enumerate(layers):
            label = ys[:, i]
            shown = [ids[state, label].tolist() for ids in layer.features]
            if clock or not shown:
                shown.append([i if clock else 0] * rows)
            found[:, i] = [self._number(key) for key in zip(*shown, strict=True)]
            ends[:, 0] += layer.counted[state, label]
            state = layer.targets[state, label]
        return found, ends

    def _number(self, key: tuple[int, ...]) -> int:
        known = self._numbers.setdefault(key, len(self._met))
        if known == len(self._met):
            self._met.append(key)
        return known

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, list[Gain]]:
        """The states after a step, targets among them, and what the step adds to each sum."""
        try:
            gains = [self._gain(count, context) for count in self._joint]
        except LossFileError:
            raise CannotServeError from None
        if self._form.z.counter is not None:
            gains.append(self._counted)
        targets = self._steps.targets
        if len(codes) < len(self.first):
            targets = targets[codes]
            gains = [Gain(one.kinds[codes], one.amounts) for one in gains]
        return self.first, targets, gains

    def _gain(self, count: int, context: int) -> Gain:
        """What steps add to a joint count: the sum of its terms."""
        kinds, amounts = np.zeros((1, 1), np.int64), np.zeros(1)
        for k, term in enumerate(self._trellis.terms):
            if term.count == count:
                one = self._column(k, context)
                kinds = kinds * len(one.amounts) + one.kinds[self._steps.features[k]]
                amounts = (amounts[:, None] + one.amounts).ravel()
        return Gain(np.broadcast_to(kinds, self._steps.targets.shape), amounts)

    def _column(self, term: int, context: int) -> Gain:
        """What a term adds in a context for each row of features that z shows, (rows,)."""
        shown = self._met[context]
        clock = shown[-1] if self._trellis.terms[term].reads_clock else -1
        key = (term, shown[term], clock)
        if key not in self._columns:
            found, kinds = np.unique(self._amounts(*key), return_inverse=True)
            self._columns[key] = Gain(kinds, found)
        return self._columns[key]

    def _amounts(self, number: int, row: int, clock: int) -> Floats:
        """What a term adds for each row of features of z beside one row of y, (rows,)."""
        term, rows = self._trellis.terms[number], self._trellis.z.rows(number)
        shown = self._trellis.y.rows(number)[row]
        held: dict[str, Floats | float] = {"i": max(clock, 0) + 1.0, "n": float(self.n)}
        held |= {f"z#{k}": column for k, column in zip(term.z, rows.T, strict=True)}
        held |= {f"y#{k}": value for k, value in zip(term.y, shown.tolist(), strict=True)}
        amounts = evaluate(term.amount, Scope(self._form.bound, held, held, {}))
        return np.broadcast_to(amounts, (len(rows),)) + 0.0

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Whether registers keep their bounds: ``serves`` has seen to it."""
        return True

    def ends(self, codes: Ints) -> Floats:
        """Nothing: the value looks at no state."""
        return np.zeros((len(codes), 0))

    def begin(self, n: int) -> Floats:
        """What the sums are before the first step, (sums,)."""
        return np.array(list(starts_of(self._form.bound, self._names, n).values()), np.float64)

    def values(
        self, n: int, constants: Floats, ends: Floats, sums: Floats, shape: tuple[int, ...]
    ) -> Floats:
        """The value at some ends, of this shape; ranges are not checked."""
        bound = self._form.bound
        held = {**dict(zip(self._names, sums, strict=True)), "n": float(n)}
        if self._form.y.counter is not None:
            held[self._form.y.counter] = float(constants[0])
        value = number(bound.spec.value, Scope(bound, held, held, {}))
        return np.broadcast_to(value, shape).astype(np.float64)

    def slopes(self, n: int, constants: Floats) -> tuple[float, Floats] | None:
        """The value with all sums at their start, and what each adds to it, if it is linear."""
        counter = self._form.y.counter
        held = {} if counter is None else {counter: float(constants[0])}
        return slopes_of(self._form.bound, self._names, n, held, {})

    def check(self, n: int, values: Floats) -> None:
        """Refuses values outside the range that the file declares."""
        check_range(self._bound, n, values)
