"""Symbol tables: what OpenFst's numbers mean to a person."""

from __future__ import annotations

from collections.abc import Mapping

from pywrapfst import SymbolTable, SymbolTableView

from fsmeu.errors import FstError, InputError, as_whole, sentence
from fsmeu.fst.alphabet import Alphabet, is_text

EPSILON = "<eps>"
_MOST = 2**63


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


def names_of(table: SymbolTableView | None, where: str) -> dict[int, str]:
    """The names in a symbol table by number; none without a table.

    Raises:
        FstError: a name is not text.
    """
    try:
        return {} if table is None else {int(number): str(name) for number, name in table}
    except UnicodeDecodeError:
        raise FstError(sentence(where, "the names in a symbol table must be UTF-8")) from None


def table_of_names(names: Mapping[int, str], where: str) -> SymbolTable | None:
    """The symbol table with these names by number; None without names.

    Raises:
        InputError: a number cannot stand in a table, or a name is not text.
    """
    table = SymbolTable()
    for number, name in names.items():
        whole = as_whole(number, least=0)
        if whole is None or whole >= _MOST or not is_text(name):
            must = "a symbol table must map numbers from 0 to names that UTF-8 can write"
            raise InputError(sentence(where, must, f"{number!r}: {name!r}"))
        table.add_symbol(name, whole)
    return table if names else None
