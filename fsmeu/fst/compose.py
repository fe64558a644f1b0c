"""Composition with guards on size; arc types or symbols that do not match are refused."""

from __future__ import annotations

from fsmeu import limits
from fsmeu.errors import FstError, SizeLimitError, check_int, limit_from
from fsmeu.fst.openfst import pynini, pywrapfst

_VARIABLE = "FSMEU_MAX_STATES"


def max_states(limit: int | None = None) -> int:
    """The limit on states of a machine: the argument, the environment, or five million."""
    if limit is None:
        return limit_from(_VARIABLE, limits.MOST_STATES)
    return check_int("machine", "max_states", limit)


def guard_size(where: str, states: int, limit: int | None = None, least: bool = False) -> None:
    """Refuses a machine of more states, by an estimate (perhaps the least), than the limit."""
    if states > (most := max_states(limit)):
        must = f"a machine may have at most {most:,} states"
        raise _too_large(where, must, _estimate(states, least), "Use a smaller n", limit)


def guard_arcs(where: str, arcs: int, limit: int | None = None, least: bool = False) -> None:
    """Refuses to build a machine with more arcs than memory takes, as with very many labels."""
    if arcs > (most := limits.ARCS_PER_STATE * max(max_states(limit), max_states())):
        must = f"a machine may have at most {most:,} arcs"
        raise _too_large(where, must, _estimate(arcs, least), "Use fewer labels")


def guard_layers(where: str, n: int) -> None:
    """Refuses a machine of so many layers that finding them one by one takes very long."""
    if n > (most := max_states() // limits.STATES_PER_LAYER):
        must = f"a machine may have at most {most:,} layers"
        raise _too_large(where, must, _estimate(n), "Use a smaller n")


def guard_pairs(where: str, labels: int) -> None:
    """Refuses steps that read pairs of so many labels that those of one state fill the memory."""
    if labels * labels > (most := max_states() // limits.STATES_PER_PAIR):
        must = f"a step may read one of at most {most:,} pairs of labels"
        got = f"{labels:,} labels, which make {labels * labels:,}"
        raise _too_large(where, must, got, "Use fewer labels")


def guard_work(where: str, steps: int, limit: int | None = None) -> None:
    """Refuses a walk that takes so many (state, symbol) steps in all layers that it lasts long."""
    if steps > (most := limits.WALK_STEPS_PER_STATE * max_states(limit)):
        must = f"a walk may take at most {most:,} steps"
        advice = "Use a smaller n or fewer labels, keep fewer states where keep can be given"
        raise _too_large(where, must, f"about {steps:,}", advice, limit)


def _estimate(count: int, least: bool = False) -> str:
    return f"{'at least' if least else 'up to'} {count:,}"


def _too_large(
    where: str, must: str, given: str, advice: str, limit: int | None = None
) -> SizeLimitError:
    """The error of what is too large, which says how to raise the limit: where it was set."""
    place = f"the environment variable {_VARIABLE}" if limit is None else "the argument max_states"
    remedy = f"{advice}, or raise the limit with {place}"
    return SizeLimitError(where, must, given=given, remedy=remedy)


def compose(left: pynini.Fst, right: pynini.Fst, names: tuple[str, str]) -> pynini.Fst:
    """The composition; states that lead nowhere are kept, so that sizes are those of the algebra.

    The arcs of ``right`` are sorted by input label. An FstError, in which the operands have these
    names, if their arc types or symbols differ.
    """
    where = f"compose {names[0]} with {names[1]}"
    if left.arc_type() != right.arc_type():
        must = f"both machines need the same arc type ({names[0]} has {left.arc_type()})"
        raise FstError(where, must, given=right.arc_type(), remedy="Convert one with pynini.arcmap")
    try:
        return pynini.compose(left, right, connect=False)
    except pywrapfst.FstOpError as error:
        must = "the output symbols of the first must be the input symbols of the second"
        raise FstError(where, must) from error
