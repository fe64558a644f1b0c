"""One signature tells how far work is, and one bar shows it."""

import pytest

from fsmeu.progress import progress_bar


@pytest.fixture
def terminal(monkeypatch):
    for name, value in {"FORCE_COLOR": "1", "COLUMNS": "80", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)


def test_a_bar_shows_the_last_note_on_stderr(capsys, terminal):
    """What is being done and the note stand beside the bar; signs of rich's markup are texts."""
    with progress_bar("reading [b]") as callback:
        callback(0.0, "nothing is known")
        callback(0.5, "half [of it]")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "reading [b] half [of it]" in captured.err


def test_the_bar_is_taken_away_after_an_error(capsys, terminal):
    """What is raised within goes on, and the cursor is shown again."""
    with pytest.raises(ZeroDivisionError), progress_bar("dividing"):
        raise ZeroDivisionError
    assert "\x1b[?25h" in capsys.readouterr().err
