"""The motion of the bones of an armature's hands, in pieces so that a long take does not block Blender for a minute."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.forearm import Forearm
from ...hand.joints import DIGITS, JOINT_INDEX, JOINTS, digit_of
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ..binding import RigBinding
from ..data_reference import DataReference
from ..intermediate_bones import bones_between
from ..pose_transfer import BoneMotion, resting_wrist, rig_hierarchy, transfer
from . import parent_motion
from .arm_keys import ArmBones, ArmMotion, move_arm
from .forearm_bend import against_forearms, carried_forearm
from .forearm_twist import ForearmBones, carried_by_arm, twist_forearm, untwisted_wrist
from .played_action import playing_no_action
from .wrist_strain import ArmAbove, CarriedWrist, WristStrain, wrist_strain

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

FRAMES_PER_PIECE = 500
WRIST = JOINT_INDEX["wrist"]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedHand:
    """A solved hand and the hand of an armature to key with it."""

    binding: RigBinding
    hand: HandModel
    pose: Pose
    arm: ArmBones | None = None
    """The arm that moves the wrist to its position in the pose; None leaves the arm unchanged."""
    offsets: Mapping[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """joint -> location (3,) and rotation (4,) wxyz of its bone on top of the pose."""
    digits: Collection[str] = DIGITS
    """The digits that are keyed."""
    forearm: ForearmBones | None = None
    """The forearm that takes the hand's pronation; None leaves that to the wrist."""
    wrist: bool = True
    """Whether the wrist is keyed. If not, the digits move relative to the wrist, wherever the character has it."""
    above: ArmAbove | None = None
    """The arm that carries the hand, keyed or not; None for a hand without an arm."""
    strains: list[WristStrain] = field(default_factory=list)
    """Strain of the wrist and the arm caused by the keys: an entry for each piece, appended as the motion is
    computed."""
    captured: Forearm | None = None
    """The performer's forearm; None if it was not captured."""

    @property
    def bends_with_forearm(self) -> bool:
        """Whether the wrist bends against the character's forearm as it did against the performer's."""
        placed = self.arm is not None or bool(self.binding.location_keyed[WRIST])
        carried = self.wrist and self.above is not None and not placed
        return carried and self.captured is not None and self.captured.is_seen

    def select(self, rows: slice) -> "KeyedHand":
        """Return the hand with some of its frames."""
        pose = Pose(self.pose.hand, self.pose.root[rows], self.pose.angles[rows])
        return replace(self, pose=pose, captured=self.captured.select(rows) if self.captured else None)

    @property
    def joints(self) -> tuple[int, ...]:
        """The joints whose bones are keyed, parents first."""
        return tuple(
            joint
            for joint in self.binding.mapped
            if (self.wrist if joint == WRIST else digit_of(JOINTS[joint]) in self.digits)
        )

    @property
    def arm_bones(self) -> list[str]:
        """The bones of the arm that are keyed."""
        arm = (self.arm.upper, self.arm.fore) if self.arm else ()
        return list(dict.fromkeys((*arm, *(self.forearm.shares if self.forearm else ()))))

    @property
    def bones(self) -> list[str]:
        """The bones that are keyed."""
        return [*self.arm_bones, *(str(self.binding.bones[joint]) for joint in self.joints)]


@dataclass(frozen=True, slots=True, eq=False)
class BoneValues:
    """The values of one bone on F frames; on a single frame if the bone does not move."""

    bone: str
    rotations: Floats
    """(F, 4) unit quaternions wxyz relative to its rest."""
    locations: Floats | None = None
    """(F, 3) in the armature's unit; None if its location is not keyed."""
    static: bool = False
    """Whether it does not move."""


def motion_of_hands(armature: "Object", hands: Sequence[KeyedHand], frames: Floats) -> Iterator[list[BoneValues]]:
    """Yield pieces of the motion of all bones of the hands at scene frames (F,), the bones in the same order in each.

    Whenever a piece is yielded, the armature is at the scene's frame and plays its own action. Raises RigError, also if
    the armature is deleted meanwhile.
    """
    reference = DataReference.of(armature)
    movers = [HandMover(armature, keyed) for keyed in hands]
    bones = [name for mover in movers for name in mover.evaluated_bones]
    carried = any(mover.is_carried for mover in movers)
    moving = carried and parent_motion.carriers_move(armature)
    with playing_no_action(armature):
        if carried:
            world, rests = parent_motion.parents_on_frames(armature, bones, frames[:FRAMES_PER_PIECE])
        else:
            world, rests = parent_motion.parents_on_current_frame(armature, bones)
    for start in range(0, len(frames), FRAMES_PER_PIECE):
        rows, present = slice(start, start + FRAMES_PER_PIECE), existing_armature(reference)
        if start and moving:
            with playing_no_action(present):
                world, rests = parent_motion.parents_on_frames(present, bones, frames[rows])
        poses = poses_on_forearms(present, movers, rows, world, rests)
        piece = [
            values
            for mover, pose in zip(movers, poses, strict=True)
            for values in mover.values(present, pose, world, rests)
        ]
        for mover in movers:
            mover.keyed.strains.extend([mover.strain] if mover.strain else [])
        yield piece


def poses_on_forearms(
    armature: "Object", movers: "Sequence[HandMover]", rows: slice, world: Floats, rests: Mapping[str, Floats]
) -> list[Pose]:
    """Return the hands' poses in some of the frames.

    With captured forearms, wrists bend against the character's forearms.
    """
    poses = {mover.keyed.hand.side: mover.pose(rows) for mover in movers}
    forearm_movers = {mover.keyed.hand.side: mover for mover in movers if mover.keyed.bends_with_forearm}
    if not forearm_movers:
        return [poses[mover.keyed.hand.side] for mover in movers]
    roots = {side: poses[side].root for side in forearm_movers}
    captured = {side: mover.captured_forearm(rows) for side, mover in forearm_movers.items()}
    carried = {side: mover.carried_forearm(armature, world, rests) for side, mover in forearm_movers.items()}
    for side, root in against_forearms(roots, captured, carried).items():
        poses[side] = replace(poses[side], root=root)
    return [poses[mover.keyed.hand.side] for mover in movers]


def existing_armature(armature: DataReference) -> "Object":
    """Return the armature. Raises RigError if it has been deleted."""
    obj: Object | None = armature.find_in(bpy.data.objects)
    if obj is None:
        raise RigError(f"armature '{armature.name}' is gone, no keys were made")
    return obj


def concatenated(pieces: Sequence[BoneValues]) -> BoneValues:
    """Concatenate the values of one bone over the pieces."""
    first = pieces[0]
    if first.static:
        return first
    locations = None if first.locations is None else np.concatenate([_locations(piece) for piece in pieces])
    return BoneValues(first.bone, np.concatenate([piece.rotations for piece in pieces]), locations)


def _locations(piece: BoneValues) -> Floats:
    assert piece.locations is not None
    return piece.locations


class HandMover:
    """Moves the bones of one hand, and of its arm. Keeps the arm's state from one piece to the next."""

    def __init__(self, armature: "Object", keyed: KeyedHand) -> None:
        rest, binding = armature.data.bones, keyed.binding
        self._outside = bones_with_outside_parents(armature, binding)
        wrist = keyed.above.wrist if keyed.above and keyed.above.follows else binding.bones[WRIST]
        self._back = np.array(rest[wrist].matrix_local)[:3, :3].T @ binding.rest[0, :3, 2] if wrist else np.zeros(3)
        """(3,) where the back of the hand points at rest, in the frame of the bone that carries it."""
        self._between = bones_between(armature, binding)
        self._on_forearm: dict[int, Floats] = {}
        """joint -> the rest matrix of its bone, which the forearm carries."""
        location_keyed = binding.location_keyed.copy()
        if keyed.arm or keyed.forearm:
            forearm = rest[keyed.arm.fore if keyed.arm else keyed.forearm.chain[0]]
            self._on_forearm = {
                joint: np.array(rest[name].matrix_local)
                for joint, name in self._outside.items()
                if forearm in rest[name].parent_recursive
            }
        if keyed.arm:
            location_keyed[list(self._on_forearm)] = False
        limits = binding.limits
        if not keyed.wrist:
            # The wrist is assumed to be at rest: the keys of its child bones do not depend on its pose.
            self._outside.pop(WRIST, None)
            location_keyed[WRIST] = False
            limits = {joint: of_bone for joint, of_bone in limits.items() if joint != WRIST}
        self.keyed = replace(keyed, binding=replace(binding, location_keyed=location_keyed, limits=limits))
        self._hierarchy = rig_hierarchy(self.keyed.binding, keyed.hand)
        self._arm_motion: ArmMotion | None = None
        self.strain: WristStrain | None = None
        """Strain of the wrist and the arm in the last frames computed; None if they are not keyed."""

    @property
    def evaluated_bones(self) -> list[str]:
        """The bones whose rest transforms, as moved by their parents, are needed."""
        between = [name for pair in self._between.values() for name in pair]
        arm, forearm = self.keyed.arm, self.keyed.forearm
        above = (arm.upper,) if arm else forearm.chain if forearm else ()
        followed = self.keyed.above.evaluated_bones if self.keyed.above and self.keyed.wrist else ()
        trunk = (self.keyed.above.bones.upper,) if self.keyed.bends_with_forearm else ()
        return [*self._outside.values(), *between, *above, *followed, *trunk]

    @property
    def is_carried(self) -> bool:
        """Whether the keys depend on the motion of the hand's parents."""
        return self.keyed.wrist or bool(self.evaluated_bones)

    def set_pose(self, pose: Pose, captured: Forearm | None) -> None:
        """Replace the pose, and the performer's forearm in its frames."""
        self.keyed = replace(self.keyed, pose=pose, captured=captured)

    def pose(self, rows: slice) -> Pose:
        """Return the hand's pose in some of the frames."""
        pose = self.keyed.pose
        return Pose(pose.hand, pose.root[rows], pose.angles[rows])

    def captured_forearm(self, rows: slice) -> Forearm:
        """Return the performer's forearm in some of the frames."""
        assert self.keyed.captured is not None, "checked by bends_with_forearm"
        return self.keyed.captured.select(rows)

    def carried_forearm(self, armature: "Object", world: Floats, rests: Mapping[str, Floats]) -> Forearm:
        """Return the character's forearm, before keys move its arm; of a single frame if nothing moves it."""
        above, forearm = self.keyed.above, self.keyed.forearm
        assert above is not None, "checked by bends_with_forearm"
        bone = above.wrist if above.follows else self._outside[WRIST]
        wrist, shoulder = (rests[name].reshape(-1, 4, 4) for name in (bone, above.bones.upper))
        if forearm is not None:
            wrist = untwisted_wrist(armature, forearm, rests).reshape(-1, 4, 4)
        return carried_forearm(above, self._back, world.reshape(-1, 4, 4), wrist, shoulder)

    def values(
        self, armature: "Object", pose: Pose, world: Floats, rests: Mapping[str, Floats]
    ) -> Iterator[BoneValues]:
        """Yield the values of the bones for a pose of some frames. world, rests: see parents_on_frames."""
        keyed = self.keyed
        held_rests = {joint: rests[name] for joint, name in self._outside.items()}
        held_rests |= parent_motion.rests_between(armature, self._between, rests)
        arm_rotations: dict[str, Floats] = {}
        excess_twist = np.zeros(len(pose))
        if keyed.arm:
            arm = self._move_arm(armature, keyed.arm, pose, world, rests)
            held_rests |= {joint: arm.forearm @ rest for joint, rest in self._on_forearm.items()}
            arm_rotations |= arm.rotations
            if keyed.forearm:
                rests = carried_by_arm(armature, keyed.forearm, arm)
        if keyed.forearm:
            twisted = twist_forearm(armature, keyed.forearm, keyed.binding, pose.root, world=world, carried=rests)
            held_rests |= {joint: twisted.moved @ held_rests[joint] for joint in self._on_forearm}
            arm_rotations |= twisted.rotations
            excess_twist = twisted.beyond
        yield from (BoneValues(name, rotations) for name, rotations in arm_rotations.items())
        if not keyed.wrist:
            at_rest = np.broadcast_to(resting_wrist(keyed.binding, world), pose.root.shape)
            pose = Pose(pose.hand, at_rest, pose.angles)
        motion = transfer(keyed.binding, keyed.hand, pose, world, held_rests, hierarchy=self._hierarchy)
        if keyed.wrist and keyed.above:
            placed = keyed.arm is not None or bool(keyed.binding.location_keyed[WRIST])
            wrist_rest = held_rests.get(WRIST, keyed.binding.bone_rest()[WRIST])
            goals, rotations = pose.root[:, :3, 3], motion.rotations[:, WRIST]
            wrist = CarriedWrist(world, rests, wrist_rest, rotations, goals, excess_twist, placed)
            self.strain = wrist_strain(keyed.above, keyed.binding, wrist)
        yield from _bone_values(keyed, motion.with_offsets(keyed.offsets))

    def _move_arm(
        self, armature: "Object", arm: ArmBones, pose: Pose, world: Floats, rests: Mapping[str, Floats]
    ) -> ArmMotion:
        """Move the arm, continuing the previous piece's motion."""
        shoulder = rests.get(arm.upper, np.array(armature.data.bones[arm.upper].matrix_local))
        binding, before = self.keyed.binding, self._arm_motion
        self._arm_motion = move_arm(armature, arm, binding, pose, world=world, shoulder_rest=shoulder, before=before)
        return self._arm_motion


def _bone_values(keyed: KeyedHand, motion: BoneMotion) -> Iterator[BoneValues]:
    for joint in keyed.joints:
        static = bool(motion.static[joint])
        # Copy the values, since a view would keep the whole piece in memory.
        rows = slice(0, 1) if static else slice(None)
        locations = motion.locations[rows, joint].copy() if keyed.binding.location_keyed[joint] else None
        yield BoneValues(str(keyed.binding.bones[joint]), motion.rotations[rows, joint].copy(), locations, static)


def bones_with_outside_parents(armature: "Object", binding: RigBinding) -> dict[int, str]:
    """Return joint -> bone for the bones whose parents do not belong to the hand."""
    bones = {joint: str(binding.bones[joint]) for joint in binding.mapped if binding.mapped_parents[joint] < 0}
    return {joint: name for joint, name in bones.items() if armature.pose.bones[name].parent}
