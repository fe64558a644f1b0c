"""What a feature can ask of one word: its case, its ends, its stem, the lists it is on.

These are the base features of Daumé et al. (2009, sections 6.1.2 and 6.1.3). The paper's lists of
names and places are not to be had: the lists here are closed classes of English and Spanish.
"""

from __future__ import annotations

import re

__all__ = ["case_pattern", "lists", "shape", "stem"]

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
_LISTS = {
    "stop": "a an the this that these those of in on at by for with from to as into about and or "
    "but nor if than then so not no is are was were be been being am has have had do does did will "
    "would can could may might shall should must i you he she it we they me him her us them my "
    "your his its our their who whom which what when where why how all any each few more most "
    "other some such only own same too very el la los las un una unos unas y o de del al en por "
    "para con sin que se su sus lo le les es son fue era ha han como más pero no ya este esta",
    "month": "january february march april may june july august september october november "
    "december jan feb mar apr jun jul aug sept oct nov dec enero febrero marzo abril mayo junio "
    "julio agosto septiembre octubre noviembre diciembre",
    "day": "monday tuesday wednesday thursday friday saturday sunday yesterday today tomorrow "
    "lunes martes miércoles jueves viernes sábado domingo ayer hoy mañana",
    "number": "one two three four five six seven eight nine ten eleven twelve twenty thirty forty "
    "fifty hundred thousand million billion trillion uno dos tres cuatro cinco seis siete ocho "
    "nueve diez cien ciento mil millón millones",
    "title": "mr mr. mrs mrs. ms ms. dr dr. prof prof. sen sen. rep rep. gov gov. president "
    "chairman director minister señor señora don doña doctor presidente ministro alcalde "
    "secretario portavoz general juez rey reina príncipe",
    "firm": "inc inc. corp corp. co co. ltd ltd. plc group bank trust s.a. sa banco grupo compañía "
    "empresa universidad ministerio partido comisión gobierno consejo federación club fundación",
    "place": "street avenue city county state north south east west calle plaza avenida ciudad "
    "provincia río sierra puerto norte sur este oeste",
    "link": "de del la las los el y e van von der di da",
}
_ON = {
    word: tuple(name for name, text in _LISTS.items() if word in text.split())
    for word in {word for text in _LISTS.values() for word in text.split()}
}
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
            return (
                _DOUBLED.sub(r"\1", low[: -len(ending)] + left)
                if not left
                else (low[: -len(ending)] + left)
            )
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

    Lists are the closed classes of this module, abbreviations, and signs (no letter, no digit).
    """
    found = list(_ON.get(word.lower(), ()))
    if _ABBREVIATION.match(word):
        found.append("abbreviation")
    if not any(c.isalnum() for c in word):
        found.append("sign")
    elif not _PLAIN.match(word):
        found.append("joined")
    return " ".join(found)
