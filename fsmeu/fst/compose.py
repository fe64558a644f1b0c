"""Composition with guards on size; arc types or symbols that do not match are refused."""

from __future__ import annotations

from fsmeu.errors import FstError, SizeLimitError, check_int, limit_from
from fsmeu.fst.openfst import pynini, pywrapfst
from fsmeu.limits import ARCS_PER_STATE

_MOST_STATES = 5_000_000  # by default: with four arcs of 24 bytes each they take half a gigabyte
_STATES_PER_PAIR = 4  # that a pair of labels counts as: a state makes several arrays over all pairs
_STATES_PER_LAYER = 50  # that a layer counts as where new ones come without end: it takes as long
_WALK_STEPS_PER_STATE = 80  # of a whole walk for each state allowed: they take time, but no room
_VARIABLE = "FSMEU_MAX_STATES"
_MACHINE = "a machine may have at most {most:,} {what}, this one would have {about} {count:,}"


def max_states(limit: int | None = None) -> int:
    """The limit on states of a machine: the argument, the environment, or five million."""
    if limit is None:
        return limit_from(_VARIABLE, _MOST_STATES)
    return check_int("machine", "max_states", limit)


def guard_size(where: str, states: int, limit: int | None = None, least: bool = False) -> None:
    """Refuses a machine of more states, by an estimate (perhaps the least), than the limit."""
    _guard(where, states, max_states(limit), _MACHINE, "Use a smaller n", "states", least)


def guard_arcs(where: str, arcs: int, limit: int | None = None, least: bool = False) -> None:
    """Refuses to build a machine with more arcs than memory takes, as with very many labels."""
    most = ARCS_PER_STATE * max(max_states(limit), max_states())
    _guard(where, arcs, most, _MACHINE, "Use fewer labels", "arcs", least)


def guard_layers(where: str, n: int) -> None:
    """Refuses a machine of so many layers that finding them one by one takes very long."""
    _guard(where, n, max_states() // _STATES_PER_LAYER, _MACHINE, "Use a smaller n", "layers")


def guard_pairs(where: str, labels: int) -> None:
    """Refuses steps that read pairs of so many labels that those of one state fill the memory."""
    must = "a step may read one of at most {most:,} pairs of labels, {what} labels make {count:,}"
    most = max_states() // _STATES_PER_PAIR
    _guard(where, labels * labels, most, must, "Use fewer labels", f"{labels:,}")


def guard_work(where: str, steps: int, limit: int | None = None) -> None:
    """Refuses a walk that takes so many (state, symbol) steps in all layers that it lasts long."""
    must = "a walk may take at most {most:,} steps, this one would take about {count:,}"
    advice = "Use a smaller n or fewer labels, keep fewer states where keep can be given"
    _guard(where, steps, _WALK_STEPS_PER_STATE * max_states(limit), must, advice)


def _guard(
    where: str, count: int, most: int, must: str, advice: str, what: str = "", least: bool = False
) -> None:
    """Refuses what is too many by a SizeLimitError that says how to raise the limit."""
    if count > most:
        about = "at least" if least else "up to"
        remedy = f"{advice}, or raise the limit with {_VARIABLE} or the argument max_states"
        must = must.format(count=count, most=most, what=what, about=about)
        raise SizeLimitError(where, must, remedy=remedy)


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
