"""Training with the costs of explicit compositions: the same as with tables of the algebra."""

import numpy as np
import pytest

import fsmeu
from fsmeu.errors import InputError, SizeLimitError
from fsmeu.expectation.expect import ENGINES
from fsmeu.learning.saving import load, save
from fsmeu.searn import CostOracles, Searn
from fsmeu.searn import search as searches
from fsmeu.searn.column_tagger import ColumnTagger
from tests.searn.stubs import ROWS, TAGS, PlainTagging, few

X = [[{"w": word} for word, _ in row] for row in ROWS]
PAIRS = [[(tag[0], tag) for tag in line] for line in TAGS]
BITS = [[int(tag[0] == "B") for tag in line] for line in TAGS]
CASES = [
    ("left-to-right", "hamming", TAGS, {}),
    ("left-to-right", "fscore", BITS, {}),
    ("left-to-right", "pk", BITS, {"loss_params": {"k": 2}}),
    ("left-to-right", "mcc", BITS, {"costs": "sampled"}),
    ("right-to-left", "hamming", TAGS, {}),
    ("word-at-a-time", "chunk_fscore", TAGS, {}),
    ("word-at-a-time", "chunk_fscore", TAGS, {"costs": "expected"}),
    ("chunk-at-a-time", "chunk_fscore", TAGS, {"ties": "all"}),
    ("alternating", ("hamming", "chunk_fscore"), PAIRS, {}),
]


def trained(space, loss, y, monkeypatch, **given):
    """An estimator, and the decisions that it was trained on in each iteration."""
    seen, plain = [], searches.roll_in

    def roll_in(*words):
        found = plain(*words)
        seen.append(found[0])
        return found

    monkeypatch.setattr("fsmeu.searn.searn.roll_in", roll_in)
    made = Searn(loss, space=space, iterations=3, folds=2, bits=12, random_state=0, **given)
    return made.fit(X, y), seen


@pytest.mark.thirds
@pytest.mark.parametrize("learner", ["perceptron-argmin", "logistic"])
@pytest.mark.parametrize(("space", "loss", "y", "given"), CASES)
def test_both_engines_train_the_same_model(space, loss, y, given, learner, monkeypatch):
    """Bit for bit where a learner sees which actions are best; up to rounding where it sees costs.

    The costs are equal up to rounding, in every decision of every iteration.
    """
    made = {}
    for engine in ENGINES:
        words = {"engine": engine, "learner": learner, **given}
        made[engine] = trained(space, loss, y, monkeypatch, **words)
    (default, seen), (explicit, others) = made["auto"], made["openfst"]
    assert len(seen) == len(others) == 3
    assert any((one.costs[np.isfinite(one.costs)] > 0.05).any() for one in seen)
    for one, other in zip(seen, others, strict=True):
        np.testing.assert_allclose(one.costs, other.costs, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(one.targets, other.targets)
    np.testing.assert_array_equal(default.weights_, explicit.weights_)
    assert default.predict(X) == explicit.predict(X)
    rows = seen[-1].rows
    for one, other in zip(default.models_, explicit.models_, strict=True):
        if learner == "perceptron-argmin":
            np.testing.assert_array_equal(one.scores(rows), other.scores(rows))
        else:
            np.testing.assert_allclose(one.scores(rows), other.scores(rows), rtol=0, atol=1e-6)


def test_the_engine_is_the_one_that_is_asked_for(monkeypatch):
    asked = []
    plain = CostOracles.__init__

    def init(self, *words, **given):
        asked.append(given["engine"])
        plain(self, *words, **given)

    monkeypatch.setattr(CostOracles, "__init__", init)
    for engine in ENGINES:
        few("word-at-a-time").set_params(engine=engine).fit(X, TAGS)
    assert asked == [*ENGINES]


def test_a_file_keeps_the_engine(tmp_path):
    made = few("word-at-a-time").set_params(engine="openfst").fit(X, TAGS)
    save(made, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    assert again.engine == "openfst"
    assert again.predict(X) == made.predict(X)


def test_columns_are_tagged_by_either_engine():
    found = {}
    for engine in ENGINES:
        searn = few("word-at-a-time").set_params(engine=engine)
        found[engine] = ColumnTagger(searn=searn, bits=14).fit(ROWS, TAGS).predict(ROWS)
    assert found["auto"] == found["openfst"]


# -- what is refused -------------------------------------------------------------------------------


def test_too_many_positions_are_refused_before_anything_is_built(monkeypatch):
    monkeypatch.setenv("FSMEU_MAX_STATES", "100")

    def built(*words, **given):
        raise AssertionError

    monkeypatch.setattr("fsmeu.searn.oracle.cost_oracle.compose_layers", built)
    y = [[int(k == t) for t in range(12)] for k in range(10)]
    with pytest.raises(SizeLimitError, match=r"FSMEU_MAX_STATES.*leave the engine openfst out"):
        CostOracles("fscore", y, engine="openfst")


def test_too_many_states_of_all_references_are_refused(monkeypatch):
    """Each composition is within the limit; what would come after the limit is not built."""
    y = [[1] * k + [0] * (6 - k) for k in range(7)]
    y += [[0] * k + [1] * (6 - k) for k in range(1, 6)]
    monkeypatch.setenv("FSMEU_MAX_STATES", "320")
    for line in y:
        CostOracles("fscore", [line], engine="openfst")
    made, plain = [], fsmeu.searn.oracle.cost_oracle.compose_layers

    def composed(*words):
        made.append(plain(*words))
        return made[-1]

    monkeypatch.setattr("fsmeu.searn.oracle.cost_oracle.compose_layers", composed)
    with pytest.raises(SizeLimitError, match="FSMEU_MAX_STATES"):
        Searn("fscore", engine="openfst").fit([[{"a": 1}] * 6] * len(y), y)
    assert 1 < len(made) < len(y)
    assert sum(one.states for one in made[:-1]) <= 320
    CostOracles("fscore", y[:1] * 6, engine="openfst")  # equal references have one composition


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"engine": "dense"}, "engine must be one of"),
        ({"engine": 3}, "engine must be one of"),
        ({"engine": "openfst", "space": PlainTagging(("a", "b"))}, "its own costs"),
    ],
)
def test_other_engines_are_refused(given, says):
    with pytest.raises(InputError, match=says):
        Searn(**given).fit([[{"w": "1"}]], [["a"]])
