"""What people hold says what it is: one line of text, one screen in a notebook."""

from html.parser import HTMLParser

import numpy as np
import pytest

import fsmeu

F1 = fsmeu.load("fscore")
LABELS = [f"B-{k}" for k in range(200)]
LONG = fsmeu.models.Bernoulli(np.linspace(0.01, 0.99, 300))
WIDE = fsmeu.models.Independent(np.full((40, 200), 1 / 200), LABELS)
SHORT = fsmeu.models.Markov([0.35, 0.65], [[0.9, 0.1], [0.55, 0.45]], n=8)
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
}


class Balanced(HTMLParser):
    """Counts tags, and refuses those that do not close."""

    def __init__(self):
        super().__init__()
        self.open, self.rows = [], 0

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.rows += tag == "tr"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", HELD)
def test_text_is_one_short_line(name):
    text = repr(HELD[name]())
    assert len(text) < 300
    assert "\n" not in text
    assert "array(" not in text
    assert "object at 0x" not in text


@pytest.mark.parametrize("name", [name for name in HELD if "machine" not in name])
def test_notebooks_show_one_screen(name):
    thing = HELD[name]()
    if name == "composition":
        assert thing._repr_svg_().startswith("<svg")
        return
    shown = thing._repr_html_()
    read = Balanced()
    read.feed(shown)
    assert not read.open
    assert read.rows <= 17
    assert shown.count("\n") <= 40
    assert len(shown) < 20_000


def test_numbers_are_those_of_the_object():
    e = fsmeu.expect(F1, "10", [0.5, 0.25])
    assert repr(e.levels) == "<levels 0: 0.5, 0.666667: 0.125, 1: 0.375>"
    assert repr(F1.compile(1)).endswith(f": {F1.compile(1).fst.num_states()} states, 4 arcs>")
    assert "<td>0.666667</td><td>0.125</td>" in e._repr_html_()
    assert "<td>0.35</td>" in SHORT._repr_html_()


def test_labels_are_text_and_no_markup():
    model = fsmeu.models.Independent([[0.5, 0.5]], ["<b>", "a&b"])
    assert "<b>" not in model._repr_html_()
    decided = fsmeu.decode(fsmeu.load("hamming"), model)
    assert "<b>" not in decided._repr_html_()
