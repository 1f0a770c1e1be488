"""A palm that rests on an object of the scene over the frames of a correction: where the wrist is, and its keys."""

from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ....hand.joints import DIGITS, Side
from ....hand.kinematics import Pose, joint_frames
from ....hand.wrist_range import wrist_bend
from ....pipeline.contacts.faced_surface import FacedSurface
from ....pipeline.contacts.held_wrist import angle_and_distance, held_wrist
from ....pipeline.contacts.hold_in_range import HeldRows
from ....pipeline.contacts.hold_on_surface import HeldBySurface
from ....pipeline.contacts.nearest_skin import min_distance
from ....pipeline.contacts.rest_palm import PalmSkin, palm_skin, rest_on_surface
from ....pipeline.corrections.correction import PalmPlace
from ....posing.grasping.skin_samples import SkinPoints
from ...armature_data import is_in_use
from ...limits.read_limits import with_driven_channel, with_driven_rotation
from ..arm_keys import arm_of
from .hand_by_object import HandByObject, rotated_beyond
from .hand_of_take import HandOfTake
from .hand_to_correct import WRIST
from .keyed_wrist import HandKeys, WristKeys
from .last_used import LastUsed, digest
from .played_wrist import PlayedWrist

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MAX_DISPLACEMENT = 0.03
"""m, maximum displacement of a palm that is brought to rest. Hands differ in size, and tables do not move."""
MAX_ROTATION = np.deg2rad(45.0)
"""rad, maximum rotation of a palm to lie flat."""
MAX_SHORTFALL = 1e-3
"""m by which an arm may be too short for it, or by which a hand may miss its control."""
MAX_REST_DISTANCE = 1e-3
"""m, maximum distance of a palm at rest from the object. A palm beyond an edge does not rest, nor one that cannot reach
it."""
MIN_POINTS = 20
"""Minimum number of skin points of a palm."""
MAX_EXTRA_BEND = np.deg2rad(5.0)
"""rad by which the wrist may exceed a person's range more than in the take."""


_rests, _deepest = LastUsed[Floats | None](64), LastUsed[tuple[float, Floats]](64)
"""Each step of a slider composes all contacts of a hand; factors do not change these results."""
PARENTING_CONSTRAINTS = ("CHILD_OF", "ARMATURE")
"""Constraints that carry a bone and its keys along. Others, such as limits, may override keys."""


@dataclass(frozen=True, slots=True, eq=False)
class LaidPalm:
    """A hand whose palm rests on an object, over the F frames of a range."""

    by: HandByObject
    """The hand with its palm at rest."""
    rotations: Floats
    """(F, 4) of the wrist's bone."""
    wrist: WristKeys
    rows: HeldRows
    """The rows in which the palm rests."""

    def keys(self, keys: HandKeys) -> HandKeys:
        """Return the keys of the hand with the wrist of the resting palm."""
        rotations = keys.rotations.copy()
        rotations[:, WRIST] = self.rotations
        return HandKeys(rotations, self.wrist)


def some_of(count: int) -> Ints:
    """Return the rows, of F, whose skin is tested: the first, the middle and the last one."""
    return np.unique([0, count // 2, count - 1])


def check_placed(take_hand: HandOfTake) -> None:
    """Raise RigError unless a take keys channels that move the whole hand, and nothing else moves it."""
    armature = bpy.data.objects[take_hand.hand.binding.armature]
    if WRIST not in take_hand.bones or not take_hand.wrist.keyed:
        drive = "Arm" if arm_of(armature, take_hand.hand.found) else "Wrist"
        raise RigError(
            f"the take does not move the {take_hand.hand.side} hand to its place, which a palm at rest needs: solve "
            f"with Drive: {drive}, or hold fingertips alone"
        )
    chain = (*take_hand.wrist.chain.names, take_hand.hand.bone(WRIST))
    for name in chain:
        for constraint in armature.pose.bones[name].constraints:
            if is_in_use(constraint) and constraint.type not in PARENTING_CONSTRAINTS:
                raise RigError(
                    f"the constraint '{constraint.name}' of '{name}' may keep the palm from its target, mute it"
                )
    driven = [*with_driven_rotation(armature, chain), *with_driven_channel(armature, chain[-1:], ".location")]
    if driven:
        raise RigError(f"a driver moves '{driven[0]}', which overrides the keys that move the palm, mute it")


def digits_with_skin(take_hand: HandOfTake) -> tuple[str, ...]:
    """Return the digits of a hand that have skin, which stays out of the object."""
    return tuple(digit for number, digit in enumerate(DIGITS) if (take_hand.hand.skin.digit == number).any())


def chosen_palm(take_hand: HandOfTake, by: HandByObject, name: str) -> PalmPlace:
    """Return the pose in which the palm of a hand rests on an object, near its mean pose in F frames.

    Raises RigError if it faces away from the object, does not touch it, or would rotate by more than MAX_ROTATION.
    """
    frames = by.beside.to_surface
    mean = np.eye(4)
    mean[:3, :3] = rot.nearest_rotation(frames[:, :3, :3].mean(axis=0))
    mean[:3, 3] = frames[:, :3, 3].mean(axis=0)
    rest = _rested(_palm(take_hand, by, some_of(len(frames))), by, mean, name)
    _check_angle(mean[None], rest, name)
    turn = by.motion.rotation_on_object(rot.from_matrix(rest[:3, :3]))
    return PalmPlace(by.motion.on_object(rest[:3, 3]), turn)


def palm_transform(by: HandByObject, palm: PalmPlace) -> Floats:
    """Return T_surface_wrist (4, 4) of a palm at its place on an object."""
    transform = np.eye(4)
    transform[:3, :3] = rot.to_matrix(by.motion.rotation(palm.turn))
    transform[:3, 3] = by.motion.position(palm.place)
    return transform


def resting_at(by: HandByObject, to_surface: Floats, rest: Floats) -> HandByObject:
    """Return a hand at T_surface_wrist (F, 4, 4) whose palm rests on an object at `rest` (4, 4)."""
    faced = FacedSurface(by.beside.surface, rest[:3, 2])
    return replace(by, beside=replace(by.beside, surface=faced, to_surface=to_surface))


def laid_palm(
    take_hand: HandOfTake,
    by: HandByObject,
    palm: PalmPlace,
    name: str,
    *,
    full: Bools,
    continues: tuple[bool, bool],
    beside: Floats | None = None,
) -> LaidPalm:
    """Return a hand whose palm comes to rest on an object in the frames of a range, and leaves it.

    Args:
        take_hand: the hand.
        by: the hand with the object, over F frames. palm: the pose of the palm on the object. name: name of the object.
            full: (F,) whether a frame is between the blends. continues: whether the take has frames before and after
            the range. beside: (N, 3) m relative to the wrist, additional skin to keep out of the object; None for none.

    Raises:
        RigError: the palm cannot rest on it; the message has the reason.
    """
    if by.motion.carried:
        raise RigError(f"'{name}' moves with the wrist, expected an object that does not")
    if by.motion.played.slack > MAX_SHORTFALL:
        raise RigError(
            f"the hand does not follow '{take_hand.hand.bone(WRIST)}' in these frames, expected it within the arm's "
            "reach"
        )
    rows = np.flatnonzero(full) if full.any() else np.array([by.motion.middle])
    transform = palm_transform(by, palm)
    skin = _palm(take_hand, by, rows[some_of(len(rows))])
    rest = _rested(skin if beside is None else skin.with_points(beside), by, transform, name)
    distance = angle_and_distance(transform, rest)[1]
    if distance > MAX_DISPLACEMENT:
        raise RigError(f"its palm's target is {1e3 * distance:.0f} mm from the surface of '{name}' now")
    wrist_motion = held_wrist(by.beside.to_surface, rest, full=full, continues=continues)
    resting = wrist_motion.rows.slice
    _check_angle(by.beside.to_surface[resting], rest, name)
    goals = by.motion.in_world(wrist_motion.to_surface)
    rotations, wrist_place = by.wrist.brought_to(goals)
    reached = by.wrist.keyed_otherwise(rotations, wrist_place)
    short = float(np.linalg.norm((reached.wrist - goals)[resting, :3, 3], axis=1).max())
    if short > MAX_SHORTFALL:
        raise RigError(f"the arm does not bring the palm to '{name}': it stays {1e3 * short:.0f} mm away")
    _check_bend(by.wrist, reached, resting, take_hand.hand.side)
    laid = resting_at(replace(by, wrist=reached), by.motion.to_surface(reached.wrist), rest)
    return LaidPalm(laid, rotations, wrist_place, wrist_motion.rows)


def deepest_skin(take_hand: HandOfTake, by: HandByObject, found: HeldBySurface) -> tuple[float, Floats]:
    """Return the depth (m) of a hand with its held digits in an object, and all its skin (N, 3) m relative to the
    wrist."""
    rows = np.flatnonzero(found.motion.rows.mask(len(found.motion.pose)))
    angles, to = found.motion.pose.angles[rows], by.beside.to_surface[rows]
    key = take_hand.hand, by.digest, digest(angles, to, by.beyond)
    return _deepest.get(key, lambda: _deepest_skin(take_hand, by, rows, angles))


def _deepest_skin(take_hand: HandOfTake, by: HandByObject, rows: Ints, angles: Floats) -> tuple[float, Floats]:
    """Return the same in rows (N,) of the frames; angles: (N, D) rad, of the hand with its held digits."""
    posed = Pose.at_origin(by.pose.hand, angles)
    points = _palm_points(take_hand, by).posed(joint_frames(posed.hand, posed))
    to = by.beside.to_surface[rows]
    on_object = points @ to[:, :3, :3].swapaxes(1, 2) + to[:, None, :3, 3]
    depth = max(-min_distance(by.beside.surface, on_object), 0.0)
    some = some_of(len(rows))
    digits = by.beside.posed(rows[some], posed.angles[some])[0]
    return depth, np.concatenate([points[some].reshape(-1, 3), digits.reshape(-1, 3)])


def _rested(palm: PalmSkin, by: HandByObject, start: Floats, name: str) -> Floats:
    """Return T_surface_wrist (4, 4) of a palm at rest; see rest_on_surface.

    Raises RigError if it faces away from the object, or does not reach it.
    """
    key = by.digest, digest(palm.points, palm.region, start)
    rest = _rests.get(key, lambda: rest_on_surface(palm, by.beside.surface, start))
    if rest is None:
        raise RigError(f"the palm of the hand faces away from '{name}'")
    apart = float(by.beside.surface.nearest(palm.transformed(rest))[2].min())
    if apart > MAX_REST_DISTANCE:
        raise RigError(f"the palm of the hand does not reach '{name}': it stays {1e3 * apart:.0f} mm away")
    return rest


def _check_angle(frames: Floats, rest: Floats, name: str) -> None:
    """Raise RigError if a palm would rotate by more than MAX_ROTATION from T_surface_wrist (F, 4, 4) to its rest (4,
    4)."""
    angle = max(angle_and_distance(frame, rest)[0] for frame in frames)
    if angle > MAX_ROTATION:
        raise RigError(
            f"its palm would rotate by {np.rad2deg(angle):.0f}° to lie on '{name}', expected at most "
            f"{np.rad2deg(MAX_ROTATION):.0f}°"
        )


def _palm(take_hand: HandOfTake, by: HandByObject, rows: Ints) -> PalmSkin:
    """Return the skin of the palm in some of the frames. Raises RigError if it has too little."""
    skin = _palm_points(take_hand, by)
    if len(skin.points) < MIN_POINTS:
        raise RigError("the hand has no skin at its palm")
    return palm_skin(skin, Pose.at_origin(by.pose.hand, by.pose.angles[rows]))


def _palm_points(take_hand: HandOfTake, by: HandByObject) -> SkinPoints:
    """Return all points of the palm's skin, relative to the wrist."""
    return rotated_beyond(take_hand.hand.skin.subset(np.flatnonzero(take_hand.hand.skin.digit < 0)), by.beyond)


def _check_bend(before: PlayedWrist, after: PlayedWrist, rows: slice, side: Side) -> None:
    """Raise RigError if a wrist bends farther than a person's does, and farther than before."""
    forearms = before.forearms, after.forearms
    if forearms[0] is None or forearms[1] is None:
        return
    was, (bend, beyond) = wrist_bend(forearms[0][rows], side)[1], wrist_bend(forearms[1][rows], side)
    worst = int((beyond - was).argmax())
    if beyond[worst] > was[worst] + MAX_EXTRA_BEND:
        raise RigError(f"its wrist would bend by {np.rad2deg(bend[worst]):.0f}°, more than a human wrist does")
