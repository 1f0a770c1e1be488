"""A cache of the hands detected on armatures. Detection is too slow to be repeated whenever a panel is drawn.

The key contains all that detection depends on (names, rest positions, active constraints, mapping) instead of a
reference to the armature, so entries stay valid after undo and in other files, and no Blender data is kept alive.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ..errors import RigError
from ..hand import proportions
from ..hand.joints import SIDES, Side
from .armature_data import constraint_states
from .armature_hands import FoundHand, hands_and_problems
from .binding import RigBinding
from .bound_hand import bound_hand
from .mapping import PROPERTIES, check_whole, saved_text
from .mapping_corrections import mapping_to_correct, user_mapping

if TYPE_CHECKING:
    from bpy.types import Object

CACHE_SIZE = 16
"""Maximum number of armatures whose hands are kept; the least recently used ones are dropped."""
STRETCH_TOLERANCE = 0.05
"""Relative change of an armature's proportions through its world matrix that needs no new detection. Without it, an
animated non-uniform scale would need detection in every frame."""


@dataclass(frozen=True, slots=True)
class DetectedHands:
    """The hands of an armature, or the reasons why they cannot be used."""

    hands: Mapping[Side, FoundHand] = field(default_factory=dict)
    """The hands that were detected or picked. A hand with a problem has the bones picked so far."""
    bindings: Mapping[Side, RigBinding] = field(default_factory=dict)
    """Bindings of a mean adult's hand to each hand."""
    problem: str = ""
    """A sentence that says why neither hand can be keyed; empty if there is no such reason."""
    problems: Mapping[Side, str] = field(default_factory=dict)
    """Side -> a sentence that says why the hand on that side cannot be keyed."""
    refused: str = ""
    """A sentence that says why the last change was refused; shown until hands are detected again."""

    @property
    def usable(self) -> tuple[Side, ...]:
        """Sides of the hands that can be keyed, left before right."""
        return tuple(side for side in SIDES if side in self.hands and not self.problem_of(side))

    def problem_of(self, side: Side) -> str:
        """Return a sentence that says why the hand of a side cannot be keyed; empty if it can."""
        return self.problem or self.problems.get(side, "")


_cache: OrderedDict[Hashable, DetectedHands] = OrderedDict()


def cached(armature: "Object") -> DetectedHands | None:
    """Return the cached hands of an armature in its current state; None if they have not been detected. Fast."""
    key = _cache_key(armature)
    if key not in _cache:
        return None
    _cache.move_to_end(key)
    return _cache[key]


def detected(armature: "Object") -> DetectedHands:
    """Return the hands of an armature in its current state; detect them if they are not cached."""
    return cached(armature) or detect(armature)


def usable_hand(armature: "Object", side: Side, known: DetectedHands | None = None) -> FoundHand:
    """Return the hand of a side.

    known: the armature's hands in its current state, if the caller has them. Raises RigError if it cannot be posed.
    """
    known = known or detected(armature)
    if known.problem_of(side):
        raise RigError(known.problem_of(side))
    if side not in known.hands:
        raise RigError(
            f"armature '{armature.name}' has no {side} hand, also select the armature that has it or pick its bones"
        )
    return known.hands[side]


def detect(armature: "Object") -> DetectedHands:
    """Detect the hands of an armature, whether cached or not, store and return them."""
    return store(armature, _detected_hands(armature))


def store(armature: "Object", hands: DetectedHands) -> DetectedHands:
    """Store and return the hands of an armature in its current state."""
    key = _cache_key(armature)
    _cache[key] = hands
    _cache.move_to_end(key)
    while len(_cache) > CACHE_SIZE:
        _cache.popitem(last=False)
    return hands


def with_curl_angles(
    armature: "Object", known: DetectedHands, side: Side, curl_angles: Mapping[str, float]
) -> DetectedHands:
    """Return an armature's hands with other curl planes of a corrected hand. This needs no new detection.

    Raises RigError for contradictory limits.
    """
    found = replace(known.hands[side], curl_angles=dict(curl_angles))
    bindings = {**known.bindings, side: _bound(armature, found)}
    return replace(known, hands={**known.hands, side: found}, bindings=bindings, refused="")


def clear() -> None:
    """Empty the cache, for instance after limits or locks have changed, which are not part of the key."""
    _cache.clear()


def _detected_hands(armature: "Object") -> DetectedHands:
    problem = ""
    hands: dict[Side, FoundHand] = {}
    problems: dict[Side, str] = {}
    try:
        hands, problems = hands_and_problems(armature)
    except RigError as error:
        problem = str(error)
    hands |= {side: partial for side in SIDES if side not in hands and (partial := _partial_hand(armature, side))}
    bindings: dict[Side, RigBinding] = {}
    for side, found in hands.items():
        try:
            check_whole(user_mapping(found))
            bindings[side] = _bound(armature, found)
        except RigError as error:
            problems.setdefault(side, str(error))
    return DetectedHands(hands, bindings, problem, problems)


def _bound(armature: "Object", found: FoundHand) -> RigBinding:
    # The performer may not be known yet; a mean hand is enough to find how digits curl.
    return bound_hand(armature, found, proportions.build(proportions.adult(found.side)))


def _partial_hand(armature: "Object", side: Side) -> FoundHand | None:
    """Return the bones that the user has picked so far, from a mapping that is incomplete or does not fit."""
    mapping = mapping_to_correct(armature, side, None)
    if not mapping.bones:
        return None
    return FoundHand(
        side,
        dict(mapping.bones),
        confidence=dict.fromkeys(mapping.digits, 1.0),
        carrier=mapping.carrier,
        corrected=True,
        curl_angles=mapping.curl_angles,
    )


def _cache_key(armature: "Object") -> Hashable:
    """Return all that detection depends on, except limits and locks.

    That is the bones at rest and their parents, active constraints, the world matrix's stretch, and the user's mapping.
    """
    bones = armature.data.bones
    positions = np.empty((2, 3 * len(bones)), np.float32)
    bones.foreach_get("head_local", positions[0])
    bones.foreach_get("tail_local", positions[1])
    flags = np.empty((2, len(bones)), bool)
    bones.foreach_get("use_deform", flags[0])
    bones.foreach_get("use_inherit_rotation", flags[1])
    parents = tuple(parent.name if (parent := bone.parent) else "" for bone in bones)
    rest = (tuple(bones.keys()), parents, positions.tobytes(), flags.tobytes())
    mappings = tuple(str(saved_text(armature, side)) for side in PROPERTIES)
    return armature.name, rest, constraint_states(armature), _stretch(armature), mappings


def _stretch(armature: "Object") -> Hashable:
    """Return a key for the stretch and the mirroring of an armature by its world matrix.

    It does not depend on location, rotation and uniform scale.
    """
    world = np.array(armature.matrix_world, float)[:3, :3]
    metric = world.T @ world
    size = float(np.trace(metric))
    # Adding zero turns -0.0 into 0.0, which has different bytes.
    return (np.round(metric / size / STRETCH_TOLERANCE) + 0.0).tobytes() if size > 0 else b"", bool(
        np.linalg.det(world) < 0
    )
