"""JSON in and out: exact round trips, files by hand, and what is said about bad ones."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsmeu.errors import FsmeuError, InputError
from fsmeu.models import Acceptor, Bernoulli, Markov, Mixture, NBest, Potentials, from_json
from tests.label_models import PLAIN_KINDS
from tests.strategies import cases


@pytest.mark.parametrize("kind", PLAIN_KINDS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_round_trip_is_exact(kind, data):
    case = data.draw(cases([kind]))
    plain = case.model.to_json()
    text = json.dumps(plain, allow_nan=False)
    again = from_json(text)
    assert type(again) is type(case.model)
    assert again.to_json() == plain
    assert (again.labels, again.n) == (case.model.labels, case.model.n)
    assert from_json(plain).to_json() == plain
    ours, theirs = case.model.layered(), again.layered()
    assert ours.widths == theirs.widths
    for one, two in zip(ours.layers, theirs.layers, strict=True):
        for name in ("source", "label", "target", "weight"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


def test_machines_with_several_paths_for_a_sequence():
    """They are not taken for deterministic ones: the best sequence is that of the sum."""
    weights, chances = [0.4, 0.35, 0.25], [(0.6, 0.6), (0.9, 0.1), (0.1, 0.9)]
    mixed = Mixture([Bernoulli(p) for p in chances], weights)
    again = from_json(Acceptor(mixed.layered()).to_json())
    [(best, chance)] = again.most_probable()
    assert best == [1, 0]  # 0.4 * 0.24 + 0.35 * 0.81 + 0.25 * 0.01, and [1, 1] has 0.198
    assert chance == pytest.approx(0.382, rel=1e-12)


def test_files_and_shorthand(tmp_path):
    path = tmp_path / "model.json"
    path.write_text('{"probs": [0.25, 1]}')
    for source in (path, str(path), '{"probs": [0.25, 1]}', {"model": "bernoulli", "p": [0.25, 1]}):
        model = from_json(source)
        assert isinstance(model, Bernoulli)
        assert model.p.tolist() == [0.25, 1.0]
    tables = {"initial": [0.5, 0.5], "transition": [[1, 0], [0, 1]]}
    hidden = {"emission": [[0.9, 0.1], [0.2, 0.8]], "observations": [0, 0]}
    model = from_json({"model": "hmm", **tables, **hidden})
    assert isinstance(model, Potentials)
    assert model.probability([0, 0]) == pytest.approx(0.81 / 0.85, rel=1e-14)
    weighed = {"sequences": ["ab", "bb"], "weights": [0, 0], "log": True}
    listed = from_json({"model": "nbest", **weighed})
    chain = from_json({"model": "markov", **tables, "n": 4})
    assert isinstance(listed, NBest)
    assert listed.probability("ab") == 0.5
    assert from_json({"model": "nbest", "sequences": ["ab", "bb"]}).probability("bb") == 0.5
    assert isinstance(chain, Markov)
    assert chain.n == 4


LAYER = {"width": 1, "source": [0], "label": [0], "target": [0], "weight": [1.0]}


def acceptor(**changes):
    layer = {**LAYER, **changes}
    return {"model": "acceptor", "labels": [0, 1], "start": [1], "layers": [layer], "final": [1]}


MALFORMED = [
    ("{", ["JSON", "line 1"]),
    ("{'probs': [1]}", ["JSON", "line 1"]),
    ('{"probs": [NaN]}', ["finite", "NaN"]),
    ('{"probs": [1e999]}', ["Bernoulli p", "inf"]),
    ('{"probs": [' + "9" * 5000 + "]}", ["model JSON"]),
    ('{"probs": [0.5, "0.5"]}', ["Bernoulli p", "number"]),
    ('{"probs": [0.5, null]}', ["Bernoulli p", "number"]),
    ('{"probs": [[0.5], 0.5]}', ["Bernoulli p", "rectangular"]),
    ('{"probs": {"a": 1}}', ["Bernoulli p"]),
    ("{}", ["'model'", "bernoulli"]),
    ('{"model": 3}', ["'model'"]),
    ('{"model": "markow"}', ["'model'", "'markov'"]),
    ('{"model": "markov", "initial": [1, 0]}', ["markov", "'transition'"]),
    ('{"model": "bernoulli", "q": [1]}', ["'q'"]),
    ('{"model": "independent", "probabilities": [[1, 0]], "labels": 3}', ["labels"]),
    ('{"model": "independent", "probabilities": [[1, 0]], "labels": ["a", "a"]}', ["'a'"]),
    (
        '{"model": "markov", "initial": [1], "transition": [[1]], "n": 1.5}',
        ["Markov: the length n", "1.5"],
    ),
    (
        '{"model": "markov", "initial": [1], "transition": [[1]], "n": true}',
        ["Markov: the length n"],
    ),
    (
        '{"model": "markov", "initial": [1], "transition": [[1]], "n": 1e400}',
        ["Markov: the length n"],
    ),
    ('{"model": "potentials", "unary": [["x"]], "pairwise": [[0]]}', ["unary"]),
    ('{"model": "nbest", "sequences": ["01"], "weights": [1], "log": 1}', ["log"]),
    ('{"model": "nbest", "sequences": [[{}]], "weights": [1]}', ["label"]),
    ('{"model": "mixture", "models": 1, "weights": [1]}', ["models"]),
    ('{"model": "mixture", "models": [{"probs": [2]}], "weights": [1]}', ["models[0]", "2.0"]),
    (json.dumps(acceptor(source=[1])), ["layers[0] source", "from 0 to 0"]),
    (json.dumps(acceptor(label=[2])), ["layers[0] label"]),
    (json.dumps(acceptor(target=[-1])), ["layers[0] target"]),
    (json.dumps(acceptor(target=[0.5])), ["layers[0] target"]),
    (json.dumps(acceptor(weight=[-1])), ["layers[0] weight"]),
    (json.dumps(acceptor(weight=[1, 1])), ["same length"]),
    (json.dumps(acceptor(weight=[0])), ["positive weight"]),
    (json.dumps(acceptor(width=10**15)), ["width", "FSMEU_MAX_ARCS"]),
    (json.dumps(acceptor(width=2)), ["final", "2 weights"]),
    (json.dumps(acceptor(more=2)), ["layers[0]", "keys"]),
]


@pytest.mark.parametrize(("text", "fragments"), MALFORMED, ids=[t[:60] for t, _ in MALFORMED])
def test_malformed(text, fragments):
    with pytest.raises(FsmeuError) as caught:
        from_json(text)
    message = str(caught.value)
    assert message.startswith("model JSON: ")
    assert "\n" not in message
    assert len(message) < 600
    for fragment in fragments:
        assert fragment in message


def test_files_that_cannot_be_read(tmp_path):
    for source in (tmp_path / "no.json", str(tmp_path), "no such file", "\0"):
        with pytest.raises(InputError, match="model file"):
            from_json(source)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"model file .*binary"):
        from_json(binary)
    with pytest.raises(InputError, match="must be an object"):
        from_json([0.5])


@pytest.mark.parametrize("depth", [10, 200, 100_000])
def test_deep_nesting_is_refused(depth):
    text = '{"model": "mixture", "weights": [1], "models": [' * depth
    with pytest.raises(InputError, match="nested"):
        from_json(text + "]}" * depth)
