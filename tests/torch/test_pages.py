"""The how-to page about PyTorch runs, and the reference page names what the module offers."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

from tests.torch.support import torch

import fsmeu.torch  # isort: skip

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
import pages  # noqa: E402


def test_the_page_runs():
    text = (ROOT / "docs" / "howto" / "neural.md").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"^```py\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(compile(block, "neural.md", "exec"), names)
    assert names["logits"].grad.abs().sum() > 0
    assert names["transitions"].grad.abs().sum() > 0
    assert len(names["tags"]) == 4
    labels = torch.tensor([[1, 2, 0, -100]])

    def model(tokens):
        return SimpleNamespace(logits=tokens)

    inputs = {"tokens": torch.zeros(1, 4, 5), "labels": labels}
    assert -1 <= float(names["compute_loss"](model, inputs)) < 0


def test_the_reference_page_has_all_names():
    homes = [f"fsmeu.torch.{name}" for name in pages._TORCH]
    assert sorted(home.rsplit(".", 1)[1] for home in homes) == sorted(fsmeu.torch.__all__)
    for home in homes:
        module, name = home.rsplit(".", 1)
        assert getattr(sys.modules[module], name) is getattr(fsmeu.torch, name)
