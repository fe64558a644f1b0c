"""``model.given``: P(y | y is allowed), against the list of all sequences."""

import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fsmeu
from fsmeu.errors import EmptyError, InputError
from fsmeu.fst.image import fst_from_table
from fsmeu.models import Acceptor, Independent, Markov, Potentials, from_logits
from tests.fst.machines import table
from tests.label_models import PLAIN_KINDS
from tests.strategies import cases


def check(found, distribution, allowed):
    """Compares a model with a listed distribution on a condition."""
    whole = sum(p for y, p in distribution.items() if allowed(y))
    for y, p in distribution.items():
        np.testing.assert_allclose(found.probability(y), p / whole * allowed(y), 1e-11, 1e-15)
    assert found.total_mass() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("kind", PLAIN_KINDS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_every_model_under_regular_expressions(kind, data):
    case = data.draw(cases([kind], most=4))
    one, two = (f'"{label}"' for label in case.model.labels[:2])
    letters = {label: "abcd"[k] for k, label in enumerate(case.model.labels)}
    ours, theirs = data.draw(
        st.sampled_from(
            [
                (f"(. .)* {one}?", "(..)*a?"),
                (f"[^ {one}]* {one}* [^ {two}]*", "[^a]*a*[^b]*"),
                (f"!(.* {two}) & !(.* {one} {one} .*)", "(?!.*aa)(|.*[^b])"),
            ]
        )
    )

    def allowed(y):
        return re.fullmatch(theirs, "".join(letters[x] for x in y)) is not None

    if not any(p > 0 and allowed(y) for y, p in case.distribution.items()):
        with pytest.raises(EmptyError):
            case.model.given(ours)
        return
    check(case.model.given(ours), case.distribution, allowed)


@pytest.mark.parametrize(
    ("make", "tags", "pattern"),
    [
        ("iob1", "I-x O B-x B-y I-y", "(O|I-x(I-x|B-x)*|I-y(I-y|B-y)*)*"),
        ("bio", "I-x O B-x B-y I-y", "(O|B-x(I-x)*|B-y(I-y)*)*"),
        ("iobes", "O S-x B-x I-x E-x E-y B-y", "(O|S-x|S-y|B-x(I-x)*E-x|B-y(I-y)*E-y)*"),
    ],
)
def test_tags_of_a_scheme(make, tags, pattern):
    def right(y):
        return re.fullmatch(pattern, "".join(y)) is not None

    make, tags = getattr(fsmeu.constraints, make), tuple(tags.split())
    random = np.random.default_rng(3)
    model = from_logits(random.normal(size=(3, len(tags))), tags)
    listed = {y: model.probability(y) for y in product(tags, repeat=3)}
    check(model.given(make()), listed, right)
    only = model.given(make(["x"]))
    check(only, listed, lambda y: right(y) and not any(tag[1:] == "-y" for tag in y))
    decided = fsmeu.decode(fsmeu.load("hamming"), model, constraint=make())
    assert right(decided.labels)


def test_chains_stay_chains_where_neighbours_are_restricted():
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(3), 5)
    labels = ("O", "B-x", "I-x")
    chain = Markov(rows[0], rows[1:4], 5, labels)
    field = Potentials(random.normal(size=(5, 3)), random.normal(size=(3, 3)), labels)
    for model in (Independent(rows, labels), chain, field):
        found = model.given(fsmeu.constraints.bio())
        assert found.structure == ("chain", 3, 1)
    assert isinstance(field.given("(. .)* O"), Acceptor)


def test_an_acceptor_and_conditions_one_after_the_other():
    random = np.random.default_rng(1)
    model = Independent(random.dirichlet(np.ones(2), 4), ("a", "b"))
    arcs = [(0, 1, 1, 0, 1), (1, 2, 2, 0, 0), (1, 1, 1, 0, 1)]
    machine = fst_from_table(table(0, arcs, [0, np.inf]))
    listed = {y: model.probability(y) for y in product("ab", repeat=4)}
    both = model.given(machine).given(". a . .")
    check(both, listed, lambda y: y[1] == "a" and bool(re.fullmatch("(a+b)*", "".join(y))))


@pytest.mark.parametrize("constraint", [fsmeu.load("fscore"), 3, b"0*", ["01"]])
def test_what_is_no_constraint_is_refused(constraint):
    """A loss has a method ``over`` as constraints have one."""
    loss, model = "hamming", fsmeu.models.Bernoulli([0.2, 0.7])
    for ask in (
        lambda: model.given(constraint),
        lambda: fsmeu.decode(loss, model, constraint=constraint),
        lambda: fsmeu.decode_many(loss, [model], constraint=constraint),
    ):
        with pytest.raises(InputError, match="a constraint must be a regular expression"):
            ask()
