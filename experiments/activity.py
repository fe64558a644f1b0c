"""Activity such as speech in noise, with minimum durations: scikit-learn scores the frames.

A signal has runs of silence and of activity, each of a least duration and beyond that of a
geometric one. A frame is a number with normal noise, whose mean is greater in activity. A hidden
Markov model of two states is fitted to training signals, whose states are known; it does not know
of least durations. Frames of test signals are taken for active by

- marginal: where P(active) is at least 1/2;
- Viterbi: the most probable states;
- tuned: where P(active) is at least a threshold, gaps shorter than a duration closed, then runs
  shorter than another left out; all three tuned on training signals for the score;
- durations kept: the highest expected F1 among sequences of the least durations,
  ``decode(..., constraint=...)``, the model as it is;
- MEU: the same under the model that knows the durations, ``model.given(constraint)``.

The score is the F1 of active frames (``sklearn.metrics.f1_score``), a mean over signals.

    ./run python experiments/activity.py [--quick]

takes some minutes of one processor. What was found goes to experiments/results/activity.json (not
with --quick). Intervals hold 95 of 100 bootstrap draws of test signals.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from data_folder import run_script
from event_scores import print_scores
from numpy.typing import NDArray
from result_files import save
from sklearn.metrics import f1_score

import fsmeu
from fsmeu.constraints import all_of, min_duration
from fsmeu.models import Model, from_potentials

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FRAMES = 400
LEAST = (10, 15)  # frames of a run of silence and of activity
MORE = (60.0, 15.0)  # mean frames beyond these
CLEARNESS = (0.6, 0.9, 1.2)  # the mean of an active frame in standard deviations of the noise
THRESHOLDS = np.linspace(0.1, 0.9, 17)
DURATIONS = (0, 5, 10, 15, 20)


class Signal(NamedTuple):
    """Frames and whether each is active."""

    frames: Floats  # (n,)
    active: Ints  # (n,)


def drawn_signals(count: int, clearness: float, seed: int) -> list[Signal]:
    """Signals that begin and end with silence."""
    random = np.random.default_rng(seed)
    signals = []
    for _ in range(count):
        active = np.zeros(FRAMES, np.int64)
        place = LEAST[0] + random.geometric(1 / MORE[0])
        while True:
            end = place + LEAST[1] + random.geometric(1 / MORE[1])
            if end + LEAST[0] > FRAMES:
                break
            active[place:end] = 1
            place = end + LEAST[0] + random.geometric(1 / MORE[0])
        signals.append(Signal(clearness * active + random.normal(size=FRAMES), active))
    return signals


class Fitted(NamedTuple):
    """A hidden Markov model with normal emissions."""

    start: Floats  # (2,)
    steps: Floats  # (2, 2)
    means: Floats  # (2,)
    deviations: Floats  # (2,)

    def model(self, frames: Floats) -> Model:
        """The posterior of the states of a signal."""
        distance = (frames[:, None] - self.means) / self.deviations
        unary = -0.5 * distance**2 - np.log(self.deviations)
        unary[0] += np.log(self.start)
        return from_potentials(unary, np.log(self.steps), (0, 1))


def fitted(signals: Sequence[Signal]) -> Fitted:
    """The model of signals whose states are known; each kind of step is seen once more."""
    start = np.ones(2)
    steps = np.ones((2, 2))
    for _, active in signals:
        start[active[0]] += 1
        np.add.at(steps, (active[:-1], active[1:]), 1)
    frames = np.concatenate([signal.frames for signal in signals])
    active = np.concatenate([signal.active for signal in signals])
    means = np.array([frames[active == state].mean() for state in (0, 1)])
    deviations = np.array([frames[active == state].std() for state in (0, 1)])
    return Fitted(start / start.sum(), steps / steps.sum(axis=1)[:, None], means, deviations)


def without_short(active: Ints, label: int, least: int) -> Ints:
    """The frames with runs of a label that are shorter than the least turned into the other."""
    changed = active.copy()
    place = 0
    for state, run in itertools.groupby(active.tolist()):
        length = len(list(run))
        if state == label and length < least:
            changed[place : place + length] = 1 - label
        place += length
    return changed


class Rule(NamedTuple):
    """A threshold, and the durations below which gaps are closed and runs are left out."""

    threshold: float
    gap: int
    run: int

    def decide(self, p: Floats) -> Ints:
        """Active frames, from their probabilities."""
        active = (p >= self.threshold).astype(np.int64)
        return without_short(without_short(active, 0, self.gap), 1, self.run)


def score(signal: Signal, found: Sequence[object] | Ints) -> float:
    """F1 of active frames; 1 where there are none to be found and none is."""
    return float(f1_score(signal.active, np.asarray(found, np.int64), zero_division=1.0))


def tuned_rule(signals: Sequence[Signal], probabilities: Sequence[Floats]) -> Rule:
    """The rule with the highest mean score on signals."""
    choices = itertools.product(THRESHOLDS.tolist(), DURATIONS, DURATIONS)
    rules = [Rule(*parts) for parts in choices]
    pairs = list(zip(signals, probabilities, strict=True))

    def mean_score(rule: Rule) -> float:
        return float(np.mean([_f1(signal.active, rule.decide(p)) for signal, p in pairs]))

    return max(rules, key=mean_score)


def _f1(active: Ints, found: Ints) -> float:
    """F1 as scikit-learn has it, without its checks: it is asked a hundred thousand times."""
    total = int(active.sum() + found.sum())
    return 2 * int((active & found).sum()) / total if total else 1.0


def compare(train: Sequence[Signal], tested: Sequence[Signal]) -> dict[str, Floats]:
    """Scores of the test signals, (signals,) by the name of the decision."""
    known = fitted(train)
    seen = [known.model(signal.frames).marginals()[:, 1] for signal in train]
    rule = tuned_rule(train, seen)
    loss = fsmeu.load("fscore")
    constraint = all_of(min_duration(LEAST[0], 0), min_duration(LEAST[1], 1))
    models = [known.model(signal.frames) for signal in tested]
    plain = fsmeu.decode_many(loss, models, constraint=constraint)
    aware = [model.given(constraint) for model in models]
    best = fsmeu.decode_many(loss, aware, constraint=constraint)
    proven = sum(one.exact for one in (*plain, *best))
    ways = {
        "marginal": [model.marginals()[:, 1] >= 0.5 for model in models],
        "Viterbi": [model.most_probable(1)[0][0] for model in models],
        "tuned": [rule.decide(model.marginals()[:, 1]) for model in models],
        "durations kept": [one.labels for one in plain],
        "MEU": [one.labels for one in best],
    }
    print(
        f"threshold {rule.threshold:.2f}, gaps from {rule.gap} on, runs from {rule.run} on; "
        f"{proven} of {2 * len(tested)} decisions proven"
    )
    return {
        name: np.array([score(*pair) for pair in zip(tested, found, strict=True)])
        for name, found in ways.items()
    }


def main() -> None:
    """Draws signals, finds their active frames and prints the tables."""
    parser = argparse.ArgumentParser(description="Activity by the highest expected F1.")
    parser.add_argument("--quick", action="store_true", help="10 signals each")
    quick = parser.parse_args().quick
    rows = []
    for clearness in CLEARNESS[-1:] if quick else CLEARNESS:
        train = drawn_signals(10 if quick else 60, clearness, seed=1)
        tested = drawn_signals(10 if quick else 150, clearness, seed=2)
        scores = compare(train, tested)
        print_scores(f"F1 of active frames, {clearness:g} deviations apart", scores)
        rows += [[clearness, name, values] for name, values in scores.items()]
    if not quick:
        print("what was found:", save("activity", rows, 5))


if __name__ == "__main__":
    run_script(main)
