"""A hand of an armature that is dragged by one of its points, by the arm that carries it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, digit_of
from ...hand.kinematics import Pose
from ...posing.algebra_shapes import firm
from ...posing.dragging import KINDS, NEAREST, WRIST, Drag, DragStep, Pin, drag
from .channel_diff import Channels, channels_of, give_back, moved_since
from .following import Follower, arm_beyond, pointed, pose_arm
from .posable_model import bent, only
from .rig_hand import HandState, RigHand

Floats = NDArray[np.float64]

NEAR = 1e-6
"""m and parts of a turn: a wrist that is so near to where it was meant to be is there."""
ROUNDING = 1e-6
"""rad and the armature's unit: what rounding makes of how the bones of a hand that is bent as it stands are turned and
moved on top of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Dragged:
    """A hand that is being dragged. Holds names and numbers, so that it outlives undo."""

    who: Follower
    """Its model is bent as the hand stood."""
    stands: HandState
    """How it stood before."""
    drag: Drag
    joints: frozenset[int]
    """Those whose bones are posed."""
    before: dict[str, Channels]
    """Bone -> its channels before, of all that are posed."""
    arm: dict[str, Floats]
    """Bone of the arm -> (4,) wxyz, how it is turned on top of what brings the wrist there: an elbow's roll."""

    @property
    def place(self) -> Floats:
        """(3,) m in the world, where what is dragged was."""
        return self.drag.place


def begin(
    who: Follower, joint: str, pins: Sequence[Pin] = (), *, coupled: bool = True, solver: str = NEAREST
) -> Dragged:
    """Takes a hand by one of dragging.GRABBED. coupled: whether a finger's last joint goes with the one before it.
    solver: one of dragging.KINDS.

    Raises RigError for a hand that is gone, a digit that it lacks and a wrist that nothing moves.
    """
    held, digit = who.held, digit_of(joint)
    armature = held.armature_object()
    if digit is not None and digit not in held.digits:
        raise RigError(f"armature '{armature.name}' has no {joint} on this hand, choose another digit")
    if joint == WRIST and who.fixed:
        raise RigError(who.fixed)
    stood = held.read()
    taken, stands = bent(held, stood)
    wanted = [pin for pin in pins if pin.digit in held.digits and (pin.other is None or pin.other in held.digits)]
    by = KINDS[solver](firm(stood.pose, held.seen_frames()[:, :3, 3]).hand)
    of = drag(stands.pose, joint, wanted, coupled=coupled, by=by)
    joints = frozenset(taken.reached(of.joints if of.joints is not None else _of_whole(taken, of.digits)))
    arm = pointed(who) if who.arm and joint == WRIST else None
    own = replace(who, held=only(taken, joints), arm=arm)
    names = [str(taken.binding.bones[index]) for index in joints]
    names += [arm.upper, arm.fore] if arm else []
    before = channels_of(armature, names)
    beyond = {index: (way, turn) for index, (way, turn) in stands.beyond.items() if _matters(way, turn)}
    roll = arm_beyond(own, arm, stands.pose) if arm else {}
    return Dragged(own, HandState(stands.pose, beyond), of, joints, before, roll)


def move(dragged: Dragged, goal: Floats, last: DragStep | None = None) -> DragStep:
    """Poses the hand with what is dragged at a goal (3,) m in the world, or straight towards it; last: what the step
    before returned. Raises RigError where the hand is gone, HandError for one that the solver does not take."""
    who, of = dragged.who, dragged.drag
    step = of.step(goal, last)
    if who.arm is not None:
        pose = step.pose
        root = pose.root.copy()
        root[0, :3, 3] = pose_arm(who, who.arm, pose, dragged.arm)
        step = replace(step, pose=Pose(pose.hand, root, pose.angles))
    _show(dragged, step.pose)
    if of.joints is None and of.problem.objectives:
        # What an arm or limits of the rig keep the wrist from, the pinned fingers make up for.
        bpy.context.view_layer.update()
        seen = who.held.seen_frames()[0]
        if np.abs(seen - step.pose.root[0]).max() > NEAR or who.arm is not None:
            step = of.held(seen, step)
            _show(dragged, step.pose)
    return step


def put_back(dragged: Dragged) -> None:
    """The bones exactly as they were, where they are still there."""
    armature = dragged.who.held.find_armature()
    if armature is not None:
        give_back(armature, dragged.before)


def moved_bones(dragged: Dragged) -> tuple[list[str], list[str]]:
    """The bones whose channels differ from what they were before, and those of them that are in another place."""
    return moved_since(dragged.who.held.armature_object(), dragged.before)


def _show(dragged: Dragged, pose: Pose) -> None:
    dragged.who.held.write(HandState(pose, dragged.stands.beyond), dragged.joints)


def _of_whole(held: RigHand, digits: Collection[str]) -> frozenset[int]:
    """The joints whose bones are posed as the wrist moves: its own, those that bend, those that do not ride on it."""
    binding = held.binding
    bends = {JOINT_INDEX[joint] for digit in digits for joint in CHAIN_JOINTS[digit]}

    def rides(joint: int) -> bool:
        while joint > 0 and binding.inherits[joint] and not binding.placed[joint]:
            joint = int(binding.holders[joint])
        return joint == 0

    return frozenset(joint for joint in binding.mapped if joint == 0 or joint in bends or not rides(joint))


def _matters(way: Floats, turn: Floats) -> bool:
    return bool(np.abs(way).max() > ROUNDING or np.abs(turn[1:]).max() > ROUNDING)
