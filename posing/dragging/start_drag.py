"""Start dragging a point of a hand."""

from collections.abc import Sequence

import numpy as np

from ...hand import kinematics
from ...hand.jacobians import ROOT_DOFS
from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, KNUCKLES, digit_of
from ...hand.kinematics import Pose
from ...solvers.pose_problem import Objective, PoseProblem, Preferences, angles_of
from .curl import curl_preferences, curls
from .drag import WRIST, Drag, Nearest
from .drag_pins import Pin, affected_pins, pin_objective
from .drag_step import DragSolver


def start_drag(
    start: Pose, joint: str, pins: Sequence[Pin] = (), *, coupled: bool = True, solver: DragSolver | None = None
) -> Drag:
    """Start dragging a joint of a hand.

    Args:
        start: the hand, one frame.
        joint: one of DRAGGABLE.
        pins: pins of fingertips; a pin of the dragged tip itself is ignored. coupled: whether a finger's last joint
            follows its middle one. solver: bends the digits, see DRAG_SOLVERS; Nearest by default.
    """
    hand = start.hand
    whole = joint == WRIST or joint in KNUCKLES
    own = None if whole else digit_of(joint)
    moving = {own} if own else set()
    other_pins = [pin for pin in pins if pin.digit != own or pin.other or not joint.endswith("tip")]
    affected = list(affected_pins(start, other_pins, moving, whole))
    digits = {pin.digit for pin in affected} | {pin.other for pin in affected if pin.other} | moving
    dragged_digits = tuple(digit for digit in DIGITS if digit in digits)
    base = np.arange(3) if joint == WRIST else np.arange(3, ROOT_DOFS) if whole else np.zeros(0, int)
    free = np.concatenate([base, angles_of(hand, dragged_digits)])
    chain = (WRIST, joint) if whole else CHAIN_JOINTS[str(own)]
    rows = [JOINT_INDEX[link] for link in chain[: chain.index(joint) + 1]]
    positions = kinematics.joint_frames(hand, start)[0, rows, :3, 3]
    objectives = [Objective(hand.site_index(joint), positions[-1]), *(pin_objective(hand, pin) for pin in affected)]
    curled = curls(joint) and not whole
    preferred = curl_preferences(hand, joint) if curled else Preferences()
    problem = PoseProblem.of(start, free, objectives, coupled=coupled, preferences=preferred)
    reach = float(np.linalg.norm(np.diff(positions, axis=0), axis=-1).sum())
    by = solver or Nearest()
    any_depth = curled and isinstance(by, Nearest)
    return Drag(start, joint, positions[-1], problem, dragged_digits, coupled, by, positions[0], reach, any_depth)
