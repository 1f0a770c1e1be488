"""Camera landmarks become markers: a hand is fitted to each hand's landmarks in the picture."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..capture.conventions import to_z_up
from ..capture.marker_labels import unique
from ..capture.markers import Markers
from ..hand.camera.camera_fit import CameraHand, CameraSettings, fit_camera_hand
from ..hand.camera.hand_stretches import join_stretches
from ..hand.generators import Steps, part_of
from ..hand.joints import JOINTS
from ..hand.kinematics import joint_frames
from ..hand.proportions import adult
from .recipe import Recipe

Floats = NDArray[np.float64]

ANGLE_OF_VIEW = 60.0
"""Degrees across the picture's longer side, assumed for an unknown camera: most webcams and phones have 55 to 70."""
CAMERA_UP = "-y"
"""The axis of the camera's space that points up."""


def fit_camera_hands(recipe: Recipe, markers: Markers) -> Steps[Markers]:
    """Replace world landmarks by hands fitted in the picture, where the capture has landmarks in it.

    A recipe with `landmarks="world"` keeps the world landmarks. The markers are all joints of each hand, in metres
    about the camera, Z up. Frames without the hand are predicted and marked as such. Markers without pictures are
    returned unchanged.
    """
    if not markers.pictures:
        return markers
    if recipe.landmarks == "world":
        return replace(markers, pictures=())
    settings = camera_settings(recipe)
    followed = yield from part_of(0.0, 0.2, "", join_stretches(markers.pictures, markers.times, settings))
    hands: list[CameraHand] = []
    for number, followed_hand in enumerate(followed):
        start, end = (0.2 + 0.8 * count / len(followed) for count in (number, number + 1))
        fit = fit_camera_hand(followed_hand.landmarks, markers.times, settings, followed_hand.side)
        hands.append((yield from part_of(start, end, "", fit)))
    hands.sort(key=lambda hand: hand.side)
    names = unique(hand.side for hand in hands)
    found = np.concatenate([np.repeat(hand.found[:, None], len(JOINTS), axis=1) for hand in hands], axis=1)
    return replace(
        markers,
        names=tuple(f"{name}:{joint}" for name in names for joint in JOINTS),
        positions=np.concatenate([_positions(hand, camera_up(recipe)) for hand in hands], axis=1),
        predicted=~found,
        rotations=None,
        pictures=(),
        warnings=(*_notes(recipe, settings), *markers.warnings),
    )


def camera_settings(recipe: Recipe) -> CameraSettings:
    """Return the settings of the camera and the hand: the recipe's, or defaults."""
    return CameraSettings(
        ANGLE_OF_VIEW if recipe.angle_of_view is None else recipe.angle_of_view,
        adult("right").size if recipe.hand_length is None else recipe.hand_length,
    )


def camera_up(recipe: Recipe) -> str:
    """Return the axis of the camera's space that points up."""
    return CAMERA_UP if recipe.up == "auto" else recipe.up


def _positions(hand: CameraHand, up: str) -> Floats:
    """Return joint positions (F, 25, 3) m, Z up; NaN in unknown frames."""
    joints = joint_frames(hand.pose.hand, hand.pose)[..., :3, 3]
    return np.where(hand.known[:, None, None], to_z_up(joints, up), np.nan)


def _notes(recipe: Recipe, settings: CameraSettings) -> tuple[str, ...]:
    """Return a note about the camera and the hand length that were assumed."""
    view = f"a camera of {settings.angle_of_view:g} degrees" + (" (assumed)" if recipe.angle_of_view is None else "")
    length = f"a hand of {1000 * settings.length:.0f} mm" + (" (an adult's)" if recipe.hand_length is None else "")
    return (f"hands were fitted to the landmarks in the picture, for {view} and {length}",)
