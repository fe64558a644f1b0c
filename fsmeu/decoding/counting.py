"""Values c * g(hyp, ref) + h(hyp, ref): exact under any model (after Dembczynski et al. 2011).

c is a joint count whose increments depend on a step of each tape, hyp counts on z alone and ref on
y alone. P(step of y at i, ref = s) comes from forward and backward distances over the counting
machine; for each end hyp = k the worth of every step of z is then known, and what remains is a best
path with exactly k counts: the k best positions where z has no other state, else dynamic
programming.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmeu.decoding.method import Method
from fsmeu.decoding.problem import Answer, Problem
from fsmeu.losses.algebra.split import Split

__all__ = ["COUNTING", "counting_many", "unmet_condition"]


def _condition(problem: Problem) -> str | None:
    """What must hold of the loss and does not; None where it looks at one count of each tape."""
    return unmet_condition(problem.split)


def unmet_condition(form: Split | None) -> str | None:
    """What must hold of a loss, split by tape if it splits, and does not; None where all does."""
    if form is None:
        return "what reads both tapes must only be counted, and the value be linear in it"
    for part, tape in ((form.z, "z"), (form.y, "y")):
        if not part.counted:
            seen = ", ".join(part.ends)
            may = f"the value may look at one count of {tape} that nothing else reads"
            return f"{may}, not at {seen}"
    return None


def _counting(problem: Problem) -> Answer | str:
    """The best sequence for each end of the hypothesis's count, then the best of these.

    Requires a loss that splits by tape, its value looking at no more than one count of each tape.

    Proven: the split is derived from the expression trees, for every length. Given where the
    count of z ends, the expected value is then a sum over its steps, and the best path is found
    for every end. Errors are bounded, and the best is claimed if no other reaches it by more than
    ``PRECISION``; see ``by_tape``.
    """
    return counting_many([problem])[0]


def counting_many(problems: Sequence[Problem]) -> list[Answer | str]:
    """The same for several problems that differ in the numbers of the model only."""
    from fsmeu.decoding.by_tape import best_by_tape  # loads scipy, which takes a while
    from fsmeu.decoding.counting_windows import counting_in_windows, is_for_windows

    form = problems[0].split
    names = [joint_count.register for joint_count in form.joint_counts] if form else []
    counts = ", ".join(names) or "no joint count"
    why = f"the value is linear in {counts}, and otherwise looks at one count of each tape"
    if all(map(is_for_windows, problems)):
        answers = [counting_in_windows(problem, why) for problem in problems]
        if all(answers):
            return [answer for answer in answers if answer is not None]
    return [
        found
        if isinstance(found, str)
        else Answer(found.indices, found.proven, why, found.ends, found.value, found.error)
        for found in best_by_tape(problems)
    ]


COUNTING = Method("counting", _condition, _counting)
