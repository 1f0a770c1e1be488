"""The hands of an armature that is read as a capture: which bone, or point of a bone, each joint is."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.joints import DIGIT_JOINTS, DIGITS, Side
from ...hand.proportions import adult
from ..armature_data import plain_bones
from ..armature_hands import FoundHand, find_hands
from ..binding import is_armature
from ..detection import detect

if TYPE_CHECKING:
    from bpy.types import Bone, Object

Floats = NDArray[np.float64]

SAME_AXIS_COSINE = np.cos(np.deg2rad(20.0))
"""Cosine; bones of a digit whose next joints are within 20 degrees of the same local axis point along that axis."""
TAIL_TOLERANCE = 0.1
"""A tail nearer to the next head than this share of the bone meets it."""


@dataclass(frozen=True, slots=True)
class SourceJoint:
    """A joint of a hand on a bone."""

    joint: str
    """WebXR's name."""
    bone: str
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """From the bone's head, in its rest frame and the armature's unit; of a tip that has no bone."""


@dataclass(frozen=True, slots=True)
class SourceHand:
    """A hand that is read."""

    side: Side
    joints: tuple[SourceJoint, ...]


def source_hands(armature: "Object", *, tails_known: bool) -> tuple[SourceHand, ...]:
    """Return the hands of an armature, left before right; at least one.

    tails_known: whether bones end where their tails are. Otherwise the lengths of last bones without a tip are a mean
    hand's. Raises RigError as `find_hands` does.
    """
    found = _found_hands(armature)
    return tuple(SourceHand(hand.side, tuple(_joints(armature, hand, tails_known))) for hand in found)


def _found_hands(armature: "Object") -> tuple[FoundHand, ...]:
    """Return the hands that could be keyed, else those whose bones follow constraints."""
    try:
        return find_hands(armature, ())
    except RigError:
        if not is_armature(armature) or not any(bone.constraints for bone in armature.pose.bones):
            raise
        free = tuple(replace(bone, driven=False, locked=False) for bone in plain_bones(armature))
        mirrored = bool(np.linalg.det(np.array(armature.matrix_world)[:3, :3]) < 0)
        hands = detect(free, f"armature '{armature.name}'", mirrored)
        return tuple(FoundHand(hand.side, dict(hand.bones), carrier=hand.carrier) for hand in hands)


def _joints(armature: "Object", hand: FoundHand, tails_known: bool) -> Iterator[SourceJoint]:
    for joint, bone in hand.bones.items():
        # A wrist's control need not be where the hand is.
        yield SourceJoint(joint, hand.carrier or bone if joint == "wrist" else bone)
    bones = armature.data.bones
    for digit in DIGITS:
        *others, tip = DIGIT_JOINTS[digit]
        chain = [bones[hand.bones[joint]] for joint in others if joint in hand.bones]
        if len(chain) > 1 and tip not in hand.bones:
            x, y, z = _tip_offset(digit, chain, tails_known).tolist()
            yield SourceJoint(tip, chain[-1].name, (x, y, z))


def _tip_offset(digit: str, chain: "list[Bone]", tails_known: bool) -> Floats:
    """Return where a digit's tip is, from the head of its last bone in that bone's rest frame.

    Digits (N bones, from the palm) keep a convention: the next joint is along the same local axis of each bone. Without
    one, the last bone continues straight on.
    """
    steps = [np.array(bone.matrix_local)[:3, :3].T @ _step(bone, after) for bone, after in _pairs(chain)]
    local = [step / max(float(np.linalg.norm(step)), 1e-12) for step in steps[-2:]]
    length = float(np.linalg.norm(steps[-1]))
    last = chain[-1]
    if local[0] @ local[-1] > SAME_AXIS_COSINE:
        direction = local[-1]
    else:
        direction = np.array(last.matrix_local)[:3, :3].T @ _step(chain[-2], last) / max(length, 1e-12)
    met = all(_step_to_tail(bone, after) < TAIL_TOLERANCE * length for bone, after in _pairs(chain[-3:]))
    tip: Floats = direction * (float(last.length) if tails_known and met else length * _last_share(digit))
    return tip


def _pairs(chain: "list[Bone]") -> "Iterator[tuple[Bone, Bone]]":
    return pairwise(chain)


def _step(bone: "Bone", after: "Bone") -> Floats:
    return np.array(after.head_local) - np.array(bone.head_local)


def _step_to_tail(bone: "Bone", after: "Bone") -> float:
    return float((bone.tail_local - after.head_local).length)


def _last_share(digit: str) -> float:
    """Return the length of a digit's last bone as a share of the one before, on a mean hand."""
    lengths = adult("right").phalanges[DIGITS.index(digit)]
    return float(lengths[2] / lengths[1])
