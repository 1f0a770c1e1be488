"""Devices for the live scenarios, one at a time, as the scenario asks for them: see PLAYED.

What others wrote or recorded is sent where there is any: vmcp's OSC, Studio's packets by the reference LZ4, a recording
of Leap's service, MediaPipe's landmarks of a video. The other devices are Knuckle's own senders.
"""

import json
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.files.mediapipe_json import LANDMARKS
from knuckle.capture.network.sender import OutgoingFrame, UdpSender
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.leap_service import LeapSender
from knuckle.errors import StreamError
from knuckle.hand.joints import DIGIT_JOINTS, JOINT_INDEX, JOINTS, SIDES, TIPS, Side
from knuckle.tests.blender.test_live_avatars import Send as SendAvatar
from knuckle.tests.blender.test_live_avatars import studio, vmcp
from knuckle.tests.pure.capture.devices.avatar import HAND_BONES, Avatar, blender, fist, turn
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import free_address
from knuckle.tests.pure.capture.devices.test_vmc import JOINT

ROOT = Path(__file__).parents[2]
VIDEO = ROOT.parent / "shared" / "data" / "captures" / "mediapipe_video.json"
RATE = 60.0
TAKES = "live takes"
"""Folder of the takes that scenarios record."""
STEPS = 60
"""From open hands to closed ones."""

Floats = NDArray[np.float64]
Place = Mapping[str, Floats]
"""Joint -> (3,) m where it is, in Blender's axes; only joints that the device tells."""
Hands = Mapping[Side, Place]
Send = Callable[[int, int], None]
"""Sends the moment of a step as the count-th: a sender's clock and count go on."""


@dataclass(frozen=True, slots=True)
class Played:
    """What is sent as a device: steps, to and fro."""

    opened: Callable[[int], AbstractContextManager[Send]]
    """By the port."""
    truth: Callable[[int], Hands]
    """Where the joints are that a step sends."""
    near: float = 3.0
    """mm from there, at most, of the joints of hands that are built for the performer."""
    along: float = 8.0
    """Degrees from where a bone points, at most, of a rig's own fingers."""
    steps: int = STEPS
    body: bool = False
    """Whether forearms are sent, against which a rig's wrists bend."""
    anew: bool = False
    """Whether its hands are measured again on the step that is looked at."""


class Senders:
    """A thread that sends as the device, and from the port, that a file names: 'vmc 39539', 'vmc 39539 hold 0'.

    Held, it goes on to that step and then sends it over and over, and says so in another file.
    """

    def __init__(self, folder: Path) -> None:
        self._asked, self._held = folder / "live_asked.txt", folder / "live_held.txt"
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        for file in (self._asked, self._held):
            file.write_text("")
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(0.05):
            device, port, *_ = [*self._asked.read_text().split(), "", ""]
            if not device:
                continue
            try:
                with PLAYED[device].opened(int(port)) as send:
                    self._play(device, port, send)
            except StreamError:
                # Nobody listens yet, or any more.
                continue

    def _play(self, device: str, port: str, send: Send) -> None:
        last, began, count, step, way = PLAYED[device].steps - 1, time.perf_counter(), 0, 0, 1
        while not self._end.is_set():
            asked = self._asked.read_text()
            words = asked.split()
            if words[:2] != [device, port]:
                return
            send(count, step)
            count += 1
            goal = int(words[3]) if words[2:] else None
            if step == goal:
                self._held.write_text(asked)
            step, way = _onward(step, way, last, goal)
            time.sleep(max(0.0, began + count / RATE - time.perf_counter()))


@contextmanager
def vmc_when_asked(folder: Path) -> Iterator[None]:
    """A sender of VMC that is not ours, when a scenario asks for it, and a port that another program has."""
    shutil.rmtree(folder / TAKES, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        ports = {"taken": sock.getsockname()[1], "vmc": free_address().port}
        (folder / "live_ports.json").write_text(json.dumps(ports))
        with Senders(folder):
            yield


def _onward(step: int, way: int, last: int, goal: int | None) -> tuple[int, int]:
    """The next step and the way there: to the goal, else to and fro."""
    if goal is not None:
        way = (goal > step) - (goal < step)
    elif not way or not 0 <= step + way <= last:
        way = 1 if step == 0 else -1
    return step + way, way


@contextmanager
def avatars(sender: Callable[[int], AbstractContextManager[SendAvatar]], port: int) -> Iterator[Send]:
    with sender(port) as send:
        yield lambda count, step: send(avatar(step), count / RATE)


@cache
def avatar(step: int) -> Avatar:
    """Hands before the body that turn about their forearms, bend, and close, the left one farther."""
    share = step / (STEPS - 1)
    arms = {
        f"{side}{part}": turn(axis, sign * degrees)
        for side, sign in (("Left", 1), ("Right", -1))
        for part, axis, degrees in (("UpperArm", (0, 0, 1), 50), ("LowerArm", (0, 1, 0), 100))
    }
    arms |= {
        f"{side}Hand": turn((1, 0, 0), -60 * share) @ turn((0, 0, sign), -25 * share)
        for side, sign in (("Left", 1), ("Right", -1))
    }
    closed = {"Left": (70, 80, 50), "Right": (40, 50, 30)}
    fists = [fist(side, tuple(np.multiply(share, degrees))) for side, degrees in closed.items()]
    return Avatar(arms | fists[0] | fists[1])


def of_avatar(step: int) -> Hands:
    posed = avatar(step)
    return {
        side: {
            JOINT[bone.removeprefix(side.capitalize())]: blender(posed.places[bone])
            for bone in HAND_BONES[side.capitalize()]
        }
        for side in SIDES
    }


@cache
def taken() -> list[OutgoingFrame]:
    """Hands before the body that close, the left one farther."""
    wandering = moments(STEPS + 15)
    return [
        replace(wandering[step], hands={side: ahead(side, step if side == "left" else step // 2) for side in SIDES})
        for step in range(STEPS)
    ]


def ahead(side: Side, step: int) -> Floats:
    """(25, 4, 4) a hand of `moments` that reaches to the front of Blender's view."""
    joints = moments(STEPS + 15)[step].hands[side]
    place = np.diag([-1.0, -1.0, 1.0, 1.0])
    place[:3, 3] = [0.12 if side == "left" else -0.12, -0.3, 1.1] - place[:3, :3] @ joints[0, :3, 3]
    moved: Floats = place @ joints
    return moved


@contextmanager
def ours(device: str, port: int) -> Iterator[Send]:
    with DEVICES[device].sender(Address("127.0.0.1", port)) as sender:
        yield lambda count, step: sender.send(replace(taken()[step], number=count, time=count / RATE))


def of_taken(reported: tuple[str, ...], step: int) -> Hands:
    return {
        side: {joint: joints[JOINT_INDEX[joint], :3, 3] for joint in reported}
        for side, joints in taken()[step].hands.items()
    }


class LeapRecording(LeapSender):
    """The service's own frames."""

    def messages(self, moment: OutgoingFrame) -> Iterator[str]:
        """See WebSocketSender."""
        frame = leap_frames()[int(moment.markers[0, 0])]
        yield json.dumps(frame | {"id": moment.number, "timestamp": round(1e6 * moment.time)})


@cache
def leap_frames() -> list[dict[str, Any]]:
    """The recording's frames as the service sends them; its file has the names of the fields in the first one."""
    (_, _, hands, pointables, _), *rows = json.loads((ROOT / "data" / "leap_finger_tap.json").read_text())["frames"]
    ((of_hand,), (of_pointable,)) = hands["hands"], pointables["pointables"]
    return [
        {
            "hands": [dict(zip(of_hand, hand, strict=True)) for hand in row[2]],
            "pointables": [dict(zip(of_pointable, pointable, strict=True)) for pointable in row[3]],
        }
        for row in rows
    ]


class CameraRecording(UdpSender):
    """A tracker's own frames."""

    def packets(self, moment: OutgoingFrame) -> Iterator[bytes]:
        """See UdpSender."""
        frame = camera_frames()[int(moment.markers[0, 0])]
        yield json.dumps(frame | {"frame": moment.number, "t": moment.time}).encode()


@cache
def camera_frames() -> list[dict[str, Any]]:
    """Four seconds of a video in which one hand is seen."""
    frames: list[dict[str, Any]] = json.loads(VIDEO.read_text())["frames"]
    return [frame for frame in frames[:120] if len(frame["hands"]) == 1]


@contextmanager
def recorded(kind: type[LeapRecording | CameraRecording], port: int) -> Iterator[Send]:
    with kind(Address("127.0.0.1", port)) as sender:
        yield lambda count, step: sender.send(OutgoingFrame(count, count / RATE, (), np.array([[step, 0.0, 0.0]]), {}))


def of_leap(step: int) -> Hands:
    frame = leap_frames()[step]
    found = {}
    for pointable in frame["pointables"]:
        fields = ("carpPosition", "mcpPosition", "pipPosition", "dipPosition", "btipPosition")
        joints = list(DIGIT_JOINTS.values())[pointable["type"]]
        for joint, field in zip(joints, fields[-len(joints) :], strict=True):
            x, y, z = pointable[field]
            found[joint] = 0.001 * np.array([x, -z, y])
    return {frame["hands"][0]["type"]: found}


def of_camera(step: int) -> Hands:
    """The video is mirrored: what MediaPipe calls left in it is a right hand."""
    (hand,) = camera_frames()[step]["hands"]
    points = np.array(hand["world_landmarks"])[:, [0, 2, 1]] * [1, 1, -1]
    return {"right": dict(zip(LANDMARKS, points, strict=True))}


NO_TIPS = tuple(joint for joint in JOINTS if joint not in TIPS)

TOLD = {
    "landmarks": LANDMARKS,
    "natnet": tuple(JOINT.values()),
    "qualisys": JOINTS,
    "xsens": NO_TIPS,
    "quest": LANDMARKS,
    "quest-tcp": LANDMARKS,
    "webxr": JOINTS,
}
"""Which joints our senders tell."""
PLAYED: dict[str, Played] = {
    "vmc": Played(partial(avatars, vmcp), of_avatar, body=True),
    "rokoko": Played(partial(avatars, studio), of_avatar, body=True),
    # The service lets a hand grow by a fortieth in its first second. Measured meanwhile, fingers that are nearly
    # straight are up to 19 degrees off: which second it is, is a matter of how busy the machine is.
    "leap": Played(partial(recorded, LeapRecording), of_leap, anew=True),
    **{device: Played(partial(ours, device), partial(of_taken, reported)) for device, reported in TOLD.items()},
}
if VIDEO.exists():
    # A camera's bones have another length in every frame, by a half: those that were measured on others say little.
    PLAYED["landmarks"] = Played(partial(recorded, CameraRecording), of_camera, near=15.0, along=25.0, anew=True)
