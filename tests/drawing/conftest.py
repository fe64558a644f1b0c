"""A real browser for the tests of pages: Chromium, where it is installed."""

import shutil
from contextlib import contextmanager

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
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


def find_programs():
    """The browser and its driver, or None where one is missing."""
    browser = next(filter(None, map(shutil.which, PROGRAMS)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium that keeps what pages write to the console."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    found = find_programs()
    if not found:
        pytest.skip("there is no Chromium with chromedriver (Debian: chromium, chromium-driver)")
    options = selenium.ChromeOptions()
    options.binary_location = found[0]
    wanted = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage")
    for word in (*wanted, "window-size=1300,900"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options=options, service=Service(found[1]))
    yield driver
    driver.quit()


@contextmanager
def window(browser, width):
    """A window of this width; a narrow one is that of a telephone."""
    screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def colours(browser, scheme):
    """The light or the dark scheme; a function from selectors to lightness and worst contrast."""
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        yield lambda selectors: browser.execute_script(CONTRAST, selectors)
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
