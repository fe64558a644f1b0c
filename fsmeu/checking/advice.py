"""What keeps exact methods from a loss, and the lines to write instead where a rule applies.

Each rule makes another file of the same loss; whether exact methods decide for that is tried.

* A value that is no sum over positions is counted at the last one, ``count c by VALUE when i == n``
  with ``value c``: the same for sequences of length 1 or more.
* A memory of a condition on labels of both tapes is a memory of z and one of y. ``m[j] == 1`` holds
  where there is an entry, ``last_z[j] == last_z[j]``, of which the condition holds.
* An age up to K since such a condition looks at K such entries: it is the first that holds. So
  events a fixed distance apart are seen, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fsmeu.checking.exact_methods import Applies, counted_at_the_end, try_methods
from fsmeu.errors import FsmeuError
from fsmeu.losses.algebra.split import replace_parts, separated, split
from fsmeu.losses.language import syntax as ast
from fsmeu.losses.language.read import read
from fsmeu.losses.language.syntax import Expr, Register, Spec, names_read
from fsmeu.losses.language.write import file_text
from fsmeu.losses.loss import SpecLoss
from fsmeu.losses.semantics.evaluator import constant

_BOTH = frozenset({"z", "y"})
_DEEPEST = 6  # entries of a memory of both tapes that are taken apart
_SAME_UP_TO = 3  # length up to which values of both files are compared, where pairs are few
_MOST_PAIRS = 5000


@dataclass(frozen=True, eq=False)
class Rewrite:
    """Another file of the same loss, for which exact methods decide."""

    what: str  # what was done, in words
    text: str  # the file, without examples
    lines: tuple[str, ...]  # its statements that the given file does not have
    methods: tuple[Applies, ...]


def obstacle(loss: SpecLoss) -> str:
    """The statement that keeps ``additive`` and ``counting`` from a loss, and why; "" if none."""
    spec = separated(loss.bound).spec
    linear = spec.linear()
    joint = [r for r in spec.registers if spec.tapes[r.name] >= _BOTH and r.name not in linear]
    value_line = spec.value.place.line
    for r in joint:
        if r.sugar != "count":
            return f"line {r.place.line}: {r.sugar} {r.name} looks at both sequences at once"
    for r in joint:
        for other in spec.registers:
            if other is not r and r.name in names_read(other.update):
                where = f"line {other.place.line}: {other.sugar} {other.name}"
                return f"{where} looks at {r.name}, which counts on both sequences"
        return f"line {value_line}: the value is not linear in {r.name}, a count of both sequences"
    form = split(loss.bound)
    if form is None:
        return f"line {value_line}: a tally looks at both sequences at once"
    for part, tape in ((form.z, "z"), (form.y, "y")):
        if not part.counted:
            names = ", ".join(part.ends)
            return f"line {value_line}: the value looks at {names}, more than one count of {tape}"
    return ""


def rewrites(loss: SpecLoss, n: int | None = None) -> Iterator[Rewrite]:
    """Other files of the same loss for which exact methods decide, at length n if it is given.

    Of a loss that restricts its hypotheses there are none: rules look at all pairs of sequences.
    """
    if loss.spec.requirement is not None:
        return
    apart = _split_by_tape(loss)
    candidates: list[tuple[str, Callable[[], Spec | None]]] = [
        ("count the value at the last position", lambda: counted_at_the_end(loss.spec)),
        ("remember each sequence by itself", lambda: apart),
    ]
    if apart is not None:
        both = "remember each sequence by itself, and count the value at the last position"
        candidates.append((both, lambda: counted_at_the_end(apart)))
    for what, make in candidates:
        spec = make()
        text = None if spec is None else file_text(spec)
        if text is None:
            continue
        try:
            other = replace(loss, spec=read(text, loss.spec.origin))
            methods = try_methods(other, n).applies if _is_same(loss, other) else ()
        except FsmeuError:  # a name that is taken, an expression that is too deep
            continue
        if methods:
            before = set((file_text(loss.spec) or loss.spec.source).splitlines())
            lines = tuple(line for line in text.splitlines() if line not in before)
            yield Rewrite(what, text, lines, methods)


def _is_same(loss: SpecLoss, other: SpecLoss) -> bool:
    """Whether all short pairs have the same value; the rules are proven, what is written is not."""
    for n in range(1, _SAME_UP_TO + 1):
        count = len(loss.alphabet) ** n
        if count * count > _MOST_PAIRS:
            break
        rows = np.indices((len(loss.alphabet),) * n).reshape(n, -1).T
        z = np.repeat(rows, count, axis=0)
        y = np.tile(rows, (count, 1))
        if not np.allclose(loss.pair_values(z, y), other.pair_values(z, y), 1e-9, 1e-12):
            return False
    return True


# -- memories and ages of both tapes ---------------------------------------------------------------


def _split_by_tape(loss: SpecLoss) -> Spec | None:
    """The file with a memory of each tape for memories and ages that read both; None for none."""
    spec = loss.spec
    params = {param.name for param in loss.spec.params}
    changed = [r for r in spec.registers if _condition(r) is not None]
    changed = [r for r in changed if names_read(_condition(r) or r.start) <= _BOTH | params]
    changed = [r for r in changed if spec.tapes[r.name] >= _BOTH]
    depths = {r.name: _depth(loss, r) for r in changed}
    if not changed or not all(1 <= depth <= _DEEPEST for depth in depths.values()):
        return None
    deepest = ast.Number(float(max(depths.values())))
    memories = []
    for tape in ("z", "y"):
        push = ast.Push(_memory(tape), ast.Name(tape))
        place = changed[0].place
        zero = ast.Number(0.0)
        memories.append(
            Register(_memory(tape), "memory", zero, push, None, None, place, depth=deepest)
        )
    parts: dict[Expr, Expr] = {}
    for register in changed:
        parts |= _readings(register, depths[register.name])
    names = {r.name for r in changed}
    kept = [r for r in spec.registers if r not in changed]
    kept = [replace(r, update=replace_parts(r.update, parts)) for r in kept]
    value = replace_parts(spec.value, parts)
    if any(names_read(expr) & names for expr in (value, *(r.update for r in kept))):
        return None  # read in another way
    registers = (*memories, *kept)
    return replace(spec, registers=registers, value=value, outputs=(), file_registers=())


def _memory(tape: str) -> str:
    """The name of the memory of a tape."""
    return f"last_{tape}"


def _condition(register: Register) -> Expr | None:
    """The condition that a memory stores or an age counts from; None for other registers."""
    match register.sugar, register.update:
        case "memory", ast.Push(entry=entry) if register.low is None and ast.is_condition(entry):
            return entry
        case "age", ast.Choice(condition=condition):
            return condition
    return None


def _depth(loss: SpecLoss, register: Register) -> float:
    """How many entries a memory or an age looks at; 0 if that depends on the length."""
    depth = register.start if register.sugar == "age" else register.depth
    assert depth is not None
    return 0.0 if "n" in names_read(depth) else constant(depth, loss.bound.params, loss.spec)


def _held(condition: Expr, back: int, old: bool) -> Expr:
    """The expression that a condition held ``back`` steps ago, and that there was such a step."""
    at = (ast.Number(float(back)),)
    z, y = (ast.Index(_memory(tape), at, old) for tape in ("z", "y"))
    then = replace_parts(condition, {ast.Name("z"): z, ast.Name("y"): y})
    return then if _needs_entry(condition) else ast.Binary("and", ast.Binary("==", z, z), then)


def _needs_entry(condition: Expr) -> bool:
    """Whether a condition never holds of entries from before the start, of which no == holds."""
    match condition:
        case ast.Binary(operator="and"):
            return _needs_entry(condition.left) or _needs_entry(condition.right)
        case ast.Binary(operator="or"):
            return _needs_entry(condition.left) and _needs_entry(condition.right)
        case ast.Binary(operator="=="):
            sides = (condition.left, condition.right)
            return any(side in (ast.Name("z"), ast.Name("y")) for side in sides)
    return False


def _readings(register: Register, depth: float) -> dict[Expr, Expr]:
    """By expression that reads a memory or an age, the one over memories of each tape."""
    condition = _condition(register)
    name = register.name
    parts = dict[Expr, Expr]()
    assert condition is not None
    if register.sugar == "age":
        for old, read_as in ((False, ast.Name(name)), (True, ast.Old(name))):
            age: Expr = ast.Number(depth)
            for back in reversed(range(int(depth))):
                age = ast.Choice(_held(condition, back, old), ast.Number(float(back)), age)
            parts[read_as] = age
        return parts
    for back in range(int(depth)):
        for old in (False, True):
            entry = ast.Index(name, (ast.Number(float(back)),), old)
            holds = _held(condition, back, old)
            fails = _held(_not(condition), back, old)
            for number, is_so in ((1.0, holds), (0.0, fails)):
                for sides in ((entry, ast.Number(number)), (ast.Number(number), entry)):
                    parts[ast.Binary("==", *sides)] = is_so
                    parts[ast.Binary("!=", *sides)] = _not(is_so)
    return parts


def _not(condition: Expr) -> Expr:
    """The negation of a condition."""
    return ast.Unary("not", condition)
