"""Joints that bend until the skin touches a surface, and no further: never through what they touch.

The skin's points are known to be at a distance from the surface; a step in which none of them goes further than that
cannot pass through it (conservative advancement, Mirtich 1996). Steps shorten as the surface comes near, so that a
finger comes to rest on it from outside, however thin a wall is. Many hands are closed at once.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from .field import Distance
from .flesh import LINKS, Flesh

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

NEAR = 1e-4
"""m, what is as near to where it may come touches."""
STEPS = 80
"""At most so many steps."""
SHARE = 0.9
"""Of the way that is free, what a step takes: the arms of joints grow a little while others bend."""
PAD_DEPTH = 0.3e-3
"""m, how deep skin may be pressed in where it touches: flesh yields."""
CREASE_DEPTH = 0.9e-3
"""m, the same where a phalanx begins: skin folds there."""
CREASE = 0.4
"""The part of a phalanx that is its crease."""


@dataclass(frozen=True, slots=True, eq=False)
class Touching:
    """Hands that were closed."""

    angles: Floats
    """(F, D) rad"""
    gaps: Floats
    """(F, 5, 3) m, how near the skin of each phalanx is; below 0 it is pressed in."""
    points: Floats
    """(F, 5, 3, 3) m, the place of its skin that is nearest."""


@dataclass(frozen=True, slots=True, eq=False)
class Capsules:
    """Rounded rods, K for each of F hands."""

    ends: Floats
    """(F, K, 2, 3) m"""
    radii: Floats
    """(K,) m"""

    def distance(self, places: Floats) -> Floats:
        """(F, V) m from places (F, V, 3) to the nearest."""
        first, second = self.ends[:, None, :, 0], self.ends[:, None, :, 1]
        along, away = second - first, places[:, :, None] - first
        part = (away * along).sum(axis=-1) / np.maximum((along * along).sum(axis=-1), 1e-18)
        feet = np.clip(part, 0.0, 1.0)[..., None] * along
        near: Floats = (np.linalg.norm(away - feet, axis=-1) - self.radii).min(axis=-1)
        return near


def phalanges(hand: HandModel, roots: Floats, angles: Floats, flesh: Flesh, digits: tuple[int, ...]) -> Capsules:
    """The phalanges of digits as capsules, for what must not go through them."""
    frames = joint_frames(hand, Pose(hand, roots, angles))
    joints = np.array([joint for digit in digits for joint in LINKS[digit]])
    digit, link, local = flesh.digit, flesh.link, flesh.local()
    radii = []
    for one in digits:
        for k in range(3):
            skin = local[(digit == one) & (link == k)]
            radii.append(float(np.median(np.linalg.norm(skin[:, [0, 2]], axis=1))) if len(skin) else 0.0)
    return Capsules(np.stack([frames[:, joints][..., :3, 3], frames[:, joints + 1][..., :3, 3]], axis=2), np.array(radii))


def depths(flesh: Flesh, hand: HandModel) -> Floats:
    """(V,) m, how deep each point of the skin may be pressed into what it touches."""
    along = flesh.local()[:, 1]
    lengths = _lengths(hand)
    digit, link = flesh.digit, flesh.link
    crease = (digit < 0) | (along < CREASE * lengths[digit, link])
    return np.where(crease, CREASE_DEPTH, PAD_DEPTH)


def close(
    hand: HandModel,
    roots: Floats,
    bends: tuple[Floats, Floats],
    flesh: Flesh,
    distance: Distance,
    *,
    digits: tuple[int, ...] = (0, 1, 2, 3, 4),
    paces: Floats | None = None,
    capsules: Capsules | None = None,
    near: float = NEAR,
    yields: float = 1.0,
) -> Touching:
    """Bends the joints of digits from angles to angles, two of (F, D) rad, until their skin touches.

    roots: (F, 4, 4) T_world_wrist. All joints of a digit bend together; where a phalanx touches, the joints before it
    stop, and those beyond go on until their own phalanges touch or are bent as far as they shall.

    paces: (F, 3) how fast each joint goes beside the others, outwards; a finger whose first joint leads lays itself
    around what it holds, one whose joints go alike comes to it with its tip. capsules: what else the skin must not go
    through; near: m, what is as near touches; yields: the part of its depth by which skin may be pressed in, 0 for a
    sheet without an inside, which would let it through.
    """
    begin, end = bends
    flesh = flesh.chosen(np.flatnonzero(np.isin(flesh.digit, digits)))
    dofs = _dofs(hand)
    bent = np.zeros((len(begin), 5, 3))
    stopped = np.ones_like(bent, bool)
    stopped[:, list(digits)] = False
    allowed = yields * depths(flesh, hand)
    rows = _rows(flesh)
    paces = np.ones((len(begin), 3)) if paces is None else paces
    rates = _rates(np.abs(end - begin), dofs) * paces[:, None]
    reached = np.full((len(begin), 5, 3), np.inf)
    where = np.zeros((len(begin), 5, 3, 3))
    first: Floats | None = None
    for _ in range(STEPS):
        angles = begin + _spread(bent, dofs, hand.dofs) * (end - begin)
        frames = joint_frames(hand, Pose(hand, roots, angles))
        places = flesh.moved(frames)
        far = distance(places.reshape(-1, 3)).reshape(places.shape[:2])
        if capsules is not None:
            far = np.minimum(far, capsules.distance(places))
        # What is too deep from the beginning comes no deeper.
        first = far if first is None else first
        free = far + np.maximum(allowed, -first)
        for digit in range(5):
            for link in range(3):
                seen = rows[digit][link]
                if len(seen):
                    nearest = far[:, seen].argmin(axis=1)
                    reached[:, digit, link] = np.take_along_axis(far[:, seen], nearest[:, None], axis=1)[:, 0]
                    where[:, digit, link] = places[np.arange(len(places)), seen[nearest]]
            stopped[:, digit] |= _stops(free, rows[digit], near)
        stopped |= bent >= 1.0 - 1e-9
        if stopped.all():
            break
        bent = _advanced(bent, stopped, free, places, frames, (paces, rates), rows)
    return Touching(angles, reached, where)


def approach(
    hand: HandModel, roots: Floats, angles: Floats, way: Floats, flesh: Flesh, distance: Distance, most: Floats
) -> Floats:
    """(F,) m, how far hands may go along ways (F, 3) of length 1 until their skin touches, at most (F,) m."""
    places = flesh.moved(joint_frames(hand, Pose(hand, roots, angles)))
    gone = np.zeros(len(roots))
    for _ in range(STEPS):
        now = places + (gone[:, None] * way)[:, None]
        free = distance(now.reshape(-1, 3)).reshape(now.shape[:2]).min(axis=1)
        step = np.minimum(np.maximum(free - NEAR, 0.0), most - gone)
        gone = gone + step
        if not np.any(step > NEAR):
            break
    return gone


def _advanced(
    bent: Floats,
    stopped: Bools,
    free: Floats,
    places: Floats,
    frames: Floats,
    speeds: tuple[Floats, Floats],
    rows: list[list[NDArray[np.int64]]],
) -> Floats:
    """(F, 5, 3) how far joints are bent after the longest step on which no skin goes further than it is free to."""
    result = bent.copy()
    paces, rates = speeds
    for digit, joints in enumerate(LINKS):
        moving = ~stopped[:, digit]
        speed = rates[:, digit] * moving
        # The first joint that is bent as far as it shall ends the step, for with it the others' paces change.
        left = (1.0 - bent[:, digit]) / np.maximum(paces, 1e-9)
        step = np.where(moving, left, np.inf).min(axis=1)
        for link in range(3):
            seen = rows[digit][link]
            if not len(seen):
                continue
            ways = np.zeros((len(bent), len(seen)))
            for k in range(link + 1):
                arm = np.linalg.norm(places[:, seen] - frames[:, None, joints[k], :3, 3], axis=-1)
                ways += speed[:, k, None] * arm
            least = (np.maximum(free[:, seen], 0.0) / np.maximum(ways, 1e-12)).min(axis=1)
            step = np.minimum(step, SHARE * least)
        result[:, digit] += np.where(moving, paces * np.where(np.isfinite(step), step, 0.0)[:, None], 0.0)
    return np.minimum(result, 1.0)


def _stops(free: Floats, rows: list[NDArray[np.int64]], near: float) -> Bools:
    """(F, 3) joints of a digit beyond which some skin touches."""
    result = np.zeros((len(free), 3), bool)
    for link, seen in enumerate(rows):
        if len(seen):
            touches = free[:, seen].min(axis=1) <= near
            result[:, : link + 1] |= touches[:, None]
    return result


def _rows(flesh: Flesh) -> list[list[NDArray[np.int64]]]:
    """By digit and phalanx, the points of the skin."""
    digit, link = flesh.digit, flesh.link
    return [[np.flatnonzero((digit == i) & (link == k)) for k in range(3)] for i in range(5)]


def _dofs(hand: HandModel) -> list[list[NDArray[np.int64]]]:
    """By digit and joint, its degrees of freedom."""
    return [[np.flatnonzero(hand.axis_joint == joint) for joint in joints] for joints in LINKS]


def _spread(bent: Floats, dofs: list[list[NDArray[np.int64]]], count: int) -> Floats:
    """(F, D) how far each movement is gone, of joints (F, 5, 3)."""
    result = np.zeros((len(bent), count))
    for digit, joints in enumerate(dofs):
        for link, rows in enumerate(joints):
            result[:, rows] = bent[:, digit, link, None]
    return result


def _rates(ranges: Floats, dofs: list[list[NDArray[np.int64]]]) -> Floats:
    """(F, 5, 3) rad, the most by which each joint turns on its way."""
    return np.stack([np.stack([ranges[:, rows].sum(axis=1) for rows in joints], -1) for joints in dofs], 1)


def _lengths(hand: HandModel) -> Floats:
    """(5, 3) m, of the phalanges; of the thumb's metacarpal first."""
    return np.array([[float(np.linalg.norm(hand.rest[joint + 1, :3, 3])) for joint in joints] for joints in LINKS])
