"""Landmarks of a video: messages of the camera page, which are assembled to a file.

    {"kind": "video", "source": "wave.mp4", "width": 1280, "height": 720, "rate": 29.97 or null, "frames": 48}
    {"kind": "frame", "time_s": 0.0333, "hands": [...]}, 48 times
    {"kind": "end"}, or {"kind": "stopped", "problem": sentence}

Image landmarks are fractions of the upright picture's width and height, from its upper left corner; z is MediaPipe's.
World landmarks are in m. Handedness is MediaPipe's, which assumes a mirrored picture: in an ordinary picture, "Left" is
a right hand.
"""

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import PacketError
from ..files.hand_json import Json, points_from
from ..files.mediapipe_json import CAMERA_FORMAT, CAMERA_VERSION, LANDMARKS
from ..marker_labels import quoted

MAX_FRAMES = 30_000
"""Maximum number of frames of a video: 17 minutes at 30 Hz. A longer file with two hands would be too large to read."""
MAX_SIDE = 16_384
"""Maximum width and height of a picture in pixels."""
MAX_HANDS = 2
"""Maximum number of hands in a frame."""
MAX_PROBLEM_LENGTH = 500
"""Maximum number of characters in a message about a problem."""


@dataclass(frozen=True, slots=True)
class CameraVideo:
    """The landmarks of a whole video."""

    source: str
    """The video's file name."""
    width: int
    height: int
    """Size of the upright picture in pixels."""
    rate: float | None
    """Hz; None if the steps between frames differ."""
    frames: tuple[bytes, ...] = ()
    """The frames as JSON, in chronological order."""
    hands: int = 0
    """Number of frames with at least one hand."""

    def as_json(self) -> bytes:
        """Return the contents of the file: JSON with a line for each frame."""
        head: dict[str, Any] = {"format": CAMERA_FORMAT, "version": CAMERA_VERSION, "source": self.source}
        head |= {"width": self.width, "height": self.height, "rate": self.rate}
        text = json.dumps(head, ensure_ascii=False)[:-1].encode("utf-8", errors="backslashreplace")
        return text + b', "frames": [\n' + b",\n".join(self.frames) + b"\n]}\n"


@dataclass(slots=True)
class CameraVideoAssembly:
    """Assembles a video from the page's messages."""

    expected: int = 0
    """Number of frames that the page announced."""
    problem: str = ""
    """Why the page stopped; empty if it did not."""
    _head: CameraVideo | None = None
    _frames: list[bytes] = field(default_factory=list)
    _hands: int = 0
    _time: float = -math.inf

    @property
    def received(self) -> int:
        """Number of frames received so far."""
        return len(self._frames)

    def feed(self, message: Json) -> CameraVideo | None:
        """Add a message. Return the video if it is now complete, else None.

        Raises PacketError for an unexpected message, and discards the video.
        """
        kind = message.get("kind") if isinstance(message, dict) else None
        try:
            if kind == "video":
                self._start(message)
            elif kind == "frame":
                self._add(message)
            elif kind == "end":
                return self._end()
            elif kind == "stopped":
                problem = message.get("problem")
                self.problem = (
                    problem[:MAX_PROBLEM_LENGTH] if isinstance(problem, str) and problem else "no reason given"
                )
                self._head = None
        except PacketError:
            self._head = None
            raise
        return None

    def _start(self, message: dict[str, Json]) -> None:
        source, rate, frames = message.get("source"), message.get("rate"), message.get("frames")
        if not isinstance(source, str) or not 0 < len(source) <= 255:
            raise PacketError("a video without a name")
        if not isinstance(frames, float) or not 1 <= frames <= MAX_FRAMES:
            raise PacketError(f"a video of {quoted(str(frames))} frames, expected 1 to {MAX_FRAMES}")
        if rate is not None and not (isinstance(rate, float) and 0 < rate < 1e5):
            raise PacketError(f"a video with a rate of {quoted(str(rate))}, expected Hz or null")
        width, height = picture_size(message)
        self._head, self.expected, self.problem = CameraVideo(source, width, height, rate), int(frames), ""
        self._frames, self._hands, self._time = [], 0, -math.inf

    def _add(self, message: dict[str, Json]) -> None:
        if self._head is None:
            raise PacketError("a frame without a video")
        if len(self._frames) >= self.expected:
            raise PacketError(f"more frames of {quoted(self._head.source)} than the {self.expected} announced")
        time_s, hands = message.get("time_s"), camera_hands(message)
        if not isinstance(time_s, float) or not self._time < time_s < 1e9:
            raise PacketError(
                f"frame {len(self._frames) + 1} of {quoted(self._head.source)} is not later than the last"
            )
        self._time = time_s
        self._hands += bool(hands)
        self._frames.append(json.dumps({"time_s": time_s, "hands": hands}).encode())

    def _end(self) -> CameraVideo:
        head, self._head = self._head, None
        if head is None:
            raise PacketError("the end of a video that has not started")
        if len(self._frames) != self.expected:
            raise PacketError(f"{len(self._frames)} frames of {quoted(head.source)} received, expected {self.expected}")
        return CameraVideo(head.source, head.width, head.height, head.rate, tuple(self._frames), self._hands)


def picture_size(message: dict[str, Json]) -> tuple[int, int]:
    """Return the width and height in pixels of a message's picture. Raises PacketError if they are invalid."""
    size = message.get("width"), message.get("height")
    if not all(isinstance(side, float) and 1 <= side <= MAX_SIDE for side in size):
        raise PacketError(f"a picture of {quoted(f'{size[0]} x {size[1]}')} pixels, expected 1 to {MAX_SIDE}")
    return int(size[0]), int(size[1])  # type: ignore[arg-type]  # both are float


def camera_hands(message: dict[str, Json]) -> list[dict[str, Any]]:
    """Return the hands of a frame, reduced to their known fields. Raises PacketError if they are invalid."""
    hands = message.get("hands")
    if not isinstance(hands, list) or len(hands) > MAX_HANDS or not all(isinstance(hand, dict) for hand in hands):
        raise PacketError(f"a frame without 'hands', expected a list of {MAX_HANDS} at most")
    return [_hand(hand) for hand in hands]


def _hand(hand: dict[str, Json]) -> dict[str, Any]:
    handedness, score = hand.get("handedness"), hand.get("score")
    if handedness not in ("Left", "Right") or not isinstance(score, float) or not 0 <= score <= 1.01:
        raise PacketError("a hand without handedness and score, expected Left or Right and 0 to 1")
    fields: dict[str, Any] = {"handedness": handedness, "score": score}
    for name, limit in (("landmarks", 100.0), ("world_landmarks", 10.0)):
        points = points_from(hand.get(name), (len(LANDMARKS),))
        if points is None or not (np.abs(points) <= limit).all():
            raise PacketError(f"a hand's {name} are not {len(LANDMARKS)} points with coordinates up to {limit:g}")
        fields[name] = points.tolist()
    return fields
