"""What the camera page sends: live frames, notes, and videos that become captures."""

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle import capture
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import Packet, RawTakeHeader, read_header, read_packets
from knuckle.capture.devices.raw_take_recorder import Recorder, utc_now
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.camera_stream import CameraParser
from knuckle.capture.protocols.camera_video import MAX_FRAMES, CameraVideoAssembly
from knuckle.errors import CaptureError, PacketError
from knuckle.hand.camera.picture_landmarks import PictureSize

from .sockets import listening, wait_for

RNG = np.random.default_rng(5)
POINTS = RNG.normal(0.0, 0.05, (21, 3)).round(6)
HEAD = {"kind": "video", "source": "wave.mp4", "width": 1280.0, "height": 720.0, "rate": 25.0}


def hand(word: str = "Left", move: float = 0.0) -> dict[str, Any]:
    picture = 0.5 + POINTS + [move, 0.0, 0.0]
    return {"handedness": word, "score": 0.98, "landmarks": picture.tolist(), "world_landmarks": POINTS.tolist()}


def frame(time_s: float, *hands: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "frame", "time_s": time_s, "hands": list(hands)}


def fed(*messages: dict[str, Any]) -> CameraParser:
    parser = CameraParser()
    for message in messages:
        list(parser.feed(json.dumps(message).encode()))
    return parser


def a_video(times: list[float], rate: float | None = 25.0) -> list[dict[str, Any]]:
    frames = [frame(time, *([] if index == 1 else [hand(move=0.001 * index)])) for index, time in enumerate(times)]
    return [HEAD | {"rate": rate, "frames": len(times)}, *frames, {"kind": "end"}]


@pytest.mark.parametrize(
    ("times", "rate"), [([0.0, 0.04, 0.08, 0.12, 0.16], 25.0), ([0.0, 0.033, 0.1, 0.117, 0.3], None)]
)
def test_a_video_becomes_a_capture_with_every_frame_at_its_time(tmp_path, times, rate):
    ((name, content),) = fed(*a_video(times, rate)).take_captures()
    document = json.loads(content)
    assert (name, document["source"], document["rate"]) == ("wave", "wave.mp4", rate)
    assert [each["time_s"] for each in document["frames"]] == times
    path = tmp_path / "wave.json"
    path.write_bytes(content)
    markers = capture.read(path)
    assert markers.times == pytest.approx(times)
    seen = np.isfinite(markers.positions).all(axis=(1, 2))
    assert seen.tolist() == [True, False, True, True, True], "a frame without a hand stays, as a gap"
    # MediaPipe's axes are x right, y down, z away; Blender's x right, y away, z up.
    assert markers.positions[0] == pytest.approx(POINTS @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]), abs=1e-6)


def test_the_word_is_for_a_mirrors_picture(tmp_path):
    """In an ordinary picture a right hand is called Left: 92 of 92 frames of a right hand that was rendered."""
    parser = CameraParser()
    live = {"kind": "live", "time_s": 1.0, "width": 1280, "height": 720, "hands": [hand("Left")]}
    (seen,) = parser.feed(json.dumps(live).encode())
    assert {name.partition(":")[0] for name in seen.names} == {"right"}
    ((_, content),) = fed(*a_video([0.0, 0.04, 0.08])).take_captures()
    path = tmp_path / "wave.json"
    path.write_bytes(content)
    assert {name.partition(":")[0] for name in capture.read(path).names} == {"right"}


def test_captures_are_handed_out_once_and_those_without_a_hand_never():
    parser = fed(*a_video([0.0, 0.1, 0.2]), HEAD | {"frames": 1}, frame(0.0), {"kind": "end"})
    assert [name for name, _ in parser.take_captures()] == ["wave"]
    assert parser.take_captures() == []


def test_a_note_is_reported_until_it_is_taken_back():
    reported = {"kind": "note", "text": "No hand is seen."}
    assert fed(reported).note() == "No hand is seen."
    assert fed(reported, reported | {"text": ""}).note() == ""


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([frame(0.0)], "a frame without a video"),
        ([{"kind": "end"}], "the end of a video that has not started"),
        ([HEAD | {"frames": 2}, frame(0.0), {"kind": "end"}], "1 frames of 'wave.mp4' received, expected 2"),
        ([HEAD | {"frames": 1}, frame(0.0), frame(0.1)], "more frames"),
        ([HEAD | {"frames": 3}, frame(0.1), frame(0.1)], "frame 2 of 'wave.mp4' is not later"),
        ([HEAD | {"frames": 3}, frame(0.1), frame(0.05)], "frame 2 of 'wave.mp4' is not later"),
        ([HEAD | {"frames": MAX_FRAMES + 1}], "expected 1 to"),
        ([HEAD | {"frames": 1, "width": 0}], "a picture of"),
        ([HEAD | {"frames": 1, "rate": 0}], "a rate of"),
        ([HEAD | {"frames": 1, "source": ""}], "without a name"),
        ([HEAD | {"frames": 1}, frame(0.0, hand("Middle"))], "Left or Right"),
        ([HEAD | {"frames": 1}, frame(0.0, hand() | {"landmarks": [[1, 2, 3]]})], "landmarks are not 21 points"),
        ([HEAD | {"frames": 1}, frame(0.0, hand() | {"world_landmarks": [[1, 2, 1e300]] * 21})], "world_landmarks"),
        ([HEAD | {"frames": 1}, frame(0.0, hand(), hand(), hand())], "2 at most"),
        ([{"kind": "else"}], "without a known kind"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(messages, problem):
    with pytest.raises(PacketError, match=problem):
        fed(*messages)


def test_a_video_that_was_refused_leaves_nothing_behind():
    parser = fed(HEAD | {"frames": 3}, frame(0.1, hand()))
    with pytest.raises(PacketError):
        parser.feed(json.dumps(frame(0.05)).encode())
    with pytest.raises(PacketError, match="the end of a video that has not started"):
        parser.feed(b'{"kind": "end"}')
    assert parser.take_captures() == []


def test_a_page_that_stops_says_why():
    assembly = CameraVideoAssembly()
    assembly.feed(HEAD | {"frames": 2.0})
    assert assembly.feed({"kind": "stopped", "problem": "wave.mp4 is truncated"}) is None
    assert assembly.problem == "wave.mp4 is truncated"


LIVE = {"kind": "live", "time_s": 1.0, "width": 1280, "height": 720, "hands": [hand()]}


def of(page: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"page": page, **message} for message in messages]


def heard(parser: CameraParser, message: dict[str, Any]) -> tuple[int, str]:
    """Frames that a message gives, and the answer to its page."""
    frames = len(list(parser.feed(json.dumps(message).encode())))
    return frames, json.loads(parser.answer() or '{"kind": ""}')["kind"]


def test_of_two_pages_the_one_started_last_is_followed_and_the_other_reported():
    parser = CameraParser()
    (live_a, live_b), unfollowed = (of(page, LIVE)[0] for page in "ab"), (0, "unfollowed")
    assert heard(parser, live_a) == (1, "") and heard(parser, live_b) == unfollowed
    assert heard(parser, of("b", {"kind": "note", "text": "It is dark."})[0]) == unfollowed and parser.note() == ""
    assert heard(parser, of("b", {"kind": "start"})[0]) == (0, "")
    assert heard(parser, live_b) == (1, "") and heard(parser, live_a) == unfollowed
    head, first, *_ = of("a", *a_video([0.0, 0.1]))
    assert heard(parser, head) == (0, "") and heard(parser, first) == (1, "")
    assert heard(parser, live_b) == unfollowed


def test_a_page_that_waits_is_not_followed_for_its_note():
    waits = {"kind": "note", "text": "The camera page is open and waits."}
    parser = CameraParser()
    assert heard(parser, of("idle", waits)[0]) == (0, "") and parser.note() == waits["text"]
    assert heard(parser, of("b", LIVE)[0]) == (1, "") and parser.note() == ""
    assert heard(parser, of("idle", waits)[0]) == (0, "unfollowed") and parser.note() == ""


def test_the_next_page_is_followed_after_one_that_has_gone():
    reported, leave = {"kind": "note", "text": "It is dark."}, {"kind": "leave"}
    parser = CameraParser()
    assert heard(parser, of("a", LIVE)[0]) == (1, "")
    assert heard(parser, of("b", leave)[0]) == (0, "unfollowed") and heard(parser, of("a", LIVE)[0]) == (1, "")
    assert [heard(parser, message) for message in of("a", reported, leave)] == [(0, "")] * 2 and parser.note() == ""
    assert heard(parser, of("b", reported)[0]) == (0, "") and parser.note() == "It is dark."
    assert heard(parser, of("b", LIVE)[0]) == (1, "")


@given(st.permutations([0] * 5 + [1] * 5))
def test_two_videos_at_once_are_never_mixed(order):
    """Whatever the order in which the messages of two pages come."""
    sent = [of("a", *a_video([0.0, 0.1, 0.2])), of("b", *a_video([0.5, 0.6, 0.7]))]
    parser, waiting, start = CameraParser(), [iter(sent[0]), iter(sent[1])], [9, 9]
    for place, which in enumerate(order):
        message = next(waiting[which])
        start[which] = place if message["kind"] == "video" else start[which]
        reported = heard(parser, message)[1]
        last = max((0, 1), key=lambda page: start[page] if start[page] < 9 else -1)
        assert reported == ("" if which == last else "unfollowed")
    times = [[frame["time_s"] for frame in json.loads(content)["frames"]] for _, content in parser.take_captures()]
    assert times and all(each in ([0.0, 0.1, 0.2], [0.5, 0.6, 0.7]) for each in times)


def test_a_page_that_is_not_understood_displaces_none():
    parser = CameraParser()
    for refused in (of("b", {"kind": "dance"}), of("b", HEAD | {"frames": 0}), [{"page": 5}], of("b" * 65, LIVE)):
        with pytest.raises(PacketError):
            parser.feed(json.dumps(refused[0]).encode())
    head, first, *rest = of("a", *a_video([0.0, 0.1, 0.2]))
    assert heard(parser, head) == (0, "") and heard(parser, first) == (1, "")
    with pytest.raises(PacketError, match="a video of"):
        parser.feed(json.dumps(of("b", HEAD | {"frames": 0})[0]).encode())
    assert [heard(parser, message)[1] for message in rest] == [""] * 3 and len(parser.take_captures()) == 1


KEYS = ["kind", "hands", "time_s", "frames", "source", "width", "height", "rate", "landmarks", "text", "problem"]
SCALARS = st.none() | st.booleans() | st.floats() | st.text()
DOCUMENTS = st.recursive(
    SCALARS, lambda inside: st.lists(inside) | st.dictionaries(st.sampled_from(KEYS), inside), max_leaves=12
)


@given(DOCUMENTS)
def test_whatever_comes_is_understood_or_refused(message):
    parser = fed(HEAD | {"frames": 5})
    for kind in ("live", "note", "video", "frame", "end", "stopped"):
        sent = message | {"kind": kind} if isinstance(message, dict) else message
        try:
            list(parser.feed(json.dumps(sent).encode()))
        except PacketError as error:
            assert str(error)


def test_another_version_is_refused(tmp_path):
    ((_, content),) = fed(*a_video([0.0, 0.04, 0.08])).take_captures()
    path = tmp_path / "wave.json"
    path.write_bytes(content.replace(b'"version": 1', b'"version": 2'))
    with pytest.raises(CaptureError, match=r"version '2\.0', expected 1"):
        capture.read(path)


def test_the_device_opens_a_page_of_this_computer():
    assert [key for key, device in DEVICES.items() if device.opens_page] == ["camera"]


def live(time_s: float, *hands: dict[str, Any]) -> bytes:
    message = {"kind": "live", "time_s": time_s, "width": 1280, "height": 720, "hands": list(hands)}
    return json.dumps(message).encode()


def test_a_live_frame_has_what_was_found_in_the_picture():
    parser = CameraParser()
    (seen,) = parser.feed(live(1.0, hand()))
    assert seen.picture is not None and seen.picture.size == PictureSize(1280, 720)
    (found,) = seen.picture.hands
    np.testing.assert_allclose(found.points, 0.5 + POINTS)
    np.testing.assert_allclose(found.world, POINTS)
    assert found.claim == "right", "the page's word is for a mirror's picture"
    (empty,) = parser.feed(live(1.1))
    assert (empty.names, empty.time) == ((), 1.1)
    assert empty.picture is not None and empty.picture.hands == (), "a hand that is lost must be noticed"


@pytest.mark.usefixtures("assets")
def test_of_two_pages_a_raw_take_has_the_one_that_is_followed(address: Address, tmp_path: Path) -> None:
    from websockets.sync.client import connect

    path, followed = tmp_path / "take.rawtake", of("a", {"kind": "start"}, LIVE, LIVE | {"time_s": 1.1})
    with listening("camera", address) as receiver, connect(f"ws://{address}/") as page:
        receiver.record(path)
        for message in (followed[0], *of("b", LIVE, {"kind": "note", "text": "It is dark."}), *followed[1:]):
            page.send(json.dumps(message))
        page.send("no JSON")
        wait_for(lambda: receiver.stats.malformed == 1 and receiver.stats.frames == 2)
        recorder = receiver.end_recording()
        assert recorder is not None
    file = BytesIO(path.read_bytes())
    packets = [packet.content for packet in read_packets(file, read_header(file, "take")[1])]
    assert packets == [*(json.dumps(message).encode() for message in followed), b"no JSON"]


def test_a_raw_take_of_the_camera_has_its_pictures(tmp_path):
    path = tmp_path / "take.rawtake"
    recorder = Recorder(path, RawTakeHeader("camera", "take", utc_now()))
    for number in range(12):
        found = [] if number in (5, 6) else [hand(move=0.001 * number)]
        recorder.add(Packet(number / 30, live(number / 30, *found)))
    recorder.close()
    markers = capture.read(path)
    (stretch,) = markers.pictures
    picture = stretch.widened()
    assert picture.size == PictureSize(1280, 720)
    assert stretch.seen.tolist() == [number not in (5, 6) for number in range(12)]
    np.testing.assert_allclose(picture.points[11], 0.5 + POINTS + [0.011, 0.0, 0.0])
