"""CoNLL-2000: the decision for the number that is reported, F1 of all chunks of the test set.

A linear-chain conditional random field (sklearn-crfsuite) is trained, and the test set is tagged in
three ways:

- Viterbi: the most probable tags of each sentence;
- MEU by sentence: for each sentence the tags of the greatest expected chunk F1 of this sentence;
- MEU of the corpus: the tags of all sentences with the greatest expected chunk F1 of the corpus,
  ``fsmeu.decode_corpus``, with bounds of the best that any tags can reach.

For each: chunk F1 of the test set against its reference tags, its expectation under the field
(``fsmeu.expect_corpus``), how far that may be below the best expectation, the processor time of the
decision, and the most memory that the process had used by then.

    ./run python experiments/conll2000_corpus.py [--sentences 300 8936] [--tested 2012] [--gap 1e-5]
        [--quick]

The decisions take a minute of one processor for each training set, beside the training, and up to
1.5 GB of memory. The data are found as for ``conll2000_tagger.py``. ``--quick`` trains on 40
sentences and tags 40.

Seen, chunk F1 of the test set by Viterbi, by sentence and of the corpus: .8790, .8871 and .8882
with 300 sentences, .9386, .9386 and .9385 with all 8,936. Its expectation: .836794, .843467 and
.843823; .941662, .942738 and .942805. The last of these is proven to be at most 3e-9 below the best
with 300 sentences, after three totals, and at most 6e-6 with all, after two. What is decided for is
what the field believes: with all sentences it expects .0011 more than of Viterbi's tags, and the
reference tags do not bear that out.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conll2000_tagger import Sentence, chunk_fscore, features, read, tags
from rich.console import Console
from rich.table import Table

import fsmeu

Tagged = list[list[str]]


@dataclass(frozen=True)
class Row:
    """One way to tag the test set.

    Attributes:
        sentences: how many sentences were trained on.
        way: the way, in words.
        fscore: chunk F1 of the test set, as conlleval counts it.
        expected: its expectation under the field.
        below: how far that may be below the best expectation; none where nothing is proven.
        seconds: processor time of the decision.
        memory: gigabytes that the process had used at most.
    """

    sentences: int
    way: str
    fscore: float
    expected: float
    below: float | None
    seconds: float
    memory: float


def trained(train: list[Sentence]) -> Any:
    """A conditional random field of sklearn-crfsuite; ends the program where it is missing."""
    try:
        from sklearn_crfsuite import CRF
    except ImportError:
        sys.exit("sklearn-crfsuite is not installed; it is part of the extra 'crf'.")
    field = CRF(
        algorithm="lbfgs",
        c2=1.0,
        min_freq=2 if len(train) > 1000 else 0,
        max_iterations=60,
        all_possible_transitions=True,
    )
    return field.fit([features(one) for one in train], [tags(one) for one in train])


def texts(labels: list[Any]) -> list[str]:
    """Labels as tags."""
    return [str(label) for label in labels]


def most_probable(models: list[fsmeu.models.Model]) -> Tagged:
    """The most probable tags of each sentence."""
    return [texts(model.most_probable(1)[0][0]) for model in models]


def by_sentence(loss: Any, models: list[fsmeu.models.Model]) -> Tagged:
    """For each sentence the tags of its greatest expected chunk F1."""
    return [texts(one.labels) for one in fsmeu.decode_many(loss, models)]


def run(train: list[Sentence], test: list[Sentence], gap: float) -> list[Row]:
    """The three ways to tag the test set."""
    field, loss = trained(train), fsmeu.load("chunk_fscore", empty=0)
    models = [fsmeu.models.from_crfsuite(field, features(one)) for one in test]
    given = [tags(one) for one in test]
    rows: list[Row] = []

    def tell(way: str, tag: Callable[[], tuple[Tagged, float | None]]) -> None:
        begin = time.process_time()
        found, below = tag()
        seconds = time.process_time() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = peak / (1e9 if sys.platform == "darwin" else 1e6)
        score = chunk_fscore(found, given)
        expected = fsmeu.expect_corpus(loss, found, models).value
        rows.append(Row(len(train), way, score, expected, below, seconds, memory))
        print(f"{len(train):,} sentences, {way}: F1 {score:.4f}, expected {expected:.6f}")

    def of_corpus() -> tuple[Tagged, float]:
        found = fsmeu.decode_corpus(loss, models, gap=gap, progress=bounds)
        return [texts(one) for one in found.labels], found.upper - found.value

    tell("Viterbi", lambda: (most_probable(models), None))
    tell("MEU by sentence", lambda: (by_sentence(loss, models), None))
    tell("MEU of the corpus", of_corpus)
    return rows


def bounds(done: float, note: str) -> None:
    """Shows the bounds of the best expected value."""
    print(note, flush=True)


def show(rows: list[Row]) -> None:
    """Prints the table."""
    table = Table(
        "trained on", "decision", "chunk F1", "expected", "below best by", "seconds", "GB"
    )
    for row in rows:
        below = "" if row.below is None else f"at most {row.below:.1e}"
        numbers = (f"{row.fscore:.4f}", f"{row.expected:.6f}", below)
        cost = (f"{row.seconds:.1f}", f"{row.memory:.1f}")
        last = row.way == "MEU of the corpus"
        table.add_row(f"{row.sentences:,}", row.way, *numbers, *cost, end_section=last)
    Console(width=110).print(table)


def main() -> None:
    """Runs the experiment."""
    parser = argparse.ArgumentParser(description="CoNLL-2000: the decision for F1 of the corpus.")
    parser.add_argument("--sentences", type=int, nargs="+", default=[300, 8936])
    parser.add_argument("--tested", type=int, default=2012, help="sentences of the test set")
    parser.add_argument("--gap", type=float, default=1e-5, help="how far bounds may stay apart")
    parser.add_argument("--quick", action="store_true", help="40 sentences, 40 tagged")
    given = parser.parse_args()
    if given.quick:
        given.sentences, given.tested = [40], 40
    train, test = read("train"), read("test")[: given.tested]
    show([row for size in given.sentences for row in run(train[:size], test, given.gap)])


if __name__ == "__main__":
    main()
