"""What is said of losses that no exact method decides for, and the lines to write instead."""

from itertools import product

import numpy as np
import pytest

import fsmeu
from fsmeu.checking.advice import obstacle, rewrites
from fsmeu.losses.language.write import file_text
from fsmeu.losses.loss import library, load, read_spec

MISSES = """
loss misses(price = 2 in 0..)
labels 0 1
memory before of (z == 0 and y == 1) last 1
count alarms when z == 1 and y == 0
count runs when z == 0 and y == 1 and old before[0] != 1
value (alarms + price * runs) / n or 0 when n == 0
"""
CASES = {
    "a memory of both": (MISSES, "line 4: memory before", "additive"),
    "a memory of an inequality": (
        "loss f labels 0 1\nmemory m of (z != y) last 2\n"
        "count c when m[0] == 1 and m[1] == 0\ncount d when old m[1] != 0\nvalue c + d / 2",
        "line 2: memory m",
        "additive",
    ),
    "events apart": (
        "loss f labels 0 1\nage a since z != y up to 3\n"
        "count c when z != y and old a == 1\ncount h when z == 1\nvalue c / (1 + h)",
        "line 2: age a",
        "counting",
    ),
    "the end": (
        "loss f labels 0 1\nmemory mz of z last 2\nmemory my of y last 2\n"
        "value (mz[0] != my[0]) + (mz[1] == my[1])",
        "line 4: the value looks at mz",
        "additive",
    ),
    "both rules": (
        "utility f labels 0 1\nmemory m of (z == 1 and y == 0) last 2\n"
        "value if m[1] == 1 then 1 else (m[0] == 1) / 2",
        "line 2: memory m",
        "additive",
    ),
}


@pytest.mark.parametrize(("text", "stands", "method"), CASES.values(), ids=CASES)
def test_the_lines_to_write_are_of_the_same_loss(text, stands, method):
    loss = fsmeu.loads(text)
    assert obstacle(loss).startswith(stands)
    way = next(rewrites(loss))
    other = fsmeu.loads(way.text)
    assert way.methods[0].method == method
    assert set(way.lines) <= set(way.text.splitlines())
    for n in range(1, 6):
        rows = np.array(list(product((0, 1), repeat=n)))
        z, y = np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1))
        assert other.pair_values(z, y) == pytest.approx(loss.pair_values(z, y), abs=1e-12)
    p = np.random.default_rng(1).random(60)
    assert fsmeu.decode(other, fsmeu.models.Bernoulli(p)).exact
    short = fsmeu.models.Bernoulli(p[:5])
    value = fsmeu.decode(loss, short, method="exhaustive").value
    assert fsmeu.decode(other, short, method=method).value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("loss f labels 0 1\nflag f when z < y\nvalue f", "line 2: flag f looks at both"),
        ("loss f labels 0 1\ncount c when z != y\nvalue c^2", "line 3: the value is not linear in"),
        (
            "loss f labels 0 1\ncount c when z != y\nregister m in 0..n start 0 next max(m, c)\n"
            "value m",
            "line 3: register m looks at both",
        ),
        (
            "loss f labels 0 1\ncount a when z == 1\nflag b when z == 0\ncount c when z != y\n"
            "value c / (1 + a + b)",
            "line 5: the value looks at a, b, more than one count of z",
        ),
    ],
)
def test_what_stands_in_the_way_is_said_where_no_rule_applies(text, stands):
    loss = fsmeu.loads(text)
    assert obstacle(loss).startswith(stands)
    assert not list(rewrites(loss))


def test_nothing_stands_in_the_way_of_what_is_decided():
    assert not obstacle(load("hamming"))
    assert not obstacle(load("fscore"))


@pytest.mark.parametrize("name", library())
def test_files_are_written_as_they_are_read(name):
    """Of explicit states none is written."""
    spec = read_spec(name)
    text = file_text(spec)
    if any(register.sugar == "state" for register in spec.registers):
        assert text is None
        return
    again = fsmeu.losses.language.read.read(text)
    assert [r.update for r in again.registers] == [r.update for r in spec.registers]
    assert (again.value, again.params) == (spec.value, spec.params)


def test_numbers_are_written_as_they_were():
    """Without bounds, `inf` is a number too; decimals have no more digits than they need."""
    spec = fsmeu.loads("loss f labels 0 1\nregister r in 0..3 start 0 next r\n"
                       "value if r < inf then 0.1 else 2.50").spec  # fmt: skip
    assert "value (if r < inf then 0.1 else 2.5)" in file_text(spec)
