"""Which method decides: by property, never by name; refusals say what does not hold."""

import numpy as np
import pytest

import fsmeu
from fsmeu.decoding.choice import METHODS
from fsmeu.decoding.problem import RefusalError
from fsmeu.errors import FsmeuError
from fsmeu.models import Bernoulli, Independent, Markov
from tests import brute_force
from tests.decoding.listing import check, make_listing
from tests.strategies import ModelCase
from tests.support.python_losses import Mistakes

P = [0.9, 0.5, 0.3, 0.2]
CHAIN = Markov(np.array([0.4, 0.6]), np.array([[0.7, 0.3], [0.2, 0.8]]), n=4)

COUNTS = "utility q labels 0 1 count a when z + y == 2 count b by z count c by y value "
RENAMED = [
    ("fscore", f"{COUNTS} 2 * a / (b + c) or 1 when b + c == 0"),
    ("fscore", f"{COUNTS} if not c + b == 0 then (a + a) / (c + b) else 1"),
    ("fscore", f"{COUNTS} 4 / 2 * a / (0.5 * (2 * b + c + c)) or 1 when (n == 0 or b + c == 0)"),
    ("hamming", "loss q labels 0 1 count ok when y == z value 1 - ok / n or 0 when n == 0"),
    ("zero_one", "loss q labels 0 1 flag off when z != y value off"),
    ("g_tp_pr", f"{COUNTS} a / sqrt(b * c) or 1 when b + c == 0 or 0 when b * c == 0"),
    (
        "pk",
        "loss q labels 0 1 age a since z == 1 up to 2 age b since y == 1 up to 2 "
        "count wrong when i >= 2 and (a < 2) != (b < 2) value wrong / (n - 1) or 0 when n < 2",
    ),
    (
        "jaccard",
        "utility q labels 0 1 count both by z * y count any by max(z, y) "
        "value both / any or 1 when any == 0",
    ),
]


@pytest.mark.parametrize(("name", "text"), RENAMED)
@pytest.mark.parametrize("model", [Bernoulli(P), CHAIN], ids=["independent", "chain"])
def test_the_name_does_not_matter(name, text, model):
    """The same algebra in other words is decided by the same method, with the same value."""
    ours = fsmeu.decode(fsmeu.load(name, **({"k": 2} if name == "pk" else {})), model)
    theirs = fsmeu.decode(fsmeu.loads(text), model)
    assert (theirs.method, theirs.exact) == (ours.method, True)
    assert theirs.value == pytest.approx(ours.value, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "model", "method"),
    [
        ("fscore", Bernoulli(P), "ratios"),
        ("fscore", Independent(np.array([[0.1, 0.9], [0.5, 0.5]])), "ratios"),
        ("fscore", CHAIN, "counting"),
        ("hamming", CHAIN, "additive"),
        ("zero_one", CHAIN, "viterbi"),
        ("g_mean", Bernoulli(P), "ranking"),
        ("g_mean", CHAIN, "exhaustive"),
        ("jaccard", Bernoulli(P), "ratios"),
        ("jaccard", CHAIN, "exhaustive"),
    ],
)
def test_auto_takes_the_first_that_fits(name, model, method):
    decision = fsmeu.decode(fsmeu.load(name), model)
    assert (decision.method, decision.exact) == (method, True)


def test_auto_searches_where_nothing_is_proven():
    long = Markov(np.array([0.4, 0.6]), np.array([[0.7, 0.3], [0.2, 0.8]]), n=20)
    decision = fsmeu.decode(fsmeu.load("jaccard"), long)
    assert (decision.method, decision.exact) == ("search", False)


WORSE = "utility odd labels 0 1 count tp by z * y count hyp by z value hyp - tp * tp"
TWO = (
    "utility two labels 0 1 count tp by z * y count hyp by z count odd when z == 1 and i % 2 == 1 "
    "value tp * hyp * odd"
)

LONG = Markov([0.5, 0.5], np.full((2, 2), 0.5), n=400)

REFUSALS = [
    ("chain_ratios", "fscore", P, {}, "a chain of two labels"),
    (
        "chain_ratios",
        "fscore",
        Markov([0.5, 0.5], np.zeros((0, 2, 2))),
        {},
        "a chain of two labels",
    ),
    ("chain_ratios", "pk", CHAIN, {}, "(tp, hyp, ref, n)"),
    ("chain_ratios", "jaccard", LONG, {}, "one ratio of counts"),
    ("chain_ratios", "mcc", LONG, {}, "a sum of ratios of counts"),
    ("chain_ratios", "fscore", LONG, {"constraint": "0* 1 0*"}, "no constraint"),
    ("ratios", "fscore", CHAIN, {}, "labels must be independent"),
    ("ratios", "g_mean", P, {}, "sum of ratios of counts"),
    ("ratios", f"{COUNTS} (a * 0.1 + 1e15 - 1e15) / (b + c + n)", P, {}, "sum of ratios"),
    ("ratios", WORSE, P, {}, "sum of ratios of counts"),
    ("ratios", f"{COUNTS} (b - a) / (b + c + 1)", P, {}, "more true positives must never"),
    ("ratios", "pk", P, {}, "(tp, hyp, ref, n)"),
    ("ratios", "fscore", P, {"constraint": "0* 1 0*"}, "no constraint"),
    ("ratios", "fscore", P, {"keep": 3}, "keep"),
    ("lanes", "fscore", CHAIN, {}, "chain_ratios has closer bounds"),
    ("lanes", "hamming", LONG, {}, "ratio of one joint count"),
    ("lanes", "kappa", LONG, {}, "over a sum of counts"),
    ("ranking", "fscore", CHAIN, {}, "labels must be independent"),
    ("ranking", WORSE, P, {}, "more true positives must never make it worse; with n=4"),
    ("ranking", "fscore", P, {"constraint": ". . . ."}, "no constraint"),
    ("additive", "fscore", P, {}, "sum over positions"),
    ("counting", "jaccard", P, {}, "counted"),
    ("counting", TWO, P, {}, "one count of z"),
    ("viterbi", "hamming", P, {}, "whether the sequences are equal"),
    ("marginal", "hamming", P, {"constraint": "0 0 0 0"}, "satisfy the constraint"),
    ("exhaustive", "fscore", P, {"budget": 15}, "at most 15 sequences, not 2^4"),
    ("nbest", "fscore", [1.0, 1.0], {"constraint": "0 0", "budget": 1}, "satisfy the constraint"),
]


@pytest.mark.parametrize(("method", "loss", "model", "options", "says"), REFUSALS)
def test_refusals(method, loss, model, options, says):
    """A method whose condition does not hold says which."""
    given = {"k": 2} if loss == "pk" else {}
    made = fsmeu.loads(loss) if " " in loss else fsmeu.load(loss, **given)
    with pytest.raises(RefusalError) as caught:
        fsmeu.decode(made, model, method=method, **options)
    assert f"decode by {method}: " in str(caught.value)
    assert says in str(caught.value)


def test_every_method_but_the_search_can_refuse():
    assert {method for method, *_ in REFUSALS} == set(METHODS) - {"search"}


def test_faults_of_a_file_are_not_swallowed():
    """A loss that cannot be valued is an error, not a reason to try something else."""
    broken = fsmeu.loads("loss f labels 0 1 count bad when z != y value 1 / bad")
    with pytest.raises(FsmeuError, match="zero"):
        fsmeu.decode(broken, P)


def test_explain():
    """Method, property and proof, in words."""
    loss = fsmeu.load("fscore")
    told = fsmeu.explain(fsmeu.decode(loss, P))
    assert told.startswith("Decided by ratios: labels are independent")
    assert "5 candidates" in told
    assert told.endswith("under this model, no allowed sequence has a better expected value.")
    told = fsmeu.explain(fsmeu.decode(loss, CHAIN))
    assert "linear in tp" in told
    told = fsmeu.explain(fsmeu.decode(loss, P, method="marginal"))
    assert told.endswith("This is not proven to be best.")
    told = fsmeu.explain(fsmeu.decode(fsmeu.load("hamming"), CHAIN))
    assert "sum over positions" in told


def test_keep_is_never_proven(rounds):
    """Kept states rank candidates; the value told is exact all the same."""
    rng = np.random.default_rng(3)
    loss = fsmeu.load("fscore")
    for _ in rounds(15):
        n = int(rng.integers(1, 7))
        p = rng.random(n)
        listing = make_listing(loss, (0, 1), n)
        case = ModelCase(Bernoulli(p), brute_force.bernoulli(p))
        for method, keep in (("ranking", 1), ("ranking", 2 * n), ("exhaustive", 1), ("auto", 3)):
            decision = fsmeu.decode(loss, p, method=method, keep=keep)
            assert not decision.exact
            check(listing, case, decision)
        whole = fsmeu.decode(loss, p, method="ranking", keep=10_000)
        best = fsmeu.decode(loss, p)
        assert whole.value == pytest.approx(best.value, rel=1e-12)


def test_a_loss_written_in_python():
    """No algebra is known of it: listed while that is cheap, searched beyond."""
    loss = fsmeu.function_loss(Mistakes(), labels=(0, 1), kind="loss")
    decision = fsmeu.decode(loss, [0.2, 0.6, 0.9])
    assert (decision.labels, decision.method, decision.exact) == ([0, 1, 1], "exhaustive", True)
    far = fsmeu.decode(loss, [0.2] * 18)
    assert (far.labels, far.exact) == ([0] * 18, False)


def test_labels_in_either_order():
    """The same decision, as fast: the ratio is looked for in both orders of the labels."""
    p = np.random.default_rng(1).beta(0.3, 3, size=1200)
    rows = np.stack([1.0 - p, p], axis=1)
    for name in ("fscore", "jaccard", "balanced_accuracy"):
        loss = fsmeu.load(name)
        plain = fsmeu.decode(loss, Independent(rows, [0, 1]))
        turned = fsmeu.decode(loss, Independent(rows[:, ::-1].copy(), [1, 0]))
        assert turned.labels == plain.labels
        assert turned.value == pytest.approx(plain.value, rel=1e-12)
        assert turned.exact
        assert turned.method == plain.method


def test_ratios_of_the_first_label_one_by_one_and_together():
    """What counts label 0 is ranked by its probability."""
    loss = fsmeu.loads("""utility f labels 0 1 count tn when z == 0 and y == 0
count no when z == 0 count neg when y == 0 value 2 * tn / (no + neg) or 1 when no + neg == 0""")
    rows = np.random.default_rng(2).beta(1, 1, size=(4, 6))
    together = fsmeu.decode_many(loss, list(rows))
    for p, many in zip(rows, together, strict=True):
        alone = fsmeu.decode(loss, p)
        assert (alone.labels, alone.method) == (many.labels, "ratios")
        assert many.method == "ratios"
        mirror = fsmeu.decode(fsmeu.load("fscore"), 1.0 - p)
        assert alone.labels == [1 - label for label in mirror.labels]
        assert alone.value == pytest.approx(mirror.value, rel=1e-12)
        assert many.value == pytest.approx(mirror.value, rel=1e-12)


def test_ones_next_to_impossible():
    """An expectation of 1e-97 ones is served; one of none is refused."""
    loss, (rare, none) = fsmeu.load("fscore"), ([[1 - p, p]] * 2 for p in (1e-100, 0.0))
    assert fsmeu.decode(loss, Markov(rare[0], rare, n=1_500), method="chain_ratios").value == 1.0
    with pytest.raises(RefusalError, match="a chance to be a one"):
        fsmeu.decode(loss, Markov(none[0], none, n=1_500), method="chain_ratios")
