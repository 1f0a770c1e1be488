"""A performer's measures from a capture of them: measured where markers sit on joints, else scaled.

The hand begins as a mean adult's and is brought to the markers in four steps: its size from the distances on the
palm, its knuckles from markers on them or from the spheres on which finger markers circle them, its bones from
markers at both of their ends or from how far the fingertip reaches, and the direction in which each digit stands
from the angles it takes.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import HandError
from . import rotations as rot
from .joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, Side
from .limits import DEFAULT_LIMITS
from .markersets import Spot, on_palm, palm_together
from .model import Movement
from .planes import finger_plane
from .proportions import PALM_JOINTS, Proportions, adult, in_palm, site_places, world_frames

Floats = NDArray[np.float64]

MOST_FRAMES = 2000
"""Frames looked at, evenly through the take: measures do not get better with more."""
SMALLEST, LARGEST = 0.04, 0.6
"""m from wrist to middle fingertip, a doll's and a giant's: beyond these the capture's unit is wrong."""
ENOUGH = 5
"""Frames in which a thing must be seen to be measured, or all of a shorter capture."""


def measure(side: Side, spots: tuple[Spot, ...], positions: Floats) -> tuple[Proportions, tuple[Spot, ...]]:
    """The Proportions of the hand whose markers (F, M, 3) m, NaN where not seen, sit at `spots` (M,).

    The spots come back as they were found: where no marker sits on a joint of the palm, those on its back are moved
    so that the knuckles which the fingers circle lie where a palm has its knuckles.

    Raises HandError when no three palm markers are ever seen together: nothing says where the hand is.
    """
    positions = positions[:: max(1, len(positions) // MOST_FRAMES)]
    palm = [i for i, spot in enumerate(spots) if on_palm(spot)]
    seen = positions[palm_seen(side, spots, positions)]
    hand = _sized(adult(side), spots, seen, palm)
    if not SMALLEST < hand.size < LARGEST:
        raise HandError(
            f"{side} hand: {hand.size:.3g} m long by its palm markers, expected {SMALLEST} to {LARGEST} m: "
            "is the unit of the capture right?"
        )
    for _ in range(3):
        spots = _realigned(hand, spots, in_palm(hand, spots, seen))
        hand = _with_palm(hand, spots, in_palm(hand, spots, seen))
    local = in_palm(hand, spots, seen)
    hand = _with_bones(hand, spots, local)
    return _with_directions(hand, spots, local), spots


def palm_seen(side: Side, spots: tuple[Spot, ...], positions: Floats) -> NDArray[np.bool_]:
    """(F,) the frames in which three palm markers are seen: these tell where the hand is.

    Raises HandError when there is none.
    """
    together = palm_together(spots, positions)
    if not together.any():
        raise HandError(
            f"{side} hand: {sum(map(on_palm, spots))} palm markers, of which three must be seen in one frame: "
            "the wrist and two knuckles, or three on the back of the hand"
        )
    return together


def _realigned(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> tuple[Spot, ...]:
    """The spots, those on the back of the palm turned with it so that its knuckles meet the circled ones."""
    palm = [i for i, spot in enumerate(spots) if on_palm(spot)]
    if not all(any(spots[i].offset) for i in palm):
        return spots
    knuckles = np.stack([hand.palm[PALM_JOINTS.index(joint)] for joint in _KNUCKLE_OF])
    circled = [_circled(spots, local, d, guess, WEAK) for d, guess in zip(_KNUCKLE_OF.values(), knuckles, strict=True)]
    wrist = np.zeros((1, 3))
    move = rot.fit_rigid(np.concatenate([knuckles, wrist]), np.concatenate([circled, wrist]), np.ones(5))
    frames = world_frames(hand)
    mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
    found = list(spots)
    for i in palm:
        frame = frames[JOINT_INDEX[spots[i].joint]]
        place = np.linalg.inv(frame) @ np.linalg.inv(move) @ frame @ [*spots[i].on(hand.side), 1.0]
        x, y, z = place[:3] * mirror
        found[i] = Spot(spots[i].joint, (float(x), float(y), float(z)))
    return tuple(found)


def _sized(hand: Proportions, spots: tuple[Spot, ...], seen: Floats, palm: list[int]) -> Proportions:
    """The hand, scaled so that its palm markers are as far apart as those seen."""
    places = site_places(hand, tuple(spots[i] for i in palm))
    pairs = [(a, b) for a in range(len(palm)) for b in range(a)]
    apart = np.array([_median(np.linalg.norm(seen[:, palm[a]] - seen[:, palm[b]], axis=-1)) for a, b in pairs])
    model = np.array([np.linalg.norm(places[a] - places[b]) for a, b in pairs])
    known = np.isfinite(apart)
    return hand.scaled(float(apart[known].sum() / max(model[known].sum(), 1e-6)))


def _median(values: Floats) -> float:
    """Of what is known; NaN where nothing is."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


def _at(spots: tuple[Spot, ...], local: Floats, joint: str) -> Floats | None:
    """(F, 3) the marker that sits on a joint, None where there is none or it is hardly ever seen."""
    for i, spot in enumerate(spots):
        if spot.joint == joint and not any(spot.offset):
            known = np.isfinite(local[:, i]).all(-1).sum()
            return local[:, i] if known >= min(ENOUGH, len(local)) else None
    return None


def _with_palm(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> Proportions:
    """The hand with its palm joints where their markers stand on average, its wrist in the wrist's marker."""
    palm = hand.palm.copy()
    for index, joint in enumerate(PALM_JOINTS):
        marker = _at(spots, local, joint)
        if marker is not None:
            palm[index] = np.nanmedian(marker, axis=0)
        elif joint in _KNUCKLE_OF:
            palm[index] = _circled(spots, local, _KNUCKLE_OF[joint], palm[index], PRIOR)
    wrist = _at(spots, local, "wrist")
    if wrist is not None:
        palm = palm - np.nanmedian(wrist, axis=0)
    return replace(hand, palm=palm)


_KNUCKLE_OF = {CHAIN_JOINTS[digit][0]: digit for digit in DIGITS[1:]}

PRIOR = 0.4
"""How much the mean hand's knuckle counts against the sphere's: settles it across the arc, where nothing moved."""
WEAK = 0.03
"""The same where the four knuckles together turn the palm."""


def _circled(spots: tuple[Spot, ...], local: Floats, digit: str, guess: Floats, prior: float) -> Floats:
    """(3,) the knuckle that the marker on the digit's first bone circles, if there is one; else the guess.

    Least squares for |p|² = 2 c·p + (r² − |c|²) over the frames, drawn to the guess by a part of its weight, and to
    the planes in which the finger stands.
    """
    riders = [i for i, s in enumerate(spots) if s.joint == CHAIN_JOINTS[digit][0] and any(s.offset)]
    riders += [i for i, s in enumerate(spots) if s.joint == CHAIN_JOINTS[digit][1] and not any(s.offset)]
    if not riders:
        return guess
    points = local[:, riders[0]]
    points = points[np.isfinite(points).all(-1)]
    if len(points) < ENOUGH:
        return guess
    middle = points.mean(0)
    p = points - middle
    scale = 2 * np.sqrt((p**2).sum(-1).mean())
    share = 1 / np.sqrt(len(p))
    # Rows are scaled by the spread so that the prior counts alike for an ample and a small movement.
    across, offsets = _across(spots, local, digit, riders[0])
    rows = [2 * p * share, prior * scale * np.eye(3), IN_LINE * scale * across]
    right = [(p**2).sum(-1) * share, prior * scale * (guess - middle), IN_LINE * scale * (offsets - across @ middle)]
    radius = np.concatenate([np.full(len(p), share), np.zeros(3 + len(across))])
    fitted = np.linalg.lstsq(np.c_[np.concatenate(rows), radius], np.concatenate(right), rcond=None)[0]
    centre: Floats = fitted[:3] + middle
    return centre


IN_LINE = 0.2
"""How much it counts that a knuckle lies in the plane in which its finger's markers stand on the palm."""


def _across(spots: tuple[Spot, ...], local: Floats, digit: str, rider: int) -> tuple[Floats, Floats]:
    """Unit normals (N, 3) of the upright planes through a digit's marker and its tip's, and their offsets (N,) m.

    Both are divided by the root of their number.
    """
    tips = [i for i, spot in enumerate(spots) if spot.joint == CHAIN_JOINTS[digit][3]]
    if not tips:
        return np.zeros((0, 3)), np.zeros(0)
    normals = np.cross(local[:, tips[0]] - local[:, rider], [0.0, 0.0, 1.0])
    length = np.linalg.norm(normals, axis=-1)
    # A finger that points at the palm has no upright plane.
    clear = length > 0.02
    normals, points = normals[clear] / length[clear, None], local[clear, rider]
    share = 1 / np.sqrt(max(len(normals), 1))
    return normals * share, (normals * points).sum(-1) * share


def _with_bones(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> Proportions:
    """The hand with the lengths of bones seen at both ends, and all long enough for the fingertip's reach."""
    phalanges = hand.phalanges.copy()
    for row, digit in enumerate(DIGITS):
        chain = [_at(spots, local, joint) for joint in CHAIN_JOINTS[digit]]
        first = hand.palm[PALM_JOINTS.index(CHAIN_JOINTS[digit][0])]
        ends = [np.broadcast_to(first, (len(local), 3)), *chain[1:]]
        for bone in range(3):
            near, far = ends[bone], ends[bone + 1]
            if near is not None and far is not None:
                phalanges[row, bone] = np.nanmedian(np.linalg.norm(far - near, axis=-1))
        stretch = max(_reach(first, spots, local, digit) / phalanges[row].sum(), 1.0)
        phalanges[row] *= min(stretch, MOST_STRETCH) if all(joint is not None for joint in chain) else stretch
    return replace(hand, phalanges=phalanges)


MOST_STRETCH = 1.05
"""Beyond the bones' median lengths, where all are measured: noise reaches farther than any finger."""


def _reach(first: Floats, spots: tuple[Spot, ...], local: Floats, digit: str) -> float:
    """m, how far from its first joint the digit's tip is seen; 0 where it has no marker.

    Devices stretch bones by a few per cent from frame to frame. A digit too short for a target leaves it visibly
    untouched, one a little too long bends a degree more: so nearly the farthest counts, not the mean. Seen from a
    knuckle that was itself guessed, the farthest is chance.
    """
    measured = _at(spots, local, CHAIN_JOINTS[digit][0]) is not None
    tips = [i for i, spot in enumerate(spots) if spot.joint == CHAIN_JOINTS[digit][3]]
    if not tips:
        return 0.0
    apart = np.linalg.norm(local[:, tips[0]] - first, axis=-1)
    apart = apart[np.isfinite(apart)]
    if len(apart) < min(ENOUGH, len(local)):
        return 0.0
    # Straight, the marker stands at the bones' reach plus its offset along them, and beside them by the rest.
    x, y, z = spots[tips[0]].offset
    return float(np.sqrt(max(np.quantile(apart, 0.99 if measured else 0.9) ** 2 - x**2 - z**2, 0.0)) - y)


def _with_directions(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> Proportions:
    """The hand with each digit turned by as little as brings the angles it takes inside the limits."""
    frames = hand.frames.copy()
    mirror = np.array([1.0 if hand.side == "right" else -1.0, 1.0, 1.0])
    for row, digit in enumerate(DIGITS):
        joints = CHAIN_JOINTS[digit]
        first = hand.palm[PALM_JOINTS.index(joints[0])]
        chain = [_at(spots, local, joint) for joint in joints[1:]]
        base = rot.to_matrix(frames[row])
        if all(joint is not None for joint in chain):
            points = (np.stack([joint for joint in chain if joint is not None], 1) - first) @ base * mirror
            points = points[np.isfinite(points).all((1, 2))]
            turn = _least_turn(joints[0], points) if len(points) else rot.IDENTITY
        else:
            tips = [i for i, spot in enumerate(spots) if spot.joint == joints[3] and digit != "thumb"]
            turn = _least_splay(joints[0], (local[:, tips] - first) @ base * mirror)
        # Seen in the mirror, turns about Y and Z go the other way.
        frames[row] = rot.multiply(frames[row], turn * [1.0, 1.0, mirror[0], mirror[0]])
    return replace(hand, frames=frames)


STRAIGHT_ON = 0.5
"""The share of a bone's length along the straight digit from which its bearing tells abduction."""


def _least_splay(joint: str, tips: Floats) -> Floats:
    """(4,) the turn that brings a digit's abduction inside its limits, from its tip's markers (N, S, 3) alone."""
    tips = tips[np.isfinite(tips).all(-1)]
    ahead = tips[tips[:, 1] > STRAIGHT_ON * np.linalg.norm(tips, axis=-1)]
    return rot.about([0.0, 0.0, 1.0], _shift(np.arctan2(-ahead[:, 0], ahead[:, 1]), joint, "abduction"))


def _least_turn(joint: str, points: Floats) -> Floats:
    """(4,) the turn of a digit's base that brings its abduction, flexion and twist inside the limits.

    points (N, 3, 3) m are the bones' ends in the base's frame, mirrored for a left hand. The first bone tells
    abduction and flexion; twist is told by the plane of the bend, in the frames that bend most.
    """
    bone = points[:, 0] / np.linalg.norm(points[:, 0], axis=-1, keepdims=True)
    ahead = bone[:, 1] > STRAIGHT_ON
    aside = _shift(np.arctan2(-bone[ahead, 0], bone[ahead, 1]), joint, "abduction")
    level = np.hypot(bone[:, 0], bone[:, 1]) * np.where(bone[:, 1] < 0, -1.0, 1.0)
    down = _shift(np.arctan2(-bone[:, 2], level), joint, "flexion")
    turn = rot.multiply(rot.about([0.0, 0.0, 1.0], aside), rot.about([-1.0, 0.0, 0.0], down))
    turned = points @ rot.to_matrix(turn)
    bend = np.linalg.norm(np.cross(turned[:, 0], turned[:, 2] - turned[:, 0]), axis=-1)
    bent = turned[bend >= np.median(bend)]
    _, twist = finger_plane(bent, np.ones(bent.shape[:2]), 2, (LOOSE, LOOSE))
    return rot.multiply(turn, rot.about([0.0, 1.0, 0.0], _shift(twist, joint, "twist")))


LOOSE = np.array([-1.4, 1.4])
"""rad, for looking at what angles a digit takes before the limits are laid on it."""


def _shift(angles: Floats, joint: str, movement: Movement) -> float:
    """rad by which angles must be moved so that the bulk of them lies inside the joint's limits.

    Outside at both ends, the middle of what is taken goes to the middle of what is allowed.
    """
    if not len(angles):
        return 0.0
    low, high = np.deg2rad(DEFAULT_LIMITS[joint, movement])
    least, most = np.quantile(angles, [0.05, 0.95])
    over, under = most - high, least - low
    return float((over + under) / 2 if over > 0 > under else max(over, 0.0) + min(under, 0.0))


def to_json(proportions: Proportions) -> dict[str, object]:
    """A hand's measures as a performer file holds them: millimetres, by joint."""
    chains = [CHAIN_JOINTS[digit] for digit in DIGITS]
    return {
        "size_mm": round(proportions.size * 1000, 2),
        "palm_mm": {
            joint: [round(x * 1000, 3) for x in place]
            for joint, place in zip(PALM_JOINTS, proportions.palm, strict=True)
        },
        "bones_mm": {
            chain[bone]: round(float(proportions.phalanges[row, bone]) * 1000, 3)
            for row, chain in enumerate(chains)
            for bone in range(3)
        },
        "directions_wxyz": {
            digit: [round(float(x), 6) for x in frame] for digit, frame in zip(DIGITS, proportions.frames, strict=True)
        },
    }


def from_json(side: Side, data: object, where: str) -> Proportions:
    """The inverse of to_json. Raises HandError naming `where` and the measure that is missing or no number."""

    def numbers(group: str, key: str, count: int) -> Floats:
        entry = data.get(group, {}).get(key) if isinstance(data, dict) and isinstance(data.get(group), dict) else None
        values = entry if isinstance(entry, list) else [entry]
        ok = len(values) == count and all(isinstance(x, int | float) and abs(x) < 1e4 for x in values)
        if not ok:
            raise HandError(f"{where}: {group} of {key} is {entry!r}, expected {count} numbers")
        return np.array(values, float)

    frames = np.stack([numbers("directions_wxyz", digit, 4) for digit in DIGITS])
    norms = np.linalg.norm(frames, axis=-1, keepdims=True)
    if (np.abs(norms - 1) > 0.01).any():
        raise HandError(f"{where}: a quaternion in directions_wxyz has the length {norms.min():.3f}, expected 1")
    bones = [[numbers("bones_mm", CHAIN_JOINTS[digit][bone], 1)[0] for bone in range(3)] for digit in DIGITS]
    return Proportions(
        side=side,
        palm=np.stack([numbers("palm_mm", joint, 3) for joint in PALM_JOINTS]) / 1000,
        phalanges=np.array(bones) / 1000,
        frames=frames / norms,
    )
