"""Estimators come back from files as they were, and other files end in a sentence."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsmeu.errors import InputError
from fsmeu.learning.base import BinaryClassifier
from fsmeu.learning.saving import load, register, save


@register
class Remembers(BinaryClassifier):
    """Keeps what it is given."""

    def __init__(self, rate=0.5, names=None):
        self.rate, self.names = rate, names


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.tuples(inner, inner)
    | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@given(VALUES, VALUES)
def test_values_come_back(tmp_path_factory, parameter, learned):
    made = Remembers(names=parameter)
    made.found_, made.classes_ = learned, np.array(["a", "b"])
    made.table_ = np.arange(6.0).reshape(2, 3)
    path = tmp_path_factory.mktemp("saved") / "one.npz"
    save(made, path)
    again = load(path)
    assert type(again) is Remembers
    assert again.get_params() == made.get_params()
    assert again.found_ == learned
    assert again.classes_.tolist() == ["a", "b"]
    assert np.array_equal(again.table_, made.table_)


def test_classes_of_mixed_kinds_come_back(tmp_path):
    made = Remembers()
    made.classes_ = np.array(["no", "yes"], object)
    save(made, tmp_path / "one.npz")
    assert load(tmp_path / "one.npz").classes_.tolist() == ["no", "yes"]


def test_what_cannot_be_saved_is_told(tmp_path):
    made = Remembers(names=lambda: None)
    with pytest.raises(InputError, match=r"save, parameters\.names"):
        save(made, tmp_path / "one.npz")
    with pytest.raises(InputError, match="must be one of"):
        save(object(), tmp_path / "one.npz")


class Harm:
    """What a pickle could run."""

    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))


def test_files_of_strangers(tmp_path):
    """No pickle is read, no other class is made, no method is overwritten."""
    path = tmp_path / "one.npz"
    header = {"format": "fsmeu estimator 1", "class": "Remembers", "parameters": {}, "learned": {}}
    strange = [
        {**header, "class": "Popen"},
        {**header, "format": "2"},
        {**header, "learned": {"predict": 1}},
        {**header, "learned": {"__class__": 1}},
        {**header, "parameters": {"unknown": 1}},
        {**header, "parameters": {"rate": {"array": "absent"}}},
        {**header, "parameters": {"rate": {"call": "x"}}},
        [],
        {},
    ]
    for one in strange:
        np.savez(path, header=np.array(json.dumps(one)))
        with pytest.raises(InputError):
            load(path)
    np.savez(path, header=np.array([Harm()], object))
    with pytest.raises(InputError):
        load(path)
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(InputError):
        load(path)
    path.write_bytes(b"")
    with pytest.raises(InputError):
        load(path)
