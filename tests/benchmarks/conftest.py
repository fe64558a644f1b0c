"""Prints what was measured after the run."""

from tests.benchmarks import measure


def pytest_terminal_summary(terminalreporter):
    if measure.ROWS:
        terminalreporter.section("benchmarks")
        for line in measure.table():
            terminalreporter.write_line(line)
