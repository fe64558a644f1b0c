"""The files on the shelf keep what they promise."""

import re

import pytest

import fsmeu
from fsmeu.checking.examples import run_examples
from fsmeu.losses.loss import grammar_folder, read_spec
from tests.losses.meaning import World

LOSSES = fsmeu.library()


def test_shelf_is_the_folder():
    first = {"fscore", "hamming", "zero_one", "pk", "accuracy", "precision", "recall", "jaccard"}
    assert sorted(path.stem for path in grammar_folder().iterdir()) == LOSSES
    assert first <= set(LOSSES)


@pytest.mark.parametrize("name", LOSSES)
def test_file_says_what_it_is(name):
    spec = read_spec(name)
    assert spec.name == name
    assert spec.summary
    assert len(spec.examples) >= 3
    assert re.search(r"^labels\s", spec.source, re.MULTILINE)
    unbounded = [p for p in spec.params if p.type == "table" or p.low is None or p.high is None]
    assert spec.range is not None or unbounded


@pytest.mark.parametrize("name", LOSSES)
def test_examples_hold(name):
    spec = read_spec(name)
    for result in run_examples(spec):
        assert result.error == ""
        assert result.value == pytest.approx(result.expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", LOSSES)
def test_examples_hold_in_a_second_reading(name):
    """The same, without the code that evaluates losses."""
    spec = read_spec(name)
    checked = 0
    for example in spec.examples:
        tables = {p.name: [[0, 0], [0, 0]] if p.type == "table" else 1 for p in spec.params}
        plain = World(spec, (0, 1), 0, **tables)
        given = {k: plain.look(expr, plain.params, {}) for k, expr in example.bindings}
        labels = spec.labels or _labels(spec)
        if any(p.default is None and p.name not in given for p in spec.params):
            continue  # a table cannot be written in an example
        named = {str(label): label for label in labels}
        z, y = ([named[word] for word in _split(text)] for text in (example.z, example.y))
        world = World(spec, labels, len(z), **given)
        expected = world.look(example.value, world.fixed(), {})
        assert float(world.run(z, y)) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)
        checked += 1
    assert checked >= 3 or any(p.type == "table" for p in spec.params)


def _labels(spec):
    texts = [text for example in spec.examples for text in (example.z, example.y)]
    words = sorted({word for text in texts for word in _split(text)})
    if all(word.isdecimal() for word in words):
        return tuple(sorted({0, 1, *map(int, words)}))
    return tuple(words)


def _split(text):
    words = text.replace(",", " ").split()
    plain = len(words) == 1 and "-" not in text
    return list(text) if plain else words
