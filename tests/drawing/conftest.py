"""A real browser for the tests of pages: Chromium, where it is installed."""

import shutil

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


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
