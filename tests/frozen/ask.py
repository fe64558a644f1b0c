"""Asks the package frozen problems; answers are plain values, as a file keeps them.

An answer has one of these keys, beside ``seconds`` of processor time:

- ``answers``: value, lower and upper of each, with exact, method and labels if they are decisions
- ``numbers``: those of a gradient or of costs; beside answers, the variance
- ``refused``: the name of the error, with what it ``says``
- ``crashed``: an error that is none of the package's
- ``late``: no answer within the time
"""

import math
import signal
import time
import warnings
from contextlib import contextmanager, nullcontext

import numpy as np

import fsmeu
from fsmeu import limits
from tests.frozen.draw import BUDGET

DIGITS = 13
SHOWN = 12
"""Entries of a gradient that are kept; beside them, two sums of all with drawn weights."""
SPREAD_LENGTH = 25
"""Up to which the variance of a value is kept."""
UNPROVEN = "unproven"
"""What stands for an expected cost that is not proven: another search may find another."""


class TooLateError(BaseException):
    """There was no answer in time; nothing in the package catches it."""


@contextmanager
def at_most(seconds):
    """Ends what takes more processor time."""

    def stop(*_):
        raise TooLateError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def thresholds(lowered):
    """A context in which thresholds are as they are, or so low that other strategies answer."""
    return limits.lowered() if lowered else nullcontext()


def ask(problem, seconds, lowered=False):
    """The answer to a problem, and what it was asked with (None where that was refused)."""
    asked, begin = None, time.process_time()
    try:
        with at_most(seconds), thresholds(lowered), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = Asked(problem)
            begin = time.process_time()
            found = asked.answer()
    except TooLateError:
        found = {"late": seconds}
    except fsmeu.MissingExtra:
        raise
    except fsmeu.FsmeuError as error:
        found = {"refused": type(error).__name__, "says": str(error)[:160]}
    except Exception as error:
        found = {"crashed": type(error).__name__, "says": str(error)[:400]}
    return {**found, "seconds": round(time.process_time() - begin, 4)}, asked


class Asked:
    """A problem with its loss and models built."""

    def __init__(self, problem):
        self.problem = problem
        self.loss = problem.loss.load()
        self.models = [model.build() for model in problem.models]
        self.options = problem.options
        constraint = self.options.get("constraint")
        self.constraint = constraint and constraint.build()

    def answer(self):
        """The answer to the question."""
        name = self.problem.question.split()[0]
        return getattr(self, f"_{name.lower()}")()

    # -- the questions ---------------------------------------------------------------------------

    def _expect(self):
        z = self.models[1] if "against" in self.options else self.problem.zs[0]
        found = fsmeu.expect(self.loss, z, self.models[0])
        answer = {"answers": [_bounded(found)]}
        if self.problem.n <= SPREAD_LENGTH and self.problem.number % 2:
            answer["numbers"] = _rounded([found.variance])
        return answer

    def _decode(self):
        more = {"constraint": self.constraint}
        if self.problem.question.endswith("augment"):
            more |= {"augment": self.problem.zs[0]}
        else:
            more |= {"budget": BUDGET, "k": self.options.get("k")}
        found = fsmeu.decode(self.loss, self.models[0], **more)
        decisions = found if isinstance(found, list) else [found]
        return {"answers": [self._decided(one, one.labels) for one in decisions]}

    def _decode_many(self):
        found = fsmeu.decode_many(self.loss, self.models, budget=BUDGET)
        return {"answers": [self._decided(one, one.labels) for one in found]}

    def _decode_corpus(self):
        found = fsmeu.decode_corpus(self.loss, self.models, constraint=self.constraint)
        return {"answers": [self._decided(found, *found.labels)]}

    def _expect_corpus(self):
        return {"answers": [_bounded(fsmeu.expect_corpus(self.loss, self.problem.zs, self.models))]}

    def _value_and_gradient(self):
        z = self.problem.zs[0]
        value, slopes = fsmeu.value_and_gradient(self.loss, z, self.models[0])
        parts = [slopes[key] for key in sorted(slopes)] if isinstance(slopes, dict) else [slopes]
        return {"numbers": _rounded([value, *_digest(np.concatenate([x.ravel() for x in parts]))])}

    def _costoracle(self):
        y, prefix = self.problem.zs[0], self.options["prefix"]
        make = fsmeu.searn.CostOracle
        if self.options["expected"]:
            oracle = make(self.loss, model=self.models[0], budget=BUDGET)
        else:
            oracle = make(self.loss, y, labels=self.problem.loss.labels)
        numbers = []
        for place in self.options["places"]:
            state, known, found = oracle.state(prefix[:place]), True, []
            if place < len(y):
                known, found = oracle.exact(prefix[:place]), oracle.costs_at(state).tolist()
            found = _rounded([oracle.value_at(state), *found])
            numbers += found if known else [UNPROVEN] * len(found)
        return {"numbers": numbers}

    # -- their parts -----------------------------------------------------------------------------

    def _decided(self, decision, *sequences):
        """What is kept of a decision; labels are the letters of their indices."""
        letters = {label: chr(97 + k) for k, label in enumerate(self.problem.loss.labels)}
        labels = " ".join("".join(letters[label] for label in z) for z in sequences)
        more = {"exact": decision.exact, "method": decision.method, "labels": labels}
        return {**_bounded(decision), **more}

    def sequences(self, labels):
        """The label sequences that a kept text names."""
        named = self.problem.loss.labels
        return [[named[ord(x) - 97] for x in word] for word in labels.split(" ")]

    def is_allowed(self, labels):
        """Whether the constraint of the problem, by Python's reading, allows kept labels."""
        constraint = self.options.get("constraint")
        if constraint is None:
            return True
        return all(constraint.allows([ord(x) - 97 for x in word]) for word in labels.split(" "))

    def worth(self, labels, place=0):
        """The value of kept labels, asked for without deciding.

        Args:
            labels: of a decision.
            place: which of the answers the decision is.
        """
        sequences = self.sequences(labels)
        if self.problem.question == "decode_corpus":
            return fsmeu.expect_corpus(self.loss, sequences, self.models).value
        [z] = sequences
        if self.problem.question.endswith("augment"):
            worth = fsmeu.evaluate(self.loss, z, self.problem.zs[0])
            chance = self.models[0].log_probability(z)
            return chance + (worth if self.loss.kind == "loss" else -worth)
        many = self.problem.question == "decode_many"
        return fsmeu.expect(self.loss, z, self.models[place if many else 0]).value

    @property
    def wants_more(self):
        """Whether greater values are better."""
        return self.problem.question.endswith("augment") or self.loss.kind == "utility"


def _bounded(found):
    """Value and bounds."""
    keys = ("value", "lower", "upper")
    return dict(zip(keys, _rounded([getattr(found, key) for key in keys]), strict=True))


def _rounded(numbers):
    """Numbers with the digits that are kept; infinite ones as texts."""
    plain = (float(x) for x in numbers)
    return [float(f"{x:.{DIGITS}g}") if math.isfinite(x) else repr(x) for x in plain]


def _digest(entries):
    """Some entries of an array, the sum of their sizes, and two sums with drawn weights."""
    rng = np.random.default_rng(len(entries))
    some = rng.permutation(len(entries))[:SHOWN]
    weights = rng.normal(size=(2, len(entries)))
    with np.errstate(all="ignore"):
        return [*entries[np.sort(some)], np.abs(entries).sum(), *(weights @ entries)]
