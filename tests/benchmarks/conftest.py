"""One core for all that is measured; prints and writes what was measured after the run."""

import os

import pytest

from tests.benchmarks import measure, report

for library in ("OMP", "OPENBLAS", "MKL", "VECLIB"):  # numpy reads them when it is imported
    os.environ[f"{library}_NUM_THREADS"] = "1"


def pytest_addoption(parser):
    group = parser.getgroup("benchmarks")
    group.addoption("--to", metavar="NEW.json", default="out/bench.json", help="the file to write")
    group.addoption("--against", metavar="OLD.json", help="compare with the file of another run")


def pytest_configure(config):
    """Reads the other run before anything is measured."""
    against = config.getoption("--against")
    try:
        config.benchmarks_before = None if against is None else report.read(against)
    except ValueError as error:
        raise pytest.UsageError(f"--against: {error}.") from None


def pytest_terminal_summary(terminalreporter, config):
    if not measure.ROWS:
        return
    terminalreporter.section("benchmarks")
    for line in measure.table():
        terminalreporter.write_line(line)
    path = config.getoption("--to")
    report.write(path, measure.ROWS)
    terminalreporter.write_line(f"\nwritten to {path}")
    if config.benchmarks_before is not None:
        terminalreporter.section("against the other run")
        now = report.as_json(measure.ROWS)["rows"]
        for line in report.side_by_side(config.benchmarks_before, now):
            terminalreporter.write_line(line)
