"""The explicit engine: as the default one where that has its conditions, and where it ends."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import SizeLimitError
from tests.decoding.listing import COUNTS, ask, make_listing
from tests.label_models import plain_model

EXPLICIT = ("additive", "counting", "viterbi", "ranking", "exhaustive")
TEXTS = {
    "both signs": f"utility f {COUNTS} value tp - 0.7 * hyp + 0.1 * ref * hyp",
    "negative loss": "loss f labels 0 1 count c by if z == y then -2 else 1 / i value c",
    "slopes of both signs": f"utility f {COUNTS} value tp * (ref - 1.5) + 0.2 * hyp",
    "negative equality": "loss f labels 0 1 count d when z != y value if d == 0 then -5 else -1",
    "ranked, negative": f"utility f {COUNTS} value sqrt(tp) - hyp * ref / 9 - 2",
    "joint and remembered": "utility f labels 0 1 2 memory m of z last 1 "
    "count c by 1 + (old m[0] != z) when z == y count d when z == 2 and y != 0 value c - 3 * d",
}
APPLIES = {
    "additive": {"negative loss", "joint and remembered"},
    "viterbi": {"negative equality"},
    "ranking": {"ranked, negative"},
    "counting": {"both signs", "slopes of both signs"},
}


@pytest.mark.parametrize("name", TEXTS)
def test_every_method_against_enumeration(name):
    """Without a constraint, with one, and where the default engine's condition does not hold."""
    loss = fsmeu.loads(TEXTS[name])
    listing = make_listing(loss, loss.labels, 4)
    first, last = loss.labels[0], loss.labels[-1]
    kept = np.array([z[0] == first or z[-1] == last for z in listing.sequences])
    applied = {"exhaustive"}
    for kind in ("bernoulli" if len(loss.labels) == 2 else "independent", "markov", "nbest"):
        spec = plain_model(np.random.default_rng(len(name)), kind, tuple(loss.labels), 4)
        worths = listing.worths(spec.listed())
        for text, allowed in ((None, kept | True), (f'"{first}" .* | .* "{last}"', kept)):
            for method in EXPLICIT:
                options = {"method": method, "constraint": text}
                made = ask(loss, spec.build(), engine="openfst", **options)
                other = ask(loss, spec.build(), **options)
                assert (made is None) == (other is None)
                if made is None:
                    continue
                applied.add(method)
                row = listing.sequences.index(tuple(made.labels))
                assert allowed[row]
                assert (made.exact, made.method) == (True, method)
                size = float(np.abs(listing.table).max())
                assert listing.sign * made.value == pytest.approx(worths[row], abs=1e-12 * size)
                assert worths[row] >= worths[allowed].max() - 1e-11 * size
    assert applied >= {"exhaustive"} | {method for method in APPLIES if name in APPLIES[method]}


LONG = {"fscore": {}, "zero_one": {}, "windowdiff": {"k": 4}, "chunk_fscore": {"types": ["X"]}}


@pytest.mark.parametrize("order", [0, 2])
@pytest.mark.parametrize("name", LONG)
def test_as_the_default_engine_at_length_30(name, order):
    loss = fsmeu.load(name, **LONG[name])
    rng = np.random.default_rng(order)
    kind, more = ("markov", {"order": order}) if order else ("independent", {})
    model = plain_model(rng, kind, tuple(loss.labels), 30, **more).build()
    ours, default = (fsmeu.decode(loss, model, engine=engine) for engine in ("openfst", "auto"))
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
    assert (made.exact, made.labels[0], made.value) == (True, 1, pytest.approx(1.0))


def test_sizes_are_refused_before_they_are_built(monkeypatch):
    loss = fsmeu.load("chunk_fscore", types=["NP", "VP"])
    model = fsmeu.models.Independent(np.full((30, 5), 0.2), loss.labels)
    monkeypatch.setenv("FSMEU_MAX_STATES", "2000")
    with pytest.raises(SizeLimitError, match=r"FSMEU_MAX_STATES.*default engine has no such limit"):
        fsmeu.decode(loss, model, engine="openfst", method="counting")
