"""Where the wrist begins: from the palm's targets, else from all of them."""

import numpy as np
from numpy.typing import NDArray

from ...hand import jacobians
from ...hand import rotations as rot
from ...hand.jacobians import linkage
from ...hand.model import HandModel
from ...hand.targets import Targets
from ..planar.palm import palm_of, palm_roots
from ..solver import hold_last

Floats = NDArray[np.float64]


def roots(hand: HandModel, targets: Targets, last: Floats) -> Floats:
    """(F, 4, 4) T_world_wrist from the palm's places and turns; `last` (4, 4) is that of the frame before.

    Three places on the palm tell its turn, too. Where fewer are seen, the turn asked for there with most weight does.
    """
    palm = palm_of(hand, targets.sites.tolist())
    laid = palm_roots(palm, twice(targets) if len(targets) == 1 else targets, last)[: len(targets)]
    placed = np.broadcast_to(laid, (len(targets), 4, 4)).copy()
    if targets.rotations is None or targets.rotation_weights is None:
        return placed
    sites = [hand.sites[site] for site in targets.sites]
    turning = [t for t, site in enumerate(sites) if not linkage(hand).moves[site.joint].any()]
    weights, turn_weights = targets.weights[:, palm.columns], targets.rotation_weights[:, turning]
    three = (weights > 0).sum(-1) >= 3
    turned = ~three & np.any(turn_weights > 0, axis=-1)
    if not turned.any():
        return placed
    still = jacobians.place(hand, np.eye(4)[None], hand.neutral[None])
    heaviest, frames = turn_weights.argmax(-1), np.arange(len(targets))
    wanted = np.where(turned[:, None], targets.rotations[:, turning][frames, heaviest], rot.IDENTITY)
    rest = still.turns[0, [sites[t].joint for t in turning]][heaviest]
    told = np.where(turned[:, None, None], rot.to_matrix(wanted) @ rest.swapaxes(-1, -2), placed[:, :3, :3])
    turns = hold_last(told, three | turned, last[:3, :3])
    # The wrist is where the palm's places leave it, on average.
    apart = np.where(weights[..., None] > 0, targets.positions[:, palm.columns], 0.0)
    apart = apart - palm.at_rest @ turns.swapaxes(-1, -2)
    mean = (weights[..., None] * apart).sum(1) / np.maximum(weights.sum(-1), 1e-12)[:, None]
    moved = np.where(three[:, None], placed[:, :3, 3], mean)
    result = np.tile(np.eye(4), (len(targets), 1, 1))
    result[:, :3, :3] = turns
    result[:, :3, 3] = hold_last(moved, np.any(weights > 0, axis=-1), last[:3, 3])
    return result


def twice(targets: Targets) -> Targets:
    """A frame, two times, so that its palm is laid as in a batch.

    A lone one is laid in plain floats, which round otherwise. Where a minimum is flat that would show in the angles.
    """
    times, positions, weights = (np.repeat(a, 2, axis=0) for a in (targets.times, targets.positions, targets.weights))
    return Targets(times, targets.sites, positions, weights)


def laid_on_all(hand: HandModel, targets: Targets, begun: Floats) -> Floats:
    """(F, 4, 4) the roots `begun`, but where fewer than three places on the palm are seen, of three or more in all: the
    hand at ease laid on all of them."""
    palm = palm_of(hand, targets.sites.tolist())
    seen = targets.weights > 0
    lost = (seen[:, palm.columns].sum(-1) < 3) & (seen.sum(-1) >= 3)
    if not lost.any():
        return begun
    at_ease = jacobians.place(hand, np.eye(4)[None], hand.neutral[None]).sites(targets.sites)
    positions = np.where(seen[lost][..., None], targets.positions[lost], 0.0)
    laid = begun.copy()
    laid[lost] = rot.fit_rigid(np.broadcast_to(at_ease, positions.shape), positions, targets.weights[lost])
    return laid
