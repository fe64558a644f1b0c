"""Change points of generated signals: ruptures draws them and scores what was found.

A signal is constant between change points, with noise (``ruptures.pw_constant``). A change point
that was found counts if it is within a margin of a true one, and the score is the F-score of
``ruptures.metrics.precision_recall``: that of ``event_fscore``, where what was found stands apart.

The posterior over segmentations is computed without an approximation (Fearnhead 2006): a segment's
mean is normal, so that the probability of its samples is known, and a lattice whose states are the
begin of the current segment has all segmentations. Decisions are

- Pelt: the least squared error with a penalty for each change point (``ruptures.KernelCPD``, which
  is Pelt in C), the penalty tuned on training signals;
- most probable: the most probable segmentation;
- peaks: where P(a change point within the margin) is at least a threshold, greatest first, none
  near another; the threshold tuned on training signals;
- MEU: the change points of the highest expected F-score, ``fsmeu.decode``, proven to be the best.

Noise, spread of means and rate of change points of the model are those of the training signals.

    ./run python experiments/change_points.py [--quick] [--picture FILE]

takes some minutes of one processor and needs ruptures (``pip install ruptures``). What was found
goes to experiments/results/change_points.json (not with --quick). Intervals hold 95 of 100
bootstrap draws of test signals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from data_folder import run_script
from event_scores import imported, print_scores
from numpy.typing import NDArray
from result_files import save

import fsmeu
from fsmeu.drawing.plots import COLOURS, legend, save_plot
from fsmeu.fst.alphabet import BINARY, Label
from fsmeu.fst.layers import Layer, Layered
from fsmeu.models import Model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLES = 300
TOLERANCE = 5  # samples that a change point may be off
MOST_CHANGES = 9
NOISES = (0.7, 1.0, 1.5)  # standard deviations
JUMPS = (1.0, 3.0)  # least and greatest change of the level
SHOWN = 3  # the test signal of the picture
NEGLIGIBLE = 1e-10  # posterior probability of a state that is left out
PENALTIES = np.geomspace(1.0, 200.0, 24)
THRESHOLDS = np.linspace(0.05, 0.95, 19)


class Signal(NamedTuple):
    """Samples, and the first sample of each segment but the first one."""

    samples: Floats  # (n,)
    changes: list[int]


def drawn_signals(count: int, noise: float, seed: int) -> list[Signal]:
    """Signals that ruptures draws, with 1 to MOST_CHANGES change points."""
    ruptures = imported("ruptures")
    random = np.random.default_rng(seed)
    signals = []
    for _ in range(count):
        changes = int(random.integers(1, MOST_CHANGES + 1))
        samples, ends = ruptures.pw_constant(
            SAMPLES, 1, changes, noise, JUMPS, seed=int(random.integers(1 << 31))
        )
        signals.append(Signal(samples[:, 0], ends[:-1]))
    return signals


# -- the posterior over segmentations --------------------------------------------------------------


class Prior(NamedTuple):
    """What is known of signals before they are seen."""

    noise: float  # the standard deviation of a sample from its segment's mean
    spread: float  # that of segments' means from the mean of the signal
    rate: float  # the probability of a change point between two samples


def fitted_prior(signals: Sequence[Signal]) -> Prior:
    """The prior of signals whose change points are known."""
    within = list[Floats]()
    means = list[float]()
    for samples, changes in signals:
        for part in np.split(samples, changes):
            within.append(part - part.mean())
            means.append(float(part.mean() - samples.mean()))
    places = len(signals) * (SAMPLES - 1)
    rate = sum(len(changes) for _, changes in signals) / places
    return Prior(float(np.concatenate(within).std()), float(np.std(means)), rate)


def segment_logs(samples: Floats, prior: Prior) -> Floats:
    """The log-probability of samples s, ..., t - 1 as one segment, (n + 1, n + 1) by s and t."""
    centred = samples - samples.mean()
    sums = np.append(0.0, np.cumsum(centred))
    squares = np.append(0.0, np.cumsum(centred**2))
    size = np.arange(len(sums)) - np.arange(len(sums))[:, None]
    size = np.maximum(size, 0)
    total = sums - sums[:, None]
    square = squares - squares[:, None]
    noise = prior.noise**2
    spread = prior.spread**2
    logs = -0.5 * size * np.log(2 * np.pi * noise) - 0.5 * np.log1p(size * spread / noise)
    logs -= square / (2 * noise)
    logs += spread * total**2 / (2 * noise * (noise + size * spread))
    return np.asarray(logs)


class Posterior(NamedTuple):
    """Logarithms of what is before and after places, by the begin of the current segment.

    ``steps[t - 1]`` has, for each begin up to t, the step at the place before sample t: the segment
    goes on, or begins with t. Arrays of place t have t + 1 begins.
    """

    steps: list[Floats]
    forward: list[Floats]
    backward: list[Floats]

    def begins(self, t: int) -> Floats:
        """The probabilities of the begins of the segment of sample t, (t + 1,)."""
        logs = self.forward[t] + self.backward[t]
        return np.asarray(np.exp(logs - np.logaddexp.reduce(logs)))


def posterior(samples: Floats, prior: Prior) -> Posterior:
    """The forward and backward sums over all segmentations of a signal."""
    logs = segment_logs(samples, prior)
    n = len(samples) - 1
    stay = np.log1p(-prior.rate)
    change = np.log(prior.rate)
    steps = list[Floats]()
    forward = [np.array([logs[0, 1]])]
    for t in range(1, n + 1):
        on = stay + logs[:t, t + 1] - logs[:t, t]
        begin = change + logs[t, t + 1]
        steps.append(np.append(on, begin))
        forward.append(np.append(forward[-1] + on, np.logaddexp.reduce(forward[-1]) + begin))
    backward = [np.zeros(n + 1)]
    for t in range(n, 0, -1):
        step = steps[t - 1]
        after = backward[-1]
        backward.append(np.logaddexp(step[:t] + after[:t], step[t] + after[t]))
    backward.reverse()
    return Posterior(steps, forward, backward)


def probability_near(found: Posterior, tolerance: int) -> Floats:
    """P(a change point within the tolerance of the place before sample t), (n,) from t = 1 on."""
    n = len(found.steps)
    near = np.zeros(n)
    for t in range(1, n + 1):
        last = min(n, t + tolerance)
        first = max(1, t - tolerance)
        near[t - 1] = found.begins(last)[first:].sum()
    return near


@dataclass(frozen=True, eq=False, repr=False)
class Segmentations(Model):
    """The posterior over change points: label t - 1 is 1 where a segment begins with sample t."""

    found: Posterior
    labels: tuple[Label, ...] = BINARY.labels

    @property
    def n(self) -> int:  # type: ignore[override]
        """The number of places between two samples."""
        return len(self.found.steps)

    def layered(self) -> Layered:
        """The lattice: a state is the begin of the current segment; unlikely ones are left out."""
        kept = [np.flatnonzero(self.found.begins(t) > NEGLIGIBLE) for t in range(self.n + 1)]
        layers = tuple(self._layer(t, kept[t - 1], kept[t]) for t in range(1, self.n + 1))
        return Layered(BINARY, np.ones(1), layers, np.ones(len(kept[-1])))

    def _layer(self, t: int, before: Ints, after: Ints) -> Layer:
        """The arcs of the place before sample t, from some begins to others.

        Weights are posterior probabilities, given the begin.
        """
        backward = self.found.backward
        source = np.tile(np.arange(len(before)), 2)
        label = np.repeat([0, 1], len(before))
        begin = np.append(before, np.full(len(before), t))  # of the segment after the step
        weight = self.found.steps[t - 1][begin] + backward[t][begin]
        weight = np.exp(weight - backward[t - 1][before[source]])
        place = np.minimum(np.searchsorted(after, begin), len(after) - 1)
        kept = (after[place] == begin) & (weight > 0)
        total = np.bincount(source[kept], weight[kept], len(before))
        weight = weight / np.where(total > 0, total, 1.0)[source]
        return Layer(source[kept], label[kept], place[kept], weight[kept], len(after))


# -- decisions -------------------------------------------------------------------------------------


def pelt(samples: Floats, penalty: float) -> list[int]:
    """Change points of the least squared error with a penalty for each."""
    found = imported("ruptures").KernelCPD(kernel="linear", min_size=2).fit(samples)
    return list(found.predict(pen=penalty)[:-1])


def peaks(near: Floats, threshold: float) -> list[int]:
    """Change points where a probability reaches a threshold, greatest first, none near another."""
    chosen = list[int]()
    for place in np.argsort(-near, kind="stable").tolist():
        if near[place] < threshold:
            break
        if all(abs(place - other) > 2 * TOLERANCE for other in chosen):
            chosen.append(place)
    return sorted(place + 1 for place in chosen)


def changes_of(labels: Sequence[object]) -> list[int]:
    """The first samples of segments, from labels of places."""
    return [t for t, label in enumerate(labels, start=1) if label == 1]


def score(signal: Signal, found: Sequence[int]) -> float:
    """The F-score of change points, by ruptures."""
    metrics = imported("ruptures.metrics")
    true = [*signal.changes, SAMPLES]
    precision, recall = metrics.precision_recall(true, [*found, SAMPLES], margin=TOLERANCE + 1)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def tuned(
    signals: Sequence[Signal],
    options: Floats,
    find: Callable[[int, float], Sequence[int]],
) -> float:
    """The option with the highest mean score; ``find`` has the change points of a signal."""
    means = []
    for option in options.tolist():
        scores = [score(signal, find(k, option)) for k, signal in enumerate(signals)]
        means.append(np.mean(scores))
    return float(options[int(np.argmax(means))])


def compare(train: Sequence[Signal], tested: Sequence[Signal]) -> dict[str, Floats]:
    """Scores of the test signals, (signals,) by the name of the decision."""
    prior = fitted_prior(train)
    near = [probability_near(posterior(one.samples, prior), TOLERANCE) for one in train]
    penalty = tuned(train, PENALTIES, lambda k, option: pelt(train[k].samples, option))
    threshold = tuned(train, THRESHOLDS, lambda k, option: peaks(near[k], option))
    loss = fsmeu.load("event_fscore", tolerance=TOLERANCE)
    scores: dict[str, list[float]] = {"Pelt": [], "most probable": [], "peaks": [], "MEU": []}
    proven = 0
    for signal in tested:
        found = posterior(signal.samples, prior)
        model = Segmentations(found)
        decision = fsmeu.decode(loss, model, method="counting")
        proven += decision.exact
        ways = {
            "Pelt": pelt(signal.samples, penalty),
            "most probable": changes_of(model.most_probable(1)[0][0]),
            "peaks": peaks(probability_near(found, TOLERANCE), threshold),
            "MEU": changes_of(decision.labels),
        }
        for name, changes in ways.items():
            scores[name].append(score(signal, changes))
    print(
        f"noise {prior.noise:.2f}, spread {prior.spread:.2f}, rate {prior.rate:.4f}; penalty "
        f"{penalty:.1f}, threshold {threshold:.2f}; {proven} of {len(tested)} decisions proven"
    )
    return {name: np.array(values) for name, values in scores.items()}


def draw_example(path: str) -> Path:
    """The path of a picture that was written: a test signal, and what is decided for it."""
    noise = NOISES[-1]
    prior = fitted_prior(drawn_signals(20, noise, seed=1))
    signal = drawn_signals(SHOWN + 1, noise, seed=2)[SHOWN]
    found = posterior(signal.samples, prior)
    model = Segmentations(found)
    decision = fsmeu.decode(fsmeu.load("event_fscore", tolerance=TOLERANCE), model)
    probable = changes_of(model.most_probable(1)[0][0])

    def plot(samples: Axes, places: Axes) -> None:
        samples.plot(signal.samples, ".", markersize=2, color=COLOURS[6])
        for t in signal.changes:
            samples.axvspan(t - TOLERANCE, t + TOLERANCE, color=COLOURS[1], alpha=0.4, linewidth=0)
        samples.set(ylabel="samples", title="A signal; true change points with their tolerance")
        t = np.arange(1, model.n + 1)
        near = probability_near(found, TOLERANCE)
        places.plot(t, near, color=COLOURS[0], linewidth=1, label=f"P(within {TOLERANCE})")
        marginals = model.marginals()[:, 1]
        places.plot(t, marginals, color=COLOURS[2], linewidth=1, label="P(change point)")
        rows = {"most probable": probable, "MEU": changes_of(decision.labels)}
        for (name, changes), height, mark in zip(rows.items(), (1.08, 1.2), "sD", strict=True):
            heights = np.full(len(changes), height)
            places.plot(changes, heights, mark, markersize=4, label=name, color=COLOURS[3])
        places.set(xlabel="place", ylabel="probability", ylim=(0, 1.3))
        legend(places, loc="upper left", bbox_to_anchor=(1.0, 1.0))

    return save_plot(path, plot, (9.6, 4.8), (2, 1))


def main() -> None:
    """Draws signals, finds their change points and prints the tables."""
    parser = argparse.ArgumentParser(description="Change points by the highest expected F-score.")
    parser.add_argument("--quick", action="store_true", help="10 signals each")
    parser.add_argument("--picture", help="draw one signal to this file, and do nothing else")
    options = parser.parse_args()
    if options.picture:
        print("drawn:", draw_example(options.picture))
        return
    quick = options.quick
    rows = []
    for noise in NOISES[-1:] if quick else NOISES:
        train = drawn_signals(10 if quick else 100, noise, seed=1)
        tested = drawn_signals(10 if quick else 150, noise, seed=2)
        scores = compare(train, tested)
        title = f"F-score within {TOLERANCE} samples, noise {noise:g}"
        print_scores(title, scores)
        rows += [[noise, name, values] for name, values in scores.items()]
    if not quick:
        print("what was found:", save("change_points", rows, 5))


if __name__ == "__main__":
    run_script(main)
