"""`fsmeu show`: the text of a loss file, and where it is."""

from __future__ import annotations

from fsmeu.cli.options import Json, LossName

__all__ = ["show_loss"]


def show_loss(loss: LossName, as_json: Json = False) -> None:
    """Shows the text of a loss file, and where it is."""
    from fsmeu.cli.header import header_data
    from fsmeu.cli.inputs import read_loss_file, whereabouts
    from fsmeu.cli.output import note, print_json

    spec = read_loss_file(loss)
    if as_json:
        registers = [{"name": r.name, "kind": r.sugar} for r in spec.registers]
        more = {"registers": registers, "examples": len(spec.examples)}
        print_json({**header_data(spec), **more, "path": whereabouts(loss)})
        return
    note(f"# {whereabouts(loss)}")
    _print_source(spec.source)


def _print_source(source: str) -> None:
    """Prints the text as it is; on a terminal, words, texts and comments are set apart."""
    from rich.text import Text

    from fsmeu.cli.output import screen, write_output
    from fsmeu.errors import visible
    from fsmeu.losses.language.messages import WORDS

    where = screen()
    if not where.is_terminal:
        write_output("-", source if source.endswith("\n") else f"{source}\n")
        return
    text = Text(visible(source.rstrip("\n"), keep="\n\t"))
    words = "|".join(WORDS)
    text.highlight_regex(rf'(?P<dim>#[^\n]*)|(?P<green>"[^"\n]*")|\b(?P<bold>{words})\b')
    where.print(text, soft_wrap=True)
