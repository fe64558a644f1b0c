"""`fsmeu gallery`: the page holds what the files say, and nothing that they could smuggle in."""

import shlex
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

import fsmeu as package
from fsmeu.checking.examples import run_examples
from fsmeu.checking.report import loss_to_measure
from fsmeu.drawing.pages.gallery import usage
from fsmeu.losses.loss import grammar_folder, library, load, read_spec

VOID = {"meta", "input"}
HOSTILE = """
loss f "</pre><script>alert(1)</script> & <img src=x onerror=alert(2)>"
reference "<b onmouseover='alert(3)'>\u202e &amp; co"
labels "<i>" "</svg><script>" # <!-- ]]> "
count bad when z != y
value bad
example "<i> <i>" "<i> </svg><script>" = 1
"""
OPEN = "loss open_ended(w: real) labels 0 1 count bad when z != y value w * bad"


class Page(HTMLParser):
    """The elements of a page with their text, checked to be well nested."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.elements = [], []
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "at": dict(attributes), "text": "", "in": list(self.stack)}
        self.elements.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag, attributes):
        self.elements.append({"tag": tag, "at": dict(attributes), "text": "", "in": []})

    def handle_endtag(self, tag):
        assert self.stack.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.stack:
            element["text"] += data

    def all(self, tag, inside=None):
        return [
            e
            for e in self.elements
            if e["tag"] == tag and (inside is None or any(i is inside for i in e["in"]))
        ]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A page of four losses, written once."""
    from typer.testing import CliRunner

    from fsmeu.cli.main import app

    folder = tmp_path_factory.mktemp("gallery") / "new" / "place"
    names = ["fscore", "pk", "zero_one", "chunk_recall"]
    ran = CliRunner().invoke(app, ["gallery", "-o", str(folder), *names])
    assert ran.exit_code == 0, ran.output
    assert ran.output.strip() == str(folder / "index.html")
    pages = {f"explore-{name}.html" for name in names}
    assert {path.name for path in folder.iterdir()} == {"index.html", *pages}
    return names, (folder / "index.html").read_text(encoding="utf-8")


def test_every_file_is_shown_as_it_is(shelf):
    names, text = shelf
    page = Page(text)
    articles = {article["at"]["id"]: article for article in page.all("article")}
    assert set(articles) == set(names)
    for name, article in articles.items():
        (source,) = page.all("pre", article)
        file = (grammar_folder() / f"{name}.loss").read_text(encoding="utf-8")
        assert source["text"] == file.rstrip("\n")
        assert "examples hold." in article["text"]


def test_growth_is_that_of_the_machines(shelf):
    page = Page(shelf[1])
    article = next(a for a in page.all("article") if a["at"]["id"] == "fscore")
    (table,) = page.all("table", article)
    rows = [[c["text"] for c in page.all("td", row)] for row in page.all("tr", table)][1:-1]
    assert [int(row[0]) for row in rows] == [1, 2, 4, 8, 16]
    for n, states, merged, summed, _ in rows:
        loss = load("fscore")
        assert int(states.replace(",", "")) == loss.compile(int(n)).states
        assert int(merged.replace(",", "")) == loss.compile(int(n), minimize=True).states
        assert int(summed.replace(",", "")) == 2 * int(n) ** 2


def test_pictures_are_there_and_well_formed(shelf):
    """The F-score as Figure 1 of Jansche 2007 has it, z free: ten states for two positions."""
    text = shelf[1]
    pictures = [part.split("</svg>")[0] + "</svg>" for part in text.split("<figure>")[1:]]
    pictures = [picture[picture.index("<svg") :] for picture in pictures]
    assert len(pictures) >= len(shelf[0])
    for picture in pictures:
        ET.fromstring(picture)
    page = Page(text)
    article = next(a for a in page.all("article") if a["at"]["id"] == "fscore")
    captions = [c["text"] for c in page.all("figcaption", article)]
    assert captions == [
        "as the file makes it: n = 2",
        "merged: 4 of 10 states can be told apart",
        "summed, 8 states: the paths of a pair add up to its value",
    ]


def test_index_has_thumbnails_of_the_machines(shelf):
    """One for each loss, small, without words; as many states as one of its pictures."""
    names, text = shelf
    page = Page(text)
    rows = page.all("tr", next(t for t in page.all("table") if t["at"].get("id") == "overview"))
    assert len(rows) == len(names) + 1
    for row in rows[1:]:
        (stamp,) = page.all("svg", row)
        assert float(stamp["at"]["width"]) <= 132
        assert float(stamp["at"]["height"]) <= 66
        assert not page.all("text", row)
    stamps = [part.split("</svg>")[0] for part in text.split('class="stamp"')[1:]]
    for name, stamp in zip(["fscore", "chunk_recall"], (stamps[0], stamps[1]), strict=True):
        article = text[text.index(f'<article id="{name}"') :].split("</article>")[0]
        pictures = [part.split("</svg>")[0] for part in article.split("<figure>")[1:]]
        states = {
            p.count("rx=") - p.count('fill="none" stroke="#222222" stroke-width="0.8"')
            for p in pictures
        }
        assert stamp.count("rx=") in states


@pytest.mark.parametrize("name", library())
def test_lines_of_usage_say_what_is_so(fsmeu, name):
    """The line of Python is run as it stands; the command ends in the same value."""
    spec = read_spec(name)
    line = usage(spec, run_examples(spec), loss_to_measure(spec, {})[1])
    code, _, value = line.python.partition("  # ")
    assert eval(code, {"fsmeu": package}) == pytest.approx(float(value), rel=1e-5)
    if name in ("pk", "chunk_fscore", "cost_matrix"):
        words = shlex.split(line.command)
        assert words[0] == "fsmeu"
        ran = fsmeu(*words[1:])
        assert ran.code == 0
        assert any(part.startswith(value[:4]) for part in ran.out.split()[-3:])


def test_properties_and_methods_are_told(shelf):
    page = Page(shelf[1])
    article = next(a for a in page.all("article") if a["at"]["id"] == "pk")
    heads = [d["text"] for d in page.all("dt", article)]
    assert heads[:4] == ["steps", "value", "additive", "confusion table"]
    chips = [s["text"] for s in page.all("span", article) if s["at"].get("class") == "chip any"]
    assert chips == ["additive", "counting"]


def test_nothing_is_fetched(shelf):
    page = Page(shelf[1])
    for element in page.elements:
        for name in ("src", "href", "action", "data"):
            value = element["at"].get(name) or ""
            beside = name == "href" and value in {f"explore-{one}.html" for one in shelf[0]}
            assert value.startswith("#") or value == "" or beside
    assert len(page.all("script")) == len(page.all("style")) == 1
    policy = next(m["at"]["content"] for m in page.all("meta") if "content" in m["at"])
    assert policy.startswith("default-src 'none'; script-src 'sha256-")


def test_hostile_texts_stay_texts(fsmeu, tmp_path):
    """Summaries, references and labels cannot add elements, attributes or scripts."""
    file = tmp_path / "f.loss"
    file.write_text(HOSTILE, encoding="utf-8")
    ran = fsmeu("gallery", file, "-o", tmp_path / "out")
    assert ran.code == 0, ran.err
    text = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.all("script")) == 1
    assert not page.all("img")
    assert not page.all("b")
    for element in page.elements:
        assert not [name for name in element["at"] if name.startswith("on")]
    assert "\u202e" not in text
    (source,) = page.all("pre")
    assert source["text"] == HOSTILE.strip("\n").replace("\u202e", "\\u202e")


def test_a_loss_that_cannot_be_measured_is_shown_all_the_same(fsmeu, tmp_path):
    file = tmp_path / "open.loss"
    file.write_text(OPEN, encoding="utf-8")
    assert fsmeu("gallery", file, "-o", tmp_path).code == 0
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    (article,) = page.all("article")
    assert "Not measured" in article["text"]
    assert not page.all("svg", article)


def test_files_of_one_name_have_places_of_their_own(fsmeu, tmp_path):
    for k in (1, 2):
        text = f"loss same labels 0 1 count bad when z != y value {k} * bad"
        (tmp_path / f"{k}.loss").write_text(text, encoding="utf-8")
    files = [tmp_path / "1.loss", tmp_path / "2.loss"]
    assert fsmeu("gallery", *files, "-o", tmp_path).code == 0
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    places = [article["at"]["id"] for article in page.all("article")]
    assert places == ["same", "same-2"]
    links = [a["at"]["href"] for a in page.all("a")]
    assert links[:4] == ["#same", "#same", "#same-2", "#same-2"]  # thumbnail and name
    assert links[4:] == ["explore-same.html", "explore-same-2.html"]
    for k, link in enumerate(links[4:], start=1):
        assert f'"values":[0.0,{k}.0]' in (tmp_path / link).read_text(encoding="utf-8")


def test_bad_places_and_names_are_refused(fsmeu, tmp_path):
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    fsmeu("gallery", "hamming", "-o", file).is_refused("-o must name a folder")
    fsmeu("gallery", "hammming", "-o", tmp_path / "new").is_refused("Did you mean 'hamming'?")
    assert not (tmp_path / "new").exists()
