"""A method of deciding: the condition under which it answers, and how it does.

A condition reads properties that are derived once and kept, of the loss (its split by tape, its
confusion form, what holds of them at a length) and of the problem (the model's structure, the
constraint, the sizes). So whoever chooses a method reads conditions, and does not try methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fsmeu.decoding.problem import Answer, Problem, RefusalError
from fsmeu.errors import LossFileError, SizeLimitError, message
from fsmeu.losses.semantics.domains import RangeError

__all__ = ["Method", "always"]


@dataclass(frozen=True)
class Method:
    """A method by its name, its condition and its work.

    Attributes:
        name: as ``decode`` takes it.
        condition: what must hold of a problem and does not; None where the method fits. It may
            raise what deriving a property raises.
        decide: the answer to a problem that satisfies the condition; or what must hold and was seen
            not to while computing.
    """

    name: str
    condition: Callable[[Problem], str | None]
    decide: Callable[[Problem], Answer | str]

    def fits(self, problem: Problem) -> str | None:
        """None where the method fits a problem, else a sentence that says why it does not.

        A property may have no answer: the file may give no value to labels or counts that the
        condition looks at, possible under the model or not, and a length may be past a limit. Then
        the method does not fit, and another may.

        Raises:
            RangeError: a value lies outside the range that the file declares.
        """
        try:
            return self.condition(problem)
        except RangeError:
            raise
        except (LossFileError, SizeLimitError) as error:
            return str(error)

    def __call__(self, problem: Problem) -> Answer:
        """The answer to a problem.

        Raises:
            RefusalError: the method does not fit.
            FsmeuError: a property that its condition reads cannot be derived.
        """
        fault = self.condition(problem)
        answer = self.decide(problem) if fault is None else fault
        if isinstance(answer, str):
            remedy = 'Use method="auto", or one that fits'
            raise RefusalError(message(f"decode by {self.name}", answer, None, remedy))
        return answer


def always(problem: Problem) -> None:
    """None: the condition of a method that fits every problem."""
