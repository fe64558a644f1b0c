"""Decisions for a corpus, against all hypotheses of a few short sentences."""

import re
from fractions import Fraction
from itertools import chain, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import FsmeuError, InputError, SizeLimitError
from fsmeu.losses.language.read import read
from tests import brute_force, shelf
from tests import corpora_by_listing as listing
from tests.losses.meaning import World

DECIDED = ["fscore", "fbeta", "hamming", "chunk_fscore"]


def corpus(name, kind, seed, sentences=3):
    """A random corpus: the loss, its meaning, models, and the same as dictionaries of fractions."""
    rng = np.random.default_rng(seed)
    loss, labels, count, value = listing.loaded(name)
    lengths = rng.integers(0, 4 if len(labels) == 2 else 3, sentences)
    both = listing.models(kind, rng, lengths, labels)
    return loss, (labels, count, value), [m for m, _ in both], [d for _, d in both]


def check(found, loss, meaning, listed):
    """The value is that of the hypotheses, bounds hold, and what is called exact is best."""
    labels, count, value = meaning
    best = float(listing.best(listed, labels, count, value, loss.kind == "utility"))
    own = float(listing.expected([tuple(z) for z in found.labels], listed, count, value))
    assert found.value == pytest.approx(own, rel=1e-12, abs=1e-15)
    assert found.lower - 1e-15 <= best <= found.upper + 1e-15
    assert found.lower - 1e-15 <= found.value <= found.upper + 1e-15
    if found.exact:
        assert found.value == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", listing.KINDS)
@pytest.mark.parametrize("name", DECIDED)
@pytest.mark.thirds
def test_best_of_all_hypotheses(name, kind):
    for seed in range(2):
        loss, meaning, models, listed = corpus(name, kind, seed)
        found = fsmeu.decode_corpus(loss, models)
        check(found, loss, meaning, listed)
        assert found.exact
        explicit = fsmeu.decode_corpus(loss, models, engine="openfst")
        check(explicit, loss, meaning, listed)
        assert explicit.exact
        assert explicit.value == pytest.approx(found.value, abs=1e-10)


def test_the_explicit_engine_decides_any_value_of_counts():
    """Jaccard is not linear in what reads both tapes; in a value of both signs, parts are apart."""
    for seed, kind in enumerate(listing.KINDS):
        loss, meaning, models, listed = corpus("jaccard", kind, seed)
        check(fsmeu.decode_corpus(loss, models, engine="openfst"), loss, meaning, listed)
    text = (
        "utility f labels 0 1 count a when z == y count b when z == 1 value a - 2 * b ^ 2 / (n + 1)"
    )

    def value(totals, n):
        return totals[3] - Fraction(2 * totals[1] ** 2, n + 1)

    loss = fsmeu.loads(text)
    for seed in range(3):
        _, (labels, count, _), models, listed = corpus("fscore", "markov", seed)
        found = fsmeu.decode_corpus(loss, models, engine="openfst")
        check(found, loss, (labels, count, value), listed)
        assert found.exact


@pytest.mark.parametrize("engine", ["auto", "openfst"])
def test_outcomes_that_cancel_leave_no_proof(engine):
    """Expected values of about 1 are differences of sums of about 10^12 here."""
    loss = fsmeu.loads(
        "utility f labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 "
        "count ref when y == 1 value 10^12 * (2 * ref - n) + 2 * tp / (hyp + ref + 1)"
    )

    def value(totals, n):
        tp, hyp, ref, _ = totals
        return 10**12 * (2 * ref - n) + Fraction(2 * tp, hyp + ref + 1)

    parts = [[0.375, 0.625], [0.25, 0.75]]  # as many 1s as 0s are expected
    listed = [brute_force.bernoulli(map(Fraction, p)) for p in parts]
    methods = ("auto", "ranking", "counting", "exhaustive") if engine == "auto" else ("auto",)
    for method in methods:
        assert not fsmeu.decode(loss, np.concatenate(parts), engine=engine, method=method).exact
    found = fsmeu.decode_corpus(loss, parts, engine=engine)
    assert not found.exact
    own = listing.expected([tuple(z) for z in found.labels], listed, listing.of_labels, value)
    for true in (own, listing.best(listed, [0, 1], listing.of_labels, value)):
        assert found.lower <= true <= found.upper


ROUNDED = {
    "tenths": "count a by 1/10 when z == y count b by 3/10 when z == 1 and y == 1 value a + b",
    "great": "count a by 10^9/7 when z == y count b by 10^9/7 when z != y "
    "count e by 1/10 when z == 1 and y == 1 value e + a + b - 10^9/7 * n",
    "greater": "count a by 10^16/3 when z == y count b by 10^16/3 when z != y "
    "count e by 1/10 when z == 1 and y == 1 value e + a + b - 10^16/3 * n",
    "squares": "count a by 1/3 when z == y count b by 1/3 when y == 1 value 10^6 * (a - b)^2 + a",
    "ratio": "count a by 10^9/7 when z == y count b by 1/10 when z == 1 "
    "value (a - 10^9/7 * n - 1) / (b + 1/3)",
}


@pytest.mark.parametrize("name", ROUNDED)
def test_bounds_of_the_explicit_engine_hold_what_rounding_takes(name):
    """The truth is the file in fractions: amounts that doubles do not hold, which may cancel."""
    text = f"utility f labels 0 1 {ROUNDED[name]}"
    loss = fsmeu.loads(text)
    for parts in ([[0.3, 0.8], [0.6]], [[0.1], [], [0.7], [0.45]]):
        found = fsmeu.decode_corpus(loss, parts, engine="openfst")
        n, every = sum(map(len, parts)), brute_force.bernoulli(map(Fraction, chain(*parts)))
        world = World(read(text), (0, 1), n)
        values = {z: sum(p * world.run(z, y) for y, p in every.items()) for z in every}
        best, own = max(values.values()), values[tuple(chain(*found.labels))]
        assert found.lower <= best <= found.upper
        assert found.lower <= own <= found.upper
        assert found.exact == (name not in ("great", "greater"))
        size = {"tenths": 1, "great": 10**9, "greater": 10**16, "squares": 10**6}.get(name, 10**10)
        assert found.upper - found.lower < 1e-11 * size


def test_one_sequence_that_is_not_proven():
    """Its value is not linear in what is counted together: totals are no second way."""
    loss = fsmeu.loads(
        "utility f labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 "
        "count ref when y == 1 value 10^12 * (2 * ref - n) + tp / (hyp + ref - tp + 1)"
    )

    def value(totals, n):
        tp, hyp, ref, _ = totals
        return 10**12 * (2 * ref - n) + Fraction(tp, hyp + ref - tp + 1)

    parts = [[0.375, 0.625], [0.25, 0.75]]
    listed = [brute_force.bernoulli(map(Fraction, p)) for p in parts]
    found = fsmeu.decode_corpus(loss, parts)
    assert not found.exact
    best = listing.best(listed, [0, 1], listing.of_labels, value)
    assert found.lower <= best <= found.upper


def test_independent_labels_are_one_sequence():
    """Any value of a confusion table is decided; many labels by rules."""
    for seed in range(4):
        loss, meaning, models, listed = corpus("jaccard", "independent", seed)
        found = fsmeu.decode_corpus(loss, models)
        check(found, loss, meaning, listed)
        assert found.exact
    random = np.random.default_rng(6)
    models, loss = [random.beta(0.5, 2.0, 20) for _ in range(60)], fsmeu.load("jaccard")
    told = []
    found = fsmeu.decode_corpus(loss, models, progress=lambda *news: told.append(news))
    between = f"the best is between {found.lower:.6f} and {found.upper:.6f}"
    assert told == [(1.0, between)]
    alone = fsmeu.decode(loss, np.concatenate(models))
    assert [len(z) for z in found.labels] == [20] * 60
    assert [label for z in found.labels for label in z] == alone.labels
    assert fsmeu.expect_corpus(loss, found.labels, models).value == pytest.approx(found.value)


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore"])
@pytest.mark.parametrize("seed", range(3))
def test_constraints(name, seed):
    """The best of what is allowed: the explicit engine and all hypotheses say the same."""
    loss, (labels, count, value), models, listed = corpus(name, "field", seed + 60)
    expression = f"{labels[0]}* ({labels[1]} {labels[0]}*)?"
    allowed = [
        [z for z in product(labels[:2], repeat=m.n) if z.count(labels[1]) <= 1] for m in models
    ]
    best = max(listing.expected(zs, listed, count, value) for zs in product(*allowed))
    for engine in ("auto", "openfst"):
        found = fsmeu.decode_corpus(loss, models, constraint=expression, engine=engine)
        assert all(tuple(z) in one for z, one in zip(found.labels, allowed, strict=True))
        assert found.exact
        assert found.value == pytest.approx(float(best), rel=1e-12)
        with pytest.raises(FsmeuError, match="at least one sequence"):
            fsmeu.decode_corpus(loss, models, constraint=f"{labels[0]} " * 9, engine=engine)


def test_sizes_of_the_explicit_engine_are_guarded():
    f1 = fsmeu.load("fscore")
    with pytest.raises(SizeLimitError, match="The default engine has no such limit"):
        fsmeu.decode_corpus(f1, [[0.5] * 9] * 2, engine="openfst")
    with pytest.raises(InputError, match="engine must be one of"):
        fsmeu.decode_corpus(f1, [[0.5]], engine="numpy")


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(DECIDED), st.sampled_from(sorted(listing.KINDS)), st.integers(100, 10**6))
def test_bounds_hold_wherever_the_search_stops(name, kind, seed):
    loss, meaning, models, listed = corpus(name, kind, seed)
    told = []
    found = fsmeu.decode_corpus(loss, models, gap=0.5, progress=lambda *news: told.append(news))
    check(found, loss, meaning, listed)
    assert told
    assert all(0 <= done <= 1 for done, _ in told)
    sides = [re.findall(r"-?[0-9.]+", note) for _, note in told]
    assert all(float(low) <= float(high) for low, high in sides)


@pytest.mark.parametrize(("name", "value"), [("MOST_TRIES", 1), ("EXACT_SUMS", 0)])
@pytest.mark.thirds
def test_totals_are_tried_for_as_long_as_it_takes(name, value, lowered):
    """The limit on tries is that of long sequences; where sums are not exact, a gap is told."""
    lowered(**{name: value})
    tried = []
    for seed in range(5):
        loss, meaning, models, listed = corpus("chunk_fscore", "field", seed + 40)
        found = fsmeu.decode_corpus(loss, models)
        check(found, loss, meaning, listed)
        assert found.exact or name == "EXACT_SUMS"
        tried.append(found.candidates)
    assert max(tried) > 1


def test_what_a_corpus_changes():
    """A doubtful label is worth more in a sentence of its own than in the corpus."""
    f1, models = fsmeu.load("fscore", empty=0), [[0.35], [0.9, 0.9, 0.9]]
    assert [one.labels for one in fsmeu.decode_many(f1, models)] == [[1], [1, 1, 1]]
    assert fsmeu.decode_corpus(f1, models).labels == [[0], [1, 1, 1]]
    none = fsmeu.decode_corpus(fsmeu.load("fscore"), [])
    assert (none.labels, none.value, none.exact) == ([], 1.0, True)


def test_models_of_any_structure():
    """Lists, restricted models and mixtures: each sentence is swept by itself."""
    rng = np.random.default_rng(8)
    tags = listing.TAGS
    loss, _, count, value = listing.loaded("chunk_fscore")
    one, of_one = listing.field(rng, 2, tags)
    formed = one.given(fsmeu.constraints.bio())
    kept = {y: p for y, p in of_one.items() if formed.probability(y) > 0}
    mass = sum(kept.values())
    three = {("B-X", "O"): listing.Fraction(1, 4), ("O", "B-X"): listing.Fraction(3, 4)}
    listed = [{y: p / mass for y, p in kept.items()}, three]
    few = fsmeu.models.NBest(list(three), [0.25, 0.75], labels=tags)
    check(fsmeu.decode_corpus(loss, [formed, few]), loss, (tags, count, value), listed)


def test_the_shelf():
    """Every loss of two labels, against ``evaluate_corpus`` of all pairs; most can be decided."""
    rng, lengths, decided = np.random.default_rng(4), [2, 1], 0
    whole = list(product(*(product([0, 1], repeat=n) for n in lengths)))
    both = [listing.markov(rng, n, [0, 1]) for n in lengths]
    models = [model for model, _ in both]
    chances = [float(both[0][1][one] * both[1][1][other]) for one, other in whole]
    for loss in (shelf.load(name) for name in fsmeu.library() if not shelf.case(name).labels[2:]):
        try:
            found = fsmeu.decode_corpus(loss, models)
        except InputError:
            continue
        values = np.array([[fsmeu.evaluate_corpus(loss, zs, ys) for ys in whole] for zs in whole])
        sign = 1 if loss.kind == "utility" else -1
        best = sign * (sign * (values @ chances)).max()
        assert found.exact, loss
        assert found.value == pytest.approx(best, rel=1e-12, abs=1e-15), loss
        assert found.lower - 1e-15 <= best <= found.upper + 1e-15, loss
        decided += 1
    assert decided >= 18


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 16), st.sampled_from("+-"), st.sampled_from(["independent", "markov"]),
       st.integers(0, 10**6))  # fmt: skip
def test_exact_where_terms_cancel(great, sign, kind, seed):
    """A great multiple of what is always 0 beside F1: it is no measure of a gap."""
    rng = np.random.default_rng(seed)
    kind_of_value, factor = ("utility", 1) if sign == "+" else ("loss", -1)
    loss = fsmeu.loads(
        f"{kind_of_value} cancels labels 0 1 count tp when z == 1 and y == 1 "
        "count fn when z == 0 and y == 1 count hyp when z == 1 count ref when y == 1 "
        f"value 10^{great} * (tp + fn - ref) {sign} 2 * tp / (hyp + ref) "
        f"or 0 {sign} 1 when hyp + ref == 0"
    )
    meaning = listing.of_labels, lambda totals, n: factor * listing.fbeta(totals, n)
    models, listed = zip(*listing.models(kind, rng, rng.integers(0, 4, 3), [0, 1]), strict=True)
    found = fsmeu.decode_corpus(loss, models)
    best = float(listing.best(listed, [0, 1], *meaning, greatest=sign == "+"))
    own = float(listing.expected([tuple(z) for z in found.labels], listed, *meaning))
    assert found.lower - 1e-15 <= best <= found.upper + 1e-15
    if great <= 3:
        assert found.exact
    if found.exact:
        assert own == pytest.approx(best, rel=1e-9, abs=1e-12)
        assert found.value == pytest.approx(best, rel=1e-8, abs=1e-12)


def test_too_many_scores_are_refused(lowered):
    lowered(CORPUS_SCORE_CELLS=3)
    with pytest.raises(SizeLimitError, match="scores of steps"):
        fsmeu.decode_corpus(fsmeu.load("hamming", labels=[0, 1]), [[0.5] * 4])


# -- large corpora by lanes, beside the search over windows of counts -----------------------------

WIDE = ["O", "B-X", "I-X", "B-Y", "I-Y"]


def sentences(seed, count, scale):
    """Models of short sentences, all drawn."""
    random = np.random.default_rng(seed)
    link = random.normal(size=(5, 5)) * scale
    for _ in range(count):
        unary = random.normal(size=(int(random.integers(1, 9)), 5)) * scale
        yield fsmeu.models.from_potentials(unary, link, labels=WIDE)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_as_by_windows(scale, lowered):
    """The same decision; the bounds of either hold the value of the other."""
    loss, models = fsmeu.load("chunk_fscore", empty=0), list(sentences(4, 150, scale))
    told = []
    found = fsmeu.decode_corpus(loss, models, progress=lambda *news: told.append(news), jobs=2)
    between = f"the best is between {found.lower:.6f} and {found.upper:.6f}"
    assert told == [(1.0, between)]
    value = fsmeu.expect_corpus(loss, found.labels, models)
    lowered(MOST_SCORES=0)
    wanted = fsmeu.decode_corpus(loss, models)
    assert found.exact
    assert found.labels == wanted.labels
    assert found.value == pytest.approx(wanted.value, rel=1e-11)
    assert found.lower <= wanted.upper
    assert wanted.lower <= found.upper
    assert found.gap < 1e-10
    assert found.value == pytest.approx(value.value, rel=1e-11)
    assert value.upper - value.lower < 1e-10


@pytest.mark.parametrize(("name", "count"), [("fscore", 10), ("fscore", 200), ("recall", 100)])
@pytest.mark.thirds
def test_rare_chunks_of_confident_taggers_are_proven(name, count, lowered):
    """Roundings are parts of the chunks that are expected, of which there are fewer than 0.01."""
    loss = fsmeu.load(f"chunk_{name}", types=["X", "Y"], empty=0)
    random = np.random.default_rng(count)
    models = []
    for _ in range(count):
        unary = random.normal(size=(int(random.integers(5, 20)), 5))
        unary[:, 0] += 13.0  # the score of O
        models.append(fsmeu.models.from_potentials(unary, random.normal(size=(5, 5)), loss.labels))
    found = fsmeu.decode_corpus(loss, models)
    assert found.exact
    assert found.upper - found.lower <= 1e-9 * found.value
    value = fsmeu.expect_corpus(loss, found.labels, models)
    assert value.lower <= found.upper
    assert found.lower <= value.upper
    lowered(MOST_SCORES=0)
    wanted = fsmeu.decode_corpus(loss, models)
    assert wanted.lower <= found.upper
    assert found.lower <= wanted.upper


@pytest.mark.parametrize(("name", "given"), [("fscore", {"beta": 2}), ("recall", {})])
@pytest.mark.thirds
def test_expectations_are_those_of_the_distribution(name, given):
    """For hypotheses that are far from the best; the denominator of recall may be 0."""
    loss, models = fsmeu.load(f"chunk_{name}", **given), list(sentences(9, 120, 2.0))
    zs = [["B-X", "O", "I-Y"] * (model.n // 3) + ["O"] * (model.n % 3) for model in models]
    found = fsmeu.expect_corpus(loss, zs, models)
    mean = found.levels.mean  # of all counts together
    assert found.value == pytest.approx(mean, rel=1e-11)
    assert found.lower - 1e-14 <= mean <= found.upper + 1e-14
    assert found.upper - found.lower < 1e-10
