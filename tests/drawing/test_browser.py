"""The pages in a real browser: numbers equal Python's, keys and dark mode work, all is inside."""

import re
from fractions import Fraction
from itertools import product

import pytest

import fsmeu

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

CLOSE = 1e-9
SET = """
const [id, value] = arguments;
const input = document.getElementById(id);
input.value = value;
input.dispatchEvent(new Event("input"));
return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
"""
LEVELS = """return [...document.querySelectorAll("#levels tbody tr")]
  .map((row) => [Number(row.dataset.value), Number(row.dataset.probability)]);"""


class Tab:
    """A page in the browser."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get_log("browser")
        driver.get(path.as_uri())

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def put(self, name, value):
        self.driver.execute_script(SET, name, str(value))

    def number(self, name):
        return float(self.find(f"#{name}").get_attribute("data-value"))

    def complaints(self):
        return self.driver.get_log("browser")


@pytest.fixture
def show(browser, tmp_path):
    """Opens a page; afterwards the console must be empty."""
    tabs = []

    def opened(page):
        path = tmp_path / "page.html"
        path.write_text(page if isinstance(page, str) else page.html, encoding="utf-8")
        tabs.append(Tab(browser, path))
        return tabs[-1]

    yield opened
    for tab in tabs:
        assert tab.complaints() == []


BINARY = [
    ("fscore", {}, "1100", "1010", [0.9, 0.35, 0.6, 0.05]),
    ("fscore", {"beta": 2, "empty": 0}, "000", "000", [0.2, 0.2, 0.1]),
    ("pk", {"k": 2}, "0101", "0011", [0.25, 1.0, 0.0, 0.7]),
    ("jaccard", {}, "10", "01", [1 / 3, 2 / 3]),
]


@pytest.mark.parametrize(("name", "params", "z", "y", "p"), BINARY)
def test_numbers_are_those_of_python(show, name, params, z, y, p):
    """Value, expectation, levels and best decision, typed and slid in the page."""
    loss = fsmeu.load(name, **params)
    tab = show(fsmeu.explore(loss, n=len(z)))
    tab.put("z", z)
    tab.put("y", y)
    for i, chance in enumerate(p):
        tab.put(f"number-{i}-0", repr(chance))
    assert tab.number("value") == pytest.approx(fsmeu.evaluate(loss, z, y), abs=CLOSE)
    expected = fsmeu.expect(loss, z, p)
    assert tab.number("expected") == pytest.approx(expected.value, abs=CLOSE)
    levels = tab.driver.execute_script(LEVELS)
    assert [v for v, _ in levels] == pytest.approx(expected.levels.values.tolist(), abs=CLOSE)
    chances = expected.levels.probabilities.tolist()
    assert [c for _, c in levels] == pytest.approx(chances, abs=CLOSE)
    values = {h: fsmeu.expect(loss, h, p).value for h in product((0, 1), repeat=len(z))}
    best = (max if loss.kind == "utility" else min)(values.values())
    assert tab.number("best") == pytest.approx(best, abs=CLOSE)
    labels = tab.find("#best").get_attribute("data-labels")
    assert values[tuple(map(int, labels))] == pytest.approx(best, abs=CLOSE)


def test_more_than_two_labels(show):
    """With three labels there is a slider for each; the others keep proportions and sum to 1."""
    names = ["A", "B", "CC"]
    loss = fsmeu.load("hamming", labels=names)
    tab = show(fsmeu.explore(loss, n=3))
    weights = [[Fraction(1, 4) if k != i else Fraction(1, 2) for k in range(3)] for i in range(3)]
    for i, k, given in ((0, 0, "0.5"), (1, 2, "0.125"), (2, 1, "1"), (2, 0, "0.5"), (2, 1, "0.25")):
        tab.put(f"number-{i}-{k}", given)
        others = sum(weights[i]) - weights[i][k]
        left = 1 - Fraction(given)
        weights[i] = [
            Fraction(given) if j == k else left * (w / others if others else Fraction(1, 2))
            for j, w in enumerate(weights[i])
        ]
        shown = [float(tab.find(f"#number-{i}-{j}").get_attribute("value")) for j in range(3)]
        assert shown == pytest.approx([float(w) for w in weights[i]], abs=1e-7)
        assert tab.find(f"label[for=range-{i}-{k}]").text == f"P(y{i + 1} = {names[k]})"
    tab.put("z", "A CC B")
    tab.put("y", "A,B,B")
    model = fsmeu.models.Independent([[float(w) for w in row] for row in weights], labels=names)
    z = ["A", "CC", "B"]
    assert tab.number("value") == pytest.approx(1 / 3, abs=CLOSE)
    assert tab.number("expected") == pytest.approx(fsmeu.expect(loss, z, model).value, abs=CLOSE)
    best = min(fsmeu.expect(loss, h, model).value for h in product(names, repeat=3))
    assert tab.number("best") == pytest.approx(best, abs=CLOSE)


def test_chunk_losses_can_be_read(show):
    """The first pair is well-formed, the picture merged and no smaller than can be read.

    Steps are those of the loss itself, values those of the pair, and the picture follows.
    """
    loss = fsmeu.load("chunk_fscore", types=["NP"])
    tab = show(fsmeu.explore(loss, n=4))
    assert tab.find("#z").get_attribute("value") == "B-NP I-NP O B-NP"
    assert tab.find("#y").get_attribute("value") == "B-NP O B-NP O"
    assert len(tab.all(".node")) == loss.compile(4, minimize=True).states
    assert f"stand for {loss.compile(4).states}" in tab.find("#note").text
    tab.put("y", "B-NP I-NP O O")
    z, y = ["B-NP", "I-NP", "O", "B-NP"], ["B-NP", "I-NP", "O", "O"]
    assert tab.number("value") == pytest.approx(fsmeu.evaluate(loss, z, y), abs=CLOSE)
    rows = [row.text.split()[-5:-1] for row in tab.all("#trace tbody tr")]
    assert rows[-1] == ["0", "1", "2", "1"]  # ay tp hyp ref
    chances = [[0.5 if k == i % 3 else 0.25 for k in range(3)] for i in range(4)]
    model = fsmeu.models.Independent(chances, labels=loss.labels)
    assert tab.number("expected") == pytest.approx(fsmeu.expect(loss, z, model).value, abs=CLOSE)
    tried = (fsmeu.expect(loss, h, model).value for h in product(loss.labels, repeat=4))
    assert tab.number("best") == pytest.approx(max(tried), abs=CLOSE)
    for button in ("first", "on", "on"):
        tab.find(f"#{button}").click()
        here = tab.find(".node.here text")
        assert here.size["height"] > 8
        stage, place = tab.find("#stage").rect, here.rect
        assert stage["x"] <= place["x"] <= stage["x"] + stage["width"]
        assert stage["y"] <= place["y"] <= stage["y"] + stage["height"]
    tab.find("#length").send_keys("2")
    assert tab.find("#z").get_attribute("value") == "B-NP I-NP"
    assert tab.find("#y").get_attribute("value") == "B-NP I-NP"  # as far as it was typed


@pytest.mark.parametrize("name", ["fscore", "chunk_fscore"])
def test_pages_fit_a_telephone(show, browser, name):
    """At 390 pixels nothing is wider than the window, except what scrolls by itself."""
    telephone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", telephone)
    try:
        loss = fsmeu.load(name) if name == "fscore" else fsmeu.load(name, types=["NP"])
        show(fsmeu.explore(loss, n=2))
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_every_length_has_its_own_values(show):
    """Another length has another machine; what was typed is kept as far as it goes."""
    loss = fsmeu.load("hamming")
    tab = show(fsmeu.explore(loss, n=3))
    tab.put("z", "110")
    tab.put("y", "010")
    assert tab.number("value") == pytest.approx(1 / 3, abs=CLOSE)
    tab.find("#length").send_keys("2")
    assert tab.find("#z").get_attribute("value") == "11"
    assert tab.number("value") == pytest.approx(1 / 2, abs=CLOSE)
    assert len(tab.all(".node")) == loss.compile(2).states


def test_pair_is_walked_step_by_step(show):
    """Steps go back and forth, by buttons and rows; the path and the state are shown."""
    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=3))
    z = tab.find("#z")
    z.send_keys(Keys.CONTROL, "a")
    z.send_keys("110")
    tab.put("y", "101")
    registers = [[0, 0, 0], [1, 1, 1], [1, 2, 1], [1, 2, 2]]
    cells = [row.text.split() for row in tab.all("#trace tbody tr")]
    assert [list(map(int, row[-4:-1])) for row in cells] == registers
    assert len(tab.all(".node.route")) == 4
    assert len(tab.all("g.edge.route > path")) == 3
    tab.find("#back").click()
    tab.find("#back").click()
    assert tab.find("#step").text == "step 1 of 3"
    assert len(tab.all(".node.route")) == 2
    here = tab.find(".node.here text").text
    assert here == "tp=1 hyp=1 ref=1"
    assert "tp=1, hyp=1, ref=1" in tab.find("#about").text
    tab.all("#trace tbody tr")[0].click()
    assert not tab.find("#first").is_enabled()
    assert tab.find("tr[aria-current]").text.split()[0] == "0"


def test_wrong_input_is_said_and_survived(show):
    """A strange label, a missing one, and a probability out of range."""
    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=3))
    before = tab.number("expected")
    tab.put("z", "1x0")
    assert "x is no label" in tab.find("#problem").text
    assert tab.find("#value").text == ""
    assert tab.find("#expected").text == ""
    tab.put("z", "11")
    assert "z has 2 labels, 3 are needed" in tab.find("#problem").text
    tab.put("z", "110")
    assert tab.find("#problem").text == ""
    tab.put("number-0-0", "1.5")
    assert tab.find("#number-0-0").get_attribute("aria-invalid") == "true"
    assert tab.number("expected") == pytest.approx(before, abs=CLOSE)
    assert "must be a number from 0 to 1; it stays 0.7." in tab.find("#problem").text
    tab.put("number-0-0", "0.5")
    assert tab.find("#problem").text == ""


def test_best_decision_can_be_taken(show):
    """The button puts the best hypothesis into z, and then its expectation is the best one."""
    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=4, probs=[0.45, 0.4, 0.35, 0.1]))
    assert float(tab.find("#range-1-0").get_attribute("value")) == 0.4
    tab.find("#take").click()
    assert tab.find("#z").get_attribute("value") == tab.find("#best").get_attribute("data-labels")
    assert tab.number("expected") == pytest.approx(tab.number("best"), abs=1e-12)


def test_picture_obeys_keys(show):
    """With the picture in focus: zoom, move, see all, go through the states."""
    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=2))
    stage = tab.find("#stage")
    svg = tab.find("#stage svg")
    whole = svg.get_dom_attribute("viewBox")
    views = [whole]
    for key in ("+", Keys.ARROW_RIGHT, Keys.ARROW_DOWN, "-"):
        stage.send_keys(key)
        views.append(svg.get_dom_attribute("viewBox"))
    assert len(set(views)) == len(views)
    assert float(views[1].split()[2]) < float(whole.split()[2])
    stage.send_keys("0")
    assert svg.get_dom_attribute("viewBox") == whole
    stage.send_keys("nn")
    assert "state 1," in tab.find("#about").text
    assert tab.find(".node.chosen").get_attribute("data-state") == "1"
    stage.send_keys("p")
    assert "state 0," in tab.find("#about").text


def test_everything_is_reached_by_tab(show):
    """Tab goes through every control; arrow keys slide a probability."""
    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=2))
    seen = set()
    for _ in range(30):
        tab.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.add(tab.driver.switch_to.active_element.get_attribute("id"))
    wanted = {"length", "find", "larger", "smaller", "fit", "stage", "z", "y", "first", "back"}
    assert wanted | {"range-0-0", "number-1-0", "take"} <= seen
    before = tab.number("expected")
    slider = tab.find("#range-0-0")
    slider.send_keys(Keys.ARROW_RIGHT)
    tab.put("z", tab.find("#z").get_attribute("value"))
    assert float(tab.find("#number-0-0").get_attribute("value")) == pytest.approx(0.71)
    assert tab.number("expected") != before


def test_mouse_moves_zooms_and_points(show):
    """Dragging moves, the wheel zooms, pointing tells registers and value."""
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=2))
    svg = tab.find("#stage svg")
    view = svg.get_dom_attribute("viewBox")
    stage = tab.find("#stage")
    ActionChains(tab.driver).move_to_element_with_offset(
        stage, -300, 250
    ).click_and_hold().move_by_offset(60, -40).release().perform()
    moved = svg.get_dom_attribute("viewBox")
    assert moved != view
    origin = ScrollOrigin.from_element(stage)
    ActionChains(tab.driver).scroll_from_origin(origin, 0, -200).perform()
    assert float(svg.get_dom_attribute("viewBox").split()[2]) < float(moved.split()[2])
    tab.find("#fit").click()
    node = tab.find('.node[data-state="7"]')
    ActionChains(tab.driver).move_to_element(node).perform()
    told = tab.find("#about").text
    assert "tp=1, hyp=1, ref=2" in told
    assert repr(2 / 3) in told


def test_states_are_found(show):
    """Words narrow the states down, Enter goes through them."""
    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=3))
    find = tab.find("#find")
    find.send_keys("tp=1 ref=2")
    shown = [n.find_element(By.TAG_NAME, "text").text for n in tab.all(".node:not(.dim)")]
    assert shown == ["tp=1 hyp=1 ref=2", "tp=1 hyp=2 ref=2"]
    assert tab.find("#found").text == "2 states"
    find.send_keys(Keys.ENTER, Keys.ENTER)
    assert "tp=1, hyp=2, ref=2" in tab.find("#about").text
    find.clear()
    find.send_keys("x", Keys.BACKSPACE)
    assert tab.all(".node.dim") == []


LIGHT = """
const parse = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
const light = (rgb) => {
  const linear = (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = rgb.map((c) => linear(c / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return parse(colour);
  }
};
const ratio = (a, b) => {
  const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const page = parse(getComputedStyle(document.body).backgroundColor);
const words = ["h1", "#summary", "h2", "#about", "th", "#value", "label"].map((s) => {
  const element = document.querySelector(s);
  return ratio(parse(getComputedStyle(element).color), ground(element));
});
const paint = [".node text", ".node text[font-weight]", ".edge text"].map((s) =>
  ratio(parse(getComputedStyle(document.querySelector(s)).fill), page));
return { page: light(page), worst: Math.min(...words, ...paint) };
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(show, browser, scheme):
    """In both schemes text stands out from its ground as WCAG asks (4.5 to 1)."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        tab = show(fsmeu.explore(fsmeu.load("fscore"), n=2))
        found = browser.execute_script(LIGHT)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert (found["page"] > 0.5) == (scheme == "light")
    assert found["worst"] >= 4.5
    assert tab.all(".node")


def test_hostile_names_do_nothing(show):
    """Names that try to be scripts are shown as text."""
    labels = ["</script><script>window.bad=1</script>", "<img src=x onerror=window.bad=2>", 'a"\nb']
    loss = fsmeu.load("hamming", labels=labels)
    tab = show(fsmeu.explore(loss, n=2))
    assert tab.driver.execute_script("return window.bad === undefined")
    told = [title.get_attribute("textContent") for title in tab.all(".edge title")]
    assert any("<script>" in text for text in told)
    assert tab.number("value") == pytest.approx(
        fsmeu.evaluate(loss, [labels[2], labels[0]], [labels[2], labels[0]]), abs=CLOSE
    )


def test_drawings_as_pages(show):
    """The page of a drawing shows states, path and probabilities; of a large one, the summary."""
    fscore = fsmeu.load("fscore")
    drawing = fsmeu.draw(fscore, z="110", y="101", model=[0.9, 0.5, 0.3])
    tab = show(drawing.html)
    assert len(tab.all(".node")) == drawing.automaton.states
    assert len(tab.all(".node.route")) == 4
    assert tab.all("#panels") == []
    fill = tab.find('.node[data-state="0"] rect').value_of_css_property("fill")
    shade = [float(number) for number in re.findall(r"[\d.]+", fill)]
    assert shade == pytest.approx([k / 255 for k in (0x56, 0xB4, 0xE9)], abs=1e-3)
    still = show(fsmeu.draw(fscore, n=20).html)
    assert "1,771 states" in still.find("#stage").get_attribute("textContent")


def test_nothing_is_fetched(show):
    """The browser loads the page and nothing else."""
    tab = show(fsmeu.explore(fsmeu.load("fscore"), n=2))
    script = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    assert [name for name in tab.driver.execute_script(script) if name != "data:,"] == []
