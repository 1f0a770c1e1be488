"""Properties of key reduction, for the scene and the operator."""

from math import radians
from typing import Any

from bpy.props import BoolProperty, FloatProperty

from ..pipeline.recipe import MAX_REDUCE_ANGLE, MAX_REDUCE_DISTANCE, MIN_REDUCE_ANGLE, MIN_REDUCE_DISTANCE, Recipe
from ..rig.keys.reduction.keyed_hand import Tolerance
from ..rig.keys.reduction.reduce_hand import Reduction
from .setting_properties import UNITS, plain

_DEFAULTS = Recipe("")
_FACTOR = UNITS["m"].factor


def reduction_distance_property() -> Any:
    """Make the property of how far fingertips may move, in mm."""
    return FloatProperty(
        name="Distance",
        description="Largest distance by which reducing keys may move a fingertip on any frame",
        subtype="DISTANCE_CAMERA",
        default=_FACTOR * _DEFAULTS.reduce_distance,
        min=_FACTOR * MIN_REDUCE_DISTANCE,
        max=_FACTOR * MAX_REDUCE_DISTANCE,
        soft_max=20.0,
        precision=2,
        options=set(),
    )


def reduction_angle_property() -> Any:
    """Make the property for the maximum rotation of joints by reduction."""
    return FloatProperty(
        name="Angle",
        description="Largest angle by which reducing keys may rotate a joint on any frame",
        subtype="ANGLE",
        default=radians(_DEFAULTS.reduce_angle),
        min=radians(MIN_REDUCE_ANGLE),
        max=radians(MAX_REDUCE_ANGLE),
        soft_max=radians(10.0),
        options=set(),
    )


def reduction_shared_property() -> Any:
    """Make the property that keys bones on shared frames."""
    return BoolProperty(
        name="Shared Frames",
        description="Key all bones of a digit on each of its frames, so that each key is a pose of the whole digit. "
        "Otherwise each bone has only the keys that it needs, on some of these frames",
        default=_DEFAULTS.reduce_shared,
        options=set(),
    )


def reduction_of(distance: float, angle: float, *, shared: bool) -> Reduction:
    """Return the reduction for values of these properties."""
    return Reduction(Tolerance(plain(distance) / _FACTOR, angle), shared)
