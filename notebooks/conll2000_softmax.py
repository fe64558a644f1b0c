"""CoNLL-2000: what deciding for expected chunk F1 brings to a field, and to a softmax per token.

Two models are trained on the same sentences with the same features, and the test set is tagged:

- a linear-chain conditional random field, by its most probable tags (Viterbi), and by the tags of
  the greatest expected chunk F1 (MEU);
- a logistic regression of each token by itself, whose tags are independent: by the most probable
  tag of each token (argmax), by MEU of the model as it is, and by the most probable tags and by
  MEU of the model given that the tags are well formed, ``model.given(fsmeu.constraints.bio())``.

Independent tags give much of their probability to sequences that no reference has, such as O I-NP;
the expectation of the model as it is counts these too.

    ./run python notebooks/conll2000_softmax.py [--sentences 300] [--tested 2012] [--quick]

About a minute and a half of one processor. The data are found as for ``conll2000_tagger.py``.
``--quick`` trains on 40 sentences and tags 40.

Seen with 300 sentences, chunk F1 of the test set: field .8853 (Viterbi), .8929 (MEU); softmax .8808
(argmax), .8855 (MEU), and given well-formed tags .8826 (most probable), .8872 (MEU). MEU costs tags
that are right: of the softmax, .9285 are by argmax and .9168 by MEU given well-formed tags.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from conll2000_tagger import Sentence, accuracy, chunk_fscore, features, read, tags
from rich.console import Console
from rich.table import Table
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

import fsmeu
from fsmeu.learning.tagger import MaxExpectedUtilityTagger
from fsmeu.models import Independent

Tagged = list[list[str]]


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


def field(train: list[Sentence]) -> MaxExpectedUtilityTagger:
    """A conditional random field, trained by likelihood."""
    made = MaxExpectedUtilityTagger(likelihood_iterations=60, utility_iterations=0)
    return made.fit([features(one) for one in train], [tags(one) for one in train])


def decided(models: list[fsmeu.models.Model]) -> Tagged:
    """The tags of the greatest expected chunk F1."""
    found = fsmeu.decode_many(fsmeu.load("chunk_fscore"), models)
    return [list(map(str, one.labels)) for one in found]


def argmax(models: list[Independent]) -> Tagged:
    """The most probable tag of each token."""
    return [[str(one.labels[k]) for k in one.probabilities.argmax(axis=1)] for one in models]


def most_probable(models: list[fsmeu.models.Model]) -> Tagged:
    """The most probable tags of each sentence."""
    return [list(map(str, one.most_probable(1)[0][0])) for one in models]


def run(train: list[Sentence], test: list[Sentence]) -> list[Row]:
    """All ways to tag the test set."""
    given = [tags(one) for one in test]
    held = [features(one) for one in test]
    rows: list[Row] = []

    def tell(model: str, way: str, tag: Callable[[], Tagged]) -> None:
        begin = time.process_time()
        found = tag()
        seconds = time.process_time() - begin
        score = chunk_fscore(found, given)
        rows.append(Row(model, way, score, accuracy(found, given), seconds))
        print(f"{model}, {way}: F1 {score:.4f}", flush=True)

    tagger = field(train)
    tell("field", "Viterbi", lambda: tagger.predict_most_probable(held))
    tell("field", "MEU", lambda: tagger.predict(held))
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
        last = (row.model, row.way) == ("field", "MEU")
        table.add_row(row.model, row.way, *numbers, end_section=last)
    Console(width=100).print(table)


def main() -> None:
    """Runs the experiment."""
    parser = argparse.ArgumentParser(description="CoNLL-2000: a field and a softmax per token.")
    parser.add_argument("--sentences", type=int, default=300, help="of the training set")
    parser.add_argument("--tested", type=int, default=2012, help="sentences of the test set")
    parser.add_argument("--quick", action="store_true", help="40 sentences, 40 tagged")
    given = parser.parse_args()
    if given.quick:
        given.sentences, given.tested = 40, 40
    show(run(read("train")[: given.sentences], read("test")[: given.tested]))


if __name__ == "__main__":
    main()
