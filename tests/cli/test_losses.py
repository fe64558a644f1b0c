"""`fsmeu losses`: what is built in, and what a file says."""

import re

from fsmeu.cli.inputs import whereabouts
from fsmeu.losses.loss import grammar_folder, library


def test_every_file_of_the_shelf_is_listed(fsmeu):
    """The names are those of the files, each with the kind that its file begins with."""
    shown = {row["name"]: row for row in fsmeu("losses", "--json").json}
    files = {path.stem: path.read_text() for path in grammar_folder().glob("*.loss")}
    assert sorted(shown) == sorted(files)
    for name, text in files.items():
        kind = re.search(r"^(loss|utility)\b", text, re.MULTILINE)
        assert kind is not None
        assert shown[name]["kind"] == kind.group(1)
        assert shown[name]["summary"] in text


def test_parameters_are_listed_with_default_and_range(fsmeu):
    """What the head of the F-score file says, as data."""
    (fscore,) = [row for row in fsmeu("losses", "--json").json if row["name"] == "fscore"]
    params = {param["name"]: param for param in fscore["parameters"]}
    beta, empty = params["beta"], params["empty"]
    assert (beta["default"], beta["low"], beta["high"]) == (1, 0, None)
    assert beta["text"] == "beta = 1 in 0.."
    assert (empty["type"], empty["default"], empty["low"]) == ("real", 1, None)
    assert fscore["labels"] == [0, 1]


def test_the_table_fits_a_terminal(fsmeu):
    """No line is wider than 80 columns, and no name is broken."""
    ran = fsmeu("losses")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    _, _, *rows = [line for line in ran.out.splitlines() if line[:1] > " "]
    assert [line.split()[0] for line in rows] == library()
    assert "k: int in 1.." in ran.out
    assert "\x1b" not in ran.out


def test_show_gives_the_file_back(fsmeu):
    """Through a pipe, the text is that of the file, byte for byte; where it is goes to stderr."""
    ran = fsmeu("losses", "pk")
    assert ran.out == (grammar_folder() / "pk.loss").read_text()
    assert ran.err == f"# {grammar_folder() / 'pk.loss'}\n"


def test_show_takes_a_path_and_ends_with_a_newline(fsmeu, tmp_path):
    """A file without a last line break does not run into the prompt."""
    file = tmp_path / "mine.loss"
    file.write_text("loss mine value 1")
    ran = fsmeu("losses", file)
    assert ran.out == "loss mine value 1\n"
    assert ran.err == f"# {file}\n"


def test_show_tells_the_head_as_data(fsmeu, tmp_path):
    """Parameters are told as written, over line ends and comments, and as numbers."""
    file = tmp_path / "mine.loss"
    file.write_text(
        "utility mine(a: int = min(3, 4) in -1..2^3,  # (first, of three\n"
        '             b = a / 2, c: table) "what, it (is)"\n'
        'reference "R"\n'
        "labels bio\n"
        "flag f when z == y\n"
        "value f\n"
        "example O O = 1\n"
    )
    data = fsmeu("losses", file, "--json").json
    texts = [param["text"] for param in data["parameters"]]
    assert texts == ["a: int = min(3, 4) in -1..2^3", "b = a / 2", "c: table"]
    first = data["parameters"][0]
    assert (first["type"], first["default"], first["low"], first["high"]) == ("int", 3, -1, 8)
    assert [param["default"] for param in data["parameters"]] == [3, None, None]
    assert (data["kind"], data["name"], data["summary"]) == ("utility", "mine", "what, it (is)")
    assert (data["labels"], data["tags"], data["references"]) == (None, True, ["R"])
    assert data["registers"] == [{"name": "f", "kind": "flag"}]
    assert data["examples"] == 1
    assert data["path"] == str(file)


def test_show_reads_standard_input(fsmeu):
    """A loss may come through a pipe."""
    ran = fsmeu("losses", "-", stdin="loss mine value 1\n")
    assert ran.out == "loss mine value 1\n"
    assert whereabouts("-") in ran.err
