"""What a person should know of a take that goes onto their armature, each in a sentence."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..hand.joints import DIGITS, digit_of
from ..pipeline import Take
from ..retarget import FINGERS, is_mitten
from .detect import FoundHand, find_hands
from .take_result import RESULT

if TYPE_CHECKING:
    from bpy.types import Object


def keying_notes(armature: "Object", take: Take) -> tuple[str, ...]:
    """What is not keyed, what was ambiguous and what is not played any more; before the take is keyed.

    Raises RigError as find_hands does.
    """
    found = {hand.side: hand for hand in find_hands(armature)}
    notes: list[str] = []
    for solved in take.hands:
        if solved.side in found:
            notes += _of_hand(found[solved.side])
        else:
            notes.append(f"the rig has no {solved.side} hand: it was solved and is not keyed")
    animation = armature.animation_data
    played = animation.action if animation else None
    if played is not None and played.get(RESULT) is None:
        notes.append(
            f"the armature played its action '{played.name}' until now: it keeps its keys, push it down to the NLA to "
            "play it together with the take"
        )
    return tuple(notes)


def _of_hand(found: FoundHand) -> Iterator[str]:
    have = {digit_of(joint) for joint in found.bones}
    stood_for: tuple[str, ...] = ()
    if is_mitten({digit for digit in have if digit}):
        stood_for = FINGERS
        yield f"the rig's {found.side} hand has one finger for all, as a mitten has: it follows the mean of the four"
    lacking = [digit for digit in DIGITS if digit not in have and digit not in stood_for]
    missing = [digit.replace("pinky", "little").replace("-", " ") for digit in lacking]
    if missing:
        yield f"the rig's {found.side} hand has no {' and no '.join(missing)}: solved, and not keyed"
    yield from (f"the rig's {found.side} hand: {doubt}" for doubt in found.doubts)
