"""What a feature can ask of one word: its case, its ends, its stem, the lists it is on.

These are the base features of Daumé et al. (2009, sections 6.1.2 and 6.1.3). The paper's lists of
names and places are not to be had: the lists here are closed classes of English and Spanish.
"""

from __future__ import annotations

import re
from pathlib import Path

_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("xes", "x"),
    ("ing", ""),
    ("ied", "y"),
    ("ed", ""),
    ("ly", ""),
    ("s", ""),
)
_KEEP = ("ss", "us", "is")
_DOUBLED = re.compile(r"([bdfgmnprt])\1$")
_ON: dict[str, tuple[str, ...]] = {}
for _line in (Path(__file__).parent / "lists.txt").read_text("utf-8").splitlines()[1:]:
    for _word in set(_line.partition(":")[2].split()):
        _ON[_word] = (*_ON.get(_word, ()), _line.partition(":")[0])
_ABBREVIATION = re.compile(r"^(?:[A-Za-zÀ-ÿ]\.)+[A-Za-z]?$|^[A-ZÀ-Ý][a-zà-ÿ]{0,4}\.$")
_NUMERAL = re.compile(r"^[+-]?\d[\d.,:/-]*%?$")
_PLAIN = re.compile(r"^\w+$")


def stem(word: str) -> str:
    """The word in small letters without an English ending of inflection: "rises" is "rise"."""
    low = word.lower()
    for ending, left in _ENDINGS:
        if low.endswith(ending) and len(low) - len(ending) + len(left) >= 3:
            if ending == "s" and low.endswith(_KEEP):
                continue
            base = low[: -len(ending)] + left
            return base if left else _DOUBLED.sub(r"\1", base)
    return low


def shape(word: str) -> str:
    """Capitals as X, small letters as x, digits as 0, others as they are; runs of at most two."""
    kinds = "".join(
        "X" if c.isupper() else "x" if c.islower() else "0" if c.isdigit() else c for c in word[:40]
    )
    return re.sub(r"(.)\1{2,}", r"\1\1", kinds)


def case_pattern(word: str) -> str:
    """One of: lower, first (capital), upper, initial (one letter), mixed, number, digits, other."""
    if _NUMERAL.match(word):
        return "number"
    if any(c.isdigit() for c in word):
        return "digits"
    if word.islower():
        return "lower"
    if word.isupper():
        return "initial" if sum(c.isalpha() for c in word) == 1 else "upper"
    if word[:1].isupper() and word[1:].islower():
        return "first"
    return "mixed" if any(c.isalpha() for c in word) else "other"


def lists(word: str) -> str:
    """The names of the lists that a word is on, with blanks between them, or nothing.

    Lists are the closed classes of ``lists.txt``, abbreviations, and signs (no letter, no digit).
    """
    found = list(_ON.get(word.lower(), ()))
    if _ABBREVIATION.match(word):
        found.append("abbreviation")
    if not any(c.isalnum() for c in word):
        found.append("sign")
    elif not _PLAIN.match(word):
        found.append("joined")
    return " ".join(found)
