"""SVG files in a dark scheme: every colour is replaced, texts can be read, pages are left alone."""

import re
import xml.etree.ElementTree as ET

import pytest

import fsmeu
from fsmeu.drawing.picture import Box, Line, Text
from fsmeu.drawing.plots import plot_levels, save_plot

F1 = fsmeu.load("fscore")
DRAWINGS = {
    "a machine with a path": {"z": "11", "y": "10"},
    "a composition": {"z": "110", "model": [0.9, 0.5, 0.3]},
    "a summary": {"n": 12},
}
RULE = re.compile(
    r'(rect)?\[(fill|stroke)="(#[0-9a-f]{6})"\][^{]*\{ \2: (#[0-9a-f]{6}) !important \}'
)


@pytest.fixture(params=DRAWINGS)
def drawing(request):
    return fsmeu.draw(F1, **DRAWINGS[request.param])


def light(colour):
    """The relative luminance of WCAG."""
    parts = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    less, more = sorted((light(one), light(other)))
    return (more + 0.05) / (less + 0.05)


def replaced(text):
    """The colours of the dark scheme of a file: by property and colour, and those of areas."""
    rules = RULE.findall(text)
    return (
        {(name, colour): shown for area, name, colour, shown in rules if not area},
        {colour: shown for area, _, colour, shown in rules if area},
    )


def test_every_colour_of_a_file_has_one_in_the_dark_scheme(drawing):
    text = drawing.render("svg").decode()
    found, areas = replaced(text)
    for shape in drawing.picture.shapes:
        if isinstance(shape, Box):
            assert shape.fill == "none" or shape.fill in areas
            assert not shape.line or ("stroke", shape.stroke) in found
        elif isinstance(shape, Line):
            assert ("stroke", shape.stroke) in found
        else:
            assert ("fill", shape.colour) in found
    assert light(areas["#ffffff"]) < 0.02


def test_texts_can_be_read_in_the_dark_scheme(drawing):
    """As WCAG asks (4.5 to 1), on the ground and on the state that they stand on."""
    found, areas = replaced(drawing.render("svg").decode())
    ground = "#ffffff"
    assert sum(isinstance(shape, Text) for shape in drawing.picture.shapes) >= 5
    for shape in drawing.picture.shapes:
        if isinstance(shape, Box) and shape.fill != "none":
            ground = shape.fill
        elif isinstance(shape, Text):
            below = ground if "class=" in shape.group else "#ffffff"
            assert contrast(found["fill", shape.colour], areas[below]) >= 4.5, shape


def test_names_cannot_add_rules():
    label = '<style>*{fill:red}</style> fill="#abcdef" stroke: url(x)'
    loss = fsmeu.load("hamming", labels=[label, "b"])
    file = fsmeu.draw(loss, n=1).render("svg").decode()
    (style,) = (one.text for one in ET.fromstring(file).iter() if one.tag.endswith("style"))
    assert "red" not in style
    assert "url" not in style
    assert "#abcdef" not in style


def test_plots_have_both_schemes(tmp_path):
    """Those of matplotlib, too, whose colours are properties."""
    expectation = fsmeu.expect(F1, "110", [0.9, 0.5, 0.3])
    path = save_plot(tmp_path / "levels.svg", lambda axes: plot_levels(expectation, ax=axes))
    text = path.read_text()
    ET.fromstring(text)
    own = text[text.index("</style>") :]
    colours = set(re.findall(r"(fill|stroke): (#[0-9a-f]{6})", own))
    assert ("fill", "#ffffff") in colours
    assert colours <= set(replaced(text)[0])
