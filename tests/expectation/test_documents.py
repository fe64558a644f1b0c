"""Expectations and derivatives by lanes: fractions, quadruple precision, and sums over counts."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu import limits
from fsmeu.models import Markov, Mixture, NBest, from_potentials
from tests.decoding.test_documents import KIN, kin
from tests.support.chunk_sums import (
    added,
    chunk_count,
    chunk_sums,
    f_score,
    of_markov,
    of_potentials,
)

TAGS = ["O", "B-A", "I-A", "B-B", "I-B"]
IOBES = ["O", "B-A", "I-A", "E-A", "S-A", "B-B", "I-B", "E-B", "S-B"]
NEVER = 10**9


def f1(**options):
    """A loss of chunks with nothing derived yet."""
    return fsmeu.load("chunk_fscore", labels=TAGS, **options)


def potentials(random, n, scale, tags=TAGS):
    """Potentials (n, L) and (L, L)."""
    return random.normal(size=(n, len(tags))) * scale, random.normal(size=(len(tags),) * 2) * scale


def drawn(random, n, tags=TAGS):
    """Tags of a sequence."""
    return [tags[k] for k in random.integers(len(tags), size=n)]


def parts_of_64(random, rows, zeros):
    """Rows of probabilities that are multiples of 1/64, so that they add up to 1 as doubles."""
    chances = random.dirichlet(np.full(len(TAGS), 0.3 if zeros else 2.0), rows)
    counts = np.floor(chances * 64)
    counts[np.arange(rows), chances.argmax(axis=1)] += 64 - counts.sum(axis=1)
    return counts / 64


@settings(max_examples=90)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.booleans(),
    st.sampled_from([(), (2,), (3, 5)]),
    st.sampled_from([{}, {"beta": 2, "empty": 0}, {"beta": Fraction(1, 2), "empty": 3}]),
)
def test_bounds_hold_in_fractions(seed, n, zeros, caps, options):
    """Chains with zeros and without, hypotheses of every kind, ages that stop and that do not."""
    random = np.random.default_rng(seed)
    rows = parts_of_64(random, 6, zeros)
    model = Markov(rows[0], rows[1:], n, TAGS)
    z = drawn(random, n, TAGS[: 1 + seed % 5])
    loss = f1(**{name: float(number) for name, number in options.items()})
    with limits.lowered(DOCUMENT_WORK=1, CAPS=caps):
        found = fsmeu.expect(loss, z, model)
    sums = chunk_sums(z, of_markov(rows[0], rows[1:], n, TAGS, Fraction))
    truth = f_score(sums, chunk_count(z), **options)
    assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    assert found.upper - found.lower <= 1e-10


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(("n", "options"), [(40, {}), (130, {"beta": 2, "empty": 0})])
@pytest.mark.thirds
def test_bounds_hold_in_quadruple_precision(n, scale, options, lowered):
    lowered(DOCUMENT_WORK=1)
    random = np.random.default_rng(n)
    tables = potentials(random, n, scale)
    exact = of_potentials(*tables, TAGS)
    model = from_potentials(*tables, TAGS)
    likely = [TAGS[k] for k in tables[0].argmax(axis=1)]
    for z in (drawn(random, n), likely, ["O"] * n):
        found = fsmeu.expect(f1(**options), z, model)
        truth = f_score(chunk_sums(z, exact), chunk_count(z), **options)
        assert found.lower <= truth <= found.upper
        assert found.value == pytest.approx(float(truth), rel=1e-12, abs=1e-15)


@pytest.mark.nightly
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0])
def test_long_documents_in_quadruple_precision(scale):
    random = np.random.default_rng(5)
    tables = potentials(random, 300, scale)
    z = drawn(random, 300)
    found = fsmeu.expect(f1(), z, from_potentials(*tables, TAGS))
    truth = f_score(chunk_sums(z, of_potentials(*tables, TAGS)), chunk_count(z))
    assert found.lower <= truth <= found.upper
    assert found.value == pytest.approx(float(truth), rel=1e-12)


def rare(n):
    """A chain with next to no chunk."""
    row = np.array([1021, 2, 0, 1, 0]) / 1024
    return Markov(row, np.stack([row] * 5), n, TAGS), of_markov(row, np.stack([row] * 5), n, TAGS)


@pytest.mark.parametrize("empty", [0, 1])
def test_rare_chunks(empty, lowered):
    """Denominators from 1 on, most of them 1; also for a hypothesis without chunks."""
    lowered(DOCUMENT_WORK=1)
    model, exact = rare(100)
    for z in (["O"] * 100, ["B-A"] + ["O"] * 99, ["O", "B-B"] * 50):
        found = fsmeu.expect(f1(empty=empty), z, model)
        truth = f_score(chunk_sums(z, exact), chunk_count(z), empty=empty)
        assert found.lower <= truth <= found.upper
        assert found.value == pytest.approx(float(truth), rel=1e-11)


def listed(random, n):
    """A list of sequences with weights."""
    return NBest([drawn(random, n) for _ in range(9)], random.random(9) + 0.1, labels=TAGS)


MODELS = {
    "field": lambda random: from_potentials(*potentials(random, 60, 1.0), TAGS),
    "chain": lambda random: Markov(
        random.dirichlet(np.ones(5)), random.dirichlet(np.ones(5), 5), 50, TAGS
    ),
    "mixture": lambda random: Mixture(
        [from_potentials(*potentials(random, 50, scale), TAGS) for scale in (0.5, 2.0)], [0.4, 0.6]
    ),
    "list": lambda random: listed(random, 50),
    "given": lambda random: from_potentials(*potentials(random, 50, 1.0), TAGS).given(
        fsmeu.constraints.bio()
    ),
    "iobes": lambda random: from_potentials(*potentials(random, 60, 1.0, IOBES), IOBES),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("caps", [(), (3, 12)])
@pytest.mark.thirds
def test_as_by_counts(kind, caps, lowered):
    """Sums over counts have bounds of their own: both hold the truth."""
    lowered(CAPS=caps)
    random = np.random.default_rng(len(kind))
    model = MODELS[kind](random)
    tags = IOBES if kind == "iobes" else TAGS
    names = ["chunk_fscore_iobes"] if kind == "iobes" else ["chunk_fscore", "span_fscore"]
    for name in names:
        loss = fsmeu.load(name, labels=tags, beta=2)
        for z in (drawn(random, model.n, tags), ["O"] * model.n):
            lowered(DOCUMENT_WORK=NEVER)
            wanted = fsmeu.expect(loss, z, model)
            lowered(DOCUMENT_WORK=1)
            found = fsmeu.expect(loss, z, model)
            assert found.value == pytest.approx(wanted.value, rel=1e-11, abs=1e-15)
            assert found.lower <= wanted.upper
            assert wanted.lower <= found.upper


@pytest.mark.parametrize("name", KIN)
@pytest.mark.thirds
def test_kin_as_by_counts(name, lowered):
    """Affine values, precision, recall, chunks counted late; with derivatives."""
    random = np.random.default_rng(len(name))
    model = MODELS["field"](random)
    loss = kin(name)
    for z in (drawn(random, model.n), ["O"] * model.n):
        lowered(DOCUMENT_WORK=NEVER)
        wanted = fsmeu.expect(loss, z, model)
        slopes = fsmeu.gradient(loss, z, model)
        lowered(DOCUMENT_WORK=1)
        found = fsmeu.expect(loss, z, model)
        assert found.value == pytest.approx(wanted.value, rel=1e-11, abs=1e-15)
        assert found.lower <= wanted.upper
        assert wanted.lower <= found.upper
        for key, other in fsmeu.gradient(loss, z, model).items():
            assert other == pytest.approx(slopes[key], rel=1e-8, abs=1e-10)


# -- derivatives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["field", "chain"])
@pytest.mark.parametrize("caps", [(), (3, 25)])
@pytest.mark.thirds
def test_derivatives_are_those_of_counts(kind, caps, lowered):
    lowered(CAPS=caps)
    random = np.random.default_rng(4)
    model = MODELS[kind](random)
    z = drawn(random, model.n)
    for options in ({}, {"beta": 2, "empty": 0}):
        lowered(DOCUMENT_WORK=NEVER)
        wanted = fsmeu.gradient(f1(**options), z, model)
        lowered(DOCUMENT_WORK=1)
        found = fsmeu.gradient(f1(**options), z, model)
        assert found.keys() == wanted.keys()
        for name, slopes in found.items():
            greatest = np.abs(wanted[name]).max()
            assert np.abs(slopes - wanted[name]).max() <= 1e-10 * greatest


def test_derivatives_are_differences(lowered):
    """Of values in quadruple precision."""
    lowered(DOCUMENT_WORK=1)
    random = np.random.default_rng(6)
    n = 20
    unary, table = potentials(random, n, 1.0)
    z = drawn(random, n)
    found = fsmeu.gradient(f1(), z, from_potentials(unary, table, TAGS))
    step = 1e-6

    def value(moved_unary, moved_table):
        sums = chunk_sums(z, of_potentials(moved_unary, moved_table, TAGS))
        return f_score(sums, chunk_count(z))

    for i, tag in [(0, 1), (7, 2), (n - 1, 4)]:
        up, down = np.array(unary, np.longdouble), np.array(unary, np.longdouble)
        up[i, tag] += step
        down[i, tag] -= step
        slope = (value(up, table) - value(down, table)) / (up[i, tag] - down[i, tag])
        assert found["unary"][i, tag] == pytest.approx(float(slope), rel=1e-8, abs=1e-11)
    up, down = np.array(table, np.longdouble), np.array(table, np.longdouble)
    up[1, 2] += step
    down[1, 2] -= step
    slope = (value(unary, up) - value(unary, down)) / (up[1, 2] - down[1, 2])
    assert found["pairwise"][1, 2] == pytest.approx(float(slope), rel=1e-8, abs=1e-11)


# -- corpora ---------------------------------------------------------------------------------------


def sentences(random, count, scale):
    """Potentials of short sentences with one table of neighbours, and their models."""
    table = random.normal(size=(5, 5)) * scale
    tables = [(random.normal(size=(n, 5)) * scale, table) for n in random.integers(1, 9, count)]
    return tables, [from_potentials(*pair, TAGS) for pair in tables]


def corpus_truth(zs, tables, **options):
    """The expected value of a corpus in quadruple precision."""
    parts = [chunk_sums(z, of_potentials(*pair, TAGS)) for z, pair in zip(zs, tables, strict=True)]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [added(*pair) for pair in pairs] + parts[len(parts) // 2 * 2 :]
    return f_score(parts[0], sum(map(chunk_count, zs)), **options)


def check_corpus(seed, count, scale, options):
    """Bounds of a decision, and of the values of other hypotheses."""
    random = np.random.default_rng(seed)
    tables, models = sentences(random, count, scale)
    loss = f1(**options)
    decision = fsmeu.decode_corpus(loss, models)
    truth = corpus_truth(decision.labels, tables, **options)
    assert decision.lower <= truth <= decision.upper
    assert decision.gap <= 1e-9
    others = [drawn(random, model.n) for model in models]
    likely = [fsmeu.decode(fsmeu.load("zero_one", labels=TAGS), model).labels for model in models]
    for zs in (decision.labels, others, likely):
        found = fsmeu.expect_corpus(loss, zs, models)
        exact = corpus_truth(zs, tables, **options)
        assert found.lower <= exact <= found.upper
        assert found.value == pytest.approx(float(exact), rel=1e-12)
        assert exact <= decision.upper
    return loss, models, likely


@pytest.mark.nightly
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_two_thousand_sentences_in_quadruple_precision(scale):
    check_corpus(7, 2000, scale, {})


def test_items_that_count_for_very_much(lowered):
    """There are too many totals to look at each: another way values hypotheses."""
    text = """utility f
    labels bio
    count tp when kind(z) == "B" and kind(y) == "B"
    count hyp by 1e15 when kind(z) == "B"
    count ref when kind(y) == "B"
    value tp / (hyp + ref + 1)
    range 0 .. 1
    """
    loss = fsmeu.loads(text, labels=TAGS[:3])
    model = from_potentials(*potentials(np.random.default_rng(3), 5, 1.0, TAGS[:3]), TAGS[:3])
    z = ["B-A", "I-A", "O", "B-A", "O"]
    true = fsmeu.expect(loss, z, model).value
    lowered(DOCUMENT_WORK=2)
    assert fsmeu.expect(loss, z, model).value == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize("name", ["chunk_fscore", "chunk_fscore_iob1"])
def test_lanes_serve_where_sweeps_by_counts_are_slow(name, lowered):
    """Steps of IOB1 read two tags, so that sweeps are slow for few tokens; both agree."""
    loss = fsmeu.load(name, types=[f"T{k}" for k in range(8)])
    random = np.random.default_rng(8)
    model = from_potentials(*potentials(random, 70, 1.0, loss.labels), loss.labels)
    z = drawn(random, 70, loss.labels)
    values = []
    for sums in (1, NEVER):
        lowered(SWEEP_WORK=sums)
        values.append(fsmeu.expect(loss, z, model).value)
    assert values[0] == pytest.approx(values[1], rel=1e-11)


def test_an_empty_sentence_beside_a_long_one_changes_nothing(lowered):
    """Ages of the long one stop at a cap, which a sentence without labels does not have."""
    random = np.random.default_rng(0)
    models = [from_potentials(*potentials(random, n, 1.0), TAGS) for n in (0, 8)]
    z = ["B-A", "I-A", "O", "B-B", "O", "O", "B-A", "O"]
    lowered(CAPPED_LENGTH=2, CAPS=(3,), FEW_COUNTED=0)
    alone = fsmeu.expect_corpus(f1(), [z], models[1:]).value
    assert fsmeu.expect_corpus(f1(), [[], z], models).value == pytest.approx(alone, rel=1e-12)
    best = fsmeu.decode_corpus(f1(), models[1:])
    both = fsmeu.decode_corpus(f1(), models)
    assert both.labels == [[], *best.labels]
    assert both.value == pytest.approx(best.value, rel=1e-12)
