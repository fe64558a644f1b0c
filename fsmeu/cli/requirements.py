"""The requirements of a package that apply on this machine, as its metadata has them (PEP 508)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet


class Need(NamedTuple):
    """A package that is required here.

    Attributes:
        part: The extra that requires it, "" for the base.
        package: Its name.
        versions: Those that will do.
    """

    part: str
    package: str
    versions: SpecifierSet


def needs(texts: Iterable[str], extras: Iterable[str]) -> list[Need]:
    """The requirements that apply here; what the base requires is no part of extras."""
    parts = ["", *extras]
    result = []
    for text in texts:
        requirement = Requirement(text)
        marker = requirement.marker
        needing = [part for part in parts if marker is None or marker.evaluate({"extra": part})]
        if "" in needing:
            needing = [""]
        result += [Need(part, requirement.name, requirement.specifier) for part in needing]
    return result
