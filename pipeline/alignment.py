"""Place the performer at a character: the transform of the capture that brings its hands to the character's."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..errors import MarkerMapError
from ..hand import mirror
from ..hand import rotations as rot
from ..hand.joints import Side
from ..hand.marker_sets import side_in_name
from .take import SolvedHand, Take

Floats = NDArray[np.float64]
Frames = dict[Side, Floats]
"""Side -> a frame (4, 4) of a hand in the scene."""

LEVER = 0.1
"""m, how far from the wrist the points are by which rotations are weighed against distances."""
ELBOW_WORDS = ("elb", "forearm", "fore_arm", "lowerarm", "lower_arm")
"""What a marker at the elbow is called; a forearm's joint is where it begins."""


def aligned(captured: Mapping[Side, Floats], character: Mapping[Side, Floats]) -> Floats:
    """Return the rigid transform (4, 4) that takes frames of a capture to those of a character.

    With one hand in both it is exact; with two it is the nearest to both.
    """
    corners = np.concatenate([np.zeros((1, 3)), LEVER * np.eye(3)])
    sides = [side for side in captured if side in character]
    own, theirs = (
        np.concatenate([corners @ frames[side][:3, :3].T + frames[side][:3, 3] for side in sides])
        for frames in (captured, character)
    )
    return rot.fit_rigid(own, theirs, np.ones(len(own)))


def wrist_frames(take: Take) -> Frames:
    """Return T_scene_wrist of each hand in the first frame in which it is seen."""
    return {hand.side: hand.pose.root[first_seen(hand)] for hand in take.hands}


def forearm_frames(take: Take) -> Frames:
    """Return the forearms' frames where the wrists' are, see forearm_frame. Raises MarkerMapError as _elbow does."""
    return {hand.side: forearm_frame(_elbow(take, hand), hand.pose.root[first_seen(hand)]) for hand in take.hands}


def forearm_frame(elbow: Floats, wrist: Floats) -> Floats:
    """Return a frame (4, 4) at the wrist with Y along the forearm and Z nearest to the back of the hand.

    elbow: (3,). wrist: T_scene_wrist (4, 4).
    """
    return pointing(wrist, wrist[:3, 3], wrist[:3, 3] - elbow)


def pointing(wrist: Floats, place: Floats, direction: Floats) -> Floats:
    """Return a frame (4, 4) at `place` (3,) with Y along `direction` (3,) and Z nearest to the back of the hand."""
    frame = np.array(wrist)
    frame[:3, :3], frame[:3, 3] = rot.frame_from_yz(direction, wrist[:3, 2]), place
    return frame


def first_seen(hand: SolvedHand) -> int:
    """Return the first frame in which a hand's wrist is seen, the first of all if it never is."""
    return int((~hand.predicted[:, 0]).argmax())


def _elbow(take: Take, hand: SolvedHand) -> Floats:
    """Return where the elbow (3,) is in the scene in the first frame of a hand.

    Raises MarkerMapError if the capture has no marker there, or it is not seen.
    """
    side, signs = (mirror.other_side(hand.side), mirror.POINT_SIGNS) if take.recipe.mirror else (hand.side, 1.0)
    for column, name in enumerate(take.markers.names):
        point = take.markers.positions[first_seen(hand), column]
        if _is_elbow(name, side) and np.isfinite(point).all():
            matrix = take.recipe.transform.matrix()
            placed: Floats = matrix[:3, :3] @ (signs * point) + matrix[:3, 3]
            return placed
    raise MarkerMapError(
        f"{take.markers.source}: no marker at the {side} elbow is seen, expected one whose label says elbow or "
        "forearm: align by another method"
    )


def _is_elbow(label: str, side: Side) -> bool:
    """Whether a label means the elbow of a side, such as LeftForeArm, elbow.L or LELB."""
    text = label.lower()
    found = next((text.find(word) for word in ELBOW_WORDS if word in text), -1)
    before = text[max(found - 1, 0) : max(found, 0)]
    return found >= 0 and (side_in_name(label) or {"l": "left", "r": "right"}.get(before)) == side
