"""The methods of the explicit engine, held against enumeration, and at lengths beyond it."""

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.choice import METHODS
from fsmeu.decoding.explicit import EXPLICIT, searched_machine
from fsmeu.decoding.problem import RefusalError
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.fst.image import table_from_fst
from tests.brute_force import sequences
from tests.decoding.listing import make_listing
from tests.label_models import plain_model

HITS = "labels 0 1 count tp when z == 1 and y == 1"
COUNTS = "count hyp when z == 1 count ref when y == 1"
TEXTS = {
    "negative utility": f"utility f {HITS} {COUNTS} value tp / (1 + hyp + ref) - 3",
    "both signs": f"utility f {HITS} {COUNTS} value tp - 0.7 * hyp + 0.1 * ref * hyp",
    "negative loss": "loss f labels 0 1 count c by if z == y then -2 else 1 / i value c",
    "slopes of both signs": f"utility f {HITS} {COUNTS} value tp * (ref - 1.5) + 0.2 * hyp",
    "counts by halves": f"utility f {HITS} count hyp by 0.5 * z count ref when y == 1 "
    "value tp / (1 + hyp + ref)",
    "negative equality": "loss f labels 0 1 count d when z != y value if d == 0 then -5 else -1",
    "ranked, negative": f"utility f {HITS} {COUNTS} value sqrt(tp) - hyp * ref / 9 - 2",
    "joint and remembered": "utility f labels 0 1 2 memory m of z last 1 "
    "count c by 1 + (old m[0] != z) when z == y count d when z == 2 and y != 0 value c - 3 * d",
}
NAMED = {
    "fscore": {},
    "hamming": {},
    "zero_one": {},
    "jaccard": {},
    "pk": {"k": 2},
    "windowdiff": {"k": 2},
    "chunk_fscore": {"types": ["X"]},
}
LOSSES = {name: lambda text=text: fsmeu.loads(text) for name, text in TEXTS.items()}
LOSSES |= {
    name: lambda name=name, more=more: fsmeu.load(name, **more) for name, more in NAMED.items()
}
MODELS = {
    "order 0": ("independent", {}),
    "order 1": ("markov", {"order": 1}),
    "order 2": ("markov", {"order": 2}),
    "hmm": ("hmm", {}),
    "nbest": ("nbest", {}),
    "mixture": ("mixture", {}),
}
APPLIES = {
    "additive": {"hamming", "pk", "windowdiff", "negative loss", "joint and remembered"},
    "viterbi": {"zero_one", "negative equality"},
    "ranking": {"fscore", "jaccard", "negative utility", "ranked, negative"},
}


def length(loss):
    return {2: 5, 3: 4}[len(loss.labels)]


@pytest.mark.thirds
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", LOSSES)
def test_every_method_against_enumeration(name, kind, rounds):
    """Without a constraint, with one, and where the default engine's condition does not hold."""
    loss = LOSSES[name]()
    n = length(loss)
    listing = make_listing(loss, loss.labels, n)
    family, more = MODELS[kind]
    if kind == "order 0" and tuple(loss.labels) == (0, 1):
        family = "bernoulli"  # P(0) is 1 - P(1) to the last digit, as ranking needs
    applied = set()
    for seed in rounds(2, 1):
        rng = np.random.default_rng([seed, len(name), len(kind)])
        spec = plain_model(rng, family, tuple(loss.labels), n, **more)
        model, of_y = spec.build(), spec.listed()
        worths = listing.worths(of_y)
        first, last = loss.labels[0], loss.labels[-1]
        kept = [z[0] == first or z[-1] == last for z in listing.sequences]
        constraint = f'"{first}" .* | .* "{last}"'
        for text, allowed in ((None, np.ones(len(kept), bool)), (constraint, np.array(kept))):
            for method in EXPLICIT:
                options = {"method": method, "constraint": text}
                try:
                    made = fsmeu.decode(loss, model, engine="openfst", **options)
                except RefusalError:
                    with pytest.raises(RefusalError, match="decode by"):
                        fsmeu.decode(loss, model, **options)
                    continue
                applied.add(method)
                row = listing.sequences.index(tuple(made.labels))
                assert allowed[row]
                assert made.exact
                assert made.method == method
                size = float(np.abs(listing.table).max())
                assert listing.sign * made.value == pytest.approx(worths[row], abs=1e-12 * size)
                assert worths[row] >= worths[allowed].max() - 1e-11 * size
    expected = {"exhaustive"} | {method for method, names in APPLIES.items() if name in names}
    if kind != "order 0":
        expected -= {"ranking"}
    assert expected <= applied


def test_conditions_and_order_are_those_of_the_default_engine():
    assert all(EXPLICIT[name].condition is METHODS[name].condition for name in EXPLICIT)
    theirs = [name for name in METHODS if name in EXPLICIT]
    assert list(EXPLICIT) == theirs


TAGS = {"types": ["NP", "VP"]}
LONG = {
    "fscore": {},
    "jaccard": {},
    "hamming": {},
    "zero_one": {},
    "pk": {"k": 4},
    "windowdiff": {"k": 4},
    "chunk_fscore": TAGS,
}


@pytest.mark.thirds
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", LONG)
def test_as_the_default_engine_at_length_40(name, order):
    loss = fsmeu.load(name, **LONG[name])
    rng = np.random.default_rng(order)
    kind, more = ("markov", {"order": order}) if order else ("independent", {})
    if not order and tuple(loss.labels) == (0, 1):
        kind = "bernoulli"
    model = plain_model(rng, kind, tuple(loss.labels), 40, **more).build()
    if name == "jaccard" and order:
        with pytest.raises(
            SizeLimitError, match=r"not 2\^40 .*The default engine has no such limit"
        ):
            fsmeu.decode(loss, model, engine="openfst")
        return
    ours = fsmeu.decode(loss, model, engine="openfst", seconds=None)
    default = fsmeu.decode(loss, model, seconds=None)
    assert ours.exact
    assert default.exact
    assert ours.value == pytest.approx(default.value, rel=2e-9, abs=1e-15)
    again = fsmeu.expect(loss, ours.labels, model).value
    assert ours.value == pytest.approx(again, rel=1e-10, abs=1e-15)


def test_ties_are_proven():
    """Every sequence with as many ones is as good: more than are listed, and singles hide it."""
    for p in ([0.3] * 40, [0.5] * 40):
        made = fsmeu.decode("fscore", p, engine="openfst")
        assert made.exact
        assert made.value == pytest.approx(fsmeu.decode("fscore", p).value, rel=1e-12)


def test_nothing_possible_is_allowed():
    """Then any allowed sequence is the most probable one."""
    model = fsmeu.models.NBest([[0, 0, 0]])
    made = fsmeu.decode("zero_one", model, engine="openfst", method="viterbi", constraint="1 . .")
    assert made.exact
    assert made.labels[0] == 1
    assert made.value == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["counting", "ranking"])
def test_time_that_is_over(method):
    late = fsmeu.decode("fscore", [0.4] * 12, engine="openfst", method=method, seconds=1e-9)
    assert not late.exact
    assert "seconds were over" in late.why
    assert late.value == pytest.approx(fsmeu.expect("fscore", late.labels, [0.4] * 12).value)


def test_sizes_are_refused_before_they_are_built(monkeypatch):
    loss = fsmeu.load("chunk_fscore", **TAGS)
    model = fsmeu.models.Independent(np.full((30, 5), 0.2), loss.labels)
    monkeypatch.setenv("FSMEU_MAX_STATES", "2000")
    with pytest.raises(SizeLimitError, match=r"FSMEU_MAX_STATES.*default engine has no such limit"):
        fsmeu.decode(loss, model, engine="openfst", method="counting")


def test_what_the_engine_has_not():
    with pytest.raises(InputError, match="has the methods additive, counting, viterbi, ranking"):
        fsmeu.decode("fscore", [0.5], engine="openfst", method="search")
    with pytest.raises(InputError, match="keeps every state"):
        fsmeu.decode_many("fscore", [[0.5]], engine="openfst", keep=2)


@pytest.mark.nightly
@pytest.mark.parametrize("jobs", [1, 2])
def test_many(jobs):
    rng = np.random.default_rng(0)
    models = [rng.random(n) for n in (3, 8, 20)]
    made = fsmeu.decode_many("fscore", models, engine="openfst", jobs=jobs)
    assert [d.method for d in made] == ["counting"] * 3
    assert [d.labels for d in made] == [d.labels for d in fsmeu.decode_many("fscore", models)]


@pytest.mark.parametrize("method", ["additive", "counting", "viterbi", "ranking"])
def test_machine_that_was_searched(method):
    """It accepts the decision; its weights are what other ways lose, by enumeration."""
    loss, p = {"additive": "hamming", "viterbi": "zero_one"}.get(method, "fscore"), [0.3, 0.6, 0.45]
    made = fsmeu.decode(loss, p, engine="openfst", method=method)
    table = table_from_fst(searched_machine(loss, p, made)[1])
    for z in sequences((0, 1), 3):
        state, lost = table.start, 0.0
        for label in z:
            arc = np.flatnonzero((table.source == state) & (table.ilabel == label + 1))
            if not len(arc):
                break
            state, lost = int(table.target[arc[0]]), lost + float(table.weight[arc[0]])
        else:
            if method in ("additive", "counting"):
                worse = abs(fsmeu.expect(loss, z, p).value - made.value)
                assert lost == pytest.approx(worse, abs=1e-12)
            continue
        assert list(z) != made.labels
