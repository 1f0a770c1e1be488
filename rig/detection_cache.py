"""What is known of an armature's hands, remembered for what is drawn all the time: looking for them takes too long.

An answer is remembered under all that it depends on (names, places, constraints in use, mapping), and not under the
armature itself: an undo or another file finds its own again, and nothing of Blender's is kept.
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
"""Answers that are remembered, the most recently used ones."""
STRETCH = 0.05
"""An armature that the world stretches by less than this share is bound as before: one whose size is animated unevenly
is looked at now and then, and not in each frame."""


@dataclass(frozen=True, slots=True)
class DetectedHands:
    """The hands of an armature, or why there are none."""

    hands: Mapping[Side, FoundHand] = field(default_factory=dict)
    """What was found or picked; of those with a problem, what was picked so far."""
    bindings: Mapping[Side, RigBinding] = field(default_factory=dict)
    """How a mean hand is bound to each."""
    problem: str = ""
    """Why no hand can be keyed, a sentence."""
    problems: Mapping[Side, str] = field(default_factory=dict)
    """Why a hand cannot be keyed, a sentence; the other one may be."""
    refused: str = ""
    """Why the last change of them was refused, a sentence; shown until they are detected again."""

    @property
    def usable(self) -> tuple[Side, ...]:
        """The sides of the hands that can be keyed, left before right."""
        return tuple(side for side in SIDES if side in self.hands and not self.why_not(side))

    def why_not(self, side: Side) -> str:
        """Why the hand of a side cannot be keyed, a sentence; empty where nothing is wrong with it."""
        return self.problem or self.problems.get(side, "")


_remembered: OrderedDict[Hashable, DetectedHands] = OrderedDict()


def known(armature: "Object") -> DetectedHands | None:
    """Return the cached hands of an armature in its present state; None if they have not been detected. Fast."""
    key = _depends_on(armature)
    if key not in _remembered:
        return None
    _remembered.move_to_end(key)
    return _remembered[key]


def now(armature: "Object") -> DetectedHands:
    """Return the hands of an armature in its present state; detect them if they are not cached."""
    return known(armature) or look(armature)


def found(armature: "Object", side: Side, known: DetectedHands | None = None) -> FoundHand:
    """The hand of a side; known: what is known of the armature as it is now.

    Raises RigError where there is none that can be posed.
    """
    known = known or now(armature)
    if known.why_not(side):
        raise RigError(known.why_not(side))
    if side not in known.hands:
        raise RigError(
            f"armature '{armature.name}' has no {side} hand, select the armature that has it as well or pick its bones"
        )
    return known.hands[side]


def look(armature: "Object") -> DetectedHands:
    """Finds the hands of an armature and remembers them."""
    return remember(armature, _looked(armature))


def remember(armature: "Object", answer: DetectedHands) -> DetectedHands:
    """Store the detected hands of an armature in its present state."""
    key = _depends_on(armature)
    _remembered[key] = answer
    _remembered.move_to_end(key)
    while len(_remembered) > CACHE_SIZE:
        _remembered.popitem(last=False)
    return answer


def with_curl_angles(
    armature: "Object", known: DetectedHands, side: Side, curl_angles: Mapping[str, float]
) -> DetectedHands:
    """What is known once the curl planes of a corrected hand are turned: no bone is found or lost by that.

    Raises RigError for limits that contradict themselves.
    """
    found = replace(known.hands[side], curl_angles=dict(curl_angles))
    bindings = {**known.bindings, side: _bound(armature, found)}
    return replace(known, hands={**known.hands, side: found}, bindings=bindings, refused="")


def forget() -> None:
    """Forget all detected hands: limits and locks, on which some results depend, may have changed."""
    _remembered.clear()


def _looked(armature: "Object") -> DetectedHands:
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
    # The performer may be unknown yet; a mean hand shows how a digit curls as well.
    return bound_hand(armature, found, proportions.build(proportions.adult(found.side)))


def _partial_hand(armature: "Object", side: Side) -> FoundHand | None:
    """What the person has picked so far, of a mapping that is not whole or does not fit."""
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


def _depends_on(armature: "Object") -> Hashable:
    """All that an answer depends on but limits and locks: the bones at rest and their parents, which constraints
    bring them elsewhere, how the world stretches them, what the person said.
    """
    bones = armature.data.bones
    positions = np.empty((2, 3 * len(bones)), np.float32)
    bones.foreach_get("head_local", positions[0])
    bones.foreach_get("tail_local", positions[1])
    flags = np.empty((2, len(bones)), bool)
    bones.foreach_get("use_deform", flags[0])
    bones.foreach_get("use_inherit_rotation", flags[1])
    hung = tuple(above.name if (above := bone.parent) else "" for bone in bones)
    rest = (tuple(bones.keys()), hung, positions.tobytes(), flags.tobytes())
    said = tuple(str(saved_text(armature, side)) for side in PROPERTIES)
    return armature.name, rest, constraint_states(armature), _stretch(armature), said


def _stretch(armature: "Object") -> Hashable:
    """The same wherever an armature is, however it is turned and whatever its size; another where it is mirrored."""
    world = np.array(armature.matrix_world, float)[:3, :3]
    metric = world.T @ world
    size = float(np.trace(metric))
    # Zero is added since -0.0 has other bytes than 0.0.
    return (np.round(metric / size / STRETCH) + 0.0).tobytes() if size > 0 else b"", bool(np.linalg.det(world) < 0)
