"""The gallery in a real browser: it complains of nothing, finds losses, is readable in the dark."""

import pytest

from fsmeu.drawing.pages.gallery import exhibit, gallery_page
from fsmeu.losses.library import read_spec

pytest.importorskip("selenium", reason="selenium is not installed")
from selenium.webdriver.common.by import By

NAMES = ("fscore", "hamming", "zero_one", "transitions")


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("gallery") / "index.html"
    path.write_text(gallery_page([exhibit(read_spec(name)) for name in NAMES]), encoding="utf-8")
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


def test_narrow_windows_need_no_sideways_scrolling(page):
    size = page.get_window_size()
    page.set_window_size(600, 900)
    wide = page.execute_script("return [document.body.scrollWidth, window.innerWidth]")
    page.set_window_size(size["width"], size["height"])
    assert wide[0] <= wide[1]
