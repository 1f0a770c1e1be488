"""A hand of an armature taken hold of, to be posed by a person: what it is, how it stands now, how it shall stand."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import joint_rotations
from ...hand import rotations as rot
from ...hand.joints import JOINTS
from ...hand.kinematics import Pose
from ...hand.limits import AngleLimits
from ...hand.measured_hand import MeasuredHand
from ...hand.model import HandModel
from ...hand.proportions import adult
from ...pipeline.retarget import character
from ..armature_hands import FoundHand
from ..binding import posed_frames
from ..bound_hand import bound_hand
from ..limits.rig_limits import allowed_of
from ..rig_query import rig_hand
from .apply_pose import PosedHand, armature_of, begin_bound, motion_of, show_motion

if TYPE_CHECKING:
    from bpy.types import Object, PoseBone
    from mathutils import Matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class HeldHand:
    """A hand that is posed by a person. Holds names and numbers, so that it outlives undo."""

    posed: PosedHand
    digits: tuple[str, ...]
    """Those that the rig has, thumb first."""

    @property
    def hand(self) -> HandModel:
        """A hand as large as the rig's, with its palm, its lengths and its limits."""
        return self.posed.hand


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """How a hand stands."""

    pose: Pose
    """One frame: where the wrist is in the world, and the angles nearest to how the bones stand."""
    beyond: dict[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """joint -> (3,) and (4,) wxyz, how its bone is moved and turned on top of that: a person may pose bones as no hand
    moves."""

    def toward(self, angles: Floats, factor: float, joints: Collection[int]) -> "Standing":
        """A part 0..1 of the way of these joints to angles (D,) with nothing on top."""
        pose = self.pose
        ways = np.where(np.isin(pose.hand.axis_joint, list(joints)), factor, 0.0)
        beyond = dict(self.beyond)
        for joint in set(joints) & set(beyond):
            moved, turned = beyond[joint]
            beyond[joint] = (1 - factor) * moved, rot.slerp(turned, rot.IDENTITY, np.array(factor))
        return Standing(Pose(pose.hand, pose.root, pose.angles + ways * (angles - pose.angles)), beyond)


def take(armature: "Object", found: FoundHand, *, limited: bool = True, further: AngleLimits | None = None) -> HeldHand:
    """Takes hold of a hand that `armature_hands.find_hands` found; limited: whether the rig's own limits are obeyed.

    further: degrees, movements that it shall have beside the usual ones, as those of its metacarpals; those of joints
    without a bone are left out. Zero of them, and the twist of fingers at ease, are then as the rig was built.
    Raises RigError as bound_hand and rig_limits.allowed do, HandError for a hand without length.
    """
    more = {of_joint: ends for of_joint, ends in (further or {}).items() if of_joint[0] in found.bones}
    person = MeasuredHand(adult(found.side), {}, limits=more)
    if limited:
        person = person.within(allowed_of(armature, found, person.model).limits)
    binding = bound_hand(armature, found, person.model, limited=limited)
    of = character(person.model, rig_hand(armature, found, binding, person.model))
    hand = of.hand
    if further is not None:
        seen, there = _seen(armature, binding.rest), np.array([bone is not None for bone in binding.bones])
        hand = _at_ease(_with_palm(hand, seen, {JOINTS.index(joint) for joint, _ in more}), seen, there)
    return HeldHand(begin_bound(armature, binding, hand), of.digits)


def _at_ease(hand: HandModel, seen: Floats, there: NDArray[np.bool_]) -> HandModel:
    """The hand at ease with its fingers twisted as its rig has them, which nobody poses; thumbs twist as they oppose.

    seen (J, 3, 3): how joints are turned at rest; there (J,): which have a bone.
    """
    at_rest = joint_rotations.angles(hand, rot.from_matrix(seen)[None], there)[0]
    thumb = np.array([hand.joints[joint].startswith("thumb") for joint in hand.axis_joint])
    twists = (np.array(hand.movements) == "twist") & ~thumb & np.isfinite(at_rest)
    return replace(hand, neutral=np.where(twists, at_rest, hand.neutral))


def _with_palm(hand: HandModel, seen: Floats, joints: Collection[int]) -> HandModel:
    """The hand with zero of some joints where their bones are at rest; seen (J, 3, 3), how all joints are turned there.

    A palm is as the rig has it, and not as the hand that it is measured by.
    """
    rest = np.array(hand.rest)
    for joint in joints:
        turn = np.eye(4)
        turn[:3, :3] = rest[joint, :3, :3].T @ (seen[0].T @ seen[joint])
        rest[joint] = rest[joint] @ turn
        for child in [child for child, parent in enumerate(hand.parents) if parent == joint]:
            rest[child] = turn.T @ rest[child]
    return replace(hand, rest=rest)


def _seen(armature: "Object", frames: Floats) -> Floats:
    """(J, 3, 3) how joints are turned in the world, from frames (J, 4, 4) in armature space, which may be mirrored."""
    axes = np.array(armature.matrix_world)[:3, :3] @ frames[:, :3, :3]
    return rot.basis(axes[..., :, 1], axes[..., :, 2])


def standing(held: HeldHand) -> Standing:
    """How the hand stands, as Blender evaluated it last. Raises RigError where it is gone."""
    pose = read(held)
    return Standing(pose, beyond(held, pose))


def read(held: HeldHand) -> Pose:
    """Of `standing` the pose alone, which is quicker."""
    frames = seen_frames(held)
    moving = {0, *held.hand.axis_joint.tolist()}
    known = np.array([joint in moving and bool(np.isfinite(frames[joint]).all()) for joint in range(len(JOINTS))])
    turned = np.tile(rot.IDENTITY, (len(JOINTS), 1))
    turned[known] = rot.from_matrix(frames[known, :3, :3])
    found = joint_rotations.angles(held.hand, turned[None], known)
    return Pose(held.hand, frames[:1], np.where(np.isfinite(found), found, held.hand.neutral))


def seen_frames(held: HeldHand) -> Floats:
    """(J, 4, 4) T_world_joint as Blender evaluated the bones last, NaN where there is no joint. Raises RigError."""
    armature = armature_held(held)
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    frames: Floats = np.array(evaluated.matrix_world) @ posed_frames(evaluated, held.posed.binding)
    known = np.isfinite(frames).all(axis=(1, 2))
    # Where the armature is stretched or mirrored, frames are those of the hand that is seen.
    frames[known, :3, :3] = rot.basis(frames[known, :3, 1], frames[known, :3, 2])
    return frames


def show(held: HeldHand, stands: Standing, joints: Collection[int] | None = None) -> None:
    """Poses the bones without keys; joints: only the bones of these, see `reached`. Raises RigError where the hand is
    gone.
    """
    armature = armature_held(held)
    binding = held.posed.binding
    wanted = binding.mapped if joints is None else reached(held, joints)
    further = {joint: stands.beyond[joint] for joint in wanted if joint in stands.beyond}
    motion = motion_of(armature, held.posed, stands.pose).with_beyond(further)
    show_motion(armature, binding, motion, wanted)


def reached(held: HeldHand, joints: Collection[int]) -> list[int]:
    """The joints whose bones are posed to move joints: those further out as well where no bone carries them along."""
    binding, follows = held.posed.binding, held.posed.wiring.follows
    loose = binding.placed | ~binding.inherits | (binding.holders != follows)
    result: list[int] = []
    for joint in binding.mapped:
        if joint in joints or (follows[joint] in result and loose[joint]):
            result.append(joint)
    return result


def beyond(held: HeldHand, pose: Pose) -> dict[int, tuple[Floats, Floats]]:
    """What the bones stand beyond a pose, see Standing. Raises RigError where the hand is gone."""
    armature, binding = armature_held(held), held.posed.binding
    motion = motion_of(armature, held.posed, pose)
    result = {}
    for joint in binding.mapped:
        place, turn, _ = _basis(armature.pose.bones[str(binding.bones[joint])], joint in binding.limits).decompose()
        further = rot.multiply(rot.conjugate(motion.rotations[0, joint]), np.array(turn))
        result[joint] = np.array(place) - motion.locations[0, joint], further
    return result


def _basis(bone: "PoseBone", limited: bool) -> "Matrix":
    """How a bone stands against its rest; of one with limits without what they hold back, for that is not seen."""
    if not limited:
        return bone.matrix_basis
    seen: Matrix = bone.id_data.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL")
    return seen


def armature_held(held: HeldHand) -> "Object":
    """The armature of a held hand. Raises RigError where that or a bone of the hand is gone."""
    armature: Object | None = armature_of(held.posed)
    if armature is None:
        raise RigError(f"armature '{held.posed.binding.armature}' or bones of its hand are gone, detect the hand again")
    return armature
