"""The loss of a file, by name or path: a spec with its labels and parameters filled in."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fsmeu.arrays import Floats, Ints
from fsmeu.endings import LOSS
from fsmeu.errors import Argument, InputError, as_number, nearest, shorten, wording
from fsmeu.files import read_text
from fsmeu.fst.alphabet import (
    BINARY,
    Alphabet,
    Label,
    as_alphabet,
    as_labels,
    label_text,
    plain,
)
from fsmeu.fst.constraint import Constraint
from fsmeu.fst.tags import GIVE_TAGS, OTHER_TAGS, check_tags, chunk_types, tag_labels
from fsmeu.losses.algebra.confusion import Confusion, confusion
from fsmeu.losses.algebra.saturation import ages_of, greatest_number, saturated_spec
from fsmeu.losses.algebra.split import Split, split, swapped_spec
from fsmeu.losses.language.expressions import MAX_SIZE
from fsmeu.losses.language.read import REQUIRE, read
from fsmeu.losses.language.syntax import (
    Expr,
    Name,
    Number,
    Param,
    Spec,
    Table,
    names_read,
    needed_registers,
)
from fsmeu.losses.language.write import expression_text
from fsmeu.losses.machine.requirement import reads_length, required_hypotheses
from fsmeu.losses.machine.view import LossAutomaton, SpecAutomaton
from fsmeu.losses.protocol import Loss
from fsmeu.losses.semantics.bind import bind, check_names, is_keyed
from fsmeu.losses.semantics.evaluator import BoundLoss
from fsmeu.losses.semantics.walk import values_of_pairs

Labels = Alphabet | Sequence[Label] | str | None  # a text has one label per character
Types = Sequence[str] | None  # of chunks


@dataclass(frozen=True, eq=False)
class SpecLoss(Loss):
    """A loss from a file, with the parameters and perhaps labels that were given for it."""

    spec: Spec
    params_given: Mapping[str, Any] = field(default_factory=dict)
    labels_given: Alphabet | None = None

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={_shown(v)}" for k, v in self.params_given.items())
        return f"<{self.kind} {self.name}({inside})>"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name in the file's header."""
        return self.spec.name

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Either "loss" or "utility"."""
        return self.spec.kind

    @property
    def labels_open(self) -> bool:  # type: ignore[override]
        """True when the labels may still be chosen."""
        return self.spec.labels is None and self.labels_given is None

    @property
    def scheme(self) -> str:  # type: ignore[override]
        """The scheme of chunk tags of the file, "" where it has none."""
        return self.spec.scheme

    @cached_property
    def bound(self) -> BoundLoss:
        """The spec with labels and parameters filled in."""
        if self.labels_open and self.alphabet == self.unlabelled.alphabet:
            return self.unlabelled
        return bind(self.spec, self.alphabet, self.params_given)

    @cached_property
    def unlabelled(self) -> BoundLoss:
        """The spec with parameters filled in, and labels in the place of those that are open."""
        sizes = [size for p in self.spec.params for size in _label_sides(p, self.params_given)]
        labels: tuple[Label, ...] = tuple(range(sizes[0])) if sizes else BINARY.labels
        if self.spec.scheme:
            types = [f"TYPE{k}" for k in range(max([1, *sizes]))]
            labels = tag_labels(types, self.spec.scheme)[: sizes[0] if sizes else None]
        return bind(self.spec, Alphabet(labels), self.params_given, known=False)

    @cached_property
    def alphabet(self) -> Alphabet:  # type: ignore[override]
        """The labels of both tapes; binary unless the file or the caller says otherwise.

        Raises:
            InputError: they are open, and the file names others than those.
        """
        if self.labels_given is not None:
            return self.labels_given
        if self.spec.labels is not None:
            return Alphabet(self.spec.labels)
        where = f"{self.kind} {self.name}"
        if self.spec.scheme:
            raise InputError(where, "the tags must be given", remedy=GIVE_TAGS)
        alphabet = self.unlabelled.alphabet
        others = [name for name in self.unlabelled.named if name not in alphabet.index]
        if others and any(_lists_labels(p, self.params_given) for p in self.spec.params):
            return Alphabet(as_labels(sorted(self.unlabelled.named)))
        if others:
            among = f" with {shorten(', '.join(others))} among them, as the file names"
            remedy = wording("Give ", Argument("labels"), among)
            raise InputError(where, "the labels must be given", remedy=remedy)
        return alphabet

    @property
    def params(self) -> Mapping[str, Any]:
        """The value of each parameter."""
        return self.bound.arguments

    def with_labels(self, alphabet: Alphabet) -> SpecLoss:
        """The same loss over these labels: any where they are open, else its own in this order."""
        if self.labels_open:
            return self.derived.get(alphabet, lambda: self._over(alphabet))
        return self.derived.get(alphabet, lambda: self._reordered(alphabet))

    def _over(self, alphabet: Alphabet) -> SpecLoss:
        """The same loss over labels of a model or of sequences."""
        if self.spec.scheme:
            check_tags(alphabet, self.spec.scheme, f"{self.kind} {self.name}", OTHER_TAGS)
        return replace(self, labels_given=alphabet)

    def over(self, sequences: Iterable[Iterable[object]]) -> SpecLoss:
        """The same loss, over the labels of these sequences where its file leaves them open."""
        ordered = any(_label_sides(p, self.params_given) for p in self.spec.params)
        if not self.labels_open or ordered:
            return self
        labels = self.labels_among(sequences)
        return self if labels is None else self.with_labels(Alphabet(labels))

    def labels_among(self, sequences: Iterable[Iterable[object]]) -> tuple[Label, ...] | None:
        """The labels of sequences, for a loss whose labels are open; None for at most 0 and 1.

        Labels that the file names are among them, unless they are names and all others numbers.
        Chunk tags have O beside them.
        """
        labels = [x for row in sequences for x in map(plain, row) if type(x) in (int, str)]
        texts = set(map(label_text, labels))
        named = self.unlabelled.named
        if self.spec.scheme:
            return ("O", *sorted(texts.union(named) - {"O"}))
        if texts.union(named) <= {"0", "1"}:
            return None
        if all(as_number(text) is not None for text in texts or named):
            texts = texts or {"0", "1"}
            named = tuple(name for name in named if as_number(name) is not None)
        return as_labels(sorted(texts.union(named)))

    def _reordered(self, alphabet: Alphabet) -> SpecLoss:
        """The same loss with its labels, tables and new names in the order of the alphabet."""
        own = self.alphabet
        new = alphabet.labels
        if set(own.labels) != set(new):
            must = f"its labels are {shorten(own.labels)}, in any order"
            raise InputError(f"{self.kind} {self.name}", must, given=shorten(new))
        order = [own.index[label] for label in new]
        spec = self.spec
        params = {**self.params_given}
        tables = (p for p in spec.params if p.type == "table" and p.name in params)
        for param in (p for p in tables if not is_keyed(params[p.name])):
            table = np.asarray(params[param.name])
            for axis, side in enumerate(param.sides if table.ndim else ()):  # else one for all
                if side == "label":
                    table = table.take(order, axis=axis)
            params[param.name] = table
        if spec.labels is not None and self.labels_given is not None:
            spec = replace(spec, labels=tuple(spec.labels[k] for k in order))
        return replace(self, spec=spec, params_given=params, labels_given=alphabet)

    @cached_property
    def split(self) -> Split | None:
        """The loss split by tape, if it splits."""
        return split(self.bound)

    @cached_property
    def confusion(self) -> Confusion | None:
        """The loss as a function of (tp, hyp, ref, n), if it is one."""
        return confusion(self.bound)

    @cached_property
    def swapped(self) -> SpecLoss:
        """The loss whose value for (z, y) is that of this one for (y, z)."""
        if self.spec.requirement is not None:
            must = "a loss that restricts its hypotheses cannot be swapped, as learning does"
            remedy = "Learn for a loss without require, and decide for this one"
            raise InputError(
                f"{self.kind} {self.name}", must, given=self.requirement, remedy=remedy
            )
        return replace(self, spec=swapped_spec(self.spec))

    @cached_property
    def ages(self) -> Mapping[str, str]:
        """The tape of each register that may stop at a cap, by name (``algebra/saturation.py``)."""
        return ages_of(self.spec)

    @cached_property
    def least_cap(self) -> float:
        """The greatest number that ages are compared with or set to: a cap is above it."""
        return greatest_number(self.spec)

    def saturated(self, cap: int) -> SpecLoss:
        """The loss whose ages stop at a cap, above all numbers that they are compared with."""
        loss: SpecLoss = self.derived.get(
            ("saturated", cap), lambda: replace(self, spec=saturated_spec(self.spec, cap))
        )
        return loss

    @cached_property
    def outputs(self) -> Mapping[str, SpecLoss]:
        """For each further output that the file names, by name, the loss whose value it is."""
        return {output.name: self._with_value(output.value) for output in self.spec.outputs}

    def _with_value(self, value: Expr) -> SpecLoss:
        """The loss with another value of registers of the file, and the registers it needs."""
        spec = self.spec
        read = needed_registers(spec.file_registers, [value])
        registers = tuple(r for r in spec.file_registers if r.name in read)
        spec = replace(spec, registers=registers, file_registers=(), value=value, range=None)
        spec = replace(spec, outputs=(), requirement=None, examples=())
        return replace(self, spec=spec)

    @cached_property
    def _requirement(self) -> SpecLoss:
        """The loss that is 1 where a hypothesis breaks the requirement of the file, else 0."""
        return self._with_value(Name(REQUIRE))

    def allowed(self, n: int) -> Constraint | None:
        """The hypotheses of length n that the file requires; None where they are all."""
        if self.spec.requirement is None:
            return None
        bound = self._requirement.bound
        at = bound.at(n)
        owner = at if reads_length(bound.spec) else bound
        return owner.derived.get("allowed", lambda: required_hypotheses(at))

    @property
    def requirement(self) -> str:
        """What hypotheses satisfy, in words, with its parameters; nothing without one."""
        required = self.spec.requirement
        if required is None:
            return ""
        text = required.text or f"{expression_text(required.condition)} at each position"
        read = names_read(required.condition)
        for register in self._requirement.spec.registers:
            read |= names_read(register.update) | names_read(register.start)
        known = {name: x for name, x in self.params.items() if name in read}
        values = [
            f"{k} = {f'{x:g}' if isinstance(x, float) else _shown(x)}" for k, x in known.items()
        ]
        return f"{text} ({', '.join(values)})" if values else text

    @cached_property
    def defined(self) -> SpecLoss:
        """The loss whose states tell, too, whether the hypothesis is one that the file requires."""
        if self.spec.requirement is None:
            return self
        return replace(self, spec=replace(self.spec, registers=self.spec.checked_registers))

    def linear(self, z_given: bool) -> tuple[str, ...]:
        """The registers that may be kept in the weight; with z given, z-only ones are constants."""
        with_y = (name for name, reads in self.spec.tapes.items() if "y" in reads)
        return self.spec.linear(with_y if z_given else None)

    def view(self, n: int, z: Ints | None = None, weights: bool = False) -> SpecAutomaton:
        """The loss as an engine walks it."""
        linear = self.linear(z is not None) if weights else ()
        at = self.bound.at(n)
        memo = at.derived.get(("view", z is not None, linear), dict[Hashable, Any])
        return SpecAutomaton(at, z, linear, memo=memo)

    def against(self, y: Ints, copies: int) -> LossAutomaton:
        """The loss of any hypothesis against a reference, given by label indices, (n,).

        Symbols are labels of z. It is defined for all hypotheses, also where the loss requires
        something of them. ``copies`` is how many times each state occurs.
        """
        swapped: SpecLoss = self.derived.get(
            "against",
            lambda: replace(self, spec=swapped_spec(replace(self.spec, requirement=None))),
        )
        return swapped.view(len(y), y, weights=True).merged_given_z(copies)

    def pair_values(self, z: Sequence[Ints] | Ints, y: Sequence[Ints] | Ints) -> Floats:
        """The value of each pair of rows of label indices, (rows,)."""
        return values_of_pairs(self.bound, list(zip(z, y, strict=True)))


def without_value(loss: Loss) -> SpecLoss:
    """The loss of a file with the same registers, whose value is 0 for every pair."""
    assert isinstance(loss, SpecLoss)
    spec = replace(loss.spec, value=Number(0.0), range=None)
    found: SpecLoss = loss.derived.get("without value", lambda: replace(loss, spec=spec))
    return found


def _shown(value: Any) -> str:
    """A parameter in a few words: of a table its sides."""
    sides = 0 if isinstance(value, str) else _side(value)
    return f"<table {' x '.join(map(str, np.shape(value)))}>" if sides > 2 else shorten(value, 60)


def _label_sides(param: Param, given: Mapping[str, Any]) -> list[int]:
    """The greatest side by label of a table that was given, nothing if there is none."""
    try:
        shape = np.shape(given[param.name]) if param.type == "table" else ()
    except Exception:  # there is none, or whatever it raises; it is refused where it is checked
        return []
    pairs = zip(shape, param.sides, strict=False)
    return [max(sizes)] if (sizes := [k for k, side in pairs if side == "label" and k]) else []


def _lists_labels(param: Param, given: Mapping[str, Any]) -> bool:
    """Whether a table has an entry by name for each label there is: no other default has more."""
    if not isinstance(param.default, Table | None):
        return False
    written = isinstance(param.default, Table) and bool(param.default.keys)
    return written or is_keyed(given.get(param.name))


def _side(table: Any) -> int:
    """The longest side of a table that was given; 0 where it has none, or is no table."""
    try:
        return 0 if isinstance(table, str | bytes) else max(np.shape(table), default=0)
    except Exception:  # whatever it raises; it is refused where tables are checked
        return 0


def bind_loss(
    spec: Spec, params: Mapping[str, Any], labels: Labels = None, types: Types = None
) -> SpecLoss:
    """A loss of a spec with parameters and, if wanted, labels (or the chunk types that make them).

    Labels given for a file that fixes its own rename those, one for one.
    """
    where = f"{spec.kind} {spec.name}"
    if types is not None and labels is not None:
        must = "either labels or the chunk types that make them may be given"
        raise InputError(where, must, given="both")
    if types is not None:
        labels = tag_labels(chunk_types(types, where), spec.scheme or "bio")
    alphabet = as_alphabet(labels) if labels is not None else None
    if alphabet is not None and spec.labels is not None and len(alphabet) != len(spec.labels):
        must = f"the file has {len(spec.labels)} labels, {', '.join(map(str, spec.labels))}"
        raise InputError(where, must, given=f"{len(alphabet)} labels")
    check_names(spec, params)
    loss = SpecLoss(spec, dict(params), alphabet)
    at = (loss.unlabelled if loss.labels_open else loss.bound).at(1)
    for register in spec.registers:
        at.domain(register)
    return loss


# -- by name or path -------------------------------------------------------------------------------


_SUFFIX = f".{LOSS}"
_OTHER_NAMES: dict[str, tuple[str, str]] = {
    "exact_match": ("zero_one", ""),
    "iou": ("jaccard", ""),
    "dice": ("fscore", "empty=0"),
    "f2": ("fscore", "beta=2"),
    "f0.5": ("fscore", "beta=0.5"),
    **dict.fromkeys(("f1", "fbeta", "f_beta"), ("fscore", "")),
    **dict.fromkeys(("matthews_corrcoef", "mcc_score"), ("mcc", "")),
    **dict.fromkeys(("conlleval", "seqeval"), ("chunk_fscore", "")),
}
"""What other tools call built-in losses, with a parameter where it is one of them, for hints."""


def grammar_folder() -> Path:
    """The folder of the loss files: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "grammars", package.parent / "grammars"):
        if folder.is_dir():
            return folder
    raise InputError("grammars", "the folder of loss files must be installed with fsmeu")


def library() -> list[str]:
    """The names of the built-in losses."""
    return sorted(path.stem for path in grammar_folder().glob(f"*{_SUFFIX}"))


def load(
    name: str | Path, *, labels: Labels = None, types: Types = None, **params: Any
) -> SpecLoss:
    """A built-in loss by its name, or a loss by the path of its file.

    Args:
        name: a name such as "fscore", or a path.
        labels: the labels, where the file leaves them open; or new names for the file's own.
        types: chunk types, for losses over tags: labels O, B-X, I-X are made of them.
        **params: parameters of the loss.

    Raises:
        LossFileError: the file is malformed.
        InputError: there is no such loss, or a parameter does not suit it.

    >>> load("hamming")("0110", "0100")
    0.25
    """
    return bind_loss(read_spec(name), params, labels, types)


def loads(text: str, *, labels: Labels = None, types: Types = None, **params: Any) -> SpecLoss:
    """A loss from the text of a loss file."""
    if not isinstance(text, str):
        raise InputError("loads", "the loss file must be given as text", given=type(text))
    return bind_loss(read(text), params, labels, types)


def named_loss(
    name: str | os.PathLike[str],
    where: str,
    params: Mapping[str, Any] | None,
    labels: Labels = None,
) -> SpecLoss:
    """The loss of a built-in name or of a path; what asks for it is ``where``, in messages.

    Parameters may be given unless they are None; labels are those of the loss where its file leaves
    them open.
    """
    spec = read_spec(name, where)
    if params is None and labels is None:
        return _without_params(spec)
    return bind_loss(spec, params or {}, labels if spec.labels is None else None)


@lru_cache(maxsize=64)
def _without_params(spec: Spec) -> SpecLoss:
    """The loss of a file with all defaults; those asked for last are kept with their caches."""
    needed = [param.name for param in spec.params if param.default is None]
    if needed:
        must = f"the parameter {needed[0]!r} has no default"
        given = ", ".join(f"{name}=VALUE" for name in needed)
        remedy = f"Give fsmeu.load({spec.origin!r}, {given}) in the place of the name"
        raise InputError(f"{spec.kind} {spec.name}", must, remedy=remedy)
    return bind_loss(spec, {})


def read_spec(name: str | os.PathLike[str], where: str = "load") -> Spec:
    """The spec of a loss file, by name or path; labels and parameters are not filled in."""
    path = _find(name, where)
    text = read_text(path, str(path), most=4 * MAX_SIZE)
    return read(text, str(name) if path.parent == grammar_folder() else str(path))


def _find(name: str | os.PathLike[str], where: str) -> Path:
    if not isinstance(name, str | os.PathLike):
        must = "the name of a built-in loss or a path is needed"
        raise InputError(where, must, given=shorten(name))
    text = str(name)
    built_in = grammar_folder() / f"{text}{_SUFFIX}"
    try:
        if "/" not in text and "\\" not in text and built_in.is_file():
            return built_in
        path = Path(text).expanduser()
        if path.exists() and not path.is_dir():  # a pipe is read as well
            return path
    except (OSError, RuntimeError, ValueError):
        raise InputError(where, "the file of a loss must be there", given=text) from None
    plain = path.name.removesuffix(_SUFFIX).lower()
    official, param = _OTHER_NAMES.get(plain, (plain, ""))
    if text.endswith(_SUFFIX) or "/" in text:
        hint = nearest(official, library(), alike=0.9)
        raise InputError(where, "the file of a loss must be there", given=text, remedy=hint)
    hint = nearest(official, library()) or f"There are: {', '.join(library())}"
    if param:
        name, _, value = param.partition("=")
        hint = wording(hint.rstrip("?"), " with ", Argument(name, value, of_loss=True), "?")
    raise InputError(where, f"there is no built-in loss {text!r}", remedy=hint)
