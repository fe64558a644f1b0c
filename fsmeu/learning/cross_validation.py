"""``cross_val_models``: label models of sequences by taggers that were trained without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from fsmeu.arrays import Ints
from fsmeu.errors import InputError
from fsmeu.fst.alphabet import Alphabet, listed
from fsmeu.models import Model, ModelLike, as_model
from fsmeu.models.derived import extended

_WHERE = "cross_val_models"


def cross_val_models(
    tagger: Any,
    X: Any,
    y: Any,
    *,
    model: Callable[[Any, Any], ModelLike] | None = None,
    cv: Any = 5,
    groups: Any = None,
) -> list[Model]:
    """The label model of each sequence, by a copy of the tagger that was trained without it.

    It is to models what scikit-learn's ``cross_val_predict`` is to predictions. With them,
    ``calibrate(cross_val_models(tagger, X, y), y)`` needs no held-out set. All models have the
    labels of all folds; one that a fold did not see has probability zero there.

    Args:
        tagger: what has ``fit(X, y)``. Copies are fitted, itself stays as it is.
        X: sequences as the tagger takes them.
        y: their labels.
        model: called with a fitted tagger and a sequence of X, gives the label model, as
            ``fsmeu.models.from_crfsuite`` does; the tagger's own ``models(X)`` if left out.
        cv: the number of folds, which are runs of neighbouring sequences, so that sentences of one
            text stay together; or a splitter or an iterable of splits as in scikit-learn.
        groups: for a splitter that keeps groups together, that of each sequence.
    """
    if isinstance(tagger, type) or not hasattr(tagger, "fit"):
        raise InputError(_WHERE, "the tagger must have fit(X, y)", given=tagger)
    if model is None and not hasattr(tagger, "models"):
        must = "the tagger must have models(X), or model= must be a function of tagger and sequence"
        remedy = "For sklearn-crfsuite: model=fsmeu.models.from_crfsuite"
        raise InputError(_WHERE, must, given=type(tagger).__name__, remedy=remedy)
    if model is not None and not callable(model):
        raise InputError(_WHERE, "model must be a function of tagger and sequence", given=model)
    inputs = listed(X, _WHERE, "X must be a list of sequences", rows=True)
    labels = listed(y, _WHERE, "y must be a list of label sequences", rows=True)
    if len(inputs) != len(labels):
        must = "X and y must have as many sequences"
        raise InputError(_WHERE, must, given=f"{len(inputs)} and {len(labels)}")
    models: dict[int, Model] = {}
    for train, test in _splits(inputs, cv, groups):
        fitted = clone(tagger, safe=False)
        fitted.fit([inputs[k] for k in train], [labels[k] for k in train])
        held_out = [inputs[k] for k in test]
        found = [model(fitted, x) for x in held_out] if model else list(fitted.models(held_out))
        if len(found) != len(held_out):
            must = "models(X) must give one model for each sequence"
            raise InputError(_WHERE, must, given=f"{len(found)} for {len(held_out)}")
        models.update(zip(test.tolist(), map(as_model, found), strict=True))
    return _over_all_labels([models[k] for k in range(len(inputs))])


def _splits(inputs: list[Any], cv: Any, groups: Any) -> list[tuple[Ints, Ints]]:
    """Indices for training and of what is held out, by fold; each index is held out once."""
    try:
        found = list(check_cv(cv).split(inputs, groups=groups))
        splits = [(np.arange(len(inputs))[a], np.arange(len(inputs))[b]) for a, b in found]
    except (ValueError, TypeError, IndexError) as error:
        must = "cv must split the sequences into folds, as in scikit-learn"
        raise InputError(_WHERE, must, given=str(error)) from error
    held_out = np.sort([k for _, test in splits for k in test.tolist()])
    if not np.array_equal(held_out, np.arange(len(inputs))):
        must = "cv must hold out each sequence once, as KFold does"
        raise InputError(_WHERE, must, given=f"{len(held_out)} of {len(inputs)}")
    for train, test in splits:
        if np.intersect1d(train, test).size:
            must = "cv must not train on what is held out"
            raise InputError(_WHERE, must, given=int(np.intersect1d(train, test)[0]))
    return splits


def _over_all_labels(models: list[Model]) -> list[Model]:
    """The models, each over its own labels and then those that others have."""
    labels = dict.fromkeys(label for model in models for label in model.labels)
    return [
        extended(
            model,
            Alphabet((*model.labels, *(x for x in labels if x not in model.alphabet.index))),
        )
        for model in models
    ]
