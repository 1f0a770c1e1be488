"""Amaya's table: a fingertip's rotation by its position, recorded from a clip (thesis 3.4, Amaya et al. 1995).

A finger that moves through its range yields samples of the tip's rotation at scattered positions. A Gaussian filter
spreads them over a grid (3.22), and between nodes the tip's frame is interpolated. Positions are in the frame of the
digit's first joint at zero angles, mirrored in X for a left hand: +Y along the straight digit, +Z out of its back, +X
towards the little finger.

The filter's weight is exp(-d²/σ²), as in (3.24), without the usual factor 1/2. Far from all samples it underflows, so
weights are relative to that of the nearest sample, whose distance is stored.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import HandError
from ...hand.joints import CHAIN_JOINTS
from ...hand.kinematics import Pose, joint_frames
from ...hand.rotations import nearest_rotation

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NODES = (20, 28, 24)
"""Amaya's grid of 28 × 24 × 20 nodes: most along the finger (Y), fewer towards the palm (Z), fewest sideways (X)."""
SPACING = 0.005
"""m, distance between nodes."""
SIGMA = 0.008
"""m, σ of the Gaussian filter."""
MAX_SAMPLES, MIN_SAMPLES = 2000, 30
"""Bounds of a table's number of samples: longer clips are subsampled evenly; 30 are half a second at 60 Hz."""
KNOWN_DISTANCE = 0.010
"""m to the nearest sample within which a position counts as recorded: two nodes."""
MARKER_ITERATIONS = 20
"""Iterations to find the tip from a marker: each about halves the error."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedTable:
    """A digit's map from the position of its tip, or of a marker near it, to the tip's frame."""

    corner: Floats
    """(3,) m, the first node."""
    frames: Floats
    """(20, 28, 24, 3, 4) the fingertip's rotation at each node, and its position relative to the node, m."""
    distance: Floats
    """(20, 28, 24) m from the fingertip to the nearest recorded one."""

    def look_up(self, positions: Floats) -> tuple[Floats, Floats, Bools]:
        """Look up positions (N, 3) m: the tip (N, 3) m, its rotation (N, 3, 3), and whether it was recorded there (N,).

        Trilinear between the nearest eight nodes. Positions off the grid are clamped to its boundary.
        """
        frames, distance, inside = self._interpolate(positions)
        # Convert interpolated matrices to rotations.
        return positions + frames[..., 3], nearest_rotation(frames[..., :3]), inside & (distance < KNOWN_DISTANCE)

    def _interpolate(self, positions: Floats) -> tuple[Floats, Floats, Bools]:
        """Interpolate at positions (N, 3) m: frames (N, 3, 4), distances (N,) m, and which are on the grid (N,)."""
        last = np.array(NODES) - 1
        coordinates = (positions - self.corner) / SPACING
        inside = np.clip(coordinates, 0.0, last)
        node = np.minimum(inside.astype(np.intp), last - 1)
        fraction = inside - node
        frames, distance = np.zeros((len(positions), 3, 4)), np.zeros(len(positions))
        for side in np.ndindex(2, 2, 2):
            weight = np.where(side, fraction, 1.0 - fraction).prod(axis=1)
            nodes = tuple((node + side).T)
            frames += weight[:, None, None] * self.frames[nodes]
            distance += weight * self.distance[nodes]
        return frames, distance, np.all(coordinates == inside, axis=1)

    def for_marker(self, marker: Floats) -> "RecordedTable":
        """Return the table indexed by the position of a marker at `marker` (3,) m in the tip's frame.

        For each node, the tip whose marker is there is found by iteration: d = B(O) · marker + O (3.25).
        """
        nodes = self.corner + SPACING * _grid()
        tips = nodes
        for _ in range(MARKER_ITERATIONS):
            arms = self._interpolate(tips)[0][..., :3] @ marker
            # Half a step: full steps oscillate where the rotation changes quickly with position.
            tips = (tips + nodes - arms) / 2
        _, rotations, _ = self.look_up(tips)
        frames = np.concatenate([rotations, (tips - nodes)[..., None]], axis=-1)
        error = np.linalg.norm(tips + rotations @ marker - nodes, axis=-1)
        nearest_node = np.clip(np.rint((tips - self.corner) / SPACING), 0, np.array(NODES) - 1).astype(np.intp)
        distance = self.distance[tuple(nearest_node.T)] + error
        return RecordedTable(self.corner, frames.reshape(*NODES, 3, 4), distance.reshape(NODES))


def record(pose: Pose, digit: str) -> RecordedTable:
    """Build the table of one digit from a clip in which its joints are known.

    Raises HandError for a clip of too few frames.
    """
    first, _, last, tip = (pose.hand.joints.index(joint) for joint in CHAIN_JOINTS[digit])
    frames = joint_frames(pose.hand, pose)
    base = frames[:, pose.hand.parents[first]] @ pose.hand.rest[first]
    tips = frames[:, last].copy()
    tips[:, :3, 3] = frames[:, tip, :3, 3]
    tip_frames = relative_frames(base, tips)
    if pose.hand.side == "left":
        mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
        tip_frames = mirror @ tip_frames @ mirror
    return build_table(tip_frames, f"{pose.hand.side} hand, {digit}")


def build_table(frames: Floats, owner: str) -> RecordedTable:
    """Build the table from fingertip frames (F, 4, 4) in the digit's base. Raises HandError, which names `owner`."""
    frames = frames[np.all(np.isfinite(frames), axis=(1, 2))]
    if len(frames) < MIN_SAMPLES:
        raise HandError(f"{owner}: {len(frames)} frames of free motion, expected {MIN_SAMPLES} or more")
    frames = frames[:: -(-len(frames) // MAX_SAMPLES)]
    tips = frames[:, :3, 3]
    corner = (tips.min(axis=0) + tips.max(axis=0) - SPACING * (np.array(NODES) - 1)) / 2
    rotations, distance = _filter_samples(corner + SPACING * _grid(), tips, frames[:, :3, :3])
    filled = np.concatenate([rotations, np.zeros((len(rotations), 3, 1))], axis=-1)
    return RecordedTable(corner, filled.reshape(*NODES, 3, 4), distance.reshape(NODES))


def _filter_samples(nodes: Floats, tips: Floats, rotations: Floats) -> tuple[Floats, Floats]:
    """Return the rotations (K, 3, 3) at nodes (K, 3), filtered by (3.22), and the distances (K,) m to the nearest
    sample."""
    filtered, distance = np.empty((len(nodes), 9)), np.empty(len(nodes))
    sizes = (tips * tips).sum(axis=1)
    for start in range(0, len(nodes), 1024):
        part = slice(start, start + 1024)
        squared = np.maximum((nodes[part] ** 2).sum(axis=1)[:, None] + sizes - 2 * nodes[part] @ tips.T, 0.0)
        nearest = squared.min(axis=1, keepdims=True)
        weights = np.exp((nearest - squared) / SIGMA**2)
        filtered[part] = weights @ rotations.reshape(-1, 9) / weights.sum(axis=1, keepdims=True)
        distance[part] = np.sqrt(nearest[:, 0])
    return nearest_rotation(filtered.reshape(-1, 3, 3)), distance


def _grid() -> Floats:
    """Return the nodes' indices (K, 3)."""
    return np.stack(np.meshgrid(*(np.arange(count) for count in NODES), indexing="ij"), -1).reshape(-1, 3).astype(float)


def relative_frames(hand: Floats, part: Floats) -> Floats:
    """Return a part's frame (F, 4, 4) relative to the hand's: (3.19), (3.20)."""
    inverse = np.swapaxes(hand[..., :3, :3], -1, -2)
    result = np.zeros(np.broadcast_shapes(hand.shape, part.shape))
    result[..., :3, :3] = inverse @ part[..., :3, :3]
    result[..., :3, 3] = np.einsum("...ij,...j->...i", inverse, part[..., :3, 3] - hand[..., :3, 3])
    result[..., 3, 3] = 1.0
    return result
