"""The experiment of Jansche 2005, section 7: a table like Table 3; operating points of section 8.

Rare positives. The paper's data were never published, so ijcnn1 (a tenth is positive), covtype's
classes 6 and 5 (3% and 1.6%), w8a (3%) and a9a (24%, as in the paper) stand in, with as many
training examples as there. Each seed draws disjoint training and test examples. Rows of the table:

- ML: maximum likelihood, threshold 1/2. "ML tuned": the threshold that is best for F.5 on the
  training examples. "ML†": the paper's, the threshold that has as many true positives in the test
  data as F~.5. "ML oracle": the threshold that is best for F.5 on the test labels. The last two
  know the test labels.
- F~.5, F~.75: ``MaxExpectedFClassifier``, the approximate expectation.
- E[F.5], E[F.75]: ``MaxExpectedUtilityClassifier``, the exact one, on tasks named after --exact.

All of that twice: without penalty, as in the paper, and with a quadratic penalty that does best on
a held-out third of the training examples (likelihood for ML, the measure itself for the others).

``pairs`` asks what the exact expectation brings where nothing else differs: F~.5 and E[F.5] with
the same penalty, both climbed once from the maximum of the likelihood, for several numbers of
training examples. (The rows above differ in their starts, too.) ``gamma`` trains for F~.5 with
several gamma, without penalty and with the same one: below equation 4 the paper says that the
choice does not matter much. ``points`` (section 8) trains for F~ of five values of alpha, and, by
``MaxExpectedUtilityClassifier`` on 1,000 examples, for three weights of sensitivity against
specificity (a loss of three lines), each beside maximum likelihood with the threshold that is best
for the same measure on the training examples.

    ./run python experiments/jansche2005.py table3 [--seeds 10] [--exact ijcnn1] [--part more]
    ./run python experiments/jansche2005.py pairs|gamma|points [--seeds 10] [--tasks ijcnn1 a9a]
    ./run python experiments/jansche2005.py table

What was found goes to experiments/results/jansche2005_*.json, with the command and its time, unless
it is --quick; ``table`` prints all tables from there, as docs/papers/jansche2005.md has them. The
notebook 05_jansche2005 draws them; section 6 is computed there.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rare_positives import TASKS, split
from report import markdown, t_interval
from result_files import FOLDER, Record, record, save
from rich.console import Console
from rich.progress import Progress
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import fsmeu
from fsmeu.learning import MaxExpectedFClassifier, MaxExpectedUtilityClassifier
from fsmeu.learning.base import Objective, maximize
from fsmeu.learning.expected_utility import SmoothF, batch_value

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]

SIZES = (100, 500, 3535)
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
"""Factors of the penalty that are tried, in the units of F; divided by 10 for likelihoods."""
SAME_PENALTY = 1e-3
"""The factor where both objectives are climbed from the same start."""


# -- section 7 ------------------------------------------------------------------------------------


class Score(NamedTuple):
    """Recall, precision and the measures of one classifier on test data."""

    recall: float
    precision: float
    half: float
    more: float


def measure(guess: Truths, positive: Truths, alpha: float) -> float:
    """F_alpha (equation 2); 0 where nothing is right."""
    hits = int((guess & positive).sum())
    return hits / (alpha * positive.sum() + (1 - alpha) * guess.sum()) if hits else 0.0


def score(guess: Truths, positive: Truths) -> Score:
    """All figures of a row of Table 3."""
    return Score(*(measure(guess, positive, alpha) for alpha in (1.0, 0.0, 0.5, 0.75)))


def best_threshold(scores: Floats, positive: Truths) -> float:
    """The threshold for which F.5 of ``scores >= threshold`` is greatest."""
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(positive[order])
    values = 2 * hits / (positive.sum() + np.arange(1, len(order) + 1))
    last = np.append(np.diff(scores[order]) != 0, True)  # equal scores are on the same side
    return float(scores[order][np.argmax(np.where(last, values, -1))])


def matching_threshold(scores: Floats, positive: Truths, hits: int) -> float:
    """The threshold for which ``scores >= threshold`` has that many true positives (ML†)."""
    return float(np.sort(scores[positive])[::-1][hits - 1]) if hits else math.inf


class Settings(NamedTuple):
    """What the fits are told beside data: starts, seed, and the tasks that have exact rows."""

    restarts: int
    seed: int
    exact: tuple[str, ...] = ()


def likely(penalty: float, rows: Floats, positive: Truths) -> Any:
    """A logistic regression by maximum likelihood, with the penalty on the mean likelihood."""
    strength = 10 / (penalty * len(rows)) if penalty else math.inf
    return LogisticRegression(C=strength, max_iter=2000).fit(rows, positive)


def smooth(alpha: float, given: Settings, penalty: float, rows: Floats, positive: Truths) -> Any:
    """A logistic regression for F~ of alpha."""
    starts = max(2, given.restarts // 4) if penalty else given.restarts
    found = MaxExpectedFClassifier(alpha, 1.0, penalty, starts, given.seed)
    return found.fit(rows, positive)


def exact(alpha: float, given: Settings, penalty: float, rows: Floats, positive: Truths) -> Any:
    """A logistic regression for the exact expectation of F_alpha."""
    beta = math.sqrt(alpha / (1 - alpha))
    found = MaxExpectedUtilityClassifier(
        "fscore", loss_params={"beta": beta}, l2=penalty, restarts=1, random_state=given.seed
    )
    return found.fit(rows, positive)


Fit = Callable[[float, Floats, Truths], Any]
Worth = Callable[[Any, Floats, Truths], float]


def chosen_penalty(fit: Fit, worth: Worth, rows: Floats, positive: Truths) -> float:
    """The penalty that is worth most on the last third of the examples."""
    cut = 2 * len(rows) // 3
    fits = {one: fit(one, rows[:cut], positive[:cut]) for one in PENALTIES}
    return max(PENALTIES, key=lambda one: worth(fits[one], rows[cut:], positive[cut:]))


def run(
    data: Any, given: Settings, penalised: bool, exactly: bool = False
) -> Iterator[tuple[str, Score]]:
    """The rows of the table for one split of the data, those of the exact expectation if asked."""
    rows, positive, held, truth = data

    def trained(fit: Fit, worth: Worth) -> Any:
        return fit(chosen_penalty(fit, worth, rows, positive) if penalised else 0.0, rows, positive)

    first = trained(likely, lambda f, x, y: -log_loss(y, f.predict_proba(x)[:, 1]))
    methods = [("F~{}", smooth), *([("E[F{}]", exact)] if exactly else [])]
    scores: Floats = first.decision_function(held)
    tuned = best_threshold(first.decision_function(rows), positive)
    yield "ML", score(scores > 0, truth)
    yield "ML tuned", score(scores >= tuned, truth)
    yield "ML oracle", score(scores >= best_threshold(scores, truth), truth)
    for name, kind in methods:
        for alpha in (0.5, 0.75):
            found = trained(
                lambda *a, kind=kind, alpha=alpha: kind(alpha, given, *a),
                lambda f, x, y, alpha=alpha: measure(f.predict(x), y, alpha),
            )
            guess = found.predict(held)
            yield name.format(f"{alpha:g}".lstrip("0")), score(guess, truth)
            if (kind, alpha) == (smooth, 0.5):
                bar = matching_threshold(scores, truth, int((guess & truth).sum()))
                yield "ML†", score(scores >= bar, truth)


# -- the exact expectation against the approximate one, all else equal ----------------------------


class Pair(NamedTuple):
    """What two objectives lead to: F.5 of test data thrice, E[F.5] of training data twice."""

    likely: float
    smooth: float
    exact: float
    expected_smooth: float
    expected_exact: float


def same_start(data: Any, penalty: float) -> Pair:
    """F~.5 and E[F.5], climbed from the maximum of the likelihood."""
    rows, positive, held, truth = data
    rows, held = (np.hstack([np.ones((len(one), 1)), one]) for one in (rows, held))
    smooth = SmoothF(rows[:, 1:], positive.astype(float), None, 0.5)
    batch = batch_value(fsmeu.load("fscore"), positive.astype(np.int64))

    def expected(theta: Floats) -> tuple[float, Floats]:
        p = expit(rows @ theta)
        value, slopes = batch(p)
        return value, rows.T @ (slopes * p * (1 - p))

    def less_penalty(objective: Objective) -> Objective:
        def penalised(theta: Floats) -> tuple[float, Floats]:
            value, slopes = objective(theta)
            free = np.append(0.0, theta[1:])  # the intercept is not penalised
            return value - penalty / 2 * float(free @ free), slopes - penalty * free

        return penalised

    first = LogisticRegression(C=10 / (penalty * len(rows)), max_iter=2000)
    first.fit(rows[:, 1:], positive)
    start = np.append(first.intercept_, first.coef_[0])
    ends = [maximize(less_penalty(one), start, 500).x for one in (smooth, expected)]
    scores = [measure(held @ theta > 0, truth, 0.5) for theta in (start, *ends)]
    return Pair(*scores, *(expected(theta)[0] for theta in ends))


def compare(
    tasks: list[str], seeds: int, train: int, test: int, given: Settings
) -> dict[str, list[Pair]]:
    """Both from the same start for each seed, by task and number of training examples."""
    found: dict[str, list[Pair]] = {}
    sizes = [n for n in SIZES if n <= train]
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("climbs", total=len(tasks) * seeds * len(sizes))
        for task in tasks:
            rows, positive = TASKS[task]()
            for size in sizes:
                key = f"{task}, {size:,} examples"
                for seed in range(seeds):
                    data = split(rows, positive, size, test, seed)
                    found.setdefault(key, []).append(same_start(data, SAME_PENALTY))
                    progress.advance(bar)
    return found


# -- operating points (section 8) -----------------------------------------------------------------

ALPHAS = (0.1, 0.25, 0.5, 0.75, 0.9)
SENSITIVITIES = (0.25, 0.5, 0.75)
TRADE = """
utility trade(w = 0.5) "sensitivity and specificity, weighted"
labels  0 1
count   tp when z == 1 and y == 1
count   tn when z == 0 and y == 0
count   ref when y == 1
value   w * tp / max(ref, 1) + (1 - w) * tn / max(n - ref, 1)
"""


class Point(NamedTuple):
    """Two rates of a classifier on test data, and the measure that it was made for."""

    first: float
    second: float
    measure: float


def traded(guess: Truths, positive: Truths, weight: float) -> Point:
    """Sensitivity, specificity and their weighted mean."""
    rates = float(guess[positive].mean()), float((~guess[~positive]).mean())
    return Point(*rates, weight * rates[0] + (1 - weight) * rates[1])


def alpha_point(guess: Truths, positive: Truths, alpha: float) -> Point:
    """Recall, precision and F_alpha."""
    return Point(*(measure(guess, positive, one) for one in (1.0, 0.0, alpha)))


def tuned_point(point: Any, weight: float, scores: Any, positive: Truths, held: Any) -> Point:
    """The point of test scores at that threshold, of 200, which is best on training scores."""
    bars = np.quantile(scores, np.linspace(0, 1, 200))
    bar = max(bars, key=lambda one: point(scores >= one, positive, weight).measure)
    return Point(*point(held[0] >= bar, held[1], weight))


def points(data: Any, given: Settings) -> Iterator[tuple[str, float, str, Point]]:
    """Kind of point, weight, method and the point, for one split."""
    rows, positive, held, truth = data
    first = likely(SAME_PENALTY, rows, positive)
    scores, test = first.decision_function(rows), (first.decision_function(held), truth)
    for alpha in ALPHAS:
        guess = smooth(alpha, given, SAME_PENALTY, rows, positive).predict(held)
        yield "alpha", alpha, "F~", alpha_point(guess, truth, alpha)
        yield "alpha", alpha, "ML tuned", tuned_point(alpha_point, alpha, scores, positive, test)
    fewer = rows[:1000], positive[:1000]
    first = likely(SAME_PENALTY, *fewer)
    scores, test = first.decision_function(fewer[0]), (first.decision_function(held), truth)
    for weight in SENSITIVITIES:
        found = MaxExpectedUtilityClassifier(
            fsmeu.loads(TRADE, w=weight), l2=SAME_PENALTY, restarts=1, random_state=given.seed
        )
        guess = found.fit(*fewer).predict(held)
        yield "sensitivity", weight, "E[utility]", traded(guess, truth, weight)
        yield "sensitivity", weight, "ML tuned", tuned_point(traded, weight, scores, fewer[1], test)


def section_8(tasks: list[str], seeds: int, train: int, test: int, given: Settings) -> Any:
    """Rows: task, kind of point, weight, method and the points of all seeds."""
    found: dict[tuple[str, str, float, str], list[Point]] = {}
    for task in tasks:
        rows, positive = TASKS[task]()
        for seed in range(seeds):
            data = split(rows, positive, train, test, seed)
            for *key, one in points(data, given._replace(seed=seed)):
                found.setdefault((task, *key), []).append(one)
    return [[*key, values] for key, values in found.items()]


# -- the steepness gamma (below equation 4) --------------------------------------------------------

GAMMAS = (0.125, 0.5, 1.0, 2.0, 8.0)


def gamma_curve(tasks: list[str], seeds: int, train: int, test: int, given: Settings) -> Any:
    """Rows: task, penalty, gamma and F.5 of F~.5 on the test examples of all seeds."""
    found: dict[tuple[str, float, float], list[float]] = {}
    for task in tasks:
        rows, positive = TASKS[task]()
        for seed in range(seeds):
            known, truths, held, truth = split(rows, positive, train, test, seed)
            for penalty in (0.0, SAME_PENALTY):
                for gamma in GAMMAS:
                    model = MaxExpectedFClassifier(0.5, gamma, penalty, given.restarts, seed)
                    guess = model.fit(known, truths).predict(held)
                    value = measure(guess, truth, 0.5)
                    found.setdefault((task, penalty, gamma), []).append(value)
        print(f"gamma: {task}", file=sys.stderr, flush=True)
    return [[*key, values] for key, values in found.items()]


def section_7(tasks: list[str], seeds: int, train: int, test: int, given: Settings) -> Any:
    """Rows: task, whether penalised, row of the table and the scores of all seeds."""
    found: dict[tuple[str, bool, str], list[Score]] = {}
    with Progress(console=Console(stderr=True)) as progress:
        bar = progress.add_task("fits", total=len(tasks) * seeds * 2)
        for task in tasks:
            rows, positive = TASKS[task]()
            for seed in range(seeds):
                data = split(rows, positive, train, test, seed)
                for penalised in (False, True):
                    told = given._replace(seed=seed)
                    for name, one in run(data, told, penalised, task in given.exact):
                        found.setdefault((task, penalised, name), []).append(one)
                    progress.advance(bar)
            print(f"fits: {task}", file=sys.stderr, flush=True)
    return [[*key, scores] for key, scores in found.items()]


# -- tables of what was recorded ------------------------------------------------------------------


def case_name(task: str, penalised: bool) -> str:
    """How a table calls a task with or without penalty."""
    return f"{task}, {'penalty chosen' if penalised else 'no penalty'}"


def table_3(held: Record) -> Iterator[str]:
    """Tables like Table 3, and the paired differences that the paper's claims are about."""
    runs = {(task, p, name): np.array(scores) for task, p, name, scores in held.found}
    heads = ["task", "row", "recall", "precision", "F.5", "F.75"]
    rows: list[list[Any]] = []
    for (task, p, name), own in runs.items():
        rates = map(float, own.mean(axis=0)[:2])
        rows.append([case_name(task, p), name, *rates, *map(t_interval, own.T[2:])])
    yield markdown(f"Like Table 3, {len(held.found[0][3])} seeds. {held.origin}", heads, rows)
    others = ("ML", "ML tuned", "ML†", "ML oracle")
    heads = ["F.5 of F~.5 minus that of", *others, "beats ML†"]
    rows = []
    for task, p in dict.fromkeys((task, p) for task, p, _ in runs):
        own = runs[task, p, "F~.5"][:, 2]
        gains = [t_interval(own - runs[task, p, other][:, 2]) for other in others]
        rows.append([case_name(task, p), *gains, gains[2].verdict])
    yield markdown("Training for F~.5 against likelihood, paired by seed", heads, rows)
    heads = ["F~.75 minus F~.5", "recall", "F.75", "F.75 is"]
    rows = []
    for task, p in dict.fromkeys((task, p) for task, p, _ in runs):
        apart = runs[task, p, "F~.75"] - runs[task, p, "F~.5"]
        gain = t_interval(apart[:, 3])
        rows.append([case_name(task, p), t_interval(apart[:, 0]), gain, gain.verdict])
    yield markdown("Training for F~.75 against F~.5, paired by seed", heads, rows)


def pair_table(held: Record) -> str:
    """The exact expectation against the approximate one from the same start."""
    heads = ["task", "ML", "F~.5", "E[F.5]", "E[F.5] minus F~.5", "F~.5 minus ML"]
    rows = []
    for key, values in held.found.items():
        own = np.array(values)
        gains = t_interval(own[:, 2] - own[:, 1]), t_interval(own[:, 1] - own[:, 0])
        rows.append([key, *map(float, own.mean(axis=0)[:3]), *gains])
    return markdown(f"Test F.5, both climbed from the same start. {held.origin}", heads, rows)


def gamma_table(held: Record) -> str:
    """F.5 by gamma, without penalty and with the same one."""
    curves: dict[tuple[str, float], dict[float, list[float]]] = {}
    for task, penalty, gamma, values in held.found:
        curves.setdefault((task, penalty), {})[gamma] = values
    gammas = list(next(iter(curves.values())))
    heads = ["task", "penalty", *(f"γ = {gamma:g}" for gamma in gammas)]
    heads += [f"γ = {gammas[0]:g} minus γ = 1", f"γ = {gammas[-1]:g} minus γ = 1"]
    rows = []
    for (task, penalty), curve in curves.items():
        ends = [np.array(curve[g]) - np.array(curve[1.0]) for g in (gammas[0], gammas[-1])]
        means = [float(np.mean(curve[gamma])) for gamma in gammas]
        rows.append([task, f"{penalty:g}", *means, *map(t_interval, ends)])
    return markdown(f"Test F.5 of F~.5 by γ. {held.origin}", heads, rows)


def point_table(held: Record) -> str:
    """Training for a measure against a threshold that is tuned for it."""
    ends = {(task, kind, weight, way): np.array(v) for task, kind, weight, way, v in held.found}
    heads = ["task", "measure", "recall or sensitivity", "precision or specificity", "measure"]
    heads += ["minus that of ML tuned", "it is"]
    rows = []
    for (task, kind, weight, way), own in ends.items():
        if way != "ML tuned":
            gain = t_interval(own[:, 2] - ends[task, kind, weight, "ML tuned"][:, 2])
            name = f"F, α = {weight:g}" if kind == "alpha" else f"rates, weight {weight:g}"
            rows.append([task, name, *map(float, own.mean(axis=0)), gain, gain.verdict])
    return markdown(f"Operating points. {held.origin}", heads, rows)


def tables() -> str:
    """Every table of the paper's experiments, from the records."""
    names = sorted(path.stem for path in FOLDER.glob("jansche2005_table3*.json"))
    parts = [part for name in names for part in table_3(record(name))]
    parts.append(gamma_table(record("jansche2005_gamma")))
    parts += [pair_table(record("jansche2005_pairs")), point_table(record("jansche2005_points"))]
    return "\n".join(parts)


def main() -> None:
    """Runs the experiment."""
    parser = argparse.ArgumentParser(description="Jansche 2005, section 7.")
    what = ("table3", "pairs", "gamma", "points", "table")
    parser.add_argument("what", nargs="?", choices=what, default="table3")
    parser.add_argument("--seeds", type=int, default=10, help="random splits of each task")
    parser.add_argument("--train", type=int, default=3535, help="training examples")
    parser.add_argument("--test", type=int, default=4080, help="test examples")
    parser.add_argument("--restarts", type=int, default=8, help="starts of each training for F~")
    parser.add_argument("--tasks", nargs="*", choices=TASKS, default=list(TASKS))
    words = "tasks with rows of the exact expectation, too"
    parser.add_argument("--exact", nargs="*", choices=TASKS, default=[], help=words)
    parser.add_argument("--part", default="", help="an ending of the name of the record")
    parser.add_argument("--quick", action="store_true", help="one task, two seeds, less data")
    given = parser.parse_args()
    if given.what == "table":
        print(tables())
        return
    if given.quick:
        given.tasks, given.seeds, given.train, given.test = ["ijcnn1"], 2, 600, 1000
    warnings.simplefilter("ignore", ConvergenceWarning)  # optima at infinity without penalty
    settings = Settings(given.restarts, 0, tuple(given.exact))
    ask = {"table3": section_7, "pairs": compare, "gamma": gamma_curve, "points": section_8}
    held = ask[given.what](given.tasks, given.seeds, given.train, given.test, settings)
    if given.quick:
        print(json.dumps(held))
    else:
        name = f"jansche2005_{given.what}{given.part and '_' + given.part}"
        print("what was found:", save(name, held, 5))


if __name__ == "__main__":
    main()
