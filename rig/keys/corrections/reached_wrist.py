"""Check that a palm is at its corrected position when Blender plays the keys: an arm in IK may be too short."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ..parent_motion import on_frames
from .hand_of_take import HandOfTake

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

MAX_DISTANCE = 1e-3
"""m, maximum distance of a hand from its corrected position."""
MAX_FRAMES = 5
"""Maximum number of frames of a palm's contact that are checked."""


@dataclass(frozen=True, slots=True, eq=False)
class LaidWrist:
    """Positions of a wrist while its palm rests."""

    frames: Floats
    """(N,) scene frames."""
    positions: Floats
    """(N, 3) m in the world."""


def unreached(armature: "Object", take_hand: HandOfTake, laid: Mapping[str, LaidWrist]) -> dict[str, str]:
    """Return, for the corrections that an armature plays now, id -> a sentence if the hand misses its palm's position.

    Only a hand that follows a control is checked: others are moved by their keys alone.
    """
    control, carrier = str(take_hand.hand.binding.bones[0]), take_hand.hand.binding.carrier
    if carrier in (None, control):
        return {}
    sentences = {one_id: _sentence(armature, take_hand, wrist, control) for one_id, wrist in laid.items()}
    return {one_id: sentence for one_id, sentence in sentences.items() if sentence}


def _sentence(armature: "Object", take_hand: HandOfTake, laid: LaidWrist, control: str) -> str:
    rows = np.unique(np.linspace(0, len(laid.frames) - 1, MAX_FRAMES).round().astype(int))
    carrier = str(take_hand.hand.binding.carrier)
    rest = np.array(armature.data.bones[carrier].matrix_local.inverted()) @ take_hand.hand.binding.rest[0]

    def read(_: float) -> Floats:
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        return np.asarray((np.array(posed.matrix_world) @ np.array(posed.pose.bones[carrier].matrix) @ rest)[:3, 3])

    gaps = np.linalg.norm(np.stack(on_frames(armature, laid.frames[rows], read)) - laid.positions[rows], axis=1)
    worst = int(gaps.argmax())
    if gaps[worst] <= MAX_DISTANCE:
        return ""
    return (
        f"on frame {laid.frames[rows[worst]]:g} the hand is {1e3 * gaps[worst]:.0f} mm from where its palm rests, as "
        f"it does not follow '{control}' that far: bring the object nearer, or let the arm stretch"
    )
