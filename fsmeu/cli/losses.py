"""`fsmeu losses`: what is on the shelf."""

from __future__ import annotations

from fsmeu.cli.options import Json

__all__ = ["list_losses"]


def list_losses(as_json: Json = False) -> None:
    """Lists the losses and utilities on the shelf."""
    from fsmeu.cli.header import header_data, param_text
    from fsmeu.cli.output import print_json, print_table, table
    from fsmeu.losses.library import library, read_spec

    specs = {name: read_spec(name) for name in library()}
    if as_json:
        print_json([{**header_data(spec), "name": name} for name, spec in specs.items()])
        return
    made = table("name", "kind", "parameters", "summary")
    for name, spec in specs.items():
        params = "\n".join(param_text(spec, param) for param in spec.params)
        made.add_row(name, spec.kind, params, spec.summary)
    print_table(made)
