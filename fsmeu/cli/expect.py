"""`fsmeu expect`: the expected value of a hypothesis under a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsmeu.cli.options import (
    EngineName,
    Hypothesis,
    Json,
    Keep,
    LabelList,
    LossName,
    ModelFile,
    ParamList,
    Probabilities,
    TypeList,
)

if TYPE_CHECKING:
    from fsmeu.expectation.result import Expectation

__all__ = ["QUANTILES", "ask", "expect_value"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def expect_value(
    loss: LossName,
    z: Hypothesis,
    probs: Probabilities = None,
    model: ModelFile = None,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    engine: EngineName = "lattice",
    keep: Keep = None,
    as_json: Json = False,
) -> None:
    """Prints the expected value of a hypothesis under a model.

    The reference follows the model. With --keep, the value is the part that was kept; bounds on the
    whole are said on stderr.
    """
    import typer

    from fsmeu.cli.output import note, print_json

    answer = ask((loss, param, labels, types), z, (probs, model), engine, keep)
    if as_json:
        print_json(_data(answer))
        return
    typer.echo(repr(float(answer.value)))
    if keep is not None:
        lower, upper, kept = (float(x) for x in (answer.lower, answer.upper, answer.kept))
        note(f"{lower!r} <= truth <= {upper!r}, probability kept: {kept!r}")


def ask(
    chosen: tuple[str, list[str] | None, str | None, str | None],
    z: str,
    source: tuple[str | None, str | None],
    engine: str,
    keep: int | None,
) -> Expectation:
    """The expectation that was asked for.

    Args:
        chosen: name of the loss, its parameters, labels and chunk types, as they were typed.
        z: the hypothesis.
        source: what was typed after --probs and --model.
        engine: the engine.
        keep: how many states to keep in each layer, or None for all.
    """
    from fsmeu.cli.inputs import load_loss, read_model, sequence
    from fsmeu.expectation.expect import expect

    label_model = read_model(*source, loss_name=chosen[0])
    loaded = load_loss(*chosen)
    bound = loaded.with_labels(label_model.alphabet).bound if loaded.labels_open else loaded.bound
    return expect(loaded, sequence(bound.alphabet, z), label_model, engine=engine, keep=keep)


def _data(answer: Expectation) -> dict[str, Any]:
    known = len(answer.levels.values) > 0
    return {
        "value": answer.value,
        "lower": answer.lower,
        "upper": answer.upper,
        "kept": answer.kept,
        "variance": answer.variance,
        "quantiles": {str(q): answer.quantile(q) if known else None for q in QUANTILES},
    }
