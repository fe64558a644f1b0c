"""Long documents and corpora of chunks: quadruple precision, and sums over counts."""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Markov, Mixture, NBest, from_potentials
from tests.support import chunk_sums as apart
from tests.support.chunk_sums import chunk_count, chunk_sums, f_score, of_markov, of_potentials

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


# -- quadruple precision ---------------------------------------------------------------------------

ENDS = [64, 0, 0, 0, 0]
ROWS = {  # of 64ths: next to no chunk, none, nothing else, and a rhythm
    "rare": [[63, 1, 0, 0, 0], [60, 1, 3, 0, 0], [60, 0, 4, 0, 0], ENDS, ENDS],
    "never": [ENDS] * 5,
    "always": [[0, 64, 0, 0, 0]] * 5,
    "rhythm": [[0, 64, 0, 0, 0], [0, 0, 64, 0, 0], [0, 0, 0, 64, 0], [32, 0, 0, 0, 32], ENDS],
}
SCALES = {"flat": 0.3, "plain": 1.0, "sure": 3.0}


def both(kind, n, random):
    """A model, and the same as a chain of quadruple precision."""
    if kind in ROWS:
        rows = np.array(ROWS[kind]) / 64
        return Markov(rows[0], rows, n, TAGS), of_markov(rows[0], rows, n, TAGS)
    tables = potentials(random, n, SCALES[kind])
    return from_potentials(*tables, TAGS), of_potentials(*tables, TAGS)


def precision(sums, hyp, empty=1):
    """Expected precision: what z has no chunk for is worth ``empty``."""
    return sums.joint.sum() / hyp if hyp else empty


def recall(sums, hyp, empty=1):
    """Expected recall, the same of y."""
    parts = sums.joint[1:] / np.arange(1, len(sums.joint))
    return parts.sum() + sums.mass[0] * empty


VALUES = {"chunk_fscore": f_score, "chunk_precision": precision, "chunk_recall": recall}


@pytest.mark.parametrize("kind", [*ROWS, *SCALES])
@pytest.mark.parametrize(("n", "caps"), [(1, ()), (9, (2,)), (60, (3, 12))])
@pytest.mark.parametrize(
    ("name", "options"),
    [("chunk_fscore", {}), ("chunk_fscore", {"beta": 2, "empty": 0}), ("chunk_precision", {}),
     ("chunk_recall", {"empty": 0}), ("chunk_recall", {})],
)  # fmt: skip
@pytest.mark.thirds
def test_values_in_quadruple_precision(name, options, n, caps, kind, lowered):
    """Ages stop at a cap, where chunks are shorter, or they do not."""
    lowered(DOCUMENT_WORK=1, CAPS=caps)
    random = np.random.default_rng(n)
    model, exact = both(kind, n, random)
    loss = fsmeu.load(name, labels=TAGS, **options)
    for z in (drawn(random, n), ["B-A"] + ["O"] * (n - 1), ["O"] * n):
        truth = float(VALUES[name](chunk_sums(z, exact), chunk_count(z), **options))
        assert fsmeu.expect(loss, z, model).value == pytest.approx(truth, rel=1e-11, abs=1e-15)


# -- by counts -------------------------------------------------------------------------------------

MODELS = {
    "chain": lambda random, n: Markov(
        random.dirichlet(np.ones(5)), random.dirichlet(np.ones(5), 5), n, TAGS
    ),
    "mixture": lambda random, n: Mixture(
        [from_potentials(*potentials(random, n, scale), TAGS) for scale in (0.5, 2.0)], [0.4, 0.6]
    ),
    "list": lambda random, n: NBest(
        [drawn(random, n) for _ in range(9)], random.random(9) + 0.1, labels=TAGS
    ),
    "given": lambda random, n: from_potentials(*potentials(random, n, 1.0), TAGS).given(
        fsmeu.constraints.bio()
    ),
    "iobes": lambda random, n: from_potentials(*potentials(random, n, 1.0, IOBES), IOBES),
}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", ["chunk_fscore", "span_fscore", "chunk_fscore_iob1"])
@pytest.mark.parametrize("ways", [{"DOCUMENT_WORK": 1}, {"SWEEP_WORK": 1, "CAPS": (3, 12)}])
@pytest.mark.thirds
def test_values_and_derivatives_as_by_counts(kind, name, ways, lowered):
    """Models of all kinds, and losses whose steps read two tags."""
    random = np.random.default_rng(len(kind))
    tags = IOBES if kind == "iobes" else TAGS
    loss = fsmeu.load("chunk_fscore_iobes" if kind == "iobes" else name, labels=tags, beta=2)
    model = MODELS[kind](random, 20)
    for z in (drawn(random, 20, tags), ["O"] * 20):
        lowered(DOCUMENT_WORK=NEVER, SWEEP_WORK=NEVER)
        wanted = fsmeu.expect(loss, z, model).value
        slopes = fsmeu.gradient(loss, z, model) if kind in ("chain", "iobes") else {}
        lowered(**ways)
        assert fsmeu.expect(loss, z, model).value == pytest.approx(wanted, rel=1e-11, abs=1e-15)
        for key, slope in slopes.items():
            found = fsmeu.gradient(loss, z, model)[key]
            assert np.abs(found - slope).max() <= 1e-10 * np.abs(slope).max()


def test_derivatives_are_differences(lowered):
    """Of values in quadruple precision."""
    lowered(DOCUMENT_WORK=1)
    random, n, step = np.random.default_rng(6), 20, 1e-6
    tables, z = potentials(random, n, 1.0), drawn(random, n)
    found = fsmeu.gradient(f1(), z, from_potentials(*tables, TAGS))
    for name, place in [("unary", (0, 1)), ("unary", (7, 2)), ("pairwise", (1, 2))]:
        values = []
        for sign in (1, -1):
            moved = dict(zip(("unary", "pairwise"), map(np.longdouble, tables), strict=True))
            moved[name][place] += sign * step
            sums = chunk_sums(z, of_potentials(moved["unary"], moved["pairwise"], TAGS))
            values.append(f_score(sums, chunk_count(z)))
        slope = float((values[0] - values[1]) / (2 * step))
        assert found[name][place] == pytest.approx(slope, rel=1e-7, abs=1e-11)


# -- corpora ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"beta": 2, "empty": 0}])
@pytest.mark.parametrize("count", [50, pytest.param(2000, marks=pytest.mark.nightly)])
def test_corpora_in_quadruple_precision(count, options):
    """The value of any hypotheses; none is better than what is decided."""
    random, loss = np.random.default_rng(7), f1(**options)
    table = random.normal(size=(5, 5))
    tables = [(random.normal(size=(n, 5)), table) for n in random.integers(1, 9, count)]
    models = [from_potentials(*pair, TAGS) for pair in tables]

    def truth(zs):
        pairs = zip(zs, tables, strict=True)
        parts = [chunk_sums(z, of_potentials(*pair, TAGS)) for z, pair in pairs]
        while len(parts) > 1:
            two = zip(parts[::2], parts[1::2], strict=False)
            parts = [apart.added(*pair) for pair in two] + parts[len(parts) // 2 * 2 :]
        return float(f_score(parts[0], sum(map(chunk_count, zs)), **options))

    decided = fsmeu.decode_corpus(loss, models)
    assert decided.value == pytest.approx(truth(decided.labels), rel=1e-9)
    likely = [fsmeu.decode(fsmeu.load("zero_one", labels=TAGS), model).labels for model in models]
    for zs in (decided.labels, likely, [drawn(random, model.n) for model in models]):
        true = truth(zs)
        assert fsmeu.expect_corpus(loss, zs, models).value == pytest.approx(true, rel=1e-12)
        assert true <= decided.upper + 1e-12


def test_an_empty_sentence_beside_a_long_one_changes_nothing(lowered):
    """Ages of the long one stop at a cap, which a sentence without labels does not have."""
    random = np.random.default_rng(0)
    models = [from_potentials(*potentials(random, n, 1.0), TAGS) for n in (0, 8)]
    z = ["B-A", "I-A", "O", "B-B", "O", "O", "B-A", "O"]
    lowered(CAPPED_LENGTH=2, CAPS=(3,), FEW_COUNTED=0)
    alone = fsmeu.expect_corpus(f1(), [z], models[1:]).value
    assert fsmeu.expect_corpus(f1(), [[], z], models).value == pytest.approx(alone, rel=1e-12)
    best, both_ = (fsmeu.decode_corpus(f1(), some) for some in (models[1:], models))
    assert both_.labels == [[], *best.labels]
    assert both_.value == pytest.approx(best.value, rel=1e-12)
