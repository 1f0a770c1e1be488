"""Avatars that others send, followed in Blender: vmcp speaks VMC, and the reference LZ4 packs frames as Studio does."""

import itertools
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy
import lz4.frame
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from vmcp.osc.typing import Message
from vmcp.protocol import bone_transform
from vmcp.protocol import time as clock
from vmcp.typing import Bone, CoordinateVector, Quaternion, Timestamp

from knuckle.operators.live_device import end
from knuckle.operators.live_loop import LiveRun
from knuckle.operators.session import SESSION
from knuckle.tests.pure.capture.devices.avatar import PARTS, Avatar, blender, fist, turn
from knuckle.tests.pure.capture.devices.sockets import free_address, wait_for
from knuckle.tests.pure.capture.devices.speaking_vmc import speaking
from knuckle.tests.pure.capture.devices.test_rokoko import actor, body, version_3
from knuckle.tests.pure.capture.devices.test_vmc import BODY

from .test_live import apart, directions

Send = Callable[[Avatar, float], None]
FRAMES = 100


@contextmanager
def vmcp(port: int) -> Iterator[Send]:
    with speaking() as system:
        sender = system.create_sender("127.0.0.1", port, "avatar").open()

        def send(avatar: Avatar, at: float) -> None:
            bones = [
                bone_transform(Bone(bone), CoordinateVector(*map(float, place)), Quaternion(*map(float, turned)))
                for bone, (place, turned) in avatar.local.items()
            ]
            sender.send([Message(*one) for one in (*bones, clock(Timestamp(at)))])
            system.run()

        yield send


@contextmanager
def studio(port: int) -> Iterator[Send]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        yield lambda avatar, at: _send(sock, port, version_3(actor("Anna", body(avatar)), at=at))


def _send(sock: socket.socket, port: int, packet: bytes) -> None:
    sock.sendto(lz4.frame.compress(packet), ("127.0.0.1", port))


def moment(share: float) -> Avatar:
    """Hands before the body that close, and bend and pronate against their forearms."""
    lowered = {
        side: {
            f"{side}UpperArm": turn((0, 0, sign), 50 + 10 * share),
            f"{side}LowerArm": turn((0, sign, 0), 60),
            f"{side}Hand": turn((0.28, 0, 0.96), bend * share),
        }
        for side, sign, bend in (("Left", 1, 50), ("Right", -1, 30))
    }
    closed = [fist("Left", np.multiply(share, (70, 80, 50))), fist("Right", np.multiply(share, (50, 70, 45)))]
    return Avatar({"Hips": BODY["Hips"], **lowered["Left"], **lowered["Right"], **closed[0], **closed[1]})


@pytest.fixture
def followed(extension, tmp_path: Path) -> Iterator[Callable[[str], tuple[LiveRun, int]]]:
    def begin(device: str) -> tuple[LiveRun, int]:
        port = free_address().port
        chosen = bpy.context.scene.knuckle_live
        chosen.device, chosen.folder = device, str(tmp_path)
        chosen.port = port
        assert bpy.ops.knuckle.live_start() == {"FINISHED"}
        run = SESSION.live.run
        assert run is not None
        wait_for(lambda: run.receiver.is_open)
        return run, port

    yield begin
    end(put_back=False)


def along(avatar: Avatar, bones: list[str]) -> np.ndarray:
    """(N, 3) where an avatar's bones point, in Blender's axes."""
    ends = [bone.replace("Intermediate", "Distal").replace("Proximal", "Intermediate") for bone in bones]
    ways = blender([avatar.places[end] - avatar.places[bone] for bone, end in zip(bones, ends, strict=True)])
    unit: np.ndarray = ways / np.linalg.norm(ways, axis=1, keepdims=True)
    return unit


@pytest.mark.parametrize(("device", "sender"), [("vmc", vmcp), ("rokoko", studio)])
def test_a_makehuman_rig_moves_as_the_avatar(device, sender, followed, shared) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(shared / "data" / "rigs" / "makehuman_default.blend"))
    scene = bpy.context.scene
    armature = next(obj for obj in scene.objects if obj.type == "ARMATURE")
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", armature
    scene.knuckle.drive = "wrist"  # the fingers are compared with what was sent, in the world
    run, port = followed(device)
    with sender(port) as send:
        for number in range(FRAMES):
            last = moment(number / (FRAMES - 1))
            send(last, number / 60)
            time.sleep(0.004)
            run.step()
        wait_for(lambda: run.receiver.stats.frames >= FRAMES - 1)

        def follows() -> bool:
            # Where the machine was busy, hands were away for a while and go over to where they are seen.
            send(last, next(later) / 60)
            time.sleep(0.004)
            run.step()
            return all(turned_alike(directions(armature, names), along(last, bones)) < 2.0 for names, bones in sides)

        later, sides = itertools.count(FRAMES), [fingers(side) for side in ("Left", "Right")]
        wait_for(follows)
    for side in ("Left", "Right"):
        points = [last.places[f"{side}{part}"] for part in ("LowerArm", "Hand", "MiddleProximal")]
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
        heads = [np.array(posed[f"{name}.{side[0]}"].head) for name in ("lowerarm01", "wrist", "finger3-1")]
        assert bend_of(heads) == pytest.approx(bend_of(points), abs=8.0), "against the forearm, as sent"
    assert not run.rigs.problems and len(run.displayed_hands) == 2
    assert run.receiver.stats.malformed == run.receiver.stats.late == 0


def turned_alike(found: np.ndarray, sent: np.ndarray) -> float:
    """Degrees, at most, between unit vectors (N, 3), after the rotation that brings them together best."""
    rotation, _ = Rotation.align_vectors(found, sent)
    return apart(found, rotation.apply(sent))


def bend_of(points: list[np.ndarray]) -> float:
    """Degrees between the forearm and the palm, from where elbow, wrist and the middle finger's knuckle are."""
    fore, palm = points[1] - points[0], points[2] - points[1]
    return float(np.degrees(np.arccos(fore @ palm / np.linalg.norm(fore) / np.linalg.norm(palm))))


def fingers(side: str) -> tuple[list[str], list[str]]:
    """The bones of three fingers of MakeHuman's, and of the avatar."""
    names = [f"finger{digit}-{part}.{side[0]}" for digit in (2, 3, 4) for part in (1, 2)]
    return names, [f"{side}{digit}{part}" for digit in ("Index", "Middle", "Ring") for part in PARTS[:2]]
