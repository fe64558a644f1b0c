"""Pages that the documentation generates when it is built: losses, API, commands, notebooks.

mkdocs calls ``on_files`` and ``on_page_markdown``. README, CHANGELOG and other texts of the sources
(``PAGES``) become pages, too, and links of any page into the sources lead to copies of the files in
the site.

Notebooks become Markdown here and not through mkdocs-jupyter (0.26), whose pages leave formulas to
MathJax and load scripts from elsewhere even where another address of MathJax is given. A page has
JupyterLab's styles (a megabyte) in place of the theme's, and its links are not checked.
"""

from __future__ import annotations

import ast
import base64
import inspect
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "notebooks/README.md": "notebooks/index.md",
    "experiments/README.md": "experiments.md",
}
LINK = re.compile(r"(?P<open>\]\(|src=\")(?P<path>[^)\s:#\"]+)(?P<rest>(?:#[^)\s\"]*)?[)\"])")
_MATH = re.compile(
    r"(?P<code>```.*?```|`[^`]*`)|\$\$(?P<block>.+?)\$\$|(?<![\w\\])\$(?P<inline>[^$\n]+)\$(?!\w)",
    re.DOTALL,
)
_MODULES = ("constraints", "models", "learning", "searn", "testing")
_GROUPS = {f"api/{name}.md": name for name in _MODULES}
_KINDS = ("api/index.md", "api/results.md", "api/errors.md")
MADE = ("losses.md", "commands.md", "api/torch.md", *_KINDS, *_GROUPS)
"""Pages that are made of the package; their links are as they are in the site."""
_TORCH = ("layer.ExpectedScore", "decisions.decode", "rows.Decisions", "plan.Plan")
"""The names of ``fsmeu.torch``, which is read and not imported: PyTorch need not be installed."""
_SHORT = 2
"""Positions of a machine that is drawn, unless a loss is best seen with more."""
_PARAMETERS: dict[str, dict[str, Any]] = {
    "pk": {"k": 2},
    "windowdiff": {"k": 2},
    "weighted_windows": {"k": 2},
    "cost_matrix": {"cost": [[0, 1], [2, 0]]},
}
"""Parameters that make a picture easy to read; others are those of the examples of a file."""


def generated() -> dict[str, str | bytes]:
    """The generated files of the site by their paths in it, texts or pictures."""
    made: dict[str, str | bytes] = {
        page: (ROOT / name).read_text(encoding="utf-8") for name, page in PAGES.items()
    }
    made.update(loss_pages())
    made.update(api_pages())
    made["commands.md"] = command_page()
    made.update(notebook_pages())
    return made


def loss_pages() -> Iterator[tuple[str, str | bytes]]:
    """The page of the built-in losses, and a picture of each."""
    import fsmeu

    parts = [
        "# The built-in losses\n",
        "Each is a file that you can read, copy and change. A picture shows the machine for "
        f"{_SHORT} positions: an arc `0:1` reads 0 in the hypothesis and 1 in the reference, "
        "and the number in a final state is the value.\n",
    ]
    for name in fsmeu.library():
        source = (ROOT / "grammars" / f"{name}.loss").read_text(encoding="utf-8")
        parts.append(f"## {name}\n")
        picture = _picture(name)
        if picture:
            yield f"images/losses/{name}.svg", picture
            image = f"![The automaton of {name}](images/losses/{name}.svg)"
            parts.append(f'<div class="picture" markdown>{image}</div>\n')
        parts.append(f"```loss\n{source.strip()}\n```\n")
    yield "losses.md", "\n".join(parts)


def _picture(name: str) -> bytes:
    """The machine of a loss as an SVG file, or b"" where it is too large to be looked at."""
    import fsmeu
    from fsmeu.checking.report import loss_to_measure
    from fsmeu.losses.loss import read_spec

    spec, given = read_spec(name), _PARAMETERS.get(name, {})
    labels = ["O", "B-NP", "I-NP"] if spec.scheme == "bio" else ["a", "b"]
    fixed = spec.labels is not None or spec.scheme not in ("", "bio")
    try:
        loss, _ = loss_to_measure(spec, given, None if fixed else labels)
        machine = loss.compile(_SHORT)
    except fsmeu.FsmeuError:
        return b""
    return fsmeu.draw(loss, n=_SHORT).render("svg") if machine.states <= 40 else b""


def api_pages() -> Iterator[tuple[str, str]]:
    """Reference pages, one line for each name; mkdocstrings reads the docstrings."""
    import fsmeu

    names = api_names()
    for page, group in _GROUPS.items():
        module = getattr(fsmeu, group)
        yield page, _api(module.__name__, module.__doc__ or "", names[page])
    yield "api/index.md", _api("fsmeu", fsmeu.__doc__ or "", names["api/index.md"])
    text = "What functions return, and the classes behind it that hold what several have in common."
    yield "api/results.md", _api("Results", text, names["api/results.md"])
    text = inspect.getdoc(sys.modules["fsmeu.errors"]) or ""
    yield "api/errors.md", _api("Errors", text, names["api/errors.md"])
    source = (ROOT / "fsmeu" / "torch" / "__init__.py").read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    yield (
        "api/torch.md",
        _api("fsmeu.torch", text, {name: f"fsmeu.torch.{name}" for name in _TORCH}),
    )


def api_names() -> dict[str, dict[str, str]]:
    """The names on each page of the reference with their dotted paths; each is on one page."""
    import fsmeu

    pages: dict[str, dict[str, str]] = {}
    for page, group in _GROUPS.items():
        module = getattr(fsmeu, group)
        homes = {name: _home(getattr(module, name)) for name in module.__all__}
        pages[page] = {name: home for name, home in homes.items() if home.startswith("fsmeu.")}
    elsewhere = {home for names in pages.values() for home in names.values()}
    homes = {name: f"{home}.{name}" for name, home in fsmeu._HOMES.items()}
    own = {name: home for name, home in homes.items() if home not in elsewhere}
    errors = {name for name in own if _is_error(getattr(fsmeu, name))}
    functions = [getattr(fsmeu, name) for name in own]
    for group in _GROUPS.values():
        module = getattr(fsmeu, group)
        functions += [getattr(module, name) for name in module.__all__]
    classes = [one for function in functions for one in returned(function)]
    results = {one.__name__: _home(one) for one in classes if _home(one) not in elsewhere}
    pages["api/results.md"] = results
    pages["api/errors.md"] = {name: own[name] for name in errors}
    pages["api/index.md"] = {
        name: home for name, home in own.items() if name not in errors and name not in results
    }
    return pages


def returned(function: Any) -> list[type]:
    """The classes of results that a function returns, and those that they are made from."""
    if not inspect.isfunction(function):
        return []
    names = re.findall(r"\w+", str(inspect.signature(function).return_annotation))
    known = vars(sys.modules[function.__module__])
    classes = [known[name] for name in names if isinstance(known.get(name), type)]
    every = [one for found in classes for one in found.__mro__]
    return [one for one in dict.fromkeys(every) if _is_result(one)]


def _is_result(one: type) -> bool:
    """Whether a class is one of fsmeu that is shown as a result: losses are shown as ``Loss``."""
    import fsmeu

    ours = one.__module__.startswith("fsmeu.") and not one.__name__.startswith("_")
    is_loss = issubclass(one, fsmeu.Loss) or issubclass(fsmeu.Loss, one)
    return ours and not is_loss and one.__module__ != "fsmeu.display"


def _is_error(one: Any) -> bool:
    return isinstance(one, type) and issubclass(one, Exception)


def _home(one: Any) -> str:
    """The dotted path of a class or function; of other things, something else."""
    return f"{getattr(one, '__module__', '')}.{getattr(one, '__name__', '')}"


def _api(title: str, text: str, homes: dict[str, str]) -> str:
    from fsmeu.losses.protocol import SHOWN_NAMES

    blocks = [f"# {title}\n", text.strip() + "\n"]
    for name, home in sorted(homes.items()):
        shown = f"    options:\n      members: [{', '.join(SHOWN_NAMES)}]\n"
        blocks.append(f"::: {home}\n{shown if name == 'Loss' else ''}")
    return "\n".join(blocks)


def command_page() -> str:
    """The page of the command line: usage, text and options of each command."""
    import typer

    from fsmeu.cli.main import COMMANDS, app

    group = typer.main.get_command(app)
    parts = [
        "# The command line\n",
        "`fsmeu` after an installation, `./run fsmeu` in a copy of the sources. "
        "`fsmeu COMMAND --help` shows the same in the terminal.\n",
    ]
    for name, listed in COMMANDS.items():
        command = group.commands[name].make_context(name, [], resilient_parsing=True).command  # type: ignore[attr-defined]
        shown = [one for one in command.params if not getattr(one, "hidden", False)]
        shown.sort(key=lambda one: not _is_argument(one))
        words = [str(one.metavar) for one in shown if _is_argument(one)]
        parts += [f"## {name}\n", f"```text\nfsmeu {' '.join([name, *words, '[OPTIONS]'])}\n```\n"]
        parts.append(f"{command.help or listed.summary}\n")
        parts.append("| argument or option | what it is |\n|---|---|")
        parts += [_row(one) for one in shown]
        parts += ["", "```console", *(f"$ {example}" for example in listed.examples), "```\n"]
    return "\n".join(parts)


def _is_argument(one: Any) -> bool:
    return bool(one.param_type_name == "argument")


def _row(one: Any) -> str:
    names = one.metavar if _is_argument(one) else " ".join([*one.opts, one.metavar or ""]).strip()
    text = " ".join((one.help or "").split())
    default = one.show_default if isinstance(one.show_default, str) else one.default
    if default not in (None, False, "", ()) and one.show_default:
        text += f" Default: {default}."
    cells = [f"`{names}`".replace("|", "\\|"), text.replace("|", "\\|").replace("<", "&lt;")]
    return f"| {' | '.join(cells)} |"


def notebook_pages() -> Iterator[tuple[str, str | bytes]]:
    """A page for each notebook, with its outputs."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        parts: list[str] = []
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                parts.append(_MATH.sub(_mathml, source))
            elif cell["cell_type"] == "code" and not _is_test(cell):
                parts.append(f"```python\n{source}\n```")
                for place, output in enumerate(cell["outputs"]):
                    picture, text = _output(output)
                    if picture:
                        name = f"{path.stem}/{number}_{place}.{picture[0]}"
                        yield f"notebooks/{name}", picture[1]
                        text = f"![Output of the cell]({name})"
                    parts.append(text)
        yield f"notebooks/{path.stem}.md", "\n\n".join(part for part in parts if part)


def _is_test(cell: dict[str, Any]) -> bool:
    """Whether a cell holds what must be true of others, which is no part of a page."""
    return "test" in cell["metadata"].get("tags", ())


def _mathml(match: re.Match[str]) -> str:
    """A formula of LaTeX as MathML, which browsers draw by themselves; code stays as it is."""
    from latex2mathml.converter import convert

    if match["code"]:
        return match[0]
    text = (match["block"] or match["inline"]).replace(r"\arg", r"\operatorname{arg}")
    if match["inline"]:
        return convert(text.strip())
    return f'\n\n<div class="formula">{convert(text.strip(), display="block")}</div>\n\n'


def _output(output: dict[str, Any]) -> tuple[tuple[str, bytes] | None, str]:
    """A picture with its format, or the text, of an output of a notebook's cell."""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return ("svg", "".join(data["image/svg+xml"]).encode()), ""
    if "image/png" in data:
        return ("png", base64.b64decode("".join(data["image/png"]))), ""
    if "text/markdown" in data:
        return None, "".join(data["text/markdown"])
    if "text/html" in data:
        return None, "".join(data["text/html"])
    text = "".join(data.get("text/plain", output.get("text", "")))
    return None, f"```text\n{text.rstrip()}\n```" if text.strip() else ""


def site_path(file: Path) -> str:
    """The path in the site of a file of the project."""
    name = file.relative_to(ROOT).as_posix()
    for text in (name, f"{name}/README.md"):
        if text in PAGES:
            return PAGES[text]
    if name == "grammars":
        return "losses.md"
    if file.suffix == ".ipynb":
        return str(Path(name).with_suffix(".md"))
    return file.relative_to(DOCS).as_posix() if file.is_relative_to(DOCS) else f"source/{name}"


def relinked(page: str, text: str) -> tuple[str, set[Path]]:
    """The text of a page with links as they are in the site, and the sources that it links to."""
    origin = {site: name for name, site in PAGES.items()}.get(page)
    if origin is None and page.startswith("notebooks/"):
        origin = page
    folder = (ROOT / origin if origin else DOCS / page).parent
    sources: set[Path] = set()

    def relink(match: re.Match[str]) -> str:
        file = Path(os.path.normpath(folder / match["path"]))
        if not file.is_relative_to(ROOT):
            return match[0]
        place = site_path(file)
        if place.startswith("source/"):
            if not file.is_file():
                return match[0]
            sources.add(file)
        back = os.path.relpath(place, Path(page).parent)
        return f"{match['open']}{back}{match['rest']}"

    return LINK.sub(relink, text), sources


def on_files(files: Any, config: Any) -> Any:
    """Adds the generated pages and the sources that pages link to."""
    from mkdocs.structure.files import File

    made = generated()
    texts = {page: text for page, text in made.items() if isinstance(text, str)}
    for file in files.documentation_pages():
        texts[file.src_uri] = file.content_string
    for file in {one for page, text in texts.items() for one in relinked(page, text)[1]}:
        made[site_path(file)] = file.read_bytes()
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Sets the links of a page."""
    name = page.file.src_uri
    return markdown if name in MADE else relinked(name, markdown)[0]
