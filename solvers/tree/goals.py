"""Goals for a tree of joints, and the solved poses."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .tree_skeleton import Skeleton, SkeletonError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Goals:
    """Target positions and orientations of joints over F frames. Goals with a weight of 0 are ignored."""

    joints: Ints
    """(T,) the joint of each position goal: an end, an inner joint or a free root; a joint may have several."""
    offsets: Floats
    """(T, 3) m, the point to bring to the position, in the joint's frame."""
    positions: Floats
    """(F, T, 3) m in the world; finite where the weight is above zero."""
    weights: Floats
    """(F, T) >= 0"""
    oriented: Ints
    """(O,) the joints that have an orientation goal."""
    orientations: Floats
    """(F, O, 4) unit wxyz R_world_joint; finite where the weight is above zero."""
    orientation_weights: Floats
    """(F, O) >= 0; with equal weights, one radian counts as much as a tenth of the skeleton's reach."""
    root: Floats
    """(F, 4, 4) T_world_base, the skeleton's object space. A free root starts there."""
    pinned: Bools
    """(T,) whether a position goal has priority over all others."""

    def __len__(self) -> int:
        return len(self.root)

    def select(self, frames: slice) -> "Goals":
        """Return the goals of some of the frames."""
        names = ("positions", "weights", "orientations", "orientation_weights", "root")
        return replace(self, **{name: getattr(self, name)[frames] for name in names})


def goals_by_name(
    skeleton: Skeleton,
    positions: Mapping[str, ArrayLike],
    *,
    orientations: Mapping[str, ArrayLike] | None = None,
    weights: Mapping[str, ArrayLike] | None = None,
    root: ArrayLike | None = None,
    pinned: tuple[str, ...] = (),
) -> Goals:
    """Make Goals from joint names.

    positions: name -> (F, 3) m in the world. orientations: name -> (F, 4) unit wxyz. weights: name -> () or (F,), for
    the joint's position and orientation, by default 1. root: as in Goals, by default the identity. pinned: names of
    joints whose position has priority. Raises SkeletonError for unknown names, other shapes, or no goal and no root at
    all.
    """
    rotations = orientations or {}
    arrays = [np.asarray(values, float) for values in (*positions.values(), *rotations.values())]
    if not arrays and root is None:
        raise SkeletonError("goals: neither a position nor an orientation nor a root, expected one of them")
    frames = len(arrays[0] if arrays else np.asarray(root))
    return Goals(
        joints=np.array([skeleton.index(name) for name in positions], int),
        offsets=np.zeros((len(positions), 3)),
        positions=_stacked(positions, frames, 3),
        weights=_weighted(weights or {}, list(positions), frames),
        oriented=np.array([skeleton.index(name) for name in rotations], int),
        orientations=_stacked(rotations, frames, 4),
        orientation_weights=_weighted(weights or {}, list(rotations), frames),
        root=np.broadcast_to(np.eye(4) if root is None else np.asarray(root, float), (frames, 4, 4)),
        pinned=np.array([name in pinned for name in positions], bool),
    )


def _stacked(values: Mapping[str, ArrayLike], frames: int, width: int) -> Floats:
    """Return the stacked values (frames, names, width). Raises SkeletonError for another shape."""
    arrays = [np.asarray(value, float) for value in values.values()]
    for name, array in zip(values, arrays, strict=True):
        if array.shape != (frames, width):
            raise SkeletonError(f"goals: {name} has the shape {array.shape}, expected ({frames}, {width})")
    return np.stack(arrays, 1) if arrays else np.zeros((frames, 0, width))


def _weighted(weights: Mapping[str, ArrayLike], names: list[str], frames: int) -> Floats:
    """Return the weights (frames, names) of these names, by default 1."""
    requested = [np.broadcast_to(np.asarray(weights.get(name, 1.0), float), frames) for name in names]
    return np.stack(requested, -1) if requested else np.zeros((frames, 0))


def check(skeleton: Skeleton, goals: Goals) -> None:
    """Raise SkeletonError for inconsistent shapes, unknown joints, and invalid values."""
    frames, t, o = len(goals), len(goals.joints), len(goals.oriented)
    shapes = {
        "offsets": (t, 3),
        "positions": (frames, t, 3),
        "weights": (frames, t),
        "orientations": (frames, o, 4),
        "orientation_weights": (frames, o),
        "root": (frames, 4, 4),
        "pinned": (t,),
    }
    for name, shape in shapes.items():
        if np.shape(getattr(goals, name)) != shape:
            raise SkeletonError(f"goals: {name} has the shape {np.shape(getattr(goals, name))}, expected {shape}")
    for joint in (*goals.joints, *goals.oriented):
        if not 0 <= joint < len(skeleton.joints):
            raise SkeletonError(f"goals: one is for joint {joint}, expected 0 to {len(skeleton.joints) - 1}")
    for name in ("offsets", "root", "weights", "orientation_weights"):
        if not np.isfinite(getattr(goals, name)).all():
            raise SkeletonError(f"goals: {name} has a value that is not a finite number")
    for values, weights, joints in (
        (goals.positions, goals.weights, goals.joints),
        (goals.orientations, goals.orientation_weights, goals.oriented),
    ):
        if weights.size and weights.min() < 0:
            raise SkeletonError(f"goals: the least weight is {weights.min():g}, expected none below zero")
        invalid = np.argwhere((weights > 0) & ~np.all(np.isfinite(values), axis=-1))
        if len(invalid):
            frame, column = invalid[0]
            name = skeleton.joints[joints[column]]
            raise SkeletonError(f"goals: frame {frame}, {name}: not a number, which needs a weight of 0")
    lengths = np.linalg.norm(goals.orientations, axis=-1)
    if np.any(np.abs(lengths - 1)[goals.orientation_weights > 0] > 1e-6):
        raise SkeletonError("goals: an orientation is not a unit quaternion")


@dataclass(frozen=True, slots=True, eq=False)
class TreePose:
    """The poses of a skeleton over F frames; `positions` are the forward kinematics of `root` and `rotations`."""

    root: Floats
    """(F, 4, 4) T_world_base; differs from Goals.root where the root is free."""
    angles: Floats
    """(F, J, 3) rad: swing about the side axis, twist, swing about the third axis; see swing_twist_limits.py."""
    rotations: Floats
    """(F, J, 4) unit wxyz relative to rest."""
    positions: Floats
    """(F, J, 3) m in the world."""
    iterations: Ints | None = None
    """(F,) number of passes, sweeps or steps of each frame; None if frames were only refined."""

    def __len__(self) -> int:
        return len(self.root)


@dataclass(frozen=True, slots=True, eq=False)
class TreeState:
    """State carried to the next frame: the last pose."""

    angles: Floats
    """(J, 3) rad"""
    shift: Floats
    """(3,) m in the base's frame, translation of a free root from Goals.root."""
