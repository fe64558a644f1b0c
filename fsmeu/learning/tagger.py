"""``MaxExpectedUtilityTagger``: a linear-chain field trained for the utility of whole sentences.

Recursions run over all sentences at once, with numbers scaled to sum to one (Rabiner 1989, section
V.A): each position of the longest sentence is one product of matrices, for those that have it.
Throughout, ``unary`` has the scores of labels at the positions of all sentences, (positions, L),
``pairwise`` those of a label (last axis) after another, (L, L), and ``lengths`` says where the
sentences stand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import chain
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fsmeu.arrays import Floats, Ints
from fsmeu.decoding.decode import decode_many
from fsmeu.errors import InputError, check_bool, check_int
from fsmeu.expectation.expect import value_and_gradient_many
from fsmeu.learning import base
from fsmeu.learning.classes import check_positive, label_name, over_classes, positive_tag
from fsmeu.learning.saving import register
from fsmeu.losses.protocol import Loss
from fsmeu.models import Potentials, from_potentials
from fsmeu.models.checks import check_shape

_LEAST_SCORE = -300.0  # scores further below the greatest: products of two are still no 0


def feature_items(value: Any, name: str | None = None) -> Iterator[tuple[str, float]]:
    """The name and value of each feature of a position, as in sklearn-crfsuite.

    That is a list or set of names, of value 1, or a dictionary. In it a number or truth value is
    the value of the feature of that name, a text names a feature ``name:text`` of value 1, a list
    or a set several such, a dictionary has its names behind the outer one.
    """
    front = "" if name is None else f"{name}:"
    if name is not None and isinstance(value, str):
        yield front + value, 1.0
    elif name is not None and isinstance(value, Real | np.bool_):
        if not np.isfinite(float(value)):
            raise InputError("features", f"the value of {name} must be finite", given=value)
        yield name, float(value)
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            yield from feature_items(item, f"{front}{inner}")
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        for item in value:
            yield f"{front}{item}", 1.0
    else:
        must = "a position must be a dictionary of features or a list of their names"
        if name is not None:
            must = f"the value of {name} must be a number, a text, a list of texts or a dictionary"
        raise InputError("features", must, given=value)


def checked_sentences(sentences: Any, where: str) -> list[Sequence[Any]]:
    """The sentences as a list of sequences of positions; an InputError where they are not."""
    if isinstance(sentences, Iterable) and not isinstance(sentences, str | bytes | Mapping):
        lines = list(sentences)
        kinds = (Sequence, np.ndarray)
        if all(isinstance(line, kinds) and not isinstance(line, str | bytes) for line in lines):
            return lines
    must = "sentences must be a list of lists, one entry for each position"
    raise InputError(where, must, given=sentences)


def checked_labels(y: Any, lengths: Sequence[int], where: str) -> list[list[Any]]:
    """The labels of each sentence, as many as it has positions, of which there must be some."""
    lines = checked_sentences(y, where)
    labels = [list(line.tolist() if isinstance(line, np.ndarray) else line) for line in lines]
    pairs = enumerate(zip(lengths, map(len, labels), strict=False))
    wrong = [f"{n} positions and {m} labels in sentence {k}" for k, (n, m) in pairs if n != m]
    if wrong or len(labels) != len(lengths):
        wrong += [f"{len(lengths)} sentences and {len(labels)} label sequences"]
        must = "there must be one label for each position of each sentence"
        raise InputError(where, must, given=wrong[0])
    if not any(labels):
        raise InputError(where, "there must be a sentence that is not empty")
    for label in chain.from_iterable(labels):
        if isinstance(label, bytes | bytearray | memoryview):
            must = "a label may not be bytes"
            raise InputError(where, must, given=repr(label), remedy="Decode it first")
    return labels


def sorted_labels(labels: Iterable[Any]) -> list[Any]:
    """The distinct labels, sorted; by type and text where they cannot be compared."""
    try:
        distinct = set(labels)
    except TypeError as error:
        must = "labels must be hashable, such as numbers, texts or tuples"
        raise InputError("labels", must) from error
    with suppress(TypeError):
        return sorted(distinct)
    return sorted(distinct, key=lambda label: (type(label).__name__, str(label)))


def share_of_labels(zs: Any, ys: Any) -> float:
    """The share of positions of all sentences whose label was predicted."""
    return float(np.mean([z == y for z, y in zip(chain(*zs), chain(*ys), strict=True)]))


def feature_names(sentences: Iterable[Sequence[Any]], least: int = 1) -> list[str]:
    """The names of the features that stand at this many positions or more, sorted."""
    counts: Counter[str] = Counter()
    for position in chain.from_iterable(sentences):
        counts.update({name for name, _ in feature_items(position)})
    return sorted(name for name, times in counts.items() if times >= least)


def feature_matrix(sentences: Iterable[Sequence[Any]], names: Sequence[str]) -> csr_array:
    """The values of these features at the positions of all sentences, (positions, names)."""
    column = {name: k for k, name in enumerate(names)}
    values = list[float]()
    columns = list[int]()
    ends = [0]
    for position in chain.from_iterable(sentences):
        for name, value in feature_items(position):
            if name in column:
                columns.append(column[name])
                values.append(value)
        ends.append(len(columns))
    arrays = (np.array(values, float), np.array(columns, np.int64), np.array(ends, np.int64))
    matrix = csr_array(arrays, shape=(len(ends) - 1, len(column)))
    matrix.sum_duplicates()
    return matrix


class Lengths:
    """The places of the positions of sentences, when those of all are listed one after another.

    ``begins`` has the first position of each sentence, and the number of all; ``at``, for each
    position of the longest sentence, where it stands in those that have it, the longest first.
    """

    def __init__(self, lengths: Sequence[int]) -> None:
        self.begins: Ints = np.append(0, np.cumsum(lengths, dtype=np.int64))
        order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
        sizes = np.asarray(lengths, np.int64)[order]
        starts = self.begins[:-1][order]
        self.at: list[Ints] = [starts[sizes > i] + i for i in range(max(lengths, default=0))]

    def split(self, rows: NDArray[Any]) -> list[NDArray[Any]]:
        """The rows of each sentence."""
        return [rows[a:b] for a, b in zip(self.begins[:-1], self.begins[1:], strict=True)]


def chain_marginals(
    unary: Floats, pairwise: Floats, lengths: Lengths
) -> tuple[float, Floats, Floats]:
    """The sum of log partition functions, P(label), (positions, L), and E[transitions], (L, L).

    ``Potentials`` has the first two for each sentence, with bounds on roundings, which training
    does not need at each of its steps: of 2,000 sentences over 23 tags they take .57 s there and,
    with transitions, .32 s here, where sentences of all lengths are swept together.
    """
    tops = unary.max(axis=1, initial=_LEAST_SCORE)
    top = float(pairwise.max())
    emit = np.exp(np.maximum(unary - tops[:, None], _LEAST_SCORE))
    move = np.exp(np.maximum(pairwise - top, _LEAST_SCORE))
    ahead = np.empty(emit.shape)
    scales = np.ones(len(emit))
    before = np.zeros(0)
    for i, rows in enumerate(lengths.at):
        arrived = emit[rows] * (before[: len(rows)] @ move) if i else emit[rows]
        scales[rows] = arrived.sum(axis=1)
        before = ahead[rows] = arrived / scales[rows, None]
    behind = np.ones(emit.shape)
    double = np.zeros(pairwise.shape)
    for i in range(len(lengths.at) - 1, 0, -1):
        rows = lengths.at[i]
        sources = lengths.at[i - 1][: len(rows)]
        leaving = emit[rows] * behind[rows] / scales[rows, None]
        behind[sources] = leaving @ move.T
        double += ahead[sources].T @ leaving
    following = len(emit) - (len(lengths.at[0]) if lengths.at else 0)
    total = float(np.log(scales).sum() + tops.sum()) + top * following
    return total, ahead * behind, double * move


def most_probable(unary: Floats, pairwise: Floats, lengths: Lengths) -> Ints:
    """Indices of the most probable labels (Viterbi 1967), (positions,); of several ties one.

    ``decode_many`` of zero-one loss finds the same with a proof, in five times the time.
    """
    best = unary.copy()  # the greatest score of labels up to a position that end in each label
    came = np.zeros(unary.shape, np.int64)  # the label before it
    for i in range(1, len(lengths.at)):
        rows = lengths.at[i]
        ways = best[lengths.at[i - 1][: len(rows)], :, None] + pairwise  # (sentences, L, L)
        came[rows] = ways.argmax(axis=1)
        best[rows] += ways.max(axis=1)
    # Right where a sentence ends; the other labels follow from the next one.
    labels: Ints = best.argmax(axis=1)
    for i in range(len(lengths.at) - 1, 0, -1):
        rows = lengths.at[i]
        labels[lengths.at[i - 1][: len(rows)]] = came[rows, labels[rows]]
    return labels


def models_of(unary: Floats, pairwise: Floats, lengths: Lengths, labels: Any) -> list[Potentials]:
    """The conditional random field of each sentence over these labels."""
    return [from_potentials(scores, pairwise, labels) for scores in lengths.split(unary)]


class ScoreSlopes(NamedTuple):
    """A value of the scores of a field, and its derivatives."""

    value: float
    unary: Floats  # (positions, L)
    pairwise: Floats  # (L, L)


ScoreFunction: TypeAlias = Callable[[Floats, Floats], ScoreSlopes]  # of unary and pairwise


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences with their tags, to be learned from."""

    rows: csr_array  # the features of all positions, (positions, features)
    lengths: Lengths
    tags: Ints  # the index of each position's tag, (positions,)
    kinds: int  # the number of tags, L

    @cached_property
    def _moves(self) -> tuple[Ints, Ints]:
        """The tags before and at each position that is not the first of a sentence."""
        after = np.setdiff1d(np.arange(len(self.tags)), self.lengths.begins)
        return self.tags[after - 1], self.tags[after]

    def log_likelihood(self, unary: Floats, pairwise: Floats) -> ScoreSlopes:
        """The log-likelihood of the tags."""
        log_partition, single, double = chain_marginals(unary, pairwise, self.lengths)
        positions = np.arange(len(self.tags))
        score = unary[positions, self.tags].sum() + pairwise[self._moves].sum()
        single = -single
        single[positions, self.tags] += 1.0
        double = -double
        np.add.at(double, self._moves, 1.0)
        return ScoreSlopes(float(score) - log_partition, single, double)

    def expected_utility(self, loss: Loss) -> ScoreFunction:
        """The sum of E[utility(Z, y)], that of the loss with its tapes exchanged.

        Labels of the loss are in the order of the tags; of a loss it is the negative value.
        """
        sign = 1.0 if loss.kind == "utility" else -1.0
        references = [loss.alphabet.decode(row) for row in self.lengths.split(self.tags)]

        def utility(unary: Floats, pairwise: Floats) -> ScoreSlopes:
            models = models_of(unary, pairwise, self.lengths, loss.alphabet.labels)
            values, slopes = value_and_gradient_many(loss.swapped, references, models)
            tables: list[Any] = list(slopes)
            single = np.concatenate([table["unary"] for table in tables])
            double = np.sum([table["pairwise"] for table in tables], axis=0)
            return ScoreSlopes(sign * float(values.sum()), sign * single, sign * double)

        return utility


def less_distance(
    data: TaggedSentences, scored: ScoreFunction, c2: float, centre: Floats
) -> base.Objective:
    """A function of scores less c2 times the squared distance to a centre, of the weights.

    Weights are those of features and tags and then of transitions, ((features + L) * L,).
    """
    features = data.rows.shape[1]
    columns = csr_array(data.rows.T)

    def objective(weights: Floats) -> tuple[float, Floats]:
        both = weights.reshape(-1, data.kinds)
        moved = weights - centre
        found = scored(data.rows @ both[:features], both[features:])
        slopes = np.concatenate((columns @ found.unary, found.pairwise)).ravel()
        return found.value - c2 * float(moved @ moved), slopes - 2 * c2 * moved

    return objective


@register
@dataclass(eq=False, repr=False)
class MaxExpectedUtilityTagger(BaseEstimator):  # type: ignore[misc]
    """A linear-chain conditional random field with the interface of sklearn-crfsuite.

    It is trained by likelihood, as crfsuite does it: L-BFGS on the log-likelihood less c2 times the
    squared length of the weights. Then L-BFGS goes on with the sum over sentences of the exact
    expected utility E[utility(Z, y)], where Z follows the field and y are the given tags (Jansche
    2007, section 1.3), less utility_c2 times the squared distance from the weights of greatest
    likelihood. It decides for the tags of the greatest expected utility (``decode_many``). With 23
    tags, a value and gradient of chunk F1 takes a few milliseconds for each sentence; on CoNLL-2000
    most of what F1 gains comes from deciding for it (``experiments/conll2000_tagger.py``).

    Args:
        loss: a built-in name, the path of a loss file, or a loss over the tags.
        loss_params: parameters of the loss by name, such as {"beta": 2}.
        c2: the penalty on weights in the likelihood; 1 as in crfsuite.
        min_freq: features that stand at fewer positions are left out.
        likelihood_iterations, utility_iterations: the greatest numbers of iterations for both.
        utility_c2: the penalty on the distance from the weights of greatest likelihood.
        warm_start: whether ``fit`` begins with the weights of an earlier ``fit``, and with 0 for
            new features and tags. With likelihood_iterations=0 it goes on with the expected utility
            alone, whose penalty is then on the distance from these weights.
        pos_label: of two tags, the one that a loss over 0 and 1 takes for 1; None as in
            ``DTAClassifier``.

    Attributes:
        classes_: the tags, sorted, (L,).
        positive_: the index of the positive one of two tags; None where the loss needs none.
        feature_names_: the names of the features.
        state_weights_, transition_weights_: those of features and tags, (features, L), and of a tag
            (last axis) after another, (L, L).
        log_likelihood_: the log-likelihood of the training tags before the second training.
        expected_values_: mean expected value of training sentences before and after it, if it was.
        n_iter_: the iterations of both trainings.
    """

    loss: Any = "chunk_fscore"
    _: KW_ONLY
    loss_params: dict[str, Any] | None = None
    c2: float = 1.0
    min_freq: int = 1
    likelihood_iterations: int = 100
    utility_iterations: int = 20
    utility_c2: float = 0.1
    warm_start: bool = False
    pos_label: Any = None

    def fit(self, X: Any, y: Any) -> MaxExpectedUtilityTagger:
        """Itself, fitted to sentences, lists of what ``feature_items`` takes, and their tags."""
        where = type(self).__name__
        steps = check_int(where, "likelihood_iterations", self.likelihood_iterations, least=0)
        more = check_int(where, "utility_iterations", self.utility_iterations, least=0)
        c2 = base.check_real(where, "c2", self.c2, *base.NONNEGATIVE)
        pull = base.check_real(where, "utility_c2", self.utility_c2, *base.NONNEGATIVE)
        least = check_int(where, "min_freq", self.min_freq, least=0)
        sentences = checked_sentences(X, where)
        tags = checked_labels(y, [*map(len, sentences)], where)
        classes = np.array(sorted_labels(chain(*tags)))
        names = feature_names(sentences, least)
        start = self._start(names, classes)
        self.classes_ = classes
        self.feature_names_ = names
        self.positive_ = positive_tag(
            where, classes.tolist(), chain(*tags), self.pos_label, self._given_loss()
        )
        loss = self._loss()
        data = TaggedSentences(
            feature_matrix(sentences, names),
            Lengths([*map(len, sentences)]),
            np.searchsorted(classes, np.array([*chain(*tags)])),
            len(classes),
        )
        likelihood = less_distance(data, data.log_likelihood, c2, np.zeros(len(start)))
        likely = base.maximize(likelihood, start, steps, tol=1e-4)
        self.log_likelihood_ = likely.fun + c2 * float(likely.x @ likely.x)
        self.expected_values_ = list[float]()
        self.n_iter_ = [int(likely.nit)]
        end = likely
        if more:
            sign = 1.0 if loss.kind == "utility" else -1.0
            utility = less_distance(data, data.expected_utility(loss), pull, likely.x)
            end = base.maximize(utility, likely.x, more)
            moved = end.x - likely.x
            before = utility(likely.x)[0]
            after = end.fun + pull * float(moved @ moved)
            self.expected_values_ = [sign * value / len(tags) for value in (before, after)]
            self.n_iter_.append(int(end.nit))
        weights = end.x.reshape(-1, len(classes))
        self.state_weights_ = weights[: len(names)]
        self.transition_weights_ = weights[len(names) :]
        return self

    def _start(self, names: list[str], classes: NDArray[Any]) -> Floats:
        """The weights to begin with: 0, or with ``warm_start`` those of an earlier training."""
        weights = np.zeros((len(names) + len(classes), len(classes)))
        warm = check_bool(type(self).__name__, "warm_start", self.warm_start)
        if warm and hasattr(self, "classes_"):
            _, tags, old_tags = np.intersect1d(classes, self.classes_, return_indices=True)
            _, rows, old_rows = np.intersect1d(names, self.feature_names_, return_indices=True)
            weights[np.ix_(rows, tags)] = self.state_weights_[np.ix_(old_rows, old_tags)]
            moves = self.transition_weights_[np.ix_(old_tags, old_tags)]
            weights[np.ix_(tags + len(names), tags)] = moves
        return weights.ravel()

    def _given_loss(self) -> Loss:
        """The loss as it is given; where its labels are open, over the tags."""
        names = [label_name(label) for label in self.classes_]
        return base.given_loss(self.loss, self.loss_params, type(self).__name__, names)

    def _loss(self) -> Loss:
        """The loss whose k-th label stands for the k-th tag."""
        positive = getattr(self, "positive_", None)
        return over_classes(self._given_loss(), self.classes_, type(self).__name__, positive)

    def predict(self, X: Any) -> list[list[Any]]:
        """The tags of the greatest expected utility for each sentence."""
        scores = self._scores(X)
        loss = self._loss()
        decided = decode_many(loss, models_of(*scores, loss.alphabet.labels))
        tags = dict(zip(loss.alphabet.labels, self.classes_.tolist(), strict=True))
        return [[tags[label] for label in decision.labels] for decision in decided]

    def predict_single(self, x: Any) -> list[Any]:
        """The tags of the greatest expected utility for one sentence."""
        return self.predict([x])[0]

    def predict_most_probable(self, X: Any) -> list[list[Any]]:
        """The most probable tags of each sentence (Viterbi), as sklearn-crfsuite predicts."""
        scores = self._scores(X)
        return [tags.tolist() for tags in scores[-1].split(self.classes_[most_probable(*scores)])]

    def predict_marginals(self, X: Any) -> list[list[dict[Any, float]]]:
        """The probability of each tag at each position of each sentence, by tag."""
        scores = self._scores(X)
        rows = scores[-1].split(chain_marginals(*scores)[1])
        names = self.classes_.tolist()
        return [[dict(zip(names, row, strict=True)) for row in table.tolist()] for table in rows]

    def predict_marginals_single(self, x: Any) -> list[dict[Any, float]]:
        """The probability of each tag at each position of one sentence, by tag."""
        return self.predict_marginals([x])[0]

    def models(self, X: Any) -> list[Any]:
        """The conditional random field of each sentence, as ``expect`` and ``decode`` take it."""
        return list(models_of(*self._scores(X), [*map(label_name, self.classes_)]))

    def score(self, X: Any, y: Any) -> float:
        """The share of positions whose tag is predicted, as in sklearn-crfsuite."""
        predicted = self.predict(X)
        references = checked_labels(y, [*map(len, predicted)], f"{type(self).__name__}.score")
        return share_of_labels(predicted, references)

    def _examples(self) -> list[Any]:
        """Three inputs that suit any such tagger, unless its loss refuses them."""
        return [[{"": 1.0}]] * 3

    def check_parts(self) -> None:
        """Raises an InputError unless the weights are of these features and tags."""
        check_positive(getattr(self, "positive_", None), type(self).__name__, (None, 0, 1))
        if hasattr(self, "classes_"):
            size = len(self.classes_)
            where = type(self).__name__
            check_shape(self.state_weights_, (len(self.feature_names_), size), where)
            check_shape(self.transition_weights_, (size, size), where)

    def _scores(self, X: Any) -> tuple[Floats, Floats, Lengths]:
        """Scores of tags, (positions, L), of transitions, (L, L), and where sentences stand."""
        check_is_fitted(self)
        sentences = checked_sentences(X, type(self).__name__)
        unary = feature_matrix(sentences, self.feature_names_) @ self.state_weights_
        return unary, self.transition_weights_, Lengths([*map(len, sentences)])
