"""Settings of a calibration: properties of the scene, and the CalibrationChoices that they stand for."""

from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy.props import BoolProperty, EnumProperty, FloatVectorProperty, IntProperty, StringProperty

from ..hand.calibration.joint_radii import radii_by_size
from ..hand.joints import DIGITS
from ..hand.proportions import adult
from ..pipeline.calibration_choices import CalibrationChoices, FrameRange, MotionClip, unknown_per_bone
from ..pipeline.performer import MAX_RADIUS_MM

if TYPE_CHECKING:
    from bpy.types import Scene

DEFAULT_RADII_MM = [round(1000 * float(radius), 1) for radius in radii_by_size(adult("right")).ravel()]


class KnuckleCalibration(bpy.types.PropertyGroup):
    """The clips of a calibration, and joint radii measured with a caliper."""

    use_still: BoolProperty(
        name="Still Frames",
        description="Choose the frames in which the hand is flat and still; otherwise the 30 stillest are found",
        options=set(),
    )
    still_first: IntProperty(
        name="First Frame", description="First still frame of the capture", default=1, min=1, options=set()
    )
    still_last: IntProperty(
        name="Last Frame", description="Last still frame of the capture", default=30, min=1, options=set()
    )
    motion_capture: StringProperty(
        name="Free Motion",
        description="Capture in which the hand moves freely. If empty, this capture is used",
        subtype="FILE_PATH",
        options=set(),
    )
    use_motion: BoolProperty(name="Motion Frames", description="Use only some frames of the free motion", options=set())
    motion_first: IntProperty(
        name="First Frame", description="First frame of the motion", default=31, min=1, options=set()
    )
    motion_last: IntProperty(
        name="Last Frame", description="Last frame of the motion", default=250, min=1, options=set()
    )
    radii_from: EnumProperty(
        name="Joint Radii",
        description="Source of the joint radii, half the thickness of each joint",
        items=[
            (
                "ESTIMATE",
                "Estimate",
                "From how markers on the skin move apart as a joint bends; otherwise from the hand's size",
            ),
            ("TYPED", "Manual", "Half of the thickness measured with a caliper"),
        ],
        options=set(),
    )
    radii: FloatVectorProperty(
        name="Radii",
        description="Radii in mm of MCP, PIP and DIP of each digit, of CMC, MCP and IP of the thumb",
        size=3 * len(DIGITS),
        default=DEFAULT_RADII_MM,
        min=0.0,
        max=MAX_RADIUS_MM,
        precision=1,
        step=10,
        options=set(),
    )


def choices_of(scene: "Scene") -> CalibrationChoices:
    """Return the choices of a scene's settings. Raises RecipeError for frames that end before they begin."""
    settings = scene.knuckle_calibration
    typed_radii = np.array(settings.radii, float).reshape(len(DIGITS), 3) / 1000
    return CalibrationChoices(
        still=FrameRange(settings.still_first, settings.still_last) if settings.use_still else None,
        motions=(
            MotionClip(
                bpy.path.abspath(settings.motion_capture) if settings.motion_capture else None,
                FrameRange(settings.motion_first, settings.motion_last) if settings.use_motion else None,
            ),
        ),
        radii=np.round(typed_radii, 6) if settings.radii_from == "TYPED" else unknown_per_bone(),
    )


CLASSES = (KnuckleCalibration,)
PROPERTIES = ((bpy.types.Scene, "knuckle_calibration", bpy.props.PointerProperty(type=KnuckleCalibration)),)
