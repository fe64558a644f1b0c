"""A case is a loss file and label models of one length; how a check asks the package about it.

Case k of seed S is always the same.
"""

import random
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

import fsmeu
from fsmeu.decoding.problem import RefusalError
from fsmeu.errors import FsmeuError, MissingExtra, SizeLimitError
from fsmeu.searn import CostOracle
from tests.explore.programs import random_program
from tests.explore.rounded import Unsure
from tests.explore.truth import STEPS, truth_of
from tests.label_models import ModelSpec, plain_model, random_model
from tests.strategies import LossCase

LENGTHS = {2: (0, 1, 2, 2, 3, 3, 3, 4, 4, 5, 6), 3: (0, 1, 2, 2, 3, 3, 4)}
LENGTHS |= {4: (0, 1, 2, 2, 3), 5: (0, 1, 2, 2)}
"""Lengths to draw from, by the number of labels: a few thousand pairs at most."""
RANGES = 0.5
"""The part of the files that declare a range: some methods ask for one."""
USED = 0.3
"""The part of the losses that were used before."""
NAMES = ("model", "alike", "other")
"""What a call names the three models of a case."""


@dataclass(frozen=True, eq=False)
class Case:
    """A loss file, and three label models of one length, the first of them the reference's.

    With ``has_range`` the file declares the range of its values at this length, as listed. With
    ``is_used`` the loss was asked for a shorter sequence before: what it keeps must not harm.
    """

    program: LossCase
    models: tuple[ModelSpec, ...]
    has_range: bool = False
    is_used: bool = True

    @property
    def n(self):
        return self.models[0].n

    @property
    def labels(self):
        return self.program.labels

    @cached_property
    def loss(self):
        loss = self.declared.load() if self.has_range else self._plain
        if self.is_used and self.n:
            with suppress(FsmeuError):
                fsmeu.expect(loss, self.shorter_z, self.models[0].shorter().build())
        return loss

    @cached_property
    def _plain(self):
        """The loss as the program has it."""
        return self.program.load()

    @cached_property
    def declared(self):
        """The program, with a range if one is declared and all values are known."""
        values = self.truth.values[self.truth.allowed] if self.has_range else np.zeros(0)
        if not values.size or np.isnan(values).any():
            return self.program
        low, high = float(values.min()) - self.wide, float(values.max()) + self.wide
        return replace(self.program, text=f"{self.program.text}range {low!r} .. {high!r}\n")

    @property
    def wide(self):
        """How much wider a range is that is declared: what values may be off; 0 without one."""
        values = self.truth.values[self.truth.allowed]
        if not self.has_range or np.isnan(values).any():
            return 0.0
        most = np.abs(values).max(initial=0.0)
        return float(2e-9 * most + STEPS * np.nanmax(self.truth.slack))

    @property
    def shorter_z(self):
        return [self.labels[-1]] * (self.n - 1)

    def draw(self, random):
        """Any sequence."""
        return random.choice(self.truth.sequences)

    def draw_allowed(self, random):
        """Any hypothesis that the loss is defined for, None where there is none."""
        truth = self.truth
        rows = np.flatnonzero(truth.allowed).tolist()
        return truth.sequences[random.choice(rows)] if rows else None

    @property
    def truth(self):
        """Every pair, by the second reading of the language.

        Raises:
            Unsure: what the file says depends on rounding, or leaves the doubles.
        """
        if isinstance(self._pairs, Unsure):
            raise self._pairs
        return self._pairs

    @cached_property
    def _pairs(self):
        try:
            return truth_of(self._plain.spec, self.labels, self.program.given, self.n)
        except OverflowError as error:
            return Unsure(str(error))
        except Unsure as error:
            return error

    @cached_property
    def built(self):
        return tuple(spec.build() for spec in self.models)

    @cached_property
    def chances(self):
        """The probability of every sequence, for each model."""
        return tuple(spec.chances() for spec in self.models)


def random_case(seed, k):
    """Case k of a seed."""
    source = random.Random(f"fsmeu {seed} {k}")
    program = random_program(source)
    n = source.choice(LENGTHS[len(program.labels)])
    rng = np.random.default_rng(source.getrandbits(64))
    first = random_model(rng, program.labels, n)
    alike = random_model(rng, program.labels, n, (first.kind,))
    models = (first, alike, random_model(rng, program.labels, n))
    return Case(program, models, source.random() < RANGES, source.random() < USED)


def written_case(program, kind, n, seed=0, **more):
    """A loss with random models of one kind."""
    rng = np.random.default_rng(seed)
    models = (plain_model(rng, kind, tuple(program.labels), n, **more) for _ in NAMES)
    return Case(program, tuple(models))


# -- asking ---------------------------------------------------------------------------------------


@dataclass
class Fault(Exception):
    """A call, as one writes it with ``loss`` and ``model``, what came out, and what is true."""

    call: str
    got: str
    true: str


class Refused(Exception):
    """The package had nothing to say, and was entitled to."""


def ask(case, call, lacking=False, anywhere=False, told="", **more):
    """What a call answers, written with the names ``loss``, ``model``, ``alike`` and ``other``.

    Args:
        case: whose loss and models are meant.
        call: the call.
        lacking: True when a pair that matters here has no value: only an error will do.
        anywhere: True when an error will do as well, because some pair has no value.
        told: the call as a fault shows it, where it uses other names.
        **more: those names.
    """
    names = {"fsmeu": fsmeu, "CostOracle": CostOracle, "loss": case.loss}
    names |= dict(zip(NAMES, case.built, strict=True))
    told = told or call
    try:
        answer = eval(call, names | more)
    except MissingExtra:
        raise
    except (RefusalError, SizeLimitError) as error:
        raise Refused(str(error)) from None
    except FsmeuError as error:
        if lacking or anywhere or "where whole numbers are not told apart" in str(error):
            raise Refused(str(error)) from None
        raise Fault(told, f"{type(error).__name__}: {error}", "there is an answer") from error
    except Exception as error:
        true = "an answer" if not lacking else "an FsmeuError"
        raise Fault(told, f"{type(error).__name__}: {error}", true) from error
    if lacking:
        raise Fault(told, repr(answer), "an error: a possible pair has no value")
    return answer


def same(call, got, true, tolerance):
    """Compares two numbers, or arrays of them."""
    got, true = np.asarray(got, float), np.asarray(true, float)
    if got.shape != true.shape:
        raise Fault(call, f"shape {got.shape}", f"shape {true.shape}")
    bad = ~((np.abs(got - true) <= tolerance) | (got == true))  # infinite ones differ by nan
    if bad.any():
        at = tuple(int(x[0]) for x in np.nonzero(bad)) if got.ndim else ()
        place = f"{call}{list(at) if at else ''}"
        wide = float(np.broadcast_to(tolerance, got.shape)[at])
        raise Fault(place, f"{float(got[at])!r}", f"{float(true[at])!r} (tolerance {wide:.2g})")


def holds(call, condition, got, true):
    """Raises a fault unless a condition holds."""
    if not condition:
        raise Fault(call, str(got), str(true))
