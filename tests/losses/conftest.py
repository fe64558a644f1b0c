"""What tests of losses share."""

import pytest

from fsmeu.losses.machine.view import SpecView


@pytest.fixture
def cells(monkeypatch):
    """The cells of every step that a view is asked for."""
    asked = []
    plain = SpecView.advance

    def advance(self, i, codes, symbols=None):
        asked.append(len(codes) * (self.symbols if symbols is None else len(symbols)))
        return plain(self, i, codes, symbols)

    monkeypatch.setattr(SpecView, "advance", advance)
    return asked
