"""The tour runs, and what it shows is true."""

from itertools import product
from math import prod

from typer.testing import CliRunner

from fsmeu.cli.demo import INDEPENDENT
from fsmeu.cli.main import app


def expected_f1(z):
    """Expected F1 of z under independent labels, by enumerating every labelling."""
    total = 0.0
    for y in product((0, 1), repeat=len(z)):
        weight = prod(p if label else 1 - p for p, label in zip(INDEPENDENT, y, strict=True))
        hits, positives = sum(a * b for a, b in zip(z, y, strict=True)), sum(z) + sum(y)
        total += weight * (2 * hits / positives if positives else 1)
    return total


def test_demo_decides_and_draws(tmp_path):
    """The independent row agrees with enumeration, and the picture is where it says."""
    result = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "out")])
    assert result.exit_code == 0
    hypotheses = list(product((0, 1), repeat=len(INDEPENDENT)))
    best = max(hypotheses, key=expected_f1)
    row = next(line for line in result.output.splitlines() if "independent" in line)
    assert "".join(map(str, best)) in row
    assert f"{expected_f1(best):.4f}" in row
    assert "tp=1" in (tmp_path / "out" / "fscore.svg").read_text()
