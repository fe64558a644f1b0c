"""`fsmeu gallery`: the page holds what the files say; hostile ones are in ``tests/drawing``."""

import shlex

import pytest

import fsmeu as package
from fsmeu.checking.examples import run_examples
from fsmeu.checking.report import loss_to_measure
from fsmeu.drawing.gallery import usage
from fsmeu.losses.loss import grammar_folder, library, load, read_spec
from tests.support.html import Page

NAMES = ["fscore", "pk", "zero_one", "chunk_recall"]


@pytest.fixture(scope="module")
def gallery(fsmeu, tmp_path_factory):
    """A page of four losses, written once: its elements, and the article of each."""
    folder = tmp_path_factory.mktemp("gallery") / "new" / "place"
    ran = fsmeu("gallery", "-o", folder, *NAMES)
    assert (ran.code, ran.out.strip()) == (0, str(folder / "index.html"))
    pages = {f"explore-{name}.html" for name in NAMES}
    assert {path.name for path in folder.iterdir()} == {"index.html", *pages}
    page = Page((folder / "index.html").read_text(encoding="utf-8"))
    return page, {article["at"]["id"]: article for article in page.all("article")}


def test_every_file_is_shown_as_it_is(gallery):
    page, articles = gallery
    assert set(articles) == set(NAMES)
    for name, article in articles.items():
        file = (grammar_folder() / f"{name}.loss").read_text(encoding="utf-8")
        assert page.texts("pre", article) == [file.rstrip("\n")]
        assert "examples hold." in article["text"]
    assert page.texts("dt", articles["pk"])[:4] == ["steps", "value", "additive", "confusion table"]
    assert page.texts("span", articles["pk"], **{"class": "chip any"}) == ["additive", "counting"]


def test_growth_is_that_of_the_machines(gallery):
    page, articles = gallery
    (table,) = page.all("table", articles["fscore"])
    rows = [page.texts("td", row) for row in page.all("tr", table)][1:-1]
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 16]
    loss = load("fscore")
    for n, *sizes, _ in rows:
        states = [loss.compile(int(n), minimize=merge).states for merge in (False, True)]
        assert [int(size.replace(",", "")) for size in sizes] == [*states, 2 * int(n) ** 2]


def test_pictures_are_there(gallery):
    """The F-score as Figure 1 of Jansche 2007 has it, z free: ten states for two positions."""
    page, articles = gallery
    assert all(page.all("svg", figure) for figure in page.all("figure"))
    assert page.texts("figcaption", articles["fscore"]) == [
        "as the file makes it: n = 2",
        "merged: 4 of 10 states can be told apart",
        "summed, 8 states: the paths of a pair add up to its value",
    ]


def test_index_has_thumbnails_of_the_machines(gallery):
    """One for each loss, small, without words; as many states as one of its pictures."""
    page, articles = gallery
    (overview,) = page.all("table", id="overview")
    rows = page.all("tr", overview)[1:]
    assert {row["at"]["data-of"] for row in rows} == set(NAMES)
    for row in rows:
        (stamp,) = page.all("svg", row)
        assert float(stamp["at"]["width"]) <= 132
        assert float(stamp["at"]["height"]) <= 66
        assert not page.all("text", row)
        figures = page.all("figure", articles[row["at"]["data-of"]])
        states, *drawn = (len(page.all("g", one, **{"class": "node"})) for one in (stamp, *figures))
        assert states in drawn


@pytest.mark.parametrize("name", library())
def test_lines_of_usage_say_what_is_so(fsmeu, name):
    spec = read_spec(name)
    line, command = usage(spec, run_examples(spec), loss_to_measure(spec, {})[1])
    code, _, value = line.partition("  # ")
    assert eval(code, {"fsmeu": package}) == pytest.approx(float(value), rel=1e-5)
    if name in ("pk", "chunk_fscore", "cost_matrix"):
        program, *words = shlex.split(command)
        assert program == "fsmeu"
        assert any(part.startswith(value[:4]) for part in fsmeu(*words).out.split()[-3:])


@pytest.fixture
def shown(fsmeu, keep, tmp_path):
    """The text of a gallery of files with these contents."""

    def write(*contents):
        files = [keep(f"{k}.loss", content) for k, content in enumerate(contents)]
        ran = fsmeu("gallery", *files, "-o", tmp_path)
        assert ran.code == 0, ran.err
        return (tmp_path / "index.html").read_text(encoding="utf-8")

    return write


def test_a_loss_that_cannot_be_measured_is_shown_all_the_same(shown):
    page = Page(shown("loss open_ended(w: real) labels 0 1 count bad when z != y value w * bad"))
    (article,) = page.all("article")
    assert "Not measured" in article["text"]
    assert not page.all("svg", article)


def test_files_of_one_name_have_places_of_their_own(shown, tmp_path):
    texts = [f"loss same labels 0 1 count bad when z != y value {k} * bad" for k in (1, 2)]
    page = Page(shown(*texts))
    assert [article["at"]["id"] for article in page.all("article")] == ["same", "same-2"]
    links = [a["at"]["href"] for a in page.all("a")]
    assert links[:4] == ["#same", "#same", "#same-2", "#same-2"]  # thumbnail and name
    assert links[4:] == ["explore-same.html", "explore-same-2.html"]
    for k, link in enumerate(links[4:], start=1):
        assert f'"values":[0.0,{k}.0]' in (tmp_path / link).read_text(encoding="utf-8")
