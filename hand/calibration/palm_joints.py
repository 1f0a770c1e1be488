"""Where a hand's palm joints are: under markers on them, or where finger markers circle about them."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import rotations as rot
from ..joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from ..marker_sets import Spot, on_palm
from ..measurements import Measure, kept
from ..proportions import PALM_JOINTS, Proportions, world_frames

Floats = NDArray[np.float64]

ENOUGH = 5
"""Frames in which a thing must be seen to be measured, or all of a shorter capture."""


def at(spots: tuple[Spot, ...], local: Floats, joint: str) -> Floats | None:
    """(F, 3) the marker that sits on a joint, None where there is none or it is hardly ever seen."""
    for i, spot in enumerate(spots):
        if spot.joint == joint and not any(spot.offset):
            known = np.isfinite(local[:, i]).all(-1).sum()
            return local[:, i] if known >= min(ENOUGH, len(local)) else None
    return None


def with_palm(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> Proportions:
    """The hand with its palm joints where their markers stand on average, its wrist in the wrist's marker."""
    palm = hand.palm.copy()
    for index, joint in enumerate(PALM_JOINTS):
        marker = at(spots, local, joint)
        if marker is not None:
            palm[index] = np.nanmedian(marker, axis=0)
        elif joint in _KNUCKLE_OF:
            palm[index] = _circled(spots, local, _KNUCKLE_OF[joint], palm[index], PRIOR)
    wrist = at(spots, local, "wrist")
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
    rider = _rider(spots, local, digit)
    if rider is None:
        return guess
    points = rider[np.isfinite(rider).all(-1)]
    middle = points.mean(0)
    p = points - middle
    scale = 2 * np.sqrt((p**2).sum(-1).mean())
    share = 1 / np.sqrt(len(p))
    # Rows are scaled by the spread so that the prior counts alike for an ample and a small movement.
    across, offsets = _across(spots, local, digit, rider)
    rows = [2 * p * share, prior * scale * np.eye(3), IN_LINE * scale * across]
    right = [(p**2).sum(-1) * share, prior * scale * (guess - middle), IN_LINE * scale * (offsets - across @ middle)]
    radius = np.concatenate([np.full(len(p), share), np.zeros(3 + len(across))])
    fitted = np.linalg.lstsq(np.c_[np.concatenate(rows), radius], np.concatenate(right), rcond=None)[0]
    centre: Floats = fitted[:3] + middle
    return centre


IN_LINE = 0.2
"""How much it counts that a knuckle lies in the plane in which its finger's markers stand on the palm."""


def _rider(spots: tuple[Spot, ...], local: Floats, digit: str) -> Floats | None:
    """(F, 3) the marker on a finger's first bone, which circles about its knuckle; None where hardly one is seen."""
    first, second = CHAIN_JOINTS[digit][:2] if digit else ("", "")
    riders = [i for i, spot in enumerate(spots) if spot.joint == first and any(spot.offset)]
    riders += [i for i, spot in enumerate(spots) if spot.joint == second and not any(spot.offset)]
    if not riders or np.isfinite(local[:, riders[0]]).all(-1).sum() < ENOUGH:
        return None
    return local[:, riders[0]]


def _across(spots: tuple[Spot, ...], local: Floats, digit: str, rider: Floats) -> tuple[Floats, Floats]:
    """Unit normals (N, 3) of the upright planes through a digit's marker and its tip's, and their offsets (N,) m.

    Both are divided by the root of their number.
    """
    tips = [i for i, spot in enumerate(spots) if spot.joint == CHAIN_JOINTS[digit][3]]
    if not tips:
        return np.zeros((0, 3)), np.zeros(0)
    normals = np.cross(local[:, tips[0]] - rider, [0.0, 0.0, 1.0])
    length = np.linalg.norm(normals, axis=-1)
    # A finger that points at the palm has no upright plane.
    clear = length > 0.02
    normals, points = normals[clear] / length[clear, None], rider[clear]
    share = 1 / np.sqrt(max(len(normals), 1))
    return normals * share, (normals * points).sum(-1) * share


def realigned(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> tuple[Spot, ...]:
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


def palm_measures(hand: Proportions, spots: tuple[Spot, ...], local: Floats) -> list[Measure]:
    """How sure the palm's joints are, from markers (F, M, 3) m in the wrist's frame: values are distances to the wrist.

    The spread of a joint under a marker is how far the marker strays, that of a circled one how much its finger's
    marker comes nearer and goes away.
    """
    result = []
    for joint, place in zip(PALM_JOINTS, hand.palm, strict=True):
        value = 1000 * float(np.linalg.norm(place))
        on, about = at(spots, local, joint), _rider(spots, local, _KNUCKLE_OF.get(joint, ""))
        if on is None and about is None:
            result.append(Measure("palm", joint, "by the hand's size", value))
            continue
        how = "under its marker" if on is not None else "where its finger's marker circles about it"
        away = np.linalg.norm((on if on is not None else about) - place, axis=-1)
        strays = away if on is not None else away - np.nanmedian(away)
        good = kept(strays)
        spread = 1000 * float(np.sqrt((strays[good] ** 2).mean())) if good.sum() > 1 else None
        result.append(Measure("palm", joint, how, value, spread, frames=int(good.sum())))
    return result
