"""The explicit engine on random losses; ``./run explore-tests --check explicit`` has a thousand."""

from tests.explore import run

CASES = 40


def test_the_explicit_engine_agrees_on_random_losses():
    """Expectations, derivatives, decisions and cost oracles: enumeration and both engines."""
    report = run.explore(7, CASES, None, jobs=1, only=("explicit",))
    assert report.failures == []
    assert report.counts["explicit", "passed"] > 0.8 * CASES
