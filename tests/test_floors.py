"""The house keeps its floors: imports go downwards, only fst/ touches pynini, files stay small."""

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.support.sources import nodes

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FILE = 500
ENGINE = {"pynini", "pywrapfst", "_pynini", "_pywrapfst"}
# The package itself ("") gathers what the floors below it offer; the command line is the door.
LEVELS = [
    "arrays cache display endings errors jit limits",
    "bootstrap files fst parallel progress twofold",
    "constraints losses models",
    "trellis",
    "expectation",
    "decoding",
    "learning checking testing torch",
    "searn corpora",
    "exchange",
    "drawing",
    "",
    "cli",
    "__main__",
]
FLOORS = {name: level for level, names in enumerate(LEVELS) for name in names.split(" ")}
# The one module that imports from floors above, within its methods only.
LAZY = "fsmeu.display"
# The stages within a floor, in the order of the data flow; modules beside these rooms come last.
STAGES = {
    "losses": ["language", "semantics", "algebra", "machine"],
    "drawing": [
        *("frame", "subject", "lines", "layout", "picture", "formats", "schemes", "text", "plots"),
    ],
}


def room_of(module):
    """The package of the house that a dotted module name belongs to."""
    return [*module.split("."), ""][1]


def stage_of(module):
    """The place of a module among the stages of its floor."""
    stages, name = STAGES.get(room_of(module), []), [*module.split("."), "", ""][2]
    return stages.index(name) if name in stages else len(stages)


def imported_modules(path, lazy):
    """Every module that a source imports; if lazy, only those that loading it imports."""
    found = []
    for node in nodes(path)[0].body if lazy else nodes(path):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            # `from fsmeu import fst` imports a room; `from fsmeu.fst import compose` names one.
            names = [f"fsmeu.{alias.name}" for alias in node.names if alias.name in FLOORS]
            found += names if base == "fsmeu" and len(names) == len(node.names) else [base]
    return found


def violations(module, path):
    """What a module of the house imports although it must not."""
    room = room_of(module)
    found = [] if room in FLOORS else [f"{module} has no floor"]
    for name in imported_modules(path, module == LAZY):
        if name.startswith("."):
            found.append(f"relative import of {name}")
        elif name.split(".")[0] in ENGINE and room != "fst":
            found.append(f"{name} outside fsmeu/fst")
        elif name.split(".")[0] == "fsmeu" and room_of(name) != room:
            if room_of(name) not in FLOORS:
                found.append(f"{name} has no floor")
            elif FLOORS[room_of(name)] >= FLOORS.get(room, 0):
                found.append(f"{name} is not below {room or 'the package'}")
        elif name.split(".")[0] == "fsmeu" and stage_of(name) > stage_of(module):
            found.append(f"{name} is a later stage than {module}")
    return found


def test_modules_import_from_floors_below():
    """No module reaches up, sideways into another package, to a later stage, or around fst/."""
    found = {}
    for file in (ROOT / "fsmeu").rglob("*.py"):
        parts = file.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = violations(name, file)
    assert {name: faults for name, faults in found.items() if faults} == {}


def test_what_is_imported_is_required():
    """What a module imports when it is loaded, also if another package brings it along."""
    imported = set()
    for file in (ROOT / "fsmeu").rglob("*.py"):
        names = imported_modules(file, True)
        imported |= {name.split(".")[0] for name in names}
    imported -= {*sys.stdlib_module_names, "fsmeu", *ENGINE}
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    required = {name.lower() for name in re.findall(r'"([\w-]+)[<>=]=', text)}
    packages = packages_distributions()
    missing = {x for x in imported & packages.keys() if packages[x][0].lower() not in required}
    assert missing == set()


def test_files_are_short():
    folders = ("fsmeu", "tools", "tests")
    files = [ROOT / "run", *(file for one in folders for file in (ROOT / one).rglob("*.py"))]
    lines = {str(file): file.read_text(encoding="utf-8").count("\n") for file in files}
    assert {file: count for file, count in lines.items() if count > LONGEST_FILE} == {}


IMPORTS = [
    ("fsmeu.fst.a", "import fsmeu.losses.b", "fsmeu.losses.b is not below fst"),
    ("fsmeu.losses.a", "from fsmeu.models import b", "fsmeu.models is not below losses"),
    ("fsmeu.losses.a", "from fsmeu import models", "fsmeu.models is not below losses"),
    ("fsmeu.losses.a", "from fsmeu import load", "fsmeu is not below losses"),
    ("fsmeu.losses.machine.a", "import fsmeu.losses.loss", "fsmeu.losses.loss is a later stage"),
    ("fsmeu.models.a", "def f():\n import pynini.lib", "pynini.lib outside fsmeu/fst"),
    ("fsmeu.models.a", "from . import b", "relative import of ."),
    ("fsmeu.cli.a", "import fsmeu.attic", "fsmeu.attic has no floor"),
    ("fsmeu.display", "import fsmeu.drawing.a", "fsmeu.drawing.a is not below display"),
]


@pytest.mark.parametrize(("module", "source", "fault"), IMPORTS)
def test_faults_are_found(module, source, fault, tmp_path):
    fault = f"{fault} than {module}" if fault.endswith("stage") else fault
    path = tmp_path / "module.py"
    path.write_text(source)
    assert violations(module, path) == [fault]


@pytest.mark.nightly
def test_packages_are_attributes_in_a_fresh_process():
    """As the README writes them: nothing but fsmeu is imported by hand."""
    text = "import fsmeu; print(fsmeu.searn.CostOracle.__name__, fsmeu.learning.load.__name__)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("CostOracle load\n", "")


# What tests import from the packages of the core: the rest is asked through the public interface,
# so that a test survives another design behind it.
CORE = ("fsmeu.trellis", "fsmeu.expectation", "fsmeu.decoding")
OF_THE_CORE = {
    # names that methods and engines are asked by, and how they refuse
    "decoding.choice.METHODS",
    "decoding.choice.EXACT",
    "decoding.explicit.EXPLICIT",
    "decoding.problem.RefusalError",
    "decoding.decision.PRECISION",
    "expectation.expect.ENGINES",
}


def core_imports(path):
    """What a test imports from the core, as ``trellis.rules.rule_for``."""
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(CORE):
            for alias in node.names:
                yield f"{node.module}.{alias.name}".removeprefix("fsmeu.")


def test_tests_ask_the_core_through_the_public_interface():
    paths = [path for path in (ROOT / "tests").rglob("*.py") if "benchmarks" not in path.parts]
    used = {name: path.name for path in paths for name in core_imports(path)}
    listed = {name: {name, name.rpartition(".")[0]} & OF_THE_CORE for name in used}
    assert {name: used[name] for name in used if not listed[name]} == {}
    assert set().union(*listed.values()) == OF_THE_CORE  # what is listed is used
    patched = re.compile(r"setattr\(.fsmeu\.(trellis|expectation|decoding)")
    assert [path.name for path in paths if patched.search(path.read_text())] == []
