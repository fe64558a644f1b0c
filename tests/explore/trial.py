"""One case: which checks are drawn for it, and what came of each."""

import random
import signal
import warnings
from contextlib import contextmanager
from dataclasses import dataclass

from fsmeu import limits
from fsmeu.errors import FsmeuError
from tests.explore import checks, decisions, explicit, explicit_long
from tests.explore.cases import Fault, Refused, random_case
from tests.explore.rounded import Unsure
from tests.support.kernels import kernels_that_run

CHECKS = {**checks.CHECKS, **decisions.CHECKS, **explicit.CHECKS, **explicit_long.CHECKS}
OUTCOMES = ("passed", "refused", "unsure", "failed")
RULES = ("may take at most", "is not a label")
"""What files that are written at random may break: parts of the messages."""
SECONDS = 60
"""Processor time that one check may take."""
_DECISIONS = [name for name in decisions.CHECKS if name not in decisions.EXACT_METHODS]


@dataclass(frozen=True)
class Outcome:
    """What came of a check with a seed of its draws: ``unsure`` where a file turns on rounding."""

    check: str
    draw: int
    result: str
    fault: Fault | None = None


def run_check(case, name, draw):
    """What comes of one check of a case.

    The draw says, too, whether kernels are compiled, mostly, whether short sequences are answered
    in the ways of long ones, every second time, and small machines in those of large ones.
    """
    how = "compiled" if draw % 4 else "plain"
    lengths = limits.LONG if draw & 4 else {}
    sizes = {} if draw & 24 else limits.LARGE
    lowered = limits.lowered(lengths, sizes)
    try:
        with kernels_that_run(how), lowered, limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _prepare(case)
            CHECKS[name](case, random.Random(draw))
    except Refused:
        return Outcome(name, draw, "refused")
    except (Unsure, OverflowError):  # doubles cannot hold what the oracle asks for
        return Outcome(name, draw, "unsure")
    except Fault as fault:
        return Outcome(name, draw, "failed", fault)
    return Outcome(name, draw, "passed")


def _prepare(case):
    """Loads the file and lists everything; it is a fault if it does not load."""
    try:
        case.loss  # noqa: B018
    except FsmeuError as error:
        if any(rule in str(error) for rule in RULES):
            raise Refused(str(error)) from None
        raise Fault("fsmeu.loads(text)", f"{type(error).__name__}: {error}", "it loads") from error
    case.truth, case.chances  # noqa: B018
    try:
        case.built  # noqa: B018
    except Exception as error:
        raise Fault("model", f"{type(error).__name__}: {error}", "it is built") from error


@contextmanager
def limited():
    """Makes a fault of what takes too long."""

    def stop(*_):
        raise Fault("any", f"nothing after {SECONDS} s of processor time", "an answer")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run_case(seed, k, only=None):
    """A case with the outcomes of the checks that are drawn for it, or of only this one."""
    case, source = random_case(seed, k), random.Random(f"checks {seed} {k}")
    some = source.sample(list(checks.CHECKS), 2) + source.sample(_DECISIONS, 1)
    names = [*some, *decisions.EXACT_METHODS] if only is None else [only]
    return case, [run_check(case, name, source.getrandbits(32)) for name in names]
