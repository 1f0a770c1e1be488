"""Landmarks of a camera as JSON: one object a datagram, in any of the shapes that captures/mediapipe.py reads.

    {"time_s": 1.25, "hands": [{"handedness": "Left", "world_landmarks": [[x, y, z], ... 21]}, ...]}

World landmarks in metres, x right, y down, z away from the camera, centred on each hand. What a sender calls a hand's
side is often mirrored: it names the hand here, and the hand's shape tells its side where it is solved.
"""

import json
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from ...captures.landmarks import load, time_of
from ...captures.mediapipe import LANDMARKS, hands_in
from ...captures.tracks import Detection
from ...errors import CaptureError, PacketError
from ...hand.joints import JOINT_INDEX, JOINTS
from ..frame import Frame
from ..numbers import places
from ..parser import Parser
from ..sender import Outgoing, UdpSender

Floats = NDArray[np.float64]

LONGEST = 65_536
MOST_HANDS = 4
STEP = 0.5
"""Sizes of a hand that it may go between two packets and be the same one, whatever it is called."""
FORGET = 30
"""Packets after which a hand that is not seen is forgotten."""
CAMERA = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""From a camera's axes to Blender's: (x, y, z) is (x, z, −y)."""
COLUMNS = [JOINT_INDEX[joint] for joint in LANDMARKS]


class LandmarksParser(Parser):
    """A frame for each packet. A hand keeps its name while what the sender calls it flickers."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Detection, int]] = {}
        """Name -> how it was last seen, and in which packet."""
        self._packet = 0
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        if len(packet) > LONGEST:
            raise PacketError(f"{len(packet)} bytes, landmarks of hands have {LONGEST} at most")
        try:
            document = load(packet, "the packet")
        except (CaptureError, RecursionError) as error:
            raise PacketError(str(error)) from None
        hands = hands_in(document)[:MOST_HANDS]
        if not hands:
            if isinstance(document, dict) and "hands" in document:
                return []
            raise PacketError("JSON without hands, expected 21 world landmarks of each")
        read = [_placed(hand) for hand in hands]
        owners = self._owners(hands)
        positions = np.full((len(hands), len(JOINTS), 3), np.nan)
        positions[:, COLUMNS] = read
        time = time_of(document)
        return [Frame(self._named(owners), positions.reshape(-1, 3), time=time)]

    def _owners(self, hands: list[Detection]) -> tuple[str, ...]:
        """What each hand is called: as the one that it is the next place of, else as the sender says."""
        self._packet += 1
        self._known = {name: known for name, known in self._known.items() if self._packet - known[1] <= FORGET}
        away = sorted(
            (_away(known, hand), name, index)
            for name, (known, _) in self._known.items()
            for index, hand in enumerate(hands)
        )
        owners: dict[int, str] = {}
        for far, name, index in away:
            if far < STEP and index not in owners and name not in owners.values():
                owners[index] = name
        for index, hand in enumerate(hands):
            if index not in owners:
                owners[index] = _free(hand.claim, set(owners.values()))
        self._known |= {owners[index]: (hand, self._packet) for index, hand in enumerate(hands)}
        return tuple(owners[index] for index in range(len(hands)))

    def _named(self, owners: tuple[str, ...]) -> tuple[str, ...]:
        if owners not in self._names:
            if len(self._names) > 64:
                self._names.clear()
            self._names[owners] = tuple(f"{owner}:{joint}" for owner in owners for joint in JOINTS)
        return self._names[owners]


def _placed(hand: Detection) -> Floats:
    """(21, 3) m in Blender's axes, NaN where not told. Raises PacketError."""
    seen = np.all(np.isfinite(hand.joints), axis=1)
    points = places(np.where(seen[:, None], hand.joints, 0.0).ravel().tolist(), "a landmark") @ CAMERA.T
    return np.where(seen[:, None], points, np.nan)


def _away(known: Detection, hand: Detection) -> float:
    """How far apart two sights are, in sizes of a hand; more where they are of different claims."""
    if known.place.shape != hand.place.shape:
        return np.inf
    return float(np.linalg.norm(known.place - hand.place)) / max(hand.size, 1e-9) + 0.1 * (known.claim != hand.claim)


def _free(claim: str, taken: set[str]) -> str:
    """A name for a hand: its claim, the other side if that is taken, or a number behind it."""
    other = {"left": "right", "right": "left"}.get(claim, claim)
    return next(name for name in (claim, other, *(f"{claim}#{n}" for n in range(2, 9))) if name not in taken)


class LandmarksSender(UdpSender):
    """A camera tracker's end."""

    def packets(self, moment: Outgoing) -> Iterator[bytes]:
        """See UdpSender."""
        hands = [
            {
                "handedness": side.capitalize(),
                "world_landmarks": (joints[COLUMNS, :3, 3] @ CAMERA).tolist(),
            }
            for side, joints in moment.hands.items()
        ]
        yield json.dumps({"time_s": moment.time, "hands": hands}).encode()
