"""The pictures of docs/images, which `./run python tools/images.py` writes anew."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fsmeu
from fsmeu.arrays import Ints
from fsmeu.drawing.draw import Drawing
from fsmeu.drawing.plots import COLOURS, legend, plot_levels, save_plot
from fsmeu.trellis.rules import one_sided_rule, wide_rule
from fsmeu.trellis.trellis_cache import split_trellis_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def plot_rules(terms: Axes, nodes: Axes, remainders: Axes) -> None:
    """Draws the terms of a rule for 1/D, where nodes are, and what is left out, d being 1."""
    d = np.linspace(0.25, 3.0, 80)
    rule = one_sided_rule(3, 1.0)
    for node, weight, colour in zip(rule.nodes, rule.weights, COLOURS, strict=False):
        name = f"node {node:.2f}"
        terms.plot(d, weight * np.exp(-node * d), color=colour, linewidth=1, label=name)
    terms.plot(d, rule.value(d), color=COLOURS[3], linewidth=3, alpha=0.6, label="their sum")
    terms.plot(d, 1 / d, color=COLOURS[6], linestyle="--", linewidth=1.2, label="1/D")
    terms.set(xlabel="D / d", ylabel="terms", title="1/D and three exponentials", ylim=(0, 3))
    legend(terms)

    rules = {"4 nodes": one_sided_rule(4, 1.0), "8 nodes": one_sided_rule(8, 1.0)}
    rules["wide, D from 1 to 100"] = wide_rule(1.0, 100.0)
    for (name, one), colour, mark in zip(rules.items(), COLOURS, "oDs", strict=False):
        shares = one.weights * np.exp(-one.nodes)
        nodes.loglog(one.nodes, shares, mark, color=colour, markersize=4, label=name)
    nodes.set(xlabel="node x, times d", ylabel="part of 1/d", title="Nodes", ylim=(1e-7, 3))
    legend(nodes)

    d = np.linspace(0.5, 1.6, 111)
    for order, colour in zip((2, 4, 6, 8), COLOURS, strict=False):
        one = one_sided_rule(order, 1.0)
        left_out = 1 / d - one.value(d)
        seen = left_out > 3e-15  # doubles have no more digits
        remainders.semilogy(d[seen], left_out[seen], ".", markersize=3, color=colour)
        bounds = one.remainder(np.maximum(d, 1.0), np.maximum(d, 1.0))
        above = (d > 1) & (bounds > 3e-15)
        remainders.semilogy(
            d[above], bounds[above], color=colour, linewidth=1, label=f"{order} nodes"
        )
    remainders.set(xlabel="D / d", ylabel="R(D), times d", title="What is left out")
    remainders.set(ylim=(1e-15, 100))
    legend(remainders, loc="upper center", ncols=2)


def plot_paths(axes: Axes) -> None:
    """Draws position 4 of the hypothesis's tape of chunk F1: pairs, exits, pairs."""
    loss = fsmeu.load("chunk_fscore", labels=["O", "B-X", "I-X"])
    model = fsmeu.models.from_potentials(np.zeros((6, 3)), np.zeros((3, 3)), labels=loss.labels)
    paths = split_trellis_of(loss, model).paths
    i = 3
    kind = int(paths.kind[i])
    before, after = (int(paths.width[j]) for j in (i, i + 1))
    exits = range(int(paths.exits[kind]), int(paths.exits[kind + 1]))
    height = max(before, after) - 1.0
    places = {h: (1.0, height * (k + 0.2) / len(exits)) for k, h in enumerate(exits)}

    def join(start: tuple[float, float], end: tuple[float, float], counted: bool) -> None:
        style = {"color": COLOURS[1 if counted else 6], "linewidth": 1.8 if counted else 0.9}
        ends = {"shrinkA": 12, "shrinkB": 12}
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", **ends, **style})

    for h in exits:
        for entry in range(paths.entries_at[h], paths.entries_at[h + 1]):
            if paths.entries.source[entry] < before:
                join((0.0, float(paths.entries.source[entry])), places[h], False)
    arrivals = paths.arrivals
    for a in range(paths.arrivals_at[kind, 0], paths.arrivals_at[kind, after]):
        start = places.get(int(arrivals.exit[a]), (0.0, float(arrivals.source[a])))
        end = (2.0, float(arrivals.target[a]))
        join(start, end, bool(arrivals.counted[a]))
        x, y = (0.3 * one + 0.7 * other for one, other in zip(start, end, strict=True))
        name = loss.labels[arrivals.label[a]]
        axes.text(x, y, name, ha="center", va="center", backgroundcolor="white", fontsize=9)
    names = _sequences_to(paths.step[kind], after, [str(label)[0] for label in loss.labels])
    for x, size in ((0.0, before), (2.0, after)):
        for pair in range(size):
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": COLOURS[0]}
            axes.text(x, pair, names[pair], ha="center", va="center", bbox=box, fontsize=9)
    for place in places.values():
        axes.plot(*place, "s", markersize=14, color=COLOURS[2])
    for x, name in ((0.0, "pairs before"), (1.0, "exits"), (2.0, "pairs after")):
        axes.text(x, height + 0.7, name, ha="center")
    axes.set(xlim=(-0.25, 2.25), ylim=(-0.6, height + 1.1))
    axes.axis("off")


def _sequences_to(step: Ints, pairs: int, labels: Sequence[str]) -> list[str]:
    """A shortest label sequence that leads to each pair, given pairs after by pair and label."""
    names = {0: "start"}
    queue = [0]
    while queue:
        pair = queue.pop(0)
        for label, (target, *_) in zip(labels, step[pair].tolist(), strict=True):
            if target >= 0 and target not in names:
                names[target] = names[pair].replace("start", "") + label
                queue.append(target)
    return [names[pair] for pair in range(pairs)]


def main() -> None:
    """Writes the pictures."""
    for name, drawing in drawings().items():
        drawing.save(IMAGES / name)
    expectation = fsmeu.expect(fsmeu.load("fscore"), "110", [0.9, 0.5, 0.3])
    size = (6.4, 3.4)
    save_plot(IMAGES / "levels.svg", lambda axes: plot_levels(expectation, ax=axes), size)
    save_plot(IMAGES / "paths.svg", plot_paths, (6.4, 3.6))
    save_plot(IMAGES / "rules.svg", plot_rules, (10.8, 3.6), (1, 3))


if __name__ == "__main__":
    main()
