"""The motion of the bones of an armature's hands in pieces: a long take at once would stop Blender for a minute."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ..binding import RigBinding
from ..data_reference import DataReference
from ..intermediate_bones import bones_between
from ..pose_transfer import BoneMotion, rig_hierarchy, transfer
from . import parent_motion
from .arm_keys import ArmBones, ArmMotion, move_arm
from .played_action import playing_no_action

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

FRAMES_PER_PIECE = 500


@dataclass(frozen=True, slots=True, eq=False)
class KeyedHand:
    """A solved hand and the hand of an armature to key with it."""

    binding: RigBinding
    hand: HandModel
    pose: Pose
    arm: ArmBones | None = None
    """The arm that brings the wrist to its position in the pose; None leaves the arm unchanged."""
    offsets: Mapping[int, tuple[Floats, Floats]] = field(default_factory=dict)
    """joint -> location (3,) and rotation (4,) wxyz of its bone on top of the pose."""


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
    movers = [_HandMover(armature, keyed) for keyed in hands]
    bones = [name for mover in movers for name in mover.evaluated_bones]
    moving = parent_motion.carriers_move(armature)
    with playing_no_action(armature):
        world, rests = parent_motion.standing(armature, bones, frames[:FRAMES_PER_PIECE])
    for start in range(0, len(frames), FRAMES_PER_PIECE):
        rows, present = slice(start, start + FRAMES_PER_PIECE), still_there(reference)
        if start and moving:
            with playing_no_action(present):
                world, rests = parent_motion.standing(present, bones, frames[rows])
        yield [values for mover in movers for values in mover.piece(present, rows, world, rests)]


def still_there(armature: DataReference) -> "Object":
    """Return the armature. Raises RigError if it was deleted meanwhile."""
    obj: Object | None = armature.among(bpy.data.objects)
    if obj is None:
        raise RigError(f"armature '{armature.name}' is gone, no keys were made")
    return obj


def joined(pieces: Sequence[BoneValues]) -> BoneValues:
    """Return the values of one bone in all pieces."""
    first = pieces[0]
    if first.static:
        return first
    locations = None if first.locations is None else np.concatenate([_locations(piece) for piece in pieces])
    return BoneValues(first.bone, np.concatenate([piece.rotations for piece in pieces]), locations)


def _locations(piece: BoneValues) -> Floats:
    assert piece.locations is not None
    return piece.locations


class _HandMover:
    """Moves the bones of one hand, and of its arm."""

    def __init__(self, armature: "Object", keyed: KeyedHand) -> None:
        rest, binding = armature.data.bones, keyed.binding
        self._outside = bones_with_outside_parents(armature, binding)
        self._between = bones_between(armature, binding)
        self._on_forearm: dict[int, Floats] = {}
        """joint -> the rest matrix of its bone, which the forearm carries."""
        if keyed.arm:
            forearm = rest[keyed.arm.fore]
            self._on_forearm = {
                joint: np.array(rest[name].matrix_local)
                for joint, name in self._outside.items()
                if forearm in rest[name].parent_recursive
            }
            location_keyed = binding.location_keyed.copy()
            location_keyed[list(self._on_forearm)] = False
            binding = replace(binding, location_keyed=location_keyed)
        self._keyed = replace(keyed, binding=binding)
        self._hierarchy = rig_hierarchy(binding, keyed.hand)
        self._arm_motion: ArmMotion | None = None

    @property
    def evaluated_bones(self) -> list[str]:
        """The bones whose rest transforms are needed as their parents move them."""
        between = [name for pair in self._between.values() for name in pair]
        return [*self._outside.values(), *between, *([self._keyed.arm.upper] if self._keyed.arm else [])]

    def piece(
        self, armature: "Object", rows: slice, world: Floats, rests: Mapping[str, Floats]
    ) -> Iterator[BoneValues]:
        """Yield the values of the bones in some of the frames; world, rests: see parent_motion.standing."""
        keyed = self._keyed
        pose = Pose(keyed.pose.hand, keyed.pose.root[rows], keyed.pose.angles[rows])
        held_rests = {joint: rests[name] for joint, name in self._outside.items()}
        held_rests |= parent_motion.rests_between(armature, self._between, rests)
        if keyed.arm:
            arm = self._move_arm(armature, keyed.arm, pose, world, rests)
            held_rests |= {joint: arm.forearm @ rest for joint, rest in self._on_forearm.items()}
            yield from (BoneValues(name, rotations) for name, rotations in arm.rotations.items())
        motion = transfer(keyed.binding, keyed.hand, pose, world, held_rests, hierarchy=self._hierarchy)
        yield from _bone_values(keyed.binding, motion.with_offsets(keyed.offsets))

    def _move_arm(
        self, armature: "Object", arm: ArmBones, pose: Pose, world: Floats, rests: Mapping[str, Floats]
    ) -> ArmMotion:
        """Move the arm, continuing the motion of the piece before."""
        shoulder = rests.get(arm.upper, np.array(armature.data.bones[arm.upper].matrix_local))
        binding, before = self._keyed.binding, self._arm_motion
        self._arm_motion = move_arm(armature, arm, binding, pose, world=world, shoulder_rest=shoulder, before=before)
        return self._arm_motion


def _bone_values(binding: RigBinding, motion: BoneMotion) -> Iterator[BoneValues]:
    for joint in binding.mapped:
        static = bool(motion.static[joint])
        # Copies: a view would keep the whole piece in memory.
        rows = slice(0, 1) if static else slice(None)
        locations = motion.locations[rows, joint].copy() if binding.location_keyed[joint] else None
        yield BoneValues(str(binding.bones[joint]), motion.rotations[rows, joint].copy(), locations, static)


def bones_with_outside_parents(armature: "Object", binding: RigBinding) -> dict[int, str]:
    """Return joint -> bone for the bones whose parents do not belong to the hand."""
    bones = {joint: str(binding.bones[joint]) for joint in binding.mapped if binding.mapped_parents[joint] < 0}
    return {joint: name for joint, name in bones.items() if armature.pose.bones[name].parent}
