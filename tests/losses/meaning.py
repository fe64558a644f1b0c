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
    ``function``. ``reads_position`` says whether a step may look at where it is.
    """

    exact = staticmethod(exact)

    def __init__(self, spec, labels, n, **given):
        self.spec, self.labels, self.n = spec, labels, n
        self.registers = spec.registers if spec.requirement is None else spec.file_registers
        self.params, self.bounds, self.depths, self.readers = {}, {}, {}, {}
        self.flags = (self.exact(0), self.exact(1))
        self.reads_position = False
        for param in spec.params:
            self.params[param.name] = self.parameter(param, given)
        self.fixed = {**self.params, "n": self.exact(n)}
        self.tapes = {label: self.label(label) for label in labels}
        self.depths = {
            r.name: int(self.look(r.depth, self.fixed, {}))
            for r in self.registers
            if r.depth is not None
        }
        self.updates = {r.name: self.reader(r.update) for r in self.registers}

    def parameter(self, param, given):
        held = param.name in given
        value = given[param.name] if held else self.written(param.default)
        if param.type == "label":
            return self.label(next(x for x in self.labels if str(x) == str(value)))
        if param.type == "table":
            return self.rows(value, param.sides, self.written(param.default) if held else None)
        return self.exact(value) if held else value

    def written(self, expr):
        """A number, a label, a table that the file writes; None where it writes none."""
        if isinstance(expr, syntax.Table):
            entries = [self.written(one) for one in expr.entries]
            return dict(zip(expr.keys, entries, strict=True)) if expr.keys else entries
        if isinstance(expr, syntax.Text):
            return expr.value
        return None if expr is None else self.look(expr, self.params, {})

    def rows(self, table, sides, rest):
        """A table as lists in the order of labels; one number stands for a table full of it."""
        if not sides or isinstance(table, list):
            return table
        if isinstance(table, AnyNumber):
            return [self.rows(table, sides[1:], None) for _ in self.labels]
        by_text = {str(key): row for key, row in table.items()}
        others = self.rows(rest, sides, None) if rest is not None else [None] * len(self.labels)
        each = zip(map(str, self.labels), others, strict=True)
        return [self.rows(by_text.get(key, other), sides[1:], other) for key, other in each]

    def start(self):
        state = {}
        for r in self.registers:
            empty = r.depth is not None
            state[r.name] = () if empty else self.look(r.start, self.fixed, {})
            self.check(r, state[r.name])
        return state

    def step(self, state, z, y, i):
        tapes = {"z": self.tapes[z], "y": self.tapes[y]}
        names = {**self.fixed, **state, **tapes, "i": self.exact(i)}
        for r in self.registers:
            names[r.name] = self.updates[r.name](names, state)
            self.check(r, names[r.name])
        return {r.name: names[r.name] for r in self.registers}

    def label(self, label):
        numeric = all(isinstance(x, int) for x in self.labels)
        return self.exact(label) if numeric and isinstance(label, int) else label

    def check(self, register, value):
        if register.low is None:
            return
        if register.name not in self.bounds:
            sides = (register.low, register.high)
            self.bounds[register.name] = [self.look(side, self.fixed, {}) for side in sides]
        low, high = self.bounds[register.name]
        if register.depth is not None:
            if not all(low <= number(entry) <= high and entry % 1 == 0 for entry in value):
                raise Undefined(f"{register.name} remembers what is outside its bounds")
        elif register.sugar in ("count", "require"):
            return
        elif not (low <= number(value) <= high and value % 1 == 0):
            raise Undefined(f"{register.name} leaves its bounds")

    def allows(self, state):
        """Whether the hypothesis is one that the file is defined for, as far as it was read."""
        flags = [state[r.name] for r in self.registers if r.sugar == "require"]
        return not any(truth(flag) for flag in flags)

    def value(self, state):
        if not self.allows(state):
            raise Undefined("the hypothesis is not one that the file is defined for")
        return number(self.look(self.spec.value, {**self.fixed, **state}, state))

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
        """The value of an expression, with these names and old values of registers."""
        if id(expr) not in self.readers:
            self.readers[id(expr)] = self.reader(expr)
        return self.readers[id(expr)](names, old)

    def reader(self, expr):
        """The expression as a function of names and of old values of registers."""
        match expr:
            case syntax.Number():
                value = self.exact(expr.value)
                return lambda names, old: value
            case syntax.Name():
                self.reads_position |= expr.name == "i"
                return lambda names, old: named(names, expr.name)
            case syntax.Text():
                labels = {str(x): x for x in self.labels}
                label = self.label(labels.get(expr.value, expr.value))
                return lambda names, old: label
            case syntax.Old():
                return lambda names, old: old[expr.name]
            case syntax.At():
                states = next(r.states for r in self.registers if r.states)
                return lambda names, old: self.flags[states[int(names["state"])] == expr.state]
            case syntax.Unary():
                operand = self.reader(expr.operand)
                if expr.operator == "-":
                    return lambda names, old: -number(operand(names, old))
                return lambda names, old: self.flags[not truth(operand(names, old))]
            case syntax.Choice():
                condition = self.reader(expr.condition)
                yes, no = self.reader(expr.yes), self.reader(expr.no)
                return lambda names, old: (yes if truth(condition(names, old)) else no)(names, old)
            case syntax.Binary():
                return self.binary(expr.operator, self.reader(expr.left), self.reader(expr.right))
            case syntax.Call(function="tally" | "sum" | "kind" | "type"):
                return self.of_labels(expr)
            case syntax.Call():
                given = [self.reader(one) for one in expr.arguments]
                return lambda names, old: self.function(
                    expr.function, [number(one(names, old)) for one in given]
                )
            case syntax.Index(name=name) if name in self.depths:
                back = self.reader(expr.arguments[0])
                return lambda names, old: remembered(
                    (old if expr.old else names)[name], back(names, old), self.depths[name]
                )
            case syntax.Index():
                keys = [self.reader(one) for one in expr.arguments]
                return lambda names, old: self.entry(
                    self.params[expr.name], [key(names, old) for key in keys]
                )
            case syntax.Push():
                entry, depth = self.reader(expr.entry), self.depths[expr.memory]
                return lambda names, old: (entry(names, old), *names[expr.memory])[:depth]
            case syntax.Arcs():
                return self.follow(expr)
        raise AssertionError(expr)

    def binary(self, sign, left, right):
        """Two sides, each a function, and the sign between them."""
        flags = self.flags
        if sign == "and":
            return lambda names, old: flags[truth(left(names, old)) and truth(right(names, old))]
        if sign == "or":
            return lambda names, old: flags[truth(left(names, old)) or truth(right(names, old))]
        if sign == "==":
            return lambda names, old: flags[left(names, old) == right(names, old)]
        if sign == "!=":
            return lambda names, old: flags[not left(names, old) == right(names, old)]  # noqa: SIM201
        if sign not in COMPARISONS:
            return lambda names, old: arithmetic(
                sign, number(left(names, old)), number(right(names, old))
            )

        def compare(names, old):
            a, b = left(names, old), right(names, old)
            if a is NOTHING or b is NOTHING:
                return flags[False]
            return flags[COMPARISONS[sign](number(a), number(b))]

        return compare

    def of_labels(self, call):
        """A function of a label or of a memory."""
        first, name = call.arguments[0], call.function
        if name in ("kind", "type"):
            label = self.reader(first)
            return lambda names, old: tag(name, label(names, old))
        if name == "sum":
            return lambda names, old: sum((number(x) for x in names[first.name]), self.exact(0))
        sought = self.reader(call.arguments[1])

        def tally(names, old):
            label = sought(names, old)
            return self.exact(sum(1 for x in names[first.name] if x == label))

        return tally

    def entry(self, table, keys):
        known = [self.label(x) for x in self.labels]
        for key in keys:
            if key not in known:
                raise Undefined(f"no row {key}")
            table = table[known.index(key)]
        return self.exact(float(table))

    def follow(self, expr):
        """Where the one arc leads that the state may take."""
        arcs = [(source, goal, when and self.reader(when)) for source, goal, when in expr.arcs]

        def goal_of(names, old):
            leaving = [(goal, when) for source, goal, when in arcs if source == names["state"]]
            goals = [goal for goal, when in leaving if when is not None and truth(when(names, old))]
            goals = goals or [goal for goal, when in leaving if when is None]
            if len(goals) != 1:
                raise Undefined(f"{len(goals)} arcs")
            return self.exact(goals[0])

        return goal_of


def named(names, name):
    if name not in names:
        raise Undefined(f"{name} is not known here")
    return names[name]


def remembered(held, back, depth):
    """The entry of a memory that is so far back."""
    if not (back % 1 == 0 and 0 <= back < depth):
        raise Undefined(f"entry {back}")
    return held[int(back)] if back < len(held) else NOTHING


NO_NUMBERS = (str, tuple, list, Nothing)
"""What else there is: labels, memories, tables and nothing."""


def number(value):
    if isinstance(value, NO_NUMBERS) or (isinstance(value, float) and not math.isfinite(value)):
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


COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
OPERATORS |= {"%": operator.mod, "^": power}


def arithmetic(sign, a, b):
    if sign in ("/", "%") and b == 0:
        raise Undefined("division by zero")
    return number(OPERATORS[sign](a, b))


def function(name, given):
    if (name == "sqrt" and given[0] < 0) or (name == "log" and given[0] <= 0):
        raise Undefined(f"{name} of {given[0]}")
    if name in ("min", "max", "abs"):
        return {"min": min, "max": max, "abs": lambda x: abs(x[0])}[name](given)
    result = getattr(math, name)(given[0])
    return Fraction(result) if name in ("floor", "ceil") else result
