"""One signature tells how far work is, and one bar shows it."""

import pytest

from fsmeu.errors import InputError
from fsmeu.progress import check_progress, progress_bar, silent


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")


def test_no_bar_where_there_is_no_terminal(capsys):
    """Files and pipes get nothing of a bar."""
    with progress_bar("reading") as callback:
        callback(0.5, "half")
    assert capsys.readouterr() == ("", "")


def test_a_bar_shows_the_last_note_on_stderr(capsys, terminal):
    """What is being done and the note stand beside the bar; signs of rich's markup are texts."""
    with progress_bar("reading [b]") as callback:
        callback(0.0, "nothing is known")
        callback(0.5, "half [of it]")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "reading [b] half [of it]" in captured.err


def test_a_bar_of_short_work_is_not_shown(capsys, terminal):
    """Before its first call there is nothing; from then on there is a bar."""
    with progress_bar("searching", first_call=3) as callback:
        callback(0.1, "one")
        callback(0.2, "two")
        assert capsys.readouterr().err == ""
        callback(0.3, "three")
    assert "searching three" in capsys.readouterr().err


def test_the_bar_is_taken_away_after_an_error(capsys, terminal):
    """What is raised within goes on, and the cursor is shown again."""
    with pytest.raises(ZeroDivisionError), progress_bar("dividing"):
        raise ZeroDivisionError
    assert "\x1b[?25h" in capsys.readouterr().err


def test_what_is_no_function_is_refused():
    """None tells nobody."""
    assert check_progress("work", None) is silent
    assert check_progress("work", print) is print
    for wrong in (3, float):
        with pytest.raises(InputError, match="progress must be a function"):
            check_progress("work", wrong)
