"""Which method decides: by property, never by name; what options and bounds say of it."""

import numpy as np
import pytest

import fsmeu
from fsmeu.models import Bernoulli, Independent, Markov
from tests.decoding.listing import check, random_model, shelf_listing
from tests.label_models import PLAIN_KINDS, plain_model
from tests.strategies import listed
from tests.support.python_losses import Mistakes

P = [0.9, 0.5, 0.3, 0.2]
CHAIN = Markov([0.4, 0.6], [[0.7, 0.3], [0.2, 0.8]], n=4)
SHORT, LONG = (Markov([0.6, 0.4], [[0.85, 0.15], [0.3, 0.7]], n) for n in (24, 60))

COUNTS = "utility q labels 0 1 count a when z + y == 2 count b by z count c by y value "
RENAMED = [
    ("fscore", f"{COUNTS} 4 / 2 * a / (0.5 * (2 * b + c + c)) or 1 when (n == 0 or b + c == 0)"),
    ("hamming", "loss q labels 0 1 count ok when y == z value 1 - ok / n or 0 when n == 0"),
    ("g_tp_pr", f"{COUNTS} a / sqrt(b * c) or 1 when b + c == 0 or 0 when b * c == 0"),
    (
        "pk",
        "loss q labels 0 1 age a since z == 1 up to 2 age b since y == 1 up to 2 "
        "count wrong when i >= 2 and (a < 2) != (b < 2) value wrong / (n - 1) or 0 when n < 2",
    ),
]


@pytest.mark.parametrize(("name", "text"), RENAMED)
def test_the_name_does_not_matter(name, text):
    """The same algebra in other words is decided by the same method, with the same value."""
    for model in (Bernoulli(P), CHAIN):
        ours = fsmeu.decode(fsmeu.load(name, **({"k": 2} if name == "pk" else {})), model)
        theirs = fsmeu.decode(fsmeu.loads(text), model)
        assert (theirs.method, theirs.exact) == (ours.method, True)
        assert theirs.value == pytest.approx(ours.value, rel=1e-12, abs=1e-12)


def test_explain():
    """Method, property and proof, in words; of a corpus, too."""
    loss = fsmeu.load("fscore")
    told = fsmeu.explain(fsmeu.decode(loss, P))
    assert told.startswith("Decided by ratios: labels are independent")
    assert told.endswith("under this model, no allowed sequence has a better expected value.")
    told = fsmeu.explain(fsmeu.decode(loss, P, method="marginal"))
    assert told.endswith("This is not proven to be best.")
    corpus = fsmeu.explain(fsmeu.decode_corpus("fscore", [P, [0.2]]))
    assert "these models, no allowed hypotheses" in corpus


@pytest.mark.parametrize("method", ["auto", "marginal", "nbest", "search", "exhaustive"])
@pytest.mark.parametrize("name", ["fscore", "jaccard", "hamming"])
def test_bounds_and_regret(name, method):
    """The best value lies between bounds; what a hypothesis gives away, between those of that."""
    rng = np.random.default_rng(len(name))
    listing = shelf_listing(name, 4)
    for _ in range(3):
        case = random_model(rng, (0, 1), 4)
        decision = fsmeu.decode(listing.loss, case.model, method=method)
        check(listing, case, decision)
        assert decision.gap == decision.upper - decision.lower
        assert decision.gap <= 1e-8 or not decision.exact
        worths = listing.worths(case.distribution)
        for z, worth in list(zip(listing.sequences, worths, strict=True))[::5]:
            found = fsmeu.regret(listing.loss, z, case.model, method=method)
            known = worths.max() - worth
            assert float(found) == pytest.approx(listing.sign * decision.value - worth, abs=1e-12)
            assert found.lower <= known + 1e-12
            assert known <= found.upper + 1e-12


# -- options ---------------------------------------------------------------------------------------


def test_keep_is_never_proven():
    """Kept states rank candidates; the value told is exact, bounds are those of the file."""
    rng = np.random.default_rng(3)
    loss = fsmeu.load("fscore")
    case = listed(plain_model(rng, "bernoulli", (0, 1), 4))
    for method, keep in (("ranking", 1), ("ranking", 8), ("exhaustive", 1), ("auto", 3)):
        decision = fsmeu.decode(loss, case.model, method=method, keep=keep)
        check(shelf_listing("fscore", 4), case, decision)
        assert (decision.exact, decision.lower, decision.upper) == (False, 0.0, 1.0)
    whole = fsmeu.decode(loss, case.model, method="ranking", keep=10_000)
    assert whole.value == pytest.approx(fsmeu.decode(loss, case.model).value, rel=1e-12)


def test_a_limit_that_prevents_a_proof_is_named(lowered):
    """With what a caller of ``decode`` can do about it."""
    chain = Markov([0.7, 0.3], [[0.8, 0.2], [0.4, 0.6]], 40)
    lowered(MOST_STATES=300)
    why = fsmeu.decode("mcc", chain, budget=50).why
    assert "counting was too large (a machine may have at most 300 states" in why
    assert "FSMEU_MAX_STATES" in why


BUDGETS = {
    "search": ("jaccard", SHORT, {"budget": 300}),
    "counting": ("kappa", LONG, {"method": "counting", "budget": 2}),
    "ranking": ("mcc", [0.3, 0.6, 0.2, 0.5], {"method": "ranking", "budget": 2}),
    "openfst, counting": ("fscore", SHORT, {"engine": "openfst", "budget": 50}),
}


@pytest.mark.parametrize("case", BUDGETS)
def test_a_greater_budget_finds_no_worse(case, lowered):
    """What is spent is told, and nothing is claimed; the answer is the same again."""
    name, model, options = BUDGETS[case]
    lowered(SUMS_PER_CANDIDATE=1 << 15)
    few, again = (fsmeu.decode(fsmeu.load(name), model, **options) for _ in range(2))
    assert (few.labels, few.value, few.candidates) == (again.labels, again.value, again.candidates)
    assert not few.exact
    assert f"the budget of {options['budget']:,} candidates was spent" in few.why
    assert few.value == pytest.approx(fsmeu.expect(name, few.labels, model).value, rel=1e-9)
    budget = 2_000 if case == "search" else 65_536
    more = fsmeu.decode(fsmeu.load(name), model, **{**options, "budget": budget})
    assert more.value >= few.value - 1e-12
    assert more.exact == (case != "search")


OPTIONS = (
    {},
    {"constraint": "0* 1? 0*"},
    {"method": "marginal"},
    {"keep": 2},
    {"engine": "openfst"},
    {"jobs": 2},
    {"k": 2, "jobs": 2},
)


@pytest.mark.parametrize("name", ["fscore", "zero_one", "g_mean"])
def test_many_are_each(name):
    """The same decisions as one at a time, in the same order, whatever the models and options."""
    rng, told = np.random.default_rng(21), []
    kinds = ("bernoulli", "bernoulli", *PLAIN_KINDS)
    models = [plain_model(rng, kind, (0, 1), n).build() for kind in kinds for n in (3, 0)]
    assert fsmeu.decode_many(name, []) == []
    for options in OPTIONS if name == "fscore" else ({},):
        some = models[::2] if options else models
        found = fsmeu.decode_many(name, some, progress=lambda x, _: told.append(x), **options)
        alone = {key: x for key, x in options.items() if key != "jobs"}
        each = [fsmeu.decode(name, model, **alone) for model in some]
        assert [repr(d) for d in found] == [repr(d) for d in each]
        if "k" not in options:
            assert [(d.why, d.candidates) for d in found] == [(d.why, d.candidates) for d in each]
        assert told[-1] == 1


def test_labels_in_either_order():
    """The same decision, whether ones are the first label or the second; ones may be rare."""
    p = np.random.default_rng(1).beta(0.3, 3, size=1200)
    rows = np.stack([1.0 - p, p], axis=1)
    for name in ("fscore", "jaccard", "balanced_accuracy"):
        loss = fsmeu.load(name)
        plain = fsmeu.decode(loss, Independent(rows, [0, 1]))
        turned = fsmeu.decode(loss, Independent(rows[:, ::-1].copy(), [1, 0]))
        assert (turned.labels, turned.method, turned.exact) == (plain.labels, plain.method, True)
        assert turned.value == pytest.approx(plain.value, rel=1e-12)
    rows = [[1 - 1e-100, 1e-100]] * 2  # next to impossible
    found = fsmeu.decode("fscore", Markov(rows[0], rows, n=1_500))
    assert (found.value, set(found.labels)) == (1.0, {0})


def test_a_loss_written_in_python():
    """No algebra is known of it: listed while that is cheap, searched beyond."""
    loss = fsmeu.function_loss(Mistakes(), labels=(0, 1), kind="loss")
    decision = fsmeu.decode(loss, [0.2, 0.6, 0.9])
    assert (decision.labels, decision.exact) == ([0, 1, 1], True)
    far = fsmeu.decode(loss, [0.2] * 18)
    assert (far.labels, far.exact) == ([0] * 18, False)
