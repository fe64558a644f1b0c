"""Symbol versions are read and relaxed as binutils reads them."""

import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import elf
import numpy as np
import pytest

STRINGS = b"\0libc.so.6\0GLIBC_2.17\0GLIBC_2.38\0libfst.so.26\0libself.so.1\0"


def at(text: bytes) -> int:
    return STRINGS.index(text + b"\0")


def synthetic() -> bytes:
    """A library by hand: soname libself.so.1, needs libfst and two versions of libc."""
    dynamic = b"".join(
        struct.pack("<qQ", tag, value)
        for tag, value in [
            (1, at(b"libc.so.6")),
            (1, at(b"libfst.so.26")),
            (14, at(b"libself.so.1")),
        ]
    )
    needs = struct.pack("<HHIII", 1, 2, at(b"libc.so.6"), 16, 0)
    needs += struct.pack("<IHHII", 0, 0, 2, at(b"GLIBC_2.17"), 16)
    needs += struct.pack("<IHHII", 0, 0, 3, at(b"GLIBC_2.38"), 0)
    body, offsets = b"", []
    for part in (STRINGS, dynamic, needs):
        offsets.append(64 + len(body))
        body += part
    rows = [(3, 0, 0), (6, 0, 0), (0x6FFFFFFE, 0, 1)]
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, len(part), link, info, 1, 0)
        for (kind, link, info), offset, part in zip(
            rows, offsets, (STRINGS, dynamic, needs), strict=True
        )
    )
    header = bytearray(64)
    header[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", header, 0x28, 64 + len(body))
    struct.pack_into("<HHH", header, 0x3A, 64, len(rows), 0)
    return bytes(header) + body + table


def test_names_are_read():
    assert elf.soname(synthetic()) == "libself.so.1"
    assert elf.needed_libraries(synthetic()) == ["libc.so.6", "libfst.so.26"]
    needs = elf.version_needs(synthetic())
    assert [(need.library, need.version, need.weak) for need in needs] == [
        ("libc.so.6", "GLIBC_2.17", False),
        ("libc.so.6", "GLIBC_2.38", False),
    ]


def test_weakening_changes_one_flag():
    """Only the flag of the named version changes, by the weak bit."""
    before = synthetic()
    after = elf.weaken(before, frozenset({"GLIBC_2.38"}))
    assert [need.weak for need in elf.version_needs(after)] == [False, True]
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    assert changed == [(0, 2)]


def test_weakening_twice_is_weakening_once():
    once = elf.weaken(synthetic(), frozenset({"GLIBC_2.38"}))
    assert elf.weaken(once, frozenset({"GLIBC_2.38"})) == once


def test_other_files_are_refused():
    with pytest.raises(elf.NotElf):
        elf.version_needs(b"!<arch>\n" + bytes(100))


def test_libraries_are_followed(tmp_path):
    """What the needed libraries need is carried too; the machine's own libraries are not."""
    for name in ("libfst.so.26", "libc.so.6"):
        (tmp_path / name).write_bytes(synthetic())
    root = tmp_path / "module.so"
    root.write_bytes(synthetic())
    carried = elf.libraries_to_carry([root], tmp_path, "libfst")
    assert carried == [tmp_path / "libfst.so.26"]


@pytest.mark.skipif(
    not (sys.platform == "linux" and shutil.which("readelf")),
    reason="needs Linux and binutils' readelf",
)
def test_binutils_sees_the_same(tmp_path):
    """On a real library, binutils lists the same needs, and sees exactly the named one as weak."""
    library = tmp_path / "library.so"
    image = next(Path(np.__file__).parent.rglob("_multiarray_umath*.so")).read_bytes()
    needs = elf.version_needs(image)
    assert needs
    library.write_bytes(elf.weaken(image, frozenset({needs[0].version})))
    shown = subprocess.run(["readelf", "-V", library], capture_output=True, text=True, check=True)
    rows = re.findall(r"Name: (\S+)\s+Flags: (\S+)", shown.stdout)
    assert rows == [
        (need.version, "WEAK" if need.version == needs[0].version else "none") for need in needs
    ]
