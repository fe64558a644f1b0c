"""The pages in Chromium, where it is installed: numbers, keys, mouse, search, colours, widths."""

import shutil
from contextlib import contextmanager
from itertools import product

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import fsmeu

F1 = fsmeu.load("fscore")
# Contrast as WCAG defines it, the least of several selectors, and how light the page is.
CONTRAST = """
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
const ratio = (selector) => {
  const element = document.querySelector(selector);
  const style = getComputedStyle(element);
  const paint = { path: style.stroke, text: style.fill }[element.tagName] ?? style.color;
  const [x, y] = [light(parse(paint)), light(ground(element))].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
return [light(ground(document.body)), Math.min(...arguments[0].map(ratio))];
"""
SET = """
const [id, value] = arguments;
const input = document.getElementById(id);
input.value = value;
input.dispatchEvent(new Event("input"));
return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
"""
LEVELS = """return [...document.querySelectorAll("#levels tbody tr")]
  .map((row) => [Number(row.dataset.value), Number(row.dataset.probability)]);"""
READ = [
    *("h1", "#summary", "h2", "#about", "th", "#value", "label"),
    *(".node text", ".node text[font-weight]", ".edge text"),
]


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium that keeps what pages write to the console."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if not (program and shutil.which("chromedriver")):
        pytest.skip("there is no Chromium with chromedriver (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    wanted = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage")
    for word in (*wanted, "window-size=1300,900"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@contextmanager
def screen(browser, width=1300, scheme="light"):
    """A window of this width, a narrow one as of a telephone, in a light or a dark scheme."""
    size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def close(value):
    return pytest.approx(value, abs=1e-9)


class Tab:
    """A page in the browser."""

    def __init__(self, driver):
        self.driver = driver

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def put(self, **values):
        """Types values into inputs, whose names have _ for -."""
        for name, value in values.items():
            self.driver.execute_script(SET, name.replace("_", "-"), str(value))

    def get(self, name, attribute="value"):
        return self.find(f"#{name}").get_attribute(attribute)

    def number(self, name):
        return float(self.get(name, "data-value"))

    def text(self, name):
        return self.find(f"#{name}").text

    def press(self, *names):
        for name in names:
            self.find(f"#{name}").click()

    def shows(self, loss, z, y, model):
        """Asserts that value, expectation, levels and the best of all hypotheses are Python's."""
        expected, best = fsmeu.expect(loss, z, model), self.get("best", "data-labels").split()
        every = [
            fsmeu.expect(loss, one, model).value for one in product(loss.labels, repeat=len(z))
        ]
        most = close(max(every) if loss.kind == "utility" else min(every))
        told = [self.number(name) for name in ("value", "expected", "best")]
        assert told == [close(fsmeu.evaluate(loss, z, y)), close(expected.value), most]
        assert fsmeu.expect(loss, best if best[1:] else best[0], model).value == most
        values, chances = zip(*self.driver.execute_script(LEVELS), strict=True)
        assert list(values) == close(expected.levels.values.tolist())
        assert list(chances) == close(expected.levels.probabilities.tolist())

    def view(self):
        """Where the picture is looked at: left, top, width, height."""
        return [float(x) for x in self.find("#stage svg").get_dom_attribute("viewBox").split()]


@pytest.fixture
def show(browser, tmp_path):
    """Opens a page, or that of a loss up to a length; afterwards the console must be empty."""

    def opened(page, n=None, **options):
        page = page if n is None else fsmeu.explore(page, n=n, **options).html
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        browser.get(path.as_uri())
        return Tab(browser)

    browser.get_log("browser")
    yield opened
    assert browser.get_log("browser") == []


@pytest.mark.parametrize(
    ("name", "params", "z", "y", "p"),
    [
        ("fscore", {"beta": 2, "empty": 0}, "000", "000", [0.2, 0.2, 0.1]),
        ("pk", {"k": 2}, "0101", "0011", [0.25, 1.0, 0.0, 0.7]),
    ],
)
def test_numbers_are_those_of_python(show, name, params, z, y, p):
    loss = fsmeu.load(name, **params)
    tab = show(loss, len(z))
    tab.put(z=z, y=y, **{f"number_{i}_0": repr(chance) for i, chance in enumerate(p)})
    tab.shows(loss, z, y, p)


def test_more_than_two_labels(show):
    """With three labels there is a slider for each; the others keep proportions and sum to 1."""
    names = ["A", "B", "CC"]
    loss = fsmeu.load("hamming", labels=names)
    tab = show(loss, 3)
    for i, k, given, shown in (
        (0, 0, "0.5", [1 / 2, 1 / 4, 1 / 4]),
        (1, 2, "0.125", [7 / 24, 7 / 12, 1 / 8]),
        (2, 1, "1", [0, 1, 0]),
        (2, 0, "0.5", [1 / 2, 1 / 2, 0]),
        (2, 1, "0.25", [3 / 4, 1 / 4, 0]),
    ):
        tab.put(**{f"number_{i}_{k}": given})
        told = [float(tab.get(f"number-{i}-{j}")) for j in range(3)]
        assert told == pytest.approx(shown, abs=1e-7)
    tab.put(z="A CC B", y="A,B,B")
    rows = [[1 / 2, 1 / 4, 1 / 4], [7 / 24, 7 / 12, 1 / 8], [3 / 4, 1 / 4, 0]]
    model = fsmeu.models.Independent(rows, labels=names)
    tab.shows(loss, ["A", "CC", "B"], ["A", "B", "B"], model)


def test_chunk_losses_can_be_read(show, browser):
    """The first pair is well-formed, the picture merged and no smaller than can be read."""
    loss = fsmeu.load("chunk_fscore", types=["NP"])
    tab = show(loss, 4)
    assert (tab.get("z"), tab.get("y")) == ("B-NP I-NP O B-NP", "B-NP O B-NP O")
    assert len(tab.all(".node")) == loss.compile(4, minimize=True).states
    assert f"stand for {loss.compile(4).states}" in tab.text("note")
    tab.put(y="B-NP I-NP O O")
    rows = [row.text.split()[-5:-1] for row in tab.all("#trace tbody tr")]
    assert rows[-1] == ["0", "1", "2", "1"]  # ay tp hyp ref
    chances = [[0.5 if k == i % 3 else 0.25 for k in range(3)] for i in range(4)]
    model = fsmeu.models.Independent(chances, labels=loss.labels)
    tab.shows(loss, ["B-NP", "I-NP", "O", "B-NP"], ["B-NP", "I-NP", "O", "O"], model)
    for button in ("first", "on", "on"):
        tab.press(button)
        here = tab.find(".node.here text")
        assert here.size["height"] > 8
        stage, place = tab.find("#stage").rect, here.rect
        for low, size in (("x", "width"), ("y", "height")):
            assert stage[low] <= place[low] <= stage[low] + stage[size]
    with screen(browser, 390):  # nothing is wider than a telephone
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    tab.find("#length").send_keys("2")  # y as far as it was typed
    assert (tab.get("z"), tab.get("y")) == ("B-NP I-NP", "B-NP I-NP")


def test_pair_is_walked_step_by_step(show):
    """By buttons and rows; the best hypothesis can be taken as z."""
    tab = show(F1, 3, probs=[0.45, 0.4, 0.35])
    assert float(tab.get("range-1-0")) == 0.4
    tab.press("take")
    assert tab.get("z") == tab.get("best", "data-labels")
    assert tab.number("expected") == pytest.approx(tab.number("best"), abs=1e-12)
    tab.find("#z").send_keys(Keys.CONTROL, "a")
    tab.find("#z").send_keys("110")
    tab.put(y="101")
    cells = [row.text.split() for row in tab.all("#trace tbody tr")]
    assert [row[-4:-1] for row in cells] == [list(x) for x in ("000", "111", "121", "122")]
    assert len(tab.all(".node.route")) == 4
    assert len(tab.all("g.edge.route > path")) == 3
    tab.press("back", "back")
    assert tab.text("step") == "step 1 of 3"
    assert tab.find(".node.here text").text == "tp=1 hyp=1 ref=1"
    assert "tp=1, hyp=1, ref=1" in tab.text("about")
    tab.all("#trace tbody tr")[0].click()
    assert not tab.find("#first").is_enabled()
    assert tab.find("tr[aria-current]").text.split()[0] == "0"


def test_wrong_input_is_said_and_survived(show):
    tab = show(F1, 3)
    before = tab.number("expected")
    tab.put(z="1x0")
    assert "x is no label" in tab.text("problem")
    assert (tab.text("value"), tab.text("expected")) == ("", "")
    tab.put(z="11")
    assert "z has 2 labels, 3 are needed" in tab.text("problem")
    tab.put(z="110")
    assert tab.text("problem") == ""
    tab.put(number_0_0="1.5")
    assert tab.get("number-0-0", "aria-invalid") == "true"
    assert tab.number("expected") == close(before)
    assert "must be a number from 0 to 1; it stays 0.7." in tab.text("problem")


def test_mouse_moves_zooms_and_points(show):
    tab = show(F1, 2)
    stage, view = tab.find("#stage"), tab.view()
    drag = ActionChains(tab.driver).move_to_element_with_offset(stage, -300, 250).click_and_hold()
    drag.move_by_offset(60, -40).release().perform()
    moved = tab.view()
    assert moved != view
    origin = ScrollOrigin.from_element(stage)
    ActionChains(tab.driver).scroll_from_origin(origin, 0, -200).perform()
    assert tab.view()[2] < moved[2]
    tab.press("fit")
    ActionChains(tab.driver).move_to_element(tab.find('.node[data-state="7"]')).perform()
    assert "tp=1, hyp=1, ref=2" in tab.text("about")
    assert repr(2 / 3) in tab.text("about")


@pytest.mark.nightly
def test_everything_is_reached_by_tab(show):
    tab = show(F1, 2)
    seen = set()
    for _ in range(30):
        tab.driver.switch_to.active_element.send_keys(Keys.TAB)
        seen.add(tab.driver.switch_to.active_element.get_attribute("id"))
    wanted = {"length", "find", "larger", "smaller", "fit", "stage", "z", "y", "first", "back"}
    assert wanted | {"range-0-0", "number-1-0", "take"} <= seen
    before = tab.number("expected")
    tab.find("#range-0-0").send_keys(Keys.ARROW_RIGHT)
    tab.put(z=tab.get("z"))
    assert float(tab.get("number-0-0")) == pytest.approx(0.71)
    assert tab.number("expected") != before


def test_hostile_names_do_nothing(show):
    labels = ["</script><script>window.bad=1</script>", "<img src=x onerror=window.bad=2>", 'a"\nb']
    loss = fsmeu.load("hamming", labels=labels)
    tab = show(loss, 2)
    assert tab.driver.execute_script("return window.bad === undefined")
    told = [title.get_attribute("textContent") for title in tab.all(".edge title")]
    assert any("<script>" in text for text in told)
    pair = [labels[2], labels[0]]
    assert tab.number("value") == close(fsmeu.evaluate(loss, pair, pair))


def test_colours_can_be_read(show, browser):
    """In both schemes text stands out from its ground as WCAG asks (4.5 to 1)."""
    show(fsmeu.explore(F1).html)
    for scheme in ("light", "dark"):
        with screen(browser, scheme=scheme):
            light, worst = browser.execute_script(CONTRAST, READ)
        assert (light > 0.5) == (scheme == "light")
        assert worst >= 4.5
