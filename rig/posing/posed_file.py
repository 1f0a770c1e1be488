"""Open a rig with its hands in a named pose, for the shell command."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy

from ...errors import RigError
from ...hand.joints import Side
from ...hand.poses import named
from ...hand.proportions import adult, build
from ..armature_hands import find_hands
from ..blend_file import DEFAULT_RIG, RigChoice, open_rig
from ..camera_framing import add_surroundings
from ..keys.keyframes import check_keyable, new_action
from ..keys.take_scene import new_hand
from ..linked import editable
from .hand_poses import pose_curves
from .posable_hand import make_rig_hand
from .pose_assets import add_pose_assets
from .rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object

ASIDE = 0.15
"""m from the origin to each of two hands that Knuckle builds."""


@dataclass(frozen=True, slots=True)
class PosedFile:
    """The result of new_file_posed."""

    hands: tuple[tuple[str, Side], ...]
    """The armature's name and the side of each hand."""
    notes: tuple[str, ...] = ()
    """Notes for the user, in sentences."""


def new_file_posed(
    rig: str, choice: RigChoice, sides: Sequence[Side], name: str | None, *, all_assets: bool = False
) -> PosedFile:
    """Replace the open file by a rig's, with its hands in a named pose. Only for Blender in the background.

    The pose becomes a pose asset for each hand, and one action for each armature, of one frame, which the armature
    plays.

    Args:
        rig: see open_rig.
        choice: see open_rig.
        sides: the hands. It is an error only if the rig has none of them.
        name: the pose; None for no pose.
        all_assets: whether every named pose becomes an asset.

    Raises:
        RigError: as open_rig and make_rig_hand do.
    """
    found, notes = open_rig(rig, choice)
    scene = bpy.context.scene
    with editable(found, scene, bpy.context.view_layer) if found else nullcontext() as armature:
        if armature is not None:
            hands = {armature.name: posable_hands_of(armature, sides)}
        else:
            hands = {built.name: posable_hands_of(built, sides) for built in _built(sides)}
        for owner, rig_hands in hands.items():
            _pose(bpy.data.objects[owner], rig_hands, name, all_assets)
    if rig == DEFAULT_RIG:
        add_surroundings(scene)
    scene.frame_set(scene.frame_current)
    return PosedFile(
        tuple((owner, rig_hand.hand.side) for owner, rig_hands in hands.items() for rig_hand in rig_hands), notes
    )


def posable_hands_of(armature: "Object", sides: Sequence[Side]) -> list[RigHand]:
    """Return the hands of an armature that can be posed. Raises RigError if it has none of them."""
    check_keyable(armature)
    found = find_hands(armature, sides)
    rig_hands = [make_rig_hand(armature, hand) for hand in found if hand.side in sides]
    if not rig_hands:
        sides_found = " and a ".join(hand.side for hand in found)
        raise RigError(f"armature '{armature.name}' has no {sides[0]} hand, only a {sides_found} one")
    return rig_hands


def _built(sides: Sequence[Side]) -> "list[Object]":
    built = []
    for side in sides:
        measures = adult(side)
        armature, _ = new_hand(measures, build(measures), bpy.context.scene.collection)
        if len(sides) > 1:
            armature.location.x = ASIDE if side == "right" else -ASIDE
        built.append(armature)
    bpy.context.view_layer.objects.active = built[-1]
    bpy.context.view_layer.update()
    return built


def _pose(armature: "Object", rig_hands: Sequence[RigHand], name: str | None, all_assets: bool) -> None:
    if all_assets:
        add_pose_assets(armature, rig_hands)
    elif name is not None:
        add_pose_assets(armature, rig_hands, [name])
    if name is not None:
        curves = [curve for hand in rig_hands for curve in pose_curves(armature, hand, name)]
        new_action(armature, curves, named(name).label)
