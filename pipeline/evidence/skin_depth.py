"""How deep a hand's digits are in each other and in its palm: bones with the usual flesh around them, as capsules.

A digit's phalanges have half its mean thickness as radii, which grow or shrink from joint to joint; the palm is the
flesh below its four metacarpals. What overlaps with straight fingers too, as the webs between them do, is no depth.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...hand.calibration.joint_radii import radii_of_size
from ...hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ...hand.kinematics import Pose, joint_frames
from ...hand.model import HandModel
from .evidence import PALM, PARTS

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

TIP_SHARE = 0.8
"""Radius at a fingertip relative to that at the last joint."""
PALM_SHARE = 1.2
"""Flesh of the palm below its metacarpals, relative to the finger's radius at its knuckle."""
FRAMES_AT_ONCE = 4096

_DIGIT_BONES = [[JOINT_INDEX[joint] for joint in CHAIN_JOINTS[digit]] for digit in DIGITS]
_STARTS = np.array([*(bones[k] for bones in _DIGIT_BONES for k in range(3)), *(b[0] - 1 for b in _DIGIT_BONES[1:])])
_ENDS = np.array([*(bones[k + 1] for bones in _DIGIT_BONES for k in range(3)), *(b[0] for b in _DIGIT_BONES[1:])])
"""(19,) joints at which capsules begin and end: three of each digit, four of the palm."""
_PARTS = np.array([*np.repeat(np.arange(len(DIGITS)), 3), *[PALM] * 4])
_LINKS = np.array([*np.tile([0, 1, 2], len(DIGITS)), *[0] * 4])


@dataclass(frozen=True, slots=True, eq=False)
class Capsules:
    """The flesh of a hand: 19 capsules, and the K pairs of them that may touch."""

    radii: Floats
    """(19, 2) m, at each one's begin and end."""
    pairs: Ints
    """(2, K)"""
    overlaps: Floats
    """(K,) m, how deep the pairs are in each other with straight fingers, at least 0."""


def depths(hand: HandModel, joints: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how deep each part is in the others (F, P), in mm, 0 where it touches none.

    joints: their positions (F, J, 3) m.
    """
    flesh = capsules(hand)
    deepest = np.zeros((len(joints), len(PARTS)))
    parts = _PARTS[flesh.pairs]
    for start in range(0, len(joints), FRAMES_AT_ONCE):
        rows = slice(start, start + FRAMES_AT_ONCE)
        frame, pair, deep = _overlaps(flesh, joints[rows].astype(np.float32))
        beyond = deep - flesh.overlaps[pair]
        touch = beyond > 0
        for side in parts:
            np.maximum.at(deepest[rows], (frame[touch], side[pair[touch]]), beyond[touch])
    return 1000 * deepest


def capsules(hand: HandModel) -> Capsules:
    """Return the flesh on a hand's bones, by its length."""
    straight = Pose(hand, np.eye(4)[None], np.zeros((1, hand.dofs)))
    places = joint_frames(hand, straight)[..., :3, 3].astype(np.float32)
    size = float(np.linalg.norm(places[0, JOINT_INDEX["middle-finger-tip"]]))
    joints = radii_of_size(size)
    along = np.concatenate([joints, TIP_SHARE * joints[:, 2:]], axis=1)
    digits = np.stack([along[:, :-1], along[:, 1:]], axis=2).reshape(-1, 2)
    palm = np.repeat(PALM_SHARE * joints[1:, :1], 2, axis=1)
    radii = np.concatenate([digits, palm]).astype(np.float32)
    pairs = np.array([(a, b) for a in range(len(_PARTS)) for b in range(a + 1, len(_PARTS)) if _may_touch(a, b)]).T
    found = np.zeros(pairs.shape[1], np.float32)
    _, pair, deep = _overlaps(Capsules(radii, pairs, found), places)
    found[pair] = np.maximum(deep, 0.0)
    return Capsules(radii, pairs, found)


def _may_touch(a: int, b: int) -> bool:
    """Whether two capsules are of different parts, and not the base of a digit and the palm, which are one flesh."""
    return bool(_PARTS[a] != _PARTS[b] and not (_PARTS[b] == PALM and _LINKS[a] == 0))


def _overlaps(flesh: Capsules, places: Floats) -> tuple[Ints, Ints, Floats]:
    """Return frame, pair and depth (N,) m of pairs that are near each other; places (F, J, 3) m.

    Depth is the sum of the radii where the axes are nearest, less their distance; negative where they are apart.
    """
    first, last = places[:, _STARTS], places[:, _ENDS]
    # The skin ends at the tip's joint: the last capsule of a digit ends a radius before.
    tips = np.flatnonzero(_LINKS == 2)
    axis = last[:, tips] - first[:, tips]
    length = np.maximum(np.linalg.norm(axis, axis=-1, keepdims=True), 1e-6)
    last[:, tips] -= axis * np.minimum(flesh.radii[tips, 1][:, None] / length, 1.0)
    a, b = flesh.pairs
    middle, reach = (first + last) / 2, np.linalg.norm(last - first, axis=-1) / 2 + flesh.radii.max(axis=1)
    apart = middle[:, a] - middle[:, b]
    near = np.einsum("fki,fki->fk", apart, apart) < (reach[:, a] + reach[:, b]) ** 2
    frame, pair = np.nonzero(near)
    one, other = (frame, a[pair]), (frame, b[pair])
    s, t, distance = _nearest(first[one], last[one], first[other], last[other])
    radius = _between(flesh.radii[one[1]], s) + _between(flesh.radii[other[1]], t)
    return frame, pair, radius - distance


def _between(ends: Floats, share: Floats) -> Floats:
    found: Floats = ends[:, 0] + share * (ends[:, 1] - ends[:, 0])
    return found


def _nearest(p: Floats, q: Floats, r: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
    """Return where segments p to q and r to s (N, 3) are nearest, as shares of each, and their distance (N,).

    Ericson, Real-Time Collision Detection (2005), 5.1.9.
    """
    u, v, w = q - p, s - r, p - r
    uu, vv, uv, uw, vw = (np.einsum("ni,ni->n", x, y) for x, y in ((u, u), (v, v), (u, v), (u, w), (v, w)))
    uu, vv = np.maximum(uu, 1e-12), np.maximum(vv, 1e-12)
    denominator = uu * vv - uv * uv
    on_first = np.clip((uv * vw - uw * vv) / np.maximum(denominator, 1e-6 * uu * vv), 0.0, 1.0)
    on_second = np.clip((uv * on_first + vw) / vv, 0.0, 1.0)
    on_first = np.clip((uv * on_second - uw) / uu, 0.0, 1.0)
    distance = np.linalg.norm(w + on_first[:, None] * u - on_second[:, None] * v, axis=1)
    return on_first, on_second, distance
