"""`fsmeu consensus`: the best answer against samples of it, for each record of a file."""

from __future__ import annotations

from fsmeu.cli import options as opt
from fsmeu.cli import output as out
from fsmeu.cli.corpus import corpus_source
from fsmeu.cli.inputs import load_loss
from fsmeu.cli.options import argument, option
from fsmeu.corpora.samples import decided_records


def decide_consensus(
    binding: opt.Binding,
    loss: str = opt.LOSS,
    file: str = argument("FILE", "Samples in JSON lines, gzipped or not; - for standard input."),
    smooth: float | None = option(
        "--smooth SHARE",
        "The share of independent labels with the same frequencies that is mixed in, from 0 to 1; "
        "for few samples.",
        unset="0",
        min=0.0,
        max=1.0,
    ),
) -> None:
    """Print the answer with the best expected value against samples, for each record of a file.

    A record has the samples of one answer under a key that says what they are:
    {"sequences": ["0110", "0100"]} or lists of labels, {"sets": [["a", "b"], ["b"]]}, or with a
    loss over chunk tags {"spans": [[[0, 2, "NP"]], []]}, whose second number is the position after
    the last. "weights" and "id" may stand beside it. Answers are printed as JSON lines, with their
    expected value and whether it is proven best.
    """
    loaded = load_loss(loss, binding)
    with corpus_source(file, loss) as source:
        for data in decided_records(source, loaded, smooth):
            out.print_json(data)
