"""Just enough of the ELF format to read what a shared library needs and to relax it.

A library names the symbol versions that it needs from other libraries ("GLIBC_2.38 from
libc.so.6"). The loader refuses a library when one is missing, unless the need is flagged weak.
The layout is that of 64-bit little-endian ELF, which is every Linux that pynini builds on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_IDENT = b"\x7fELF\x02\x01"
_SECTION = struct.Struct("<IIQQQQIIQQ")
_DYNAMIC = struct.Struct("<qQ")
_NEED = struct.Struct("<HHIII")
_NEED_VERSION = struct.Struct("<IHHII")
_SHT_DYNAMIC = 6
_SHT_VERNEED = 0x6FFFFFFE
_DT_NEEDED = 1
_DT_SONAME = 14
_WEAK = 0x2


class NotElf(ValueError):
    """The bytes are not a 64-bit little-endian ELF file."""


@dataclass(frozen=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int
    count: int


@dataclass(frozen=True)
class VersionNeed:
    """A symbol version that a library asks of another one.

    Attributes:
        library: The library that must offer it.
        version: Its name.
        weak: Whether the loader accepts its absence.
        offset: Where its entry starts in the file.
    """

    library: str
    version: str
    weak: bool
    offset: int


def needed_libraries(image: bytes) -> list[str]:
    """Returns the libraries that the loader must find for this one, in order."""
    return _dynamic_strings(image, _DT_NEEDED)


def soname(image: bytes) -> str | None:
    """Returns the name under which others need this library."""
    return next(iter(_dynamic_strings(image, _DT_SONAME)), None)


def version_needs(image: bytes) -> list[VersionNeed]:
    """Returns every symbol version that this library asks of others."""
    sections = _sections(image)
    return [
        need
        for section in sections
        if section.kind == _SHT_VERNEED
        for need in _needs(image, section, sections[section.link].offset)
    ]


def weaken(image: bytes, versions: frozenset[str]) -> bytes:
    """Returns the library with its needs for these versions flagged weak."""
    relaxed = bytearray(image)
    for need in version_needs(image):
        if need.version in versions:
            flags_at = need.offset + 4
            (flags,) = struct.unpack_from("<H", relaxed, flags_at)
            struct.pack_into("<H", relaxed, flags_at, flags | _WEAK)
    return bytes(relaxed)


def libraries_to_carry(roots: list[Path], directory: Path, prefix: str) -> list[Path]:
    """Returns the libraries that `roots` need, directly or through others.

    Args:
        roots: The libraries to start from.
        directory: Where to look for others; one that is not there is the machine's own matter.
        prefix: How the names begin of those that are to be carried.
    """
    found: dict[str, Path] = {}
    waiting = list(roots)
    while waiting:
        for name in needed_libraries(waiting.pop().read_bytes()):
            library = directory / name
            if name.startswith(prefix) and name not in found and library.exists():
                found[name] = library
                waiting.append(library)
    return [found[name] for name in sorted(found)]


def _sections(image: bytes) -> list[_Section]:
    if image[: len(_IDENT)] != _IDENT:
        message = "not a 64-bit little-endian ELF file"
        raise NotElf(message)
    (table,) = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    rows = (_SECTION.unpack_from(image, table + size * index) for index in range(count))
    return [_Section(row[1], row[4], row[5], row[6], row[7]) for row in rows]


def _dynamic_strings(image: bytes, tag: int) -> list[str]:
    sections = _sections(image)
    return [
        _text(image, sections[section.link].offset + value)
        for section in sections
        if section.kind == _SHT_DYNAMIC
        for kind, value in _DYNAMIC.iter_unpack(
            image[section.offset : section.offset + section.size]
        )
        if kind == tag
    ]


def _needs(image: bytes, section: _Section, strings: int) -> Iterator[VersionNeed]:
    at = section.offset
    for _ in range(section.count):
        _, count, library, first, following = _NEED.unpack_from(image, at)
        entry = at + first
        for _ in range(count):
            _, flags, _, name, step = _NEED_VERSION.unpack_from(image, entry)
            yield VersionNeed(
                library=_text(image, strings + library),
                version=_text(image, strings + name),
                weak=bool(flags & _WEAK),
                offset=entry,
            )
            entry += step
        at += following


def _text(image: bytes, start: int) -> str:
    return image[start : image.index(0, start)].decode("ascii")
