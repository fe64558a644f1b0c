"""Taggers of sentences in columns, as `fsmeu train` makes and `fsmeu predict` applies them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

from fsmeu.cli import options as opt
from fsmeu.cli.models import estimating, parameters
from fsmeu.cli.output import fourths, note, print_json, write_output
from fsmeu.corpora.columns import inputs_and_tags, read_sentences, written
from fsmeu.corpora.score import are_chunk_tags, tag_scores
from fsmeu.errors import one_of
from fsmeu.learning.saving import save
from fsmeu.searn.features.templates import SETS, template_set
from fsmeu.searn.searn import Searn
from fsmeu.searn.tagger import ColumnTagger

_SETTINGS = ("loss", "space", "random_state", "bits", "crossed", "checkpoint", "verbose")


@dataclass(frozen=True)
class TaggerOptions:
    """What a tagger is made of."""

    panel = "Taggers"

    searn: bool = opt.option(
        "--searn",
        "Train a tagger by SEARN.",
    )
    templates: str | None = opt.option(
        "--templates -t NAME",
        "chunking, names or words; or a file with a template such as 'pos[-1] pos[0]' on each line "
        "('cross word[0]' is crossed with the tag before).",
        unset="chunking, or words where there is one column",
    )
    loss: str | None = opt.option(
        "--loss -l LOSS",
        "What is minimised, a built-in loss or a file.",
        unset="chunk_fscore for tags O, B-X, I-X, else hamming",
    )
    space: str | None = opt.option(
        "--space NAME",
        "How tags are decided: left-to-right, word-at-a-time and others.",
        unset="word-at-a-time for tags O, B-X, I-X, else left-to-right",
    )


def train_tagger(
    files: tuple[str, str | None],
    place: Path,
    given: TaggerOptions,
    param: list[str] | None,
    seed: int,
) -> dict[str, Any]:
    """Trains a tagger by SEARN and saves it; returns what it has seen and how good it is."""
    inputs, tags = inputs_and_tags(read_sentences(files[0], least=2))
    others = None if files[1] is None else inputs_and_tags(read_sentences(files[1], least=2))
    chunks = are_chunk_tags(tags)
    templates = given.templates or ("chunking" if len(inputs[0][0]) > 1 else "words")
    loss = given.loss or ("chunk_fscore" if chunks else "hamming")
    space = given.space or ("word-at-a-time" if chunks else "left-to-right")
    model = _made_tagger(templates, loss, space, parameters(param), seed)
    begin = process_time()
    with estimating("train", "training", model.searn.iterations) as tell:
        model.fit(inputs, tags, on_iteration=lambda number, _: tell(completed=number))
    seconds = process_time() - begin
    save(model, place)
    found: dict[str, Any] = {
        "sentences": len(inputs),
        "words": sum(len(one) for one in inputs),
        "tags": len({tag for one in tags for tag in one}),
        "templates": templates,
        "loss": loss,
        "space": space,
        "seconds": round(seconds, 3),
    }
    if others is not None:
        found["test"] = tag_scores(model.predict(others[0]), others[1])
    return found


def _made_tagger(templates: str, loss: str, space: str, given: dict[str, Any], seed: int) -> Any:
    known = [name for name in inspect.signature(Searn).parameters if name not in _SETTINGS]
    for key in given:
        one_of("--param", "a parameter", key, known)
    estimator = Searn(loss, space=space, random_state=seed, **given)
    chosen = template_set(templates)
    if templates in SETS:
        return ColumnTagger(templates, searn=estimator)
    static, crossed = (
        [" ".join(f"{column}[{offset}]" for column, offset in template) for template in part]
        for part in (chosen.static, chosen.crossed)
    )
    return ColumnTagger(static, crossed=crossed, searn=estimator)


def predict_tags(made: Any, file: str, output: str, beam: int | None, as_json: bool) -> None:
    """Writes sentences with a column of predicted tags, as 'fsmeu score' reads them."""
    if beam is not None:
        made.searn_.set_params(beam=beam)
    sentences = read_sentences(file, least=made.width_)
    inputs, given = sentences, None
    if len(sentences[0][0]) == made.width_ + 1:
        inputs, given = inputs_and_tags(sentences)
    tags = made.predict(inputs)
    found = None if given is None else tag_scores(tags, given)
    if as_json:
        print_json({"tags": tags, "measures": found})
        return
    write_output(output, written(sentences, tags))
    if found is not None:
        note(fourths(found))
