"""Compiling pynini's extension modules: in parallel, longest file first, resumable.

The optimisation level is zero: the hot code (composition, shortest distance) lives in OpenFst's
own libraries, and pynini's wrappers are slow to compile and quick to run at any level. So that the
loader does take it from there, the modules export nothing that the libraries hold as well
(exports.map): else the unoptimised code would take its place, and composition 15 times as long.
"""

from __future__ import annotations

import os
import shlex
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import console
import process
from console import SetupFailure
from openfst import WAYS_OUT, OpenFst

# These instantiate the same templates of OpenFst: compiled as one file, they take 105 seconds of
# one core; one by one, 288.
JOINED = (
    "cdrewritescript.cc",
    "optimizescript.cc",
    "lenientlycomposescript.cc",
    "stringmapscript.cc",
    "crossscript.cc",
)
FLAGS = ("-O0", "-pipe", "-std=c++17", "-funsigned-char", "-fPIC", "-w")
# Seconds on one core, to put the longest first; a file that is not here counts as middling.
SECONDS = {
    "joined.cc": 105,
    "_pywrapfst.cpp": 13,
    "_pynini.cpp": 11,
    "concatrangescript.cc": 6,
    "pathsscript.cc": 5,
    "stringprintscript.cc": 3,
    "stringcompilescript.cc": 2,
    "stringcompile.cc": 2,
    "getters.cc": 2,
    "defaults.cc": 2,
    "stringfile.cc": 1,
    "stringutil.cc": 1,
}
_MIDDLING = 30
_HERE = Path(__file__).resolve().parent
_MEMORY_OF_LONGEST = 3.5e9
_MEMORY_OF_OTHERS = 1e9


def find_compiler() -> str:
    """Returns the C++ compiler, having checked that Python's headers are there for it."""
    compiler = process.find_program(os.environ.get("CXX") or "g++", "g++", "c++", "clang++")
    if compiler is None:
        reason = "there is no pynini wheel for this machine, and no C++ compiler (g++) to build one"
        raise SetupFailure(reason, "Install one (Debian, Ubuntu: apt install g++).", WAYS_OUT[0])
    if not (Path(python_headers()) / "Python.h").exists():
        reason = (
            "there is no pynini wheel for this machine, and the headers of this Python "
            f"(Python.h in {python_headers()}) are missing to build one"
        )
        remedy = "Install them (Debian, Ubuntu: apt install python3-dev)."
        raise SetupFailure(reason, remedy, WAYS_OUT[0])
    return compiler


def python_headers() -> str:
    """Returns the directory of Python's C headers."""
    return sysconfig.get_paths()["include"]


def build_extensions(
    source: Path, openfst: OpenFst, links: Sequence[Path], workshop: Path, compiler: str
) -> list[Path]:
    """Compiles and links pynini's two extension modules.

    Args:
        source: pynini's unpacked source.
        openfst: Whose headers to use.
        links: The libraries to link with, as they will travel; their folder goes beside the
            modules, under the same name.
        workshop: Where objects and modules go. Objects already there are not compiled again.
        compiler: The C++ compiler.

    Returns:
        The modules.
    """
    extensions = source / "extensions"
    wrapper, main = extensions / "_pywrapfst.cpp", extensions / "_pynini.cpp"
    if not (wrapper.exists() and main.exists()):
        reason = "pynini's source package lacks the generated C++ of its extension modules"
        raise SetupFailure(reason, *WAYS_OUT)
    helpers = _join(sorted(extensions.glob("*.cc")), workshop)
    objects = _compile_all([wrapper, main, *helpers], source, openfst, workshop, compiler)
    modules = {"_pywrapfst": [wrapper], "_pynini": [main, *helpers]}
    with console.step("linking pynini"):
        return [
            _link(name, [objects[file] for file in files], links, workshop, compiler)
            for name, files in modules.items()
        ]


def _join(files: list[Path], workshop: Path) -> list[Path]:
    """Replaces the files that belong together by one that includes them all."""
    joined = workshop / "joined.cc"
    together = [file for file in files if file.name in JOINED]
    joined.write_text("".join(f'#include "{file.name}"\n' for file in together))
    return [joined, *(file for file in files if file not in together)]


def _compile_all(
    files: list[Path], source: Path, openfst: OpenFst, workshop: Path, compiler: str
) -> dict[Path, Path]:
    objects = {file: workshop / f"{file.name}.o" for file in files}
    missing = sorted((file for file in files if not objects[file].exists()), key=_longest_first)
    includes = [f"-I{path}" for path in (openfst.include, source / "extensions", python_headers())]
    doing = f"compiling pynini, {parallel_jobs()} files at a time"
    with console.step(doing) as shown, ThreadPoolExecutor(parallel_jobs()) as pool:
        running = {
            pool.submit(_compile, [compiler, *FLAGS, *includes], file, objects[file]): file
            for file in missing
        }
        try:
            for done, job in enumerate(as_completed(running), len(files) - len(missing) + 1):
                job.result()
                shown.progress(done, len(files), running[job].name)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            process.stop_all()
            raise
    return objects


def _compile(command: list[str], file: Path, target: Path) -> None:
    # The shell moves the finished object into place, so that the work of a compiler that
    # outlives a killed set-up is not lost; a half-written object never has the final name.
    part = target.with_suffix(f".{os.getpid()}.part")
    compiling = shlex.join([*command, "-c", str(file), "-o", str(part)])
    moving = shlex.join(["mv", "-f", str(part), str(target)])
    process.run(["sh", "-c", f"{compiling} && {moving}"])


def _link(
    name: str, objects: Sequence[Path], links: Sequence[Path], workshop: Path, compiler: str
) -> Path:
    # An old-style run path (DT_RPATH) also serves the libraries that the libraries need, so
    # these are left as they are. The first library must stay although nothing refers to it.
    folder = links[0].parent.name
    module = workshop / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    part = module.with_suffix(".part")
    path = f"-Wl,--disable-new-dtags,-rpath,$ORIGIN/{folder}"
    exports = f"-Wl,--version-script={_HERE / 'exports.map'}"
    flags = [exports, path, "-Wl,--no-as-needed"]
    process.run([compiler, "-shared", "-s", "-o", part, *objects, *flags, *links])
    part.replace(module)
    return module


def _longest_first(file: Path) -> tuple[int, str]:
    return -SECONDS.get(file.name, _MIDDLING), file.name


def parallel_jobs() -> int:
    """Returns how many compilers the processors and the memory bear."""
    try:
        processors = len(os.sched_getaffinity(0))
    except AttributeError:
        processors = os.cpu_count() or 1
    spare = max(0.0, _free_memory() - _MEMORY_OF_LONGEST)
    return int(min(processors, 1 + spare // _MEMORY_OF_OTHERS))


def _free_memory() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    available = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return float(available[0]) * 1024 if available else float("inf")
