"""The interface of losses, and values of pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from inspect import signature
from os import PathLike
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.cache import Derives
from fsmeu.display import Card
from fsmeu.errors import (
    Argument,
    EmptyError,
    InputError,
    SizeLimitError,
    as_whole,
    check_bool,
    shorten,
    wording,
)
from fsmeu.fst.alphabet import Alphabet, Label, listed
from fsmeu.fst.constraint import Constraint, constraint_layers, intersection
from fsmeu.fst.layers import Layered, any_layers, pair_layers, string_layers
from fsmeu.losses.algebra.confusion import Confusion
from fsmeu.losses.algebra.split import Split
from fsmeu.losses.language.syntax import names_read
from fsmeu.losses.machine import machine as machines
from fsmeu.losses.machine.minimize import minimize as minimized
from fsmeu.losses.machine.view import LossAutomaton
from fsmeu.losses.semantics.at_length import EVERY_VALUE, LossAtLength, ValueRange
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import registers_of_pairs

_P = ParamSpec("_P")
_R = TypeVar("_R")
SHOWN_NAMES = (
    *("compile", "kind", "labels", "labels_open", "name", "outputs", "params", "requirement"),
    *("scheme", "swapped", "value_range"),
)
"""The names of a loss that are for everybody; all others are for modules of the package."""


class Loss(Card, Derives):
    """A loss (to be minimised) or a utility (to be maximised) over pairs of label sequences.

    ``loss(z, y)`` is the value of one pair. ``dir`` shows what is for everybody; other names are
    for modules of the package, and may change.
    """

    name: str
    kind: str  # either "loss" or "utility"
    alphabet: Alphabet  # the labels of both tapes
    labels_open = False  # whether they may still be chosen
    scheme = ""  # of chunk tags, "bio", "iob1" or "iobes", where its labels are such

    def __call__(self, z: Iterable[object], y: Iterable[object]) -> float:
        """The value of one pair of sequences."""
        return evaluate(self, z, y)

    def __dir__(self) -> list[str]:
        names = super().__dir__()
        return [name for name in names if name.startswith("__") or name in SHOWN_NAMES]

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels of both tapes."""
        return self.alphabet.labels

    @property
    def bound(self) -> BoundLoss | None:
        """The spec with labels and parameters filled in; None for a loss without a file."""
        return None

    @property
    def split(self) -> Split | None:
        """The loss split by tape; None where it does not split, or nothing is known of it."""
        return None

    @property
    def confusion(self) -> Confusion | None:
        """The loss as a function of (tp, hyp, ref, n); None where it is none, or is not known."""
        return None

    def value_range(self, n: int) -> ValueRange:
        """The range of values of sequences of length n that the loss declares."""
        return EVERY_VALUE if self.bound is None else self.bound.at(n).range

    def check_range(self, n: int, values: Floats) -> None:
        """Refuses values, or means of them, outside of ``value_range``: a RangeError."""
        if self.bound is not None:
            self.bound.at(n).check_range(values)

    def allowed(self, n: int) -> Constraint | None:
        """The hypotheses of length n for which the loss is defined; None where it is for all."""
        return None

    @property
    def requirement(self) -> str:
        """What hypotheses satisfy for which the loss is defined, in words; nothing if all do."""
        return ""

    @property
    def defined(self) -> Loss:
        """The loss whose explicit machine has paths for such hypotheses alone."""
        return self

    def over(self, sequences: Iterable[Iterable[object]]) -> Loss:
        """The same loss, over the labels of these sequences where they are open."""
        return self

    def with_labels(self, alphabet: Alphabet) -> Loss:
        """The same loss over other labels where they are open, else over its own in this order."""
        raise NotImplementedError

    @property
    def ages(self) -> Mapping[str, str]:
        """The tape of each register that may stop at a cap (``saturated``), by name."""
        return {}

    @property
    def least_cap(self) -> float:
        """The greatest number that ages are compared with or set to: a cap is above it."""
        return 0.0

    def saturated(self, cap: int) -> Loss:
        """The loss whose ages stop at a cap; there must be ages."""
        raise NotImplementedError

    @property
    def swapped(self) -> Loss:
        """The loss whose value for (z, y) is that of this one for (y, z)."""
        raise NotImplementedError

    def view(self, n: int, z: Ints | None = None, weights: bool = False) -> LossAutomaton:
        """The loss as an engine walks it; with ``weights``, linear registers are in the weight."""
        raise NotImplementedError

    def against(self, y: Ints, copies: int) -> LossAutomaton:
        """The loss of any hypothesis against a reference, given by label indices, (n,).

        Symbols are labels of z; registers in which the value is linear are in the weight.
        ``copies`` is how many times each state occurs: the number of states of the model.
        """
        raise NotImplementedError

    @property
    def outputs(self) -> Mapping[str, Loss]:
        """For each further output that the loss names beside its value, the loss of which it is."""
        return {}

    def linear(self, z_given: bool) -> tuple[str, ...]:
        """The registers that may be kept in the weight; with z given, z-only ones are constants."""
        return ()

    def pair_values(self, z: Sequence[Ints] | Ints, y: Sequence[Ints] | Ints) -> Floats:
        """The value of each pair of rows of label indices, (rows,)."""
        raise NotImplementedError

    def compile(
        self,
        n: int,
        z: Iterable[object] | None = None,
        max_states: int | None = None,
        minimize: bool = False,
        pairs: Layered | None = None,
    ) -> machines.Machine:
        """The explicit two-tape machine for sequences of length n.

        Its states are shared by depths; its ``fst`` reads pairs of length n alone.

        Args:
            n: length of the sequences.
            z: a hypothesis; then registers that read z alone are left out where no step looks at
                them, and only what z can reach is built.
            max_states: limit on the number of states.
            minimize: merge what no continuation can tell apart: values of a register before the
                machine is built, states afterwards. The registers are those of one state of many.
            pairs: an acceptor of pairs of labels, z * L + y; then only what it can reach is built.
        """
        z_indices, reached = encoded(self, n, z)
        pairs = pairs or reached
        minimize = check_bool("compile", "minimize", minimize)
        loss = self.defined if pairs is None else self
        at = None if loss.bound is None else loss.bound.at(n)
        view = self.view(n) if at is None else machines.machine_view(at, z_indices, minimize)
        name = f"{self.kind} {self.name}, n = {n}"
        try:
            if at is not None and pairs is None and not minimize:
                machines.refuse_large(name, at, max_states)
            machine = machines.build_machine(name, self.alphabet, view, pairs, max_states)
        except SizeLimitError as error:
            counts = ", ".join(self.linear(z_indices is not None))
            if not counts:
                raise
            less = f", where {counts} is no part of the states"
            raise error.advised(wording("Or use ", Argument("compile_summed"), less)) from None
        machine = replace(machine, source=at, z=z_indices)
        return minimized(machine) if minimize else machine


LossLike: TypeAlias = Loss | str | PathLike[str]
"""A loss, the name of a built-in one, or the path of a file."""

Sequences: TypeAlias = Iterable[Iterable[object]]
"""Label sequences of any lengths, or the rows of an array."""


def as_loss(
    loss: LossLike, where: str, params: Mapping[str, Any] | None = None, labels: Any = None
) -> Loss:
    """The loss itself, or that of a built-in name or of the path of a file.

    Args:
        loss: what was given for a loss.
        where: what asks for it, in messages.
        params: parameters for the loss of a name or path; None where none can be given.
        labels: labels for it, where its file leaves them open.
    """
    if isinstance(loss, str | PathLike):
        from fsmeu.losses.loss import named_loss  # which makes losses of this kind

        return named_loss(loss, where, params, labels)
    if not isinstance(loss, Loss):
        must = "a loss is needed: the name of a built-in one, the path of a file, or what load, "
        must += "loads and function_loss make"
        raise InputError(where, must, given=shorten(loss))
    return loss


def encoded(loss: Loss, n: int, z: Iterable[object] | None) -> tuple[Ints | None, Layered | None]:
    """The label indices of z and its pairs with each y of length n; without z, None for all."""
    if as_whole(n, least=0) is None:
        raise InputError("compile", "n must be a whole number, 0 or more", given=n)
    if z is None:
        return None, None
    indices = loss.alphabet.encode(z, "hypothesis z")
    if len(indices) != n:
        must = f"hypothesis z must have length n = {n}"
        raise InputError("compile", must, given=f"length {len(indices)}")
    check_hypothesis(loss, indices, "compile, hypothesis z")
    return indices, pair_layers(string_layers(loss.alphabet, indices), any_layers(loss.alphabet, n))


def takes_loss(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """The function, which says where parameters of a loss belong if it is given some itself."""
    names = list(signature(function).parameters)
    at = names.index("loss")

    @wraps(function)
    def taking(*args: _P.args, **arguments: _P.kwargs) -> _R:
        others = arguments.keys() - names
        if others and ("loss" in arguments or len(args) > at):
            loss = arguments["loss"] if "loss" in arguments else args[at]
            _refuse_params(loss, {x: arguments[x] for x in others}, function.__name__)
        return function(*args, **arguments)

    return taking


def _refuse_params(loss: Any, others: Mapping[str, Any], where: str) -> None:
    """Refuses arguments that are parameters of the loss; others are left to Python."""
    from fsmeu.losses.loss import read_spec  # which makes losses of this kind

    named = isinstance(loss, str | PathLike)
    spec = read_spec(loss, where) if named else getattr(loss, "spec", None)
    if spec is None or not (known := [x.name for x in spec.params if x.name in others]):
        return
    given = ", ".join(f"{name}={shorten(others[name])}" for name in known)
    call = "loads(text" if spec.origin == "<text>" else f"load({spec.origin!r}"
    remedy = f"Give fsmeu.{call}, {given}) in the place of the loss"
    raise InputError(
        where, "parameters of a loss must be given to load", given=given, remedy=remedy
    )


# -- hypotheses for which a loss is defined --------------------------------------------------------


def allowed_by_loss(loss: Loss, constraint: Constraint | None, n: int) -> Constraint | None:
    """Such hypotheses of length n that a constraint allows, too; an EmptyError if there are none.

    None where all are allowed.
    """
    own = loss.allowed(n)
    if own is None:
        return constraint
    both = own if constraint is None else intersection(own, constraint)
    if not len(constraint_layers(both, len(loss.alphabet), n).ends):
        must = f"some sequence of length {n} must be allowed in which {loss.requirement}"
        raise EmptyError(f"{loss.kind} {loss.name}", must)
    return both


def check_hypothesis(loss: Loss, indices: Ints, where: str) -> None:
    """Refuses label indices of a hypothesis for which the loss is not defined."""
    allowed = loss.allowed(len(indices))
    place = None if allowed is None else allowed.refused_at(indices)
    if place is not None:
        must = f"{loss.kind} {loss.name} is defined where {loss.requirement}"
        given = f"{shorten(loss.alphabet.text(indices))}, which fails at entry {place}"
        raise InputError(where, must, given=given)


# -- the value of a pair, of many, and of a corpus -------------------------------------------------


@takes_loss
def evaluate(loss: LossLike, z: Iterable[object], y: Iterable[object]) -> float:
    """The value of a hypothesis z and a reference y of its length (Jansche 2007, Algorithm 3).

    A loss is given as such, by the name of a built-in one, or by the path of its file. Labels
    that it leaves open are read from both.
    """
    known, pairs = _encoded(loss, [z], [y], "evaluate", single=True)
    return float(known.pair_values(*zip(*pairs, strict=True))[0])


@takes_loss
def evaluate_outputs(loss: LossLike, z: Iterable[object], y: Iterable[object]) -> dict[str, float]:
    """The outputs of one pair of sequences, by name.

    >>> from fsmeu.losses.loss import load
    >>> evaluate_outputs(load("fscore"), "0110", "0100")
    {'precision': 0.5, 'recall': 1.0}
    """
    known, pairs = _encoded(loss, [z], [y], "evaluate_outputs", single=True)
    tapes = list(zip(*pairs, strict=True))
    return {name: float(output.pair_values(*tapes)[0]) for name, output in known.outputs.items()}


@takes_loss
def evaluate_many(loss: LossLike, zs: Sequences, ys: Sequences) -> Floats:
    """The value of each pair of sequences, shape (pairs,).

    Labels that the loss leaves open are read from all hypotheses ``zs`` and references ``ys``.

    >>> from fsmeu.losses.loss import load
    >>> evaluate_many(load("fscore"), ["0110", "1"], ["0100", "1"]).tolist()
    [0.6666666666666666, 1.0]
    """
    known, pairs = _encoded(loss, zs, ys, "evaluate_many")
    return known.pair_values([z for z, _ in pairs], [y for _, y in pairs])


def _encoded(
    loss: LossLike, zs: Sequences, ys: Sequences, where: str, single: bool = False
) -> tuple[Loss, list[tuple[Ints, Ints]]]:
    """The loss over the labels of these sentences, or of one, and pairs of their label indices."""
    known = as_loss(loss, where)
    sides = []
    for side, name, role in ((zs, "zs", "hypothesis z"), (ys, "ys", "reference y")):
        rows = listed(side, where, f"{name} must be a sequence of label sequences", rows=True)
        names = [role] if single else [f"{where}, {name}[{row}]" for row in range(len(rows))]
        sides.append([(name, listed(x, name)) for name, x in zip(names, rows, strict=True)])
    if len(sides[0]) != len(sides[1]):
        must = "there must be as many hypotheses as references"
        raise InputError(where, must, given=f"{len(sides[0])} and {len(sides[1])}")
    known = known.over([x for side in sides for _, x in side])
    encoded = [[known.alphabet.encode(x, name) for name, x in side] for side in sides]
    for (name, _), z in zip(sides[0], encoded[0], strict=True):
        check_hypothesis(known, z, name)
    pairs = list(zip(*encoded, strict=True))
    for row, lengths in enumerate((len(z), len(y)) for z, y in pairs):
        if lengths[0] != lengths[1]:
            at = where if single else f"{where}, sentence {row}"
            must = "hypothesis z and reference y must have the same length"
            raise InputError(at, must, given=f"lengths {lengths[0]} and {lengths[1]}")
    return known, pairs


@takes_loss
def evaluate_corpus(loss: LossLike, zs: Sequences, ys: Sequences) -> float:
    """The value of a corpus: counts summed over sentences, the value taken once at the end.

    Labels that the loss leaves open are read from all hypotheses ``zs`` and references ``ys``.
    Registers start anew with each sentence, ``n`` is the total length: F1 of a corpus is that of
    all its items together (micro-averaged), as conlleval, seqeval and scikit-learn report it, not a
    mean over sentences. ``bad / (n - k + 1)``, the share of windows of one sequence, is taken by
    its letter. What a state, a flag, an age or a memory is after several sentences is not said.

    Raises:
        InputError: the value looks at something that cannot be summed, or lengths differ.
    """
    known, pairs = _encoded(loss, zs, ys, "evaluate_corpus")
    bound = check_totals(known, "evaluate_corpus")
    lengths = np.array([len(z) for z, _ in pairs], np.int64)
    counts = added_counts(bound, registers_of_pairs(bound, pairs), lengths)
    totals = {name: np.array([math.fsum(values.tolist())]) for name, values in counts.items()}
    return float(value_of_totals(bound.at(int(lengths.sum())), totals, 1)[0])


def check_totals(loss: Loss, where: str) -> BoundLoss:
    """The loss with labels and parameters; an InputError if a corpus has no value of it."""
    if loss.bound is None:
        must = "a corpus needs the loss of a file, whose counts are known"
        raise InputError(where, must, given=f"{loss.kind} {loss.name}, which is a function")
    amounts = loss.bound.spec.amounts
    others = [name for name in counts_read(loss.bound) if amounts[name] is None]
    if others:
        must = f"the value of {loss.kind} {loss.name} must be a function of counts over positions"
        remedy = "Only counts can be summed over sentences; ask for each sentence by itself"
        raise InputError(
            where, must, given=f"a value that looks at {', '.join(others)}", remedy=remedy
        )
    return loss.bound


def added_counts(bound: BoundLoss, final: Mapping[str, Floats], lengths: Ints) -> dict[str, Floats]:
    """The amounts that pairs add to counts that the value reads, (pairs,) by name."""
    rows = lengths.tolist()
    starts = {n: bound.at(n).checked_starts for n in set(rows)}
    return {x: final[x] - np.array([starts[n][x] for n in rows]) for x in counts_read(bound)}


def value_of_totals(at: LossAtLength, added: Mapping[str, Floats], lanes: int) -> Floats:
    """The value of corpora of n positions whose sentences add so much to the counts, (lanes,)."""
    return at.value(state_of_totals(at, added, lanes), (lanes,))


def state_of_totals(at: LossAtLength, added: Mapping[str, Floats], lanes: int) -> dict[str, Floats]:
    """The registers of such corpora, (lanes,) by name."""
    state = {name: np.full(lanes, start) for name, start in at.starts.items()}
    return state | {name: at.starts[name] + amount for name, amount in added.items()}


def counts_read(bound: BoundLoss) -> list[str]:
    """The registers that the value looks at."""
    read = names_read(bound.spec.value)
    return [r.name for r in bound.spec.registers if r.name in read]
