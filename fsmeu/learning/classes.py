"""Classes and labels: which label of a loss a class stands for, and which class is positive.

A label is its name: 1, True, 1.0 and "1" are one. Every estimator takes from ``over_classes`` a
loss whose k-th label stands for the k-th class, so that indices of classes are indices of labels,
and from ``positive_class`` which of two classes is the positive one.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsmeu.arrays import Bools, Floats
from fsmeu.errors import Argument, InputError, shorten, wording
from fsmeu.expectation.query import bind_labels
from fsmeu.fst.alphabet import Alphabet, Label, plain_label
from fsmeu.losses.protocol import Loss


def plain(label: Any) -> Any:
    """A label as JSON and people write it: whole numbers without a point."""
    value = label.item() if isinstance(label, np.generic) else label
    return int(value) if isinstance(value, float) and value.is_integer() else value


def label_name(value: Any) -> Label:
    """The name of a class as a label: an int for whole numbers and truth values, else a text."""
    label = plain_label(value)
    return label if isinstance(label, int | str) else str(label)


def is_named(label: Any, given: str | float) -> bool:
    """Whether the label is meant: by its name, as Python writes it, or by a number as a text."""
    if str(label_name(label)) == str(label_name(given)) or str(label) == given:
        return True
    try:
        return isinstance(label, int | float) and label == float(given)
    except ValueError:
        return False


def index_of_class(where: str, classes: Sequence[Any] | NDArray[Any], pos_label: Any) -> int:
    """The index of a class: the same value, or the name of it, or a number in a text."""
    values = [plain(value) for value in classes]
    given = plain(pos_label)
    if isinstance(given, str | int | float):
        for k, value in enumerate(values):
            if is_named(value, given):
                return k
    names = ", ".join(shorten(repr(value)) for value in values)
    must = wording(Argument("pos_label"), f" must be one of the classes {names}")
    raise InputError(where, must, given=repr(pos_label))


def check_classes(where: str, labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raises an InputError where a label is none of the classes."""
    strange = sorted(set(labels.ravel().tolist()) - set(classes.tolist()), key=str)
    if strange:
        must = f"labels must be {' or '.join(str(plain(label)) for label in classes)}"
        raise InputError(where, must, given=plain(strange[0]))


def column_of_class(where: str, fitted: Any, classes: NDArray[Any], positive: int) -> int:
    """The column of ``predict_proba`` of a fitted estimator that is one of two classes.

    Columns are those of its own ``classes_``: an estimator that was fitted before keeps them.

    Args:
        where: the caller, in messages.
        fitted: an estimator of these classes, in any order.
        classes: both classes, (2,).
        positive: the index of the class.

    Raises:
        InputError: the estimator has no ``classes_``, or has other classes.
    """
    given = getattr(fitted, "classes_", None)
    columns = [str(label_name(value)) for value in (() if given is None else given)]
    names = [str(label_name(value)) for value in classes]
    if sorted(columns) == sorted(names):
        return columns.index(names[positive])
    both = " and ".join(repr(plain(value)) for value in classes)
    must = f"the estimator must be one of the classes {both}, which its classes_ names"
    got = "no classes_" if given is None else ", ".join(repr(plain(value)) for value in given)
    remedy = "Give labels as it was fitted to, or an estimator that is fitted here"
    raise InputError(where, must, given=got, remedy=remedy)


def check_positive(index: Any, where: str, allowed: tuple[int | None, ...]) -> None:
    """Raises an InputError unless the index of the positive class is one of those allowed."""
    if type(index) not in (int, type(None)) or index not in allowed:
        must = f"positive_ must be one of {', '.join(map(str, allowed))}"
        raise InputError(where, must, given=index)


def over_classes(
    loss: Loss, classes: Iterable[Any], where: str, positive: int | None = None
) -> Loss:
    """The loss whose k-th label stands for the k-th class.

    A class is the label of its name, where all classes have one. Else, of two classes, the positive
    one, by its index, or the last, is the positive label: the one named 1, else the only one that
    the loss counts, else the second. Labels 0 and 1 are no names where it is said which class is
    positive. Where the labels are other names, a class that has one is that label, and the other
    class is the label that is left. Labels that are open become the names of the classes.
    """
    names = [label_name(value) for value in classes]
    if not getattr(loss, "labels_open", False):
        label_of = {str(label): label for label in loss.alphabet.labels}
        names = [label_of.get(str(name), name) for name in names]
        if len(names) == len(label_of) == 2:
            names = match_binary_labels(names, loss, positive)
    return bind_labels(loss, Alphabet(tuple(names)), where)


def match_binary_labels(names: list[Label], loss: Loss, positive: int | None) -> list[Label]:
    """The labels of two classes, from the names of the classes."""
    labels = loss.alphabet.labels
    matching = [k for k, name in enumerate(names) if name in labels]
    if not has_names(loss):
        if len(matching) == 2 and positive is None:
            return names
        place = loss.alphabet.index["1"]
    elif len(matching) == 2:
        return names
    elif matching:
        (known,) = matching
        return [names[k] if k == known else other_of(labels, names[known]) for k in (0, 1)]
    else:
        counted = counted_label(loss)
        place = 1 if counted is None else labels.index(counted)
    two = [labels[1 - place], labels[place]]
    return two[::-1] if positive == 0 else two


def has_names(loss: Loss) -> bool:
    """Whether the labels of the loss are names of its own, neither open nor 0 and 1."""
    names = {str(label) for label in loss.alphabet.labels}
    return not getattr(loss, "labels_open", False) and names != {"0", "1"}


def other_of(both: Sequence[Any], one: Any) -> Any:
    """The other one of two."""
    return both[0] if both[1] == one else both[1]


def counted_label(loss: Loss) -> Label | None:
    """The only one of two labels that the loss counts: "1" if there is one, None if both count."""
    labels = loss.alphabet.labels
    index = loss.alphabet.index
    if "1" in index:
        return labels[index["1"]]
    form = getattr(loss, "confusion", None)
    tables = [] if form is None else [np.diag(table) for table in form.amounts.values()]
    counts = np.any(tables, axis=0).tolist() if tables else []
    return labels[counts.index(True)] if counts in ([True, False], [False, True]) else None


_USUAL = {frozenset(("0", "1")): "1", frozenset(("-1", "1")): "1"}
_USUAL |= {frozenset(("False", "True")): "True"}  # of texts; truth values are 0 and 1


def positive_class(
    where: str,
    classes: Sequence[Any] | NDArray[Any],
    greater: Bools,
    pos_label: Any = None,
    weights: Floats | None = None,
    loss: Loss | None = None,
) -> int:
    """The index of the positive one of two classes, sorted, by one rule for all estimators.

    ``greater`` says whether an example is of the second, (examples,). The positive class is the
    one that ``pos_label`` names; else the one that a loss over labels of these names counts; else 1
    of 0 and 1 or of -1 and 1, and True of False and True; else the one that is rarer among the
    examples, by their weights and then by their number, of equally frequent ones the greater, and a
    warning says so.

    Raises:
        InputError: ``pos_label`` is none of the classes, or not the one that the loss counts.
    """
    names = [str(label_name(value)) for value in classes]
    counted = _counted_class(loss, names)
    if pos_label is not None:
        index = index_of_class(where, classes, pos_label)
        if counted not in (None, index):
            assert loss is not None
            assert counted is not None
            counts = f"{loss.name} counts {plain(classes[counted])!r}, so that "
            must = wording(counts, Argument("pos_label"), " must be that")
            raise InputError(where, must, given=pos_label)
        return index
    if counted is not None:
        return counted
    usual = _USUAL.get(frozenset(names))
    if usual is not None:
        return names.index(usual)
    index, how = _rarer(greater, weights)
    both = [repr(plain(value)) for value in classes]
    taken, other = (Argument("pos_label", both[k]) for k in (index, 1 - index))
    text = f"{where}: {how}, {both[index]}, is taken as the positive one. Give "
    warnings.warn(
        wording(text, taken, ", or ", other, " for the other."), UserWarning, stacklevel=4
    )
    return index


def _counted_class(loss: Loss | None, names: Sequence[str]) -> int | None:
    """The index of the class that a loss over labels of such names counts, or None."""
    if loss is None or not has_names(loss) or (counted := counted_label(loss)) is None:
        return None
    labels = [str(label) for label in loss.alphabet.labels]
    if str(counted) in names:
        return names.index(str(counted))
    other = other_of(labels, str(counted))
    return 1 - names.index(other) if other in names else None


def _rarer(greater: Bools, weights: Floats | None) -> tuple[int, str]:
    """The index of the rarer class, of equally frequent ones 1, and what is said of it."""
    present = np.ones(len(greater)) if weights is None else np.asarray(weights, np.float64)
    for amounts in (present, present > 0):
        first = float(amounts[~greater].sum())
        last = float(amounts[greater].sum())
        if not math.isclose(first, last, rel_tol=1e-9):
            return int(last < first), "the rarer class"
    return 1, "the greater of two equally frequent classes"


def positive_tag(
    where: str, classes: Sequence[Any], tags: Iterable[Any], pos_label: Any, loss: Loss
) -> int | None:
    """The index of the positive one of two tags of sequences; None where the loss needs none.

    It needs one where it is over two labels and the tags are not these; the rule is that of
    ``positive_class``. An InputError where ``pos_label`` is given for other than two tags.
    """
    labels = [] if getattr(loss, "labels_open", False) else loss.alphabet.labels
    names = {str(label_name(value)) for value in classes}
    if pos_label is None and (len(labels) != 2 or names == {str(label) for label in labels}):
        return None
    if len(classes) == 2:
        greater = np.array([tag == classes[1] for tag in tags], bool)
        return positive_class(where, classes, greater, pos_label, loss=loss)
    if pos_label is None:
        return None  # which the loss refuses by itself
    must = wording(Argument("pos_label"), " may be given where tags are of two classes")
    raise InputError(where, must, given=f"{len(classes)} classes", remedy="Leave it out")
