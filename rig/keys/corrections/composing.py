"""The rotations of a hand's bones in a take with corrections on it, on the frames that they change."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ....hand import rotations as rot
from ....hand.joints import JOINT_INDEX, JOINTS
from ....pipeline.corrections.correction import Correction, PoseChange, PoseDifference, PoseToHold, TakenMotion
from ... import rotation_channels
from ..fcurves import SAME_FRAME, key_values
from ..hand_curves import check_finite
from ..spliced_keys import evaluated_channels
from .hand_to_correct import HandToCorrect
from .matched_motion import matched
from .take_clock import TakeClock

if TYPE_CHECKING:
    from bpy.types import FCurve, Object

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedBone:
    """The rotation of a bone in an action."""

    path: str
    mode: str
    curves: "list[FCurve]"
    """Of its channels, each with keys."""

    def rotations(self, frames: Floats) -> Floats:
        """Return its rotations (F, 4) on scene frames (F,)."""
        return rotation_channels.rotations(evaluated_channels(self.curves, frames), self.mode)


@dataclass(frozen=True, slots=True, eq=False)
class HandOfTake:
    """A hand and what an action keys of it."""

    hand: HandToCorrect
    bones: dict[int, KeyedBone]
    """Joint -> its bone, of those whose rotation is keyed."""
    frames: Floats
    """(F,) scene frames with keys, and the whole ones between those that are further apart."""
    shown: Floats
    """(J, 4) the rotations that bones without keys have."""

    def rotations(self, frames: Floats) -> Floats:
        """Return the rotations (F, J, 4) of its bones on scene frames (F,)."""
        found = np.broadcast_to(self.shown, (len(frames), *self.shown.shape)).copy()
        for joint, bone in self.bones.items():
            found[:, joint] = bone.rotations(frames)
        return found

    def rows(self, correction: Correction, clock: TakeClock) -> Bools:
        """Return which of its frames (F,) are in the range of a correction."""
        ends = clock.frames([correction.range.start, correction.range.end])
        inside: Bools = (self.frames > ends[0] - SAME_FRAME) & (self.frames < ends[1] + SAME_FRAME)
        return inside


@dataclass(frozen=True, slots=True, eq=False)
class Composed:
    """What corrections make of a hand."""

    rows: Bools
    """(F,) the frames of the take that are in the range of a correction."""
    rotations: Floats
    """(R, J, 4) of the bones on these R frames."""
    changed: Bools
    """(R, J) where a correction counts."""
    in_range: Bools
    """(R, J) where the frame is in the range of one that moves the joint."""


def hand_of_take(armature: "Object", hand: HandToCorrect, curves: "Iterable[tuple[str, FCurve]]") -> HandOfTake:
    """Return what curves, each with its data path, key of a hand. Raises RigError for keys that are no numbers."""
    found: dict[str, dict[int, FCurve]] = {}
    for path, curve in curves:
        found.setdefault(path, {})[curve.array_index] = curve
    bones, shown = {}, np.tile(rot.IDENTITY, (len(JOINTS), 1))
    for joint in hand.joints:
        bone = armature.pose.bones[hand.bone(joint)]
        channel = rotation_channels.channel(bone.rotation_mode)
        path = f'pose.bones["{bpy.utils.escape_identifier(bone.name)}"].{channel}'
        now = np.array(getattr(bone, channel), float)[None]
        shown[joint] = rotation_channels.rotations(now, bone.rotation_mode)[0]
        of_path = found.get(path, {})
        if set(of_path) == set(range(now.shape[1])) and all(len(curve.keyframe_points) for curve in of_path.values()):
            check_finite(armature, bone.name, of_path)
            bones[joint] = KeyedBone(path, bone.rotation_mode, [of_path[index] for index in sorted(of_path)])
    return HandOfTake(hand, bones, _frames([curve for bone in bones.values() for curve in bone.curves]), shown)


def _frames(curves: "Sequence[FCurve]") -> Floats:
    """Return the frames (F,) of the keys of curves, and whole ones where these are more than one apart."""
    keyed = np.unique(np.concatenate([np.empty(0), *(key_values(curve, "co")[::2].astype(float) for curve in curves)]))
    if len(keyed) < 2:
        return keyed
    keyed = keyed[np.concatenate([[True], np.diff(keyed) > SAME_FRAME])]
    gaps = np.flatnonzero(np.diff(keyed) > 1 + SAME_FRAME)
    whole = [np.arange(np.floor(keyed[row] + SAME_FRAME) + 1, keyed[row + 1] - SAME_FRAME) for row in gaps]
    return np.sort(np.concatenate([keyed, *whole]))


def compose(of: HandOfTake, corrections: Sequence[Correction], clock: TakeClock, only: Bools | None = None) -> Composed:
    """Return the rotations of a hand's bones with corrections of it on them, each on what those before it left.

    only: (F,) the frames to compose, None for all that are in a range; more of them where others depend on them.
    """
    ranges = [of.rows(correction, clock) for correction in corrections]
    around = [_around(rows, correction) for rows, correction in zip(ranges, corrections, strict=True)]
    rows = np.any(around, axis=0) if around else np.zeros(len(of.frames), bool)
    if only is not None:
        rows &= _with_whole_motions(only, around, corrections)
    frames = of.frames[rows]
    rotations = of.rotations(frames)
    changed, in_range = np.zeros((2, *rotations.shape[:2]), bool)
    for correction, inside, evaluated in zip(corrections, ranges, around, strict=True):
        at, moved = evaluated[rows], moved_joints(of, correction)
        weights = correction.weights(clock.times(frames[at]))
        target = _target(of.hand, correction, rotations[at], moved, clock.times(frames[at]))
        for joint in moved:
            mixed = rot.slerp(rotations[at, joint], target[:, joint], weights[:, None])
            rotations[at, joint] = np.where(weights[:, None] > 0, mixed, rotations[at, joint])
            changed[at, joint] |= weights > 0
            in_range[inside[rows], joint] = True
    return Composed(rows, rotations, changed, in_range)


def _around(rows: Bools, correction: Correction) -> Bools:
    """Return the frames (F,) that a correction of these depends on: of a motion, whose ends are matched, two more."""
    around = rows.copy()
    if isinstance(correction.change, TakenMotion):
        around[:-1] |= rows[1:]
        around[1:] |= rows[:-1]
    return around


def _with_whole_motions(only: Bools, around: Sequence[Bools], corrections: Sequence[Correction]) -> Bools:
    """Return frames (F,) and those of all motions among them, as a motion depends on the ends of its range."""
    wanted, before = only.copy(), -1
    while wanted.sum() != before:
        before = wanted.sum()
        for rows, correction in zip(around, corrections, strict=True):
            if isinstance(correction.change, TakenMotion) and (rows & wanted).any():
                wanted |= rows
    return wanted


def moved_joints(of: HandOfTake, correction: Correction) -> list[int]:
    """Return the joints whose bones a correction turns, of those that the take keys."""
    if not isinstance(correction.change, PoseChange):
        return []
    wanted = {JOINT_INDEX[joint] for joint in correction.change.joints}
    if isinstance(correction.change, PoseToHold):
        wanted &= of.hand.posable
    return [joint for joint in of.hand.joints if joint in wanted and joint in of.bones]


def _target(hand: HandToCorrect, correction: Correction, rotations: Floats, moved: list[int], times: Floats) -> Floats:
    """Return what a correction makes of rotations (F, J, 4) where it counts fully."""
    target, change = rotations.copy(), correction.change
    if isinstance(change, PoseDifference):
        for joint in moved:
            target[:, joint] = hand.turned(rotations[:, joint], joint, change.turns[JOINTS[joint]])
    elif isinstance(change, TakenMotion):
        relative = hand.relative_to_wrist(rotations)
        for joint in moved:
            taken = sampled(change.times, change.rotations[JOINTS[joint]], times)
            relative[:, joint] = matched(taken, relative[:, joint], times, correction.range)
        target = hand.with_joints(rotations, moved, relative)
    elif isinstance(change, PoseToHold):
        target[:, moved] = hand.pose(change.pose)[moved]
    return target


def sampled(times: Floats, rotations: Floats, at: Floats) -> Floats:
    """Return rotations (F, 4) at times (F,) between samples (N, 4) at times (N,); those of the ends hold beyond."""
    after = np.clip(np.searchsorted(times, at), min(1, len(times) - 1), len(times) - 1)
    before = np.maximum(after - 1, 0)
    span = np.maximum(times[after] - times[before], 1e-12)
    part = np.clip((at - times[before]) / span, 0.0, 1.0)
    return rot.slerp(rotations[before], rotations[after], part[:, None])


def waiting_reason(correction: Correction, hands: "Sequence[HandOfTake]", clock: TakeClock) -> str:
    """Return why a correction has no effect on these hands of a take, a sentence without its end; empty if it has."""
    own = [of for of in hands if of.hand.side == correction.hand]
    if not own:
        return f"there is no {correction.hand} hand in the take"
    if not own[0].rows(correction, clock).any():
        first, last = clock.frames([correction.range.start, correction.range.end])
        have = f"{own[0].frames[0]:.0f} to {own[0].frames[-1]:.0f}"
        return f"its frames {first:.0f} to {last:.0f} are not in the take, which has {have}"
    if isinstance(correction.change, PoseChange) and not moved_joints(own[0], correction):
        return "the take keys none of its digits"
    return ""


def runs_with_ends(in_range: Bools, keyed: Bools) -> Iterator[tuple[int, int]]:
    """Yield first and last row of each run of frames to key, of a curve with keys where `keyed` (F,) is set.

    A run has the frame before and after it as well where the curve has no key there: a step at the range's end needs
    one.
    """
    rows = in_range.copy()
    rows[:-1] |= in_range[1:] & ~keyed[:-1]
    rows[1:] |= in_range[:-1] & ~keyed[1:]
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]]).astype(int)))
    yield from zip(edges[::2].tolist(), (edges[1::2] - 1).tolist(), strict=True)
