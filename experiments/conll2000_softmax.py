"""CoNLL-2000: what deciding for expected chunk F1 brings to a field, and to a softmax per token.

Two models are trained on the same sentences with the same features, and the test set is tagged:

- a linear-chain conditional random field, by its most probable tags (Viterbi), and by the tags of
  the greatest expected chunk F1 (MEU);
- a logistic regression of each token by itself, whose tags are independent: by the most probable
  tag of each token (argmax), by MEU of the model as it is, and by the most probable tags and by
  MEU of the model given that the tags are well formed, ``model.given(fsmeu.constraints.bio())``.

Independent tags give much of their probability to sequences that no reference has, such as O I-NP;
the expectation of the model as it is counts these too.

    ./run python experiments/conll2000_softmax.py [--sentences 300] [--tested 2012] [--quick]
    ./run python experiments/conll2000_softmax.py --why [--beta 2] [--draws 3] [--sentences 300] ...

About a minute and a half of one processor. The data: ``fetch.py conll2000``. ``--quick`` trains on
40 sentences and tags 40.

``--why`` asks why deciding for a chunk F-score can lower it. It takes several random training sets
and sentences that are held out of each. What may be at fault is changed one by one: the temperature
(calibrated on the held-out sentences), which hypotheses are allowed (``constraint``), what is known
of the reference (``given``), the score of each sentence or of the corpus, what 0/0 is worth, and
the independence of the tags, which is replaced by a matrix of transitions or a field. Beside each
decision stands what its model expects. A minute and a half of one processor for each training set.

Seen with 300 sentences, chunk F1 of the test set: CRF .8956 (Viterbi), .8997 (MEU); softmax .8864
(argmax), .8896 (MEU), and given well-formed tags .8886 (most probable), .8922 (MEU). MEU costs tags
that are right: of the softmax, .9316 are by argmax and .9224 by MEU given well-formed tags.
Seen with ``--why``, means of three training sets, F2 with the interval of the difference to argmax:
softmax .8892 (argmax), .8854 (MEU, -.0053 to -.0022); given well-formed tags .8875 (MEU, -.0029 to
-.0004); with transitions .8925 (MEU, +.0019 to +.0048); CRF .8957 (MEU, +.0048 to +.0082). Of the
23,852 chunks 25,130, 24,600, 24,072 and 23,892 are expected by these models.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from conll2000_crf import (
    SENTENCES,
    Sentence,
    accuracy,
    chunk_fscore,
    crf_models,
    drawn,
    features,
    read,
    tags,
    trained_crf,
)
from data_folder import run_script
from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

import fsmeu
from fsmeu.arrays import Floats
from fsmeu.models import Independent, Model
from searn.measures import Counts, counts_of, interval

Tagged = list[list[str]]
BIO = fsmeu.constraints.bio()
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The weights of transitions that are tried on held-out sentences."""
CHUNKS = fsmeu.loads("""
utility chunks "number of chunks of the reference, as chunk_fscore counts them"
labels bio
memory  ty of type(y) last 1
count   ref when kind(y) == "B" or kind(y) == "I" and ty[0] != old ty[0]
value   ref
""")


@dataclass(frozen=True)
class Row:
    """One way to tag the test set.

    Attributes:
        model: the model, in words.
        way: how it decides, in words.
        fscore: chunk F1 of the test set, as conlleval counts it.
        accuracy: the share of tags that are right.
        seconds: processor time for tagging.
    """

    model: str
    way: str
    fscore: float
    accuracy: float
    seconds: float


def softmax_models(train: list[Sentence], test: list[Sentence]) -> list[Independent]:
    """Independent tags for each test sentence, by logistic regression of the tokens."""
    known = [row for sentence in train for row in features(sentence)]
    reader = CountVectorizer(analyzer=list, binary=True, dtype=np.float64)
    classifier = LogisticRegression(C=1.0, max_iter=200)
    classifier.fit(reader.fit_transform(known), [tag for one in train for tag in tags(one)])
    rows = reader.transform([row for sentence in test for row in features(sentence)])
    found = classifier.predict_proba(rows)
    ends = np.cumsum([len(sentence) for sentence in test])[:-1]
    return [Independent(part, classifier.classes_.tolist()) for part in np.split(found, ends)]


def decided(models: list[fsmeu.models.Model]) -> Tagged:
    """The tags of the greatest expected chunk F1."""
    found = fsmeu.decode_many(fsmeu.load("chunk_fscore"), models)
    return [list(map(str, one.labels)) for one in found]


def argmax(models: list[Independent]) -> Tagged:
    """The most probable tag of each token."""
    return [[str(one.labels[k]) for k in one.probabilities.argmax(axis=1)] for one in models]


def most_probable(models: list[fsmeu.models.Model]) -> Tagged:
    """The most probable tags of each sentence."""
    found = fsmeu.decode_many(fsmeu.load("zero_one"), models)
    return [list(map(str, one.labels)) for one in found]


def run(train: list[Sentence], test: list[Sentence]) -> list[Row]:
    """All ways to tag the test set."""
    given = [tags(one) for one in test]
    rows: list[Row] = []

    def tell(model: str, way: str, tag: Callable[[], Tagged]) -> None:
        begin = time.process_time()
        found = tag()
        seconds = time.process_time() - begin
        score = chunk_fscore(found, given)
        rows.append(Row(model, way, score, accuracy(found, given), seconds))
        print(f"{model}, {way}: F1 {score:.4f}", flush=True)

    fields = crf_models(trained_crf(train), test)
    tell("CRF", "Viterbi", lambda: most_probable(fields))
    tell("CRF", "MEU", lambda: decided(fields))
    models = softmax_models(train, test)
    formed = fsmeu.constraints.bio()
    tell("softmax", "argmax", lambda: argmax(models))
    tell("softmax", "MEU", lambda: decided(models))
    given_form = [one.given(formed) for one in models]
    tell("softmax", "most probable, well formed", lambda: most_probable(given_form))
    tell("softmax", "MEU, well formed", lambda: decided(given_form))
    return rows


def show(rows: list[Row]) -> None:
    """Prints the table."""
    table = Table("model", "decision", "chunk F1", "accuracy", "tagging (s)")
    for row in rows:
        numbers = (f"{row.fscore:.4f}", f"{row.accuracy:.4f}", f"{row.seconds:.1f}")
        last = (row.model, row.way) == ("CRF", "MEU")
        table.add_row(row.model, row.way, *numbers, end_section=last)
    Console(width=100).print(table)


# -- why a decision for a score can lower it -------------------------------------------------------


@dataclass(frozen=True)
class Weighted(Counts):
    """Chunk counts with one score, F-beta.

    Attributes:
        beta: the weight of recall.
    """

    beta: float = 1.0

    def scores(self, weights: Floats | None = None) -> dict[str, Floats]:
        """F-beta of the chunks under the name "F"; () or (...), as that of ``Counts``."""
        held = np.ones(len(self.amounts)) if weights is None else weights
        right, found, given = np.moveaxis(held @ self.amounts[:, :3], -1, 0)
        square = self.beta**2
        return {"F": (1 + square) * right / (found + square * given)}


@dataclass(frozen=True)
class Decided:
    """What one way to tag the test set gives with one training set.

    Attributes:
        model: the model, in words.
        way: how it decides, in words.
        measured: the counts of each test sentence.
        expected: F-beta of the corpus that the model expects of these tags.
        chunks: the number of chunks that the model expects of the reference.
    """

    model: str
    way: str
    measured: Weighted
    expected: float
    chunks: float


def transition_scores(train: Sequence[Sentence], labels: Sequence[object]) -> Floats:
    """How much more often tags are neighbours than if they were independent, (L, L) logarithms.

    One is added to the counts and to what they would be.
    """
    place = {label: k for k, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)))
    for sentence in train:
        for before, after in pairwise(tags(sentence)):
            counts[place[before], place[after]] += 1
    alone = counts.sum(axis=1)[:, None] * counts.sum(axis=0) / counts.sum()
    return np.asarray(np.log((counts + 1) / (alone + 1)))


def with_transitions(models: Sequence[Independent], scores: Floats) -> list[Model]:
    """Chains of the softmax of each token and scores of neighbours, given well-formed tags."""
    made = []
    for one in models:
        unary = np.log(np.maximum(one.probabilities, 1e-12))
        made.append(fsmeu.models.from_potentials(unary, scores, one.labels).given(BIO))
    return made


def likelihood(models: Sequence[Model], references: Tagged) -> float:
    """The mean logarithm of the probability of a reference."""
    pairs = zip(models, references, strict=True)
    return float(np.mean([model.log_probability(y) for model, y in pairs]))


class Inquiry:
    """The ways to tag the test set that are compared, with one training set."""

    def __init__(
        self,
        train: list[Sentence],
        held_out: list[Sentence],
        test: list[Sentence],
        beta: float,
    ) -> None:
        """Trains the softmax and looks for what suits held-out sentences."""
        self.train = train
        self.test = test
        self.references = [tags(one) for one in test]
        self.beta = beta
        self.loss = fsmeu.load("chunk_fscore", beta=beta)
        self.chunks: dict[str, float] = {}
        models = softmax_models(train, held_out + test)
        self.softmax = models[len(held_out) :]
        known = set(self.softmax[0].labels)
        pairs = zip(models, map(tags, held_out), strict=False)
        usable = [(model, y) for model, y in pairs if known.issuperset(y)]
        self.held_models = [model for model, _ in usable]
        self.held_tags = [y for _, y in usable]
        self.found: list[Decided] = []

    def tell(self, model: str, way: str, found: Tagged, models: Sequence[Model]) -> None:
        """Keeps and prints what these tags give."""
        measured = Weighted(counts_of(found, self.references).amounts, self.beta)
        expected = fsmeu.expect_corpus(self.loss, found, models).value
        if model not in self.chunks:  # which no hypothesis changes
            self.chunks[model] = float(np.sum(fsmeu.expect_many(CHUNKS, found, models).values))
        self.found.append(Decided(model, way, measured, expected, self.chunks[model]))
        score = float(measured.scores()["F"])
        print(f"{model}, {way}: F{self.beta:g} {score:.4f}, expected {expected:.4f}", flush=True)

    def decide(self, model: str, way: str, models: Sequence[Model], **options: object) -> Tagged:
        """Tags each sentence by the greatest expected score and tells it; the tags."""
        loss = fsmeu.load("chunk_fscore", beta=self.beta, empty=options.pop("empty", 1))
        decisions = fsmeu.decode_many(loss, models, **options)
        found = [list(map(str, one.labels)) for one in decisions]
        self.tell(model, way, found, models)
        return found

    def decide_corpus(self, model: str, models: Sequence[Model]) -> None:
        """Tags all sentences by the greatest expected score of the corpus and tells it."""
        found = fsmeu.decode_corpus(self.loss, models, gap=1e-4).labels
        self.tell(model, "MEU of the corpus", [list(map(str, one)) for one in found], models)

    def run(self) -> list[Decided]:
        """All ways."""
        self.independent()
        self.well_formed()
        self.chains()
        fields = crf_models(trained_crf(self.train), self.test)
        self.tell("CRF", "Viterbi", most_probable(fields), fields)
        self.decide("CRF", "MEU", fields)
        return self.found

    def independent(self) -> None:
        """Decisions of the softmax as it is."""
        models = self.softmax
        self.tell("softmax", "argmax", argmax(models), models)
        self.tell_if_true("softmax", self.decide("softmax", "MEU", models), models)
        self.decide("softmax", "MEU, constraint=bio()", models, constraint=BIO)
        self.decide("softmax", "MEU, 0/0 is 0", models, empty=0)
        self.decide_corpus("softmax", models)
        calibrated = fsmeu.calibrate(self.held_models, self.held_tags)
        name = "softmax, calibrated"
        print(f"temperature of the {name}: {calibrated.temperature:.3f}")
        self.decide(name, "MEU", [calibrated(one) for one in models])

    def well_formed(self) -> None:
        """Decisions of the softmax given well-formed tags."""
        models = [one.given(BIO) for one in self.softmax]
        held = [one.given(BIO) for one in self.held_models]
        self.tell_tags(models)
        formed = most_probable(models)
        pairs = list(zip(self.softmax, models, formed, strict=True))
        logs = [one.log_probability(z) - other.log_probability(z) for one, other, z in pairs]
        print(f"mean probability of well-formed tags under the softmax: {np.exp(logs).mean():.4f}")
        self.tell("given bio()", "most probable", formed, models)
        self.tell_if_true("given bio()", self.decide("given bio()", "MEU", models), models)
        self.decide_corpus("given bio()", models)
        calibrated = fsmeu.calibrate(held, self.held_tags)
        print(f"temperature given bio(): {calibrated.temperature:.3f}")
        self.decide("given bio(), calibrated", "MEU", [calibrated(one) for one in models])

    def tell_if_true(self, name: str, found: Tagged, models: Sequence[Model]) -> None:
        """Prints what argmax and MEU would score if references were drawn from the model."""
        references = [list(map(str, one.sample(seed=k))) for k, one in enumerate(models)]
        measured = [
            Weighted(counts_of(z, references).amounts, self.beta)
            for z in (argmax(self.softmax), found)
        ]
        plain, decided_for = (float(one.scores()["F"]) for one in measured)
        print(f"references drawn from {name}: argmax {plain:.4f}, MEU {decided_for:.4f}")

    def tell_tags(self, models: Sequence[Model]) -> None:
        """Prints whether single tags are as probable as they are right, and tags B as many."""
        labels = list(self.softmax[0].labels)
        begins = [str(label).startswith("B") for label in labels]
        given = np.array([label for one in self.references for label in one])
        for name, several in (("softmax", self.softmax), ("given bio()", models)):
            rows = np.concatenate([one.marginals() for one in several])
            best = np.array(labels)[rows.argmax(axis=1)]
            sure, right = rows.max(axis=1).mean(), np.mean(best == given)
            count = sum(label.startswith("B") for label in given)
            print(
                f"tags of the {name}: sure {sure:.4f}, right {right:.4f}, "
                f"B expected {rows[:, begins].sum():,.0f} of {count:,}"
            )

    def chains(self) -> None:
        """Decisions of the softmax with transitions, whose weight suits the held-out sentences."""
        scores = transition_scores(self.train, self.softmax[0].labels)

        def suits(share: float) -> float:
            return likelihood(with_transitions(self.held_models, share * scores), self.held_tags)

        share = max(SHARES, key=suits)
        models = with_transitions(self.softmax, share * scores)
        held = with_transitions(self.held_models, share * scores)
        calibrated = fsmeu.calibrate(held, self.held_tags)
        print(f"weight of transitions: {share}, temperature {calibrated.temperature:.3f}")
        self.tell("with transitions", "most probable", most_probable(models), models)
        self.decide("with transitions", "MEU", models)
        self.decide("with transitions, calibrated", "MEU", [calibrated(one) for one in models])


def inquire(sentences: int, tested: int, draws: int, beta: float) -> list[list[Decided]]:
    """What is found with each of several random training sets, as many sentences held out."""
    train, test = read("train"), read("test")[:tested]
    found = []
    for seed in range(draws):
        print(f"training set {seed}", flush=True)
        both = drawn(train, 2 * sentences, seed)
        found.append(Inquiry(both[:sentences], both[sentences:], test, beta).run())
    return found


def show_inquiry(found: list[list[Decided]], beta: float) -> None:
    """Prints means over training sets, and 95% intervals of differences.

    Decisions are compared with argmax of the softmax, and with the first decision of their model.
    """
    heads = (f"F{beta:g}", "expected", "to argmax", "better", "to most probable")
    table = Table("model", "decision", *heads, "chunks expected", "decided")
    first = [one[0].measured for one in found]
    by_model: dict[str, list[Weighted]] = {}
    for same in zip(*found, strict=True):
        own = [one.measured for one in same]
        usual = by_model.setdefault(same[0].model.partition(",")[0], own)
        better = sum(a.scores()["F"] > b.scores()["F"] for a, b in zip(own, first, strict=True))
        table.add_row(
            same[0].model,
            same[0].way,
            f"{np.mean([one.scores()['F'] for one in own]):.4f}",
            f"{np.mean([one.expected for one in same]):.4f}",
            _difference(own, first),
            f"{better} of {len(own)}",
            "" if usual is own else _difference(own, usual),
            f"{np.mean([one.chunks for one in same]):,.0f}",
            f"{np.mean([one.amounts[:, 1].sum() for one in own]):,.0f}",
        )
    Console(width=180).print(table)
    print(f"chunks of the reference: {first[0].amounts[:, 2].sum():,.0f}")


def _difference(own: Sequence[Weighted], other: Sequence[Weighted]) -> str:
    """The mean difference with its interval."""
    lead = interval(own, "F", less=other)
    return f"{lead.value:+.4f} ({lead.low:+.4f} to {lead.high:+.4f})"


def main() -> None:
    """Runs the experiment."""
    parser = argparse.ArgumentParser(description="CoNLL-2000: a field and a softmax per token.")
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="of the training set")
    parser.add_argument("--tested", type=int, default=2012, help="sentences of the test set")
    parser.add_argument("--quick", action="store_true", help="40 sentences, 40 tagged")
    parser.add_argument("--why", action="store_true", help="why a decision can lower its score")
    parser.add_argument("--beta", type=float, default=2.0, help="of the F-score, with --why")
    parser.add_argument("--draws", type=int, default=3, help="random training sets, with --why")
    given = parser.parse_args()
    if given.quick:
        given.sentences, given.tested, given.draws = 40, 40, 2
    if given.why:
        found = inquire(given.sentences, given.tested, given.draws, given.beta)
        show_inquiry(found, given.beta)
        return
    show(run(drawn(read("train"), given.sentences), read("test")[: given.tested]))


if __name__ == "__main__":
    run_script(main)
