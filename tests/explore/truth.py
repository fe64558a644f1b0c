"""The value of every pair of sequences, by the second reading of the language.

Registers that are equal after the same number of steps are walked on together; nothing else is
shared between pairs, and nothing with the package but the parsed file.
"""

import math
from dataclasses import dataclass

import numpy as np

from tests import brute_force
from tests.explore.rounded import UNIT, RoundedWorld, Unsure, as_rounded
from tests.losses.meaning import Undefined

RELATIVE = 1e-11
"""What an expectation may lose of the sum of |value| times probability: probabilities are products
and sums of positive numbers, some taken from logarithms of up to 700, so they are good to 1e-13."""
STEPS = 64
"""Units of the last place that the terms of a value may lose, whatever the order they are added
in: so many operations an expression has, at most, with the steps of a sequence."""


@dataclass(frozen=True, eq=False)
class Truth:
    """All pairs of sequences of one length; tables have rows of hypotheses, nan for no value.

    Attributes:
        labels: the labels.
        sequences: every sequence, in the order of rows and columns.
        values: the value of each pair.
        sizes: the sizes of the terms of each value, summed.
        slack: how far a single value may be off in doubles.
        allowed: for each sequence whether the file is defined for it as a hypothesis.
    """

    labels: tuple
    sequences: list
    values: np.ndarray
    sizes: np.ndarray
    slack: np.ndarray
    allowed: np.ndarray

    @property
    def defined(self):
        """True when every pair of an allowed hypothesis has a value."""
        return not np.isnan(self.values[self.allowed]).any()

    def has_values(self, rows):
        """True when every pair of the allowed hypotheses among these rows has a value."""
        rows = [row for row in rows if self.allowed[row]]
        return not np.isnan(self.values[rows]).any()

    def row(self, z):
        return self.sequences.index(tuple(z))

    def lacks(self, z, chances):
        """True when a pair of z with a possible reference has no value."""
        return bool(np.isnan(self.values[self.row(z), chances > 0]).any())

    def mean(self, z, chances):
        """The expected value of z: a sum that is rounded once."""
        held = chances > 0
        return math.fsum((self.values[self.row(z), held] * chances[held]).tolist())

    def tolerance(self, z, chances):
        """How far an expected value may be off."""
        row = self.row(z)
        return tolerance(self.values[row], self.sizes[row], chances)

    def means(self, chances):
        """The expected value of every hypothesis, and how far each may be off."""
        held = chances > 0
        values, p = self.values[:, held], chances[held]
        return values @ p, RELATIVE * np.abs(values) @ p + STEPS * UNIT * self.sizes[:, held] @ p


def tolerance(values, sizes, chances):
    """How far the expected value of one row of a table may be off.

    Raises:
        Unsure: the sizes of terms are not known.
    """
    held = chances > 0
    scale, terms = (np.abs(table[held]) @ chances[held] for table in (values, sizes))
    if np.isnan(terms):
        raise Unsure("the sizes of terms are not known")
    return float(RELATIVE * scale + STEPS * UNIT * terms)


def truth_of(spec, labels, given, n):
    """Every pair of length n.

    Raises:
        Unsure: what the file says depends on rounding.
    """
    world = RoundedWorld(spec, labels, n, **given)
    size = len(labels)
    try:
        state = world.start()
        states, at = {_key_of(state): state}, np.zeros((1, 1), np.int64)
    except Undefined:
        states, at = {}, np.full((1, 1), -1)
    known = {}
    for i in range(1, n + 1):
        if world.reads_position:
            known = {}
        table, states = _layer(world, states, i, known)
        moved = table[at] if len(table) else np.full((*at.shape, size, size), -1)
        moved = np.where(at[:, :, None, None] < 0, -1, moved)
        rows, columns = at.shape
        at = moved.transpose(0, 2, 1, 3).reshape(rows * size, columns * size)
    ends = np.array([_end(world, state) for state in states.values()] + [(math.nan,) * 3])
    allowed = np.array([world.allows(state) for state in states.values()] + [True])
    sequences = brute_force.sequences(labels, n)
    tables = (ends[at, k] for k in range(3))
    return Truth(tuple(labels), sequences, *tables, allowed[at].all(axis=1))


def _layer(world, states, i, known):
    """Where states lead at position i, (states, z, y), -1 for nowhere; and the states there.

    States are by key; so are the steps that are known, and those that are found are added.
    """
    size, after = len(world.labels), {}
    table = np.full((len(states), size, size), -1, np.int64)
    number = {}
    for s, (key, state) in enumerate(states.items()):
        if key not in known:
            known[key] = _steps(world, state, i)
        for a, b, goal, moved in known[key]:
            table[s, a, b] = number.setdefault(goal, len(number))
            after.setdefault(goal, moved)
    return table, after


def _steps(world, state, i):
    """Where a state leads at position i: indices of the labels of z and y, key and state there."""
    found = []
    for a, z in enumerate(world.labels):
        for b, y in enumerate(world.labels):
            try:
                moved = world.step(state, z, y, i)
            except Undefined:
                continue
            found.append((a, b, _key_of(moved), moved))
    return found


def _key_of(state):
    return tuple([_key(value) for value in state.values()])


def _key(value):
    if isinstance(value, tuple):
        return tuple(_key(x) for x in value)
    if isinstance(value, str):
        return value
    number = as_rounded(value)
    return number.value, number.size, number.plain


def _end(world, state):
    try:
        value = as_rounded(world.value(state))
    except Undefined:
        return (math.nan,) * 3
    return float(value.value), value.size, value.slack
