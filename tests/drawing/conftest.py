"""A real browser for the tests of pages: Debian's Chromium, installed if that can be done."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PACKAGES = ("chromium", "chromium-driver")
SECONDS = 300


def find_programs():
    """The browser and its driver, or None where one is missing."""
    browser = next(filter(None, map(shutil.which, PROGRAMS)), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def install_programs():
    """Installs them with apt where that is allowed; returns why it was not done, or nothing."""
    if os.environ.get("FSMEU_NO_INSTALL"):
        return "FSMEU_NO_INSTALL is set"
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return "only root can install it, with apt-get"
    lock = Path(tempfile.gettempdir()) / "fsmeu-browser.lock"
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # one worker installs, the others wait for it
        if find_programs():
            return ""
        quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "timeout": SECONDS}
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        try:
            for words in (["update"], ["install", "-y", "--no-install-recommends", *PACKAGES]):
                subprocess.run(["apt-get", "-qq", *words], check=True, env=environment, **quiet)
        except (OSError, subprocess.SubprocessError) as error:
            return f"apt-get failed ({error})"
    return ""


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium that keeps what pages write to the console."""
    selenium = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    from selenium.webdriver.chrome.service import Service

    reason = "" if find_programs() else install_programs()
    found = find_programs()
    if not found:
        pytest.skip(f"there is no Chromium with chromedriver: {reason}")
    options = selenium.ChromeOptions()
    options.binary_location = found[0]
    wanted = ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage")
    for word in (*wanted, "window-size=1300,900"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = selenium.Chrome(options=options, service=Service(found[1]))
    yield driver
    driver.quit()
