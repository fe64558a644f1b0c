"""What a loss file means, for one pair of sequences: plain numbers, plain control flow.

A second reading of the language that shares only the parsed file with the package. Numbers are
fractions wherever the language allows it. ``Undefined`` stands for what a file may not do.
"""

import math
import operator
from fractions import Fraction
from numbers import Number as AnyNumber

from fsmeu.losses.language import syntax


class Undefined(Exception):
    """The file asks for something that has no answer."""


class Nothing:
    """What a memory holds before the start: different from everything, itself included."""

    __hash__ = None

    def __eq__(self, other):
        return False

    def __ne__(self, other):
        return True


NOTHING = Nothing()
NO_TYPE = ("no type",)


def exact(value):
    return Fraction(value) if math.isfinite(value) else value


class World:
    """A file with its parameters, its labels and the length of the sequences.

    A world with numbers of another kind makes them in ``exact`` and takes functions of them in
    ``function``.
    """

    exact = staticmethod(exact)

    def __init__(self, spec, labels, n, **given):
        self.spec, self.labels, self.n = spec, labels, n
        self.params, self.bounds = {}, {}
        for param in spec.params:
            self.params[param.name] = self.parameter(param, given)
        self.depths = {
            r.name: int(self.look(r.depth, self.fixed(), {}))
            for r in spec.registers
            if r.depth is not None
        }

    def parameter(self, param, given):
        held, size = param.name in given, len(self.labels)
        value = given[param.name] if held else self.look(param.default, self.params, {})
        if param.type == "table":  # one number stands for a table full of it
            return [[value] * size] * size if isinstance(value, AnyNumber) else value
        return self.exact(value) if held else value

    def fixed(self):
        return {**self.params, "n": self.exact(self.n)}

    def start(self):
        state = {}
        for r in self.spec.registers:
            empty = r.depth is not None
            state[r.name] = () if empty else self.look(r.start, self.fixed(), {})
            self.check(r, state[r.name])
        return state

    def step(self, state, z, y, i):
        tapes = {"z": self.label(z), "y": self.label(y)}
        names = {**self.fixed(), **state, **tapes, "i": self.exact(i)}
        for r in self.spec.registers:
            names[r.name] = self.look(r.update, names, state)
            self.check(r, names[r.name])
        return {r.name: names[r.name] for r in self.spec.registers}

    def label(self, label):
        numeric = all(isinstance(x, int) for x in self.labels)
        return self.exact(label) if numeric and isinstance(label, int) else label

    def check(self, register, value):
        if register.low is None:
            return
        if register.name not in self.bounds:
            sides = (register.low, register.high)
            self.bounds[register.name] = [self.look(side, self.fixed(), {}) for side in sides]
        low, high = self.bounds[register.name]
        if register.depth is not None:
            if not all(low <= number(entry) <= high and entry % 1 == 0 for entry in value):
                raise Undefined(f"{register.name} remembers what is outside its bounds")
        elif register.sugar != "count" and not (low <= number(value) <= high and value % 1 == 0):
            raise Undefined(f"{register.name} leaves its bounds")

    def value(self, state):
        return number(self.look(self.spec.value, {**self.fixed(), **state}, state))

    def run(self, z, y):
        state = self.start()
        for i, (a, b) in enumerate(zip(z, y, strict=True), start=1):
            state = self.step(state, a, b, i)
        return self.value(state)

    def function(self, name, given):
        return function(name, given)

    def every_y(self, z):
        """The value of every y against one z; common beginnings are walked once."""
        found = {}

        def visit(state, y):
            if len(y) == self.n:
                found[y] = self.value(state)
                return
            for b in self.labels:
                visit(self.step(state, z[len(y)], b, len(y) + 1), (*y, b))

        visit(self.start(), ())
        return found

    # -- expressions -----------------------------------------------------------------------------

    def look(self, expr, names, old):
        def look(part):
            return self.look(part, names, old)

        match expr:
            case syntax.Number():
                return self.exact(expr.value)
            case syntax.Name():
                if expr.name not in names:
                    raise Undefined(f"{expr.name} is not known here")
                return names[expr.name]
            case syntax.Text():
                labels = {str(x): x for x in self.labels}
                return self.label(labels.get(expr.value, expr.value))
            case syntax.Old():
                return old[expr.name]
            case syntax.At():
                states = next(r.states for r in self.spec.registers if r.states)
                return Fraction(states[int(names["state"])] == expr.state)
            case syntax.Unary(operator="-"):
                return -number(look(expr.operand))
            case syntax.Unary():
                return Fraction(not truth(look(expr.operand)))
            case syntax.Choice():
                return look(expr.yes) if truth(look(expr.condition)) else look(expr.no)
            case syntax.Binary(operator="and"):
                return Fraction(truth(look(expr.left)) and truth(look(expr.right)))
            case syntax.Binary(operator="or"):
                return Fraction(truth(look(expr.left)) or truth(look(expr.right)))
            case syntax.Binary(operator="==" | "!="):
                equal = look(expr.left) == look(expr.right)
                return Fraction(equal if expr.operator == "==" else not equal)
            case syntax.Binary():
                sides = look(expr.left), look(expr.right)
                if expr.operator in ("<", "<=", ">", ">=") and any(x is NOTHING for x in sides):
                    return Fraction(0)
                return arithmetic(expr.operator, *map(number, sides))
            case syntax.Call(function="tally" | "sum"):
                held = names[expr.arguments[0].name]
                if expr.function == "sum":
                    return sum((number(x) for x in held), Fraction(0))
                sought = look(expr.arguments[1])
                return Fraction(sum(1 for x in held if x == sought))
            case syntax.Call(function="kind" | "type"):
                return tag(expr.function, look(expr.arguments[0]))
            case syntax.Call():
                return self.function(expr.function, [number(look(a)) for a in expr.arguments])
            case syntax.Index(name=name) if name in self.depths:
                held, back = (old if expr.old else names)[name], look(expr.arguments[0])
                if not (back % 1 == 0 and 0 <= back < self.depths[name]):
                    raise Undefined(f"entry {back}")
                return held[int(back)] if back < len(held) else NOTHING
            case syntax.Index():
                return self.entry(self.params[expr.name], [look(a) for a in expr.arguments])
            case syntax.Push():
                held = (look(expr.entry), *names[expr.memory])
                return held[: self.depths[expr.memory]]
            case syntax.Arcs():
                return self.follow(expr, names, look)
        raise AssertionError(expr)

    def entry(self, table, keys):
        known = [self.label(x) for x in self.labels]
        for key in keys:
            if key not in known:
                raise Undefined(f"no row {key}")
            table = table[known.index(key)]
        return self.exact(float(table))

    def follow(self, expr, names, look):
        here = names["state"]
        leaving = [(goal, when) for source, goal, when in expr.arcs if source == here]
        goals = [goal for goal, when in leaving if when is not None and truth(look(when))]
        goals = goals or [goal for goal, when in leaving if when is None]
        if len(goals) != 1:
            raise Undefined(f"{len(goals)} arcs")
        return Fraction(goals[0])


def number(value):
    if not isinstance(value, AnyNumber) or (isinstance(value, float) and not math.isfinite(value)):
        raise Undefined(f"{value!r} is not a number")
    return value


def truth(value):
    return value is not NOTHING and number(value) != 0


def tag(function, label):
    if label is NOTHING:
        return NOTHING
    if not isinstance(label, str):
        raise Undefined(f"{function} of {label!r}")
    kind, dash, rest = label.partition("-")
    if function == "kind":
        return kind if dash and rest else label
    return rest if dash and rest else NO_TYPE


OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
OPERATORS |= {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def arithmetic(sign, a, b):
    if sign in ("/", "%") and b == 0:
        raise Undefined("division by zero")
    result = (OPERATORS | {"%": operator.mod, "^": power})[sign](a, b)
    return Fraction(result) if isinstance(result, bool) else number(result)


def power(a, b):
    if a == 0 and b < 0:
        raise Undefined("0 to a negative power")
    try:
        result = a**b
    except OverflowError:
        raise Undefined("too large") from None
    if isinstance(result, complex):
        raise Undefined("a fractional power of a negative number")
    return number(result)


def function(name, given):
    if (name == "sqrt" and given[0] < 0) or (name == "log" and given[0] <= 0):
        raise Undefined(f"{name} of {given[0]}")
    if name in ("min", "max", "abs"):
        return {"min": min, "max": max, "abs": lambda x: abs(x[0])}[name](given)
    result = getattr(math, name)(given[0])
    return Fraction(result) if name in ("floor", "ceil") else result
