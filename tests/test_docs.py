"""What the documents show is what happens: docstrings, and every snippet and link of every page.

On a page, Python blocks are one session, and a ``text`` block behind one is what it prints. In a
``console`` block each ``$ fsmeu`` or ``$ ./run fsmeu`` is run, and what follows is its output, up
to a line ``...``. A block with a ``title`` is a file of that name. All in an empty folder.
"""

import doctest
import os
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fsmeu
from fsmeu.cli.main import app
from fsmeu.errors import InputError
from tests.support.missing import openfst

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tools"))
import images  # noqa: E402
import launch  # noqa: E402
import pages  # noqa: E402

PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "experiments").glob("*.md")]
)
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
FENCE = re.compile(r"^```(\w*)(?: title=\"(.+?)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DATA = re.compile(r"^from conll2000_crf import", re.MULTILINE)
"""In blocks that need a data set, and a minute."""
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "fsmeu").rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    if name.startswith("fsmeu.torch."):
        pytest.importorskip("torch", reason="PyTorch is not installed: ./run test --torch")
    if name == "fsmeu.fst.constraint":
        openfst()  # an example with a regular expression
    tried = doctest.testmod(import_module(name))
    assert tried.attempted > 0
    assert tried.failed == 0


def blocks(page):
    """Language, title and text of each block, and whether it stands right behind the one before."""
    text, end = page.read_text(encoding="utf-8"), 0
    for match in FENCE.finditer(text):
        yield *match.groups(), not text[end : match.start()].strip()
        end = match.end()


def commands(text):
    """Each command of a console block with the lines that it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.replace("\\\n", "").splitlines()
        yield shlex.split(command, comments=True), [line.rstrip() for line in shown]


def run_command(words, shown):
    """Runs a command of fsmeu; of others, that `./run` and its scripts are there."""
    if words[:1] == ["./run"]:
        assert words[1] in launch.COMMANDS
        assert words[1] != "python" or (ROOT / words[2]).is_file()
        words = words[1:]
    if words[0] != "fsmeu" or words[1] in ("demo", "doctor"):
        return
    ran = CliRunner().invoke(app, words[1:])
    assert ran.exit_code == 0, ran.output
    printed = [line.rstrip() for line in ran.stdout.splitlines()]
    if "..." in shown:
        shown = shown[: shown.index("...")]
        printed = printed[: len(shown)]
    assert not shown or printed == shown


SLOW = [ROOT / "docs" / "howto" / f"{name}.md" for name in ("multi_label", "searn")]
"""Pages that train more models than others of their kind."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.nightly] * (page in SLOW)) for page in PAGES],
    ids=NAMES,
)
def test_snippets(page, tmp_path, monkeypatch, capsys):
    (tmp_path / "grammars").symlink_to(ROOT / "grammars")
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path, capsys, with_data=False)


@pytest.mark.nightly
@pytest.mark.parametrize("page", [page for page in PAGES if DATA.search(page.read_text("utf-8"))])
def test_snippets_with_data(page, tmp_path, monkeypatch, capsys):
    """The same of blocks that train with CoNLL-2000."""
    pytest.importorskip("sklearn_crfsuite", reason="sklearn-crfsuite is part of the extra 'crf'")
    monkeypatch.syspath_prepend(str(ROOT / "experiments"))
    monkeypatch.chdir(tmp_path)
    try:
        import_module("data_folder").data_file("conll2000/train.txt.gz")
    except InputError as error:
        pytest.skip(str(error))
    run_page(page, tmp_path, capsys, with_data=True)


def run_page(page, folder, capsys, with_data):
    """Runs the blocks of a page in this folder; those that need data only on demand."""
    names, printed = {"__name__": "page"}, None
    for language, title, text, follows in blocks(page):
        if title:
            (folder / title).write_text(text, encoding="utf-8")
        elif language == "python" and DATA.search(text) and not with_data:
            printed = None
            continue
        elif language == "python":
            exec(compile(text, page.name, "exec"), names)
            printed = capsys.readouterr().out
            continue
        elif language == "console":
            for words, shown in commands(text):
                run_command(words, shown)
        elif language == "text" and follows and printed is not None:
            assert printed == text
        printed = None


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_and_names_of_files(page):
    """Links lead to a file or a generated page, and to headings; scripts are there."""
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\b(?:experiments|tests|tools|fsmeu)/[\w/]+\.(?:py|yml)\b", text):
        assert (ROOT / name).is_file(), name
    for match in pages.LINK.finditer(FENCE.sub("", text)):
        place = (page.parent / match["path"]).resolve()
        assert place.exists() or is_generated(place), match[0]
        if match["rest"].startswith("#") and place.suffix == ".md" and place.exists():
            heads = re.findall(r"^#+ (.+)$", FENCE.sub("", place.read_text("utf-8")), re.MULTILINE)
            words = [re.sub(r"[^\w\s-]", "", head).strip().lower() for head in heads]
            anchor = match["rest"][1:].rstrip(')"')
            assert anchor in [re.sub(r"[\s-]+", "-", one) for one in words], match[0]


def is_generated(place):
    """Whether the documentation generates a page in this place."""
    name = os.path.relpath(place, pages.DOCS)
    return name in {*pages.PAGES.values(), *pages.MADE} or name.startswith("notebooks/")


def test_pictures_are_those_that_are_drawn():
    """`./run python tools/images.py` wrote them: they have the colours of both schemes."""
    for name, drawing in images.drawings().items():
        assert (images.IMAGES / name).read_bytes() == drawing.render("svg"), name
    assert "prefers-color-scheme" in (images.IMAGES / "levels.svg").read_text(encoding="utf-8")


def test_the_long_description_needs_no_other_file():
    """What a package index shows of README has no pictures and no links into the project."""
    toml = pytest.importorskip("tomllib", reason="part of Python from 3.11 on")
    settings = toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    hook = settings["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert hook["fragments"] == [{"path": "README.md"}]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert pages.LINK.search(FENCE.sub("", text))
    for one in hook["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    assert not pages.LINK.search(FENCE.sub("", text))
    assert "![" not in text


def test_reference_has_every_public_name_once():
    """Each name of fsmeu is on one page: modules have their own; results have their classes."""
    listed = [name for names in pages.api_names().values() for name in names]
    homes = [home for names in pages.api_names().values() for home in names.values()]
    assert len(homes) == len(set(homes))
    modules = {"constraints", "learning", "models", "searn", "testing", "__version__"}
    assert set(fsmeu.__all__) - modules <= set(listed)
    assert set(pages.api_names()) | {"api/torch.md"} == {p for p in pages.MADE if "api/" in p}
