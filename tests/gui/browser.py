"""A page in Chromium without a window, driven by its DevTools protocol."""

import base64
import fcntl
import json
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from knuckle.capture.devices.browser import find_browser, headless
from knuckle.errors import StreamError
from knuckle.tests.pure.capture.devices.sockets import free_address

ROOT = Path(__file__).parents[2]
FAKE_CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
SECONDS = 180


def bring_browser() -> Path:
    """Chromium, installed where it is missing."""
    try:
        return find_browser()
    except StreamError:
        with Path(tempfile.gettempdir(), "knuckle-chromium.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of several windows at once one installs it
            subprocess.run([ROOT / "tools" / "setup.sh", "chromium"], check=True)
        return find_browser()


class Page:
    """An open page."""

    def __init__(self, connection: ClientConnection) -> None:
        self.requests: list[str] = []
        """URLs that it and its workers have asked for."""
        self._connection, self._number = connection, 0
        self.call("Network.enable")
        self.call("Page.enable")
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """The answer to a call of the protocol. Raises RuntimeError."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        self._connection.send(json.dumps(message))
        while True:
            answer = json.loads(self._connection.recv(SECONDS))
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif event.get("method") == "Network.webSocketCreated":
            self.requests.append(parameters["url"])
        elif event.get("method") == "Target.attachedToTarget":
            session = parameters["sessionId"]
            for method in ("Network.enable", "Runtime.runIfWaitingForDebugger"):
                self._number += 1
                self._connection.send(json.dumps({"id": self._number, "method": method, "sessionId": session}))

    def evaluate(self, expression: str) -> Any:
        """The value of an expression, awaited. Raises RuntimeError for an exception in it."""
        reported = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        if "exceptionDetails" in reported:
            raise RuntimeError(reported["exceptionDetails"].get("exception", {}).get("description", reported))
        return reported["result"].get("value")

    def text(self, part: str) -> str:
        """What an element says."""
        return str(self.evaluate(f"document.getElementById({part!r}).textContent"))

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true. Raises TimeoutError with what the page says."""
        end = time.monotonic() + SECONDS
        while not self._is_true(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"{expression}: the page says {self.text('said')!r}")
            time.sleep(0.1)

    def _is_true(self, expression: str) -> bool:
        """Whether an expression is true now; not while one page gives way to the next."""
        try:
            return bool(self.evaluate(expression))
        except RuntimeError as error:
            if "navigated" in str(error):
                return False
            raise

    def wait_for_text(self, part: str, text: str) -> None:
        """Wait until an element says something."""
        self.wait_for(f"document.getElementById({part!r})?.textContent.includes({text!r})")

    def picture(self, path: Path, width: int, height: int) -> None:
        """Save a picture of the page in a window of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))


@contextmanager
def opened(url: str, flags: Sequence[str] = ()) -> Iterator[Page]:
    """Open a page in a browser without a window."""
    port = free_address().port
    debugging = (f"--remote-debugging-port={port}", "--remote-allow-origins=*")
    with (
        headless(bring_browser(), "about:blank", (*debugging, *flags)),
        connect(_new_tab(port), open_timeout=SECONDS, max_size=None, ping_interval=None) as connection,
    ):
        page = Page(connection)
        page.call("Page.navigate", url=url)
        yield page


def _new_tab(port: int) -> str:
    """The debugger's URL of a tab of its own: the first has a start page, which leads elsewhere when it comes."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/json/new?about:blank", method="PUT")
    end = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return str(json.load(answer)["webSocketDebuggerUrl"])
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
