"""SVG files in a dark scheme: every colour is replaced, texts can be read, names add no rules."""

import re
import xml.etree.ElementTree as ET

import pytest

import fsmeu
from fsmeu.drawing.plots import save_plot

F1 = fsmeu.load("fscore")
DRAWINGS = {
    "a machine with a path": {"z": "11", "y": "10"},
    "a composition": {"z": "110", "model": [0.9, 0.5, 0.3]},
    "a summary": {"n": 12},
}
RULE = re.compile(
    r'(rect)?\[(fill|stroke)="(#[0-9a-f]{6})"\][^{]*\{ \2: (#[0-9a-f]{6}) !important \}'
)


def light(colour):
    """The relative luminance of WCAG."""
    parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    less, more = sorted((light(one), light(other)))
    return (more + 0.05) / (less + 0.05)


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_colour_has_one_in_the_dark_scheme_and_texts_can_be_read(name):
    """As WCAG asks (4.5 to 1), on the ground and on the state that they stand on."""
    file = fsmeu.draw(F1, **DRAWINGS[name]).render("svg").decode()
    rules = {(area, name, colour): shown for area, name, colour, shown in RULE.findall(file)}
    assert light(rules["rect", "fill", "#ffffff"]) < 0.02
    root, texts = ET.fromstring(file), 0
    for group in root.iter():
        ground = "#ffffff"
        for shape in group:
            tag = shape.tag.partition("}")[2]
            area = "rect" if tag == "rect" else ""
            fill, stroke = (shape.get(kind, "none") for kind in ("fill", "stroke"))
            assert fill == "none" or (area, "fill", fill) in rules
            assert stroke == "none" or ("", "stroke", stroke) in rules
            if tag == "rect" and fill != "none" and group is not root:
                ground = fill
            elif tag == "text":
                texts += 1
                dark = rules["", "fill", fill], rules["rect", "fill", ground]
                assert contrast(*dark) >= 4.5, ET.tostring(shape)
    assert texts >= 5


def test_plots_have_both_schemes(tmp_path):
    """Those of matplotlib, too, whose colours are properties, black among them."""
    expectation = fsmeu.expect(F1, "110", [0.9, 0.5, 0.3])
    text = save_plot(tmp_path / "levels.svg", lambda axes: expectation.plot(ax=axes)).read_text()
    rules = {(name, colour) for _, name, colour, _ in RULE.findall(text)}
    own = re.findall(r"(fill|stroke): (#[0-9a-f]{6})", text[text.index("</style>") :])
    assert {("stroke", "#000000"), ("fill", "#ffffff")} <= set(own) <= rules


def test_names_cannot_add_rules():
    label = '<style>*{fill:red}</style> fill="#abcdef" stroke: url(x)'
    loss = fsmeu.load("hamming", labels=[label, "b"])
    file = fsmeu.draw(loss, n=1).render("svg").decode()
    (style,) = (one.text for one in ET.fromstring(file).iter() if one.tag.endswith("style"))
    assert not [part for part in ("red", "url", "#abcdef") if part in style]
