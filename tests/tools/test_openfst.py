"""OpenFst comes from the user or the archive, and a refusal names the ways out."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import openfst
import pytest
from console import SetupFailure

URIS = """\
'http://archive.example/debian/dists/bookworm/InRelease' archive.example_InRelease 0
'http://archive.example/debian/dists/bookworm-updates/InRelease' archive.example_InRelease 0
'http://archive.example/debian-security/dists/bookworm-security/InRelease' sec_InRelease 0
'http://archive.example/debian/dists/bookworm/main/binary-arm64/Packages.xz' Packages 0
'https://other.example/dists/stable/InRelease' other.example_InRelease 0
"""
APT = """
echo "$@" >> {log}
case "$*" in
  *--print-uris*) cat {uris} ;;
  *download*) touch libfst26_1.deb libfst-dev_1.deb ;;
  *"{broken}"*) echo "E: Failed to fetch: 404 Not Found"; exit 100 ;;
esac
"""
DPKG = 'mkdir -p "$3/usr/lib/any" && touch "$3/usr/lib/any/libfst.so"'


def test_archives_are_read_from_apt():
    """Each archive once, in the machine's order, without those of security updates."""
    sites = ["http://archive.example/debian", "https://other.example"]
    assert openfst.archive_sites(URIS) == sites
    assert openfst.archive_sites("") == []


@pytest.fixture
def machine(programs, tmp_path, monkeypatch):
    """A machine with apt and dpkg that answer without a network; returns what apt was asked."""
    monkeypatch.delenv("FSMEU_OPENFST", raising=False)
    log, uris = tmp_path / "apt.log", tmp_path / "uris"
    uris.write_text(URIS)

    def build(broken="no such word"):
        programs("apt-get", APT.format(log=log, uris=uris, broken=broken))
        programs("dpkg", DPKG)
        return log

    return build


def test_packages_are_unpacked_privately_and_kept(machine, tmp_path):
    """Every apt call that changes something is given a state of our own; a second asks nothing."""
    log = machine()
    found = openfst.provide(tmp_path / "workshop")
    assert found.lib == tmp_path / "workshop/openfst/usr/lib/any"
    calls = log.read_text()
    for call in calls.splitlines()[1:]:
        for setting in ("Dir::State::lists", "Dir::Cache", "Dir::Etc::sourcelist"):
            assert f"{setting}={tmp_path}/workshop/" in call
    source = tmp_path / "workshop/apt/0/sources.list"
    assert source.read_text() == "deb http://archive.example/debian trixie main\n"
    openfst.provide(tmp_path / "workshop")
    assert log.read_text() == calls


def test_refusing_archive_names_the_ways_out(machine, tmp_path):
    machine(broken="update")
    with pytest.raises(SetupFailure) as caught:
        openfst.provide(tmp_path / "workshop")
    for part in ("fetching OpenFst", "404", "conda-forge", "libfst-dev"):
        assert part in caught.value.report()
    assert not (tmp_path / "workshop/openfst").exists()


def test_machine_without_apt(programs, tmp_path, monkeypatch):
    monkeypatch.delenv("FSMEU_OPENFST", raising=False)
    with pytest.raises(SetupFailure, match="without apt-get") as caught:
        openfst.provide(tmp_path)
    assert caught.value.remedies == openfst.WAYS_OUT


def test_users_own_openfst(tmp_path, monkeypatch):
    monkeypatch.setenv("FSMEU_OPENFST", str(tmp_path))
    with pytest.raises(SetupFailure, match=r"FSMEU_OPENFST is .*libfst\.so"):
        openfst.provide(tmp_path)
    for file in ("include/fst/fst.h", "lib/libfst.so"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert openfst.provide(tmp_path).lib == tmp_path / "lib"


@pytest.mark.skipif(
    not (sys.platform == "linux" and shutil.which("readelf")),
    reason="needs Linux and binutils' readelf",
)
def test_needs_of_the_shims_versions_become_weak(tmp_path, monkeypatch):
    """Only the flag of the named version changes, by the weak bit, and once for all."""
    library = tmp_path / "library.so"
    shutil.copy(next(Path(np.__file__).parent.rglob("_multiarray_umath*.so")), library)
    before = library.read_bytes()

    def needs():
        words = ["readelf", "-V", library]
        shown = subprocess.run(words, capture_output=True, text=True, check=True)
        return re.findall(r"Name: (\S+)\s+Flags: (\S+)", shown.stdout)

    versions = [version for version, _ in needs()]
    monkeypatch.setattr(openfst, "SHIM_VERSIONS", versions[:1])
    for _ in range(2):
        assert openfst.weaken(library) == versions.count(versions[0])
        assert needs() == [(v, "WEAK" if v == versions[0] else "none") for v in versions]
        after = library.read_bytes()
        changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
        assert changed == [(0, 2)] * versions.count(versions[0])
    monkeypatch.setattr(openfst, "SHIM_VERSIONS", ["GLIBC_99"])
    assert openfst.weaken(library) == 0
    assert "libc.so.6" in openfst.dynamic_names(library, "NEEDED")
