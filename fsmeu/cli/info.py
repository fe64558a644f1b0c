"""`fsmeu info`: how large the machine of a loss is, and what follows from its definition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsmeu.cli.options import Json, LabelList, Length, LossName, ParamList, TypeList

if TYPE_CHECKING:
    from fsmeu.losses.loss import SpecLoss

__all__ = ["inform"]


def inform(
    loss: LossName,
    n: Length = 8,
    param: ParamList = None,
    labels: LabelList = None,
    types: TypeList = None,
    as_json: Json = False,
) -> None:
    """Says how large the machine of a loss is and how it grows."""
    from fsmeu.cli.header import signature
    from fsmeu.cli.inputs import check_labels_known, load_loss
    from fsmeu.cli.output import line, print_json
    from fsmeu.cli.registers import print_registers, register_data

    loaded = load_loss(loss, param, labels, types)
    check_labels_known(loaded)
    # The largest first: what is too large is said at once.
    sizes = [_size(loaded, length) for length in sorted({n // 4, n // 2, n}, reverse=True)][::-1]
    if as_json:
        head = {"name": loaded.name, "kind": loaded.kind, "labels": list(loaded.labels)}
        print_json({**head, **sizes[-1], "growth": sizes, "registers": register_data(loaded)})
        return
    line(signature(loaded.spec), style="bold", wrap=True)
    line(f"labels: {' '.join(map(str, loaded.labels))}")
    line()
    print_registers(loaded)
    line()
    _print_sizes(sizes)


def _size(loss: SpecLoss, n: int) -> dict[str, int]:
    """States, arcs, final states and distinct values of the machine for length n."""
    import numpy as np

    from fsmeu.expectation.levels import level_sets

    machine = loss.compile(n)
    ends = machine.values[~np.isnan(machine.values)]
    levels = level_sets(ends, np.ones_like(ends))
    return {
        "n": n,
        "states": machine.states,
        "arcs": machine.arcs,
        "final": len(ends),
        "values": len(levels.values),
    }


def _print_sizes(sizes: list[dict[str, Any]]) -> None:
    from fsmeu.cli.output import print_table, table

    headers = ("n", "states", "arcs", "final states", "distinct values")
    made = table(*headers, right=headers)
    for size in sizes:
        made.add_row(*(f"{count:,}" for count in size.values()))
    print_table(made)
