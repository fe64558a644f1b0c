"""The experiment of Jansche 2007, section 4: how good is decoding with L states per layer?

For every length n up to 50 and 10 vectors of probabilities each, uniform and Beta(1/2, 1/2), the
approximate decoder (the n + 1 ranked candidates, each valued by expanding only the L most probable
states of each layer) is compared with the exact one, for L = 1, n, 2n and n^2. F1, 0/0 = 1. Of each
vector three figures are recorded:

- found: is the winning sequence optimal, that is of the same exact value within 1e-12?
- lost: exact value of the optimal sequence minus exact value of the winning one.
- off: exact value of the winning sequence minus the value that it was given. (The paper's
  "difference of about 0.6" for L = 1 is of this kind: the sum of one path goes to 0 as n grows, so
  that the difference becomes the expected F-score itself.)

The paper says: more than 99% of the time for L = 1, always for L = 2n. Strictly, this is not what
is seen here. With L = 1 every candidate is valued against one y, the most probable one, so that one
wins: each label is 1 where its probability exceeds 1/2. The F-score wants a threshold of half its
own optimum, which is lower, so for longer vectors the two differ more often than not, by little.
With L = 2n a few thousandths of the value are lost from n = 20 or so upwards, and near ties are
then decided wrongly. ``tried`` looks for a setting in which the printed rates come out: other
orders in which labels are read, sums divided by the mass that was kept, other beta, sharper
probabilities, short vectors.

``footnotes``: footnote 4 says that maps which are kept from one candidate to the next speed the
exact decoder up in absolute terms only, at the price of cubic memory: states are counted both ways.
Footnote 5 leaves error bounds to an implementation that is not at hand: the probability that was
pruned is one, as F is between 0 and 1.

The values of all candidates are summed at once here (``candidate_sums``), which is quicker than
``fsmeu.expect(..., keep=L)`` for each; tests hold the two against each other. The exact decisions
are those of ``fsmeu.decode``.

    ./run python experiments/jansche2007_section4.py [section4|footnotes] [--runs 10] [--longest 50]
    ./run python experiments/jansche2007_section4.py table

What was found goes to experiments/results/jansche2007_*.json, with the command and its time;
``table`` prints all tables from there, as docs/papers/jansche2007.md has them. The notebook
04_pruned_decoding draws them.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from report import markdown, share_interval, short, t_interval
from result_files import Record, record, save

import fsmeu

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

SAME = 1e-12
LIMITS = {"1": lambda n: 1, "n": lambda n: n, "2n": lambda n: 2 * n, "n^2": lambda n: n * n}


def beta_draw(a: float) -> Draw:
    """Draws vectors of Beta(a, a) probabilities, (n,)."""
    return lambda random, n: random.beta(a, a, n)


DRAWS: dict[str, Draw] = {
    "uniform": lambda random, n: random.random(n),
    "Beta(1/2, 1/2)": beta_draw(0.5),
}


class Setting(NamedTuple):
    """What could differ from the paper's words.

    Attributes:
        beta: the weight of recall, as in Algorithm 2 of the paper.
        order: in which labels are read: as "drawn", or by "falling" or "rising" probability.
        divided: whether sums are divided by the mass that was kept.
    """

    beta: float = 1.0
    order: str = "drawn"
    divided: bool = False


AS_PRINTED = Setting()


class Run(NamedTuple):
    """One vector of probabilities, decoded both ways (see above).

    Attributes:
        found: whether the optimum was found.
        lost: what the optimal sequence is better by.
        off: by how much the estimate of the winning sequence is too low.
        differ: the share of labels that differ from the optimal sequence.
    """

    found: bool
    lost: float
    off: float
    differ: float


class Sums(NamedTuple):
    """What Algorithm 4 sums up for the m most probable labels, m = 0..n.

    Attributes:
        values: the value that it gives them, (n + 1,).
        kept: the probability that was not pruned, (n + 1,).
    """

    values: Floats
    kept: Floats


def candidate_sums(p: Floats, limit: int, setting: Setting = AS_PRINTED) -> Sums:
    """The value of the m most probable labels, for m = 0..n, and the mass that it is a sum over.

    ``mass[m, a, t]`` is the probability of a true positives and t positive labels so far.

    Args:
        p: probabilities in the order in which labels are read, (n,).
        limit: L, the number of states that are expanded in each layer.
        setting: beta, and whether sums are divided by the mass that was kept.
    """
    n = len(p)
    first_on = np.empty(n, np.int64)  # the least m for which a label is on
    first_on[np.argsort(-p, kind="stable")] = np.arange(1, n + 1)
    mass = np.ones((n + 1, 1, 1))
    for i, (q, k) in enumerate(zip(p, first_on, strict=True)):
        states = mass.reshape(n + 1, -1)
        if limit < states.shape[1]:
            least = np.partition(states, -limit, axis=1)[:, -limit, None]
            mass = np.where(states >= least, states, 0.0).reshape(mass.shape)
        after = np.zeros((n + 1, i + 2, i + 2))
        after[:, :-1, :-1] = (1 - q) * mass
        after[k:, 1:, 1:] += q * mass[k:]
        after[:k, :-1, 1:] += q * mass[:k]
        mass = after
    m, a, t = np.ogrid[: n + 1, : n + 1, : n + 1]
    below = m + setting.beta * t
    scores = np.where(below > 0, (1 + setting.beta) * a / np.where(below > 0, below, 1.0), 1.0)
    values: Floats = (scores * mass).sum(axis=(1, 2))
    kept: Floats = mass.sum(axis=(1, 2))
    return Sums(values / kept if setting.divided else values, kept)


def decode_both(p: Floats, limits: Sequence[int], setting: Setting = AS_PRINTED) -> list[Run]:
    """One run for each limit; the exact values are checked against ``fsmeu.decode``."""
    n = len(p)
    read = {"drawn": p, "falling": np.sort(p)[::-1], "rising": np.sort(p)}[setting.order]
    exact = candidate_sums(read, (n + 1) ** 2, setting).values
    best = int(exact.argmax())
    loss = fsmeu.load("fscore", beta=setting.beta**0.5)
    assert abs(fsmeu.decode(loss, p).value - exact[best]) < 1e-9
    runs = []
    for limit in limits:
        values = candidate_sums(read, limit, setting).values
        won = int(values.argmax())
        lost, off = exact[best] - exact[won], exact[won] - values[won]
        runs.append(Run(bool(lost <= SAME), float(lost), float(off), abs(won - best) / n))
    return runs


def run_all(
    lengths: Sequence[int], runs: int, seed: int
) -> dict[str, dict[str, dict[str, list[list[float]]]]]:
    """Each figure by draw, limit and name: a list of ``runs`` values for each length."""
    random = np.random.default_rng(seed)
    made: dict[str, dict[str, dict[str, list[list[float]]]]] = {
        draw: {limit: {name: [] for name in Run._fields} for limit in LIMITS} for draw in DRAWS
    }
    for n in lengths:
        for draw, sample in DRAWS.items():
            limits = [limit(n) for limit in LIMITS.values()]
            both = [decode_both(sample(random, n), limits) for _ in range(runs)]
            for limit, column in zip(LIMITS, zip(*both, strict=True), strict=True):
                for name, values in zip(Run._fields, zip(*column, strict=True), strict=True):
                    made[draw][limit][name].append([float(value) for value in values])
    return made


# -- in which setting do the printed rates come out? ----------------------------------------------

SETTINGS = {
    "as printed": AS_PRINTED,
    "labels read by falling probability": Setting(order="falling"),
    "labels read by rising probability": Setting(order="rising"),
    "sums divided by the mass that was kept": Setting(divided=True),
    "beta = 1/4": Setting(beta=0.25),
    "beta = 1/2": Setting(beta=0.5),
    "beta = 2": Setting(beta=2.0),
}
SHARPER = {f"Beta({a:g}, {a:g})": beta_draw(a) for a in (0.2, 0.1, 0.05, 0.02)}


def tried(longest: int, runs: int, seed: int) -> list[list[object]]:
    """Rows: what differs, probabilities, then for L = 1 and L = 2n the shares and means.

    These are the share that is found, that loses less than .01, less than .05, the share of labels
    that agree with the optimum, and the means of what is lost and of what the estimate is off.
    """
    every = range(5, longest + 1, 5)
    cases: list[tuple[str, str, Draw, Setting, Sequence[int]]] = [
        (name, draw, sample, setting, every)
        for name, setting in SETTINGS.items()
        for draw, sample in DRAWS.items()
    ]
    cases += [(draw, draw, sample, AS_PRINTED, every) for draw, sample in SHARPER.items()]
    cases += [("n = 1 to 5", draw, one, AS_PRINTED, range(1, 6)) for draw, one in DRAWS.items()]
    rows = []
    for name, draw, sample, setting, lengths in cases:
        random = np.random.default_rng(seed)
        both = [
            decode_both(sample(random, n), [1, 2 * n], setting)
            for n in lengths
            for _ in range(runs)
        ]
        rows.append([name, draw, *(_shares(list(column)) for column in zip(*both, strict=True))])
    return rows


def _shares(runs: Sequence[Run]) -> list[float]:
    found, lost, off, differ = (np.array(column, float) for column in zip(*runs, strict=True))
    means = (found, lost < 0.01, lost < 0.05, 1 - differ, lost, off)
    return [float(values.mean()) for values in means]


# -- footnotes 4 and 5 -----------------------------------------------------------------------------

State = tuple[int, int]


class Work(NamedTuple):
    """What the exact decoder does for one vector, as printed or with its maps stored (footnote 4).

    Attributes:
        expanded: states expanded, over all candidates.
        held: the most states that are in memory at a time.
        seconds: processor time.
    """

    expanded: int
    held: int
    seconds: float


def expanded_layer(layer: dict[State, float], on: bool, q: float) -> dict[State, float]:
    """The next map of Algorithm 4: probability by true positives and positive labels."""
    after: dict[State, float] = {}
    for (a, t), mass in layer.items():
        after[a, t] = after.get((a, t), 0.0) + mass * (1 - q)
        more = (a + on, t + 1)
        after[more] = after.get(more, 0.0) + mass * q
    return after


def decode_with_maps(p: Floats, stored: bool) -> tuple[Floats, Work]:
    """The values of all candidates, (n + 1,), by Algorithms 1 and 4, and the work.

    Args:
        p: probabilities in the order in which labels are read, (n,).
        stored: whether the maps of the candidate before are used up to the label that differs.
    """
    begun = time.process_time()
    n = len(p)
    z = [False] * n
    maps: list[dict[State, float]] = [{(0, 0): 1.0}]
    expanded = 0
    most = 1
    values = []
    for switched in (None, *np.argsort(-p, kind="stable").tolist()):
        first = 0
        if switched is not None:
            z[switched] = True
            first = switched if stored else 0
        del maps[first + 1 :]
        layer = maps[first]
        for i in range(first, n):
            expanded += len(layer)
            after = expanded_layer(layer, z[i], p[i])
            most = max(most, len(layer) + len(after))
            layer = after
            if stored:
                maps.append(layer)
        most = max(most, sum(map(len, maps)))
        hyp = sum(z)
        scores = ((2 * a / (hyp + t) if hyp + t else 1.0) * m for (a, t), m in layer.items())
        values.append(sum(scores))
    return np.array(values), Work(expanded, most, time.process_time() - begun)


def footnote_4(lengths: Sequence[int], seed: int) -> list[list[object]]:
    """Rows: n, order of reading, work as printed and work with maps stored."""
    rows: list[list[object]] = []
    for n in lengths:
        p = np.random.default_rng((seed, n)).random(n)
        for order, read in (("drawn", p), ("falling", np.sort(p)[::-1]), ("rising", np.sort(p))):
            both = [decode_with_maps(read, stored) for stored in (False, True)]
            assert np.allclose(both[0][0], both[1][0], rtol=0, atol=1e-12)
            rows.append([n, order, *(work for _, work in both)])
    return rows


class Bounded(NamedTuple):
    """One vector and one L: how far the winner's value is off, and what bounds that (footnote 5).

    Attributes:
        off: exact value of the winning sequence minus the value that it was given.
        bound: the probability that was pruned from it, which ``off`` cannot exceed as F is at most
            1 and at least 0.
        certified: whether the bounds alone show that no other candidate is better.
        optimal: whether none is.
    """

    off: float
    bound: float
    certified: bool
    optimal: bool


def bounded(p: Floats, limit: int) -> Bounded:
    """The bound of one decision with L states per layer."""
    exact = candidate_sums(p, (len(p) + 1) ** 2).values
    values, kept = candidate_sums(p, limit)
    won = int(values.argmax())
    above = values + (1 - kept)
    above[won] = -np.inf
    off = float(exact[won] - values[won])
    certified = bool(values[won] >= above.max())
    return Bounded(off, float(1 - kept[won]), certified, bool(exact.max() - exact[won] <= SAME))


def footnote_5(longest: int, runs: int, seed: int) -> list[list[object]]:
    """Rows: probabilities, L, n, and the bounds of all vectors of that length."""
    rows: list[list[object]] = []
    for n in range(5, longest + 1, 5):
        for draw, sample in DRAWS.items():
            random = np.random.default_rng((seed, n))
            vectors = [sample(random, n) for _ in range(runs)]
            for name, limit in LIMITS.items():
                rows.append([draw, name, n, [bounded(p, limit(n)) for p in vectors]])
    return rows


# -- tables of what was recorded ------------------------------------------------------------------


def rate_table(held: Record) -> str:
    """How often the optimum is found, with Wilson's intervals, and what is lost."""
    heads = ["probabilities", "L", "vectors", "found", "lost < .05", "lost < .1"]
    heads += ["lost, mean", "estimate off, mean"]
    rows = []
    for draw, limits in held.found["runs"].items():
        for limit, fields in limits.items():
            found, lost, off = (np.array(fields[name]).ravel() for name in ("found", "lost", "off"))
            shares = [found > 0, lost < 0.05, lost < 0.1]
            shown = (share_interval(int(one.sum()), len(one)) for one in shares)
            rows.append([draw, limit, len(lost), *shown, t_interval(lost), t_interval(off)])
    return markdown(f"Section 4, n = 1 to 50. {held.origin}", heads, rows)


def tried_table(held: Record) -> str:
    """Settings other than the printed one."""
    heads = ["what differs", "probabilities", "L = 1: found", "lost < .05", "estimate off, mean"]
    heads += ["L = 2n: found", "lost < .05", "estimate off, mean"]
    rows = []
    for name, draw, *both in held.found["tried"]:
        cells = [short(one[k], 3 if k == 5 else 2) for one in both for k in (0, 2, 5)]
        rows.append([name, draw, *cells])
    title = "Section 4 in other settings, 100 vectors a row, n = 5, 10, ..., 50 unless it is said"
    return markdown(title, heads, rows)


def work_table(held: Record) -> str:
    """Footnote 4: states expanded and held, as printed and with stored maps."""
    heads = ["n", "labels read", "states expanded", "with stored maps", "share"]
    heads += ["states held", "with stored maps", "share of the time"]
    rows: list[list[Any]] = []
    for n, order, plain, stored in held.found["work"]:
        share = short(stored[0] / plain[0], 3)
        spent = short(stored[2] / plain[2], 2)
        rows.append([n, order, plain[0], stored[0], share, plain[1], stored[1], spent])
    sizes = sorted({row[0] for row in rows})
    for order in ("drawn", "falling", "rising"):
        own = [row for row in rows if row[1] == order]
        slopes = [
            np.polyfit(np.log(sizes), np.log([row[k] for row in own]), 1)[0] for k in (2, 3, 5, 6)
        ]
        first, second, third, fourth = (short(float(slope), 2) for slope in slopes)
        rows.append(["slope", order, first, second, "–", third, fourth, "–"])
    return markdown(f"Footnote 4. {held.origin}", heads, rows)


def bound_table(held: Record) -> str:
    """Footnote 5: the mass that was pruned bounds what the estimate is off by."""
    heads = ["probabilities", "L", "vectors", "estimate off, mean", "bound, mean"]
    heads += ["bound holds", "optimal", "shown by the bounds"]
    rows = []
    for draw in DRAWS:
        for limit in LIMITS:
            parts = [v for d, name, _, v in held.found["bounds"] if (d, name) == (draw, limit)]
            off, bound, certified, optimal = np.concatenate(parts).T
            holds = share_interval(int((off <= bound + SAME).sum()), len(off))
            shares = [share_interval(int(one.sum()), len(one)) for one in (optimal, certified)]
            means = t_interval(off), t_interval(bound)
            rows.append([draw, limit, len(off), *means, short(holds.mean, 2), *shares])
    return markdown(f"Footnote 5, n = 5, 10, ..., 50. {held.origin}", heads, rows)


def tables() -> str:
    """Every table of the paper's experiments, from the records."""
    footnotes = record("jansche2007_footnotes")
    section4 = record("jansche2007_section4")
    parts = [rate_table(section4), tried_table(section4)]
    return "\n".join([*parts, work_table(footnotes), bound_table(footnotes)])


def main() -> None:
    """Runs the experiment."""
    parser = argparse.ArgumentParser(description="Jansche 2007, section 4.")
    what = ("section4", "footnotes", "table")
    parser.add_argument("what", nargs="?", choices=what, default="section4")
    parser.add_argument("--runs", type=int, default=10, help="vectors for each n")
    parser.add_argument("--longest", type=int, default=50, help="the greatest n")
    parser.add_argument("--seed", type=int, default=2007)
    given = parser.parse_args()
    if given.what == "table":
        print(tables())
        return
    if given.what == "footnotes":
        work = footnote_4([n for n in (10, 20, 30, 40, 50) if n <= given.longest], given.seed)
        bounds = footnote_5(given.longest, given.runs, given.seed)
        print("what was found:", save("jansche2007_footnotes", {"work": work, "bounds": bounds}))
        return
    lengths = range(1, given.longest + 1)
    result = {
        "lengths": list(lengths),
        "runs": run_all(lengths, given.runs, given.seed),
        "tried": tried(given.longest, given.runs, given.seed),
    }
    print("what was found:", save("jansche2007_section4", result, 6))


if __name__ == "__main__":
    main()
