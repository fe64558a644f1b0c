"""Losses as a reader of docs/language.md writes them: values, and which method decides for them."""

from itertools import product

import numpy as np
import pytest

import fsmeu

EVENTS = """
utility events(t: int = 1 in 0..2) "F1 of events, where one at most t positions away is a hit"
labels  0 1
memory  mz of z last 5
memory  my of y last 5
let     y2 = (my[2] == 1 or t >= 1 and (my[1] == 1 or my[3] == 1)
              or t >= 2 and (my[0] == 1 or my[4] == 1))
let     y1 = (my[1] == 1 or t >= 1 and (my[0] == 1 or my[2] == 1) or t >= 2 and my[3] == 1)
let     y0 = (my[0] == 1 or t >= 1 and my[1] == 1 or t >= 2 and my[2] == 1)
count   hyp when z == 1
count   ref when y == 1
count   hits by (mz[2] == 1 and y2)
                + (if i == n then (mz[1] == 1 and y1) + (mz[0] == 1 and y0) else 0)
value   2 * hits / (hyp + ref) or 1 when hyp + ref == 0
"""
CONTEXTUAL = """
loss    contextual(cost: table, after: table) "a wrong tag costs more after some tags"
labels  DT NN VB
memory  my of y last 1
count   c by cost[z, y] * (if i == 1 then 1 else after[old my[0]])
value   c
"""
LONGEST_RUN = """
loss    longest_run "the longest run of wrong labels"
labels  0 1
register run in 0..n start 0 next if z != y then run + 1 else 0
register longest in 0..n start 0 next max(longest, run)
value   longest
"""
CHUNKS = """
utility chunks(part = 1/2 in 0..1) "chunk F1 in which a chunk that begins right counts in part"
labels  bio
register oz in 0..1 start 0 next if kind(z) == "B" then 1 else if kind(z) == "I" then oz else 0
register oy in 0..1 start 0 next if kind(y) == "B" then 1 else if kind(y) == "I" then oy else 0
age     az since kind(z) == "B" up to n
age     ay since kind(y) == "B" up to n
memory  mz of z last 1
memory  my of y last 1
let     ended_z = (old oz == 1 and kind(z) != "I")
let     ended_y = (old oy == 1 and kind(y) != "I")
count   hyp when kind(z) == "B"
count   ref when kind(y) == "B"
count   begun when kind(z) == "B" and z == y
count   ended when ended_z and ended_y and old az == old ay and type(old mz[0]) == type(old my[0])
count   open when i == n and oz == 1 and oy == 1 and az == ay and type(z) == type(y)
value   2 * (part * begun + (1 - part) * (ended + open)) / (hyp + ref) or 1 when hyp + ref == 0
"""
COST = [[0.0, 1.0, 2.0], [1.5, 0.0, 1.0], [1.0, 3.0, 0.0]]
AFTER = [2.0, 1.0, 0.5]
TAGS = ("O", "B-X", "I-X", "B-Y", "I-Y")


def events(z, y, t):
    ours, theirs = ([i for i, label in enumerate(x) if label == 1] for x in (z, y))
    hits = sum(any(abs(i - j) <= t for j in theirs) for i in ours)
    return 2 * hits / (len(ours) + len(theirs)) if ours or theirs else 1


def contextual(z, y):
    index = ("DT", "NN", "VB").index
    costs = [COST[index(a)][index(b)] for a, b in zip(z, y, strict=True)]
    return sum(c * (AFTER[index(y[i - 1])] if i else 1) for i, c in enumerate(costs))


def longest_run(z, y):
    return max(
        len(run) for run in "".join("01"[a != b] for a, b in zip(z, y, strict=True)).split("0")
    )


def chunks_of(tags):
    """Chunks (first, last, type of the last tag); one begins at B and goes on as long as I does."""
    found = []
    for first, tag in enumerate(tags):
        if tag[0] == "B":
            last = first
            while last + 1 < len(tags) and tags[last + 1][0] == "I":
                last += 1
            found.append((first, last, tags[last][2:]))
    return found


def chunks(z, y, part):
    ours, theirs = chunks_of(z), chunks_of(y)
    begun = sum(a == b and a[0] == "B" for a, b in zip(z, y, strict=True))
    total = len(ours) + len(theirs)
    return 2 * (part * begun + (1 - part) * len({*ours} & {*theirs})) / total if total else 1


CASES = {
    "events": (EVENTS, {"t": 1}, (0, 1), lambda z, y: events(z, y, 1), "counting"),
    "events, t = 2": (EVENTS, {"t": 2}, (0, 1), lambda z, y: events(z, y, 2), "counting"),
    "contextual": (
        CONTEXTUAL, {"cost": COST, "after": AFTER}, ("DT", "NN", "VB"), contextual, "additive",
    ),
    "longest run": (LONGEST_RUN, {}, (0, 1), longest_run, None),
    "chunks": (CHUNKS, {"part": 0.25}, TAGS, lambda z, y: chunks(z, y, 0.25), "counting"),
}  # fmt: skip


def loss_of(text, params, labels):
    return fsmeu.loads(text, labels=labels if "bio" in text else None, **params)


@pytest.mark.parametrize(("text", "params", "labels", "meant", "method"), CASES.values(), ids=CASES)
def test_values_are_what_was_meant_and_a_method_decides(text, params, labels, meant, method):
    """Of the longest run no exact method is known."""
    loss = fsmeu.loads(text, labels=labels if "bio" in text else None, **params)
    for n in range(1, {2: 6, 3: 4, 5: 3}[len(labels)]):
        sequences = list(product(labels, repeat=n))
        zs, ys = zip(*product(sequences, repeat=2), strict=True)
        expected = [meant(z, y) for z, y in zip(zs, ys, strict=True)]
        assert fsmeu.evaluate_many(loss, zs, ys) == pytest.approx(np.array(expected), abs=1e-9)
    rows = np.random.default_rng(3).dirichlet(np.ones(len(labels)), 30)
    if method is None:
        return
    decided = fsmeu.decode(loss, fsmeu.models.Independent(rows, labels))
    assert (decided.method, decided.exact) == (method, True)
