"""Compares the answer to a problem with the frozen one, and says which of them is the worse one.

Values agree up to 1e-9 of their scale, or the rounding error that the frozen answer itself states.
Labels may differ where their values do not, if the expectation of each is its value. Bounds must
hold the value that the other answer proves or reaches.
"""

import math
from dataclasses import dataclass

import fsmeu
from tests.frozen.ask import UNPROVEN

PRECISION = 1e-9
WIDE = 1e-6
"""Bounds wider than this part of the scale are no rounding error: something was left out."""

FAILURES = {
    "problem changed": "what is asked is not what was frozen: the answers cannot be compared",
    "crashed": "an error that is none of the package's",
    "no answer": "the frozen one is an answer, the new one is none",
    "other refusal": "another kind of error",
    "other values": "what is computed alone, or of the same labels, differs",
    "wrong value": "the labels do not have the value that goes with them",
    "not allowed": "the labels break the constraint",
    "wrong proof, then": "the frozen answer was called best, and the new one is better",
    "wrong proof, now": "the new answer is called best, and the frozen one is better",
    "worse": "the frozen answer is better, neither is proven",
    "wrong bounds": "they do not hold a value that is known",
    "other number": "there are more or fewer answers",
}
NOTES = {
    "frozen worse": "today's answer was the worse one; it was not called best",
    "answered now": "the frozen one is no answer, the new one is",
    "proof lost": "the frozen answer was proven, the new one is not",
    "proof found": "the new answer is proven, the frozen one was not",
    "tie": "other labels of the same value",
    "not compared": "an answer came too late or was too large, as it may with lowered limits",
}
"""What is told, and is no failure."""


@dataclass(frozen=True)
class Finding:
    """What a comparison found: one of FAILURES or NOTES, and where."""

    kind: str
    text: str = ""

    @property
    def is_failure(self):
        return self.kind in FAILURES


def outcome(record):
    """Which key says what came of a question."""
    return next(x for x in ("answers", "numbers", "refused", "crashed", "late") if x in record)


def compare(asked, frozen, new, lowered=False):
    """Compares two records of one problem; returns the findings.

    Args:
        asked: the problem as it was asked, which values labels; None where it was refused.
        frozen: the frozen record.
        new: the new record.
        lowered: whether the new one was asked with lowered limits, which may refuse for size and
            prove less.
    """
    if "crashed" in new:
        return [Finding("crashed", f"{new['crashed']}: {new['says']}")]
    if lowered and ("late" in new or new.get("refused") == "SizeLimitError"):
        return [Finding("not compared", _told(new))]
    is_answer = [outcome(x) in ("answers", "numbers") for x in (frozen, new)]
    if is_answer == [True, False]:
        return [Finding("no answer", _told(new))]
    if is_answer == [False, True]:
        return [Finding("answered now", _told(frozen))]
    if is_answer == [False, False]:
        same = frozen.get("refused") == new.get("refused")
        return [] if same else [Finding("other refusal", f"{_told(frozen)}; now {_told(new)}")]
    return [*_compare_numbers(frozen, new), *_compare_answers(asked, frozen, new, lowered)]


def _told(record):
    if "late" in record:
        return f"nothing after {record['late']} s"
    kind = outcome(record)
    return f"{record[kind]}: {record['says']}"


def _compare_numbers(frozen, new):
    """Numbers of a gradient or of costs agree to the scale of the greatest of them."""
    old, now = (record.get("numbers", ()) for record in (frozen, new))
    if len(old) != len(now):
        return [Finding("other number", f"{len(old)}, now {len(now)}")]
    known = [pair for pair in zip(old, now, strict=True) if UNPROVEN not in pair]
    old, now = ([float(pair[k]) for pair in known] for k in range(2))
    finite = [abs(x) for x in old if math.isfinite(x)]
    finite += [abs(float(x["value"])) ** 2 for x in frozen.get("answers", ())]  # a variance's
    room = PRECISION * max(1.0, *finite, 0.0)
    pairs = enumerate(zip(old, now, strict=True))
    wrong = [f"[{k}] {a!r}, now {b!r}" for k, (a, b) in pairs if a != b and not abs(a - b) <= room]
    return [Finding("other values", "; ".join(wrong[:3]))] if wrong else []


def _compare_answers(asked, frozen, new, lowered):
    old, now = frozen.get("answers", ()), new.get("answers", ())
    if len(old) != len(now):
        return [Finding("other number", f"{len(old)}, now {len(now)}")]
    found = []
    for place, (a, b) in enumerate(zip(old, now, strict=True)):
        pair = _Pair(asked, a, b, place, lowered)
        found += pair.decisions() if "labels" in a else pair.expectations()
    return found


class _Pair:
    """A frozen answer and the new one in its place."""

    def __init__(self, asked, frozen, new, place, lowered):
        self.asked, self.place, self.lowered = asked, place, lowered
        self.frozen, self.new = frozen, new
        self.value, self.lower, self.upper = _numbers(frozen)
        self.new_value, self.new_lower, self.new_upper = _numbers(new)
        self.scale = max(1.0, abs(self.value))
        self.room = max(PRECISION * self.scale, *map(self.stated, (frozen, new)))

    def stated(self, answer):
        """The rounding error that an answer states, 0 where its bounds are wider than that."""
        value, lower, upper = _numbers(answer)
        error = max(upper - value, value - lower)
        return error if error <= WIDE * self.scale else 0.0

    def is_narrow(self, answer):
        """Whether bounds say no more than how far rounding goes."""
        _, lower, upper = _numbers(answer)
        return upper - lower <= 2 * WIDE * self.scale

    def agree(self, a, b):
        return a == b or abs(a - b) <= self.room

    def told(self, more=""):
        """Both answers in words."""
        proofs = ["", ""]
        if "labels" in self.frozen:
            proofs = [_proof(self.frozen), _proof(self.new)]
        texts = f"{self.value!r}{proofs[0]}, now {self.new_value!r}{proofs[1]}"
        return f"[{self.place}] {texts}{more}"

    # -- expectations ----------------------------------------------------------------------------

    def expectations(self):
        """The findings about two expected values."""
        narrow = [self.is_narrow(self.frozen), self.is_narrow(self.new)]
        if all(narrow) and not self.agree(self.value, self.new_value):
            return [Finding("other values", self.told())]
        found = []
        if narrow[0] and not self.holds(self.new_lower, self.value, self.new_upper):
            text = f"; {self.new_lower!r} to {self.new_upper!r}"
            found.append(Finding("wrong bounds", self.told(text)))
        if narrow[1] and not self.holds(self.lower, self.new_value, self.upper):
            text = f"; then {self.lower!r} to {self.upper!r}"
            found.append(Finding("wrong bounds", self.told(text)))
        return found + self.proofs(*narrow)

    def holds(self, lower, value, upper):
        return lower - self.room <= value <= upper + self.room

    def proofs(self, then, now):
        """A note where only one of both is proven."""
        if then == now or self.lowered:
            return []
        return [Finding("proof lost" if then else "proof found", self.told())]

    # -- decisions -------------------------------------------------------------------------------

    def decisions(self):
        """The findings about two decisions."""
        found = [] if self.asked is None else [*self.check_labels()]
        same = self.agree(self.value, self.new_value)
        if not same:
            found.append(self.better_one())
        elif self.frozen["labels"] != self.new["labels"]:
            found.append(Finding("tie", self.told()))
        found += self.check_bounds()
        return found + self.proofs(self.frozen["exact"], self.new["exact"])

    def check_labels(self):
        """The value of the new labels must be theirs, and where both differ, that of the old."""
        labels = self.new["labels"]
        if not self.asked.is_allowed(labels):
            yield Finding("not allowed", f"[{self.place}] {labels[:80]}")
        if labels == self.frozen["labels"] and self.agree(self.value, self.new_value):
            return
        for when, answer, value in (
            ("now", self.new, self.new_value),
            ("then", self.frozen, self.value),
        ):
            try:
                worth = self.asked.worth(answer["labels"], self.place)
            except fsmeu.SizeLimitError:
                continue  # what cannot be valued alone
            except fsmeu.FsmeuError as error:
                yield Finding("wrong value", f"[{self.place}] {value!r} {when}, in truth: {error}")
                continue
            if not self.agree(worth, value):
                text = f"[{self.place}] {value!r} by {answer['method']} {when}, in truth {worth!r}"
                yield Finding("wrong value", text)

    def better_one(self):
        """Which of two decisions is the worse one."""
        new_is_better = (self.new_value > self.value) == self.asked.wants_more
        if self.frozen["labels"] == self.new["labels"]:
            return Finding("other values", self.told())
        if new_is_better:
            return Finding(
                "wrong proof, then" if self.frozen["exact"] else "frozen worse", self.told()
            )
        if self.new["exact"]:
            return Finding("wrong proof, now", self.told())
        return Finding("not compared" if self.lowered else "worse", self.told())

    def check_bounds(self):
        """Bounds of the best value hold what is proven, and leave room for what was reached."""
        up = self.asked.wants_more
        sides = (
            ("now", self.new_lower, self.new_upper, self.value, self.frozen["exact"]),
            ("then", self.lower, self.upper, self.new_value, self.new["exact"]),
        )
        for when, lower, upper, value, proven in sides:
            below = value < lower - self.room and (proven or not up)
            above = value > upper + self.room and (proven or up)
            if below or above:
                yield Finding("wrong bounds", self.told(f"; {when} {lower!r} to {upper!r}"))


def _numbers(answer):
    return (float(answer[key]) for key in ("value", "lower", "upper"))


def _proof(answer):
    return f" ({'proven' if answer['exact'] else 'not proven'}, by {answer['method']})"
