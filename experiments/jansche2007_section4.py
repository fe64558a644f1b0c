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
then decided wrongly.

Seen: L = 1 finds the optimum of 18.2% of the uniform vectors and 37.6% of the others, L = 2n of
59.8% and 90.6% (all with n <= 10). ``tried`` looks for a setting in which the printed rates
come out: other orders in which labels are read, sums divided by the mass that was kept, other beta,
sharper probabilities, short vectors. Orders do not help, division helps L = 2n only (84% and
99%), and L = 1 needs probabilities much nearer to 0 and 1 than Beta(1/2, 1/2): 86% with Beta(.1,
.1), where the estimate is off by .65, 98% with Beta(.02, .02), where it is off by .30 only. What
does fit is another meaning of "found": a sequence that loses less than .1, the digit that the
paper's "about 0.6" has, is found by L = 1 for 99.0% and 99.6% of the vectors, by L = 2n always.

The values of all candidates are summed at once here (``candidate_values``), which is quicker than
``fsmeu.expect(..., keep=L)`` for each; tests hold the two against each other. The exact decisions
are those of ``fsmeu.decode``.

    ./run python experiments/jansche2007_section4.py [--runs 10] [--longest 50]

takes three minutes of one processor with the values given here. What was found goes to
experiments/results/jansche2007_section4.json, which the notebook 04_pruned_decoding draws.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from result_files import save

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


def candidate_values(p: Floats, limit: int, setting: Setting = AS_PRINTED) -> Floats:
    """The value that Algorithm 4 gives to the m most probable labels, for m = 0..n, (n + 1,).

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
    return values / mass.sum(axis=(1, 2)) if setting.divided else values


def decode_both(p: Floats, limits: Sequence[int], setting: Setting = AS_PRINTED) -> list[Run]:
    """One run for each limit; the exact values are checked against ``fsmeu.decode``."""
    n = len(p)
    read = {"drawn": p, "falling": np.sort(p)[::-1], "rising": np.sort(p)}[setting.order]
    exact = candidate_values(read, (n + 1) ** 2, setting)
    best = int(exact.argmax())
    loss = fsmeu.load("fscore", beta=setting.beta**0.5)
    assert abs(fsmeu.decode(loss, p).value - exact[best]) < 1e-9
    runs = []
    for limit in limits:
        values = candidate_values(read, limit, setting)
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


def main() -> None:
    """Runs the experiment."""
    parser = argparse.ArgumentParser(description="Jansche 2007, section 4.")
    parser.add_argument("--runs", type=int, default=10, help="vectors for each n")
    parser.add_argument("--longest", type=int, default=50, help="the greatest n")
    parser.add_argument("--seed", type=int, default=2007)
    given = parser.parse_args()
    lengths = range(1, given.longest + 1)
    result = {
        "lengths": list(lengths),
        "runs": run_all(lengths, given.runs, given.seed),
        "tried": tried(given.longest, given.runs, given.seed),
    }
    print("what was found:", save("jansche2007_section4", result, 6))


if __name__ == "__main__":
    main()
