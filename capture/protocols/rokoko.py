"""Rokoko Studio's custom streaming over UDP: JSON version 2 or 3, plain or as an LZ4 frame, one frame per datagram.

    {"version": "3,0", "fps": 60, "scene": {"timestamp": 1.25, "actors": [{"name": "Anna",
        "meta": {"hasGloves": true, "hasLeftGlove": true, "hasRightGlove": true, …},
        "body": {"leftHand": {"position": {"x", "y", "z"}, "rotation": {"x", "y", "z", "w"}}, …}}]}}

Version 2, and what Studio 1 calls "3", has timestamp and actors at the top level and the bones in the actor. Positions
and rotations are global, in Unity's axes. In Studio's T-pose −Y of a bone points to the next one, and −Z out of the
back of the hand, the thumb's as well, according to the reference rotations in Rokoko's own plug-ins.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, SIDES, Side
from ..frame import Frame, hand_of, label, names_of, unseen
from ..network.sender import Outgoing, UdpSender
from . import lz4
from .device_axes import to_unity_points, to_unity_turns, unity_points, unity_turns
from .finite_numbers import places, seconds, turns
from .parser import Parser

Floats = NDArray[np.float64]

LARGEST = 1 << 18
"""Most bytes of JSON in a packet; an actor with fingers and face has about 20 000. Decoding blocks other threads."""
MOST_ACTORS = 8
LONGEST_NAME = 40

BONES = (
    "Hand",
    *(
        f"{digit}{part}"
        for digit in ("Thumb", "Index", "Middle", "Ring", "Little")
        for part in ("Proximal", "Medial", "Distal", "Tip")
    ),
)
"""Names of a hand's bones without the side."""
COLUMNS = [0, *(JOINT_INDEX[joint] for joints in CHAIN_JOINTS.values() for joint in joints)]
"""(21,) index of the joint at which each starts, from the thumb's metacarpal and the fingers' MCP on."""
STANDS = rot.from_axis_angle(np.array([1.0, 0.0, 0.0]), -np.pi / 2)
"""Rotation from HandModel's joint frame to the bone's, in Blender's axes, where the bone's −Y is −Z and its −Z is Y."""

Owner = tuple[str, Side]


class RokokoParser(Parser):
    """Yields a frame for each packet with an actor's fingers."""

    def __init__(self) -> None:
        self._clock: float | None = None

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        clock, actors = _read(lz4.unpack(packet, LARGEST) if packet.startswith(lz4.MAGIC) else packet)
        hands: dict[Owner, tuple[Floats, Floats]] = {}
        for actor in actors[:MOST_ACTORS]:
            name = _name(actor)
            hands |= {(name, side): _hand(bones) for side, bones in _gloves(actor) if (name, side) not in hands}
        # A repeated timestamp is not the time of this frame.
        time, self._clock = None if clock == self._clock else clock, clock
        if not hands:
            return []
        positions, rotations = (np.concatenate(parts) for parts in zip(*hands.values(), strict=True))
        names = names_of(*(hand_of(side, name) for name, side in hands))
        return [Frame(names, positions, rotations, time)]


def _read(text: bytes) -> tuple[float | None, list[dict[str, Any]]]:
    """Time in s and the actors. Raises PacketError."""
    try:
        # Integers are parsed as floats because they may have any number of digits.
        document = json.loads(text, parse_int=float)
    except (ValueError, RecursionError) as error:
        raise PacketError(f"begins {text[:12]!r}, expected Rokoko Studio's JSON ({error})") from None
    scene = document.get("scene", document) if isinstance(document, dict) else None
    actors = scene.get("actors") if isinstance(scene, dict) else None
    if not isinstance(scene, dict) or not isinstance(actors, list) or not all(isinstance(one, dict) for one in actors):
        raise PacketError("JSON without actors, expected Rokoko Studio's version 2 or 3")
    return seconds(scene.get("timestamp")), actors


def _name(actor: dict[str, Any]) -> str:
    """An actor's name, usable in labels."""
    name = actor.get("name")
    return label(" ".join(name.replace(":", " ").split()), LONGEST_NAME) if isinstance(name, str) else ""


def _gloves(actor: dict[str, Any]) -> Iterator[tuple[Side, list[dict[str, Any] | None]]]:
    """The sides whose fingers are tracked, each with the data of its BONES, None if missing. Raises PacketError."""
    body, meta = actor.get("body", actor), actor.get("meta")
    if not isinstance(body, dict):
        raise PacketError("an actor's body is no object, expected its bones")
    said = meta if isinstance(meta, dict) else {}
    for side in SIDES:
        if said.get("hasGloves") is False or said.get(f"has{side.capitalize()}Glove") is False:
            continue
        bones = [body.get(f"{side}{bone}") for bone in BONES]
        if not all(bone is None or isinstance(bone, dict) for bone in bones):
            raise PacketError(f"a bone of the {side} hand is no object, expected its position and rotation")
        if any(bone is not None for bone in bones[1:]):
            yield side, bones


def _hand(bones: list[dict[str, Any] | None]) -> tuple[Floats, Floats]:
    """Positions (25, 3) in m and rotations (25, 4) wxyz of joints, NaN where a bone is missing. Raises PacketError."""
    told = [(column, bone) for column, bone in zip(COLUMNS, bones, strict=True) if bone is not None]
    columns = [column for column, _ in told]
    positions, rotations = unseen()
    at = places([number for _, bone in told for number in _numbers(bone, "position", "xyz")], "a bone")
    turned = turns([number for _, bone in told for number in _numbers(bone, "rotation", "xyzw")], "a bone")
    positions[columns] = unity_points(at)
    rotations[columns] = rot.multiply(unity_turns(turned), STANDS)
    return positions, rotations


def _numbers(bone: dict[str, Any], what: str, axes: str) -> list[float]:
    said = bone.get(what)
    given = [said.get(axis) for axis in axes] if isinstance(said, dict) else []
    numbers = [number for number in given if isinstance(number, float)]
    if len(numbers) != len(axes):
        raise PacketError(f"a bone's {what} is {str(said)[:40]!r}, expected the numbers {', '.join(axes)}")
    return numbers


class RokokoSender(UdpSender):
    """Imitates Studio in version 3, uncompressed: one actor with gloves and no name."""

    def packets(self, moment: Outgoing) -> Iterator[bytes]:
        """See UdpSender."""
        gloves = {f"has{side.capitalize()}Glove": side in moment.hands for side in SIDES}
        body = {bone: told for side, joints in moment.hands.items() for bone, told in _body(side, joints).items()}
        actor = {
            "name": "",
            "meta": {"hasGloves": bool(moment.hands), **gloves, "hasBody": False, "hasFace": False},
            "dimensions": {"totalHeight": 1.8, "hipHeight": 1.0},
            "body": body,
        }
        scene = {"timestamp": moment.time, "actors": [actor], "props": []}
        yield json.dumps({"version": "3,0", "fps": 60, "scene": scene}, separators=(",", ":")).encode()


def _body(side: Side, joints: Floats) -> dict[str, object]:
    """JSON-ready bones of a hand from its joints (25, 4, 4)."""
    at = to_unity_points(joints[COLUMNS, :3, 3])
    turned = to_unity_turns(rot.multiply(rot.from_matrix(joints[COLUMNS, :3, :3]), rot.conjugate(STANDS)))
    return {
        f"{side}{bone}": {
            "position": dict(zip("xyz", place.tolist(), strict=True)),
            "rotation": dict(zip("xyzw", turn.tolist(), strict=True)),
        }
        for bone, place, turn in zip(BONES, at, turned, strict=True)
    }
