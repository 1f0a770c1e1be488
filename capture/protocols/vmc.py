"""VMC protocol: an avatar's bones as OSC messages over UDP (protocol.vmc.info, MIT).

    /VMC/Ext/Bone/Pos   name, px, py, pz, qx, qy, qz, qw     each bone in its parent
    /VMC/Ext/Root/Pos   name, px, …                          the avatar in the world
    /VMC/Ext/T          sender's clock in s, 32 bits

A frame consists of some forty bones, in bundles or separate packets, in any order; no message marks its end. Axes and
bone names are Unity's: only the thumb has a metacarpal, there are no tips, and two avatars cannot be distinguished.
Some senders send only rotations; their bones get the lengths of an adult.
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...errors import PacketError
from ...hand import rotations as rot
from ...hand.forearm import remove_pronation
from ...hand.joints import SIDES, Side
from ..frame import Frame, SentForearm, hand_joint_names, unseen_hand, with_forearms
from ..network.sender import OutgoingFrame, UdpSender
from . import osc, vrm_t_pose
from .device_axes import to_unity_points, to_unity_rotations
from .finite_numbers import seconds, unit_quaternion, valid_position
from .frame_cycle import FrameCycle
from .humanoid_bones import ARM, HAND_BONES, JOINT_INDICES, PARENTS, ROOT, Transform, Vector, world_transforms
from .parser import Parser

Floats = NDArray[np.float64]

BONE, ROOT_POSE, CLOCK, READY = b"/VMC/Ext/Bone/Pos", b"/VMC/Ext/Root/Pos", b"/VMC/Ext/T", b"/VMC/Ext/OK"
TIME = "T"
ADDRESSES = frozenset({BONE, ROOT_POSE, CLOCK})
HAND_LIFETIME, BODY_LIFETIME = 10, 600
"""Number of frames for which a bone of a hand, or of the body, keeps its last transform: enough to bridge lost packets,
but not lost hands. A body may be sent rarely, and by another sender."""
MIN_OFFSET_M = 1e-4
"""m, minimum distance of a bone from its parent; at less, its position counts as not sent."""
OFFSET_TOLERANCE_M = 1e-5
"""m, maximum change of bones' offsets for which their axes are not computed again."""
BUNDLE_SIZE = 12
"""Maximum number of messages in a bundle, which then fits into 1200 bytes."""


class VmcParser(Parser):
    """Yields a frame with the message that ends it; see FrameCycle."""

    def __init__(self) -> None:
        self._cycle = FrameCycle(_first_key)
        self._bones: dict[str, Transform] = {}
        self._last_sent: dict[str, int] = {}
        """Bone -> number of the frame in which it was last sent."""
        self._clock: float | None = None
        self._last_clock: float | None = None
        self._bone_from_joint: dict[Side, tuple[Floats, Floats]] = {}
        """The offsets of each hand's bones, and the rotations from joint frames to bones computed for these offsets."""

    def feed(self, packet: bytes) -> Iterable[Frame]:
        """See Parser."""
        # All messages are parsed before any is used: a malformed packet changes nothing.
        parsed = [message for message in map(_parse, osc.decode(packet, ADDRESSES)) if message is not None]
        return [
            frame
            for index, (key, value) in enumerate(parsed)
            for frame in self._apply(key, value, first_of_packet=index == 0)
        ]

    def _apply(self, key: str, value: Transform | float, first_of_packet: bool) -> Iterator[Frame]:
        last_frame = self._cycle.frame
        ended_before, is_last = self._cycle.advance(key, first_of_packet)
        if ended_before:
            yield from self._frame(last_frame)
        if isinstance(value, float):
            self._clock = value
        else:
            self._bones[key], self._last_sent[key] = value, self._cycle.frame
        if is_last:
            yield from self._frame(self._cycle.frame)

    def _frame(self, number: int) -> Iterator[Frame]:
        """Yield the frame with the given number, if any bone of a hand was sent in it."""
        self._bones = {
            bone: transform
            for bone, transform in self._bones.items()
            if number - self._last_sent[bone] <= _lifetime(bone)
        }
        sides = tuple(side for side in SIDES if not self._bones.keys().isdisjoint(HAND_BONES[side]))
        # A repeated timestamp is not the time of this frame.
        time = None if self._clock == self._last_clock else self._clock
        self._last_clock = self._clock
        if not sides or all(sent < number for bone, sent in self._last_sent.items() if bone != ROOT):
            return
        local = {bone: (_offset(bone, position), rotation) for bone, (position, rotation) in self._bones.items()}
        world = world_transforms(local)
        hands = [self._hand(side, local, world) for side in sides]
        positions, rotations = (np.concatenate(parts) for parts in zip(*hands, strict=True))
        forearms = tuple(
            forearm for forearm in (self._forearm(side, local, world) for side in sides) if forearm is not None
        )
        yield with_forearms(Frame(hand_joint_names(*sides), positions, rotations, time), forearms)

    def _hand(self, side: Side, local: dict[str, Transform], world: dict[str, Transform]) -> tuple[Floats, Floats]:
        """Return positions (25, 3) in m and rotations (25, 4) wxyz of a hand's joints, NaN where its bones are
        missing."""
        positions, rotations = unseen_hand()
        bones = list(HAND_BONES[side])
        # If a sender sends only fingers, the wrist has the transform of their parent.
        sent = [bone in local for bone in bones]
        sent[0] = True
        joints = np.array(JOINT_INDICES)[sent]
        joint_rotations = rot.multiply(
            np.array([world[bone][1] for bone in bones]), self._cached_bone_from_joint(side, bones, local)
        )
        positions[joints] = np.array([world[bone][0] for bone in bones])[sent]
        rotations[joints] = joint_rotations[sent]
        return positions, rotations

    def _forearm(self, side: Side, local: dict[str, Transform], world: dict[str, Transform]) -> SentForearm | None:
        """Return the forearm of a hand in the frame, None if it is not sent or its bone has other axes."""
        upper, fore, hand = (f"{side.capitalize()}{part}" for part in ARM[-3:])
        if fore not in local or hand not in local:
            return None
        resting = vrm_t_pose.resting_wrist(side, self._bone_from_joint[side][0], local[hand][0])
        if resting is None:
            return None
        bones = (upper if upper in local else fore, fore)
        on_upper_arm, rotation = (rot.multiply(np.array(world[bone][1]), resting) for bone in bones)
        return SentForearm(side, np.array(world[fore][0]), remove_pronation(on_upper_arm, rotation))

    def _cached_bone_from_joint(self, side: Side, bones: list[str], local: dict[str, Transform]) -> Floats:
        """Return vrm_t_pose.bone_from_joint, computed again only when the bones' offsets change."""
        offsets = np.array([local[bone][0] if bone in local else vrm_t_pose.ADULT_OFFSETS[bone] for bone in bones])
        cached = self._bone_from_joint.get(side)
        if cached is None or np.abs(offsets[1:] - cached[0][1:]).max() > OFFSET_TOLERANCE_M:
            self._bone_from_joint[side] = cached = (offsets, vrm_t_pose.bone_from_joint(side, offsets))
        return cached[1]


def _first_key(cycle: Mapping[str, bool]) -> str:
    """Return the message with which a frame starts, from the messages of one cycle; see FrameCycle.

    Senders send the time first or last, which packets of several messages show; with one message per packet, it is
    assumed to be last. Without a time, a frame starts with the bone nearest to the hips, or with the root if that is
    sent just before.
    """
    order, packet_starts = list(cycle), [key for key, first_of_packet in cycle.items() if first_of_packet]
    if TIME in cycle:
        index = order.index(TIME)
        after_time = order[index + 1 :] + order[: index + 1]
        if cycle[after_time[0]]:
            return after_time[0]
        return next((key for key in reversed(after_time) if cycle[key]), TIME)
    ranks = {bone: rank for rank, bone in enumerate(PARENTS)}
    first = min(packet_starts or order, key=lambda key: ranks.get(key, len(ranks)))
    previous_key = order[order.index(first) - 1]
    return ROOT if previous_key == ROOT and cycle[ROOT] else first


def _lifetime(bone: str) -> int:
    """Return the number of frames for which a bone keeps its last transform."""
    return HAND_LIFETIME if any(bone in hand for hand in HAND_BONES.values()) else BODY_LIFETIME


def _offset(bone: str, position: Vector) -> Vector:
    """Return a bone's position in its parent in m: as sent, or that of an adult if it was not sent."""
    x, y, z = position
    return vrm_t_pose.ADULT_OFFSETS.get(bone, position) if abs(x) + abs(y) + abs(z) < MIN_OFFSET_M else position


def _parse(message: osc.OscMessage) -> tuple[str, Transform | float] | None:
    """Return the key and value of a message: a bone and its transform, or TIME and s; None for other bones.

    Raises PacketError.
    """
    if message.address == CLOCK:
        (value,) = _numbers(message, 0, 1)
        if seconds(value) is None:
            raise PacketError(f"{CLOCK.decode()} is {value:g} s, which is not a plausible time")
        return TIME, value
    name = message.arguments[0] if message.arguments else None
    if not isinstance(name, str):
        raise PacketError(f"{message.address.decode()} begins with {name!r}, expected a name")
    if message.address == ROOT_POSE:
        name = ROOT
    elif name not in PARENTS:
        return None
    px, py, pz, qx, qy, qz, qw = _numbers(message, 1, 7)
    x, y, z = valid_position((px, py, pz), name)
    i, j, k, w = unit_quaternion((qx, qy, qz, qw), name)
    # device_axes.unity_points and unity_rotations, for one bone.
    return name, ((-x, -z, y), (w, i, k, -j))


def _numbers(message: osc.OscMessage, start: int, count: int) -> list[float]:
    """Return `count` numbers of the arguments, from index `start` on. Raises PacketError if there are fewer."""
    numbers = [float(value) for value in message.arguments[start : start + count] if not isinstance(value, str)]
    if len(numbers) != count:
        raise PacketError(f"{message.address.decode()} has {len(numbers)} numbers, expected {count}")
    return numbers


class VmcSender(UdpSender):
    """Imitates a VMC performer: sends bundles with hands, on their forearms if known, attached to the root."""

    def packets(self, outgoing: OutgoingFrame) -> Iterator[bytes]:
        """See UdpSender."""
        messages = [osc.encode_message(READY, 1), osc.encode_message(ROOT_POSE, ROOT, *_numbers_of(np.eye(4)))]
        for side, joints in outgoing.hands.items():
            bones = dict(zip(HAND_BONES[side], _bone_frames(side, joints), strict=True))
            if side in outgoing.forearms:
                bones = {f"{side.capitalize()}{ARM[-2]}": _forearm_bone_frame(side, outgoing.forearms[side])} | bones
            for bone, frame in bones.items():
                local = np.linalg.inv(bones.get(PARENTS[bone], np.eye(4))) @ frame
                messages.append(osc.encode_message(BONE, bone, *_numbers_of(local)))
        messages.append(osc.encode_message(CLOCK, outgoing.time))
        for start in range(0, len(messages), BUNDLE_SIZE):
            yield osc.encode_bundle(*messages[start : start + BUNDLE_SIZE])


def _bone_frames(side: Side, joints: Floats) -> Floats:
    """Return T_world_bone (16, 4, 4) from joints (25, 4, 4), aligned with the world when the hand is in the T-pose."""
    frames = joints[JOINT_INDICES].copy()
    frames[:, :3, :3] = frames[:, :3, :3] @ np.swapaxes(vrm_t_pose.T_POSE_FRAMES[side], 1, 2)
    return frames


def _forearm_bone_frame(side: Side, wrist: Floats) -> Floats:
    """Return T_world_bone (4, 4) of a forearm's bone from the frame `wrist` (4, 4) of a wrist at rest on it."""
    frame = wrist.copy()
    frame[:3, :3] = frame[:3, :3] @ vrm_t_pose.T_POSE_FRAMES[side][0].T
    return frame


def _numbers_of(frame: Floats) -> list[float]:
    """Return the numbers to send for a frame (4, 4): position, and rotation xyzw, in Unity's axes."""
    return [*to_unity_points(frame[:3, 3]), *to_unity_rotations(rot.from_matrix(frame[:3, :3]))]
