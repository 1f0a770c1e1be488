"""Skeleton: a tree of joints with rest transforms and rotation limits, such as an arm, a tail, a hand or a body."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...errors import KnuckleError
from ...hand.rotations import to_matrix
from . import swing_twist_limits

Floats = NDArray[np.float64]
Vector = tuple[float, float, float]


class SkeletonError(KnuckleError):
    """An inconsistent skeleton, or inconsistent goals for one."""


@dataclass(frozen=True, slots=True)
class SwingTwistLimit:
    """Rotation limits of one joint, see swing_twist_limits.py; made by `ball`, `cone`, `hinge` and `fixed`."""

    cone: tuple[float, float, float, float] = (np.pi,) * 4
    """rad, the largest swing about +side, +third, −side and −third axis, 0..π."""
    twist: tuple[float, float] = (-np.pi, np.pi)
    """rad, smallest and largest."""
    axis: Vector = (0.0, 1.0, 0.0)
    """The twist axis in the joint's frame: along the bone, or a hinge's axis."""
    side: Vector = (1.0, 0.0, 0.0)
    """The first axis of the swing in the joint's frame; made perpendicular to the twist axis."""


UNLIMITED = SwingTwistLimit()


def ball(twist: tuple[float, float] = (-np.pi, np.pi)) -> SwingTwistLimit:
    """Return a ball joint: any swing, and a twist within a range in rad, by default any."""
    return SwingTwistLimit(twist=twist)


def cone(
    forwards: float, backwards: float, left: float, right: float, twist: tuple[float, float] = (0.0, 0.0)
) -> SwingTwistLimit:
    """Return a swing within an irregular cone: largest angles in rad about +X, −X, +Z and −Z of the joint, each
    0..π."""
    return SwingTwistLimit((forwards, left, backwards, right), twist)


def hinge(low: float, high: float, axis: Vector = (1.0, 0.0, 0.0)) -> SwingTwistLimit:
    """Return a hinge: rotation by low..high rad about one axis of the joint's frame."""
    return SwingTwistLimit((0.0,) * 4, (low, high), axis, (0.0, 1.0, 0.0) if abs(axis[1]) < 0.9 else (1.0, 0.0, 0.0))


def fixed() -> SwingTwistLimit:
    """Return a fixed joint: no rotation."""
    return SwingTwistLimit((0.0,) * 4, (0.0, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class Skeleton:
    """A tree of J joints. Lengths in m, angles in rad. A joint may coincide with its parent.

    Raises SkeletonError for parents that are not before their children, inconsistent shapes, values that are not
    finite, rest transforms that are not rigid, cones outside 0..π, twist ranges that are reversed or wider than 2π,
    axes without length, and loops between unknown joints.
    """

    joints: tuple[str, ...]
    """(J,) names, parents before children; the first is the root."""
    parents: tuple[int, ...]
    """(J,) index of the parent, −1 only for the root."""
    rest: Floats
    """(J, 4, 4) T_parent_joint; the root's is T_base_root."""
    limits: tuple[SwingTwistLimit, ...]
    """(J,)"""
    loops: tuple[tuple[int, int], ...] = ()
    """Pairs of joints that must coincide: where two chains meet and close a loop."""
    root_free: bool = False
    """Whether the root may translate; else it is pinned."""
    axes: Floats = field(init=False)
    """(J, 3, 3) columns: side, twist and third axis in the joint's frame."""
    cone: Floats = field(init=False)
    """(J, 4) as SwingTwistLimit.cone."""
    twist: Floats = field(init=False)
    """(J, 2) as SwingTwistLimit.twist."""

    def __post_init__(self) -> None:
        count = len(self.joints)
        for name, length in (("parents", len(self.parents)), ("limits", len(self.limits))):
            if length != count:
                raise SkeletonError(f"skeleton: {length} {name} for {count} joints, expected one each")
        if np.shape(self.rest) != (count, 4, 4) or not count:
            raise SkeletonError(f"skeleton: rest has the shape {np.shape(self.rest)}, expected (joints, 4, 4)")
        for j, parent in enumerate(self.parents):
            if not (0 <= parent < j or (parent == -1 and j == 0)):
                raise SkeletonError(
                    f"skeleton: the parent of {self.joints[j]} is joint {parent}, expected an earlier one"
                )
        for pair in self.loops:
            if pair[0] == pair[1] or not all(0 <= j < count for j in pair):
                raise SkeletonError(f"skeleton: a loop joins {pair}, expected two different joints below {count}")
        rest_transforms = np.array(self.rest, float)
        rotations = rest_transforms[:, :3, :3]
        if not np.isfinite(rest_transforms).all():
            raise SkeletonError("skeleton: rest has a value that is not a finite number")
        if (
            np.abs(np.swapaxes(rotations, 1, 2) @ rotations - np.eye(3)).max() > 1e-6
            or np.linalg.det(rotations).min() < 0
        ):
            raise SkeletonError("skeleton: a rest transform scales or mirrors, expected rotation and translation only")
        for name, array in {"rest": rest_transforms, **_limit_arrays(self.joints, self.limits)}.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def lengths(self) -> Floats:
        """(J,) m from each joint to its parent; 0 for the root."""
        lengths: Floats = np.linalg.norm(self.rest[:, :3, 3], axis=-1)
        lengths[0] = 0.0
        return lengths

    @property
    def reach(self) -> float:
        """m along the bones from the root to the farthest joint; 1 if no bone has a length."""
        path_lengths = np.zeros(len(self.joints))
        for j, parent in enumerate(self.parents[1:], 1):
            path_lengths[j] = path_lengths[parent] + self.lengths[j]
        return float(path_lengths.max()) or 1.0

    def index(self, name: str) -> int:
        """Return the index of a joint. Raises SkeletonError for an unknown name."""
        if name not in self.joints:
            raise SkeletonError(f"skeleton: there is no joint '{name}', expected one of {', '.join(self.joints)}")
        return self.joints.index(name)

    def rotations(self, angles: Floats) -> Floats:
        """Return (F, J, 4) unit quaternions wxyz relative to rest, from angles (F, J, 3) as in TreePose."""
        return swing_twist_limits.rotations(self.axes, angles)

    def excess(self, angles: Floats) -> Floats:
        """Return (F, J) rad by which angles (F, J, 3) are outside their limits, 0 inside."""
        violation: Floats = np.linalg.norm(angles - swing_twist_limits.clamp(self.cone, self.twist, angles), axis=-1)
        return violation


def _limit_arrays(joints: tuple[str, ...], all_limits: tuple[SwingTwistLimit, ...]) -> dict[str, Floats]:
    """Return the fields `axes`, `cone` and `twist` of a Skeleton. Raises SkeletonError."""
    axes = np.zeros((len(joints), 3, 3))
    for name, limit, frame in zip(joints, all_limits, axes, strict=True):
        numbers = [*limit.cone, *limit.twist, *limit.axis, *limit.side]
        if not np.isfinite(numbers).all():
            raise SkeletonError(f"{name}: a limit is not a finite number")
        if min(limit.cone) < 0 or max(limit.cone) > np.pi + 1e-12:
            degrees = ", ".join(f"{angle:.0f}" for angle in np.rad2deg(limit.cone))
            raise SkeletonError(f"{name}: the cone opens by {degrees} degrees, expected 0 to 180 each")
        low, high = np.rad2deg(limit.twist)
        if low > high or high - low > 360 + 1e-9:
            raise SkeletonError(
                f"{name}: the twist is limited to {low:.0f} to {high:.0f} degrees, expected low to high, 360 at most"
            )
        third = np.cross(limit.side, limit.axis)
        if np.linalg.norm(third) < 1e-9:
            raise SkeletonError(f"{name}: the limit's axis and side are parallel or have no length")
        axis = np.array(limit.axis) / np.linalg.norm(limit.axis)
        third = third / np.linalg.norm(third)
        frame[:] = np.stack([np.cross(axis, third), axis, third], -1)
    # Rounding may leave an angle slightly above π.
    widths = np.array([limit.cone for limit in all_limits], float)
    return {
        "axes": axes,
        "cone": np.minimum(widths, np.pi),
        "twist": np.array([limit.twist for limit in all_limits], float),
    }


def frames(skeleton: Skeleton, root: Floats, rotations: Floats) -> Floats:
    """Return T_world_joint (F, J, 4, 4) by forward kinematics, from T_world_base (F, 4, 4) and rotations (F, J, 4)."""
    local = np.zeros((*rotations.shape[:2], 4, 4))
    local[..., :3, :3] = to_matrix(rotations)
    local[..., 3, 3] = 1.0
    local = skeleton.rest @ local
    world = np.empty_like(local)
    for joint, parent in enumerate(skeleton.parents):
        world[:, joint] = (root if parent < 0 else world[:, parent]) @ local[:, joint]
    return world
