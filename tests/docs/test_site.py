"""The built site: no warnings, no broken links, and in a real browser it loads, searches and filters without script errors."""

import re
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
    "tutorials/transformer.html", "tutorials/neural_ode.html", "tutorials/bayesian.html", "howto/option.html",
    "howto/exporter.html", "howto/embed.html", "howto/devices.html", "how_it_works/index.html", "how_it_works/house.html",
    "how_it_works/sine.html", "how_it_works/gradient.html", "how_it_works/mathematics.html",
    "reference/options.html", "reference/errors/index.html", "reference/errors/ConcretizationTypeError.html", "reference/matrix.html", "reference/names/plugjax.random.html",
    "developers/traps.html",
)  # fmt: skip

# The first test waits for the build, which runs every block of the site.
pytestmark = [pytest.mark.site, pytest.mark.timeout(1800)]


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


def test_every_block_was_run(site):
    text = "(not run when this page was built"
    assert [p.name for p in site.rglob("*.html") if text in p.read_text(encoding="utf-8")] == []


def test_no_page_loads_from_another_host(site):
    loads = re.compile(r"""<(?:script|link|img)[^>]*(?:src|href)=["']?(?:https?:)?//""")
    pages = [p for p in site.rglob("*.html") if p.relative_to(site).parts[0] != "_static"]
    assert [p.name for p in pages if loads.search(p.read_text(encoding="utf-8"))] == []


def test_formulas_are_drawn_by_the_browser(browser, site):
    opened(browser, site, "how_it_works/mathematics.html")
    formulas = browser.find_elements("css selector", "math")
    assert len(formulas) > 50
    assert all(formula.size["width"] > 0 for formula in formulas)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_a_click_on_a_room_of_the_house_shows_it(browser, site, mode):
    opened(browser, site, "how_it_works/house.html").execute_script(
        "document.documentElement.dataset.theme = arguments[0]", mode
    )
    room = lambda name: browser.find_element("css selector", f'[data-room="{name}"]')  # noqa: E731
    title = lambda: browser.find_element("css selector", "#house-room h2").text  # noqa: E731
    room("lax").find_element("css selector", "rect").click()
    assert title() == "plugjax.lax"
    assert "chosen" in room("lax").get_attribute("class")
    assert "user" in room("numpy").get_attribute("class")
    assert "used" in room("extend").get_attribute("class")
    assert len(browser.find_elements("css selector", "#house-room li")) > 50
    room("core").send_keys("\n")
    assert title() == "plugjax.core"
    browser.find_element("css selector", "#house-room .neighbours.user button").click()
    assert title() not in ("plugjax.core", "plugjax.lax")
    chosen, other = (
        room(name).find_element("css selector", "rect").value_of_css_property("fill")
        for name in (
            browser.find_element("css selector", ".room.chosen").get_attribute("data-room"),
            "tools",
        )
    )
    assert chosen != other
    assert [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE"] == []


def test_stages_stand_side_by_side(browser, site):
    opened(browser, site, "how_it_works/gradient.html")
    first = browser.find_element("css selector", ".side-by-side")
    left, right = first.find_elements("xpath", "./*")
    assert left.location["y"] == right.location["y"]
    assert left.location["x"] < right.location["x"]


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
    heads = lambda: len(browser.find_elements("css selector", "#matrix thead button"))  # noqa: E731
    before = heads()
    browser.find_element("id", "matrix-all").click()
    assert heads() > before + 10
    browser.find_element("id", "matrix-all").click()
    browser.find_elements("css selector", "#matrix thead button")[2].click()
    first = browser.find_element("css selector", "#matrix tbody tr td.state-native a")
    target = first.get_attribute("href")
    assert ".html#L" in target
    browser.get(target)
    assert browser.find_elements("id", target.rpartition("#")[2])
