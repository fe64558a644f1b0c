"""Trellises that are kept on a loss: one for all lengths where no step looks at the length."""

from __future__ import annotations

from collections import Counter

from fsmeu.limits import LEAST_TRELLIS_LENGTH, MOST_TRELLISES
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.loss import SpecLoss
from fsmeu.trellis.split_trellis import SplitTrellis

__all__ = ["announce", "split_trellis"]


def split_trellis(loss: SpecLoss, form: Split, n: int) -> SplitTrellis:
    """The trellis of a split loss for sequences of length n; the last few are kept on the loss.

    Args:
        loss: the loss.
        form: the loss split by tape.
        n: the length.

    Raises:
        LossFileError: a step is undefined, be it only for sequences that no model gives.
        SizeLimitError: there are too many steps to keep.
    """
    kept: dict[int, SplitTrellis] = loss.memo("trellises")  # type: ignore[assignment]
    swept, length = _swept(loss), n
    if kept and n not in kept and not form.reads_length:
        length = next((k for k, t in kept.items() if k >= n and t.serves(n)), 0)
        length = length or max(LEAST_TRELLIS_LENGTH, 1 << (n - 1).bit_length())
    found = kept.pop(length) if length in kept else SplitTrellis(form, length, swept)
    if not found.serves(n):
        found = kept.pop(n) if n in kept else SplitTrellis(form, n, swept)
    kept[found.n] = found
    while len(kept) > MOST_TRELLISES:
        del kept[next(iter(kept))]
    return found


def announce(loss: SpecLoss, positions: int) -> None:
    """Says how many positions are going to be swept, for what computes them to be chosen by it."""
    _swept(loss)["positions"] += positions


def _swept(loss: SpecLoss) -> Counter[str]:
    """How many positions the trellises of a loss have swept."""
    held: dict[str, Counter[str]] = loss.memo("swept")  # type: ignore[assignment]
    return held.setdefault("counter", Counter())
