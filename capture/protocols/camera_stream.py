"""Hands from the camera page (camera_page.py): JSON over a WebSocket, one object a message.

    {"kind": "live", "time_s": 1.25, "width": 1280, "height": 720, "hands": [{"handedness": "Left", "score": 0.98,
     "landmarks": [[x, y, z] * 21], "world_landmarks": [[x, y, z] * 21]}]}
    {"kind": "note", "text": a sentence about a problem with camera or picture; empty if there is none}
    {"kind": "start"}, when the user starts the camera, and when the page reconnects to Knuckle with the camera on
    {"kind": "leave"}, when the page is closed or reloaded

and the messages of a video, see camera_video.py. While a video is processed, its hands move the rig, too.

Each message has the name of its page, "page": "k3x9", since several browsers may send at the same time. Knuckle follows
the page that was started last, with its camera or its video; other pages that send get {"kind": "unfollowed"}. A note
alone does not make Knuckle follow its page, which may be idle.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath

from ...errors import PacketError
from ...hand.camera.picture_landmarks import PictureSize
from ..files.hand_json import Json, time_of
from ..files.mediapipe_json import exchange_sides, hands_in, picture_frame
from ..frame import Frame
from ..network.sender import OutgoingFrame
from ..network.websocket_sender import WebSocketClientSender
from .camera_video import MAX_PROBLEM_LENGTH, CameraVideo, CameraVideoAssembly, camera_hands, picture_size
from .json_packet import decode_json
from .landmark_stream import CAMERA, JOINT_INDICES, LandmarksParser
from .parser import Parser

UNFOLLOWED = json.dumps({"kind": "unfollowed"})
"""Answer to a page that is not followed."""
MAX_PAGE_LENGTH = 64
"""Maximum number of characters in the name of a page."""
MAX_VIDEOS = 4
"""Maximum number of videos that are buffered."""


class CameraParser(Parser):
    """Yields a frame for each live message and for each frame of a video, even without hands.

    A frame has the world landmarks as points, and the image landmarks.
    """

    def __init__(self) -> None:
        self._landmarks = LandmarksParser()
        self._video = CameraVideoAssembly()
        self._note = ""
        self._page: str | None = None
        """The page that is followed; None before its first message other than a note, and after it has left."""
        self._answer = ""
        self._size = PictureSize(1, 1)
        """Size of the video's pictures."""
        self._videos: deque[CameraVideo] = deque(maxlen=MAX_VIDEOS)
        """Videos that the page has processed, until take_captures returns them, oldest first."""

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        message = decode_json(packet, "landmarks of a camera")
        message = message if isinstance(message, dict) else {}
        page, self._answer = _page_of(message), ""
        previous_state = self._page, self._video, self._note
        if self._page is None and message.get("kind") == "note":
            return self._read(message)
        if page != self._page:
            if self._page is not None and message.get("kind") not in ("start", "video"):
                self._answer = UNFOLLOWED
                return []
            self._page, self._video, self._note = page, CameraVideoAssembly(), ""
        try:
            return self._read(message)
        except PacketError:
            self._page, self._video, self._note = previous_state
            raise

    def _read(self, message: dict[str, Json]) -> list[Frame]:
        kind = message.get("kind")
        if kind == "live":
            return self._frame(message, PictureSize(*picture_size(message)))
        if kind == "note":
            text = message.get("text")
            self._note = text[:MAX_PROBLEM_LENGTH] if isinstance(text, str) else ""
        elif kind in ("video", "frame", "end", "stopped"):
            video = self._video.feed(message)
            if video is not None:
                self._videos.append(video)
            if kind == "video":
                self._size = PictureSize(*picture_size(message))
            elif kind == "frame":
                return self._frame(message, self._size)
        elif kind == "leave":
            self._page, self._video, self._note = None, CameraVideoAssembly(), ""
        elif kind != "start":
            raise PacketError("JSON without a known kind, expected a message of Knuckle's camera page")
        return []

    def _frame(self, message: Json, size: PictureSize) -> list[Frame]:
        frame = {"hands": camera_hands(message)}
        hands = exchange_sides(hands_in(frame))
        landmarks = self._landmarks.frame_of(hands, time_of(message))
        return [replace(landmarks, picture=picture_frame(hands, size, sides_are_known=True))]

    def note(self) -> str:
        """See Parser."""
        return self._note

    def answer(self) -> str:
        """See Parser."""
        return self._answer

    def take_captures(self) -> list[tuple[str, bytes]]:
        """See Parser."""
        videos = [self._videos.popleft() for _ in range(len(self._videos))]
        return [(PurePath(video.source).stem, video.as_json()) for video in videos if video.hands]


def _page_of(message: dict[str, Json]) -> str:
    """Return the name of the page that sent a message; empty if it has none. Raises PacketError."""
    page = message.get("page", "")
    if not isinstance(page, str) or len(page) > MAX_PAGE_LENGTH:
        raise PacketError(f"the name of a page is not a text of at most {MAX_PAGE_LENGTH} characters")
    return page


class CameraSender(WebSocketClientSender):
    """Imitates the page, with a camera that sees both hands flat in the middle of its picture."""

    def messages(self, outgoing: OutgoingFrame) -> Iterator[str]:
        """See WebSocketClientSender."""
        hands = []
        for side, joints in outgoing.hands.items():
            points = joints[JOINT_INDICES, :3, 3] @ CAMERA
            picture = (points - points[:1]) * [1.0, 16 / 9, 1.0] + [0.3 if side == "left" else 0.7, 0.7, 0.0]
            handedness = "Right" if side == "left" else "Left"
            hands.append(
                {
                    "handedness": handedness,
                    "score": 0.99,
                    "landmarks": picture.tolist(),
                    "world_landmarks": points.tolist(),
                }
            )
        head = {"kind": "live", "time_s": outgoing.time, "width": 1280, "height": 720}
        yield json.dumps(head | {"hands": hands})
