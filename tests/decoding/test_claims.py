"""What is claimed to be exact, for losses that are nearly of the class that a method is for."""

import itertools
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import fsmeu
from tests.decoding.listing import BY_ALGEBRA, COUNTS, ask
from tests.losses.meaning import World
from tests.support.values import count_weights

NAMES = ("tp", "hyp", "ref")
EMPTY = " or 1 when hyp + ref == 0"


def table_loss(value, kind="utility"):
    return fsmeu.loads(f"{kind} u {COUNTS} value {value}")


class Truth:
    """Expected values in fractions when the first m labels are 1 with one probability, others q.

    A hypothesis counts by its ones among the first m and among the others.
    """

    def __init__(self, loss, m, p, others, q):
        self.m, self.sign = m, 1 if loss.kind == "utility" else -1
        self.values, self.sizes = {}, {}
        world, p, q = World(loss.spec, (0, 1), m + others), Fraction(p), Fraction(q)
        known = cache(lambda *counts: Fraction(world.value(dict(zip(NAMES, counts, strict=True)))))
        first, last = ((x.denominator - x.numerator, x.numerator) for x in (p, q))
        whole = p.denominator**m * q.denominator**others
        for i, j in itertools.product(range(m + 1), range(others + 1)):
            hits = count_weights([first] * i + [last] * j)
            missed = count_weights([first] * (m - i) + [last] * (others - j))
            terms = [
                a * b * known(Fraction(tp), Fraction(i + j), Fraction(tp + fn))
                for (tp, a), (fn, b) in itertools.product(enumerate(hits), enumerate(missed))
            ]
            self.values[i, j], self.sizes[i, j] = sum(terms) / whole, sum(map(abs, terms)) / whole

    def check(self, decision):
        """The value is that of the sequence, and the best if it is claimed to be."""
        own = sum(decision.labels[: self.m]), sum(decision.labels[self.m :])
        size = float(self.sizes[own])
        assert abs(decision.value - float(self.values[own])) <= 1e-12 * size, decision
        best = max(self.sign * value for value in self.values.values())
        if decision.exact:
            short = float(best - self.sign * self.values[own])
            assert short <= 1e-12 * max(size, abs(float(best))), (decision, float(best))


NEARLY_RATIOS = [
    f"n * tp / (hyp + ref){EMPTY}",
    f"(if n % 5 == 4 then 0 - tp else tp) / (hyp + ref){EMPTY}",
    f"2 * tp / (hyp + (if n > 12 then n else 1) * ref){EMPTY}",
    "(tp + n % 2) / (hyp + ref + n % 3) or 0.5 when hyp + ref + n % 3 == 0",
    f"2 * tp / (hyp + ref) + (if tp == 3 and hyp == 5 then 0.5 else 0){EMPTY}",
    f"2 * tp / (hyp + ref) or 7 when 10^16 * tp + hyp == 10^16 * tp + n{EMPTY}",
    "(0.1 * tp + 0.2 * tp - 0.3 * tp + hyp) / (1 + hyp + ref)",
    "10^15 * tp / (10^15 * hyp + ref + 1)",
    "(tp - 10^(0 - 13) * ref) / (1 + hyp)",
]


@pytest.mark.parametrize("kind", ["utility", "loss"])
@pytest.mark.parametrize("value", NEARLY_RATIOS)
def test_nearly_ratios(value, kind):
    """A factor, a parity or a constant of n, an exception at a table, a change at n = 13."""
    loss = table_loss(value, kind)
    for m, p, others, q in ((6, 0.1, 7, 0.4), (2, 0.25, 3, 0.6)):
        truth = Truth(loss, m, p, others, q)
        model = [p] * m + [q] * others
        for method in ("auto", *BY_ALGEBRA):
            decision = ask(loss, model, method=method)
            if decision is not None:
                truth.check(decision)
        truth.check(fsmeu.decode_many(loss, [model])[0])


def test_constants_at_a_length_are_no_obstacle():
    """What is a ratio at a given length is decided as one."""
    for value in NEARLY_RATIOS[0], f"(if n > 3 then 5 * tp else tp) / (hyp + ref){EMPTY}":
        decision = fsmeu.decode(table_loss(value), [0.3] * 4)
        assert (decision.labels, decision.method) == ([1] * 4, "ratios")
    assert fsmeu.decode(table_loss("tp / (hyp + ref + 1/3)"), [0.3, 0.4]).method == "ratios"


def test_slopes_that_span_many_orders_of_magnitude():
    """What roots of unity lose is computed by convolutions; E[tp 2^ref] is a product."""
    n, p = 56, 0.0625
    decision = fsmeu.decode(table_loss("tp * 2^ref / (1 + hyp)"), [p] * n)
    assert (decision.method, decision.exact, decision.labels) == ("counting", True, [1] * n)
    assert decision.value == pytest.approx(n / (1 + n) * 2 * p * (1 + p) ** (n - 1), rel=1e-12)


def test_a_value_next_to_the_best_one_is_not_claimed():
    """Other labels are 2e-10 better than the most probable ones."""
    loss = fsmeu.loads("utility u labels 0 1 count hyp when z == 1 value 1 + hyp * 10^-10")
    assert not fsmeu.decode(loss, [0.0, 0.0], method="marginal").exact


def test_certain_labels_are_decided_exactly():
    """A best loss of 0, or next to it, is claimed although no error is small beside it."""
    for text in ("value 1 - ok / n", "value (n - ok) / n"):
        loss = fsmeu.loads(f"loss q labels 0 1 count ok when y == z {text}")
        for p in ([1.0] * 30, [1e-13] * 30, [1 - 1e-12, 1e-15] * 20):
            decision = fsmeu.decode(loss, p, method="additive")
            assert decision.exact
            assert decision.labels == [round(x) for x in p]


def test_outcomes_that_cancel_leave_no_proof():
    """Expected values of about 1 are differences of sums of about 10^12 here."""
    loss = table_loss("10^12 * (2 * ref - n) + 2 * tp / (hyp + ref + 1)")
    p = [0.375, 0.625, 0.25, 0.75]  # as many 1s as 0s are expected
    for options in ({}, {"method": "ranking"}, {"method": "counting"}, {"engine": "openfst"}):
        assert not fsmeu.decode(loss, p, **options).exact
    truth = Truth(loss, 4, 0.5, 0, 0.5)
    for engine in ("auto", "openfst"):
        found = fsmeu.decode_corpus(loss, [[0.5] * 3, [0.5]], engine=engine)
        assert not found.exact
        own = truth.values[sum(map(sum, found.labels)), 0]
        for value in (own, max(truth.values.values())):
            assert found.lower <= value <= found.upper


def test_ties_are_proven():
    """Every sequence with as many ones is as good: more than are listed, and singles hide it."""
    for p in ([0.3] * 40, [0.5] * 40):
        made = fsmeu.decode("fscore", p, engine="openfst")
        assert made.exact
        assert made.value == pytest.approx(fsmeu.decode("fscore", p).value, rel=1e-12)


def test_a_range_that_a_search_rests_on_is_tried_on_short_pairs():
    """Chunks are counted and taken back: that their count is at least 0 is what the range says."""
    file = Path(__file__).parents[2] / "grammars" / "chunk_fscore.loss"
    text = file.read_text(encoding="utf-8")
    loss = fsmeu.loads(text.replace("max(1, empty)", "0.9"), types=["A"])
    model = fsmeu.models.from_potentials([[0.1, 0.2, 0.3]] * 6, [[0.0] * 3] * 3, loss.labels)
    right = fsmeu.load("chunk_fscore", types=["A"])
    found, best = (fsmeu.decode(one, model, method="counting") for one in (loss, right))
    assert (found.labels, found.exact) == (best.labels, True)
    assert found.value == pytest.approx(best.value, rel=1e-12)
