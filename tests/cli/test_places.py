"""Where commands write, how they are started and stopped, and what `doctor` needs to know."""

import re
import signal
import subprocess
import sys
import time

import pytest

from fsmeu import limits
from fsmeu.cli import start
from fsmeu.cli.failures import INTERRUPTED
from fsmeu.cli.main import COMMANDS
from fsmeu.cli.requirements import needs
from tests.cli.conftest import write

MODEL = {"probs": [0.5, 0.25]}
COLUMNS = "a O\nb B-X\n\nc O\n\n"
WRITING = {
    "draw, picture": "draw hamming --n 2 -o {}/x.svg",
    "draw, page": "draw hamming --n 2 -o {}/x.html",
    "draw, machine": "draw hamming --n 2 -o {}/x.fst",
    "draw, composition": "decode hamming --probs 0.5 --engine openfst --draw {}/x.svg",
    "decode": "decode hamming --corpus c.jsonl -o {}/x.jsonl",
    "expect": "expect hamming --corpus c.jsonl -o {}/x.jsonl",
    "expect, plot": "expect hamming 01 --probs 0.5,0.5 --plot {}/x.svg",
    "score": "score hamming r.jsonl -o {}/x.csv",
    "score, plot": "score hamming r.jsonl --plot {}/x.svg",
    "train": "train t.conll -o {}/x.skops",
    "train, plot": "train t.csv -o m.skops --test t.csv --plot {}/x.svg",
    "predict": "predict m.skops t.conll -o {}/x.conll",
    "demo": "demo -o {}/x",
}


@pytest.fixture
def material(tmp_path, monkeypatch, fsmeu):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "c.jsonl", [{**MODEL, "z": "01"}])
    write(tmp_path / "r.jsonl", [{**MODEL, "y": "01"}])
    write(tmp_path / "t.conll", COLUMNS)
    write(tmp_path / "t.csv", "a,b\n1,0\n2,1\n")
    return tmp_path


@pytest.mark.parametrize("line", WRITING.values(), ids=WRITING)
def test_folders_that_are_not_there_are_not_made(fsmeu, material, line):
    """The sentence names the folder, before any work is done."""
    before = set(material.rglob("*"))
    ran = fsmeu(*line.format("some/new").split())
    ran.is_refused("the folder some/new must exist", "mkdir -p some/new")
    assert set(material.rglob("*")) == before


@pytest.mark.nightly
def test_the_package_is_run_as_the_command(tmp_path):
    module = [sys.executable, "-m", "fsmeu"]
    command = [sys.executable, "-m", "fsmeu.cli.main"]
    for words in (["--help"], ["evaluate", "hamming", "01", "00"], ["losses", "fsocre"]):
        shown = []
        for program in (module, command):
            ran = subprocess.run([*program, *words], capture_output=True, check=False, cwd=tmp_path)
            shown.append((ran.returncode, ran.stdout, ran.stderr))
        assert shown[0] == shown[1]
    assert (
        b"Usage: fsmeu " in subprocess.run([*module, "-h"], capture_output=True, check=True).stdout
    )


START = (  # children inherit that interruptions are ignored in the background
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "import fsmeu.cli.main as m; m.main()"
)


def interrupted(output, *words):
    """What is said by a command that is interrupted while it waits for more of a corpus."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", START, *words], **pipes)
    process.stdin.write(b'{"probs": [0.5, 0.25], "y": "01"}\n' * (limits.RECORDS_AT_ONCE + 40))
    process.stdin.flush()
    if output is None:  # a result of the first batch is printed
        process.stdout.readline()
    else:
        patience = time.monotonic() + 100
        while not (output.exists() and output.stat().st_size) and time.monotonic() < patience:
            time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    return told.decode()


@pytest.mark.nightly
def test_an_interrupted_corpus_says_how_to_go_on(fsmeu, tmp_path):
    out = tmp_path / "out.jsonl"
    told = interrupted(out, "decode", "fscore", "--corpus", "-", "-o", str(out))
    written = out.read_bytes().count(b"\n")
    assert written == limits.RECORDS_AT_ONCE
    assert told == (
        f"fsmeu: interrupted; {written} results are in {out}. Run the same command with --resume "
        "to go on after them.\n"
    )
    corpus = write(tmp_path / "c.jsonl", [MODEL] * (written + 40))
    go_on = fsmeu("decode", "fscore", "--corpus", corpus, "-o", out, "--resume")
    assert (go_on.code, out.read_bytes().count(b"\n")) == (0, written + 40)


@pytest.mark.nightly
def test_an_interrupted_corpus_without_a_file_says_what_would_have_helped():
    told = interrupted(None, "decode", "fscore", "--corpus", "-")
    assert told == "fsmeu: interrupted; with --output FILE, --resume could go on.\n"


# -- help ------------------------------------------------------------------------------------------


@pytest.mark.thirds
@pytest.mark.parametrize("columns", [40, 50, 60, 71, 72, 80, 100, 140])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_whole_at_any_width(fsmeu, command, columns, monkeypatch):
    """Every word of it, whatever the width of the terminal: 200 columns show all of them."""
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = fsmeu(*command.split(), "--help").out
    assert "…" not in shown
    monkeypatch.setenv("COLUMNS", "200")
    wide = re.sub("(?m)^╭.*", "", fsmeu(*command.split(), "--help").out)  # titles of panels
    letters = re.sub(r"[^A-Za-z0-9]", "", shown)
    words = {word for word in re.findall(r"[A-Za-z]{4,}", wide) if word not in letters}
    assert words == set()
    assert set(re.findall(r"--[a-z]+", wide)) <= set(re.findall(r"--[a-z]+", shown))


# -- what `doctor` asks for ------------------------------------------------------------------------

TEXTS = [
    "base>=1",
    "old; python_version < '3.9'",
    "thing[one,two]>=2,<3; extra == 'more'",
    "elsewhere; (sys_platform == 'win32') and extra == 'more'",
    'quoted ; extra == "other-one"',
]


def test_requirements_have_their_part():
    """Markers of other machines are honoured, and versions are compared as versions."""
    found = needs(TEXTS, ["more", "other-one"])
    assert [need[:2] for need in found] == [
        ("", "base"),
        ("more", "thing"),
        ("other-one", "quoted"),
    ]
    versions = found[1].versions
    assert [versions.contains(one) for one in ("2", "2.10", "3.0", "1.9")] == [
        True,
        True,
        False,
        False,
    ]


def test_what_does_not_apply_is_not_missing(fsmeu, monkeypatch):
    monkeypatch.setattr(start.metadata, "requires", lambda name: TEXTS)
    shown = fsmeu("doctor", "--json").json
    assert [row["package"] for row in shown["packages"]] == ["base"]
    assert shown["advice"] == ["base missing: pip install fsmeu"]


def test_versions_that_do_not_fit_are_told(fsmeu, monkeypatch):
    """numpy 1.9 is older than 1.26, although it is the greater number."""
    versions = {"numpy": "1.9.0", "rich": "13.10.1", "new": "4.0rc1"}
    texts = ["numpy>=1.26", "rich>=13.7", "new>=3; extra == 'more'"]
    monkeypatch.setattr(start.metadata, "requires", lambda name: texts)
    monkeypatch.setattr(start, "installed", lambda name: versions.get(name, ""))
    shown = fsmeu("doctor", "--json").json
    assert shown["advice"] == ["numpy 1.9.0 is installed, and numpy>=1.26 is needed"]
