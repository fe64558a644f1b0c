"""CoNLL-2000: label models of the test set as JSON lines, and what `fsmeu score` says of them.

A model is trained on sentences of the training set, and its distribution over the tags of every
test sentence is written beside the tags that are given. `fsmeu score` then decides in three ways
(Viterbi, the most probable tag of each token, the greatest expected chunk F1) and scores them on
the level of sentences and of the corpus, with bootstrap intervals.

    ./run python experiments/conll2000_score.py crf [--sentences 300] [--seed 0] [--folds 0]
        [-o FILE] [-- ...]
    ./run python experiments/conll2000_score.py softmax [--sentences 300] [--seed 0] [-o FILE]

The first is a linear-chain conditional random field of sklearn-crfsuite, the second a logistic
regression of each token, scored as it is and given well-formed tags (`--given bio`). Sentences are
drawn at random; `--sentences 0` takes all. The data: ``fetch.py conll2000``; the lines go to
out/conll2000_crf.jsonl.gz or out/conll2000_softmax.jsonl.gz. A minute and a half of one processor
for the first, two for the second. `--decide` and further options of `fsmeu score` follow after
`--`. With `--folds 5`, five more fields are trained, each without a fifth of the sentences; what
they say of that fifth is written beside the first file, and the models of the test set decide at
the temperature that suits it (`fsmeu score --calibrate`).

Seen with 300 sentences (seed 0), chunk F1 of the corpus with the 95% interval of its difference to
Viterbi: field .8956 (Viterbi), .8944 (marginal, -.0024 to -.0001), .8997 (MEU, +.0027 to +.0053),
.9005 (MEU of the corpus, `-- --decide viterbi,corpus`, +.0035 to +.0062); softmax .8864 (Viterbi),
.8896 (MEU, +.0013 to +.0050), and given well-formed tags .8886 (Viterbi), .8828 (marginal), .8922
(MEU, +.0020 to +.0051). MEU costs tags that are right: .9348 are by Viterbi of the field, .9295 by
MEU. With --folds 5 the temperature is 1.132, and MEU of the corpus has .9013 (+.0040 to +.0072).
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from conll2000_crf import (
    SENTENCES,
    Sentence,
    crf_models,
    drawn,
    features,
    new_crf,
    read,
    tags,
    trained_crf,
)
from conll2000_softmax import softmax_models
from data_folder import run_script
from rich.progress import track

import fsmeu
from fsmeu.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
DIGITS = 6
"""Of the potentials: what crfsuite tells of its weights."""
LOSSES = ("chunk_fscore", "accuracy")


def out_of_fold(train: list[Sentence], folds: int) -> list[fsmeu.models.Model]:
    """The distribution over the tags of each sentence, of a field that was trained without it."""
    inputs = [features(one) for one in train]
    outputs = [tags(one) for one in train]
    make = fsmeu.models.from_crfsuite
    return fsmeu.learning.cross_val_models(new_crf(), inputs, outputs, model=make, cv=folds)


def write(
    path: Path, models: Iterable[fsmeu.models.Model], test: list[Sentence], quiet: bool = False
) -> Path:
    """Writes a line for each test sentence: its model, and its tags under "y"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = zip(models, test, strict=True)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=4) as file:
        for model, one in track(pairs, "writing", len(test), disable=quiet, transient=True):
            data = model.to_json()
            if data["model"] == "potentials":
                data = {key: rounded(value) for key, value in data.items()}
            file.write(json.dumps({**data, "y": tags(one)}) + "\n")
    return path


def rounded(value: object) -> object:
    """The numbers of nested lists with a few digits."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def main() -> None:
    """Trains, writes and scores."""
    parser = argparse.ArgumentParser(description="CoNLL-2000: models written and scored.")
    parser.add_argument("kind", choices=["crf", "softmax"])
    parser.add_argument("--sentences", type=int, default=SENTENCES, help="of training, 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="of the sentences that are drawn")
    parser.add_argument("--folds", type=int, default=0, help="to calibrate a field by, 0 for none")
    parser.add_argument("--tested", type=int, default=2012, help="sentences of the test set")
    parser.add_argument("--output", "-o", type=Path, help="the file of the models")
    parser.epilog = "Options of fsmeu score follow after --."
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given, more_options = parser.parse_args(sys.argv[1:end]), sys.argv[end + 1 :]
    sentences = read("train")
    train = drawn(sentences, given.sentences, given.seed)
    test = read("test")[: given.tested]
    file = given.output or ROOT / "out" / f"conll2000_{given.kind}.jsonl.gz"
    is_crf = given.kind == "crf"
    models = crf_models(trained_crf(train), test) if is_crf else softmax_models(train, test)
    write(file, models, test)
    command = ["score", *LOSSES, str(file)]
    if is_crf and given.folds:
        numbers = {id(one): k for k, one in enumerate(sentences)}
        in_order = sorted(train, key=lambda one: numbers[id(one)])  # folds are of neighbours
        held_out = file.with_name("conll2000_held_out.jsonl.gz")
        write(held_out, out_of_fold(in_order, given.folds), in_order)
        command += ["--calibrate", str(held_out)]
    for more in [[]] if is_crf else [[], ["--given", "bio"]]:
        words = [*command, *more, *more_options]
        print(f"\n$ fsmeu {' '.join(words)}", flush=True)
        app(words, standalone_mode=False)


if __name__ == "__main__":
    run_script(main)
