"""Intervals against those of scipy; pages hold what commands print; records name their command."""

import json
import re

import numpy as np
import pytest
from scipy import stats

from tests.experiments.conftest import FOLDER, ROOT


@pytest.fixture(scope="module")
def report(load):
    return load("report")


def test_intervals(report):
    values = np.random.default_rng(1).exponential(size=30)
    wanted = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert report.t_interval(values) == pytest.approx((values.mean(), wanted.low, wanted.high))
    assert np.isnan(report.t_interval([1.0]).low)
    resampled = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=9999, rng=0)
    wanted = resampled.confidence_interval
    found = report.bootstrap_interval(values)
    assert found == pytest.approx((values.mean(), wanted.low, wanted.high), abs=0.04)
    for hits, trials in ((0, 20), (91, 500)):
        wanted = stats.binomtest(hits, trials).proportion_ci(0.95, method="wilson")
        found = report.share_interval(hits, trials)
        assert found == pytest.approx((hits / trials, wanted.low, wanted.high), abs=1e-6)


@pytest.mark.parametrize(
    "script", ["jansche2005", "jansche2007_section4", "natarajan2016", "liu2018"]
)
def test_pages_hold_what_is_printed(load, script):
    """The tables of figures below each list are those that ``table`` prints from the records."""
    page = script.partition("_")[0]
    text = (ROOT / "docs" / "papers" / f"{page}.md").read_text(encoding="utf-8")
    assert load(script).tables().strip() in text


def test_records_name_their_command():
    """A file of results says which command made it, and that script is there."""
    for path in (FOLDER / "results").glob("*.json"):
        command = json.loads(path.read_text(encoding="utf-8"))["command"]
        scripts = re.findall(r"experiments/(\w+\.py)", command)
        assert scripts, path
        assert all((FOLDER / script).is_file() for script in scripts), path
