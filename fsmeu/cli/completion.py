"""Words that a shell offers while a command is typed; where there are none, it offers files.

Modules that know the words are imported when a shell asks: help does not wait for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from fsmeu.endings import LOSS

Completer = Callable[[str], list[str]]


def one_word_of(*names: str) -> Completer:
    """A function that completes one of these names."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(names, incomplete)

    return complete


def loss_names(incomplete: str) -> list[str]:
    """Built-in losses, and paths of loss files, that begin with what was typed."""
    from fsmeu.losses.loss import library

    folder, _, beginning = incomplete.rpartition("/")
    files = [path.name for path in Path(folder or ".").glob(f"*.{LOSS}")]
    prefix = incomplete.removesuffix(beginning) if beginning else incomplete
    own = [f"{prefix}{name}" for name in _beginning(sorted(files), beginning)]
    return [*_beginning(library(), incomplete), *own]


def method_names(incomplete: str) -> list[str]:
    """Methods of deciding that begin with what was typed."""
    from fsmeu.decoding.choice import METHODS

    return _beginning(("auto", "all", *METHODS), incomplete)


def engine_names(incomplete: str) -> list[str]:
    """Engines that begin with what was typed."""
    from fsmeu.expectation.expect import ENGINES

    return _beginning(ENGINES, incomplete)


def classifier_names(incomplete: str) -> list[str]:
    """Classifiers that can be trained whose names begin with what was typed."""
    from fsmeu.cli.predict import classifiers

    return _beginning(classifiers(), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
