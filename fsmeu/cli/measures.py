"""How good predictions are: a few measures for a table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsmeu.errors import FsmeuError, InputError, sentence

__all__ = ["guarded", "measures", "plain", "refusals"]

_T = TypeVar("_T")


def measures(model: Any, labels: NDArray[Any], predicted: NDArray[Any]) -> dict[str, float]:
    """Accuracy, precision, recall and F1 of the positive class, and the mean value of the loss.

    With several labels for each example, precision, recall and F1 are means over examples.

    Raises:
        InputError: the labels are not of the model's classes.
    """
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    if labels.shape != predicted.shape:
        must = f"the model gives labels of shape {predicted.shape}"
        raise InputError(sentence("labels", must, f"shape {labels.shape}"))
    strange = sorted(set(labels.ravel().tolist()) - set(model.classes_.tolist()), key=str)
    if strange:
        must = f"labels must be {' or '.join(str(plain(c)) for c in model.classes_)}"
        raise InputError(sentence("labels", must, plain(strange[0])))
    positive, chosen = labels == model.classes_[1], predicted == model.classes_[1]
    average = "binary" if labels.ndim == 1 else "samples"
    three = precision_recall_fscore_support(positive, chosen, average=average, zero_division=0)
    found = {"accuracy": float(accuracy_score(positive, chosen))}
    found |= dict(zip(("precision", "recall", "F1"), map(float, three[:3]), strict=True))
    loss: Any = getattr(model, "loss_", None)
    if loss is not None and hasattr(loss, "pair_values"):
        zs, ys = (np.atleast_2d(part).astype(np.int64) for part in (chosen, positive))
        found[loss.name] = float(loss.pair_values(zs, ys).mean())
    return found


def plain(label: Any) -> Any:
    """A label as JSON and people write it: whole numbers without a point."""
    value = label.item() if isinstance(label, np.generic) else label
    return int(value) if isinstance(value, float) and value.is_integer() else value


def guarded(where: str, work: Callable[[], _T], doing: str) -> _T:
    """What the work returns, with a bar on stderr if that is a terminal.

    Raises:
        InputError: an estimator refuses what it is given; its warnings are told on stderr.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)
    with refusals(where), bar:
        bar.add_task(doing, total=None)
        return work()


@contextmanager
def refusals(where: str) -> Iterator[None]:
    """A context in which what an estimator refuses becomes an InputError.

    Its warnings are told on stderr.

    Raises:
        InputError: an estimator refuses what it is given.
    """
    from fsmeu.cli.output import note

    with _noted(note):
        try:
            yield
        except FsmeuError:
            raise
        except (ValueError, TypeError) as error:
            raise InputError(sentence(where, str(error).strip().partition("\n")[0])) from error


@contextmanager
def _noted(note: Callable[[str], None]) -> Iterator[None]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", UserWarning)
        yield
    for one in dict.fromkeys(str(warning.message).partition("\n")[0] for warning in seen):
        note(f"warning: {one}")
