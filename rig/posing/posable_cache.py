"""The hands of an armature taken hold of, remembered: taking hold anew takes too long for what is drawn and dragged."""

from collections.abc import Hashable, Iterator
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
from .following import Follower, follower
from .posable_hand import take
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object


def held_hand(armature: "Object", side: Side, known: DetectedHands | None = None) -> RigHand:
    """The hand of a side with all that it moves, metacarpals as well.

    known: what `known_hands` knows of the armature as it is now. Raises RigError where there is none that can be posed.
    """
    known = known or detection_cache.now(armature)
    found = detection_cache.found(armature, side, known)
    key = tuple(_depends_on(armature, known, side))
    remembered, answer = known.held.get(side, (None, ""))
    if remembered != key:
        answer = _taken(armature, found)
        known.held[side] = key, answer
    if isinstance(answer, str):
        raise RigError(answer)
    return answer


def held_follower(armature: "Object", side: Side, known: DetectedHands | None = None) -> Follower:
    """The same hand, and what carries it. Raises RigError as held_hand does."""
    known = known or detection_cache.now(armature)
    held = held_hand(armature, side, known)
    return follower(armature, known.hands[side], held=held)


def _taken(armature: "Object", found: FoundHand) -> RigHand | str:
    try:
        return take(armature, found, further=ARCH)
    except KnuckleError as error:
        return str(error)


def _depends_on(armature: "Object", known: DetectedHands, side: Side) -> Iterator[Hashable]:
    """All that a held hand depends on beside what known hands do: which object the armature is, how large it is, and
    its bones' limits.
    """
    # The same armature of another file, or opened again, is another object.
    yield armature.session_uid
    world = np.array(armature.matrix_world)[:3, :3]
    yield float(f"{np.trace(world.T @ world):.4g}")
    for name, limits in read_limits(armature, known.hands[side].bones.values()).items():
        yield name, hashable_content(limits.parts)
