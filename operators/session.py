"""All state that outlives an operator while the extension is on, in one object.

Draw handlers, timers, and the callbacks of properties have no object of their own, and Blender drops an operator that
has ended. registration.py clears the session when the extension is switched off.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..hand.joints import Side
from ..hand.marker_assignment import MarkerAssignment
from ..hand.poses import NamedPose
from ..pipeline.kept_solve import SolvedCapture
from ..posing.algebra_shapes.shapes import Shape
from ..posing.sliders import Slider
from ..rig.data_reference import DataReference
from ..rig.detection_cache import DetectedHands
from ..rig.keys.take_heat import HeatCache
from ..rig.posing.algebra import TraceCache
from ..rig.posing.channel_diff import Channels
from ..rig.posing.pin_compensation import PinnedHand
from ..rig.posing.rig_hand import HandState
from .auto_key_undo import KeysBefore
from .live_loop import EndedTake, LiveRun
from .pin_properties import PinValues

Floats = NDArray[np.float64]

MOUSE_JITTER = 3
"""Pixels by which the mouse may move between two clicks at the same position."""


@dataclass(slots=True, eq=False)
class LiveState:
    """The device that is followed. Its socket and thread are not Blender's data, so undo leaves them alone."""

    run: LiveRun | None = None
    """The only run; None if no device is followed."""
    drawn_at: float = 0.0
    """s on time.monotonic's clock, when the panel was drawn last."""
    problem: str = ""
    """A sentence why the last run ended without being stopped."""
    device_transforms: dict[str, dict[str, Floats]] = field(default_factory=dict)
    """Device -> LiveRun.device_transforms: performers who are followed again in this file stay where they were."""
    unkeyed: EndedTake | None = None
    """The take that was recorded when a file was opened: keyed if opening fails."""


@dataclass(frozen=True, slots=True, eq=False)
class DragTargets:
    """The targets of the drag's current step, for the algebra overlay."""

    armature: str
    """The armature object's name."""
    side: str
    tips: Mapping[str, Floats]
    """Digit -> (3,) m in the world, the target of its tip."""


@dataclass(frozen=True, slots=True)
class PickedTip:
    """The fingertip picked last among several under the mouse; the next press picks the one after it."""

    mouse: tuple[int, int]
    """Position of the mouse in its region, pixels."""
    tips: tuple[tuple[str, str, str], ...]
    """Armature object's name, side and joint, in the order in which they are picked."""
    picked: int
    """Index of the picked fingertip."""

    def next(self, mouse: tuple[int, int], tips: tuple[tuple[str, str, str], ...]) -> "PickedTip":
        """Return the next fingertip, or the first one if the mouse or the fingertips have moved."""
        is_same_spot = max(abs(new - old) for new, old in zip(mouse, self.mouse, strict=True)) <= MOUSE_JITTER
        if not is_same_spot or set(tips) != set(self.tips):
            return PickedTip(mouse, tips, 0)
        return PickedTip(self.mouse, self.tips, (self.picked + 1) % len(self.tips))


@dataclass(frozen=True, slots=True)
class PickedBone:
    """The bone under the eyedropper, for the axes overlay."""

    armature: str
    """The armature object's name."""
    bone: str
    """The bone's name; empty where there is no bone under the mouse."""


@dataclass(slots=True, eq=False)
class AssigningMarkers:
    """The markers that are being assigned by clicks, for the picture of the hand."""

    markers: str
    """The markers object's name."""
    hands: dict[Side, MarkerAssignment]
    side: Side
    """The hand whose markers are clicked now."""
    hovered: str = ""
    """The label under the mouse; empty where there is none."""

    @property
    def hand(self) -> MarkerAssignment:
        """The assignment of the hand whose markers are clicked now."""
        return self.hands[self.side]


@dataclass(frozen=True, slots=True, eq=False)
class SliderDrag:
    """A slider that is dragged, and the state in which the drag began: each value is applied to that state."""

    slider: Slider
    start: HandState
    pinned: PinnedHand | None
    """The hand with its pins, where it has any."""
    start_value: float
    """The slider's value, in 32 bits as Blender has it."""
    channels: dict[str, Channels]
    """Bone -> its channels before the drag."""
    pins: PinValues
    keys: KeysBefore | None
    """None without auto-keying."""
    fingerprint: Hashable = None
    """Fingerprint of the hand after the last value; if it has changed, a new drag begins."""


@dataclass(frozen=True, slots=True, eq=False)
class SliderValues:
    """The values that sliders show, until something changes the pose."""

    hand: tuple[str, Side, bool]
    """Armature, side and DIP lock."""
    detected: DetectedHands
    values: Mapping[Slider, float]


@dataclass(slots=True, eq=False)
class Session:
    """The only object of the extension that operators, panels and handlers change."""

    live: LiveState = field(default_factory=LiveState)
    solved: SolvedCapture | None = None
    """Results of the last solve, so that a range of the take can be solved again on its own. May be discarded at any
    time."""
    drag_targets: DragTargets | None = None
    picked_tip: PickedTip | None = None
    """May be forgotten at any time: the nearest fingertip is picked first again."""
    picked_bone: PickedBone | None = None
    assigning_markers: AssigningMarkers | None = None
    slider_drag: SliderDrag | None = None
    """May be discarded at any time, like the following fields: the next drag starts afresh."""
    slider_values: SliderValues | None = None
    algebra_shown: bool = False
    """Whether the algebra overlay is on, in all files until Blender is closed."""
    draw_algebra: Callable[[bool], None] = lambda _on: None
    """Function that switches the drawing of the algebra overlay on and off."""
    algebra: TraceCache = field(default_factory=TraceCache)
    """The shapes that the algebra overlay drew last."""
    heat: HeatCache = field(default_factory=HeatCache)
    """The heat strips that were drawn last."""
    algebra_names: list[tuple[Shape, Floats]] = field(default_factory=list)
    """The names and positions of those shapes, to be drawn in the same view right after."""
    previews: Any = None
    """Blender's collection of the pictures of poses."""
    pose_icons: dict[str, int] = field(default_factory=dict)
    """Pose -> its icon; 0 for one that is read after drawing."""
    poses_to_show: list[NamedPose] = field(default_factory=list)
    """Poses whose pictures are read after drawing."""
    draw_handlers: dict[str, list[Any]] = field(default_factory=dict)
    """Overlay -> Blender's handles of its draw functions."""
    armatures_to_detect: set[DataReference] = field(default_factory=set)
    """Armatures whose hands are detected after drawing."""
    command: Any = None
    """Blender's handle of the shell command."""

    def clear(self) -> None:
        """Reset all fields."""
        fresh = Session()
        for entry in fields(self):
            setattr(self, entry.name, getattr(fresh, entry.name))


SESSION = Session()
