"""The arm model: lengths, limits, poses and forward kinematics. CGA-arm section 4.

Shoulder and wrist are ball-and-socket joints, the elbow is a hinge, the hand is rigid. Frames, parallel at zero angles:

    shoulder  +Y along the upper arm, +X the elbow's axis, so that the elbow bends the forearm from +Y towards +Z
    elbow     at (0, upper, 0) in the rotated shoulder frame; rotated about +X by the elbow angle
    wrist     at (0, fore, 0) in the rotated elbow frame
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ..tree import SkeletonError, SwingTwistLimit, ball
from .ball_joints import ball_joint

Floats = NDArray[np.float64]

FREE = ball()
"""Limits of a ball joint that may rotate anywhere."""


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """Lengths and limits of an arm. `human` returns those of a person.

    Raises:
        SkeletonError: a length is not above 0, the elbow's range is not within 0 to π, the pole has no direction, or
            `hand` is not a unit quaternion.
    """

    upper: float
    """m, shoulder to elbow."""
    fore: float
    """m, elbow to wrist."""
    shoulder: SwingTwistLimit = FREE
    """Limits in the shoulder's frame."""
    elbow: tuple[float, float] = (0.0, np.deg2rad(150.0))
    """rad, lower and upper limit."""
    wrist: SwingTwistLimit = FREE
    """Limits in the forearm's frame."""
    hand: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    """Unit quaternion wxyz, the hand's rest rotation in the forearm's frame."""
    pole: tuple[float, float, float] = (0.0, 1.0, -1.0)
    """Default direction of the elbow in the shoulder's frame: down and back for an arm that hangs down at rest."""

    def __post_init__(self) -> None:
        for name in ("upper", "fore"):
            length = getattr(self, name)
            if not (np.isfinite(length) and length > 0):
                raise SkeletonError(f"arm: {name} is {length} m, expected more than 0")
        low, high = self.elbow
        if not 0 <= low <= high <= np.pi:
            raise SkeletonError(f"arm: the elbow bends from {low} to {high} rad, expected a range within 0 to π")
        if not 0 < np.linalg.norm(self.pole) < np.inf:
            raise SkeletonError(f"arm: the pole is {self.pole}, expected a finite position that is not the shoulder")
        if not abs(np.linalg.norm(self.hand) - 1) <= 1e-6:
            raise SkeletonError(f"arm: the hand's rest rotation is {self.hand}, expected a unit quaternion")


def human(upper: float, fore: float, side: str) -> Arm:
    """Return a person's arm, which hangs down at rest with the palm forwards: +Z forwards, +X to the right.

    Ranges after the American Academy of Orthopaedic Surgeons (Joint Motion, 1965), in degrees: shoulder 180 flexion,
    60 extension, 180 abduction, 50 adduction, 90 rotation either way; elbow 150 flexion; forearm 160 pronation from
    the rest pose; wrist 80 flexion, 70 extension, 20 radial and 30 ulnar deviation.

    Args:
        upper: m, shoulder to elbow.
        fore: m, elbow to wrist.
        side: 'left' or 'right'.

    Raises:
        SkeletonError: unknown side, or a length that is not above 0.
    """
    # A swing about +Z is to the left: adduction of a right arm, abduction of a left one.
    shoulder, wrist, twist = (180.0, 50.0, 60.0, 180.0), (80.0, 30.0, 70.0, 20.0), (-160.0, 10.0)
    if side == "left":
        shoulder, wrist, twist = (180.0, 180.0, 60.0, 50.0), (80.0, 20.0, 70.0, 30.0), (-10.0, 160.0)
    elif side != "right":
        raise SkeletonError(f"arm: its side is '{side}', expected left or right")
    return Arm(upper, fore, _limit(shoulder, (-90.0, 90.0)), (0.0, np.deg2rad(150.0)), _limit(wrist, twist))


def _limit(cone: tuple[float, float, float, float], twist: tuple[float, float]) -> SwingTwistLimit:
    forwards, left, backwards, right = (float(x) for x in np.deg2rad(cone))
    low, high = (float(x) for x in np.deg2rad(twist))
    return SwingTwistLimit((forwards, left, backwards, right), (low, high))


@dataclass(frozen=True, slots=True, eq=False)
class ArmPose:
    """Joint rotations of an arm over F frames."""

    shoulder: Floats
    """(F, 4) unit quaternions wxyz, the upper arm in the shoulder's frame: q_shoulder of CGA-arm (4.2)."""
    elbow: Floats
    """(F,) rad, θ4."""
    wrist: Floats
    """(F, 4) unit quaternions wxyz in the forearm's frame, applied before the hand's rest rotation."""
    swivel: Floats
    """(F,) rad, the elbow's rotation about the line from shoulder to wrist, 0 towards the pole."""

    def __len__(self) -> int:
        return len(self.elbow)

    @property
    def elbow_rotation(self) -> Floats:
        """(F, 4) unit quaternions wxyz of the elbow: CGA-arm (4.1), with the imaginary unit i of the opposite sign."""
        return rot.from_axis_angle(np.array([1.0, 0.0, 0.0]), self.elbow)

    @property
    def angles(self) -> Floats:
        """(F, 7) rad, θ1 to θ7: shoulder, elbow, wrist."""
        return np.concatenate([_zxy_angles(self.shoulder), self.elbow[:, None], _zxy_angles(self.wrist)], -1)


@dataclass(frozen=True, slots=True, eq=False)
class ArmState:
    """State carried from one piece of a take to the next: the last pose."""

    last: ArmPose
    """One frame."""


def at_rest(arm: Arm) -> ArmState:
    """Return the state before an arm's first frame: straight, or as straight as its limits allow."""
    straight = np.eye(3)[None]
    shoulder, wrist = (
        ball_joint(arm.shoulder, "shoulder").nearest(straight),
        ball_joint(arm.wrist, "wrist").nearest(straight),
    )
    elbow = np.clip(np.zeros(1), *arm.elbow)
    return ArmState(ArmPose(rot.from_matrix(shoulder), elbow, rot.from_matrix(wrist), np.zeros(1)))


def frames(arm: Arm, pose: ArmPose, shoulder: Floats) -> Floats:
    """Compute forward kinematics.

    Args:
        arm: the arm.
        pose: F frames.
        shoulder: T_world_shoulder (4, 4) or (F, 4, 4), or its position (3,) or (F, 3) m.

    Returns:
        (F, 3, 4, 4) T_world_upper, T_world_forearm and T_world_wrist.
    """
    base = shoulder_frames(shoulder, len(pose))
    rotation = rot.multiply(rot.from_matrix(base[:, :3, :3]), pose.shoulder)
    world = np.zeros((len(pose), 3, 4, 4))
    world[..., 3, 3] = 1.0
    position = base[:, :3, 3]
    steps = ((arm.upper, pose.elbow_rotation), (arm.fore, rot.multiply(pose.wrist, np.array(arm.hand))), (0.0, None))
    for k, (length, joint) in enumerate(steps):
        world[:, k, :3, :3] = rot.to_matrix(rotation)
        world[:, k, :3, 3] = position
        position = position + length * world[:, k, :3, 1]
        rotation = rotation if joint is None else rot.multiply(rotation, joint)
    return world


def excess(arm: Arm, pose: ArmPose) -> Floats:
    """Return how far shoulder, elbow and wrist exceed their limits: (F, 3) rad, 0 within them."""
    low, high = arm.elbow
    return np.stack(
        [
            ball_joint(arm.shoulder, "shoulder").excess(rot.to_matrix(pose.shoulder)),
            np.maximum(np.maximum(low - pose.elbow, pose.elbow - high), 0.0),
            ball_joint(arm.wrist, "wrist").excess(rot.to_matrix(pose.wrist)),
        ],
        -1,
    )


def shoulder_frames(shoulder: Floats, count: int) -> Floats:
    """Expand a shoulder pose (4, 4), (F, 4, 4) or position (3,), (F, 3) m to T_world_shoulder (F, 4, 4).

    Raises SkeletonError for another shape. `count` is F.
    """
    shape = np.shape(shoulder)
    if shape in ((3,), (count, 3)):
        base = np.tile(np.eye(4), (count, 1, 1))
        base[:, :3, 3] = shoulder
        return base
    if shape in ((4, 4), (count, 4, 4)):
        frames: Floats = np.broadcast_to(shoulder, (count, 4, 4))
        return frames
    raise SkeletonError(f"arm: the shoulder has the shape {shape}, expected (3,), (4, 4) or {count} of them")


def _zxy_angles(q: Floats) -> Floats:
    """Decompose rotations q = q1 q2 q3 into angles (F, 3) rad about Z, X and Y, CGA-arm (4.2).

    θ1 rotates the YZ plane into the plane through Z and the elbow, θ2 the arm in that plane to the elbow, and θ3 the
    arm about its own axis until the wrist is reached. If the elbow is on Z, θ1 is 0.
    """
    m = rot.to_matrix(q)
    horizontal = np.hypot(m[:, 0, 1], m[:, 1, 1])
    on_z = horizontal < 1e-9
    first = np.where(on_z, 0.0, np.arctan2(-m[:, 0, 1], m[:, 1, 1]))
    second = np.arctan2(m[:, 2, 1], horizontal)
    third = np.where(on_z, np.arctan2(m[:, 0, 2], m[:, 0, 0]), np.arctan2(-m[:, 2, 0], m[:, 2, 2]))
    angles: Floats = np.stack([first, second, third], -1)
    return angles
