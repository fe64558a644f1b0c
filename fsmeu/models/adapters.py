"""Models from what people train, and from JSON.

Hidden Markov models, logits, sklearn-crfsuite, hmmlearn: none of these libraries is imported.
Arrays are whatever numpy can read (``__array__``), and a trained tagger is asked for its numbers.

``from_json`` undoes ``to_json``, and takes files written by hand: an object with the key "model"
naming its kind; the other keys are the arguments of the class or function of that kind, as nested
lists. {"probs": [...]} alone is a Bernoulli model. The text "-inf" stands for it in potentials.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NoReturn, overload
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import EmptyError, FsmeuError, InputError, check_int, nearest, shorten
from fsmeu.files import read_text
from fsmeu.fst.alphabet import Alphabet, Label, as_alphabet, listed, plain
from fsmeu.fst.layers import Layer, Layered
from fsmeu.models import checks
from fsmeu.models.base import Model
from fsmeu.models.chains import Bernoulli, Independent, Markov
from fsmeu.models.checks import check_arcs, check_entries, check_rows, real_array
from fsmeu.models.lattices import Acceptor, Mixture, NBest
from fsmeu.models.paths import logarithm
from fsmeu.models.potentials import Potentials, first_impossible

# -- hidden Markov models --------------------------------------------------------------------------


def hmm(
    initial: ArrayLike,
    transition: ArrayLike,
    emission: ArrayLike,
    observations: Iterable[int],
    labels: Sequence[Label] | None = None,
) -> Potentials:
    """The posterior of the hidden labels of a hidden Markov model.

    Args:
        initial: P(y_1), shape (L,).
        transition: P(y_{i+1} | y_i), shape (L, L) or (n - 1, L, L).
        emission: P(x_i | y_i), shape (L, V).
        observations: the n observed symbols, each from 0 to V - 1.
        labels: the L labels, 0, ..., L - 1 unless given.

    Raises:
        EmptyError: the observations have probability 0; the message says from where on.
    """
    first = _checked_rows(initial, "hmm initial", 1)
    size = len(first)
    links = _checked_rows(transition, "hmm transition")
    output = _checked_rows(emission, "hmm emission", 2)
    where = "hmm observations"
    symbols = list[int]()
    for k, x in enumerate(listed(observations, where, "must be a sequence of whole numbers")):
        symbols.append(check_int(where, f"entry {k}", plain(x), 0))
        if symbols[-1] >= output.shape[1]:
            most = output.shape[1] - 1
            must = f"must be from 0 to {most}, as emission has {output.shape[1]} columns"
            raise InputError(where, must, given=f"{shorten(x)} at entry {k}")
    steps = max(0, len(symbols) - 1)
    check_arcs("hmm", size + steps * size * size)
    if links.size == 0:
        links = links.reshape(0, size, size)
    if links.shape not in ((size, size), (steps, size, size)):
        must = f"must have shape {(size, size)} or {(steps, size, size)}"
        raise InputError("hmm transition", must, given=f"shape {links.shape}")
    checks.check_shape(output, (size, output.shape[1]), "hmm emission")
    alphabet = checks.alphabet_of(labels, size, "hmm labels")
    unary = logarithm(output[:, symbols].T)
    unary[:1] += logarithm(first)
    pairwise = logarithm(links)
    at = first_impossible(unary, pairwise)
    if at is not None:
        what = f"symbol {symbols[at]} at entry {at} is impossible after those before it"
        raise EmptyError(where, f"must have positive probability, but {what}")
    return _posterior(Potentials(unary, pairwise, alphabet.labels))


def _posterior(model: Potentials) -> Potentials:
    """The model, named as the posterior of a hidden Markov model."""
    model._keep(title="hidden Markov model, given its observations")
    return model


def _checked_rows(value: ArrayLike, where: str, ndim: int | None = None) -> Floats:
    """Probabilities whose rows sum to 1, with this many axes if that is said."""
    array = checks.probability_array(value, where)
    if array.ndim == 0 or array.ndim != (ndim or array.ndim):
        must = f"must have {ndim} axes" if ndim else "must be an array"
        raise InputError(where, must, given=f"shape {array.shape}")
    return check_rows(array, where, original=value) if array.size or ndim else array


# -- logits ----------------------------------------------------------------------------------------


def from_logits(
    logits: ArrayLike, labels: Sequence[Label] | Mapping[int, Label] | None = None
) -> Bernoulli | Independent:
    """Independent labels from the scores of a network before its softmax.

    Args:
        logits: scores, shape (n, L); -inf forbids a label. Shape (n,) for one score per position,
            or (n, 1), that of label 1 against label 0.
        labels: the L labels in the order of the columns, 0, ..., L - 1 unless given; or a mapping
            from the number of a column to its label (``id2label``).
    """
    scores = real_array(logits, "logits")
    if scores.ndim == 2 and scores.shape[1] == 1 and labels is None:
        scores = scores[:, 0]
    if scores.ndim == 1 and labels is None and scores.size:
        _check_logits(scores[:, None])
        return Bernoulli(np.exp(-np.logaddexp(0.0, -scores)))
    names = None if labels is None else _column_labels(labels)
    scores = checks.label_rows(scores, names, "logits", "")
    _check_logits(scores)
    return Independent(checks.softmax(scores), names)


def _check_logits(scores: Floats) -> None:
    """Refuses scores that are no numbers or infinite, and rows that allow no label."""
    must = "each entry must be a number, or -inf to forbid a label"
    check_entries(scores, scores < np.inf, "logits", must)
    empty = np.isneginf(scores).all(axis=1) & (scores.shape[1] > 1)
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise InputError("logits", f"row {row} must allow some label", given="-inf for all")


def _column_labels(labels: Sequence[Label] | Mapping[int, Label]) -> list[Any]:
    """The labels in the order of the columns."""
    if not isinstance(labels, Mapping):
        return listed(labels, "logits labels", "must be a list of labels")
    try:
        columns = {int(column): label for column, label in labels.items()}
        return [columns[k] for k in range(len(columns))]
    except (KeyError, ValueError, TypeError):
        must = "a mapping must have the numbers of the columns, from 0, as its keys"
        raise InputError("logits labels", must, given=list(labels)) from None


# -- sklearn-crfsuite ------------------------------------------------------------------------------

_ROWS: WeakKeyDictionary[Any, tuple[Any, dict[str, Floats], Floats]] = WeakKeyDictionary()
"""For each tagger its table of weights as it was read, their rows by feature, the transitions."""


def from_crfsuite(crf: Any, features: Iterable[Any]) -> Potentials:
    """The distribution of a trained ``sklearn_crfsuite.CRF`` over the tags of one sentence.

    crfsuite tells its weights with six decimals, so probabilities agree with its own to about five.

    Args:
        crf: the trained tagger.
        features: the features of one sentence as ``crf.predict_single`` takes them: for each
            position a dict, or a list of names.
    """
    where = "from_crfsuite"
    try:
        names = [plain(x) for x in crf.classes_]
        weights = crf.state_features_
    except (AttributeError, TypeError):  # before it is trained, its classes are None
        must = "a trained sklearn_crfsuite.CRF is needed"
        raise InputError(where, must, given=type(crf).__name__, remedy="Call fit first") from None
    entries = listed(features, where, "features must be a list, one entry per position")
    try:
        from pycrfsuite import ItemSequence  # type: ignore[import-untyped]
    except ImportError:
        raise InputError(where, "python-crfsuite must be installed") from None
    try:
        items: list[dict[str, float]] = ItemSequence(entries).items()
    except Exception as error:  # whatever strange features raise
        must = "features must be a dict of features, or a list of their names, for each position"
        raise InputError(where, must, given=entries) from error
    check_arcs(where, len(items) * len(names), "scores")
    rows, pairwise = _crf_weights(crf, weights, names)
    unary = np.zeros((len(items), len(names)))
    for position, item in enumerate(items):
        for name, value in item.items():
            if name in rows:
                unary[position] += value * rows[name]
    return Potentials(unary, pairwise, names)


def _crf_weights(crf: Any, weights: Any, names: list[Any]) -> tuple[dict[str, Floats], Floats]:
    """The weights of the tags by feature, each (L,), and those of neighbours, (L, L)."""
    cached = _ROWS.get(crf)
    if cached is not None and cached[0] is weights:
        return cached[1:]
    place = {name: k for k, name in enumerate(names)}
    rows: dict[str, Floats] = {}
    for (feature, name), weight in weights.items():
        rows.setdefault(feature, np.zeros(len(names)))[place[name]] = weight
    pairwise = np.zeros((len(names), len(names)))
    for (before, after), weight in crf.transition_features_.items():
        pairwise[place[before], place[after]] = weight
    _ROWS[crf] = weights, rows, pairwise
    return rows, pairwise


# -- hmmlearn --------------------------------------------------------------------------------------


@overload
def from_hmmlearn(
    model: Any, observations: ArrayLike, labels: Sequence[Label] | None = None
) -> Potentials: ...


@overload
def from_hmmlearn(
    model: Any,
    observations: ArrayLike,
    labels: Sequence[Label] | None = None,
    *,
    lengths: Iterable[int],
) -> list[Potentials]: ...


def from_hmmlearn(
    model: Any,
    observations: ArrayLike,
    labels: Sequence[Label] | None = None,
    *,
    lengths: Iterable[int] | None = None,
) -> Potentials | list[Potentials]:
    """The posterior of the hidden states of a trained ``hmmlearn`` model.

    Args:
        model: a trained model, with whatever emissions.
        observations: one sequence as ``model.predict`` takes it, shape (n, features); or several,
            one after another.
        labels: names of the hidden states, 0, ..., L - 1 unless given.
        lengths: as ``model.predict`` takes them, the length of each sequence; then a list with a
            posterior for each is returned.
    """
    where = "from_hmmlearn"
    try:
        first = model.startprob_
        links = model.transmat_
    except AttributeError:
        must = "a trained model of hmmlearn is needed"
        raise InputError(where, must, given=type(model).__name__, remedy="Call fit first") from None
    real_array(observations, f"{where} observations")
    rows = np.asarray(observations)
    try:
        emitted = model._compute_log_likelihood(rows[:, None] if rows.ndim == 1 else rows)
    except Exception as error:  # whatever the model raises
        must = f"the model must give a likelihood to the observations ({error})"
        raise InputError(where, must) from error
    unary = real_array(emitted, f"{where} likelihoods")
    start = _checked_rows(first, f"{where} startprob_", 1)
    transitions = logarithm(_checked_rows(links, f"{where} transmat_", 2))
    ends = [len(unary)]
    name = f"{where} lengths"
    if lengths is not None:
        sizes = listed(lengths, name, "must be a sequence of whole numbers")
        ends = list(accumulate(check_int(name, "each", plain(size), 0) for size in sizes))
        if (total := ends[-1] if ends else 0) != len(unary):
            must = f"must add up to the number of observations, {len(unary)}"
            raise InputError(name, must, given=total)
    result = []
    for begin, end in pairwise([0, *ends]):
        part = unary[begin:end].copy()
        part[:1] += logarithm(start)
        result.append(_posterior(Potentials(part, transitions, labels)))
    return result[0] if lengths is None else result


# -- from JSON -------------------------------------------------------------------------------------

MAX_NESTING = 8
"""How deep mixtures of mixtures may go in a file."""


def from_json(source: Mapping[str, Any] | str | Path) -> Model:
    """The model that a JSON text describes.

    Args:
        source: what ``to_json`` gave, or JSON text of it (starting with a brace), or the path of a
            file that holds such text.

    Raises:
        InputError: the message names the file and the key.
    """
    where = "model JSON"
    if isinstance(source, str):
        source = source.removeprefix("\ufeff")
    if isinstance(source, Path) or (isinstance(source, str) and source.lstrip()[:1] != "{"):
        where = f"model file {source}"
        source = read_text(Path(source), where)
    try:
        content = parse_json(source, where) if isinstance(source, str) else source
        _check_nesting(content, where)
        return _model(content, where)
    except RecursionError:
        raise InputError(where, "must not be nested this deeply") from None


def parse_json(text: str, where: str) -> object:
    """The content of a JSON text, with finite numbers; an InputError if it is none."""

    def refuse(name: str) -> NoReturn:
        raise InputError(where, "numbers must be finite", given=name)

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        fault = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise InputError(where, f"must be JSON ({fault})") from None
    except InputError:
        raise
    except ValueError:
        raise InputError(where, "numbers may not have thousands of digits") from None


def _check_nesting(content: object, where: str) -> None:
    """Refuses mixtures of mixtures of mixtures past ``MAX_NESTING``, level by level."""
    level = [content]
    depth = 0
    while level:
        if depth > MAX_NESTING:
            raise InputError(where, f"mixtures must be nested at most {MAX_NESTING} deep")
        inside = [part.get("models") for part in level if isinstance(part, Mapping)]
        level = [part for parts in inside if isinstance(parts, list) for part in parts]
        depth += 1


def _model(content: object, where: str) -> Model:
    if not isinstance(content, Mapping):
        must = 'must be an object, such as {"probs": [0.2, 0.9]} or {"model": "markov", ...}'
        raise InputError(where, must, given=shorten(content))
    arguments = dict(content)
    kind = arguments.pop("model", "bernoulli" if "probs" in arguments else None)
    if not isinstance(kind, str) or kind not in KINDS:
        must = f"key 'model' must be one of {', '.join(KINDS)}"
        raise InputError(where, must, given=kind, remedy=nearest(shorten(kind), KINDS))
    if kind == "bernoulli" and "probs" in arguments and "p" not in arguments:
        arguments["p"] = arguments.pop("probs")
    build = KINDS[kind][1]
    keys = signature(build).parameters
    for key in arguments:
        if key not in keys:
            must = f"{kind} takes the keys {', '.join(keys)}"
            raise InputError(where, must, given=f"key {key!r}", remedy=nearest(str(key), keys))
    for key, parameter in keys.items():
        if key not in arguments and parameter.default is Parameter.empty:
            raise InputError(where, f"{kind} needs the key {key!r}")
    try:
        return build(**arguments)
    except FsmeuError as error:
        raise error.within(where) from None


def _potentials(unary: Any, pairwise: Any, labels: Any = None) -> Model:
    def numbers(value: Any) -> Any:
        if isinstance(value, list):
            return [numbers(x) for x in value]
        return float("-inf") if value == "-inf" else value

    return Potentials(numbers(unary), numbers(pairwise), labels)


def _mixture(models: object, weights: Any) -> Model:
    if not isinstance(models, list):
        raise InputError("Mixture models", "must be a list of models", given=models)
    return Mixture([_model(part, f"models[{k}]") for k, part in enumerate(models)], weights)


_KEYS = ("width", "source", "label", "target", "weight")


def _acceptor(
    labels: Sequence[Label],
    start: object,
    layers: object,
    final: object,
    normalize: bool = True,
    log_scale: float = 0.0,
) -> Acceptor:
    """The acceptor with these layers; see ``Acceptor.to_json``."""
    alphabet = as_alphabet(labels, "acceptor labels")
    first = _weights(start, "acceptor start")
    last = _weights(final, "acceptor final")
    if not isinstance(layers, list):
        raise InputError("acceptor layers", "must be a list of objects", given=layers)
    built = list[Layer]()
    width = len(first)
    for k, content in enumerate(layers):
        built.append(_layer(content, f"acceptor layers[{k}]", width, alphabet))
        width = built[-1].width
    if len(last) != width:
        must = f"must have {width} weights, one per state of the last layer"
        raise InputError("acceptor final", must, given=f"{len(last)}")
    machine = Layered(alphabet, first, tuple(built), last)
    return Acceptor(machine, None, normalize, log_scale)


def _layer(content: Any, where: str, width: int, alphabet: Alphabet) -> Layer:
    """One layer of arcs, from states of the width before."""
    if not isinstance(content, Mapping) or set(content) != set(_KEYS):
        raise InputError(where, f"must be an object with keys {', '.join(_KEYS)}", given=content)
    after = check_int(where, "width", content["width"], 0)
    check_arcs(f"{where} width", after, "states")
    columns = list[Ints]()
    weight = _weights(content["weight"], f"{where} weight")
    for key, limit in (("source", width), ("label", len(alphabet)), ("target", after)):
        array = real_array(content[key], f"{where} {key}")
        good = (array >= 0) & (array < limit) & (array == np.floor(array))
        if array.ndim != 1 or not good.all():
            must = f"must be a list of whole numbers from 0 to {limit - 1}"
            raise InputError(f"{where} {key}", must, given=content[key])
        columns.append(array.astype(np.int64))
    lengths = {len(column) for column in (*columns, weight)}
    if len(lengths) > 1:
        must = "source, label, target and weight must have the same length"
        raise InputError(where, must, given=f"lengths {sorted(lengths)}")
    source, label, target = columns
    return Layer(source, label, target, weight, after)


def _weights(value: Any, where: str) -> Floats:
    """A list of finite numbers, at least 0."""
    array = real_array(value, where)
    if array.ndim != 1:
        raise InputError(where, "must be a list of numbers", given=f"shape {array.shape}")
    must = "each weight must be a finite number, at least 0"
    check_entries(array, np.isfinite(array) & (array >= 0), where, must)
    return array


KINDS: dict[str, tuple[type[Model], Callable[..., Model]]] = {
    "bernoulli": (Bernoulli, Bernoulli),
    "independent": (Independent, Independent),
    "markov": (Markov, Markov),
    "potentials": (Potentials, _potentials),
    "hmm": (Potentials, hmm),
    "nbest": (NBest, NBest),
    "acceptor": (Acceptor, _acceptor),
    "mixture": (Mixture, _mixture),
}
"""For each kind of model its class and what builds it; the arguments of that are the keys."""
