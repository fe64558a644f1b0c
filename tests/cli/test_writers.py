"""Everything that writes a file leaves its old or its new content: killed, or on a full disk.

Each writer runs in a process whose files must not grow past some bytes: writing on is the end of
it (as by a kill), or an error (as of a full disk). Another is killed when all is written.
"""

import os
import resource
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import fsmeu
from fsmeu.cli.main import app
from fsmeu.learning import DTAClassifier
from fsmeu.learning.saving import save
from fsmeu.searn.search import Mixture
from fsmeu.searn.searn import Trained

OLD = b"the old content"
DATA = "data.csv"
MODEL = "model.npz"
COLUMNS = "columns.txt"
TAGGER = "tagger.npz"
WRITERS = [
    "draw --format fst fscore --n 3 -o OUT.fst",
    "draw fscore --n 2 -o OUT.svg",
    "draw fscore --n 2 -o OUT.png",
    "draw --explore fscore --n 2 -o OUT.html",
    "expect --levels fscore 10 --probs .5,.25 --plot OUT.pdf",
    f"train {DATA} -o OUT.npz",
    f"train {DATA} -o other.npz --test {DATA} --plot OUT.png",
    f"predict {MODEL} {DATA} -o OUT.txt",
    f"train --online {DATA} -c OFOClassifier --output OUT.npz",
    f"train --online {DATA} -c OFOClassifier --plot OUT.json",
    f"train --online {DATA} -c OFOClassifier --plot OUT.csv",
    f"train --online {DATA} -c OFOClassifier --plot OUT.png",
    f"score {COLUMNS} -l accuracy -o OUT.json --draws 0",
    f"score {COLUMNS} -l accuracy -o OUT.csv --draws 0",
    f"score {COLUMNS} -l accuracy --plot OUT.png --draws 0",
    f"train --searn {COLUMNS} -o OUT.npz -p iterations=1",
    f"predict {TAGGER} {COLUMNS} -o OUT.txt",
    "gallery hamming -o OUT/index.html",
    "checkpoint OUT.npz",
]


def run(words):
    """Runs a command, or writes the state of training that has not begun."""
    if words[0] == "checkpoint":
        save(Trained(Mixture(), Mixture(folds=np.zeros(1, np.int64)), 0, "mark"), words[1])
    else:
        ran = CliRunner().invoke(app, [word.removesuffix("/index.html") for word in words])
        assert ran.exit_code == 0, ran.output


def ended(words, how):
    """How a process ends that is killed, or finds the disk full: 3 where it says so."""
    process = os.fork()
    if process:
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    signal.alarm(60)
    try:
        if how == "replacing":
            os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        if how == "killed":
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        run(words)
    except (AssertionError, fsmeu.FsmeuError) as error:
        os._exit(3 if "(File too large)" in str(error) else 4)
    finally:
        os._exit(5)


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A folder with what the writers read."""
    folder = tmp_path_factory.mktemp("material")
    random = np.random.default_rng(1)
    rows, labels = random.normal(size=(12, 2)), np.arange(12) % 2
    lines = [",".join(map(str, [*row, label])) for row, label in zip(rows, labels, strict=True)]
    (folder / DATA).write_text("\n".join(lines) + "\n")
    save(DTAClassifier("fscore", LogisticRegression()).fit(rows, labels), folder / MODEL)
    (folder / COLUMNS).write_text("a x x\nb y y\n\nb y x\na x x\n\n" * 3)
    run(f"train --searn {folder / COLUMNS} -o {folder / TAGGER} -p iterations=1".split())
    return folder


@pytest.fixture
def place(material, tmp_path):
    """A folder that holds what the writers read."""
    for file in material.iterdir():
        (tmp_path / file.name).symlink_to(file)
    return tmp_path


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.thirds
def test_old_or_new(place, monkeypatch, command):
    monkeypatch.chdir(place)
    words = command.split()
    target = Path(next(word for word in words if word.startswith("OUT")))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(OLD)
    target.chmod(0o640)
    run(words)
    assert target.read_bytes() != OLD
    assert target.stat().st_mode & 0o777 == 0o640
    target.write_bytes(OLD)
    before = set(place.rglob("*"))
    for how, code in (("full", 3), ("killed", -signal.SIGXFSZ), ("replacing", -signal.SIGKILL)):
        assert (how, ended(words, how), target.read_bytes()) == (how, code, OLD)
        assert how != "full" or set(place.rglob("*")) == before
