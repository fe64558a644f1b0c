"""fsmeu: finite-state maximum expected utility.

A loss over label sequences is a two-tape automaton; its expectation under a label model is a
shortest distance in a composition; the best decision is a query of the same composition.

- ``load``, ``loads``, ``library``, ``function_loss``: losses built in, of a file, a text, Python
- ``evaluate``, ``evaluate_many``, ``evaluate_corpus``: the value of a pair of sequences, of each of
  many, or of a corpus
- ``evaluate_outputs``: the further outputs that a file names beside its value
- ``constraints``: sets of label sequences (``bio``, ...), for ``decode`` and ``model.given``
- ``models``: label models (``Bernoulli``, ``Markov``, ``from_potentials``, ``NBest``, ...)
- ``expect``, ``expect_many``, ``compose``: expectations and the machines behind them
- ``expect_corpus``: the expected value of a corpus, counts summed over its sentences
- ``compile_summed``: a smaller machine, whose paths add up to the value
- ``gradient``, ``value_and_gradient``: derivatives with respect to a model's parameters
- ``decode``, ``decode_many``, ``explain``: the best label sequence, with or without a proof
- ``decode_corpus``: the best label sequences for the value of a corpus, with bounds of it
- ``learning``, ``searn``: estimators, and search-based structured prediction
- ``calibrate``: the temperature of models at which held-out references are most probable
- ``draw``, ``explore``, ``plot_levels``, ``plot_hypotheses``: pictures, pages and plots
- ``to_networkx``, ``from_networkx``, ``to_openfst``, ``from_openfst``: machines for other tools
- ``FsmeuError``: the root of everything raised on purpose
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

# Where modules and other names live, the latter as ``__init__.pyi`` imports them. They are loaded
# when a name is first asked for: a command that only shows help need not load OpenFst.
_ROOMS = {name: f"fsmeu.{name}" for name in ("learning", "models", "searn")}
_ROOMS["constraints"] = "fsmeu.fst.tags"
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_IMPORTS = re.findall(r"^from (fsmeu\.\S+) import (\w+) as \2$", _STUB, re.MULTILINE)
_HOMES = {name: module for module, name in _IMPORTS}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS.keys() | _HOMES.keys():
        raise AttributeError(f"module 'fsmeu' has no attribute {name!r}")  # noqa: EM102
    module = import_module(_ROOMS.get(name) or _HOMES[name])
    globals()[name] = result = module if name in _ROOMS else getattr(module, name)
    return result


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = ["__version__", *_ROOMS, *_HOMES]
