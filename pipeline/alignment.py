"""Place the performer at a character: the transform of the capture that brings its hands to the character's."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..errors import MarkerMapError, RecipeError, RigError
from ..hand import rotations as rot
from ..hand.joints import Side
from ..hand.similarity import factor_and_rotation
from .capture_transform import CaptureTransform, transform_of
from .captured_forearm import elbow_columns, performer_side
from .recipe import Recipe
from .rig_constraints import Frames, Rig
from .take import SolvedHand

Floats = NDArray[np.float64]

ROTATION_LEVER_M = 0.1
"""m, distance from the wrist of the points by which rotations are compared with translations."""


def fit_alignment(captured: Mapping[Side, Floats], character: Mapping[Side, Floats]) -> Floats:
    """Return the rigid transform (4, 4) from frames of a capture to frames of a character, by side.

    It is exact for one hand, and the least-squares fit for two.
    """
    corners = np.concatenate([np.zeros((1, 3)), ROTATION_LEVER_M * np.eye(3)])
    sides = [side for side in captured if side in character]
    captured_points, character_points = (
        np.concatenate([corners @ frames[side][:3, :3].T + frames[side][:3, 3] for side in sides])
        for frames in (captured, character)
    )
    return rot.fit_rigid(captured_points, character_points, np.ones(len(captured_points)))


def check_align(recipe: Recipe, sides: Sequence[Side], rig: Rig | None) -> Rig:
    """Return the rig to which a capture's hands can be aligned; raises the errors of `align` before hands are solved.

    sides: the sides of the rig's hands that are driven.
    """
    if rig is None:
        raise RecipeError(
            f"align is '{recipe.align}' and there is no character to align to: choose a rig, or leave align off"
        )
    if not rig.sides_to_align(recipe.align, recipe.align_points, sides):
        raise RigError(
            f"the rig has no {' and no '.join(sides)} hand to align to: choose that hand, mirror the take, or "
            "choose another armature"
        )
    return rig


def align(recipe: Recipe, hands: Sequence[SolvedHand], markers: Markers, rig: Rig | None) -> CaptureTransform:
    """Return the transform of a capture that brings its hands to a rig's hands in their first frame, by the recipe's
    `align`.

    hands: solved where they were recorded; the recipe's scale is kept. Raises RecipeError without a rig, RigError if
    the rig lacks the hands or the arms to align by, and MarkerMapError if no elbow was captured.
    """
    rig = check_align(recipe, [hand.side for hand in hands], rig)
    scaled = CaptureTransform(scale=recipe.transform.scale).matrix()
    captured = captured_frames(recipe, hands, markers, scaled)
    character = rig.frames_to_align(recipe.align, recipe.align_points, hands)
    return transform_of(fit_alignment(captured, character) @ scaled, "the alignment")


def captured_frames(recipe: Recipe, hands: Sequence[SolvedHand], markers: Markers, matrix: Floats) -> Frames:
    """Return the frames of a capture to align with the character: wrists, or forearms at the wrists.

    Each is (4, 4) in the first frame in which its hand is seen, of a capture moved by a similarity `matrix` (4, 4).
    Raises MarkerMapError as _elbow does.
    """
    factor, rotation = factor_and_rotation(matrix)
    frames: Frames = {}
    for hand in hands:
        frame = np.array(hand.pose.root[first_seen(hand)])
        if recipe.align == "forearms":
            frame = forearm_frame(_elbow(recipe, markers, hand), frame)
        frame[:3, :3], frame[:3, 3] = rotation @ frame[:3, :3], factor * rotation @ frame[:3, 3] + matrix[:3, 3]
        frames[hand.side] = frame
    return frames


def forearm_frame(elbow: Floats, wrist: Floats) -> Floats:
    """Return a frame (4, 4) at the wrist with Y along the forearm and Z nearest to the back of the hand.

    elbow: (3,). wrist: T_scene_wrist (4, 4).
    """
    return pointing(wrist, wrist[:3, 3], wrist[:3, 3] - elbow)


def pointing(wrist: Floats, position: Floats, direction: Floats) -> Floats:
    """Return a frame (4, 4) at `position` (3,) with Y along `direction` (3,) and Z nearest to the back of the hand."""
    frame = np.array(wrist)
    frame[:3, :3], frame[:3, 3] = rot.frame_from_yz(direction, wrist[:3, 2]), position
    return frame


def first_seen(hand: SolvedHand) -> int:
    """Return the first frame in which a hand's wrist is seen; 0 if it never is."""
    return int((~hand.predicted[:, 0]).argmax())


def _elbow(recipe: Recipe, markers: Markers, hand: SolvedHand) -> Floats:
    """Return the recorded position (3,) of the elbow in the first frame of a hand, mirrored if the recipe says so.

    Raises MarkerMapError if the capture has no marker there, or it is not seen.
    """
    side, signs = performer_side(recipe, hand)
    for column in elbow_columns(markers, hand, side):
        point = markers.positions[first_seen(hand), column]
        if np.isfinite(point).all():
            elbow: Floats = signs * point
            return elbow
    raise MarkerMapError(
        f"{markers.source}: no marker at the {side} elbow is seen, expected one whose label says elbow or forearm: "
        "align by another method"
    )
