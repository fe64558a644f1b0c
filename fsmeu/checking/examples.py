"""The examples of a loss file: the value that each states, and the value of its pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fsmeu.errors import FsmeuError
from fsmeu.fst.alphabet import Alphabet, Label, as_labels
from fsmeu.fst.tags import KINDS, is_tag
from fsmeu.losses.language.syntax import Example, Spec
from fsmeu.losses.loss import bind_loss
from fsmeu.losses.protocol import evaluate
from fsmeu.losses.semantics.bind import written_value

TOLERANCE = 1e-9  # relative, of a value from the example's: ten digits may be written out


@dataclass(frozen=True)
class ExampleResult:
    """The result of one example: the stated value and the computed one."""

    example: Example  # the example as it stands in the file
    expected: float | None  # the value that the file states; None when it cannot be worked out
    value: float | None  # the value of the pair, or None when there was an error
    error: str = ""  # what is wrong: it has no value, or one outside the range; empty if nothing
    bindings: Mapping[str, Any] = field(default_factory=dict)  # parameters that it binds

    @property
    def holds(self) -> bool:
        """True when both values are there and agree."""
        if self.expected is None or self.value is None:
            return False
        return math.isclose(self.value, self.expected, rel_tol=TOLERANCE, abs_tol=1e-12)


def run_examples(
    spec: Spec,
    *,
    params: Mapping[str, Any] | None = None,
    labels: Alphabet | Sequence[Label] | str | None = None,
) -> list[ExampleResult]:
    """The outcome of every example of a loss file, with the parameters that it binds.

    Args:
        spec: the loss file.
        params: parameters for the examples that do not bind them.
        labels: the labels, where the file leaves them open; else those that its examples use.

    >>> from fsmeu.losses.loss import read_spec
    >>> all(result.holds for result in run_examples(read_spec("hamming")))
    True
    """
    common = dict(params or {})
    results = []
    used = labels_of_examples(spec)
    for example in spec.examples:
        expected = None
        value = None
        error = ""
        bindings = dict[str, Any]()
        try:
            for name, expr in example.bindings:
                bindings[name] = written_value(expr, common | bindings, spec)
            loss = bind_loss(spec, common | bindings, labels)
            if loss.labels_open and (among := loss.labels_among([used])) is not None:
                loss = loss.with_labels(Alphabet(among))
            texts = ((example.z, "hypothesis z"), (example.y, "reference y"))
            z, y = (loss.alphabet.decode(loss.alphabet.parse(*text)) for text in texts)
            expected = loss.bound.at(len(z)).constant(example.value)
            value = evaluate(loss, z, y)
        except FsmeuError as fault:
            error = str(fault)
        results.append(ExampleResult(example, expected, value, error, bindings))
    return results


def labels_of_examples(spec: Spec) -> tuple[Label, ...]:
    """The labels that the examples of a file use."""
    texts = (text for example in spec.examples for text in (example.z, example.y))
    return labels_in(texts, bool(spec.scheme))


def labels_in(texts: Iterable[str], tags: bool = False) -> tuple[Label, ...]:
    """The labels that sequences written as text use.

    A text with spaces or commas is split at them. A text with neither is one label when another
    text shows it to be one, or when it is a chunk tag and ``tags`` is set; else each character is.

    >>> labels_in(["DT NN", "NN", "VB VB"])
    ('DT', 'NN', 'VB')
    """
    parts = [text.replace(",", " ").split() for text in texts]
    words = {word for words in parts if len(words) > 1 for word in words}
    for word in (words_of[0] for words_of in parts if len(words_of) == 1):
        whole = word in words or (tags and is_tag(word, KINDS["iobes"]))
        words |= {word} if whole else set(word)
    if tags:
        return ("O", *sorted(words - {"O"}))
    labels: Any = as_labels(sorted(words))  # all numbers, or all texts
    return tuple(sorted(labels))
