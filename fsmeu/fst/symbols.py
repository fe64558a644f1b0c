"""Symbol tables: what OpenFst's numbers mean to a person."""

from __future__ import annotations

from pywrapfst import SymbolTable

from fsmeu.fst.alphabet import Alphabet

__all__ = ["EPSILON", "symbol_name", "symbol_table"]

EPSILON = "<eps>"


def symbol_table(alphabet: Alphabet) -> SymbolTable:
    """The table that names label index k as number k + 1; 0 is epsilon."""
    table = SymbolTable()
    table.add_symbol(EPSILON, 0)
    for k, label in enumerate(alphabet.labels):
        table.add_symbol(symbol_name(str(label)), k + 1)
    return table


def symbol_name(label: str) -> str:
    """What a label is called in a symbol table, where the name of epsilon is taken."""
    return f"label {EPSILON}" if label == EPSILON else label
