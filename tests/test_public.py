"""The public names: all can be imported, and a user's file of them passes ``mypy --strict``."""

import subprocess
import sys
from pathlib import Path

import pytest

import fsmeu

USER = """
from typing import Any

import numpy as np

import fsmeu
from fsmeu import models

loss: fsmeu.Loss = fsmeu.load("fscore")
model: fsmeu.Model = models.Bernoulli([0.9, 0.5, 0.3])
decision: fsmeu.Decision = fsmeu.decode(loss, model)
bounds: tuple[float, float] = (decision.lower, decision.upper)
expectation: fsmeu.Expectation = fsmeu.expect(loss, decision.labels, model)
many: fsmeu.Expectations = fsmeu.expect_many(loss, [decision.labels], [model], keep=8)
widest: float = float((many.upper - many.lower).max())
each: list[fsmeu.Decision] = fsmeu.decode_many(loss, [model])
five: list[fsmeu.Decision] = fsmeu.decode(loss, model, k=5)
five_each: list[list[fsmeu.Decision]] = fsmeu.decode_many(loss, [model], k=5)
corpus: fsmeu.CorpusDecision = fsmeu.decode_corpus(loss, [model])
words: list[str] = [fsmeu.explain(decision), fsmeu.explain(corpus), decision.method, corpus.why]
given_away: fsmeu.Regret = fsmeu.regret(loss, decision.labels, model)
likes: list[fsmeu.ModelLike] = [model, [0.9, 0.5], np.array([0.9, 0.5, 0.3])]
table: np.ndarray[Any, Any] = np.full((4, 3), 0.5)
rules: list[fsmeu.ConstraintLike] = [
    "0* 1? 0*", fsmeu.constraints.min_gap(2), fsmeu.constraints.all_of("1 .*", "(0|1)*")
]
hypotheses: list[fsmeu.HypothesisLike] = ["11", [1, 1], model, (1, 0, 1)]
losses: list[fsmeu.LossLike] = ["fscore", loss]
allowed = [fsmeu.decode(losses[0], likes[0], constraint=rule) for rule in rules]
decided = fsmeu.decode_many(losses[1], likes), fsmeu.decode_many(loss, table)
values = fsmeu.expect_many(loss, table > 0.1, table).values
worth = [fsmeu.expect(loss, hypotheses[k], likes[j]).value for k, j in ((2, 0), (0, 1))]
known: fsmeu.Model = model.given(rules[0])
told: list[str] = []
def tell(done: float, note: str) -> None:
    told.append(f"{done:.0%} {note}")
follow: fsmeu.Progress = tell
fsmeu.decode_many(loss, [model], progress=follow)
fsmeu.decode_corpus(loss, [model], progress=follow)
report: fsmeu.Report = fsmeu.check("fscore")
try:
    fsmeu.loads("loss")
except fsmeu.LossFileError as error:
    place: int | None = error.line
except (fsmeu.InputError, fsmeu.EmptyError, fsmeu.SizeLimitError, fsmeu.FstError):
    raise
"""


def test_the_file_of_a_user_runs():
    for name in fsmeu.__all__:
        assert getattr(fsmeu, name) is not None
    assert set(fsmeu.__all__) <= set(dir(fsmeu))
    exec(compile(USER, "user.py", "exec"), {})


@pytest.mark.nightly
def test_the_file_of_a_user_is_typed(tmp_path):
    names = (f"_{k} = fsmeu.{name}" for k, name in enumerate(fsmeu.__all__))
    path = tmp_path / "user.py"
    path.write_text(USER + "\n".join(names) + "\n")
    root = Path(fsmeu.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--strict", str(path)]  # what ./run check knows helps
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr
