"""`fsmeu gallery`: a page of losses, made from their files."""

from __future__ import annotations

from pathlib import Path

from fsmeu.cli import options as opt
from fsmeu.cli.failures import refuse
from fsmeu.cli.inputs import read_loss_file
from fsmeu.cli.output import line, write_output
from fsmeu.drawing.pages.gallery import anchored, exhibit, gallery_page
from fsmeu.losses.loss import library


def write_gallery(
    output: Path = opt.option("--output -o DIR", "The folder to write index.html into.", value=...),
    losses: list[str] | None = opt.argument(
        "LOSS", "Built-in losses or paths of files; all built-in ones if none.", None
    ),
) -> None:
    """Write a page that shows losses: definition, use, picture, properties, growth.

    The page is made from the files themselves; it needs no network. Machines are drawn for short
    sequences. Beside it are pages to explore the losses in, as 'fsmeu draw -o x.html' makes them.
    """
    names = list(dict.fromkeys(losses or library()))
    specs = [read_loss_file(name) for name in names]
    if output.exists() and not output.is_dir():
        refuse(str(output), "-o must name a folder", "a file")
    output.mkdir(parents=True, exist_ok=True)
    where = output / "index.html"
    exhibits = anchored([exhibit(spec) for spec in specs])
    for one in exhibits:
        if one.page is not None:
            one.page.save(output / one.file)
    write_output(where, gallery_page(exhibits))
    line(str(where))
