"""The tables of a loss, derived from its text and proven for sequences of every length.

**Roles.** Registers that only add up, and that no update reads, need not be states. Those of y
alone are numbers once y is given. Of those that read z, the ones in which the value is linear are
kept in the weight (*joint counts*), and one other may be the *counter*, which lanes take the place
of (``plan.py``). All other registers are memory.

**Ages.** An age is set to a number or grows by one, and is only ever compared with numbers and with
ages of the other tape (``losses/algebra/saturation.py``). Let m be the greatest such number and
T = m + 1. Two memories are *alike* if they agree on every age below T, on which ages are at least
T, and on all differences of two ages, cut off at 2 and -2. Alike memories give the same answer to
every comparison: an age of T or more is above every number, and two ages of which one may be that
of the step before differ by d, d + 1 or d - 1, whose sign is known from d cut off at 2. And their
successors are alike: of two ages that both grow the difference stays; one that is set to a number
c <= m differs from one that grows to w + 1 by a known number if w < T, and by at least 2 otherwise,
as w + 1 >= m + 2. So one memory of each kind, with the least ages of its kind, stands for all of
them, there are finitely many, and the machine of these is right for every length.

**Classes.** Memories that no continuation tells apart are merged (Moore's refinement).

**States.** Which (class, last label of z, amount counted last) are possible after a prefix of y is
a set that y alone determines (the subset construction). A set that lies within another may use the
tables of that one: what is not reached has the mass 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fsmeu import limits
from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError, SizeLimitError
from fsmeu.fst.distinct import bits, group, refine
from fsmeu.losses.algebra.saturation import ages_of, greatest_number
from fsmeu.losses.algebra.split import replace_parts
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Spec, names_read
from fsmeu.losses.machine.view import SpecAutomaton
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.torch.tables import ScoreTables

_FAR = 2.0  # where differences of ages are cut off


class NoTables(Exception):
    """There are no tables of a loss; the text says what does not hold."""


class Roles(NamedTuple):
    """What the registers of a loss are where y is given and z is random, by name."""

    joint: tuple[str, ...]  # counts in which the value is linear
    counter: str | None  # the other count that reads z
    given: tuple[str, ...]  # counts of y alone
    ends: tuple[str, ...]  # memory that the value looks at


@dataclass(frozen=True, eq=False)
class Derivation:
    """A loss with y given: its roles, its tables, and its ends, (ends, registers)."""

    bound: BoundLoss
    roles: Roles
    tables: ScoreTables
    ends: Floats


def derive(loss: Loss) -> Derivation:
    """The tables of a loss; a NoTables if there are none."""
    bound = loss.bound
    if bound is None:
        said = "the loss has no file that its tables could be derived from"
        raise NoTables(said)
    variants = _variants(bound)
    roles = _roles(variants[0].spec)
    try:
        classes = _classes(variants, roles)
        return Derivation(bound, roles, *_tables(classes, roles, len(bound.label_values)))
    except (LossFileError, SizeLimitError) as error:
        said = f"a step has no value for some pair of sequences: {error}"
        raise NoTables(said) from None


# -- roles -----------------------------------------------------------------------------------------


def _variants(bound: BoundLoss) -> list[BoundLoss]:
    """The loss whose steps read no position: one, or another for the last position."""
    spec = bound.spec
    if not spec.reads_clock and not spec.steps_read_length:
        return [bound]
    variants = [replace(bound, spec=_at_position(spec, is_last)) for is_last in (False, True)]
    for variant in variants:
        if variant.spec.reads_clock or variant.spec.steps_read_length:
            said = "a step looks at the position, or at the length"
            raise NoTables(said)
    return variants


def _at_position(spec: Spec, is_last: bool) -> Spec:
    """The spec in which it is known whether a position is the last."""
    here = ast.Name("i")
    length = ast.Name("n")
    others: dict[Expr, Expr] = {}
    for operator, holds in (("==", is_last), ("!=", not is_last)):
        others[ast.Binary(operator, here, length)] = ast.Number(float(holds))
        others[ast.Binary(operator, length, here)] = ast.Number(float(holds))
    for operator, mirrored, holds in (("<", ">", not is_last), (">=", "<=", is_last)):
        others[ast.Binary(operator, here, length)] = ast.Number(float(holds))
        others[ast.Binary(mirrored, length, here)] = ast.Number(float(holds))
    registers = (replace(r, update=replace_parts(r.update, others)) for r in spec.registers)
    return replace(spec, registers=tuple(registers))


def _roles(spec: Spec) -> Roles:
    """The roles of registers; a NoTables where the value needs two counters."""
    adding = [name for name in spec.amounts if name in spec.unread and spec.amounts[name]]
    random = [name for name in adding if "z" in spec.tapes[name]]
    joint = spec.linear(random)
    read = names_read(spec.value)
    counters = [name for name in random if name in read and name not in joint]
    if len(counters) > 1:
        said = f"the value is linear in neither of {' and '.join(counters)}, which both read z"
        raise NoTables(said)
    given = tuple(name for name in adding if name not in random and name in read)
    ends = tuple(r.name for r in spec.registers if r.name in read and r.name not in adding)
    if set(ends) & ages_of(spec).keys():
        said = "the value looks at an age"
        raise NoTables(said)
    starts = [r.start for r in spec.registers if r.name not in adding]
    if any("n" in names_read(start) for start in starts):
        said = "where a register starts depends on the length"
        raise NoTables(said)
    return Roles(joint, counters[0] if counters else None, given, ends)


# -- classes of memories ---------------------------------------------------------------------------


class _Classes(NamedTuple):
    """The least machine of both memories, M classes; class 0 is the start."""

    step: Ints  # (variants, M, z, y)
    joint: Floats  # (J, variants, M, z, y)
    counted: Ints  # (variants, M, z, y)
    given: Floats  # (counts, variants, M, z, y)
    end: Ints  # (M,), rows of ``ends``
    ends: Floats  # (ends, registers)


class _Memories(NamedTuple):
    """All pairs of memories that may follow the start, N of them; the first is the start."""

    targets: Ints  # places of those after a step, (N, variants z y)
    gains: Floats  # what a step adds up, (added, N, variants z y)
    added: tuple[str, ...]  # the registers that add up
    ends: Floats  # the registers that the value looks at, and 0, (N, registers + 1)


def _memories(variants: list[BoundLoss], roles: Roles) -> _Memories:
    """The pairs of memories, one for each kind of ages."""
    spec = variants[0].spec
    adding = tuple(name for name in spec.amounts if name in spec.unread and spec.amounts[name])
    ages = _Ages(spec)
    views = [SpecAutomaton(b.at(ages.length), None, adding, merge=False) for b in variants]
    for view in views[1:]:  # numbers of memories are those of the first
        view.space_of = views[0].space_of
    symbols = len(views) * views[0].symbols
    codes = np.array([views[0].start], np.int64)
    known = codes
    targets = list[Ints]()
    gains = list[Floats]()
    while len(codes):
        if len(known) * symbols > limits.TORCH_STEPS or len(targets) > limits.TORCH_LAYERS:
            said = "the loss has too many pairs of memories"
            raise NoTables(said)
        steps = [view.advance(1, codes) for view in views]
        after = np.concatenate([target for target, _ in steps], axis=1)
        if (after < 0).any():
            said = "a count that other registers read grows with the length"
            raise NoTables(said)
        targets.append(ages.least(views[0], after))
        gains.append(np.concatenate([_gains(gain, target) for target, gain in steps], axis=2))
        codes = np.setdiff1d(targets[-1], known)
        known = np.concatenate([known, codes])
    order = np.argsort(known)
    places = order[np.searchsorted(known, np.concatenate(targets), sorter=order)]
    columns = views[0].space_of.decode(known)
    ends = np.stack([*(columns[name] for name in roles.ends), np.zeros(len(known))], axis=1)
    return _Memories(places, np.concatenate(gains, axis=1), views[0].linear_names, ends)


def _classes(variants: list[BoundLoss], roles: Roles) -> _Classes:
    """The classes of memories that no continuation tells apart."""
    found = _memories(variants, roles)
    size = len(variants[0].label_values)
    seen = np.concatenate([*found.gains, found.ends], axis=1)
    numbers = refine(found.targets, group(bits(seen)))
    first = np.unique(numbers, return_index=True)[1]
    shape = (len(first), len(variants), size, size)
    step = numbers[found.targets[first]].reshape(shape).swapaxes(0, 1)
    gain_of = dict(zip(found.added, found.gains[:, first], strict=True))

    def of(names: tuple[str, ...]) -> Floats:
        tables = [gain_of[name].reshape(shape).swapaxes(0, 1) for name in names]
        return np.stack(tables) if tables else np.zeros((0, *step.shape))

    counted = of((roles.counter,))[0] if roles.counter else np.zeros(step.shape)
    if (
        (counted != np.floor(counted)).any()
        or counted.min() < 0
        or counted.max() > limits.TORCH_COUNTED
    ):
        said = f"{roles.counter} does not grow by small whole numbers"
        raise NoTables(said)
    values, end = np.unique(found.ends[first], axis=0, return_inverse=True)
    whole = counted.astype(np.int64)
    joint = of(roles.joint)
    return _Classes(step, joint, whole, of(roles.given), end.ravel(), values[:, :-1])


def _gains(gains: Floats | None, targets: Ints) -> Floats:
    """What steps add up, (added, memories, symbols)."""
    return np.zeros((0, *targets.shape)) if gains is None else gains


class _Ages:
    """The ages of a loss, and the least ages that stand for all that are alike."""

    def __init__(self, spec: Spec) -> None:
        names = ages_of(spec)
        self.names = tuple(names)
        self.enough = np.floor(greatest_number(spec)) + 1
        self.length = int(self.enough + _FAR * (len(names) + 1)) + 8

    def least(self, view: SpecAutomaton, codes: Ints) -> Ints:
        """Codes of the memories that stand for these, in the same shape."""
        if not self.names:
            return codes
        distinct, inverse = np.unique(codes, return_inverse=True)
        columns: Mapping[str, Floats] = view.space_of.decode(distinct)
        ages = np.stack([columns[name] for name in self.names])
        order = np.argsort(ages, axis=0, kind="stable")
        ascending = np.take_along_axis(ages, order, axis=0)
        lowered = np.empty_like(ascending)
        for row in range(len(ascending)):
            near = ascending[row]
            if row:
                gap = np.minimum(ascending[row] - ascending[row - 1], _FAR)
                near = lowered[row - 1] + gap
            large = np.maximum(near if row else self.enough, self.enough)
            lowered[row] = np.where(ascending[row] < self.enough, ascending[row], large)
        least = np.empty_like(ages)
        np.put_along_axis(least, order, lowered, axis=0)
        alike = {**columns, **dict(zip(self.names, least, strict=True))}
        numbers, _ = view.space_of.encode(alike)
        return numbers[inverse].reshape(codes.shape)


# -- states ----------------------------------------------------------------------------------------


def _tables(classes: _Classes, roles: Roles, size: int) -> tuple[ScoreTables, Floats]:
    """The tables of the classes, and their ends."""
    items = _items(classes, size)
    sets = _sets(items, classes)
    widest = max(len(members) for members in sets.members)
    kinds = _Kinds(size, widest, len(roles.joint))
    shape = (len(classes.step), len(sets.members), size)
    kind = np.zeros(shape, np.int64)
    given = np.zeros((*shape, len(roles.given)))
    for variant, state, y in np.ndindex(shape):
        here = sets.members[state]
        there = sets.members[sets.after[variant, state, y]]
        kind[variant, state, y] = kinds.add(_arcs(here, there, classes, (variant, y), size))
        any_class = here[0] // items.per_class
        given[variant, state, y] = classes.given[:, variant, any_class, 0, y]
    end = np.zeros((len(sets.members), widest), np.int64)
    for state, members in enumerate(sets.members):
        end[state, : len(members)] = classes.end[members // items.per_class]
    arrays = kinds.arrays()
    tables = ScoreTables(
        next_state=sets.after,
        kind=kind,
        label=arrays.label,
        counted=arrays.counted,
        potential=arrays.potential,
        amounts=arrays.amounts,
        given=given,
        end=end,
        pair_counted=classes.counted[0, 0],
        pair_amounts=classes.joint[:, 0, 0],
        classes=len(classes.end),
    )
    return tables, classes.ends


class _Items(NamedTuple):
    """(class, last label, counted last) as numbers."""

    after: Ints  # the item after a step, (variants, M, z, y)
    start: int
    per_class: int  # how many items each class has


def _items(classes: _Classes, size: int) -> _Items:
    """The items that steps lead to; the last label of the start is ``size``."""
    width = int(classes.counted.max(initial=0)) + 1
    label = np.arange(size)[:, None]
    after = (classes.step * (size + 1) + label) * width + classes.counted
    return _Items(after, size * width, (size + 1) * width)


class _Sets(NamedTuple):
    """Sets of items that a prefix of y allows: members, ascending, and what follows a set."""

    members: list[Ints]
    after: Ints  # (variants, sets, y)


def _sets(items: _Items, classes: _Classes) -> _Sets:
    """The sets that y leads to; the first is that of the start."""
    variants, _, size, _ = items.after.shape
    found = [np.array([items.start])]
    number = {found[0].tobytes(): 0}
    after = list[list[int]]()
    while len(after) < len(found):
        sources = np.unique(found[len(after)] // items.per_class)
        row = list[int]()
        for variant, y in np.ndindex(variants, size):
            members = np.unique(items.after[variant, sources, :, y])
            key = members.tobytes()
            if key not in number:
                number[key] = len(found)
                found.append(members)
            row.append(number[key])
        after.append(row)
        if len(found) > limits.TORCH_SETS:
            said = "the given sequence leads to too many sets of states"
            raise NoTables(said)
    return _largest_sets(_Sets(found, np.array(after).reshape(-1, variants, size)))


def _largest_sets(sets: _Sets) -> _Sets:
    """The sets that no other holds, as far as they are reached; with ``after`` by variant."""
    numbers = np.unique(np.concatenate(sets.members))
    held = np.zeros((len(sets.members), len(numbers)))
    for row, members in enumerate(sets.members):
        held[row, np.searchsorted(numbers, members)] = 1.0
    sizes = held.sum(axis=1)
    within = held @ held.T >= sizes[:, None]  # (inner, outer)
    largest = np.where(within, sizes[None, :], -1.0).argmax(axis=1)
    chosen = [int(largest[0])]
    place = {chosen[0]: 0}
    after = list[Ints]()
    while len(after) < len(chosen):
        follows = largest[sets.after[chosen[len(after)]]]
        for other in np.unique(follows).tolist():
            if other not in place:
                place[other] = len(chosen)
                chosen.append(other)
        after.append(follows)
    renamed = np.vectorize(place.__getitem__)(np.stack(after))
    return _Sets([sets.members[c] for c in chosen], renamed.swapaxes(0, 1))


class _Arcs(NamedTuple):
    """The arcs of a step between states, by their places in two sets."""

    source: Ints
    target: Ints
    potential: Ints
    amounts: Floats  # (J, arcs)
    label: Ints  # of each state afterwards
    counted: Ints  # of each state afterwards


def _arcs(here: Ints, there: Ints, classes: _Classes, step: tuple[int, int], size: int) -> _Arcs:
    """The arcs of a variant of a step at a label of y."""
    variant, y = step
    width = int(classes.counted.max(initial=0)) + 1
    class_of = here // (width * (size + 1))
    last = here // width % (size + 1)
    z = np.arange(size)
    targets = classes.step[variant, class_of, :, y]
    counted = classes.counted[variant, class_of, :, y]
    items = (targets * (size + 1) + z) * width + counted
    potential = np.where(last[:, None] < size, last[:, None] * size + z, size * size)
    return _Arcs(
        np.repeat(np.arange(len(here)), size),
        np.searchsorted(there, items).ravel(),
        potential.ravel(),
        classes.joint[:, variant][:, class_of][..., y].reshape(len(classes.joint), items.size),
        there // width % (size + 1),
        there % width,
    )


class _KindArrays(NamedTuple):
    """The tables of all kinds, as ``ScoreTables`` has them."""

    potential: Ints
    amounts: Floats
    label: Ints
    counted: Ints


class _Kinds:
    """Distinct kinds of steps."""

    def __init__(self, size: int, states: int, joint: int) -> None:
        self.size = size
        self.states = states
        self.joint = joint
        self.number = dict[bytes, int]()
        self.potential = list[Ints]()
        self.amounts = list[Floats]()
        self.label = list[Ints]()
        self.counted = list[Ints]()

    def add(self, arcs: _Arcs) -> int:
        """The number of the kind of a step."""
        potential = np.full((self.states, self.states), self.size**2 + 1)
        potential[arcs.source, arcs.target] = arcs.potential
        amounts = np.zeros((self.joint, self.states, self.states))
        amounts[:, arcs.source, arcs.target] = arcs.amounts
        label = np.full(self.states, self.size)
        label[: len(arcs.label)] = arcs.label
        counted = np.zeros(self.states, np.int64)
        counted[: len(arcs.counted)] = arcs.counted
        key = b"".join(x.tobytes() for x in (potential, amounts, label, counted))
        if key not in self.number:
            self.number[key] = len(self.label)
            self._append(potential, amounts, label, counted)
        return self.number[key]

    def _append(self, potential: Ints, amounts: Floats, label: Ints, counted: Ints) -> None:
        """Adds a kind that is new."""
        self.potential.append(potential)
        self.amounts.append(amounts)
        self.label.append(label)
        self.counted.append(counted)
        cells = len(self.label) * (self.states * (1 + self.joint)) ** 2
        if cells > limits.TORCH_CELLS:
            said = f"the loss has too many kinds of steps between {self.states} states"
            raise NoTables(said)

    def arrays(self) -> _KindArrays:
        """The tables of all kinds, with that of padding at the end."""
        stays = np.full((self.states, self.states), self.size**2 + 1)
        np.fill_diagonal(stays, self.size**2)
        nothing = np.zeros((self.joint, self.states, self.states))
        none = np.full(self.states, self.size)
        self._append(stays, nothing, none, np.zeros(self.states, np.int64))
        return _KindArrays(
            np.stack(self.potential),
            np.stack(self.amounts, axis=1),
            np.stack(self.label),
            np.stack(self.counted),
        )
