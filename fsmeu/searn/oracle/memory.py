"""The room that the tables of oracles may take."""

from __future__ import annotations

from fsmeu.errors import SizeLimitError, sentence
from fsmeu.fst.compose import max_states
from fsmeu.limits import ORACLE_BYTES_PER_STATE

__all__ = ["guard_bytes"]


def guard_bytes(size: int) -> None:
    """Refuses tables of so many bytes, where they are more than the limit.

    Raises:
        SizeLimitError: naming the size, the limit, and how to raise it.
    """
    most = ORACLE_BYTES_PER_STATE * max_states()
    if size > most:
        must = f"the tables of all references may take at most {most:,} bytes, these {size:,}"
        remedy = "Give fewer references at a time, or raise the limit with FSMEU_MAX_STATES"
        raise SizeLimitError(sentence("cost oracle", must, None, remedy))
