"""``ColumnTagger``: SEARN for rows of texts with feature templates; ``fsmeu train`` trains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from fsmeu.errors import InputError, check_int, message
from fsmeu.learning.saving import register
from fsmeu.searn.features.sentences import HashedSentences
from fsmeu.searn.features.templates import (
    CHUNKS,
    SETS,
    TemplateSet,
    parse_templates,
    templated_sentences,
)
from fsmeu.searn.searn import Searn, given_space
from fsmeu.searn.spaces.chunks import ChunkAtATime

_MOST_COLUMNS = 1000

Rows = Sequence[Sequence[Sequence[str]]]


@register
@dataclass(eq=False, repr=False)
class ColumnTagger(BaseEstimator):  # type: ignore[misc]
    """Tags for rows of texts (a word and its columns), by templates and search.

    Args:
        templates: a name of ``fsmeu.searn.features.templates.SETS``, or a list of templates.
        crossed: templates that are crossed with the label before, where a list is given.
        searn: a ``Searn`` that is copied and trained; None for its defaults.
        bits: features are hashed to 2^bits columns.

    Attributes:
        width_: how many columns rows must have.
        searn_: the trained ``Searn``.
    """

    templates: Any = "chunking"
    _: KW_ONLY
    crossed: Sequence[str] = ()
    searn: Searn | None = None
    bits: int = 23

    def fit(
        self, X: Rows, y: Any, on_iteration: Callable[[int, Searn], None] | None = None
    ) -> ColumnTagger:
        """The tagger itself, after training.

        Args:
            X: sentences, lists of rows of texts.
            y: the tags of each.
            on_iteration: as in ``Searn.fit``.
        """
        widths = {len(row) for one in X for row in one}
        if len(widths) != 1:
            must = "all rows must have the same number of columns, and there must be one"
            raise InputError(message("ColumnTagger", must, f"{sorted(widths)}"))
        self.width_ = widths.pop()
        model = Searn() if self.searn is None else clone(self.searn)
        self.searn_ = model.fit(self._sentences(X), y, on_iteration=on_iteration)
        return self

    def predict(self, X: Rows) -> list[list[str]]:
        """The tags that are decided for each sentence.

        Raises:
            InputError: a row has another number of columns than those of the training.
        """
        check_is_fitted(self)
        for row in (row for one in X for row in one):
            if len(row) != self.width_:
                must = f"rows must have {self.width_} columns, as in training"
                raise InputError(message("ColumnTagger", must, " ".join(row)))
        found: list[list[str]] = self.searn_.predict(self._sentences(X))
        return found

    def _examples(self) -> list[Any]:
        """Three inputs that suit any such tagger."""
        width = check_int("ColumnTagger", "width_", self.width_)
        return [[("",) * min(width, _MOST_COLUMNS)] * 2] * 3

    def _sentences(self, X: Rows) -> HashedSentences:
        bits = check_int("ColumnTagger", "bits", self.bits)
        space = given_space((Searn() if self.searn is None else self.searn).space, "ColumnTagger")
        segments = CHUNKS if isinstance(space, ChunkAtATime) and self.width_ > 1 else None
        return templated_sentences(X, self._set(), bits, segments)

    def _set(self) -> TemplateSet:
        if isinstance(self.templates, str):
            if self.templates not in SETS:
                must = f"templates must be one of {', '.join(SETS)}, or a list"
                raise InputError(message("ColumnTagger", must, self.templates))
            return SETS[self.templates]
        static, crossed = (map(str, texts) for texts in (self.templates, self.crossed))
        return TemplateSet(parse_templates(static), parse_templates(crossed))
