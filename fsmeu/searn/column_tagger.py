"""``ColumnTagger``: ``Searn`` for rows of texts, with feature templates; for ``fsmeu train``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from fsmeu.errors import InputError, check_int, one_of
from fsmeu.learning.saving import register
from fsmeu.searn import features
from fsmeu.searn.searn import Searn, given_space
from fsmeu.searn.spaces.chunks import ChunkAtATime

Rows = Sequence[Sequence[Sequence[str]]]
_MOST_COLUMNS = 1000


@register
@dataclass(eq=False, repr=False)
class ColumnTagger(BaseEstimator):  # type: ignore[misc]
    """Tags for rows of texts (a word and its columns), by templates and search.

    Args:
        templates: a name of ``fsmeu.searn.features.SETS``, or a list of templates.
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
        """The tagger itself, after training on sentences, lists of rows of texts, and tags."""
        X = features.checked_rows(X)
        widths = {len(row) for sentence in X for row in sentence}
        if len(widths) != 1:
            must = "all rows must have the same number of columns, and there must be one"
            raise InputError("ColumnTagger", must, given=f"{sorted(widths)}")
        self.width_ = widths.pop()
        model = clone(self._searn())
        self.searn_ = model.fit(self._sentences(X), y, on_iteration=on_iteration)
        return self

    def predict(self, X: Rows) -> list[list[str]]:
        """The tags that are decided for each sentence, of rows as wide as those of training."""
        check_is_fitted(self)
        X = features.checked_rows(X)
        for row in (row for sentence in X for row in sentence):
            if len(row) != self.width_:
                must = f"rows must have {self.width_} columns, as in training"
                raise InputError("ColumnTagger", must, given=" ".join(row))
        tags: list[list[str]] = self.searn_.predict(self._sentences(X))
        return tags

    def _examples(self) -> list[Any]:
        """Three inputs that suit any such tagger."""
        width = check_int("ColumnTagger", "width_", self.width_)
        return [[("",) * min(width, _MOST_COLUMNS)] * 2] * 3

    def _searn(self) -> Searn:
        """The estimator to be copied; an InputError if it is no ``Searn``."""
        if not isinstance(self.searn, Searn | None):
            raise InputError("ColumnTagger", "searn must be a Searn or None", given=self.searn)
        return Searn() if self.searn is None else self.searn

    def _sentences(self, X: Rows) -> features.HashedSentences:
        """The features of sentences; of their chunks, too, where these are decided at once."""
        bits = check_int("ColumnTagger", "bits", self.bits)
        space = given_space(self._searn().space, "ColumnTagger")
        segments = features.CHUNKS if isinstance(space, ChunkAtATime) and self.width_ > 1 else None
        if isinstance(self.templates, str):
            name = one_of("ColumnTagger", "templates", self.templates, features.SETS)
            chosen = features.SETS[name]
        else:
            texts = (
                features.checked_templates(self.templates, "templates"),
                features.checked_templates(self.crossed, "crossed"),
            )
            chosen = features.TemplateSet(*map(features.parse_templates, texts))
        return features.templated_sentences(X, chosen, bits, segments)
