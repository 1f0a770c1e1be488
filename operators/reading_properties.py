"""Properties for reading a capture's file, shared by the sidebar and the import dialog."""

from math import degrees as degrees_of
from math import radians
from typing import Any

from bpy.props import EnumProperty, FloatProperty, StringProperty

from ..capture.conventions import METRES, UPS
from ..capture.timestamps import MAX_RATE_HZ
from ..hand.camera.picture_landmarks import MAX_ANGLE_OF_VIEW, MIN_ANGLE_OF_VIEW
from ..hand.proportions import MIN_LENGTH
from ..pipeline.camera_hands import ANGLE_OF_VIEW
from .setting_choices import LANDMARKS_ITEMS
from .setting_properties import UNITS, plain

UNIT_NAMES = {"m": "meters", "dm": "decimeters", "cm": "centimeters", "mm": "millimeters", "inch": "inches"}
CAMERA_PROPERTIES = ("landmarks", "angle_of_view", "hand_length")
"""Properties for reading a camera's landmarks."""


def unit_property() -> Any:
    """Make the property that overrides a file's unit of length."""
    return EnumProperty(
        name="Unit",
        description="Unit of length of the file, if the file states none or the wrong one",
        items=[("auto", "Auto", "The unit that the file states, otherwise guessed from the size of its content")]
        + [(unit, unit, f"The file is in {UNIT_NAMES[unit]}, whatever it states") for unit in METRES],
        options=set(),
    )


def up_property() -> Any:
    """Make the property that overrides a file's up axis."""
    return EnumProperty(
        name="Up Axis",
        description="Which axis of the file points up",
        items=[("auto", "Auto", "The axis that the file states, otherwise the usual one of its format")]
        + [(axis, axis.upper(), f"{axis.upper()} points up in the file") for axis in UPS],
        options=set(),
    )


def animation_property() -> Any:
    """Make the property that chooses an animation of a file."""
    return StringProperty(
        name="Animation",
        description="Animation to read from a file that holds several. If empty, the one that Blender plays",
        options=set(),
    )


def rate_property() -> Any:
    """Make the property that overrides a file's times; 0 overrides nothing."""
    return FloatProperty(
        name="Capture Rate",
        description="Frames per second of the capture, for files without times or with wrong ones. 0 uses the file's",
        default=0.0,
        min=0.0,
        max=MAX_RATE_HZ,
        precision=2,
        options=set(),
    )


def landmarks_property() -> Any:
    """Make the property that chooses which of a camera's landmarks are used."""
    return EnumProperty(
        name="Camera Landmarks",
        description="Use of the landmarks of a hand in front of a camera",
        items=LANDMARKS_ITEMS,
        options=set(),
    )


def angle_of_view_property() -> Any:
    """Make the property of the camera's angle of view; 0 assumes one."""
    return FloatProperty(
        name="Angle of View",
        description=f"Angle of view of the camera along the picture's longer side. 0 assumes {ANGLE_OF_VIEW:g}°",
        subtype="ANGLE",
        default=0.0,
        min=0.0,
        max=radians(MAX_ANGLE_OF_VIEW),
        options=set(),
    )


def hand_length_property() -> Any:
    """Make the property of the length of the hand before the camera, in mm; 0 assumes an adult's."""
    scale = UNITS["m"]
    return FloatProperty(
        name="Hand Length",
        description="Length of the hand in the picture, from the wrist to the tip of the straight middle finger. "
        "0 assumes an adult's",
        subtype="DISTANCE_CAMERA",
        default=0.0,
        min=0.0,
        max=scale.factor,
        precision=1,
        options=set(),
    )


def camera_reading(landmarks: str, angle_of_view: float, hand_length: float) -> dict[str, Any]:
    """Return the fields of a recipe for values of these properties; values near zero are off.

    angle_of_view: rad. hand_length: mm.
    """
    degrees, metres = plain(degrees_of(angle_of_view)), plain(hand_length) / UNITS["m"].factor
    return {
        "landmarks": landmarks,
        "angle_of_view": degrees if degrees >= MIN_ANGLE_OF_VIEW else None,
        "hand_length": metres if metres >= MIN_LENGTH else None,
    }
