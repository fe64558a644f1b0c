"""A wheel of pynini for this machine: the index's, or one that is built once and kept.

Built with optimisation level zero: the hot code (composition, shortest distance) lives in OpenFst's
own libraries, and pynini's wrappers are slow to compile and quick to run at any level. So that the
loader does take it from there, the modules export nothing that the libraries hold as well
(exports.map): else the unoptimised code would take its place, and composition 15 times as long.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import sysconfig
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import console
import environment
import openfst
import process
from console import SetupFailure
from environment import BUILD
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
LONGEST_FIRST = ("joined.cc", "_pywrapfst.cpp", "_pynini.cpp", "concatrangescript.cc")
_MEMORY_OF_LONGEST = 3.5e9
_MEMORY_OF_OTHERS = 1e9
_SUFFIXES = (".py", ".pyi", ".typed")
_HERE = Path(__file__).resolve().parent
_HEADERS = sysconfig.get_paths()["include"]
# Composes a -> b with b -> c, reads the answer back, and lists where OpenFst was loaded from.
_PROOF = """\
import sys
sys.path.insert(0, sys.argv[1])
import pynini
answer = pynini.compose(pynini.cross("a", "b"), pynini.cross("b", "c"))
pairs = list(answer.paths().items())
assert [(i, o) for i, o, _ in pairs] == [("a", "c")], pairs
for line in open("/proc/self/maps"):
    path = line.rstrip().split(maxsplit=5)[-1]
    assert "libfst" not in path or path.startswith(sys.argv[1] + "/"), path
"""


def cache_directory() -> Path:
    """Returns the directory that outlives any one copy of the project."""
    if given := os.environ.get("FSMEU_CACHE"):
        return Path(given).expanduser().absolute()
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():  # its standard has relative ones ignored
        return base / "fsmeu"
    try:
        return Path.home() / ".cache" / "fsmeu"
    except RuntimeError as error:
        reason = "this user has no home directory to keep pynini in"
        raise SetupFailure(reason, "Set FSMEU_CACHE to a directory that you can write.") from error


def wheel_tag() -> str:
    """Returns the compatibility tag of a wheel built by and for this Python."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}{sys.abiflags}-{machine}"


def machine_key() -> str:
    """Returns the name of the kind of machine that a wheel is good for."""
    glibc = openfst.glibc_version()
    library = f"glibc{glibc[0]}.{glibc[1]}" if glibc else platform.libc_ver()[0] or "libc"
    return f"{wheel_tag()}-{library}"


def pinned_version(pyproject: str) -> str:
    """Returns the version of pynini that the project's dependencies name."""
    match = re.search(r'"pynini==(?P<version>[0-9.]+)["; ]', pyproject)
    if match is None:
        reason = 'pyproject.toml does not pin pynini as "pynini==VERSION"'
        raise SetupFailure(reason)
    return match["version"]


def provide(version: str, python: Path) -> Path:
    """Makes sure that there is a pynini wheel for this machine.

    Args:
        version: The version of pynini.
        python: An interpreter that has pip and uv.

    Returns:
        The directory that holds the wheel, for --find-links of pip or uv.
    """
    cache = cache_directory()
    home = cache / "wheels" / machine_key()
    if find(home, version):
        return home
    workshop = cache / "build" / f"pynini-{version}-{BUILD}-{machine_key()}"
    with (
        console.guard("making pynini"),
        process.exclusive(cache / f"{machine_key()}.pynini.lock", "making pynini"),
    ):
        if not find(home, version):
            home.mkdir(parents=True, exist_ok=True)
            workshop.mkdir(parents=True, exist_ok=True)
            made = _fetch_or_build(version, python, workshop)
            made.replace(home / made.name)
            shutil.rmtree(workshop)
    return home


def find(home: Path, version: str) -> Path | None:
    """Returns the sound wheel of this version in `home`; throws out a damaged one."""
    built, fetched = f"pynini-{version}-{BUILD}-*.whl", f"pynini-{version}-cp*.whl"
    for candidate in [*home.glob(built), *home.glob(fetched)]:
        try:
            with zipfile.ZipFile(candidate) as archive:
                if archive.testzip() is None:
                    return candidate
        except (zipfile.BadZipFile, zlib.error, EOFError):
            pass
        candidate.unlink()
    return None


def _fetch_or_build(version: str, python: Path, workshop: Path) -> Path:
    found = _download(version, python, workshop / "download")
    if found.suffix == ".whl":
        return found
    is_linux = sys.platform.startswith("linux") and openfst.glibc_version() is not None
    if not (is_linux and sys.byteorder == "little" and sys.maxsize > 2**32):
        reason = f"PyPI has no pynini {version} wheel for this machine ({machine_key()})"
        raise SetupFailure(reason, WAYS_OUT[0])
    return _build(version, found, python, workshop)


def _download(version: str, python: Path, directory: Path) -> Path:
    """Lets pip fetch the wheel or, where the index has none, the source."""
    kept = directory / f"pynini-{version}.tar.gz"
    if kept.exists():
        return kept
    shutil.rmtree(directory, ignore_errors=True)
    part = directory.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    with console.step(f"looking for pynini {version}"):
        options = ["--no-deps", "--prefer-binary", "--dest", str(part)]
        process.run([str(python), "-m", "pip", "download", *options, f"pynini=={version}"])
    part.replace(directory)
    return next(iter(directory.iterdir()))


def _build(version: str, sdist: Path, python: Path, workshop: Path) -> Path:
    compiler = find_compiler()
    print(
        f"[set-up] there is no pynini wheel for this machine: building one, once, in {workshop} "
        "(about two minutes on two cores)",
        file=sys.stderr,
    )
    fst = openfst.provide(workshop)
    carried = workshop / "pynini.libs"
    links = openfst.gather_libraries(fst, carried, compiler)
    source = _unpack(sdist, workshop / "source") / f"pynini-{version}"
    modules = build_extensions(source, fst, links, workshop, compiler)
    tree = collect(source, version, modules, carried, fst, workshop / "wheel")
    with console.step("packing pynini's wheel"):
        words = ["tool", "run", "wheel", "pack", str(tree), "--dest-dir", str(workshop)]
        environment.run_uv(python, [*words, "--build-number", BUILD])
    prove(tree, fst)
    return next(workshop.glob("pynini-*.whl"))


def _unpack(sdist: Path, directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    try:
        with tarfile.open(sdist) as archive:
            if hasattr(tarfile, "data_filter"):
                archive.extractall(directory, filter="data")
            else:
                archive.extractall(directory)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        sdist.unlink()
        reason = f"the download of {sdist.name} is damaged"
        raise SetupFailure(reason, "Call again: it is fetched anew.") from error
    return directory


def find_compiler() -> str:
    """Returns the C++ compiler, having checked that Python's headers are there for it."""
    compiler = process.find_program(os.environ.get("CXX") or "g++", "g++", "c++", "clang++")
    if compiler is None:
        reason = "there is no pynini wheel for this machine, and no C++ compiler (g++) to build one"
        raise SetupFailure(reason, "Install one (Debian, Ubuntu: apt install g++).", WAYS_OUT[0])
    if not (Path(_HEADERS) / "Python.h").exists():
        reason = (
            "there is no pynini wheel for this machine, and the headers of this Python "
            f"(Python.h in {_HEADERS}) are missing to build one"
        )
        remedy = "Install them (Debian, Ubuntu: apt install python3-dev)."
        raise SetupFailure(reason, remedy, WAYS_OUT[0])
    return compiler


def build_extensions(
    source: Path, fst: OpenFst, links: Sequence[Path], workshop: Path, compiler: str
) -> list[Path]:
    """Compiles and links pynini's two extension modules, several files at a time.

    Args:
        source: pynini's unpacked source.
        fst: Whose headers to use.
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
    joined = workshop / "joined.cc"
    joined.write_text("".join(f'#include "{name}"\n' for name in JOINED))
    alone = [file for file in sorted(extensions.glob("*.cc")) if file.name not in JOINED]
    includes = [f"-I{path}" for path in (fst.include, extensions, _HEADERS)]
    objects = _compile([wrapper, main, joined, *alone], [compiler, *FLAGS, *includes], workshop)
    with console.step("linking pynini"):
        return [
            _link("_pywrapfst", [objects.pop(wrapper)], links, workshop, compiler),
            _link("_pynini", list(objects.values()), links, workshop, compiler),
        ]


def _compile(files: list[Path], command: list[str], workshop: Path) -> dict[Path, Path]:
    """Compiles each file to an object in the workshop, the longest first."""
    objects = {file: workshop / f"{file.name}.o" for file in files}
    missing = [file for file in files if not objects[file].exists()]
    missing.sort(key=lambda file: (file.name not in LONGEST_FIRST, file.name != "joined.cc"))
    jobs = parallel_jobs()

    def compile_one(file: Path) -> str:
        part = objects[file].with_suffix(".part")
        process.run([*command, "-c", file, "-o", part])
        part.replace(objects[file])
        return file.name

    with (
        console.step(f"compiling pynini, {jobs} files at a time") as shown,
        ThreadPoolExecutor(jobs) as pool,
    ):
        running = [pool.submit(compile_one, file) for file in missing]
        try:
            for done, job in enumerate(as_completed(running), len(files) - len(missing) + 1):
                shown.progress(done, len(files), job.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            process.stop_all()
            raise
    return objects


def _link(
    name: str, objects: Sequence[Path], links: Sequence[Path], workshop: Path, compiler: str
) -> Path:
    # An old-style run path (DT_RPATH) also serves the libraries that the libraries need, so
    # these are left as they are. The first library must stay although nothing refers to it.
    module = workshop / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
    path = f"-Wl,--disable-new-dtags,-rpath,$ORIGIN/{links[0].parent.name}"
    exports = f"-Wl,--version-script={_HERE / 'exports.map'}"
    flags = [exports, path, "-Wl,--no-as-needed"]
    process.run([compiler, "-shared", "-s", "-o", module, *objects, *flags, *links])
    return module


def parallel_jobs() -> int:
    """Returns how many compilers the processors and the memory bear."""
    spare = max(0.0, _free_memory() - _MEMORY_OF_LONGEST)
    return int(min(len(os.sched_getaffinity(0)), 1 + spare // _MEMORY_OF_OTHERS))


def _free_memory() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    available = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return float(available[0]) * 1024 if available else float("inf")


def collect(
    source: Path, version: str, modules: Sequence[Path], carried: Path, fst: OpenFst, tree: Path
) -> Path:
    """Returns `tree`, filled with what the wheel holds, for `wheel pack`.

    Args:
        source: pynini's unpacked source.
        version: Its version.
        modules: The extension modules.
        carried: The folder of libraries that travels beside them.
        fst: Whose licence goes along.
        tree: A directory; emptied first.
    """
    shutil.rmtree(tree, ignore_errors=True)
    info = tree / f"pynini-{version}.dist-info"
    (info / "licenses").mkdir(parents=True)
    for package in ("pynini", "pywrapfst"):
        for file in (source / package).rglob("*"):
            if file.suffix in _SUFFIXES:
                target = tree / file.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, target)
    for module in modules:
        shutil.copy(module, tree)
    shutil.copytree(carried, tree / carried.name)
    shutil.copyfile(source / "PKG-INFO", info / "METADATA")
    for licence in ("LICENSE", "AUTHORS"):
        shutil.copyfile(source / licence, info / "licenses" / licence)
    if fst.copyright is not None:
        shutil.copyfile(fst.copyright, info / "licenses" / "OpenFst-copyright")
    kind = "Wheel-Version: 1.0\nGenerator: fsmeu\nRoot-Is-Purelib: false\n"
    (info / "WHEEL").write_text(f"{kind}Tag: {wheel_tag()}\n")
    return tree


def prove(tree: Path, fst: OpenFst) -> None:
    """Imports and uses the unpacked wheel, without the OpenFst that it was built with.

    Raises:
        SetupFailure: It does not import, does not compute, or loads OpenFst from elsewhere.
    """
    away = fst.prefix.with_suffix(".away") if fst.prefix else None
    with console.step("trying the new pynini"):
        if fst.prefix and away:
            shutil.rmtree(away, ignore_errors=True)
            fst.prefix.replace(away)
        try:
            process.run([sys.executable, "-I", "-c", _PROOF, tree.resolve()], cwd=tree)
        except process.ProgramFailed as failure:
            reason = "the pynini that was built does not work"
            details = "The last lines it wrote:\n" + process.last_lines(failure.output)
            raise SetupFailure(reason, details, *WAYS_OUT) from failure
        finally:
            if fst.prefix and away:
                away.replace(fst.prefix)
