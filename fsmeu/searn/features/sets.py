"""Sets of feature templates: for chunking, for names, for joint tagging, for words alone.

They follow Daumé et al. (2009): section 6.1.3 for chunking (the word as it stands, in small
letters, its stem and what the stem leaves, its case pattern, its first and last characters, the
part of speech and its first character, lists), section 6.1.2 for names (words, case and affixes of
up to three characters within two positions), section 6.1.4 for joint tagging (no parts of speech
are read: they are predicted). Conjunctions of neighbours stand for the paper's n-grams.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fsmeu.errors import InputError, one_of, sentence
from fsmeu.reading import read_text
from fsmeu.searn.features.templates import Template, parse_templates

__all__ = ["SETS", "TemplateSet", "template_set"]


@dataclass(frozen=True)
class TemplateSet:
    """Templates of the input, and those that are crossed with labels of the past.

    Attributes:
        static: templates whose features stand at a position whatever was predicted before.
        crossed: templates that are paired with the label before the position.
    """

    static: tuple[Template, ...]
    crossed: tuple[Template, ...] = ()


def _window(names: str, reach: int) -> list[str]:
    """Each column at each offset from -reach to reach."""
    return [f"{name}[{k}]" for name in names.split() for k in range(-reach, reach + 1)]


_WORD = ["bias", "ending", "prefix1", "prefix2", "prefix3", "suffix1"]
_CHUNKING = [
    *_WORD,
    *_window("word pos", 2),
    *_window("lower stem case shape lists pos.first suffix2 suffix3", 1),
    "pos[-3]",
    "pos[3]",
    *(f"pos[{k}] pos[{k + 1}]" for k in range(-2, 2)),
    *(f"pos[{k}] pos[{k + 1}] pos[{k + 2}]" for k in range(-2, 1)),
    "pos[-2] pos[-1] pos[0] pos[1]",
    "pos[-1] pos[0] pos[1] pos[2]",
    *(f"lower[{k}] lower[{k + 1}]" for k in range(-1, 1)),
    "lower[0] pos[0]",
    "lower[-1] pos[0]",
    "lower[1] pos[0]",
    "lower[0] pos[1]",
    "lower[0] pos[-1]",
    "lower[0] pos[1] pos[2]",
    "lower[0] pos[-1] pos[-2]",
    "lower[-1] pos[0] pos[1]",
    "pos[-1] pos[1]",
    "lower[-1] lower[1]",
]
_NAMES = [
    *_WORD,
    *_window("word lower pos case shape", 2),
    *_window("lists suffix3 suffix2", 1),
    "prefix3[-1]",
    "prefix3[1]",
    "prefix4",
    "suffix4",
    "lower[-3]",
    "lower[3]",
    *(f"lower[{k}] lower[{k + 1}]" for k in range(-2, 2)),
    *(f"case[{k}] case[{k + 1}]" for k in range(-2, 2)),
    *(f"case[{k}] case[{k + 1}] case[{k + 2}]" for k in range(-2, 1)),
    *(f"pos[{k}] pos[{k + 1}]" for k in range(-1, 1)),
    "lower[-1] case[0]",
    "lower[-2] lower[-1] case[0]",
    "case[0] lower[1]",
    "lists[-1] case[0]",
    "case[-1] lists[0] case[1]",
    "shape[-1] shape[0]",
    "shape[0] shape[1]",
]
_WORDS = [
    *_WORD,
    *_window("word", 2),
    *_window("lower stem case shape lists suffix2 suffix3", 1),
    "prefix4",
    "suffix4",
    *(f"lower[{k}] lower[{k + 1}]" for k in range(-2, 2)),
    *(f"suffix2[{k}] suffix2[{k + 1}]" for k in range(-1, 1)),
    "lower[-1] lower[1]",
    "lower[-1] lower[0] lower[1]",
    "suffix3[-1] suffix3[0] suffix3[1]",
]
SETS = {
    "chunking": TemplateSet(
        parse_templates(_CHUNKING),
        parse_templates(["lower[0]", "pos[0]", "pos[0] pos[1]", "pos[-1] pos[0]", "lower[-1]"]),
    ),
    "names": TemplateSet(
        parse_templates(_NAMES), parse_templates(["lower[0]", "case[0]", "pos[0]", "lower[-1]"])
    ),
    "words": TemplateSet(
        parse_templates(_WORDS), parse_templates(["lower[0]", "suffix2[0]", "case[0]", "lower[1]"])
    ),
}
"""Sets by name: "chunking" reads parts of speech in the second column, "words" the word alone."""


def template_set(name: str) -> TemplateSet:
    """A set of this module by its name, or that of a file with one template on each line.

    A line that starts with ``cross`` is crossed with the label before.

    Raises:
        InputError: there is neither, or the file is not written so.
    """
    path = Path(name)
    if name in SETS or not path.is_file():
        return SETS[one_of("templates", "what is no file of templates", name, SETS)]
    lines = read_text(path, f"templates {name}").splitlines()
    crossed = [line[6:] for line in lines if line.startswith("cross ")]
    static = [line for line in lines if not line.startswith("cross ")]
    found = TemplateSet(parse_templates(static), parse_templates(crossed))
    if not found.static:
        raise InputError(sentence(f"templates {name}", "there must be a template"))
    return found
