"""The core of a loss that splits by tape: the steps of each tape are found once for all references.

With the tapes apart (``trellis.tape``), a reference is a path through the tape of y, which shows a
row of feature values at each position; what a step of z adds there is looked up by its own row. A
new reference then asks nothing of the evaluator, but for rows that no other has shown.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import LossFileError
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.dependencies import names_read
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.declared_range import check_range
from fsmeu.losses.semantics.evaluator import Scope, constant_at, number
from fsmeu.searn.oracle.core import CannotServeError
from fsmeu.trellis.split_trellis import SplitTrellis
from fsmeu.trellis.tape import TapeLayer, UncountableError
from fsmeu.trellis.terms import amounts

__all__ = ["SplitCore", "can_split"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LAYER = 1 << 40


def can_split(loss: SpecLoss) -> Split | None:
    """The loss split by tape, where its value looks at counts alone and no step at the length."""
    form = loss.split
    if form is None or form.reads_length or not form.counted:
        return None
    counters = {form.z.counter, form.y.counter, *(one.register for one in form.joint_counts)}
    registers = {register.name for register in form.bound.spec.registers}
    read = names_read(form.bound.spec.value) & registers
    return form if read <= counters else None


class SplitCore:
    """The core of a loss that splits by tape, for references up to a length.

    A code of a state has the number of its layer of the tape and its number therein.

    Args:
        loss: the loss.
        form: the loss split by tape.
        n: the length.
    """

    def __init__(self, loss: SpecLoss, form: Split, n: int) -> None:
        self.n, self._form, self._bound = n, form, loss.bound
        self._trellis = SplitTrellis(form, n)
        self.labels, self.start = len(loss.alphabet), 0
        read = names_read(form.bound.spec.value)
        self._joint = [k for k, one in enumerate(form.joint_counts) if one.register in read]
        self._names = [form.joint_counts[k].register for k in self._joint]
        if form.z.counter is not None:
            self._names.append(form.z.counter)
        self.sums = len(self._names)
        self.sum_order = list(range(self.sums))
        self._layers: list[TapeLayer] = []
        self._numbers: dict[tuple[int, ...], int] = {}
        self._met: list[tuple[int, ...]] = []
        self._columns: dict[tuple[int, int, int], Floats] = {}

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
            self._reach(n)
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

    def _reach(self, n: int) -> None:
        """Numbers the layers of the tape of z up to a length; one that repeats has one number."""
        for i in range(len(self._layers), n):
            self._layers.append(self._trellis.z.layer(i))

    def advance(self, context: int, codes: Ints) -> tuple[Ints, Ints, Floats]:
        """The states after a step, targets among them, and what the step adds to sums."""
        i = int(codes[0]) // _LAYER
        layer = self._layers[i]
        repeats = i + 1 < len(self._layers) and self._layers[i + 1] is layer
        after = i if repeats else i + 1
        gains = np.zeros((self.sums, *layer.targets.shape))
        try:
            for k, term in enumerate(self._trellis.terms):
                if term.count in self._joint:
                    added = self._column(k, context, i)[layer.features[k]]
                    gains[self._joint.index(term.count)] += added
        except LossFileError:
            raise CannotServeError from None
        if self._form.z.counter is not None:
            gains[-1] = layer.counted
        return np.arange(layer.width) + after * _LAYER, layer.targets, gains

    def _column(self, term: int, context: int, i: int) -> Floats:
        """What a term adds in a context for each row of features that z shows, (rows,)."""
        shown = self._met[context]
        clock = shown[-1] if self._trellis.terms[term].reads_clock else -1
        rows = self._trellis.z.rows(term)
        key = (term, shown[term], clock)
        known = self._columns.get(key)
        if known is None or len(known) < len(rows):
            y_row = self._trellis.y.rows(term)[shown[term]][None]
            table = amounts(
                self._form, self._trellis.terms[term], rows, y_row, max(clock, 0) + 1, self.n
            )
            self._columns[key] = known = table.toarray()[:, 0]
        return known

    def keeps_bounds(self, codes: Ints, n: int) -> bool:
        """Whether registers keep their bounds: ``serves`` has seen to it."""
        return True

    def ends(self, codes: Ints) -> Floats:
        """Nothing: the value looks at no state."""
        return np.zeros((len(codes), 0))

    def begin(self, n: int) -> Floats:
        """What the sums are before the first step, (sums,)."""
        bound = self._form.bound
        registers = {register.name: register for register in bound.spec.registers}
        return np.array([constant_at(bound, registers[name].start, n) for name in self._names])

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

    def check(self, n: int, values: Floats) -> None:
        """Refuses values outside the range that the file declares."""
        check_range(self._bound, n, values)
