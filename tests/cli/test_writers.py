"""Where a command cannot write, a file keeps its content; ``tests/test_files.py`` kills writers."""

import os
from pathlib import Path

import pytest

from tests.support.examples import as_csv

OLD = b"the old content"
WRITERS = [
    "draw --format fst fscore --n 3 -o OUT.fst",
    "draw fscore --n 2 -o OUT.svg",
    "draw fscore --n 2 -o OUT.png",
    "draw --explore fscore --n 2 -o OUT.html",
    "expect --levels fscore 10 --probs .5,.25 --plot OUT.pdf",
    "train data.csv -o OUT.npz",
    "train data.csv -o other.npz --test data.csv --plot OUT.png",
    "predict model.npz data.csv -o OUT.txt",
    "train --online data.csv -c OFOClassifier --output OUT.npz",
    "train --online data.csv -c OFOClassifier --plot OUT.json",
    "train --online data.csv -c OFOClassifier --plot OUT.csv",
    "train --online data.csv -c OFOClassifier --plot OUT.png",
    "score columns.txt -l accuracy -o OUT.json --draws 0",
    "score columns.txt -l accuracy -o OUT.csv --draws 0",
    "score columns.txt -l accuracy --plot OUT.png --draws 0",
    "train --searn columns.txt -o OUT.npz -p iterations=1",
    "predict tagger.npz columns.txt -o OUT.txt",
    "gallery hamming -o OUT/index.html",
]


@pytest.fixture(scope="module")
def material(fsmeu, tmp_path_factory):
    """A folder with what the commands read."""
    folder = tmp_path_factory.mktemp("material")
    as_csv(folder / "data.csv")
    (folder / "columns.txt").write_text("a x x\nb y y\n\nb y x\na x x\n\n" * 3)
    for words in ("data.csv -o model.npz", "columns.txt -o tagger.npz --searn -p iterations=1"):
        given, _, made, *more = words.split()
        assert fsmeu("train", folder / given, "-o", folder / made, *more).code == 0
    return folder


@pytest.mark.parametrize("command", WRITERS)
@pytest.mark.thirds
def test_old_or_new(fsmeu, material, tmp_path, monkeypatch, command):
    for file in material.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    target = Path(next(word for word in command.split() if word.startswith("OUT")))
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(OLD)
    target.chmod(0o640)
    words = command.replace("/index.html", "").split()
    assert fsmeu(*words).code == 0
    assert target.read_bytes() != OLD
    assert target.stat().st_mode & 0o777 == 0o640
    target.write_bytes(OLD)
    before, replace = set(tmp_path.rglob("*")), os.replace

    def full(part, place, **more):
        if Path(place).name == target.name:
            raise OSError(28, "No space left on device")
        replace(part, place, **more)

    monkeypatch.setattr(os, "replace", full)
    ran = fsmeu(*words)
    assert (ran.code, "No space left on device" in ran.err) == (2, True)
    assert (target.read_bytes(), set(tmp_path.rglob("*"))) == (OLD, before)
