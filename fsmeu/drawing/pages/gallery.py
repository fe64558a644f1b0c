"""A page of losses: definition, use, picture, properties and growth of each."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files

from fsmeu.checking.applies import Applies
from fsmeu.checking.facts import facts, measured_with, selected_sizes
from fsmeu.checking.growth import Growth, Order
from fsmeu.drawing.draw import Drawing
from fsmeu.drawing.pages.exhibits import Exhibit
from fsmeu.drawing.pages.thumbnail import thumbnail
from fsmeu.drawing.pages.usage import usage
from fsmeu.drawing.scene.escape import xml_attribute, xml_text
from fsmeu.losses.language.messages import WORDS

__all__ = ["gallery_page"]

_GROUPS = {
    "table": "Counts of the confusion table",
    "chunks": "Chunks of tags",
    "sequences": "Positions, windows and states",
}
_TOKEN = re.compile(
    rf'(?P<comment>#.*)|(?P<text>"[^"]*")|(?P<word>\b(?:{"|".join(WORDS)})\b)'
    r"|(?P<number>\b\d+(?:\.\d+)?\b)"
)


def gallery_page(exhibits: Sequence[Exhibit], title: str = "Losses and utilities") -> str:
    """The whole page: one file that needs no network.

    Args:
        exhibits: what is shown, as ``anchored`` gives it; pages to explore are linked by ``file``.
        title: its heading.
    """
    style, script = _part("gallery.css"), _part("gallery.js")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content={xml_attribute(policy)}>',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{xml_text(title)}</title>\n<style>{style}</style>\n</head>\n<body>",
            _heading(exhibits, title),
            "<main>",
            *(_group(key, name, exhibits) for key, name in _GROUPS.items()),
            f"</main>\n<script>{script}</script>\n</body>\n</html>\n",
        ]
    )


def _part(name: str) -> str:
    return files("fsmeu.drawing.pages").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _heading(exhibits: Sequence[Exhibit], title: str) -> str:
    ordered = [one for key in _GROUPS for one in exhibits if one.group == key]
    rows = "\n".join(map(_overview_row, ordered))
    cells = "".join(f"<th scope='col'>{xml_text(head)}</th>" for head in ("", "", *_HEADS))
    return (
        f"<header><h1>{xml_text(title)}</h1>\n"
        f"<p>{len(exhibits)} files, read, checked, measured and drawn as they are. A loss is to be "
        "minimised, a utility maximised; z is the hypothesis, y the reference, n their length. "
        'Exact decisions are proven <span class="chip any">under any model</span> of the labels, '
        'or <span class="chip some">when labels are independent</span>, at the length that a '
        "method was asked for; it asks again for every other.</p>\n"
        '<label class="seek">Show <input id="seek" type="search" autocomplete="off" '
        'placeholder="a name, a word, additive, any model ..."></label>\n'
        f'<div class="wide"><table id="overview"><thead><tr>{cells}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div></header>"
    )


_HEADS = ("what it is", "states", "merged", "additive", "table", "exact decisions")


def _overview_row(one: Exhibit) -> str:
    spec, known, sizes = one.found.spec, one.found.properties, one.found.growth
    marks = [
        "yes" if known is not None and known.additive else "",
        "yes" if known is not None and known.confusion else "",
    ]
    orders = ["", ""] if sizes is None else [_order(sizes.states), _order(sizes.merged)]
    link = f'<a href="#{one.anchor}">{xml_text(spec.name)}</a>'
    cells = [xml_text(spec.summary), *orders, *marks, _methods(one.methods)]
    inside = "".join(
        f'<td data-head="{head}"{"" if cell else " class=empty"}>{cell}</td>'
        for head, cell in zip(_HEADS, cells, strict=True)
    )
    stamp = f'<td class="stamp"><a href="#{one.anchor}" tabindex="-1">{_stamp(one)}</a></td>'
    return f'<tr data-of="{one.anchor}">{stamp}<th scope="row">{link}</th>{inside}</tr>'


def _stamp(one: Exhibit) -> str:
    """The smallest picture of a loss as a thumbnail."""
    pictures = [drawing.picture for _, drawing in one.pictures]
    smallest = min(pictures, key=lambda p: max(p.width, 2 * p.height), default=None)
    return "" if smallest is None else thumbnail(smallest)


def _order(order: Order | None) -> str:
    """An order of growth, its exponent raised."""
    return "" if order is None else re.sub(r"\^(\w+)", r"<sup>\1</sup>", xml_text(order))


def _methods(methods: Iterable[Applies]) -> str:
    chips = []
    for m in methods:
        title = xml_attribute(f"asked at n = {m.n}: {m.why}")
        kind = "any" if m.any_model else "some"
        chips.append(f'<span class="chip {kind}" title={title}>{xml_text(m.method)}</span>')
    return " ".join(chips)


def _group(key: str, name: str, exhibits: Sequence[Exhibit]) -> str:
    ours = [one for one in exhibits if one.group == key]
    if not ours:
        return ""
    return "\n".join([f'<h2 class="group">{xml_text(name)}</h2>', *map(_article, ours)])


def _article(one: Exhibit) -> str:
    spec, found = one.found.spec, one.found
    good = sum(result.holds for result in found.examples)
    references = "".join(f"<li>{xml_text(text)}</li>" for text in spec.references)
    parts = [
        f'<article id="{one.anchor}" data-words={xml_attribute(_words(one))}>',
        f'<h3>{xml_text(spec.name)} <span class="kind {spec.kind}">{spec.kind}</span></h3>',
        f'<p class="summary">{xml_text(spec.summary)}</p>',
        _use(one),
        '<div class="columns"><div>',
        f'<pre tabindex="0">{_source(spec.source)}</pre>',
        f'<p class="quiet">{good} of {len(found.examples)} examples hold.</p>',
        "</div><div>",
        _facts(one),
        "" if found.growth is None else _growth(found.growth),
        "</div></div>",
        *(_figure(caption, drawing) for caption, drawing in one.pictures),
        f'<ul class="references">{references}</ul>' if references else "",
        "</article>",
    ]
    return "\n".join(part for part in parts if part)


def _use(one: Exhibit) -> str:
    """A line of Python, a command, and the link to the page."""
    found = usage(one.found.spec, one.found.examples, one.found.assumed)
    lines = [found.python, found.command] if found is not None else []
    shown = "".join(f"<code>{xml_text(line)}</code>" for line in lines)
    link = f'<a href="{one.file}">explore it: pairs step by step, probabilities to slide</a>'
    return f'<div class="use">{shown}{link if one.file else ""}</div>' if shown or one.file else ""


def _words(one: Exhibit) -> str:
    """What a search looks through."""
    spec, known = one.found.spec, one.found.properties
    words = [spec.name, spec.kind, spec.summary, *(m.method for m in one.methods)]
    words += ["any model"] if any(m.any_model for m in one.methods) else []
    if known is not None:
        words += ["additive"] if known.additive else []
        words += ["confusion table"] if known.confusion else []
    return " ".join(words).lower()


def _source(source: str) -> str:
    """The text of a file, its words set apart."""
    return "\n".join(_coloured(line) for line in source.strip("\n").split("\n"))


def _coloured(line: str) -> str:
    shown, end = [], 0
    for found in _TOKEN.finditer(line):
        shown.append(xml_text(line[end : found.start()]))
        shown.append(f'<span class="{found.lastgroup}">{xml_text(found.group())}</span>')
        end = found.end()
    return "".join([*shown, xml_text(line[end:])])


def _facts(one: Exhibit) -> str:
    found = one.found
    if found.loss is None:
        return f'<p class="quiet">Not measured: {xml_text(found.missing)}</p>'
    rows = [(heading, xml_text(text)) for heading, text in facts(found)]
    if found.properties is not None:
        rows.append(("exact decisions", _methods(one.methods) or "by trying every sequence"))
    inside = "".join(f"<dt>{xml_text(head)}</dt><dd>{text}</dd>" for head, text in rows)
    return f'<p class="quiet">Derived with {xml_text(measured_with(found))}.</p><dl>{inside}</dl>'


def _growth(sizes: Growth) -> str:
    if not sizes.sizes:
        return ""
    columns = ("n", "states", "merged", "summed", "level sets")
    heads = "".join(f"<th scope='col'>{h}</th>" for h in columns)
    rows = [
        "".join(f"<td>{row[name]:,}</td>" for name in ("n", "states", "merged", "summed", "values"))
        for row in selected_sizes(sizes)
    ]
    if sizes.states is not None:
        orders = (_order(o) for o in (sizes.states, sizes.merged, sizes.summed, sizes.values))
        rows.append("<td>order</td>" + "".join(f"<td>{order}</td>" for order in orders))
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    table = f'<table class="growth"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _figure(caption: str, drawing: Drawing) -> str:
    """A picture, no wider than it is drawn."""
    wide = f'<div class="wide">{drawing.svg}</div>'
    return f"<figure>{wide}<figcaption>{xml_text(caption)}</figcaption></figure>"
