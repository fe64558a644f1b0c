"""OpenFst comes from the user, the machine or the archive, and a refusal names the ways out."""

from pathlib import Path

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
    assert openfst.archive_sites(URIS) == [
        "http://archive.example/debian",
        "https://other.example",
    ]
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


def test_packages_are_unpacked_privately(machine, tmp_path):
    """Every apt call that changes something is given a state of our own."""
    log = machine()
    found = openfst.provide(tmp_path / "workshop")
    assert found.lib == tmp_path / "workshop/openfst/usr/lib/any"
    for call in log.read_text().splitlines()[1:]:
        for setting in ("Dir::State::lists", "Dir::Cache", "Dir::Etc::sourcelist"):
            assert f"{setting}={tmp_path}/workshop/" in call
    source = tmp_path / "workshop/apt/0/sources.list"
    assert source.read_text() == "deb http://archive.example/debian trixie main\n"


def test_unpacked_packages_are_kept(machine, tmp_path):
    """A second call in the same workshop asks apt for nothing."""
    log = machine()
    openfst.provide(tmp_path / "workshop")
    calls = log.read_text()
    openfst.provide(tmp_path / "workshop")
    assert log.read_text() == calls


def test_refusing_archive_names_the_ways_out(machine, tmp_path):
    machine(broken="update")
    with pytest.raises(SetupFailure) as caught:
        openfst.provide(tmp_path / "workshop")
    report = caught.value.report()
    assert "fetching OpenFst" in report
    assert "404" in report
    assert "conda-forge" in report
    assert "libfst-dev" in report
    assert not (tmp_path / "workshop/openfst").exists()


def test_machine_without_apt(programs, tmp_path, monkeypatch):
    monkeypatch.delenv("FSMEU_OPENFST", raising=False)
    with pytest.raises(SetupFailure, match="without apt-get") as caught:
        openfst.provide(tmp_path)
    assert caught.value.remedies == openfst.WAYS_OUT


@pytest.mark.parametrize(("version", "used"), [("1.8.4-3", True), ("1.7.9-4", False)])
def test_machines_own_openfst_is_used_if_it_fits(programs, version, used):
    programs("dpkg-query", f'[ "$1" = -W ] && printf {version} || echo /usr/lib/any/libfst.so')
    found = openfst.installed()
    assert (found is not None) == used
    if found:
        assert (found.lib, found.prefix) == (Path("/usr/lib/any"), None)


def test_users_own_openfst(tmp_path, monkeypatch):
    monkeypatch.setenv("FSMEU_OPENFST", str(tmp_path))
    with pytest.raises(SetupFailure, match=r"FSMEU_OPENFST is .*libfst\.so"):
        openfst.provide(tmp_path)
    for file in ("include/fst/fst.h", "lib/libfst.so"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert openfst.provide(tmp_path).lib == tmp_path / "lib"
