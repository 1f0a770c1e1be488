"""Bones of a hand that hold a contact, over the frames of a correction."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ....hand.generators import Steps
from ....hand.jacobians import ROOT_DOFS
from ....hand.joints import JOINT_INDEX
from ....hand.kinematics import Pose
from ....hand.value_equality import hashable_content
from ....pipeline.contacts.hold_in_range import HeldRows
from ....pipeline.contacts.hold_touch import HoldFailure, blends_needed, hold_touch
from ....pipeline.corrections.correction import ContactChange, Correction, HeldTouch, TimeRange
from .hand_of_take import HandOfTake
from .hand_to_correct import HandToCorrect
from .keyed_wrist import HandKeys
from .last_used import LastUsed
from .take_clock import TakeClock

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

FULL_WEIGHT = 1e-6
"""Weight from which a correction counts as full, since times are rounded."""
_rotations_of_contacts = LastUsed["tuple[Floats, HeldRows] | HoldFailure"](64)
"""Each step of a slider composes all contacts of a hand, each of which takes most of a second to solve. Factors do not
change them."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldBones:
    """Bones of a hand that hold a contact over the frames of a correction."""

    keys: HandKeys
    """Its `wrist` is None if the wrist does not move."""
    rows: HeldRows
    wrist: Floats | None = None
    """(F, 4, 4) T_world_wrist of a palm that rests on an object; None without one."""


def held_touch(
    hand: HandToCorrect,
    correction: Correction,
    rotations: Floats,
    times: Floats,
    *,
    moved: list[int],
    continues: tuple[bool, bool],
) -> Steps[HeldBones]:
    """Return the bones of a hand that hold the contact of a correction. Raises RigError with the reason if they cannot.

    Args:
        hand: the hand.
        correction: of kind contact. rotations: (F, J, 4) of the bones in the frames of its range. times: (F,) s, on the
            capture's clock. moved: the joints that may move. continues: whether the take has frames before and after
            the range.
    """
    change = correction.change
    assert isinstance(change, HeldTouch)
    key = (
        hand,
        hashable_content(change),
        correction.range,
        rotations.tobytes(),
        times.tobytes(),
        tuple(moved),
        continues,
    )
    found = yield from _rotations_of_contacts.steps(
        key, lambda: _rotations(hand, correction, rotations, times, moved=moved, continues=continues)
    )
    if isinstance(found, HoldFailure):
        raise RigError(_reason(found))
    return HeldBones(HandKeys(hand.with_rotations(rotations, found[0], moved)), found[1])


def _reason(unheld: HoldFailure) -> str:
    if unheld.lacking:
        return f"the hand lacks the {' and the '.join(unheld.lacking)} of that contact"
    if unheld.apart:
        return f"the hand cannot reach that contact: the skin of its parts stays {1000 * unheld.apart:.1f} mm apart"
    return (
        "the hand cannot hold that contact in all its frames: the skin of its parts would be up to "
        f"{1000 * unheld.strain:.1f} mm apart, or in each other"
    )


def range_of_touch(
    take_hand: HandOfTake,
    touch: HeldTouch,
    span: tuple[float, float],
    clock: TakeClock,
    others: Sequence[Correction],
    *,
    corrected: Callable[[Bools], HandKeys],
) -> TimeRange:
    """Return the range of a correction that holds a contact over a span, s, with the blends that it needs.

    The blends depend on the take with the other corrections, whose keys in frames (F,) `corrected` returns. They end
    where others hold a contact of the same digits. Raises RigError if the take has no frame in the span.
    """
    (start, end), rows = span, take_hand.expected_rows(*clock.frames(span))
    (pose, _), times = take_hand.hand.posed(corrected(rows).rotations), clock.times(take_hand.frames[rows])
    free = ROOT_DOFS + np.flatnonzero(np.isin(pose.hand.axis_joint, [JOINT_INDEX[joint] for joint in touch.joints]))
    before, after = blends_needed(pose, times, take_hand.hand.flesh, free, touch)
    beside = [
        correction.range
        for correction in others
        if isinstance(correction.change, ContactChange) and set(correction.digits) & set(touch.digits)
    ]
    before = min([before, *(start - known.full_end for known in beside if known.full_end <= start)])
    after = min([after, *(known.full_start - end for known in beside if known.full_start >= end)])
    return TimeRange(start - before, end + after, before, after)


def _rotations(
    hand: HandToCorrect,
    correction: Correction,
    rotations: Floats,
    times: Floats,
    *,
    moved: list[int],
    continues: tuple[bool, bool],
) -> Steps[tuple[Floats, HeldRows] | HoldFailure]:
    """Return additional rotations (F, J, 4) of joints, in their own frames, and the rows of HeldBones.

    If the hand cannot hold the contact, return the reason instead.
    """
    assert isinstance(correction.change, HeldTouch)
    before, beyond = hand.posed(rotations)
    free = ROOT_DOFS + np.flatnonzero(np.isin(before.hand.axis_joint, moved))
    full = correction.range.weights(times) > 1.0 - FULL_WEIGHT
    holding = yield from hold_touch(before, times, hand.flesh, free, correction.change, full=full, continues=continues)
    return (
        holding if isinstance(holding, HoldFailure) else (rotations_between(before, holding.pose, beyond), holding.rows)
    )


def rotations_between(before: Pose, after: Pose, beyond: Floats) -> Floats:
    """Return the rotations (F, J, 4) of joints, in their own frames, that take a hand from one pose to another.

    beyond: (J, 4), see HandToCorrect.posed.
    """
    of_model = rot.multiply(rot.conjugate(before.rotations), after.rotations)
    rotations: Floats = rot.multiply(rot.conjugate(beyond), rot.multiply(of_model, beyond))
    unmoved = (before.angles == after.angles).all(axis=1)
    return np.where(unmoved[:, None, None], rot.IDENTITY, rotations)
