"""The pictures of docs/images, which `./run python tools/images.py` writes anew."""

from __future__ import annotations

from pathlib import Path

import fsmeu
from fsmeu.drawing.draw import Drawing
from fsmeu.drawing.plots import plot_levels, save_plot

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"


def drawings() -> dict[str, Drawing]:
    """The drawings of machines by the names of their files."""
    f1 = fsmeu.load("fscore")
    model = fsmeu.models.Bernoulli([0.9, 0.5, 0.3])
    return {
        "f1.svg": fsmeu.draw(f1, z="11", y="10"),
        "model.svg": fsmeu.draw(model),
        "composition.svg": fsmeu.draw(f1, z="110", model=model),
        "summed.svg": fsmeu.draw(fsmeu.compile_summed(fsmeu.load("windowdiff", k=2), 4)),
    }


def main() -> None:
    """Writes the pictures."""
    for name, drawing in drawings().items():
        drawing.save(IMAGES / name)
    expectation = fsmeu.expect(fsmeu.load("fscore"), "110", [0.9, 0.5, 0.3])
    size = (6.4, 3.4)
    save_plot(IMAGES / "levels.svg", lambda axes: plot_levels(expectation, ax=axes), size)


if __name__ == "__main__":
    main()
