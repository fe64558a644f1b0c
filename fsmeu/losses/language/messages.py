"""What is said about a malformed loss file.

``SYNTAX_ERRORS`` maps each message to malformed files that deserve it. The parser compares where it
stopped in the user's file with where it stops in these, and the tests walk the same table, so a
message cannot lose its cause.
"""

from __future__ import annotations

from fsmeu.errors import LossFileError, nearest
from fsmeu.losses.language.syntax import Place

WORDS = tuple(
    word
    for line in (
        "utility loss labels reference let value output or range example with int real table",
        "count by when age since up to memory of last flag register in start next",
        "state arc otherwise at old if then else and not true false",
    )
    for word in line.split()
)

_ALIKE = 0.7
"""How much of a word must agree with one of the language: words of English text do not."""

STATEMENT = (
    "a statement begins with count, age, memory, flag, register, state, arc, let, labels, value, "
    "output, range, example or reference"
)

_HEAD = "loss f "
SYNTAX_ERRORS: dict[str, list[str]] = {
    "a loss file begins with 'utility NAME' or 'loss NAME'": [
        "",
        "count bad",
        "f(k)",
        "value 1",
    ],
    "'utility' and 'loss' are followed by a name": ["loss", "loss (k)", 'utility "text"', "loss 1"],
    "a parameter is written NAME, NAME = default, or NAME: int = default in LOW..HIGH": [
        "loss f(1)",
        "loss f(k,)",
        "loss f(k = )",
        "loss f(k: text)",
        "loss f(k in 3)",
        "loss f(k in )",
        "loss f(k: )",
        "loss f(k value 1",
    ],
    "the text after the name needs a closing quote on the same line": ['loss f "text'],
    "'count' is written: count NAME when CONDITION, or count NAME by AMOUNT when CONDITION": [
        _HEAD + "count 3",
        _HEAD + "count when z == 1",
        _HEAD + "count bad z == 1",
        _HEAD + "count bad when value 1",
        _HEAD + "count bad by when z == 1",
    ],
    "'age' is written: age NAME since CONDITION up to LIMIT": [
        _HEAD + "age a when z == 1",
        _HEAD + "age since z",
        _HEAD + "age a since z == 1 value 1",
        _HEAD + "age a since z == 1 up 3",
        _HEAD + "age a since z == 1 up to value 1",
    ],
    "'memory' is written: memory NAME of z last K (or of EXPRESSION in LOW..HIGH last K)": [
        _HEAD + "memory m z",
        _HEAD + "memory of z",
        _HEAD + "memory m of z value 1",
        _HEAD + "memory m of z last value 1",
        _HEAD + "memory m of value 1",
    ],
    "'flag' is written: flag NAME when CONDITION": [
        _HEAD + "flag when z == 1",
        _HEAD + "flag f z == 1",
        _HEAD + "flag f when value 1",
    ],
    "'register' is written: register NAME in LOW..HIGH start VALUE next EXPRESSION": [
        _HEAD + "register r start 0",
        _HEAD + "register r in 0 start 0",
        _HEAD + "register r in 0..3 next r",
        _HEAD + "register r in 0..3 start 0 value 1",
        _HEAD + "register r in 0..3 start next r",
        _HEAD + "register in 0..3",
    ],
    "'state' is followed by the names of the states, the first is the start": [
        _HEAD + "state value 1",
        _HEAD + "state 1 2",
    ],
    "'arc' is written: arc STATE -> STATE when CONDITION, or with 'otherwise' at the end": [
        _HEAD + "state a arc a",
        _HEAD + "state a arc -> a",
        _HEAD + "state a arc a -> when",
        _HEAD + "state a arc a a",
        _HEAD + "state a arc a -> a when value 1",
    ],
    "'labels' is followed by labels, by 'any', or by 'bio', 'iob1' or 'iobes'": [
        _HEAD + "labels value 1"
    ],
    "'reference' is followed by a quoted text": [
        _HEAD + "reference Jansche",
        _HEAD + "reference 1",
    ],
    "'let' is written: let NAME = EXPRESSION": [
        _HEAD + "let = 3",
        _HEAD + "let a 3",
        _HEAD + "let a = value 1",
    ],
    "'output' is written: output NAME = EXPRESSION, then maybe: or EXPRESSION when CONDITION": [
        _HEAD + "output",
        _HEAD + "output 1",
        _HEAD + "output a value 1",
        _HEAD + "output a = value 1",
        _HEAD + "output a = 1 or value 1",
    ],
    "'value' is followed by an expression, then maybe: or EXPRESSION when CONDITION": [
        _HEAD + "value",
        _HEAD + "value or 1",
        _HEAD + "value 1 or when n == 0",
        _HEAD + "value 1 or 2",
        _HEAD + "value 1 or 2 example",
        _HEAD + "value 1 or 2 when value",
    ],
    "'range' is written: range LOW .. HIGH": [
        _HEAD + "range 3",
        _HEAD + "range .. 3",
        _HEAD + "range 0 .. value",
    ],
    "'example' is written: example Z Y = VALUE, "
    "or with parameters: example Z Y = VALUE with k = 2": [
        _HEAD + "example 01",
        _HEAD + "example 01 = 3",
        _HEAD + "example 01 01 3",
        _HEAD + "example 01 01 = value",
        _HEAD + "example 01 01 = 1 with",
        _HEAD + "example 01 01 = 1 with k",
    ],
    "'if' is written: if CONDITION then EXPRESSION else EXPRESSION": [
        _HEAD + "value if z == 1",
        _HEAD + "value if z == 1 then 2",
        _HEAD + "value if then",
        _HEAD + "value if z == 1 then else 2",
        _HEAD + "value if z == 1 then 2 else",
    ],
    "'==' compares; a single '=' does not": [
        _HEAD + "count bad when z = 1",
    ],
    "comparisons do not chain; join two with 'and'": [
        _HEAD + "count bad when 1 < z < 3",
    ],
    "a condition that counts as 1 or 0 stands in brackets here": [
        _HEAD + "value n == 1",
        _HEAD + "value not n",
        _HEAD + "count bad by n == 1",
        _HEAD + "count bad by not n",
        _HEAD + "memory m of z != y last 2",
        _HEAD + "memory m of not z last 2",
        _HEAD + "value 1 + not n",
        _HEAD + "value n and 1",
        _HEAD + "value if n == 1 then n == 2 else 3",
    ],
    "an opened bracket is not closed, or something is missing before it closes": [
        _HEAD + "value (1",
        _HEAD + "value (1 value 2",
        _HEAD + "value min(1, 2",
        _HEAD + "value min(1, )",
        _HEAD + "value m[0",
        _HEAD + "value m[]",
        _HEAD + "value ()",
    ],
    "a bracket closes that was never opened": [_HEAD + "value 1)", _HEAD + "value m]"],
    "an expression is missing after the operator": [
        _HEAD + "value 1 +",
        _HEAD + "value 1 * value",
        _HEAD + "value -",
        _HEAD + "count bad when not",
        _HEAD + "count bad when z ==",
        _HEAD + "count bad when z == 1 and",
        _HEAD + "value 2 ^",
    ],
    "'old' is followed by the name of a register, 'at' by the name of a state": [
        _HEAD + "value old",
        _HEAD + "value at 3",
    ],
    "this character is not part of the language (powers are written ^)": [
        _HEAD + "value 1 ? 2",
        _HEAD + "value `1`",
        _HEAD + "count bad when z & y",
    ],
    STATEMENT: [
        _HEAD + "value 1 tp",
        _HEAD + "foo",
        _HEAD + "value 1 2",
    ],
}

VALUE = "the value must be a number"
DEFAULT = "the entries of a table must be numbers"
AMOUNT = "what a count adds must be a number"
CONDITION = "a condition must be a truth value or a number"
NEXT = "a register holds whole numbers"
ENTRY = (
    "a memory is of z, y, kind(z), type(z) and the like, of a condition, or of numbers in LO..HI"
)
ARITHMETIC = "arithmetic is for numbers"
ORDER = "<, <=, > and >= put numbers in order"
FUNCTION = "functions other than kind, type, tally and sum are of numbers"
EQUAL = "== and != compare like with like"
BRANCHES = "'then' and 'else' must give the same sort of thing"
TALLY = "tally counts entries that equal its second argument, so it must be like them"
SUM = "sum adds the entries of a memory"
TAGS = "kind and type need tags such as B-NP"
TABLE = "a table has one entry for each label"
UNKNOWN = "it can never equal one"

OPERATORS = dict.fromkeys(("<", "<=", ">", ">="), ORDER) | dict.fromkeys(("and", "or"), CONDITION)
"""What operators other than those of arithmetic want of both sides."""


def fault(origin: str, source: str, place: Place, message: str, remedy: str = "") -> LossFileError:
    """The error of a place in a file: file, line, column, the line itself with a caret."""
    lines = source.split("\n")
    text = f"{origin}:{place.line}:{place.column}: {message.rstrip('.')}."
    if remedy:
        text += f" {remedy.rstrip('.')}{'' if remedy.endswith('?') else '.'}"
    if 0 < place.line <= len(lines):
        line = "".join(c if c.isprintable() else " " for c in lines[place.line - 1])
        begin = max(0, place.column - 60)
        text += f"\n    {line[begin : begin + 100]}\n    {' ' * (place.column - 1 - begin)}^"
    return LossFileError(text, place.line, place.column)


def near_word(word: str) -> str:
    """A hint when a word is nearly a word of the language; short words are like too many."""
    return nearest(word, WORDS, _ALIKE) if len(word) > 2 and word not in WORDS else ""
