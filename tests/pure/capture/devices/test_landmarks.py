"""Landmarks of a camera over the network: hands keep their names while their claims flicker."""

import json
from typing import Any

import numpy as np
import pytest

from knuckle.capture.network.sender import OutgoingFrame
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.landmark_stream import LandmarksParser, LandmarksSender
from knuckle.errors import PacketError
from knuckle.tests.pure.capture.devices.moments import moments


def packet(moment: OutgoingFrame) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(next(LandmarksSender(Address()).packets(moment)))
    return sent


def owners(parser: LandmarksParser, sent: object) -> list[str]:
    (frame,) = parser.feed(json.dumps(sent).encode())
    return list(dict.fromkeys(name.partition(":")[0] for name in frame.names))


def test_a_hand_keeps_its_name_while_its_claim_flickers():
    parser = LandmarksParser()
    for number, moment in enumerate(moments(10)):
        sent = packet(moment)
        if number in (4, 7):
            for hand in sent["hands"]:
                hand["handedness"] = {"Left": "Right", "Right": "Left"}[hand["handedness"]]
        assert owners(parser, sent) == ["left", "right"], number


def test_two_hands_of_one_claim_are_two_hands():
    sent = packet(moments(1)[0])
    for hand in sent["hands"]:
        hand["handedness"] = "Right"
    assert owners(LandmarksParser(), sent) == ["right", "left"]


def test_no_hand_in_sight_is_no_fault_and_other_json_is():
    parser = LandmarksParser()
    assert list(parser.feed(b'{"time_s": 1, "hands": []}')) == []
    with pytest.raises(PacketError, match="without hands"):
        parser.feed(b'{"temperature": 21}')
    with pytest.raises(PacketError, match="not JSON"):
        parser.feed(b'{"hands": [')


def test_a_recorded_video_comes_as_its_file_has_it(shared):
    """Frame by frame, MediaPipe's landmarks of a video."""
    from knuckle import capture

    path = shared / "data" / "captures" / "mediapipe_video.json"
    whole = capture.read(path)
    document = json.loads(path.read_text())
    frames = document if isinstance(document, list) else next(v for v in document.values() if isinstance(v, list))
    parser, seen = LandmarksParser(), 0
    for row, frame in enumerate(frames[:80]):
        try:
            got = list(parser.feed(json.dumps(frame).encode()))
        except PacketError:
            continue
        for one in got:
            points = one.positions[np.isfinite(one.positions).all(axis=1)]
            known = whole.positions[row][np.isfinite(whole.positions[row]).all(axis=1)]
            near = np.abs(points[:, None] - known[None]).max(axis=2).min(axis=1)
            assert near.max() < 1e-9
            seen += len(points)
    assert seen > 500
