"""Every hypothesis under random fields: expectations and decisions against all references."""

import itertools

import numpy as np
import pytest

import fsmeu
from tests.support.values import value_table

TEXTS = {
    "precision of 1": """utility precision_of_1 labels 0 1 2
count tp when z == 1 and y == 1
count hyp when z == 1
value tp / hyp or 1 when hyp == 0""",
    "recall of 1": """utility recall_of_1 labels 0 1 2
count tp when z == 1 and y == 1
count ref when y == 1
value tp / ref or 1 when ref == 0""",
    "clock": """loss late labels 0 1 2
count wrong by i when z != y
value wrong / n or 0 when n == 0""",
    "z remembers": """loss smooth labels 0 1 2
memory m of z last 1
count wrong by 1 + (old m[0] != z) when z != y
value wrong""",
    "y remembers": """loss moved labels 0 1 2
memory m of y last 1
count wrong when z != y and old m[0] != y
value wrong""",
    "first of a run": """utility runs labels 0 1 2
memory mz of z last 1
count hyp by 3 when z == 1 and old mz[0] != 1
count tp when z == y
value tp * 2^hyp""",
    "by position": """utility jumps labels 0 1 2
count hyp by if z == 1 then 1 else if z == 2 then i else 0
count tp when z == y
value tp * 2^hyp""",
}
LOSSES = [
    *((name, {}) for name in TEXTS),
    ("fscore", {}),
    ("hamming", {}),
    ("pk", {"k": 2}),
    ("windowdiff", {"k": 2}),
    ("chunk_fscore", {"types": ["A"]}),
    ("chunk_fscore", {"types": ["A"], "beta": 2}),
    ("span_fscore", {"types": ["A"]}),
]


def fields(labels, n, count=2):
    """Random fields with some steps impossible."""
    random, size = np.random.default_rng(n), len(labels)
    pairwise = np.where(
        random.random((size, size)) < 0.2, -np.inf, random.normal(size=(size, size))
    )
    np.fill_diagonal(pairwise, 0.0)
    return [
        fsmeu.models.from_potentials(random.normal(size=(n, size)), pairwise, labels)
        for _ in range(count)
    ]


@pytest.mark.parametrize("n", [0, 1, 3, pytest.param(4, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("name", "given"), LOSSES)
@pytest.mark.thirds
def test_all_hypotheses(name, given, n):
    loss = fsmeu.loads(TEXTS[name]) if name in TEXTS else fsmeu.load(name, **given)
    models, every = fields(loss.labels, n), list(itertools.product(loss.labels, repeat=n))
    best = max if loss.kind == "utility" else min
    values, table = [], value_table(loss, every, every)
    for model in models:
        pairs = table @ [model.probability(y) for y in every]
        found = fsmeu.expect_many(loss, every, [model] * len(every))
        assert found == pytest.approx(pairs, rel=1e-12, abs=1e-13)
        values.append(dict(zip(every, pairs, strict=True)))
    for listed, decision in zip(values, fsmeu.decode_many(loss, models), strict=True):
        wanted = best(listed.values())
        assert decision.exact
        assert decision.value == pytest.approx(wanted, rel=1e-12, abs=1e-12)
        assert listed[tuple(decision.labels)] == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_values_of_counts_that_no_sequence_has_are_not_asked_for():
    """2^1200 is no double, but at most two of four positions count."""
    text = TEXTS["first of a run"].replace("by 3", "by 300")
    found = fsmeu.decode(fsmeu.loads(text), fsmeu.models.Independent(np.full((4, 3), 1 / 3)))
    assert found.exact
    assert found.value == pytest.approx(4 / 3 * 2.0**600, rel=1e-12)
