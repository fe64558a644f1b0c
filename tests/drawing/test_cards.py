"""What people hold says what it is: one line of text, one screen in a notebook."""

import subprocess
import sys

import numpy as np
import pytest

import fsmeu
from fsmeu.drawing.picture import Box, Line, distribution_picture
from tests.support.html import Page
from tests.support.python_losses import Mistakes

F1 = fsmeu.load("fscore")
LABELS = [f"B-{k}" for k in range(200)]
LONG = fsmeu.models.Bernoulli(np.linspace(0.01, 0.99, 300))
WIDE = fsmeu.models.Independent(np.full((40, 200), 1 / 200), LABELS)
ROWS = [[0.9, 0.1], [0.55, 0.45]]
SHORT = fsmeu.models.Markov([0.35, 0.65], ROWS, n=8)
COSTS = fsmeu.load("cost_matrix", labels=LABELS, cost=1 - np.eye(200))
HELD = {
    "loss": lambda: F1,
    "loss with a table": lambda: COSTS,
    "long model": lambda: LONG,
    "wide model": lambda: WIDE,
    "chain": lambda: SHORT,
    "expectation": lambda: fsmeu.expect(F1, "01100101", SHORT),
    "levels": lambda: fsmeu.expect(F1, "01100101", SHORT).levels,
    "decision": lambda: fsmeu.decode(fsmeu.load("hamming"), LONG),
    "machine": lambda: F1.compile(12),
    "summed machine": lambda: fsmeu.compile_summed(F1, 12),
    "composition": lambda: fsmeu.compose(F1, "01100101", SHORT),
    "loss in Python": lambda: fsmeu.function_loss(Mistakes(), LABELS),
    "drawing": lambda: fsmeu.draw(F1, n=12),
    "page": lambda: fsmeu.explore(F1, 2),
    "hidden chain": lambda: fsmeu.models.hmm([0.5, 0.5], ROWS, ROWS, [0, 1, 1]),
}
PRINTED = ("long model", "wide model", "chain", "expectation", "levels", "hidden chain")


@pytest.mark.parametrize("name", HELD)
def test_one_line_of_text_and_one_screen_in_a_notebook(name):
    """Few rows, and pictures in a box that is no higher than a screen and scrolls."""
    held = HELD[name]()
    text, shown = repr(held), held._repr_html_()
    assert len(text) < 300
    assert not [part for part in ("\n", "array(", "object at 0x") if part in text]
    assert len(Page(shown).all("tr")) <= 17
    if name == "page":
        assert 'height="680"' in shown
        return
    if "<svg" in shown:
        assert "max-height:520px;overflow:auto" in shown
        shown = shown[: shown.index("<svg")] + shown[shown.rindex("</svg>") :]
    assert shown.count("\n") <= 40
    assert len(shown) < 20_000
    if name in PRINTED:
        lines = str(held).splitlines()
        assert 3 <= len(lines) <= 24
        assert max(map(len, lines)) <= 100
        assert "array(" not in str(held)


def test_printed_numbers_are_those_of_the_object():
    """A row for each value with its probability and a bar; of many values, ranges of them."""
    e = fsmeu.expect(F1, "10", [0.5, 0.25])
    rows = [line.split() for line in str(e).splitlines()]
    assert rows[0] == ["expectation", repr(e.value)]
    assert [row[:2] for row in rows[1:]] == [["0", "0.5"], ["0.666667", "0.125"], ["1", "0.375"]]
    assert [len(row[2]) for row in rows[1:]] == [32, 8, 24]
    many = fsmeu.expect(F1, "01100101", SHORT)
    shares = [line.split() for line in str(many).splitlines()[1:]]
    assert sum(float(row[3]) for row in shares) == pytest.approx(1, abs=1e-3)
    values = many.levels.values + 1e-4
    for low, _, high, share, *_ in shares:
        inside = (values >= float(low)) & ((values < float(high)) | (float(high) == 1))
        assert many.levels.probabilities[inside].sum() == pytest.approx(float(share), rel=1e-3)
    assert "0.65" in str(SHORT).splitlines()[2].split()
    assert repr(e.levels) == "<levels 0: 0.5, 0.666667: 0.125, 1: 0.375>"
    assert repr(F1.compile(1)).endswith(f": {F1.compile(1).fst.num_states()} states, 4 arcs>")
    assert "<td>0.666667</td><td>0.125</td>" in e._repr_html_()
    assert "<td>0.35</td>" in SHORT._repr_html_()


def test_distributions_are_drawn():
    e = fsmeu.expect(F1, "10", [0.5, 0.25])
    picture = distribution_picture(e.levels, e.value)
    bars = [shape for shape in picture.shapes if isinstance(shape, Box)]
    heights = np.array([bar.height for bar in bars])
    assert heights / heights[0] == pytest.approx([1, 0.25, 0.75])
    places = np.array([bar.x for bar in bars])
    lines = [shape.curve for shape in picture.shapes if isinstance(shape, Line)]
    mean = next(curve[0][0] for curve in lines if curve[0][0] == curve[-1][0])
    span = places[-1] - places[0]
    assert (places - places[0]) / span == pytest.approx([0, 2 / 3, 1])
    assert (mean - places[0]) / span == pytest.approx(0.125 * 2 / 3 + 0.375)
    for held in (e, fsmeu.expect(fsmeu.load("hamming"), "1", [1.0])):
        assert "<svg" in held._repr_html_()


SHOWING = """
from fsmeu.expectation.composition import compose
from fsmeu.expectation.expect import expect
from fsmeu.losses.loss import load
from fsmeu.losses.sum_over_paths import compile_summed
from fsmeu.models.chains import Bernoulli
from tests.support.html import Page
from tests.support.python_losses import Mistakes
found = expect(load("hamming"), "10", [0.9, 0.5])
held = [Bernoulli([0.9, 0.5]), found, found.levels]
machines = [load("hamming").compile(2), compile_summed(load("hamming"), 2),
            compose(load("hamming"), "10", [0.9, 0.5])]
print(*held, *(machine.to_networkx() for machine in machines), found.plot, sep="\\n")
print(*(thing._repr_html_() for thing in [*held, load("hamming"), *machines]), sep="\\n")
print(*(machine._repr_svg_() for machine in machines), sep="\\n")
"""


def test_what_is_shown_does_not_depend_on_what_was_imported():
    touched = "import fsmeu\nfsmeu.load, fsmeu.draw, fsmeu.models\n"
    commands = ([sys.executable, "-c", script] for script in (SHOWING, touched + SHOWING))
    one, other = (subprocess.check_output(words, text=True, timeout=120) for words in commands)
    assert one.startswith("independent labels, n = 2, 2 labels: P(y_i = label)\n")
    assert one == other
