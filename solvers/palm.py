"""Where the palm is in each frame, from the markers that ride on it."""

import numpy as np
from numpy.typing import NDArray

from ..hand import kinematics
from ..hand.markersets import Spot, on_palm
from ..hand.model import HandModel
from ..hand.rotations import fit_rigid
from ..hand.targets import Targets
from .solver import hold_last

Floats = NDArray[np.float64]


def palm_roots(hand: HandModel, targets: Targets, last: Floats) -> Floats:
    """(F, 4, 4) T_world_wrist.

    Three or more palm markers that are not in a line give the palm's place by least squares, the plane of
    FABRIK-CGA (3.2) for the three markers p, q, r. With fewer the palm keeps its last turn and goes where they
    went; with none it stays. `last` (4, 4) is the root of the frame before.
    """
    sites = [hand.sites[site] for site in targets.sites]
    chosen = [i for i, site in enumerate(sites) if on_palm(Spot(hand.joints[site.joint], site.offset))]
    still = kinematics.Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    at_rest = kinematics.site_positions(hand, kinematics.joint_frames(hand, still))[0, targets.sites[chosen]]
    weights = targets.weights[:, chosen]
    positions = np.where(weights[..., None] > 0, targets.positions[:, chosen], 0.0)
    known = _spans_a_plane(at_rest, weights)
    roots = np.broadcast_to(last, (len(targets), 4, 4)).copy()
    if known.any():
        source = np.broadcast_to(at_rest, positions[known].shape)
        roots[known] = fit_rigid(source, positions[known], weights[known])
    roots = hold_last(roots, known, last)
    return _follow_the_rest(roots, known, at_rest, positions, weights)


def _spans_a_plane(points: Floats, weights: Floats) -> NDArray[np.bool_]:
    """(F,) whether the markers seen have a width as well as a length of 5 mm at least."""
    seen = (weights > 0).astype(float)
    count = np.maximum(seen.sum(-1), 1.0)[:, None]
    mid = seen @ points / count
    centred = (points[None] - mid[:, None]) * seen[..., None]
    spread = np.linalg.eigvalsh(np.swapaxes(centred, -1, -2) @ centred)
    wide: NDArray[np.bool_] = (seen.sum(-1) >= 3) & (spread[:, 1] > 0.005**2)
    return wide


def _follow_the_rest(
    roots: Floats, known: NDArray[np.bool_], at_rest: Floats, positions: Floats, weights: Floats
) -> Floats:
    """Where only one or two palm markers are seen, or they stand in a line: the last turn, moved to where they are."""
    total = weights.sum(-1)
    partly = ~known & (total > 0)
    if not partly.any():
        return roots
    share = weights[partly] / total[partly, None]
    turned = np.einsum("fij,nj->fni", roots[partly, :3, :3], at_rest)
    moved = roots.copy()
    moved[partly, :3, 3] = (share[..., None] * (positions[partly] - turned)).sum(1)
    # A frame with no palm marker after one of these stays where that one went.
    return hold_last(moved, known | partly, roots[0])
