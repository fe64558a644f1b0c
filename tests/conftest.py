"""What all tests share: how much of the suite runs, and examples that are the same at every run.

By default a law is tried on a sixth of its hypothesis examples, and tests marked ``nightly``
(more seeds, greater lengths, quick runs of experiments) are left out, as are two of three cases of
a test marked ``thirds``; ``--all`` runs everything.
``FSMEU_EXPLORE=1`` draws new examples instead of fixed ones, to look for what those miss.
``FSMEU_PLAIN_LOOPS=N`` runs loops over a trellis as plain Python, up to N sums and products.
``--without-pynini`` runs the suite as where that is not installed: what needs it is skipped.
"""

import os
from contextlib import ExitStack

import pytest
from hypothesis import settings

from fsmeu import jit, limits
from tests.support import missing, nightly
from tests.support.kernels import kernels_that_run

QUICK_SHARE = 6  # one in so many hypothesis examples is drawn by default
FEWEST = 10  # and at least so many, where a test asks for more
PLAIN_LOOPS = ExitStack()

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("FSMEU_EXPLORE") else "repeatable")


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="nightly tests and all examples, too")
    parser.addoption("--without-pynini", action="store_true", help="as where it is not installed")


def pytest_configure(config):
    nightly.EVERYTHING = config.getoption("--all")
    # Which process compiles a loop first is chance, and commands must print nothing on stderr.
    jit._announce_compiling = lambda: None
    if most := int(os.environ.get("FSMEU_PLAIN_LOOPS", 0)):
        config.add_cleanup(PLAIN_LOOPS.close)
        PLAIN_LOOPS.enter_context(kernels_that_run("plain", most))
    if config.getoption("--without-pynini"):
        missing.hide_pynini()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    with missing.skips_without_pynini():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with missing.skips_without_pynini():
        return (yield)


@pytest.fixture
def lowered():
    """A function that gives thresholds of ``fsmeu.limits`` other values until the test ends."""
    with ExitStack() as stack:
        yield lambda *sets, **values: stack.enter_context(limits.lowered(*sets, **values))


@pytest.fixture(scope="session")
def rounds():
    """A function from how often a loop runs with ``--all`` to a range: a sixth, or ``least``."""
    return lambda most, least=1: range(
        most if nightly.EVERYTHING else max(least, most // QUICK_SHARE)
    )


def diagonal(item, numbers):
    """The numbers of the values that a case has of each of its parameters, added up.

    Cases whose sums are the same modulo 3 are a third of a product, in which each value of each
    parameter has its turn. ``numbers`` has those of values that were seen, by test and parameter.
    """
    test = item.nodeid.partition("[")[0]
    total = 0
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0]
        value = tuple(id(item.callspec.params[name.strip()]) for name in names)
        known = numbers.setdefault((test, *names), {})
        total += known.setdefault(value, len(known))
    return total


def pytest_collection_modifyitems(config, items):
    """Leaves nightly tests out and lowers the number of examples, unless told otherwise."""
    if nightly.EVERYTHING:
        return
    for function in {item.function for item in items if hasattr(item.function, "hypothesis")}:
        full = function._hypothesis_internal_use_settings
        fewer = min(full.max_examples, max(FEWEST, full.max_examples // QUICK_SHARE))
        function._hypothesis_internal_use_settings = settings(full, max_examples=fewer)
    numbers = {}
    first = {}
    for item in items:
        if item.get_closest_marker("thirds"):
            test = item.nodeid.partition("[")[0]
            total = diagonal(item, numbers)
            if (total - first.setdefault(test, total)) % 3:
                item.add_marker("nightly")
    if not config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("nightly")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker("nightly")]
