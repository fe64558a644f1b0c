"""Neural models: exact expected values as a layer, and decisions for batches, with PyTorch.

- ``ExpectedScore``: the expectation over a model's labels of a loss against given tags, with exact
  derivatives
- ``decode``: the best labels for a batch of scores, ``Decisions``
- ``Plan``: what follows from given tags, made once

PyTorch comes with the extra ``torch``. The modules ``tables``, ``lanes``, ``plan``, ``sweep``,
``closed``, ``core`` and ``rows`` need PyTorch and numpy alone: with tables and plans that were
saved, they run where the rest of the toolkit is not installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fsmeu.errors import need_installed

if TYPE_CHECKING:
    from fsmeu.torch.decisions import decode as decode
    from fsmeu.torch.layer import ExpectedScore as ExpectedScore
    from fsmeu.torch.plan import Plan as Plan
    from fsmeu.torch.rows import Decisions as Decisions

need_installed("torch", "torch", "fsmeu.torch")

_HOMES = {
    "Decisions": "fsmeu.torch.rows",
    "ExpectedScore": "fsmeu.torch.layer",
    "Plan": "fsmeu.torch.plan",
    "decode": "fsmeu.torch.decisions",
}
__all__ = ["Decisions", "ExpectedScore", "Plan", "decode"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fsmeu.torch' has no attribute {name!r}")
    globals()[name] = result = getattr(import_module(_HOMES[name]), name)
    return result
