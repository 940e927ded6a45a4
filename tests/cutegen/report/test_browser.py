"""Reports in a real browser: opened, clicked, folded, driven by keys, on a phone, in the dark."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from test_report import hostile_run

from cutegen.report.writing import write_report

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
FLAGS = (
    "--no-sandbox",  # CI is root in a container
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
CONTRAST = Path(__file__).with_name("contrast.js")
PHONE = {"width": 375, "height": 740}
DESK = {"width": 1280, "height": 900}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed (apt-get install chromium)"),
]

Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens a file in a context of its own; whatever else is asked for, or goes wrong, fails."""
    contexts, asked, faults = [], [], []

    def open_file(file: Path, size: dict[str, int] = DESK, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport=size, color_scheme=scheme, reduced_motion="reduce", offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.goto(file.as_uri())
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert faults == []
    assert [url for url in asked if not url.startswith("file://")] == []


def test_the_top_answers_at_once(opened: Opener, suite: Path) -> None:
    page = opened(suite / "swish" / "report.html")
    assert "over eager" in page.title()
    expect(page.locator(".number")).to_have_text(re.compile("^2.42"))
    expect(page.locator(".number")).to_be_in_viewport()
    expect(page.locator(".verified")).to_be_in_viewport()
    # neither fonts nor anything else is fetched, and both plots are drawn
    assert page.locator("#summary .wide svg.cg-plot").bounding_box()["width"] > 900
    assert page.evaluate("performance.getEntriesByType('resource').length") == 0


def test_a_mark_leads_to_its_step_and_a_line_number_to_its_line(
    opened: Opener, suite: Path
) -> None:
    page = opened(suite / "matmul" / "report.html")
    page.locator("#trajectory .wide a[href='#step-3']").first.click()
    expect(page.locator("#step-3")).to_be_in_viewport()
    assert page.url.endswith("#step-3")
    # a line inside of what is folded away is shown when it is asked for
    hidden = page.locator("#s3-R1")
    expect(hidden).to_be_hidden()
    page.evaluate("location.hash = '#s3-R1'")
    expect(hidden).to_be_visible()
    expect(hidden).to_be_in_viewport()


def test_diffs_stand_side_by_side(opened: Opener, suite: Path) -> None:
    page = opened(suite / "matmul" / "report.html")
    diff = page.locator("#step-2 .diff")
    expect(diff).to_be_visible()  # an accepted step's is open
    block = diff.locator(".change").first
    gone, come = (
        block.locator(".del").first.bounding_box(),
        block.locator(".ins").first.bounding_box(),
    )
    assert gone["y"] == come["y"]
    assert gone["x"] + gone["width"] <= come["x"] + 1
    old, new = (diff.locator(f".ctx.{side}").first.bounding_box() for side in ("old", "new"))
    assert old["y"] == new["y"]
    page.locator("#step-2 .change > summary").click()
    expect(diff).to_be_hidden()


def test_keys_step_through_and_fold(opened: Opener, suite: Path) -> None:
    page = opened(suite / "matmul" / "report.html")

    def focused() -> str:
        return str(page.evaluate("document.activeElement.id"))

    page.keyboard.press("j")
    assert focused() == "step-0"
    for key in "jjjk":
        page.keyboard.press(key)
    assert focused() == "step-2"
    expect(page.locator("#step-2 h3")).to_be_in_viewport()
    expect(page.locator("#step-2 .diff")).to_be_visible()
    page.keyboard.press("d")
    expect(page.locator("#step-2 .diff")).to_be_hidden()
    page.keyboard.press("x")
    expect(page.locator("#step-6 .diff")).to_be_visible()
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("j")  # the dialog has the keyboard
    assert focused() != "step-3"
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()


def test_the_first_tab_skips_to_the_content(opened: Opener, suite: Path) -> None:
    page = opened(suite / "swish" / "report.html")
    page.keyboard.press("Tab")
    skip = page.locator(".skip")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_prompts_unfold(opened: Opener, suite: Path) -> None:
    page = opened(suite / "rms_norm" / "report.html")
    talk = page.locator("#step-1 .talk")
    reply = talk.locator("pre").last
    expect(reply).to_be_hidden()
    talk.locator("summary").first.click()
    expect(reply).to_be_visible()
    expect(reply).to_contain_text("INTENT: keep the row in registers")
    expect(talk.get_by_text("told beforehand")).to_be_visible()


@pytest.mark.parametrize("run", ["matmul", "rms_norm", "begun"])
def test_a_phone_needs_no_sideways_scrolling(opened: Opener, suite: Path, run: str) -> None:
    page = opened(suite / run / "report.html", PHONE)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    wide = page.evaluate(
        """[...document.querySelectorAll("main *")].filter((e) => !e.closest(".scroll, svg")
            && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.outerHTML)"""
    )
    assert wide == []
    assert page.evaluate(
        """[...document.querySelectorAll(".diff, .source, pre")]
            .every((e) => e.scrollWidth <= e.clientWidth + 1)"""
    )


def test_on_a_phone_a_diff_is_unified(opened: Opener, suite: Path) -> None:
    page = opened(suite / "matmul" / "report.html", PHONE)
    block = page.locator("#step-2 .change .change").first
    gone, come = (
        block.locator(".del").last.bounding_box(),
        block.locator(".ins").first.bounding_box(),
    )
    assert gone["x"] == come["x"]
    assert gone["y"] + gone["height"] <= come["y"] + 1
    expect(page.locator("#step-2 .ctx.old").first).to_be_hidden()
    expect(page.locator("#trajectory .narrow svg")).to_be_visible()
    expect(page.locator("#trajectory .wide svg")).to_be_hidden()


def _lightness(page: Page, selector: str, what: str) -> float:
    colour = page.evaluate(
        "([s, w]) => getComputedStyle(document.querySelector(s))[w]", [selector, what]
    )
    red, green, blue = map(int, re.findall(r"\d+", colour)[:3])
    return (red + green + blue) / 765


def test_light_and_dark_follow_the_system_until_somebody_chooses(
    opened: Opener, suite: Path
) -> None:
    file = suite / "swish" / "report.html"
    light, dark = opened(file), opened(file, scheme="dark")
    assert _lightness(light, "body", "backgroundColor") > 0.9
    assert _lightness(light, "h1", "color") < 0.4
    assert _lightness(dark, "body", "backgroundColor") < 0.15
    assert _lightness(dark, "h1", "color") > 0.7
    assert _lightness(dark, ".cg-plot tspan", "fill") > 0.7  # plots follow
    dark.get_by_role("button", name="Light / dark").click()
    assert _lightness(dark, "body", "backgroundColor") > 0.9
    dark.reload()
    assert _lightness(dark, "body", "backgroundColor") > 0.9  # and it is remembered


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(opened: Opener, suite: Path, scheme: str) -> None:
    """Contrast of at least 4.5 to 1 (WCAG AA) for every text that stands on a plain ground."""
    page = opened(suite / "matmul" / "report.html", scheme=scheme)
    assert page.evaluate(CONTRAST.read_text()) == []


def test_what_others_wrote_neither_runs_nor_loads(opened: Opener, tmp_path: Path) -> None:
    page = opened(write_report(hostile_run(tmp_path / "run")))
    expect(page.locator(".intent").first).to_contain_text("<script>alert(1)</script>")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1


def test_a_table_of_runs_is_sorted_searched_and_left(opened: Opener, suite: Path) -> None:
    page = opened(suite / "index.html")
    tasks = page.locator(".sortable tbody tr:visible th a")
    page.get_by_role("button", name="over eager").click()
    by_speed = ["rms_norm", "25_Swish", "1_Square_matrix_multiplication_", "rms_norm"]
    expect(tasks).to_have_text(by_speed)
    expect(page.locator("[aria-sort]")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="over eager").click()
    expect(tasks).to_have_text([*by_speed[2::-1], "rms_norm"])  # what is missing stays last
    page.keyboard.press("/")
    page.keyboard.type("swish")
    expect(tasks).to_have_text(["25_Swish"])
    expect(page.locator("#shown")).to_have_text("1 of 4")
    tasks.first.click()
    expect(page.locator("h1")).to_have_text("25_Swish")
    page.get_by_role("link", name="all runs").click()
    expect(page.locator("h1")).to_have_text("runs")


def test_a_table_of_runs_fits_a_phone(opened: Opener, suite: Path) -> None:
    page = opened(suite / "index.html", PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.get_by_role("button", name="over eager").click()
    expect(page.locator(".sortable tbody th a").first).to_have_text("rms_norm")
