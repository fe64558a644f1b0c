"""One core for all that is measured; prints what was measured after the run."""

import os

from tests.benchmarks import measure

for library in ("OMP", "OPENBLAS", "MKL", "VECLIB"):  # numpy reads them when it is imported
    os.environ[f"{library}_NUM_THREADS"] = "1"


def pytest_terminal_summary(terminalreporter):
    if measure.ROWS:
        terminalreporter.section("benchmarks")
        for line in measure.table():
            terminalreporter.write_line(line)
