"""Estimators in files of skops: an archive of arrays and of JSON that says what they belong to.

A file may hold estimators of this package, those of scikit-learn, and what skops trusts by itself
(containers, numbers, texts, arrays, ufuncs of numpy); it is refused where it names anything else,
before anything of it is made. Reading a file runs no code that it brings: losses are in it as the
text of their files. What skops does not do is done here:

- Sizes are summed before anything is unpacked, and every array must be as large as it says.
- Parts of a file are never shared (skops writes each in full and names it by its address), so that
  equal estimators have equal bytes, and a small file cannot grow by naming one part many times.
- scikit-learn follows the nodes of trees without looking where they lead, and skops therefore
  trusts no trees; here they are checked, and may be in a file. Estimators of this package check
  that their arrays fit together, and are tried on a few examples.

A file can be read with skops alone, ``skops.io.load``, if the classes of this package are trusted.
Compiled code of scikit-learn that is not checked here trusts its arrays: kernels of support vector
machines. A file that was made for it may end the process, or have it read and write memory that is
not its own. Load such models from those whom you trust. To import skops takes a second, when a file
is first used.
"""

from __future__ import annotations

import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.tree._tree import Tree

from fsmeu.arrays import Bools, Ints
from fsmeu.errors import FsmeuError, InputError, as_whole, shorten
from fsmeu.files import (
    array_bytes,
    holds_texts,
    input_limit,
    open_input,
    readable,
    refuse_size,
    write_file,
)
from fsmeu.losses.language.read import read
from fsmeu.losses.loss import SpecLoss, loads

Kind = TypeVar("Kind", bound=type)

_CLASSES: dict[str, Any] = {}


def register(kind: Kind) -> Kind:
    """The class itself, after making it known to ``load``; a class decorator."""
    _CLASSES[kind.__name__] = kind
    return kind


def estimators() -> dict[str, Any]:
    """The registered classes of this package by name, in alphabetical order."""
    ours = {n: kind for n, kind in _CLASSES.items() if kind.__module__.startswith("fsmeu.")}
    return dict(sorted(ours.items()))


_SCHEMA = "schema.json"  # the member of an archive in which skops says what arrays belong to
_NODE_BYTES = 16  # bytes of memory for each byte of it
_FORMAT = b"fsmeu estimator 2"  # the comment of the archive
_OLD_HEADER = "header.npy"  # a member of archives that earlier versions wrote
_KINDS = "biufUSV"  # numpy's letters of the types that arrays may have
_MOST_TRIED = 1 << 20  # features of rows that are predicted to see that a model works: 8 MB a row
_TRIED = (0.0, 1.0, 100.0)  # the features of such rows
_PLAIN = (str, int, float, bool, type(None))
_AGAIN = "Train the model again and save it, or get the file again"
_TREES = (
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)
_WITHIN = (
    *(f"sklearn.calibration.{name}" for name in ("_CalibratedClassifier", "_SigmoidCalibration")),
    "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
    *(f"sklearn.gaussian_process.kernels.{name}" for name in ("ConstantKernel", "Product", "RBF")),
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.model_selection._split.StratifiedKFold",
    "sklearn.utils._bunch.Bunch",
)
"""Types that estimators of scikit-learn hold, all Python, which skops does not trust by itself."""


def _trusted() -> list[str]:
    """The names of the types that a file may hold, beside those that skops trusts by itself."""
    ours = (*_CLASSES.values(), LossSource, PlainList)
    return [*(f"{kind.__module__}.{kind.__name__}" for kind in ours), *_TREES, *_WITHIN]


# -- writing --------------------------------------------------------------------------------------


def save(estimator: Any, path: str | PathLike[str]) -> None:
    """Writes an estimator of this package to a file; an InputError where it cannot be saved."""
    import skops.io

    if _CLASSES.get(type(estimator).__name__) is not type(estimator):
        must = f"an estimator must be one of {', '.join(sorted(_CLASSES))}"
        raise InputError("save", must, given=estimator)
    must = "an estimator must hold nothing but what can be read again"
    try:
        content = skops.io.dumps(_copy_to_save(estimator))
        untrusted = {*skops.io.get_untrusted_types(data=content)} - {*_trusted()}
    except FsmeuError:
        raise
    except Exception as error:  # whatever parts raise that cannot be taken apart
        raise InputError("save", f"{must} ({shorten(str(error))})") from error
    if untrusted:
        remedy = "Use another estimator, or settings of it that need no such part"
        raise InputError("save", must, given=", ".join(sorted(untrusted)), remedy=remedy)
    write_file(path, _reproducible(content))


class LossSource:
    """What stands for a loss in a file: its text, labels and parameters, which make it again."""

    def __new__(cls, *arguments: Any) -> Any:
        """The loss."""
        text, labels, params = arguments
        return loads(text, labels=labels, **params)

    @classmethod
    def of(cls, *arguments: Any) -> LossSource:
        """The source itself, of a text, labels or None, and parameters by name."""
        source = object.__new__(cls)
        source.arguments = arguments
        return source

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.arguments

    arguments: tuple[Any, ...]


class PlainList:
    """What stands for a list of numbers and texts in a file: one text in JSON, which is short.

    skops writes a record for each item, and takes 20 microseconds and 2 kB to read it: too much for
    the names of all features of a tagger.
    """

    def __new__(cls, text: str) -> Any:
        """The list."""
        return json.loads(text)

    @classmethod
    def of(cls, text: str) -> PlainList:
        """What stands for the list of this text."""
        plain = object.__new__(cls)
        plain.text = text
        return plain

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.text,)

    text: str


class _Copier(pickle.Pickler):
    """Copies an estimator: of those of this package parameters and what was learned, no caches."""

    def reducer_override(self, part: Any) -> Any:
        if isinstance(part, SpecLoss):
            return LossSource.of, _loss_arguments(part)
        if _CLASSES.get(type(part).__name__) is type(part):
            return _with_attributes, (type(part), _attributes_to_save(part))
        return NotImplemented


def _copy_to_save(estimator: Any) -> Any:
    """A copy whose losses and lists are as they stand in a file; it shares the arrays."""
    buffers: list[pickle.PickleBuffer] = []
    copied = io.BytesIO()
    _Copier(copied, protocol=5, buffer_callback=buffers.append).dump(estimator)
    return pickle.loads(copied.getbuffer(), buffers=buffers)  # what was written here


def _with_attributes(kind: Any, attributes: dict[str, Any]) -> Any:
    """An instance with these attributes alone."""
    made = kind.__new__(kind)
    vars(made).update(attributes)
    return made


def _attributes_to_save(part: Any) -> dict[str, Any]:
    """Parameters of an estimator of this package and what it has learned, by name."""
    values = {**part.get_params(deep=False), **_learned(vars(part))}
    return {
        name: PlainList.of(json.dumps(value)) if _is_plain_list(value) else value
        for name, value in values.items()
    }


def _is_plain_list(value: Any) -> bool:
    """Whether this is a list of texts, numbers, truth values and None."""
    return type(value) is list and all(type(item) in _PLAIN for item in value)


def _loss_arguments(loss: SpecLoss) -> tuple[str, list[Any] | None, dict[str, Any]]:
    """The text, labels and parameters of a loss; an InputError if these do not make it again."""
    spec = loss.spec
    meaning = attrgetter("name", "kind", "params", "labels", "registers", "value")
    if meaning(read(spec.source, spec.origin)) != meaning(spec):
        must = "a loss can be saved if it is that of its file"
        raise InputError("save", must, given=loss, remedy="Write a file of its own for it")
    labels = None if loss.labels_given is None else list(loss.labels_given.labels)
    return spec.source, labels, dict(loss.params_given)


def _learned(attributes: dict[str, Any]) -> dict[str, Any]:
    """The learned attributes of an estimator by name: those that end in an underscore."""
    names = [name for name in attributes if name.isidentifier() and name.endswith("_")]
    return {name: attributes[name] for name in names if not name.startswith("_")}


def _reproducible(content: bytes) -> bytes:
    """The archive with members in the order of their use, of no date, and no addresses."""
    made = io.BytesIO()
    names: dict[str, str] = {}
    with (
        zipfile.ZipFile(io.BytesIO(content)) as source,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        schema = json.loads(source.read(_SCHEMA))
        for node in _nodes(schema):
            if isinstance(node.get("__id__"), int):
                del node["__id__"]
            old = node.get("file")
            if isinstance(old, str) and old not in names:
                names[old] = f"{len(names)}{Path(old).suffix}"
                _write_member(target, names[old], source.read(old))
            if isinstance(old, str):
                node["file"] = names[old]
        _write_member(target, _SCHEMA, json.dumps(schema).encode())
        target.comment = _FORMAT
    return made.getvalue()


def _write_member(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every dictionary of a JSON value, from the outer ones to the inner ones."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += reversed(one.values())
        elif isinstance(one, list):
            waiting += reversed(one)


# -- reading --------------------------------------------------------------------------------------


def load(path: str | PathLike[str]) -> Any:
    """The estimator of a file that ``save`` has written; an InputError if the file is none."""
    import skops.io

    where = f"load {path}"
    if not isinstance(path, str | PathLike):
        raise InputError("load", "the path of a file must be given", given=path)
    with readable(where), open_input(Path(path)) as file:
        _check_archive(file, where)
        with first_use(where):
            estimator = skops.io.load(file, trusted=_trusted())
            _check_parts(estimator)
            _try(estimator)
    return estimator


@contextmanager
def first_use(where: str) -> Iterator[None]:
    """A context that turns errors of a loaded model into an InputError."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", InconsistentVersionWarning)
            yield
    except Exception as error:  # whatever wrong types, names and shapes raise
        must = "the file is damaged, or save did not write it"
        kind = "" if isinstance(error, FsmeuError) else f"{type(error).__name__}: "
        detail = shorten(f"{kind}{error}").rstrip(".")
        raise InputError(where, f"{must} ({detail})", remedy=_AGAIN) from error


def _check_archive(file: Any, where: str) -> None:
    """Refuses an archive that ``save`` of this version did not write, or that is too large.

    It may hold twice its own size whatever the limit: a file that large is given on purpose.
    """
    if not zipfile.is_zipfile(file):
        raise InputError(where, "a file must have been written by save", remedy=_AGAIN)
    archive = zipfile.ZipFile(file)
    members = {member.filename: member for member in archive.infolist()}
    if _OLD_HEADER in members:
        must = "the file was written by an earlier version of fsmeu, which had a format of its own"
        raise InputError(where, must, remedy="Train the model again and save it")
    if archive.comment != _FORMAT or _SCHEMA not in members:
        raise InputError(where, "a file must have been written by save", remedy=_AGAIN)
    if members[_SCHEMA].file_size > (most := input_limit(_NODE_BYTES)):
        refuse_size(where, f"{_SCHEMA} may have at most {most:,} bytes", "more")
    need = 0
    with first_use(where):
        for node in _nodes(json.loads(archive.read(_SCHEMA))):
            if isinstance(node.get("__id__"), int):
                raise ValueError("parts are shared")
            if isinstance(node.get("file"), str):
                need += array_bytes(archive, members[node["file"]], where, _KINDS)
    room = max(input_limit(), 2 * file.seek(0, 2))
    if need > room:
        refuse_size(where, f"may hold at most {room:,} bytes of arrays", f"{need:,}")


def _check_parts(estimator: Any) -> None:
    """Refuses, by any exception, parts that do not fit together."""
    if _CLASSES.get(type(estimator).__name__) is not type(estimator):
        must = f"a file must hold one of {', '.join(sorted(_CLASSES))}"
        raise InputError("estimator", must, remedy="For others import fsmeu.searn")
    parts = list(_parts(estimator))
    for part in parts:
        if isinstance(part, np.ndarray):
            if not holds_texts(part):
                raise ValueError("an array must be texts, and holds codes that are none")
            continue
        attributes = vars(part)
        if _CLASSES.get(type(part).__name__) is type(part):
            params = {*type(part)._get_param_names()}
            if not params <= attributes.keys() <= params | _learned(attributes).keys():
                raise ValueError(sorted(attributes))
            getattr(part, "check_parts", lambda: None)()
        elif any(callable(getattr(type(part), name, None)) for name in attributes):
            raise ValueError(sorted(attributes))  # a method would be another one
        _check_trees(part)
    for part in reversed(parts):  # what is within others comes first
        if isinstance(part, BaseGradientBoosting) and hasattr(part, "estimators_"):
            _check_stages(part)


def _parts(value: Any) -> Iterator[Any]:
    """Every array and object with attributes within this value, itself too; not those of losses."""
    inner: Any = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple | set):
        inner = value
    elif isinstance(value, np.ndarray):
        yield value
        inner = value.flat if value.dtype == object else ()
    elif hasattr(value, "__dict__") and not isinstance(value, SpecLoss | type):
        yield value
        inner = vars(value).values()
    for one in inner:
        if not isinstance(one, _PLAIN):
            yield from _parts(one)


def _check_trees(part: Any) -> None:
    """Refuses, by any exception, trees within this part whose nodes lead elsewhere.

    scikit-learn does not look at features of single trees of a forest, which are those of all.
    """
    if isinstance(tree := getattr(part, "tree_", None), Tree):
        if not 0 < tree.node_count <= tree.capacity or tree.n_features != part.n_features_in_:
            raise ValueError("a tree of other features, or without nodes")
        is_leaf = tree.children_left == -1
        nodes = _Nodes(tree.children_left, tree.children_right, tree.feature, is_leaf)
        if _checked_depth(nodes, tree.n_features) > tree.max_depth:
            raise ValueError("a tree that is deeper than it says")
    if isinstance(part, BaseForest | BaseGradientBoosting):
        trees = np.ravel(getattr(part, "estimators_", ()))
        if any(tree.n_features_in_ != part.n_features_in_ for tree in trees):
            raise ValueError("trees of other features")
    for predictor in chain(*getattr(part, "_predictors", ())):
        table = predictor.nodes
        is_leaf = table["is_leaf"] != 0
        nodes = _Nodes(table["left"], table["right"], table["feature_idx"], is_leaf)
        _checked_depth(nodes, part.n_features_in_)
        if table["is_categorical"].any():  # sets of categories would have to be checked
            raise ValueError("a tree with categories")


def _check_stages(part: BaseGradientBoosting) -> None:
    """Refuses, by any exception, stages of gradient boosting that have other columns than its sums.

    scikit-learn adds one number of each tree to rows of sums, which come from what it begins with,
    and does not look whether there are as many. All other parts must have been checked before.
    """
    stages = part.estimators_
    for rows in (2, 3):
        sums = part._raw_predict_init(np.zeros((rows, part.n_features_in_)))
        if sums.shape != (rows, *stages.shape[1:]) or not sums.flags.c_contiguous:
            raise ValueError("trees of other outputs")
    if any(tree.tree_.value.shape[1:] != (1, 1) for tree in stages.flat):
        raise ValueError("trees of several outputs")


class _Nodes(NamedTuple):
    """The nodes of a tree, (nodes,) each; the first is the root."""

    left: Ints  # the index of the left child
    right: Ints
    feature: Ints
    is_leaf: Bools  # whether neither children nor a feature are looked at


def _checked_depth(nodes: _Nodes, features: int) -> int:
    """The depth of a tree; a ValueError unless children follow parents, each node is one's."""
    size = len(nodes.left)
    parents = np.flatnonzero(~nodes.is_leaf)
    left = nodes.left[parents].astype(np.int64)
    right = nodes.right[parents].astype(np.int64)
    feature = nodes.feature[parents]
    children = np.sort(np.concatenate((left, right)))
    if not (
        np.array_equal(children, np.arange(1, size))
        and (np.minimum(left, right) > parents).all()
        and ((feature >= 0) & (feature < features)).all()
    ):
        raise ValueError("a tree whose nodes lead elsewhere")
    depth = np.zeros(size, np.int64)
    for parent, first, second in zip(parents, left, right, strict=True):
        depth[first] = depth[second] = depth[parent] + 1
    return int(depth.max())


def _try(estimator: Any) -> None:
    """Predicts a few examples; errors of the loss on these are ignored.

    An estimator has ``_examples``, inputs that it must predict, or none; or it is one of rows (none
    are tried of texts, or where rows are long).
    """
    classes = getattr(estimator, "classes_", None)
    if classes is not None and (classes.shape != np.unique(classes).shape or len(classes) < 2):
        raise ValueError(classes.shape)
    if not hasattr(estimator, "predict") or not _learned(vars(estimator)):
        return
    has_examples = hasattr(estimator, "_examples")
    examples = estimator._examples() if has_examples else _rows_to_try(estimator)
    if not len(examples):
        return
    refused = nullcontext() if has_examples and classes is None else suppress(FsmeuError)
    for batch in (examples, examples[1:]):  # what broadcasts to one fails
        for name in ("predict", "predict_proba", "decision_function"):
            with refused:
                getattr(estimator, name, len)(batch)


def _rows_to_try(estimator: Any) -> Any:
    """Three rows of numbers for an estimator of rows, (3, features), or none."""
    inner = [*getattr(estimator, "estimators_", ())] or [getattr(estimator, "estimator_", None)]
    widths = [x.n_features_in_ for x in (estimator, *inner) if hasattr(x, "n_features_in_")]
    if not widths and inner == [None]:
        raise ValueError(estimator)
    if not widths:
        return ()
    if as_whole(widths[0], 1) is None:
        raise ValueError(widths[0])
    return np.multiply.outer(_TRIED, np.ones(widths[0])) if widths[0] <= _MOST_TRIED else ()
