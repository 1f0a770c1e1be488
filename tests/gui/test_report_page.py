"""The report page in a real browser: it asks nobody, fits a phone, is light or dark, and tells values at a cursor."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from knuckle.cli.main import main
from knuckle.farm.summary_page import RunFacts, summary_page
from knuckle.farm.take_rows import TakeRow, row_of
from knuckle.pipeline.evidence.evidence import MEASURE_INDEX, PARTS
from knuckle.pipeline.report_page.content import Pictures
from knuckle.pipeline.report_page.page import page as page_of
from knuckle.tests.gui.browser import Page, opened
from knuckle.tests.gui.conftest import OUT
from knuckle.tests.gui.test_review import spoilt
from knuckle.tests.pure.pipeline.test_report_page import HOSTILE, made_take

WIDE, PHONE = (1280, 900), (390, 844)
TAKES = [made_take(3000, ("left", "right"), text=HOSTILE), made_take(3000, ("left", "right"), text=HOSTILE, seed=1)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A page of two hostile takes, open from a file."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(page_of(TAKES, Pictures(note=HOSTILE)), encoding="utf-8")
    with opened(path.as_uri()) as found:
        found.wait_for("document.getElementById('time') !== null")
        yield found


def sized(page: Page, size: tuple[int, int], scheme: str = "light") -> None:
    width, height = size
    page.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == PHONE
    )
    page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": scheme}])


def test_nothing_is_asked_of_anybody_and_no_foreign_script_runs(page: Page) -> None:
    assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
    assert page.evaluate("window.hacked === undefined")
    # The policy stops what a browser would load or run all the same.
    page.evaluate(
        """document.body.insertAdjacentHTML("beforeend", "<img src='http://127.0.0.1:9/x' onerror='hacked = 1'>")"""
    )
    assert page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'asked', () => 'refused')") == "refused"
    assert page.evaluate("window.hacked === undefined")
    page.evaluate("document.body.lastElementChild.remove()")


@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_its_window_in_light_and_dark(page: Page, size: tuple[int, int], scheme: str) -> None:
    sized(page, size, scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(ground) > 600) == (scheme == "light")
    sizes = "[...document.querySelectorAll('main *')].map(one => parseFloat(getComputedStyle(one).fontSize))"
    assert page.evaluate(f"Math.min(...{sizes}) >= 12")
    page.picture(OUT / f"report_{scheme}_{'phone' if size == PHONE else 'wide'}.png", *size)


def test_the_cursor_tells_the_frame_and_each_value_there(page: Page) -> None:
    sized(page, WIDE)
    place = page.evaluate("""(() => {
      const drawing = document.querySelectorAll("svg.strip")[5];
      drawing.scrollIntoView({ block: "center" });
      const box = drawing.getBoundingClientRect();
      return [box.left + box.width / 2 + 0.5, box.top + 5];
    })()""")
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    page.wait_for("document.querySelector('#time span').textContent.startsWith('Frame 150')")
    reported = page.evaluate("""[...document.querySelectorAll(".plot")].find(
      plot => plot.textContent.startsWith("Ring fingertip")).querySelector("output").textContent""")
    column = TAKES[0].evidence.hands[0].values[1500:1505, PARTS.index("ring-finger"), MEASURE_INDEX["tip_error"]]
    assert reported.startswith(f"A {column.min():.1f} to {column.max():.1f} mm, B ")
    assert page.evaluate("document.querySelectorAll('.problems li.here').length") == 4, "both hands of both takes"


def test_keys_move_the_cursor_and_go_to_a_problem(page: Page) -> None:
    page.evaluate("document.querySelector('#time input').focus()")
    before = page.evaluate("Number(document.querySelector('#time input').value)")
    for kind in ("keyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key="ArrowRight", code="ArrowRight", windowsVirtualKeyCode=39)
    page.wait_for(f"document.querySelector('#time span').textContent.startsWith('Frame {before + 2},')")
    page.evaluate("document.querySelector('.problems li').focus()")
    page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13)
    page.wait_for("document.querySelector('#time span').textContent.startsWith('Frame 1501,')")


def test_it_is_printed_whole(page: Page) -> None:
    pdf = page.call("Page.printToPDF", printBackground=True)["data"]
    assert len(pdf) > 50_000


def test_it_is_readable_without_its_script(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page_of(TAKES[:1]), encoding="utf-8")
    with opened("about:blank") as plain:
        plain.call("Emulation.setScriptExecutionDisabled", value=True)
        plain.call("Page.navigate", url=path.as_uri())
        plain.wait_for("document.readyState === 'complete' && document.querySelector('main') !== null")
        assert plain.evaluate("document.getElementById('time') === null"), "the script has not run"
        shown = (
            "[...document.querySelectorAll('svg.over-time path')].filter(one => one.getBoundingClientRect().width > 0)"
        )
        assert plain.evaluate(f"{shown}.length > 60")
        assert "Frames 1501 to 1502, 15.00 to 15.01 s" in plain.evaluate("document.querySelector('main').innerText")


def test_pictures_of_the_worst_frames_are_on_the_page_of_a_real_take(tmp_path: Path) -> None:
    spoilt(tmp_path)
    takes = [tmp_path / "FABRIK.blend", tmp_path / "CGA, smoothed.blend"]
    for path, choices in zip(takes, ([], ["--solver", "cga", "--smoothing", "whole"]), strict=True):
        assert main(["solve", str(tmp_path / "spoilt_tap.json"), "--out", str(path), *choices]) == 0
    html = tmp_path / "report.html"
    assert main(["review", *map(str, takes), "--html", str(html)]) == 0
    with opened(html.as_uri()) as found:
        found.wait_for("document.getElementById('time') !== null")
        widths = found.evaluate("[...document.images].map(image => image.complete && image.naturalWidth)")
        assert widths == [360] * 2 * found.evaluate("document.querySelector('.problems').children.length")
        found.evaluate("document.querySelector('.problems li').click()")
        found.evaluate("document.querySelector('.problems li').blur()")
        found.wait_for("document.querySelector('#time span').textContent.startsWith('Frame 7')")
        found.picture(OUT / "report_page.png", 1100, 1420)


def test_the_summary_of_a_farm_fits_too_and_sorts_by_any_column(tmp_path: Path) -> None:
    rows = [
        replace(row_of(made_take(400, name=f"day{n % 3}/take-{n}", worst=5.0 * n), "", "Ada"), files=("report.html",))
        for n in range(12)
    ]
    failed = TakeRow(HOSTILE, HOSTILE, "failed", HOSTILE)
    path = tmp_path / "summary.html"
    path.write_text(summary_page([*rows, failed], RunFacts(HOSTILE, "0.1.0", 13, 9.0)), encoding="utf-8")
    with opened(path.as_uri()) as page:
        page.wait_for("document.querySelector('.takes.sorts') !== null")
        for size, scheme in ((WIDE, "light"), (PHONE, "dark")):
            sized(page, size, scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.picture(OUT / f"farm_{scheme}.png", *size)
        names = "[...document.querySelectorAll('.takes tbody a')].map(link => link.textContent)"
        assert page.evaluate(names)[:2] == ["day2/take-11", "day1/take-10"]
        page.evaluate("document.querySelectorAll('.takes thead button')[0].click()")
        assert page.evaluate(names)[:4] == ["day0/take-0", "day0/take-3", "day0/take-6", "day0/take-9"]
        page.evaluate("[...document.querySelectorAll('.takes thead button')].at(6).click()")
        assert page.evaluate(names)[0] == "day2/take-11", "the largest error"
        assert page.evaluate("document.querySelector('.takes th[aria-sort]').textContent") == "Max, mm"
        assert page.evaluate("window.hacked === undefined")
        assert [url for url in page.requests if not url.startswith("file:")] == []
