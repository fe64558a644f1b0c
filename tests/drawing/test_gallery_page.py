"""The gallery and its pages in a browser: losses are found, all can be read, by night as well."""

import pytest

from fsmeu.drawing.gallery import anchored, exhibit, gallery_page
from fsmeu.losses.loss import read_spec
from tests.drawing.conftest import colours, window

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
WORDS = {
    "index.html": ["body", "figure text", "figure path", "pre", "p", ".chip.any"],
    "explore-fscore.html": [
        *("h1", "#summary", "h2", "#about", "th", "#value", "label"),
        *(".node text", ".node text[font-weight]", ".edge text"),
    ],
}


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


def every(page, selector):
    return page.find_elements(By.CSS_SELECTOR, selector)


def shown(page, selector, attribute="id"):
    return [e.get_attribute(attribute) for e in every(page, selector) if e.is_displayed()]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("zero", {"zero_one"}),
        ("additive", {"hamming", "transitions"}),
        ("confusion table utility", {"fscore"}),
        ("nothing of the kind", set()),
        ("", set(NAMES)),
    ],
)
def test_losses_are_found_by_words(page, words, found):
    """Articles, rows of the overview and headings of empty groups come and go together."""
    field = page.find_element(By.ID, "seek")
    field.clear()
    field.send_keys(words, " ")
    assert set(shown(page, "article")) == found
    assert set(shown(page, "#overview tbody tr", "data-of")) == found
    assert bool(shown(page, "h2.group")) == bool(found)
    field.clear()
    field.send_keys(" ")


def test_links_lead_to_the_losses_and_pages_about_them(page):
    assert all(picture.size["height"] > 50 for picture in every(page, "figure svg"))
    for link in every(page, "#overview a"):
        target = link.get_attribute("href").partition("#")[2]
        assert page.find_element(By.ID, target).tag_name == "article"
    here, links = page.current_url, [a.get_attribute("href") for a in every(page, ".use a")]
    for link, name in zip(sorted(links), sorted(NAMES), strict=True):
        page.get(link)
        assert page.find_element(By.ID, "title").text.endswith(name)
    page.get(here)
    assert page.get_log("browser") == []


@pytest.fixture(params=WORDS)
def either(page, request):
    """The gallery, or a page to explore a loss in; its name."""
    here = page.current_url
    page.get(here.replace("index.html", request.param))
    yield request.param
    page.get(here)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_read(page, either, scheme):
    """In both schemes text stands out from its ground as WCAG asks (4.5 to 1)."""
    with colours(page, scheme) as contrast:
        light, worst = contrast(WORDS[either])
    assert (light > 0.5) == (scheme == "light")
    assert worst >= 4.5


@pytest.mark.parametrize("width", [390, 600, 1200])
def test_no_window_needs_sideways_scrolling(page, either, width):
    """Not the page as a whole, and nothing sticks out but what scrolls by itself."""
    with window(page, width):
        wide, outside = page.execute_script(OUTSIDE)
        empty = [cell.is_displayed() for cell in every(page, "#overview td.empty")]
    assert wide <= width
    assert outside == []
    assert (either != "index.html") == (empty == [])
    assert width > 700 or not any(empty)
