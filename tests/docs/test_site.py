"""The built site: no warnings, no broken links, and in a real browser it loads, searches and filters without script errors."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--allow-file-access-from-files", "--window-size=1400,1000",
)  # fmt: skip
PAGES = (
    "index.html", "start/index.html", "start/coming_from_jax.html", "tutorials/debugging.html", "howto/backend.html",
    "reference/options.html", "reference/errors.html", "reference/matrix.html", "reference/names/plugjax.random.html",
    "developers/traps.html",
)  # fmt: skip

pytestmark = pytest.mark.site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "plugjax.docs", "-o", str(folder)],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    if not (BROWSER and DRIVER):
        pytest.skip("no chromium with its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield found
    found.quit()


def opened(browser, site, page):
    page, _, query = page.partition("?")
    browser.get((site / page).as_uri() + (query and f"?{query}"))
    assert [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []
    return browser


def wait(browser, condition):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 20).until(condition)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_loads(browser, site, page):
    assert "plugjax" in opened(browser, site, page).title
    assert browser.find_elements("css selector", "h1")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_both_modes(browser, site, mode, tmp_path):
    opened(browser, site, "index.html").execute_script(
        "localStorage.setItem('mode', arguments[0]); localStorage.setItem('theme', arguments[0])",
        mode,
    )
    opened(browser, site, "tutorials/debugging.html")
    assert browser.find_element("css selector", "html").get_attribute("data-theme") == mode
    assert browser.save_screenshot(str(tmp_path / f"{mode}.png"))


def test_output_of_blocks_is_shown(browser, site):
    text = opened(browser, site, "tutorials/debugging.html").page_source
    assert "(Pdb)" in text
    assert "BatchTracer" in text


def test_search_finds(browser, site):
    opened(browser, site, "search.html?q=fori_loop")
    found = wait(browser, lambda b: b.find_elements("css selector", "#search-results li a"))
    assert any("loops" in link.get_attribute("href") for link in found)


def test_the_matrix_is_filtered_and_sorted(browser, site):
    opened(browser, site, "reference/matrix.html")
    rows = lambda: browser.find_elements("css selector", "#matrix tbody tr")  # noqa: E731
    every = len(rows())
    assert every > 200
    browser.find_element("id", "matrix-words").send_keys("scatter")
    assert 0 < len(rows()) < 20
    browser.find_element("id", "matrix-words").clear()
    browser.execute_script(
        "const s = document.getElementById('matrix-state'); s.value = 'absent'; s.dispatchEvent(new Event('input'))"
    )
    assert 0 < len(rows()) < every
    browser.find_elements("css selector", "#matrix thead button")[2].click()
    first = browser.find_element("css selector", "#matrix tbody tr td.state-native a")
    target = first.get_attribute("href")
    assert ".html#L" in target
    browser.get(target)
    assert browser.find_elements("id", target.rpartition("#")[2])
