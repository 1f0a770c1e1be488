"""Bones of a hand that a correction holds on an object of the scene, over the frames of its range."""

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand.generators import Steps, part_of
from ....hand.jacobians import ROOT_DOFS
from ....hand.joints import DIGITS, digit_label
from ....pipeline.contacts.hold_on_surface import LAST_BONE, HeldBySurface, hold_on_surface, touching_point
from ....pipeline.corrections.correction import Correction, HeldOnObject
from ....posing.grasping.skin_samples import SkinPoints
from ...solid_mesh import Solid
from .hand_by_object import HandByObject, hand_by_object
from .hand_of_take import HandOfTake
from .hand_to_correct import WRIST
from .held_touch import FULL_WEIGHT, HeldBones, rotations_between
from .keyed_wrist import HandKeys
from .last_used import LastUsed
from .object_motion import PlayedFrames
from .palm_on_object import check_placed, deepest_skin, digits_with_skin, laid_palm

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MAX_TARGET_DISTANCE, MAX_DEPTH = 0.9e-3, 1e-3
"""m, maximum distance of a skin point from its target, and maximum depth of digits in the object. Beyond them the
correction has no effect."""
MAX_SURFACE_DISTANCE = 1e-3
"""m, maximum distance of the target from the surface."""
READ_FRACTION = 0.2
"""Fraction of the progress for evaluating frames."""
MAX_RELAYS = 3
"""Maximum number of times that a palm is placed again after its digits have moved."""
_found = LastUsed[HeldBySurface](64)
"""Each step of a slider composes all contacts of a hand, each of which takes a second to solve. Factors do not change
them."""


def held_on_object(
    take_hand: HandOfTake,
    correction: Correction,
    keys: HandKeys,
    frames: Floats,
    times: Floats,
    *,
    moved: list[int],
    continues: tuple[bool, bool],
    played: PlayedFrames,
) -> Steps[HeldBones]:
    """Return the bones of a hand that hold its palm and digits on the object of a correction.

    Args:
        take_hand: the hand.
        correction: of kind object.
        keys: of the F frames of its range.
        frames: (F,) scene frames.
        times: (F,) s, on the capture's clock.
        moved: the joints that may move.
        continues: whether the take has frames before and after the range.
        played: the frames evaluated before; those evaluated now are added.

    Raises:
        RigError: the hand cannot hold them; the message has the reason.
    """
    change = correction.change
    assert isinstance(change, HeldOnObject)
    full = correction.range.weights(times) > 1.0 - FULL_WEIGHT
    palm = change.palm
    if palm is not None:
        check_placed(take_hand)
    motion = yield from part_of(
        0.0, READ_FRACTION, "", played.motion(take_hand.hand.binding, change.object, frames, take_hand.wrist.chain)
    )
    if palm is None:
        by = hand_by_object(take_hand, motion, keys, change.digits)
        found = yield from part_of(
            READ_FRACTION, 1.0, "", _held(take_hand, by, change, times, moved=moved, full=full, continues=continues)
        )
        _check_held(found, change.object)
        return HeldBones(_rotated_keys(take_hand, by, keys, found, moved), found.motion.rows)
    by, fingers = hand_by_object(take_hand, motion, keys, digits_with_skin(take_hand), palm=True), [*moved]
    fingers.remove(WRIST)
    beside: Floats | None = None
    for number in range(MAX_RELAYS + 1):
        laid = laid_palm(take_hand, by, palm, change.object, full=full, continues=continues, beside=beside)
        start, end = (READ_FRACTION + (1.0 - READ_FRACTION) * part / (MAX_RELAYS + 1) for part in (number, number + 1))
        holding = _held(
            take_hand, laid.by, change, times, moved=fingers, full=laid.rows.mask(len(times)), continues=continues
        )
        found = yield from part_of(start, end, "", holding)
        depth, skin = deepest_skin(take_hand, laid.by, found)
        deep = max(found.depth, depth) > MAX_DEPTH
        if found.motion.rows.bounds == laid.rows.bounds and not deep:
            break
        # Digits that need more frames shorten the palm's contact, since they must be outside the object while it rests.
        # Skin that they cannot bring out of the object lifts the palm.
        full = found.motion.rows.mask(len(times))
        beside = skin if deep else None
    _check_held(found, change.object)
    if depth > MAX_DEPTH:
        raise RigError(f"its palm would be {1e3 * depth:.1f} mm deep in '{change.object}'")
    rotated_keys = _rotated_keys(take_hand, laid.by, laid.keys(keys), found, fingers)
    return HeldBones(rotated_keys, found.motion.rows.within(laid.rows), laid.by.wrist.wrist)


def _held(
    take_hand: HandOfTake,
    by: HandByObject,
    change: HeldOnObject,
    times: Floats,
    *,
    moved: list[int],
    full: Bools,
    continues: tuple[bool, bool],
) -> Steps[HeldBySurface]:
    """Return how digits hold their points on an object and stay out of it, as far as possible.

    Raises RigError for digits without skin and positions that are not on the object.
    """
    _check_tips(by.beside.skin, change.digits)
    positions = np.array([by.motion.position(point.place) for point in change.points]).reshape(-1, 3)
    _check_positions(by.motion.solid, positions, change.object)
    pads = np.array(
        [touching_point(by.beside.skin, by.locals, point.digit, point.direction) for point in change.points], int
    )
    of_hand = (take_hand.hand, by.pose.angles.tobytes(), by.beyond.tobytes(), times.tobytes(), tuple(moved))
    return (
        yield from _found.steps(
            (
                *of_hand,
                full.tobytes(),
                continues,
                pads.tobytes(),
                positions.tobytes(),
                by.beside.to_surface.tobytes(),
                by.digest,
            ),
            lambda: hold_on_surface(
                by.pose,
                times,
                by.beside,
                take_hand.hand.flesh,
                ROOT_DOFS + np.flatnonzero(np.isin(by.pose.hand.axis_joint, moved)),
                pads=pads,
                positions=positions,
                full=full,
                continues=continues,
            ),
        )
    )


def _check_held(found: HeldBySurface, name: str) -> None:
    """Raise RigError unless a hand holds its points on an object and its digits stay out of it."""
    if found.depth > max(MAX_DEPTH, found.off):
        raise RigError(f"its digits would be {1e3 * found.depth:.1f} mm deep in '{name}'")
    if found.off > MAX_TARGET_DISTANCE:
        raise RigError(f"the hand cannot reach its target on '{name}': it stays {1e3 * found.off:.1f} mm away")


def _rotated_keys(
    take_hand: HandOfTake, by: HandByObject, keys: HandKeys, found: HeldBySurface, moved: list[int]
) -> HandKeys:
    """Return the keys of a hand with its joints rotated to hold the points."""
    rotations = rotations_between(by.pose, found.motion.pose, by.beyond)
    return HandKeys(take_hand.hand.with_rotations(keys.rotations, rotations, moved), keys.wrist)


def _check_positions(solid: Solid, positions: Floats, name: str) -> None:
    """Raise RigError unless all positions (P, 3) m are on the surface of an object, which may have changed since."""
    distance = max((float(np.linalg.norm(solid.nearest(position) - position)) for position in positions), default=0.0)
    if distance > MAX_SURFACE_DISTANCE:
        raise RigError(f"its target is {1e3 * distance:.1f} mm from the surface of '{name}' now")


def _check_tips(skin: SkinPoints, digits: tuple[str, ...]) -> None:
    """Raise RigError unless all of some digits have skin at their tips."""
    for digit in digits:
        if not ((skin.digit == DIGITS.index(digit)) & (skin.link == LAST_BONE)).any():
            raise no_skin(digit)


def no_skin(digit: str) -> RigError:
    """Return the error of a hand whose digit cannot touch anything."""
    return RigError(f"the hand has no skin at the tip of its {digit_label(digit)}")
