"""Rokoko Studio's custom streaming over UDP: JSON version 2 or 3, plain or as an LZ4 frame, one frame per datagram.

    {"version": "3,0", "fps": 60, "scene": {"timestamp": 1.25, "actors": [{"name": "Anna",
        "meta": {"hasGloves": true, "hasLeftGlove": true, "hasRightGlove": true, …},
        "body": {"leftHand": {"position": {"x", "y", "z"}, "rotation": {"x", "y", "z", "w"}}, …}}]}}

In version 2, and in what Studio 1 calls "3", timestamp and actors are at the top level and the bones in the actor.
Positions and rotations are global, in Unity's axes. In Studio's T-pose −Y of a bone points to the next bone, and −Z out
of the back of the hand, also for the thumb, according to the reference rotations in Rokoko's plug-ins.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.forearm import remove_pronation
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, SIDES, Side
from ..frame import Frame, SentForearm, hand_joint_names, hand_name, safe_label, unseen_hand, with_forearms
from ..network.sender import OutgoingFrame, UdpSender
from . import lz4
from .device_axes import to_unity_points, to_unity_rotations, unity_points, unity_rotations
from .finite_numbers import seconds, unit_quaternions, valid_positions
from .parser import Parser

Floats = NDArray[np.float64]

MAX_JSON_SIZE = 1 << 18
"""Maximum bytes of JSON in a packet, since decoding blocks other threads. An actor with fingers and face has 20 000."""
MAX_ACTORS = 8
"""Maximum number of actors that are read."""
MAX_NAME_LENGTH = 40
"""Maximum number of characters of an actor's name; the rest is dropped."""

BONES = (
    "Hand",
    *(
        f"{digit}{part}"
        for digit in ("Thumb", "Index", "Middle", "Ring", "Little")
        for part in ("Proximal", "Medial", "Distal", "Tip")
    ),
)
"""Names of a hand's bones without the side."""
JOINT_INDICES = [0, *(JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints)]
"""(21,) index of the joint at which each bone starts, from the thumb's metacarpal and the fingers' MCP on."""
BONE_FROM_JOINT = rot.from_axis_angle(np.array([1.0, 0.0, 0.0]), -np.pi / 2)
"""Rotation from HandModel's joint frame to the bone's, in Blender's axes: its −Y is −Z there, its −Z is Y."""

HandKey = tuple[str, Side]


class RokokoParser(Parser):
    """Yields a frame for each packet with an actor's fingers."""

    def __init__(self) -> None:
        self._clock: float | None = None

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        clock, actors = _decode(lz4.decompress(packet, MAX_JSON_SIZE) if packet.startswith(lz4.MAGIC) else packet)
        hands: dict[HandKey, tuple[Floats, Floats]] = {}
        forearms: dict[HandKey, SentForearm] = {}
        for actor in actors[:MAX_ACTORS]:
            name = _name(actor)
            new = {(name, side): _hand(bones) for side, bones in _gloved_hands(actor) if (name, side) not in hands}
            hands |= new
            forearms |= {key: forearm for key in new if (forearm := _forearm(actor, *key)) is not None}
        # A repeated timestamp is not the time of this frame.
        time, self._clock = None if clock == self._clock else clock, clock
        if not hands:
            return []
        positions, rotations = (np.concatenate(parts) for parts in zip(*hands.values(), strict=True))
        names = hand_joint_names(*(hand_name(side, name) for name, side in hands))
        return [with_forearms(Frame(names, positions, rotations, time), tuple(forearms.values()))]


def _decode(text: bytes) -> tuple[float | None, list[dict[str, Any]]]:
    """Return the time in s and the actors. Raises PacketError."""
    try:
        # Integers are parsed as floats because they may have any number of digits.
        document = json.loads(text, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise PacketError(f"begins {text[:12]!r}, expected Rokoko Studio's JSON ({error})") from None
    scene = document.get("scene", document) if isinstance(document, dict) else None
    actors = scene.get("actors") if isinstance(scene, dict) else None
    if not isinstance(scene, dict) or not isinstance(actors, list) or not all(isinstance(x, dict) for x in actors):
        raise PacketError("JSON without actors, expected Rokoko Studio's version 2 or 3")
    return seconds(scene.get("timestamp")), actors


def _name(actor: dict[str, Any]) -> str:
    """Return an actor's name, usable in labels."""
    name = actor.get("name")
    return safe_label(" ".join(name.replace(":", " ").split()), MAX_NAME_LENGTH) if isinstance(name, str) else ""


def _gloved_hands(actor: dict[str, Any]) -> Iterator[tuple[Side, list[dict[str, Any] | None]]]:
    """Yield the sides whose fingers are tracked, each with the data of its BONES, None if missing.

    Raises PacketError.
    """
    body, meta = actor.get("body", actor), actor.get("meta")
    if not isinstance(body, dict):
        raise PacketError("an actor's body is not an object, expected its bones")
    flags = meta if isinstance(meta, dict) else {}
    for side in SIDES:
        if flags.get("hasGloves") is False or flags.get(f"has{side.capitalize()}Glove") is False:
            continue
        bones = [body.get(f"{side}{bone}") for bone in BONES]
        if not all(bone is None or isinstance(bone, dict) for bone in bones):
            raise PacketError(f"a bone of the {side} hand is not an object, expected its position and rotation")
        if any(bone is not None for bone in bones[1:]):
            yield side, bones


def _hand(bones: list[dict[str, Any] | None]) -> tuple[Floats, Floats]:
    """Return positions (25, 3) in m and rotations (25, 4) wxyz of joints, NaN where a bone is missing.

    Raises PacketError.
    """
    bone_of_joint = {joint: bone for joint, bone in zip(JOINT_INDICES, bones, strict=True) if bone is not None}
    positions, rotations = unseen_hand()
    xyz = valid_positions(
        [number for bone in bone_of_joint.values() for number in _numbers(bone, "position", "xyz")], "a bone"
    )
    xyzw = unit_quaternions(
        [number for bone in bone_of_joint.values() for number in _numbers(bone, "rotation", "xyzw")], "a bone"
    )
    positions[list(bone_of_joint)] = unity_points(xyz)
    rotations[list(bone_of_joint)] = rot.multiply(unity_rotations(xyzw), BONE_FROM_JOINT)
    return positions, rotations


def _forearm(actor: dict[str, Any], performer: str, side: Side) -> SentForearm | None:
    """Return the forearm of an actor's hand; None if it is not tracked, missing or invalid."""
    body, meta = actor.get("body", actor), actor.get("meta")
    if isinstance(meta, dict) and meta.get("hasBody") is False:
        return None
    bone = body.get(f"{side}LowerArm")
    try:
        (xyz,) = valid_positions(_numbers(bone, "position", "xyz"), "a forearm")
        rotation = _hand_at_rest(bone)
    except PacketError:
        return None
    with suppress(PacketError):
        rotation = remove_pronation(_hand_at_rest(body.get(f"{side}UpperArm")), rotation)
    return SentForearm(hand_name(side, performer), unity_points(xyz), rotation)


def _hand_at_rest(bone: Any) -> Floats:
    """Return the rotation (4,) wxyz of the wrist of a hand at rest on a bone of the arm. Raises PacketError."""
    (xyzw,) = unit_quaternions(_numbers(bone, "rotation", "xyzw"), "an arm's bone")
    # In the T-pose, the arm's bones have the rotations of the hands at rest on them.
    return rot.multiply(unity_rotations(xyzw), BONE_FROM_JOINT)


def _numbers(bone: Any, name: str, axes: str) -> list[float]:
    vector = bone.get(name) if isinstance(bone, dict) else None
    values = [vector.get(axis) for axis in axes] if isinstance(vector, dict) else []
    numbers = [value for value in values if isinstance(value, float)]
    if len(numbers) != len(axes):
        raise PacketError(f"a bone's {name} is {str(vector)[:40]!r}, expected the numbers {', '.join(axes)}")
    return numbers


class RokokoSender(UdpSender):
    """Imitates Studio in version 3, uncompressed: one actor with gloves and no name."""

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """See UdpSender."""
        gloves = {f"has{side.capitalize()}Glove": side in outgoing.hands for side in SIDES}
        body: dict[str, object] = {}
        for side, joints in outgoing.hands.items():
            body |= _encode_bones(side, BONES, joints[JOINT_INDICES])
        for side, forearm in outgoing.forearms.items():
            body |= _encode_bones(side, ("LowerArm",), forearm[None])
        actor = {
            "name": "",
            "meta": {"hasGloves": bool(outgoing.hands), **gloves, "hasBody": bool(outgoing.forearms), "hasFace": False},
            "dimensions": {"totalHeight": 1.8, "hipHeight": 1.0},
            "body": body,
        }
        scene = {"timestamp": outgoing.time, "actors": [actor], "props": []}
        yield json.dumps({"version": "3,0", "fps": 60, "scene": scene}, separators=(",", ":")).encode()


def _encode_bones(side: Side, bones: tuple[str, ...], frames: Floats) -> dict[str, object]:
    """Return JSON-ready bones (B,) of a side from the frames (B, 4, 4) of the joints at which they start."""
    positions = to_unity_points(frames[:, :3, 3])
    rotations = to_unity_rotations(rot.multiply(rot.from_matrix(frames[:, :3, :3]), rot.conjugate(BONE_FROM_JOINT)))
    return {
        f"{side}{bone}": {
            "position": dict(zip("xyz", position.tolist(), strict=True)),
            "rotation": dict(zip("xyzw", rotation.tolist(), strict=True)),
        }
        for bone, position, rotation in zip(bones, positions, rotations, strict=True)
    }
