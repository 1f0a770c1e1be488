"""The files of the camera page, as browsers ask for them."""

import http.client
import re
import time
from pathlib import Path

import pytest

from knuckle.capture.network import site as sites
from knuckle.capture.network.site import ServedSite, SiteFile
from knuckle.capture.network.transport import Address
from knuckle.capture.network.websocket import MAX_ANSWERS, WebSocketListener
from knuckle.capture.protocols import camera_page
from knuckle.errors import StreamError


def test_without_the_models_one_sentence_tells_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(camera_page, "ASSETS", ())
    with pytest.raises(StreamError, match=r"lacks its models.*camera_assets\.py"):
        camera_page.site()


@pytest.mark.usefixtures("assets")
def test_whatever_the_page_names_is_served() -> None:
    site = camera_page.site()
    page = site.answer("/").body.decode()
    named = set(re.findall(r'(?:src|href)="([^"]+)"', page))
    for script in sorted(camera_page.PAGE.glob("*.js")):
        named |= set(re.findall(r'from "\./([^"]+)"', script.read_text()))
    assert {"main.js", "camera.css", "mediabunny.min.mjs"} <= named
    assert {name: site.answer(f"/{name}").status for name in named} == dict.fromkeys(named, 200)


@pytest.mark.usefixtures("assets")
def test_the_page_and_its_scripts_name_no_other_host_and_have_nothing_inline() -> None:
    """The policy would forbid both; the page would not work."""
    for path in camera_page.PAGE.iterdir():
        if path.is_file():
            hosts = re.findall(r"(?:https?|wss?):?//[\w.]+", path.read_text())
            assert set(hosts) <= {"http://www.w3.org"}, path.name
    page = (camera_page.PAGE / "index.html").read_text()
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bon\w+=|\bstyle=", page)


@pytest.mark.usefixtures("assets")
def test_all_files_come_with_the_policy_and_their_kind() -> None:
    site = camera_page.site()
    kinds = {
        "/": "text/html",
        "/main.js": "text/javascript",
        "/model.wasm": "application/wasm",
        "/job.json": "application/json",
    }
    for path, kind in kinds.items():
        answer = site.answer(path)
        assert answer.headers["Content-Type"].startswith(kind)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        policy = dict(rule.split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split("; "))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == "'self' 'wasm-unsafe-eval'" and policy["connect-src"] == "'self'"


@pytest.mark.usefixtures("assets")
@pytest.mark.parametrize(
    "path",
    ["/../tests/conftest.py", "/..%2f..%2fetc/passwd", "/assets/", "/index.html", "//", "/main.js/", "", "main.js"],
)
def test_nothing_else_is_served(path: str) -> None:
    assert camera_page.site().answer(path).status == 404


@pytest.mark.usefixtures("assets")
def test_with_a_token_nothing_is_served_without_it() -> None:
    site = camera_page.site("/token/")
    assert site.answer("/token/").status == 200 and site.answer("/token/main.js").status == 200
    assert {path: site.answer(path).status for path in ("/", "/main.js", "/toke/", "/token", "/other/main.js")} == (
        dict.fromkeys(("/", "/main.js", "/toke/", "/token", "/other/main.js"), 404)
    )


CONTENT = bytes(range(100))


@pytest.mark.parametrize(
    ("asked", "status", "first", "stop"),
    [
        ("", 200, 0, 100),
        ("bytes=0-0", 206, 0, 1),
        ("bytes=10-19", 206, 10, 20),
        ("bytes=90-500", 206, 90, 100),
        ("bytes=100-120", 416, 0, 0),
        ("bytes=20-10", 416, 0, 0),
        ("bytes=-5", 200, 0, 100),
        ("bytes=0-1,5-6", 200, 0, 100),
    ],
)
def test_ranges_are_cut_out(tmp_path: Path, asked: str, status: int, first: int, stop: int) -> None:
    path = tmp_path / "video"
    path.write_bytes(CONTENT)
    for content in (CONTENT, path):
        answer = ServedSite({"video": SiteFile("video/mp4", content)}, "").answer("/video", asked)
        assert (answer.status, answer.body) == (status, CONTENT[first:stop])
        if status == 206:
            assert answer.headers["Content-Range"] == f"bytes {first}-{stop - 1}/100"


def test_an_answer_is_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "MAX_ANSWER_SIZE", 40)
    site = ServedSite({"video": SiteFile("video/mp4", CONTENT)}, "")
    assert site.answer("/video").status == 413
    cut = site.answer("/video", "bytes=10-99")
    assert (cut.status, cut.body, cut.headers["Content-Range"]) == (206, CONTENT[10:50], "bytes 10-49/100")


def test_a_file_that_is_gone_is_an_answer_too(tmp_path: Path) -> None:
    site = ServedSite({"video": SiteFile("video/mp4", tmp_path / "gone")}, "")
    assert site.answer("/video").status == 500


def test_ranges_arrive_through_the_socket_and_the_websocket_needs_the_token(address: Address) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    listener = WebSocketListener(address, ServedSite({"video": SiteFile("video/mp4", CONTENT)}, "", folder="/token/"))
    packets = listener.packets()
    next(packets)
    try:
        client = http.client.HTTPConnection(address.host, address.port, timeout=5)
        client.request("GET", "/token/video", headers={"Range": "bytes=5-9"})
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (206, CONTENT[5:10])
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://{address}/").__enter__()
        with connect(f"ws://{address}/token/") as page:
            page.send("hello")
            arrived = next(packet for packet in packets if packet is not None)
        assert arrived.content == b"hello"
    finally:
        packets.close()


def test_a_browser_that_asks_late_is_answered(address: Address) -> None:
    """On a busy computer; one that is cut off shows an error for good."""
    packets = WebSocketListener(address, ServedSite({"": SiteFile("text/html", b"page")}, "")).packets()
    next(packets)
    try:
        client = http.client.HTTPConnection(address.host, address.port, timeout=5)
        client.connect()
        time.sleep(3.0)
        client.request("GET", "/")
        assert client.getresponse().read() == b"page"
    finally:
        packets.close()


def test_a_page_is_answered_and_one_that_is_answered_too_often_is_disconnected(address: Address) -> None:
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

    packets = WebSocketListener(address, ServedSite({}, "")).packets()
    next(packets)
    try:
        with connect(f"ws://{address}/") as page:
            page.send("hello")
            arrived = next(packet for packet in packets if packet is not None)
            for number in range(MAX_ANSWERS + 1):
                arrived.answer(f"{number}")
            assert [page.recv(timeout=5) for _ in range(MAX_ANSWERS)] == [f"{each}" for each in range(MAX_ANSWERS)]
            with pytest.raises(ConnectionClosed):
                page.recv(timeout=5)
            arrived.answer("nobody is there")
    finally:
        packets.close()
