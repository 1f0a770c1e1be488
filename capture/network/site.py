"""The files that a listener serves to browsers, and the answers to requests for them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MAX_ANSWER_SIZE = 16 * 2**20
"""Maximum bytes of an answer; larger files must be requested in ranges."""
_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{1,15})", re.ASCII)
"""A Range header with the first and last byte."""


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file that browsers may request."""

    kind: str
    """Its Content-Type."""
    content: bytes | Path
    """The content, or the path of a file that is read at each request."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request."""

    status: int
    phrase: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServedSite:
    """A web page, its files and the path under which they are served."""

    files: Mapping[str, SiteFile]
    """File name -> file; the page itself has an empty name."""
    location_phrase: str
    """Where to open the page, as a phrase for the status line: "in the headset's browser"."""
    policy: str = ""
    """Content-Security-Policy of all files; empty if there is none."""
    folder: str = "/"
    """The path under which the files are served; also that of the WebSocket."""

    def answer(self, path: str, byte_range: str = "") -> Answer:
        """Return the answer to a GET of a path. byte_range: the request's Range header, may be empty."""
        name = path.partition("?")[0].removeprefix(self.folder) if path.startswith(self.folder) else None
        file = self.files.get(name) if name is not None else None
        if file is None:
            return _plain(404, "Not Found", f"There is no such file, only {self.folder} and what it needs\n")
        try:
            return self._content(file, byte_range)
        except OSError as error:
            return _plain(500, "Internal Server Error", f"{name}: cannot be read ({error.strerror})\n")

    def _content(self, file: SiteFile, byte_range: str) -> Answer:
        size = len(file.content) if isinstance(file.content, bytes) else file.content.stat().st_size
        requested = _RANGE.fullmatch(byte_range)
        first, last = (int(requested[1]), min(int(requested[2]), size - 1)) if requested else (0, size - 1)
        headers = self._headers(file.kind)
        if first > last and requested:
            return Answer(416, "Range Not Satisfiable", b"", headers | {"Content-Range": f"bytes */{size}"})
        if last - first + 1 > MAX_ANSWER_SIZE:
            if not requested:
                return _plain(
                    413, "Content Too Large", f"{size} bytes, expected a Range of {MAX_ANSWER_SIZE} at most\n"
                )
            last = first + MAX_ANSWER_SIZE - 1
        body = _read(file.content, first, last + 1)
        if not requested:
            return Answer(200, "OK", body, headers)
        return Answer(206, "Partial Content", body, headers | {"Content-Range": f"bytes {first}-{last}/{size}"})

    def _headers(self, kind: str) -> dict[str, str]:
        headers = {
            "Content-Type": kind,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-cache",
        }
        return headers | {"Content-Security-Policy": self.policy} if self.policy else headers


def _read(content: bytes | Path, start: int, stop: int) -> bytes:
    if isinstance(content, bytes):
        return content[start:stop]
    with content.open("rb") as file:
        file.seek(start)
        return file.read(stop - start)


def _plain(status: int, phrase: str, text: str) -> Answer:
    return Answer(status, phrase, text.encode(), {"Content-Type": "text/plain; charset=utf-8"})
