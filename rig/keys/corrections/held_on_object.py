"""Bones of a hand that a correction holds on an object of the scene, over the frames of its range."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand.jacobians import ROOT_DOFS
from ....hand.joints import DIGITS, digit_label
from ....pipeline.contacts.hold_on_surface import LAST_BONE, HeldBySurface, hold_on_surface, touching_point
from ....pipeline.corrections.correction import Correction, HeldOnObject
from ....posing.grasping.skin_samples import SkinPoints
from ...solid_mesh import Solid
from .hand_by_object import HandByObject, hand_by_object
from .hand_of_take import HandOfTake
from .held_touch import FULL, HeldBones, turned
from .last_used import LastUsed

Floats = NDArray[np.float64]

MOST_OFF, MOST_DEPTH = 0.9e-3, 1e-3
"""m, how far a point of the skin may be from its place, and how deep digits may be in the object: else it waits."""
MOST_AWAY = 1e-3
"""m, how far its place may be from the surface."""
_found = LastUsed[HeldBySurface](64)
"""A slider step composes all contacts of a hand, each of which takes a second to solve. Factors change none."""


def held_on_object(
    of: HandOfTake,
    one: Correction,
    rotations: Floats,
    frames: Floats,
    times: Floats,
    *,
    moved: list[int],
    ends: tuple[bool, bool],
) -> HeldBones:
    """Return the bones of a hand that hold digits on the object of a correction.

    Args:
        of: the hand.
        one: a correction of kind object.
        rotations: (F, J, 4) of the bones in the frames of its range.
        frames: (F,) scene frames.
        times: (F,) s, on the capture's clock.
        moved: the joints that may turn.
        ends: whether the take has frames before, and after, the range.

    Raises:
        RigError: they cannot, with the reason.
    """
    change = one.change
    assert isinstance(change, HeldOnObject)
    by = hand_by_object(of, change.object, rotations, frames, change.digits)
    _check_tips(by.beside.skin, change.digits)
    places = np.array([by.motion.place(point.place) for point in change.points])
    _check_places(by.motion.solid, places, change.object)
    pads = [touching_point(by.beside.skin, by.locals, point.digit, point.direction) for point in change.points]
    of_hand = (of.hand, tuple(pads), one.range, rotations.tobytes(), times.tobytes(), tuple(moved), ends)
    found = _found.get(
        (*of_hand, places.tobytes(), by.beside.to_surface.tobytes(), _digest(by)),
        lambda: hold_on_surface(
            by.pose,
            times,
            by.beside,
            of.hand.flesh,
            ROOT_DOFS + np.flatnonzero(np.isin(by.pose.hand.axis_joint, moved)),
            pads=np.array(pads),
            places=places,
            full=one.range.weights(times) > 1.0 - FULL,
            ends=ends,
        ),
    )
    if found.depth > max(MOST_DEPTH, found.off):
        raise RigError(f"its digits would be {1e3 * found.depth:.1f} mm deep in '{change.object}'")
    if found.off > MOST_OFF:
        raise RigError(f"the hand cannot reach its place on '{change.object}': it stays {1e3 * found.off:.1f} mm away")
    turns = turned(by.pose, found.held.pose, by.beyond)
    return HeldBones(of.hand.with_turns(rotations, turns, moved), found.held.frames_needed)


def _digest(by: HandByObject) -> bytes:
    """Return what tells the surface that a hand is beside, and the digits whose skin is, from others."""
    solid, digest = by.motion.solid, blake2b()
    for part in (solid.vertices, solid.triangles, by.outside, by.beside.skin.points):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.digest()


def _check_places(solid: Solid, places: Floats, name: str) -> None:
    """Raise RigError unless all places (P, 3) m are on the surface of an object, which may have changed since."""
    away = max(float(np.linalg.norm(solid.nearest(place) - place)) for place in places)
    if away > MOST_AWAY:
        raise RigError(f"its place is {1e3 * away:.1f} mm from the surface of '{name}' now")


def _check_tips(skin: SkinPoints, digits: tuple[str, ...]) -> None:
    """Raise RigError unless all of some digits have skin at their tips."""
    for digit in digits:
        if not ((skin.digit == DIGITS.index(digit)) & (skin.link == LAST_BONE)).any():
            raise no_skin(digit)


def no_skin(digit: str) -> RigError:
    """Return the error of a hand whose digit cannot touch anything."""
    return RigError(f"the hand has no skin at the tip of its {digit_label(digit)}")
