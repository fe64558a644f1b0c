"""`fsmeu searn train`: a tagger from a file in CoNLL format."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from fsmeu.cli.options import Json

__all__ = ["train_tagger"]

_File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Sentences in CoNLL format: a word, its columns, and its tag in the last one.",
        show_default=False,
    ),
]
_Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="MODEL.npz", help="The file of the model.", show_default=False
    ),
]
_Templates = Annotated[
    str | None,
    typer.Option(
        "--templates",
        "-t",
        metavar="NAME",
        help="chunking, names or words; or a file with a template such as 'pos[-1] pos[0]' on "
        "each line ('cross word[0]' is crossed with the tag before).",
        show_default="chunking, or words where there is one column",
    ),
]
_Loss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        metavar="LOSS",
        help="What is minimised, a name on the shelf or a file.",
        show_default="chunk_fscore for tags O, B-X, I-X, else hamming",
    ),
]
_Space = Annotated[
    str | None,
    typer.Option(
        "--space",
        metavar="NAME",
        help="How tags are decided: left-to-right, word-at-a-time and others.",
        show_default="word-at-a-time for tags O, B-X, I-X, else left-to-right",
    ),
]
_Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of Searn, such as iterations=5, beam=1, learner=perceptron. Repeatable.",
        show_default=False,
    ),
]
_Test = Annotated[
    str | None,
    typer.Option(
        "--test", metavar="FILE", help="Sentences to measure the model on.", show_default=False
    ),
]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Of everything that is drawn.")]


def train_tagger(
    file: _File,
    output: _Output,
    templates: _Templates = None,
    loss: _Loss = None,
    space: _Space = None,
    param: _Params = None,
    test: _Test = None,
    seed: _Seed = 0,
    as_json: Json = False,
) -> None:
    """Trains a tagger on a file, writes it to another, and says what it has seen.

    The file of the model holds no code; 'fsmeu searn predict' reads it.
    """
    from time import process_time

    from fsmeu.cli.output import file_for
    from fsmeu.cli.searn_progress import iterations_bar
    from fsmeu.learning.saving import save
    from fsmeu.searn.tagger import are_chunk_tags
    from fsmeu.searn.tasks.conll import inputs_and_tags, read_sentences
    from fsmeu.searn.tasks.measures import counts_of

    place = file_for("--output", output)
    inputs, tags = inputs_and_tags(read_sentences(file, least=2))
    others = None if test is None else inputs_and_tags(read_sentences(test, least=2))
    chunks = are_chunk_tags(tags)
    loss = loss or ("chunk_fscore" if chunks else "hamming")
    space = space or ("word-at-a-time" if chunks else "left-to-right")
    templates = templates or ("chunking" if len(inputs[0][0]) > 1 else "words")
    model = _made(templates, loss, space, param, seed)
    begin = process_time()
    with iterations_bar("training", model.searn.iterations) as tell:
        model.fit(inputs, tags, on_iteration=lambda number, _: tell(number))
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
        counts = counts_of(model.predict(others[0]), others[1])
        found["test"] = {name: float(value) for name, value in counts.scores().items()}
    _print(found, as_json)


def _made(templates: str, loss: str, space: str, texts: list[str] | None, seed: int) -> Any:
    """The tagger with its parameters.

    Raises:
        InputError: there is no such parameter.
    """
    import inspect

    from fsmeu.cli.classifiers import parameters
    from fsmeu.errors import one_of
    from fsmeu.searn.features.sets import SETS, template_set
    from fsmeu.searn.searn import Searn
    from fsmeu.searn.tagger import ColumnTagger

    given = parameters(texts)
    known = [name for name in inspect.signature(Searn).parameters if name not in _ELSEWHERE]
    for key in given:
        one_of("--param", "a parameter", key, known)
    estimator = Searn(loss, space=space, random_state=seed, **given)
    chosen = template_set(templates)
    if templates in SETS:
        return ColumnTagger(templates, searn=estimator)
    static, crossed = ([_written(one) for one in part] for part in (chosen.static, chosen.crossed))
    return ColumnTagger(static, crossed=crossed, searn=estimator)


_ELSEWHERE = ("loss", "space", "random_state", "bits", "crossed", "checkpoint", "verbose")


def _written(template: Any) -> str:
    return " ".join(f"{column}[{offset}]" for column, offset in template)


def _print(found: dict[str, Any], as_json: bool) -> None:
    from fsmeu.cli.output import print_json, print_table, table

    if as_json:
        print_json(found)
        return
    made = table("", "value", right=("value",))
    for key, value in found.items():
        if key == "test":
            made.add_section()
            for name, number in value.items():
                made.add_row(f"test {name}", f"{number:.4f}")
        else:
            made.add_row(key, f"{value:,}" if isinstance(value, int) else str(value))
    print_table(made)
