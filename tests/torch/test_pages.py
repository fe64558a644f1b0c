"""The how-to page about PyTorch runs, and the reference page names what the module offers."""

import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest

import fsmeu
from tests.torch.support import torch

import fsmeu.torch  # isort: skip

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import pages  # noqa: E402

BLOCK = re.compile(r"^```py\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def page():
    """The names that the blocks of the page make, and what each prints beside what it shows."""
    text = (ROOT / "docs" / "howto" / "neural.md").read_text(encoding="utf-8")
    names = {}
    printed = []
    for block, shown in BLOCK.findall(text):
        with redirect_stdout(StringIO()) as told:
            exec(compile(block, "neural.md", "exec"), names)
        printed.append((told.getvalue(), shown))
    return SimpleNamespace(names=names, printed=printed)


def test_the_page_runs(page):
    for told, shown in page.printed:
        assert told == shown
    assert sum(bool(shown) for _, shown in page.printed) == 3
    # As a fast tokenizer tells them: None at special tokens, one number for all pieces.
    assert page.names["first_pieces"]([None, 0, 0, 1, 2, 2, 2, None, None]) == [1, 3, 4]
    assert page.names["first_pieces"]([None, None]) == []


def test_a_trainer_is_given_the_expected_score_of_words(page):
    """A stand-in for model and inputs: later pieces do not count, columns are those of id2label."""
    names = page.names
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(2, 5, 3, generator=random)
    labels = torch.tensor([[-100, 0, -100, 1, 2], [-100, 2, 0, -100, -100]])

    def model(tokens):
        return SimpleNamespace(logits=tokens)

    loss, outputs = names["compute_loss"](
        None, model, {"tokens": logits, "labels": labels}, return_outputs=True
    )
    assert outputs.logits is logits
    values = []
    for row, tags in zip(logits.double(), labels, strict=True):
        inside = tags >= 0
        tagged = [names["id2label"][k] for k in tags[inside].tolist()]
        of_words = fsmeu.models.from_logits(row[inside], names["id2label"])
        measure = fsmeu.load("chunk_fscore", labels=of_words.labels).swapped
        values.append(fsmeu.expect(measure, tagged, of_words).value)
    assert float(loss) == pytest.approx(-sum(values) / 2, abs=1e-6)


def test_the_reference_page_has_all_names():
    homes = [f"fsmeu.torch.{name}" for name in pages._TORCH]
    assert sorted(home.rsplit(".", 1)[1] for home in homes) == sorted(fsmeu.torch.__all__)
    for home in homes:
        module, name = home.rsplit(".", 1)
        assert getattr(sys.modules[module], name) is getattr(fsmeu.torch, name)
