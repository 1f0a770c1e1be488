"""VMC protocol: an avatar's bones as OSC messages over UDP (protocol.vmc.info, MIT).

    /VMC/Ext/Bone/Pos   name, px, py, pz, qx, qy, qz, qw     each bone in its parent
    /VMC/Ext/Root/Pos   name, px, …                          the avatar in the world
    /VMC/Ext/T          sender's clock in s, 32 bits

A frame is some forty bones, in bundles or separate packets, in any order; no message marks its end. Unity's axes and
bone names: only the thumb has a metacarpal, there are no tips, and two avatars cannot be told apart. Some senders send
only rotations; their bones get the lengths of an adult's.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.joints import SIDES, Side
from ..frame import Frame, names_of, unseen
from ..network.sender import Outgoing, UdpSender
from . import osc, vrm_t_pose
from .device_axes import to_unity_points, to_unity_turns
from .finite_numbers import place, seconds, turn
from .frame_cycle import FrameCycle
from .humanoid_bones import COLUMNS, HANDS, PARENTS, ROOT, Place, worlds
from .parser import Parser

Floats = NDArray[np.float64]

BONE, ROOT_POSE, CLOCK, READY = b"/VMC/Ext/Bone/Pos", b"/VMC/Ext/Root/Pos", b"/VMC/Ext/T", b"/VMC/Ext/OK"
TIME = "T"
HEEDED = frozenset({BONE, ROOT_POSE, CLOCK})
KEPT, BODY_KEPT = 10, 600
"""Frames for which a bone of a hand, or of the body, keeps its last transform. This bridges lost packets but not lost
hands; a body may be sent rarely, and by another sender.
"""
UNTOLD = 1e-4
"""m: closer to its parent, a bone's position counts as not sent."""
SAME = 1e-5
"""m by which bones' offsets may change before their axes are computed again."""
BUNDLED = 12
"""Messages in a bundle, which then fits into 1200 bytes."""


class VmcParser(Parser):
    """Yields a frame with the message that ended the previous one; see FrameCycle."""

    def __init__(self) -> None:
        self._cycle = FrameCycle(_first)
        self._bones: dict[str, Place] = {}
        self._told: dict[str, int] = {}
        """Bone -> number of the frame in which it was last sent."""
        self._clock: float | None = None
        self._clock_before: float | None = None
        self._stands: dict[Side, tuple[Floats, Floats]] = {}
        """The offsets of each hand's bones, and the joint frames in them that were computed for these."""

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        # All messages are parsed before any is used, so that a malformed packet changes nothing.
        said = [told for told in map(_understood, osc.read(packet, HEEDED)) if told is not None]
        return [frame for number, told in enumerate(said) for frame in self._heeded(*told, begins=number == 0)]

    def _heeded(self, thing: str, value: Place | float, begins: bool) -> Iterator[Frame]:
        before = self._cycle.round
        overdue, ends = self._cycle.comes(thing, begins)
        if overdue:
            yield from self._frame(before)
        if isinstance(value, float):
            self._clock = value
        else:
            self._bones[thing], self._told[thing] = value, self._cycle.round
        if ends:
            yield from self._frame(self._cycle.round)

    def _frame(self, number: int) -> Iterator[Frame]:
        """The frame with the given number, if any bone of a hand was sent in it."""
        self._bones = {bone: at for bone, at in self._bones.items() if number - self._told[bone] <= _kept(bone)}
        sides = tuple(side for side in SIDES if not self._bones.keys().isdisjoint(HANDS[side]))
        # A repeated timestamp is not the time of this frame.
        time = None if self._clock == self._clock_before else self._clock
        self._clock_before = self._clock
        if not sides or all(told < number for bone, told in self._told.items() if bone != ROOT):
            return
        local = {bone: (_offset(bone, at), at[1]) for bone, at in self._bones.items()}
        found = worlds(local)
        hands = [self._hand(side, local, found) for side in sides]
        positions, rotations = (np.concatenate(parts) for parts in zip(*hands, strict=True))
        yield Frame(names_of(*sides), positions, rotations, time)

    def _hand(self, side: Side, local: dict[str, Place], found: dict[str, Place]) -> tuple[Floats, Floats]:
        """Positions (25, 3) in m and rotations (25, 4) wxyz of a hand's joints, NaN where its bones are missing."""
        positions, rotations = unseen()
        bones = list(HANDS[side])
        # If a sender sends only fingers, the wrist has the transform of their parent.
        told = [bone in local for bone in bones]
        told[0] = True
        rows = np.array(COLUMNS)[told]
        turned = rot.multiply(np.array([found[bone][1] for bone in bones]), self._standing(side, bones, local))
        positions[rows] = np.array([found[bone][0] for bone in bones])[told]
        rotations[rows] = turned[told]
        return positions, rotations

    def _standing(self, side: Side, bones: list[str], local: dict[str, Place]) -> Floats:
        """vrm_t_pose.stands, recomputed only when the bones' offsets change."""
        offsets = np.array([local[bone][0] if bone in local else vrm_t_pose.USUAL[bone] for bone in bones])
        known = self._stands.get(side)
        if known is None or np.abs(offsets[1:] - known[0][1:]).max() > SAME:
            self._stands[side] = known = (offsets, vrm_t_pose.stands(side, offsets))
        return known[1]


def _first(things: Mapping[str, bool]) -> str:
    """The message with which a frame starts, from the messages of one cycle: see FrameCycle.

    Senders send the time first or last: packets of several messages show which; it is assumed to be last in packets of
    one. Without it, a frame starts with the bone nearest to the hips, or with the root if that comes just before it.
    """
    order, begin = list(things), [thing for thing, begins in things.items() if begins]
    if TIME in things:
        at = order.index(TIME)
        turned = order[at + 1 :] + order[: at + 1]
        return turned[0] if things[turned[0]] else next((one for one in reversed(turned) if things[one]), TIME)
    ranks = {bone: rank for rank, bone in enumerate(PARENTS)}
    first = min(begin or order, key=lambda thing: ranks.get(thing, len(ranks)))
    before = order[order.index(first) - 1]
    return ROOT if before == ROOT and things[ROOT] else first


def _kept(bone: str) -> int:
    """Frames for which a bone keeps its last transform."""
    return KEPT if any(bone in hand for hand in HANDS.values()) else BODY_KEPT


def _offset(bone: str, at: Place) -> tuple[float, float, float]:
    """A bone's position in its parent in m: as sent, else an adult's."""
    x, y, z = at[0]
    return vrm_t_pose.USUAL.get(bone, at[0]) if abs(x) + abs(y) + abs(z) < UNTOLD else at[0]


def _understood(message: osc.OscMessage) -> tuple[str, Place | float] | None:
    """The key and value of a message: a bone and its transform, or TIME and s; None for other bones.

    Raises PacketError.
    """
    if message.address == CLOCK:
        (value,) = _numbers(message, 0, 1)
        if seconds(value) is None:
            raise PacketError(f"{CLOCK.decode()} is {value:g} s, which is no time")
        return TIME, value
    name = message.arguments[0] if message.arguments else None
    if not isinstance(name, str):
        raise PacketError(f"{message.address.decode()} begins with {name!r}, expected a name")
    if message.address == ROOT_POSE:
        name = ROOT
    elif name not in PARENTS:
        return None
    px, py, pz, qx, qy, qz, qw = _numbers(message, 1, 7)
    x, y, z = place((px, py, pz), name)
    i, j, k, w = turn((qx, qy, qz, qw), name)
    # device_axes.unity_points and unity_turns, for one bone.
    return name, ((-x, -z, y), (w, i, k, -j))


def _numbers(message: osc.OscMessage, start: int, count: int) -> list[float]:
    """`count` numbers from the arguments, from index `start` on. Raises PacketError if there are fewer."""
    numbers = [float(value) for value in message.arguments[start : start + count] if not isinstance(value, str)]
    if len(numbers) != count:
        raise PacketError(f"{message.address.decode()} has {len(numbers)} numbers, expected {count}")
    return numbers


class VmcSender(UdpSender):
    """Imitates a VMC performer: hands without a body, attached to the root, in bundles."""

    def packets(self, moment: Outgoing) -> Iterator[bytes]:
        """See UdpSender."""
        messages = [osc.message(READY, 1), osc.message(ROOT_POSE, ROOT, *_numbers_of(np.eye(4)))]
        for side, joints in moment.hands.items():
            bones = dict(zip(HANDS[side], _bone_frames(side, joints), strict=True))
            for bone, frame in bones.items():
                local = np.linalg.inv(bones.get(PARENTS[bone], np.eye(4))) @ frame
                messages.append(osc.message(BONE, bone, *_numbers_of(local)))
        messages.append(osc.message(CLOCK, moment.time))
        for start in range(0, len(messages), BUNDLED):
            yield osc.bundle(*messages[start : start + BUNDLED])


def _bone_frames(side: Side, joints: Floats) -> Floats:
    """(16, 4, 4) T_world_bone from joints (25, 4, 4), aligned with the world when the hand is in the T-pose."""
    frames = joints[COLUMNS].copy()
    frames[:, :3, :3] = frames[:, :3, :3] @ np.swapaxes(vrm_t_pose.STANDS[side], 1, 2)
    return frames


def _numbers_of(frame: Floats) -> list[float]:
    """Position and rotation xyzw of a frame (4, 4) as they are sent."""
    return [*to_unity_points(frame[:3, 3]), *to_unity_turns(rot.from_matrix(frame[:3, :3]))]
