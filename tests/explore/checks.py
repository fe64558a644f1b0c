"""What is checked of expectations and machines; a check takes a case and a source of draws."""

import math
import sys

import numpy as np

from fsmeu import limits
from tests.explore.cases import NAMES, ask, holds, same
from tests.explore.rounded import UNIT
from tests.explore.truth import RELATIVE, STEPS, tolerance
from tests.label_models import STEP, by_name, parameters
from tests.losses.test_machines import path_sums

ENGINES = ("auto", "openfst")
MASS = 1e-11
"""What a probability may be off: see RELATIVE."""
CUT = 1e-18
"""Probabilities of counts that windows over long sequences may leave out."""


def evaluate(case, random):
    """One pair, by the package and by the second reading."""
    truth = case.truth
    for _ in range(3):
        z, y = case.draw(random), case.draw(random)
        true, slack = (table[truth.row(z), truth.row(y)] for table in (truth.values, truth.slack))
        call = f"fsmeu.evaluate(loss, {list(z)}, {list(y)})"
        got = ask(case, call, math.isnan(true))
        same(call, got, true, STEPS * slack)


# -- expect --------------------------------------------------------------------------------------


def expect(case, random, engine=None):
    """Value, levels, variance and quantiles of one hypothesis, by any engine or by this one."""
    z, truth, p = case.draw(random), case.truth, case.chances[0]
    engine = engine or random.choice(ENGINES)
    call = f"fsmeu.expect(loss, {list(z)}, model, engine={engine!r})"
    answer = ask(case, call, truth.lacks(z, p))
    same(f"{call}.value", answer.value, truth.mean(z, p), truth.tolerance(z, p))
    same(f"{call}.kept", answer.kept, 1.0, MASS)
    check_inside(case, call, answer, z)
    tables = (table[truth.row(z)] for table in (truth.values, truth.sizes, truth.slack))
    check_levels(case, call, answer, *tables, p, random)


def expect_model(case, random, engine=None):
    """A distribution on the hypothesis tape."""
    truth, engine = case.truth, engine or random.choice(ENGINES)
    ours, theirs = case.chances[2], case.chances[0]
    chance = np.outer(ours, theirs).ravel()
    values, sizes, slack = (t.ravel() for t in (truth.values, truth.sizes, truth.slack))
    held = chance > 0
    call = f"fsmeu.expect(loss, other, model, engine={engine!r})"
    answer = ask(case, call, bool(np.isnan(values[held]).any()))
    true = math.fsum((values[held] * chance[held]).tolist())
    same(f"{call}.value", answer.value, true, tolerance(values, sizes, chance))
    check_levels(case, call, answer, values, sizes, slack, chance, random)


def check_levels(case, call, answer, values, sizes, slack, chances, random):
    """Values that doubles can tell apart are levels of their own; each has its probability."""
    held = chances > 0
    wide = tolerance(values, sizes, chances)
    values, slack, chances = values[held], STEPS * slack[held], chances[held]
    low, high, mass, pure = clusters(values, slack, chances)
    levels = ask(case, "answer.levels", told=f"{call}.levels", answer=answer)
    place = np.searchsorted(low, levels.values, "right") - 1
    inside = (place >= 0) & (levels.values <= high[place])
    text = f"values {levels.values.tolist()}, probabilities {levels.probabilities.tolist()}"
    true = f"values from {low.tolist()} to {high.tolist()}, probabilities {mass.tolist()}"
    holds(f"{call}.levels", inside.all(), text, true)
    holds(f"{call}.levels", (np.diff(levels.values) > 0).all(), text, "ascending values")
    got = np.bincount(place, levels.probabilities, len(low))
    cut = CUT if case.n >= limits.LONG_SEQUENCE else 0.0
    holds(f"{call}.levels", (np.abs(got - mass) <= MASS * mass + cut).all(), text, true)
    counts = np.bincount(place, minlength=len(low))
    pure &= mass > cut
    holds(f"{call}.levels", (counts[pure] == 1).all(), text, f"one level each of {true}")
    check_moments(case, call, answer, values, slack, chances, wide, random)


def check_moments(case, call, answer, values, slack, chances, wide, random):
    mean = math.fsum((values * chances).tolist())
    variance = math.fsum(((values - mean) ** 2 * chances).tolist())
    off = wide + math.sqrt(slack**2 @ chances)  # Cauchy and Schwarz: rare values may be far off
    room = 1e-10 * variance + 2 * math.sqrt(variance) * off + off**2
    spread = ask(case, "answer.variance", told=f"{call}.variance", answer=answer)
    same(f"{call}.variance", spread, variance, room)
    q = random.choice((0.0, 1.0, 0.5, random.random(), random.random()))
    got = ask(case, f"answer.quantile({q})", told=f"{call}.quantile({q})", answer=answer)
    near = slack + 4 * UNIT * np.abs(values)
    below = math.fsum(chances[values < got - near].tolist())
    upto = math.fsum(chances[values <= got + near].tolist())
    true = f"P(value < it) = {below!r} <= q <= {upto!r} = P(value <= it)"
    holds(f"{call}.quantile({q})", below <= q + MASS and upto >= q - MASS, got, true)


def clusters(values, slack, chances):
    """Values that rounding may merge: ends, probability, and whether rounding plays no part."""
    order = np.argsort(values - slack, kind="stable")
    low, high = (values - slack)[order], np.maximum.accumulate((values + slack)[order])
    new = np.concatenate([[True], low[1:] > high[:-1]])
    starts = np.flatnonzero(new)
    ends = np.concatenate([starts[1:], [len(low)]]) - 1
    mass = np.add.reduceat(chances[order], starts)
    pure = np.maximum.reduceat(slack[order], starts) == 0
    return low[starts], high[ends], mass, pure


def bounds(case, random):
    """With ``keep``, the truth lies between the bounds, whether or not the file has a range."""
    z, truth, p = case.draw_allowed(random), case.truth, case.chances[0]
    if z is None:
        return
    engine, keep = random.choice(ENGINES), random.choice((1, 1, 2, 3, 8, 10**6))
    call = f"fsmeu.expect(loss, {list(z)}, model, engine={engine!r}, keep={keep})"
    lacking = truth.lacks(z, p)
    some = ask(case, call, lacking and keep == 10**6, not truth.defined)
    if lacking:
        return
    true, room = truth.mean(z, p), truth.tolerance(z, p)
    check_inside(case, call, some, z)
    holds(call, 0 < some.kept <= 1 + MASS, f"kept {some.kept!r}", "0 < kept <= 1")
    if keep == 10**6:
        # Weights that OpenFst holds as logarithms, up to 744, lose as many units as those are
        # great; bounds count each position and state of what is summed over (eight roundings).
        logs = 5 * 744 if engine == "openfst" else 8
        most = float(np.nanmax(np.abs(truth.values))) + case.wide  # that the file declares
        most = logs * STEPS * UNIT * most + sys.float_info.min
        same(f"{call}.value", some.value, true, room + most)
        width = case.loss.value_range(len(z)).width
        most += 2e-9 * max(abs(true), 1.0, case.wide, 1e-3 * width if width < np.inf else 0.0)
        for part in ("lower", "upper"):
            same(f"{call}.{part}", getattr(some, part), true, room + most)


def check_inside(case, call, answer, z):
    """The truth lies between the bounds.

    They answer for probabilities, not for the digits that a value loses as it is computed.
    """
    truth, p = case.truth, case.chances[0]
    true = truth.mean(z, p)
    near = truth.tolerance(z, p) / 100
    near += STEPS * float(truth.slack[truth.row(z), p > 0] @ p[p > 0])
    inside = answer.lower - near <= true <= answer.upper + near
    holds(call, inside, f"lower {answer.lower!r}, upper {answer.upper!r}", repr(true))


def expect_many(case, random):
    """Several hypotheses and models at once."""
    truth, rows = case.truth, [0, 0, 1, 2, 1]
    random.shuffle(rows)
    rows = rows[: random.randint(1, 5)]
    zs = [case.draw(random) for _ in rows]
    names = ", ".join(NAMES[row] for row in rows)
    call = f"fsmeu.expect_many(loss, {[list(z) for z in zs]}, [{names}]).values"
    pairs = list(zip(zs, (case.chances[row] for row in rows), strict=True))
    got = ask(case, call, any(truth.lacks(z, p) for z, p in pairs))
    true = [truth.mean(z, p) for z, p in pairs]
    same(call, got, true, np.array([truth.tolerance(z, p) for z, p in pairs]))


def gradient(case, random, engine=None):
    """A few entries of the gradient, by a complex step of the listed expectation.

    Scores may lose digits of the covariance, so E|value| counts as well.
    """
    truth, z, p = case.truth, case.draw(random), case.chances[0]
    if case.models[0].kind in ("nbest", "mixture"):
        return
    call = f"fsmeu.value_and_gradient(loss, {list(z)}, model, engine="
    call += f"{engine or random.choice(ENGINES)!r})"
    value, found = ask(case, call, truth.lacks(z, p), not truth.defined)
    values, sizes = truth.values[truth.row(z)], truth.sizes[truth.row(z)]
    if np.isnan(values).any():
        return  # derivatives look at impossible references as well
    same(f"{call}[0]", value, truth.mean(z, p), truth.tolerance(z, p))
    for name, (array, distribution) in parameters(case.built[0]).items():
        slopes = by_name(found)[name]
        same(f"{call}[1] {name}", slopes.shape, array.shape, 0)
        places = list(np.ndindex(array.shape))
        for index in random.sample(places, min(3, len(places))):
            moved = array.astype(complex)
            moved[index] += STEP * 1j
            listed = np.array(list(distribution(moved).values()), complex)
            slope = listed.imag / STEP
            weight = np.abs(slope) + np.abs(listed.real) + STEP  # what such a step leaves out
            room = RELATIVE * np.abs(values) @ weight + STEPS * UNIT * sizes @ weight
            true = math.fsum((slope * values).tolist())
            same(f"{call}[1] {name}{list(index)}", slopes[index], true, float(room))


# -- machines ------------------------------------------------------------------------------------


def compiled(case, random):
    """Every pair has one path in the machine, and its end has the pair's value."""
    truth = case.truth
    z = case.draw_allowed(random) if random.random() < 0.3 else None
    least = random.random() < 0.3
    call = f"loss.compile({case.n}, z={None if z is None else list(z)}, minimize={least})"
    rows = range(len(truth.sequences)) if z is None else [truth.row(z)]
    machine = ask(case, call, not truth.has_values(rows), not truth.allowed.any())
    number = [case.labels.index(a) for y in truth.sequences for a in y]
    number = np.array(number, int).reshape(len(truth.sequences), case.n)
    for row in rows:
        state = np.zeros(len(number), np.int64)
        for i in range(case.n):
            state = np.where(state < 0, -1, machine.next[state, number[row, i], number[:, i]])
        if not truth.allowed[row]:
            place = f"no path for z = {truth.sequences[row]}, which is not allowed"
            holds(call, (state < 0).all(), "a path", place)
            continue
        holds(call, (state >= 0).all(), "no path", f"a path for z = {truth.sequences[row]}")
        true = truth.values[row]
        room = STEPS * truth.slack[row] + 4 * UNIT * np.abs(true)
        same(f"{call}, end of {truth.sequences[row]}", machine.values[state], true, room)


def summed(case, random):
    """The weights of the paths of a pair sum to its value, but for what the shift rounds away."""
    truth = case.truth
    z = case.draw_allowed(random) if random.random() < 0.4 else None
    call = f"fsmeu.compile_summed(loss, {case.n}, z={None if z is None else list(z)})"
    rows = range(len(truth.sequences)) if z is None else [truth.row(z)]
    machine = ask(case, call, not truth.has_values(rows), not truth.allowed.any())
    zs = [truth.sequences[row] for row in rows if truth.allowed[row]]
    zs = random.sample(zs, min(4, len(zs)))
    ys = random.sample(truth.sequences, min(8, len(truth.sequences)))
    for one, y, total in path_sums(machine, zs, ys):
        row, column = truth.row(one), truth.row(y)
        scale = abs(machine.shift) + truth.sizes[row, column]
        place = f"{call}, paths of {list(one)}, {list(y)}"
        same(place, total, truth.values[row, column], RELATIVE * scale)


def composed(case, random):
    """The total weight of the composition, but for what the shift rounds away."""
    z, truth, p = case.draw(random), case.truth, case.chances[0]
    least = random.random() < 0.3
    call = f"fsmeu.compose(loss, {list(z)}, model, minimize={least})"
    whole = ask(case, call, truth.lacks(z, p), not truth.defined)
    shift = 1e-13 * abs(whole.machine.shift)
    same(f"{call}.total", whole.total, truth.mean(z, p), truth.tolerance(z, p) + shift)


CHECKS = {
    "evaluate": evaluate,
    "expect": expect,
    "expect model": expect_model,
    "bounds": bounds,
    "expect_many": expect_many,
    "gradient": gradient,
    "compile": compiled,
    "compile_summed": summed,
    "compose": composed,
}
