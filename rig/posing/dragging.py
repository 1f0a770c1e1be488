"""Drag a point of an armature's hand. If an arm carries the hand, the arm moves too."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, digit_of
from ...hand.kinematics import Pose
from ...posing.algebra_shapes import with_rigid_palm
from ...posing.dragging import DRAG_SOLVERS, NEAREST, WRIST, Drag, DragStep, Pin, start_drag
from .channel_diff import Channels, channels_of, moved_since, restore_channels
from .following import HandArm, arm_beyond, pose_arm, with_present_pole
from .posable_model import fitted_to_evaluated
from .rig_hand import HandState, ParentFrames, RigHand

Floats = NDArray[np.float64]

WRIST_TOLERANCE = 1e-6
"""m, and difference of rotation matrices: a wrist that is off by more is not where it was posed."""
ROUNDING = 1e-6
"""rad and the armature's unit: largest translations and rotations on top of the pose that rounding alone causes."""


@dataclass(frozen=True, slots=True, eq=False)
class RigDrag:
    """A hand that is being dragged. It holds only names and numbers, so it stays valid after undo."""

    hand_arm: HandArm
    """The hand, with a model fitted to it at the start of the drag. Only the bones that may move are posed."""
    start: HandState
    drag: Drag
    channels: dict[str, Channels]
    """Bone -> its channels before the drag, for all bones that are posed."""
    arm_roll: dict[str, Floats]
    """Bone of the arm -> (4,) wxyz, its rotation on top of the one that brings the wrist to its position."""
    parents: ParentFrames | None
    """The parents during the whole drag; None if its steps move them."""

    @property
    def position(self) -> Floats:
        """(3,) m in the world, the dragged point at the start."""
        return self.drag.position

    @property
    def joints(self) -> tuple[int, ...]:
        """The joints whose bones are posed."""
        return self.hand_arm.rig_hand.posed_joints


def start_rig_drag(
    hand_arm: HandArm, joint: str, pins: Sequence[Pin] = (), *, coupled: bool = True, solver: str = NEAREST
) -> RigDrag:
    """Start to drag a hand.

    Args:
        hand_arm: the hand with its arm.
        joint: the point, one of dragging.DRAGGABLE.
        pins: the pins of its fingertips.
        coupled: whether a finger's last joint follows its middle one.
        solver: a key of dragging.DRAG_SOLVERS.

    Raises:
        RigError: the hand no longer exists, lacks the digit, or has a wrist that cannot be moved.
    """
    rig_hand, digit = hand_arm.rig_hand, digit_of(joint)
    armature = rig_hand.armature_object()
    if digit is not None and digit not in rig_hand.digits:
        raise RigError(f"armature '{armature.name}' has no {joint} on this hand, choose another digit")
    if joint == WRIST and hand_arm.fixed:
        raise RigError(hand_arm.fixed)
    state = rig_hand.read()
    fitted_hand, start = fitted_to_evaluated(rig_hand, state)
    own = [pin for pin in pins if pin.digit in rig_hand.digits and (pin.other is None or pin.other in rig_hand.digits)]
    solver_hand = DRAG_SOLVERS[solver](with_rigid_palm(state.pose, rig_hand.evaluated_frames()[:, :3, 3]).hand)
    drag = start_drag(start.pose, joint, own, coupled=coupled, solver=solver_hand)
    hand = fitted_hand.only(drag.joints if drag.joints is not None else _moved_with_wrist(fitted_hand, drag.digits))
    arm = with_present_pole(hand_arm) if hand_arm.arm and joint == WRIST else None
    dragged_hand = replace(hand_arm, rig_hand=hand, arm=arm)
    names = [str(hand.binding.bones[index]) for index in hand.posed_joints]
    names += [arm.upper, arm.fore] if arm else []
    beyond = {index: extra for index, extra in start.beyond.items() if _exceeds_rounding(*extra)}
    return RigDrag(
        dragged_hand,
        HandState(start.pose, beyond),
        drag,
        channels_of(armature, names),
        arm_beyond(dragged_hand, arm, start.pose) if arm else {},
        # Bones between those of the hand may be driven by them.
        hand.parent_frames(armature) if drag.joints is not None and not hand.intermediate_bones else None,
    )


def move(dragged: RigDrag, goal: Floats, last: DragStep | None = None, along: Floats | None = None) -> DragStep:
    """Pose the hand so that the dragged point is at a goal, or as near as it gets.

    Args:
        dragged: the drag.
        goal: (3,) m in the world.
        last: the result of the step before.
        along: (3,) unit direction in which the goal may be anywhere, see Drag.step.

    Raises:
        RigError: the hand no longer exists.
        HandError: the solver does not support the hand.
    """
    hand_arm, drag = dragged.hand_arm, dragged.drag
    step = drag.step(goal, last, along)
    if hand_arm.arm is not None:
        root = step.pose.root.copy()
        root[0, :3, 3] = pose_arm(hand_arm, hand_arm.arm, step.pose, dragged.arm_roll)
        step = replace(step, pose=Pose(step.pose.hand, root, step.pose.angles))
    _write(dragged, step.pose)
    if drag.joints is None and drag.pins:
        # If the arm or the rig's limits keep the wrist away from its goal, the pinned fingers compensate for it.
        bpy.context.view_layer.update()
        evaluated_wrist = hand_arm.rig_hand.evaluated_frames()[0]
        if np.abs(evaluated_wrist - step.pose.root[0]).max() > WRIST_TOLERANCE or hand_arm.arm is not None:
            step = drag.hold_pins(evaluated_wrist, step)
            _write(dragged, step.pose)
    return step


def hold_pins(dragged: RigDrag) -> None:
    """Bring pinned fingertips to their pins as far as their digits reach. The wrist stays."""
    start = dragged.start.pose
    _write(dragged, dragged.drag.hold_pins(start.root[0], DragStep(start)).pose)


def restore_pose(dragged: RigDrag) -> None:
    """Restore the bones exactly as they were, if they still exist."""
    armature = dragged.hand_arm.rig_hand.find_armature()
    if armature is not None:
        restore_channels(armature, dragged.channels)


def moved_bones(dragged: RigDrag) -> tuple[list[str], list[str]]:
    """Return the bones whose channels differ from those before, and those among them whose location differs."""
    return moved_since(dragged.hand_arm.rig_hand.armature_object(), dragged.channels)


def _write(dragged: RigDrag, pose: Pose) -> None:
    dragged.hand_arm.rig_hand.write(HandState(pose, dragged.start.beyond), dragged.parents)


def _moved_with_wrist(rig_hand: RigHand, digits: Collection[str]) -> frozenset[int]:
    """Return the joints to pose as the wrist moves: its own, those that bend, and those that it does not carry."""
    binding = rig_hand.binding
    bends = {JOINT_INDEX[joint] for digit in digits for joint in CHAIN_JOINTS[digit]}

    def is_carried(joint: int) -> bool:
        while joint > 0 and binding.inherits_rotation[joint] and not binding.location_keyed[joint]:
            joint = int(binding.mapped_parents[joint])
        return joint == 0

    return frozenset(joint for joint in binding.mapped if joint == 0 or joint in bends or not is_carried(joint))


def _exceeds_rounding(translation: Floats, rotation: Floats) -> bool:
    return bool(np.abs(translation).max() > ROUNDING or np.abs(rotation[1:]).max() > ROUNDING)
