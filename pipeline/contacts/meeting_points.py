"""Where the skins of a hand meet in a contact of its performer.

On a hand of other proportions, and on the performer's own, whose skin is a little apart or in itself, the fingertip
first goes to where it touches as the performer's does: at the same shares of both bones and from the same direction, by
a pose problem on a few of the contact's frames. There the nearest points of both skins are what meets.
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.flesh import ENDS, LINKS_OF_CAPSULES, PALM, STARTS, Flesh, touches
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel, Site
from ...solvers.pose_problem import (
    Objective,
    PoseProblem,
    Separation,
    relative_size,
    solve,
)
from .find_contacts import Contact
from .flesh_problem import MOST_DEPTH

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLES = 5
"""Frames of a contact by which the points that meet are found."""
REACH = 3e-3
"""m of a hand of the usual length: skins that stay farther apart do not reach each other."""


def meeting_points(pose: Pose, flesh: Flesh, free: Ints, contact: Contact) -> tuple[Site, Site] | None:
    """Return the points of both skins that meet where a hand touches as the performer does; None if it cannot."""
    rows = np.unique(np.linspace(contact.first, contact.last, SAMPLES).round().astype(int))
    first, second = contact.capsules
    radii = [_radius(flesh, capsule, share) for capsule, share in zip(contact.capsules, contact.shares, strict=True)]
    axes = [
        _axis_point(pose.hand, flesh, at, share) for at, share in zip(contact.capsules, contact.shares, strict=True)
    ]
    tip = Site("first axis", int(STARTS[first]), _triple(axes[0]))
    beside = Site("second skin", int(STARTS[second]), _triple(axes[1] + sum(radii) * contact.direction))
    hand, count = pose.hand.with_sites((tip, beside)), len(pose.hand.sites)
    goal = Objective(count, np.zeros(3), relative=count + 1)
    # Axes that come nearest elsewhere, as those of crossed tips do, would be in each other, and a way there through
    # other flesh leads to points that cannot meet.
    parts = [part for part in contact.parts if part != PALM]
    own, pairs = np.isin(flesh.parts, parts).any(axis=0), _pairs_of(flesh, first, contact.parts[1])
    allowed = np.tile(np.where(own, MOST_DEPTH * relative_size(hand), np.inf), (len(rows), 1))
    allowed[:, pairs] = 0.0
    start, apart = Pose.at_origin(hand, pose.angles[rows]), Separation(flesh, allowed)
    touching = solve(PoseProblem.of(start, free, [goal], separation=apart)).pose
    frames = joint_frames(hand, touching)
    # A part is several capsules: the fingertip may come to the one beside first.
    each = [touches(flesh, frames[..., :3, 3], np.arange(len(rows)), np.full(len(rows), pair)) for pair in pairs]
    nearest = int(np.argmax([np.median(found.depths) for found in each]))
    found, order = each[nearest], [0, 1] if flesh.pairs[0, pairs[nearest]] == first else [1, 0]
    if float(np.median(np.abs(found.depths))) > REACH * relative_size(hand):
        return None
    met = flesh.pairs[order, pairs[nearest]].tolist()
    points, shares = found.points[order], found.shares[order]
    away = points[0] - points[1]
    away /= np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
    sites = []
    for capsule, place, sign, along in zip(met, points, (-1.0, 1.0), shares, strict=True):
        skin = place + sign * _radius(flesh, capsule, along)[:, None] * away
        bone = frames[:, STARTS[capsule]]
        local = np.einsum("fji,fj->fi", bone[:, :3, :3], skin - bone[:, :3, 3])
        sites.append(Site(f"skin {capsule}", int(STARTS[capsule]), _triple(local.mean(axis=0))))
    return sites[0], sites[1]


def _pairs_of(flesh: Flesh, capsule: int, part: int) -> list[int]:
    """Return the pairs of a capsule and those of a part."""
    own = (flesh.pairs == capsule).any(axis=0) & (flesh.parts == part).any(axis=0)
    return np.flatnonzero(own & (flesh.parts[0] != flesh.parts[1])).tolist()


def offsets_between(pose: Pose, points: tuple[Site, Site]) -> Floats:
    """Return the offsets (F, 3) m from the second point to the first."""
    frames = joint_frames(pose.hand, pose)
    first, second = (frames[:, at.joint, :3, :3] @ np.array(at.offset) + frames[:, at.joint, :3, 3] for at in points)
    return np.asarray(first - second)


def _axis_point(hand: HandModel, flesh: Flesh, capsule: int, share: float) -> Floats:
    """Return a point (3,) m of a capsule's axis in the frame of its bone."""
    along = np.array(hand.rest[ENDS[capsule], :3, 3])
    if LINKS_OF_CAPSULES[capsule] == 2:
        length = max(float(np.linalg.norm(along)), 1e-6)
        along = along * max(1.0 - float(flesh.radii[capsule, 1]) / length, 0.0)
    return np.asarray(share * along)


def _radius(flesh: Flesh, capsule: int, share: float | Floats) -> Floats:
    begin, end = flesh.radii[capsule]
    return np.asarray(begin + share * (end - begin))


def _triple(point: Floats) -> tuple[float, float, float]:
    x, y, z = point.tolist()
    return x, y, z
