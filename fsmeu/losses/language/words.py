"""The words and signs of the loss language, and the forms of its tokens.

The reader and the lexer that colours files have them from here.
"""

from __future__ import annotations

RESERVED = [
    *("utility", "loss", "labels", "reference", "let", "value", "output", "or", "range", "example"),
    "require",
    *("with", "count", "by", "when", "age", "since", "up", "to", "memory", "of", "last", "flag"),
    *("register", "in", "start", "next", "state", "arc", "otherwise", "at", "old", "if", "then"),
    *("else", "and", "not", "true", "false"),
]
TYPES = ("int", "real", "table", "label")  # of parameters, after a colon
WORDS = (*RESERVED, *TYPES)  # the words of the language

FUNCTIONS = {
    "min": (1, 99),
    "max": (1, 99),
    **dict.fromkeys(("abs", "sqrt", "floor", "ceil", "exp", "log", "kind", "type"), (1, 1)),
    "tally": (2, 2),
    "sum": (1, 1),
}
"""The functions of the language with the least and the greatest number of their arguments."""
OF_LABELS = ("kind", "type", "tally", "sum")  # the functions of labels or memories
FIXED = ("z", "y", "i", "n", "inf")  # names whose meaning no file can change

FOREIGN = {
    **dict.fromkeys(("&&", "&", "∧"), "and"),
    **dict.fromkeys(("||", "|", "∨"), "or"),
    **dict.fromkeys(("!", "¬"), "not"),
    **dict.fromkeys(("!==", "<>", "≠"), "!="),
    **dict.fromkeys(("=<", "≤"), "<="),
    **dict.fromkeys(("=>", "≥"), ">="),
    **dict.fromkeys(("×", "·"), "*"),
    **dict.fromkeys(("'", "‘", "’", "“", "”"), '"'),
    "===": "==",
    "**": "^",
    "//": "floor(... / ...)",
    "÷": "/",
    "−": "-",
}
"""What other languages and typesetters write, with what stands for it in a loss file."""

NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
TEXT = r'"[^"\n]*"'
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
LABEL = r'[^\s"#]+'  # in the list of labels, where it needs no quotes
SEQUENCE = r'[^\s"#=]+'  # of labels, in an example
SIGN = r"\.\.|->|[=!<>]=|[-+*/%^()\[\]{},=:<>]"
