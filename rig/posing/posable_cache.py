"""A cache of RigHands of armatures, as making one takes too long while drawing and dragging."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...errors import KnuckleError, RigError
from ...hand.joints import Side
from ...hand.value_equality import hashable_content
from ...posing.sliders import ARCH
from .. import detection_cache
from ..armature_hands import FoundHand
from ..detection_cache import DetectedHands
from ..limits.read_limits import read_limits
from .following import HandArm, hand_arm_of
from .posable_hand import make_rig_hand
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object


CACHE_SIZE = 32
"""Maximum number of cached hands. Those used least recently are dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    found: FoundHand
    dependencies: Hashable
    """Everything that the answer depends on besides the detected hand."""
    answer: RigHand | str
    """The hand, or a sentence that says why it cannot be posed."""


_cached: OrderedDict[int, _Entry] = OrderedDict()
"""Entries by the identity of the detected hand."""


def posable_hand(armature: "Object", side: Side, known: DetectedHands | None = None) -> RigHand:
    """Return the hand of a side with all joints that it can move, including metacarpals.

    known: the armature's present detection. Raises RigError if it has no hand that can be posed.
    """
    known = known or detection_cache.detected(armature)
    found = detection_cache.usable_hand(armature, side, known)
    dependencies, entry = tuple(_depends_on(armature, found)), _cached.get(id(found))
    if entry is None or entry.found is not found or entry.dependencies != dependencies:
        entry = _cached[id(found)] = _Entry(found, dependencies, _build(armature, found))
    _cached.move_to_end(id(found))
    while len(_cached) > CACHE_SIZE:
        _cached.popitem(last=False)
    if isinstance(entry.answer, str):
        raise RigError(entry.answer)
    return entry.answer


def forget() -> None:
    """Empty the cache."""
    _cached.clear()


def posable_hand_arm(armature: "Object", side: Side, known: DetectedHands | None = None) -> HandArm:
    """Return the same hand with the arm that carries it. Raises RigError as posable_hand does."""
    known = known or detection_cache.detected(armature)
    rig_hand = posable_hand(armature, side, known)
    return hand_arm_of(armature, known.hands[side], rig_hand=rig_hand)


def _build(armature: "Object", found: FoundHand) -> RigHand | str:
    try:
        return make_rig_hand(armature, found, further=ARCH)
    except KnuckleError as error:
        return str(error)


def _depends_on(armature: "Object", found: FoundHand) -> Iterator[Hashable]:
    """Yield the dependencies of a hand besides its detection: the armature object, its size, and its bones' limits."""
    # The same armature is another object in another file, or when its file is opened again.
    yield armature.session_uid
    world = np.array(armature.matrix_world)[:3, :3]
    yield float(f"{np.trace(world.T @ world):.4g}")
    for name, limits in read_limits(armature, found.bones.values()).items():
        yield name, hashable_content(limits.parts)
