"""The claims page and Snakemake's report in a real browser that has no network."""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.workflow.conftest import ROOT, Study

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no chromium with chromedriver on this machine"
)
SCREENS = [
    pytest.param((width, scheme), id=f"{width}-{scheme}")
    for width in (380, 1400)
    for scheme in ("light", "dark")
]
# Every visible piece of text with its size (px) and its contrast against what is
# painted behind it (WCAG 2.2, success criterion 1.4.3).
TEXTS = """
const channel = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
const parse = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
const light = ([r, g, b]) =>
  .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
const behind = e => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > .99) return c;
  }
  return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim(), e = walker.currentNode.parentElement;
  if (!text || !e.checkVisibility() || e.closest('script, style, svg')) continue;
  const style = getComputedStyle(e);
  const a = light(parse(style.color)), b = light(behind(e));
  const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  found.push([text.slice(0, 40), parseFloat(style.fontSize), contrast]);
}
return found;
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(BROWSER)
    for switch in (
        *("headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run"),
        *("disable-background-networking", "disable-component-update", "disable-sync"),
        *("disable-dev-shm-usage", "host-resolver-rules=MAP * ~NOTFOUND"),
    ):
        options.add_argument(f"--{switch}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def report(finished: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report as `make report` makes it, unpacked."""
    folder = tmp_path_factory.mktemp("report")
    command = [sys.executable, "-m", "snakemake", "--cores", "1"]
    command += ["--configfile", str(finished.config), "--nolock"]
    command += ["--report", str(folder / "report.zip")]
    command += ["--report-stylesheet", str(ROOT / "workflow/report/style.css")]
    subprocess.run(command, cwd=finished.root, check=True, capture_output=True)
    with zipfile.ZipFile(folder / "report.zip") as archive:
        archive.extractall(folder)
    return folder / "report/report.html"


def show(browser: webdriver.Chrome, page: Path, screen: tuple[int, str]) -> None:
    """Open a page on a screen of that width (px) and colour scheme."""
    width, scheme = screen
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get_log("performance")
    browser.get(page.as_uri())


def requested(browser: webdriver.Chrome) -> set[str]:
    """The schemes of all addresses that were asked for since the page was opened."""
    messages = [json.loads(e["message"]) for e in browser.get_log("performance")]
    events = [entry["message"] for entry in messages]
    return {
        urlsplit(event["params"]["request"]["url"]).scheme
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    }


def fits(browser: webdriver.Chrome) -> bool:
    """Whether nothing is wider than the screen."""
    script = "return document.documentElement.scrollWidth <= innerWidth"
    return bool(browser.execute_script(script))


def shown(browser: webdriver.Chrome, picture: WebElement) -> bool:
    """Whether a picture has been decoded, once it is in view."""
    browser.execute_script("arguments[0].scrollIntoView()", picture)
    script = "const i = arguments[0]; return i.complete && i.naturalWidth > 100"
    wait = WebDriverWait(browser, 20)
    return bool(wait.until(lambda _: browser.execute_script(script, picture)))


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_of_claims(
    browser: webdriver.Chrome, finished: Study, screen: tuple[int, str]
) -> None:
    page = finished.root / "results/claims.html"
    show(browser, page, screen)
    assert "What Softmax Throws Away" in browser.title
    assert fits(browser)
    texts = browser.execute_script(TEXTS)
    assert len(texts) > 200
    assert [text for text in texts if text[1] < 12 or text[2] < 4.5] == []
    pictures = browser.find_elements(By.TAG_NAME, "img")
    assert len(pictures) > 5
    assert all(shown(browser, picture) for picture in pictures)
    assert requested(browser) <= {"file", "data"}


def test_every_link_of_the_page_of_claims_leads_somewhere(
    browser: webdriver.Chrome, finished: Study
) -> None:
    show(browser, finished.root / "results/claims.html", (1400, "light"))
    links = browser.find_elements(By.TAG_NAME, "a")
    inner, files, outer = set(), set(), set()
    for link in links:
        parts = urlsplit(str(link.get_attribute("href")))
        if parts.scheme != "file":
            outer.add(f"{parts.scheme}://{parts.netloc}")
        elif parts.path.endswith("claims.html"):
            inner.add(unquote(parts.fragment))
        else:
            files.add(unquote(parts.path))
    assert len(inner) > 20
    assert all(browser.find_elements(By.ID, name) for name in inner)
    assert all(Path(path).is_file() for path in files)
    assert outer == {"https://arxiv.org"}


def visit(browser: webdriver.Chrome, text: str) -> None:
    """Follow an entry of the report's menu."""
    path = f"//*[@id='app']//*[normalize-space(text())='{text}']"
    wait = WebDriverWait(browser, 20)
    entry = wait.until(lambda driver: driver.find_element(By.XPATH, path))
    browser.execute_script("arguments[0].click()", entry)


@pytest.mark.parametrize("screen", SCREENS)
def test_the_report(
    browser: webdriver.Chrome, finished: Study, report: Path, screen: tuple[int, str]
) -> None:
    show(browser, report, screen)
    visit(browser, "Figures")
    assert fits(browser)
    style = "return getComputedStyle(document.documentElement).filter"
    assert (browser.execute_script(style) != "none") == (screen[1] == "dark")
    # the menu stands beside what it shows, or above it where there is no room
    menu = browser.find_element(By.CSS_SELECTOR, "#app > div > nav").rect
    pane = browser.find_element(By.CSS_SELECTOR, "#app > div > div.grow").rect
    beside = pane["x"] >= menu["x"] + menu["width"] - 1
    assert beside if screen[0] > 640 else pane["y"] >= menu["y"] + menu["height"] - 1
    assert pane["width"] >= 0.7 * screen[0]
    visit(browser, "picture")
    rows = browser.find_elements(By.CSS_SELECTOR, "#app tbody tr")
    drawn = {path.stem for path in (finished.root / "results/figures").glob("*.png")}
    assert {row.text.strip() for row in rows} == drawn
    for row in rows:
        eye = row.find_element(By.CSS_SELECTOR, "a[iconname=eye]")
        browser.execute_script("arguments[0].click()", eye)
        find = "#app > div > div.grow img"
        wait = WebDriverWait(browser, 20)
        picture = wait.until(lambda d: d.find_element(By.CSS_SELECTOR, find))  # noqa: B023
        assert shown(browser, picture)
        assert picture.rect["width"] <= screen[0]
    assert requested(browser) <= {"file", "data"}


def test_the_files_that_the_report_links_are_in_it(
    browser: webdriver.Chrome, report: Path
) -> None:
    show(browser, report, (1400, "light"))
    names = set()
    for section in ("Figures", "Tables", "Claims"):
        visit(browser, section)
        for link in browser.find_elements(By.CSS_SELECTOR, "#app tbody a"):
            parts = urlsplit(str(link.get_attribute("href")))
            if not parts.path.endswith("report.html"):
                assert Path(unquote(parts.path)).is_file()
                names.add(Path(parts.path).name)
        show(browser, report, (1400, "light"))
    assert {"fig1.csv", "table3.csv", "claims.csv"} <= names
