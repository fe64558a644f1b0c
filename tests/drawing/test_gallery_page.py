"""The gallery in a real browser: it complains of nothing, finds losses, is readable in the dark."""

import pytest

from fsmeu.drawing.pages.gallery import anchored, exhibit, gallery_page
from fsmeu.losses.loss import read_spec

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver.common.by import By

OUTSIDE = """
const scrolls = (e) => e && (["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX)
  || scrolls(e.parentElement));
const out = [...document.querySelectorAll("body *")].filter((e) =>
  e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement));
return [document.documentElement.scrollWidth, out.map((e) => e.outerHTML.slice(0, 80))];
"""
NAMES = ("fscore", "hamming", "zero_one", "transitions")


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("gallery") / "index.html"
    exhibits = anchored([exhibit(read_spec(name)) for name in NAMES])
    path.write_text(gallery_page(exhibits), encoding="utf-8")
    for one in exhibits:
        one.page.save(path.parent / one.file)
    browser.get_log("browser")
    browser.get(path.as_uri())
    return browser


def shown(page, selector):
    return [e for e in page.find_elements(By.CSS_SELECTOR, selector) if e.is_displayed()]


def seek(page, text):
    field = page.find_element(By.ID, "seek")
    field.clear()
    field.send_keys(text, " ")


def test_nothing_is_complained_of(page):
    assert page.get_log("browser") == []
    assert len(shown(page, "article")) == len(NAMES)
    assert all(picture.size["height"] > 50 for picture in shown(page, "figure svg"))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("zero", {"zero_one"}),
        ("additive", {"hamming", "transitions"}),
        ("confusion table utility", {"fscore"}),
        ("nothing of the kind", set()),
    ],
)
def test_losses_are_found_by_words(page, words, found):
    """Articles, rows of the overview and headings of empty groups come and go together."""
    seek(page, words)
    assert {a.get_attribute("id") for a in shown(page, "article")} == found
    assert {r.get_attribute("data-of") for r in shown(page, "#overview tbody tr")} == found
    assert bool(shown(page, "h2.group")) == bool(found)
    seek(page, "")
    assert len(shown(page, "article")) == len(NAMES)


def test_links_lead_to_the_losses(page):
    for link in page.find_elements(By.CSS_SELECTOR, "#overview a"):
        target = link.get_attribute("href").partition("#")[2]
        assert page.find_element(By.ID, target).tag_name == "article"


def test_links_lead_to_pages_about_the_losses(page):
    here = page.current_url
    links = [a.get_attribute("href") for a in page.find_elements(By.CSS_SELECTOR, ".use a")]
    assert len(links) == len(NAMES)
    for link, name in zip(sorted(links), sorted(NAMES), strict=True):
        page.get(link)
        assert page.find_element(By.ID, "title").text.endswith(name)
    page.get(here)
    assert page.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_stand_out_from_the_ground(page, scheme):
    """Text of states, arcs and page differ from what is behind them, by day and by night."""
    wanted = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
    colours = page.execute_script(
        """
        const of = (selector, property) =>
          getComputedStyle(document.querySelector(selector))[property];
        return [of("body", "backgroundColor"), of("body", "color"), of("figure text", "fill"),
          of("figure path", "stroke"), of("figure .wide", "backgroundColor"), of("pre", "color")];
        """
    )
    ground, ink, text, line, paper, code = (_brightness(colour) for colour in colours)
    assert (ground > 200) == (paper > 200) == (scheme == "light")
    for mark in (ink, text, line, code):
        assert abs(mark - ground) > 80


def _brightness(colour):
    numbers = colour[colour.index("(") + 1 : colour.index(")")].split(",")
    return sum(float(number) for number in numbers[:3]) / 3


@pytest.mark.parametrize("width", [390, 600, 1200])
def test_no_window_needs_sideways_scrolling(page, width):
    """Not the page as a whole, and nothing sticks out but what scrolls by itself."""
    screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        wide = page.execute_script(OUTSIDE)
        empty = page.find_elements(By.CSS_SELECTOR, "#overview td.empty")
        assert empty
        assert width > 700 or not any(cell.is_displayed() for cell in empty)
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide[0] <= width
    assert wide[1] == []
