"""Values of a register that nothing in the file can tell apart.

A file may remember more than it asks for: the last k labels where only the age of the newest
boundary matters. Two values of a register are the same when all that the file reads off it is the
same, now and after every further step. That is found by refining the register's own small
automaton; the machine of the loss, which may be far too large to build, is not needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.errors import LossFileError
from fsmeu.fst.distinct import bits, group, refine
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.syntax import Expr, Register, Spec, names_read, parts, walk
from fsmeu.losses.semantics.domains import Domain, Merged, Pool, domain_of, memory_of
from fsmeu.losses.semantics.evaluator import BoundLoss, Memory, Scope, constant_at, evaluate

MOST_MERGED_CELLS = 1 << 24
"""Cells of the steps that merging looks at: 128 MB, past which the plain walk is taken."""
_MOST_MERGED_VALUES = 1 << 16
"""Values of a register up to which those that nothing tells apart are merged."""
_LARGEST_MERGED_DOMAIN = 1 << 23
"""Values by the bounds of such a register, one cell each: 64 MB."""


@lru_cache(maxsize=256)
def merged_registers(bound: BoundLoss, n: int) -> Mapping[str, Merged]:
    """For sequences of length n, the registers with values that can be merged, and how."""
    registers = {}
    for register, seen in _candidates(bound.spec):
        settled = _settled(bound, register.name)
        merged = settled[0] if settled and n >= settled[0].length else None
        if merged is None:
            with suppress(LossFileError):  # something is undefined; who reaches it will say so
                merged = _classes(bound, register, seen, n)
        if merged is not None and merged.length <= n:
            settled[:] = [merged]
        if merged is not None and len(merged.representatives) < len(merged.values):
            registers[register.name] = merged
    return registers


@lru_cache(maxsize=1024)
def _settled(bound: BoundLoss, name: str) -> list[Merged]:
    """Room for the classes of a register that hold for every greater length as well."""
    return []


@lru_cache(maxsize=256)
def _candidates(spec: Spec) -> tuple[tuple[Register, tuple[Expr, ...]], ...]:
    """Registers that follow labels alone, none read as it is, with what is read off them.

    That are the largest pieces of other updates and of the value that look at the register only,
    either as it is or as it was before the step, beside labels of the step, parameters and n.
    """
    labels, candidates = frozenset({"z", "y", "n", *(param.name for param in spec.params)}), []
    for register in spec.registers:
        name, free = register.name, labels | {register.name}
        others = [spec.value, *(r.update for r in spec.registers if r.name != name)]
        seen = dict.fromkeys(piece for expr in others for piece in _pieces(expr, name, free))
        bare = any(isinstance(expr, ast.Name | ast.Old) for expr in seen)
        if not bare and names_read(register.update) <= free:
            candidates.append((register, tuple(seen)))
    return tuple(candidates)


def _pieces(expr: Expr, name: str, free: frozenset[str]) -> Iterator[Expr]:
    if name not in names_read(expr):
        return
    if names_read(expr) <= free and _is_one_time(expr, name):
        yield expr
        return
    if isinstance(expr, ast.Index) and expr.name == name:
        yield ast.Name(name)
    for part in parts(expr):
        yield from _pieces(part, name, free)


def _is_one_time(expr: Expr, name: str) -> bool:
    """True when a register is read as it is, or as it was, but not both; and nothing is updated."""
    times = set()
    for node in walk(expr):
        match node:
            case ast.Arcs() | ast.Push():
                return False
            case ast.Old(name=read) | ast.Index(name=read, old=True) if read == name:
                times.add("old")
            case ast.Name(name=read) | ast.Index(name=read) if read == name:
                times.add("new")
            case ast.At() if name == "state":
                times.add("new")
    return len(times) == 1


def _classes(bound: BoundLoss, register: Register, seen: tuple[Expr, ...], n: int) -> Merged | None:
    domain = domain_of(bound, register, n)
    if isinstance(domain, Pool) or domain.size > _LARGEST_MERGED_DOMAIN:
        return None
    memories = {register.name: memory_of(bound, register, n)} if register.sugar == "memory" else {}
    look = partial(_look, bound, register.name, memories, n)
    walked = _walk(bound, register, domain, n, look)
    if walked is None:
        return None
    values, targets, length = walked
    rows = [look(expr, values) for expr in seen]
    outputs = group(bits(np.concatenate([np.zeros((len(values), 1)), *rows], axis=1)))
    classes = refine(targets, outputs)
    first = np.unique(classes, return_index=True)[1]
    order = np.argsort(values)
    given = (register.start, register.update, register.low, register.high, register.depth, *seen)
    if any(expr is not None and "n" in names_read(expr) for expr in given):
        length = n + 1
    return Merged(values[order], classes[order], values[first], length)


def _look(
    bound: BoundLoss, name: str, memories: Mapping[str, Memory], n: int, expr: Expr, values: Floats
) -> Floats:
    """An expression for each value of a register (rows) and each pair of labels that it reads."""
    held, labels = values[:, None, None], bound.label_values
    tapes = {"z": labels[None, :, None], "y": labels[None, None, :], "n": float(n)}
    scope = Scope(bound, {name: held, **tapes}, {name: held}, memories)
    seen = np.asarray(evaluate(expr, scope), np.float64)
    columns = np.broadcast_shapes(seen.shape, (1, 1, 1))[1:]
    return np.broadcast_to(seen, (len(values), *columns)).reshape(len(values), -1)


def _walk(
    bound: BoundLoss, register: Register, domain: Domain, n: int, look: Callable[..., Floats]
) -> tuple[Floats, Ints, int] | None:
    """The values that a register takes, where each leads, and the length from which this holds.

    A value that is first met at the end leads to itself, so that it is merged with its like. None
    when a value leaves the bounds, or there are too many.
    """
    start = constant_at(bound, register.start, n)
    if start != int(start) or not 0 <= start - domain.low < domain.size:
        return None
    values = np.array([start])
    place = np.full(domain.size, -1, np.int64)
    place[int(start) - domain.low] = 0
    rows: list[Ints] = []
    begin, depth = 0, 0
    while begin < len(values) and depth < n:
        if len(values) * len(bound.label_values) ** 2 > MOST_MERGED_CELLS:
            return None
        after = look(register.update, values[begin:]) - domain.low
        whole = after.astype(np.int64)
        if not ((whole == after) & (whole >= 0) & (whole < domain.size)).all():
            return None
        fresh = np.unique(whole[place[whole] < 0])
        place[fresh] = len(values) + np.arange(len(fresh))
        rows.append(place[whole])
        begin, depth = len(values), depth + 1
        values = np.concatenate([values, fresh + float(domain.low)])
        if len(values) > _MOST_MERGED_VALUES:
            return None
    last = np.arange(begin, len(values))[:, None]
    columns = rows[0].shape[1] if rows else 1
    rows.append(np.broadcast_to(last, (len(last), columns)))
    return values, np.concatenate(rows), depth if not len(last) else n + 1
