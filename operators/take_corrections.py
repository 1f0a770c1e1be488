"""The corrections of the shown take, for operators and the panel; the selected correction as properties."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import FloatProperty, IntProperty, PointerProperty, StringProperty

from ..errors import KnuckleError, RecipeError, RigError
from ..hand.generators import Steps, part_of
from ..hand.joints import Side
from ..pipeline.corrections.correction import Correction, TimeRange
from ..pipeline.corrections.correction_json import MAX_CORRECTIONS, MAX_TEXT
from ..rig.keys.corrections.changed_correction import write_change
from ..rig.keys.corrections.composing import Composed
from ..rig.keys.corrections.corrected_take import (
    check_correctable,
    composing_take,
    correct_take,
    corrections_of,
)
from ..rig.keys.corrections.object_motion import PlayedFrames
from ..rig.keys.corrections.single_user_take import make_take_single_user
from ..rig.keys.corrections.take_base import base_of
from ..rig.keys.corrections.take_clock import TakeClock, clock_of
from ..rig.keys.frame_times import LAST_FRAME
from ..rig.keys.take_scene import armatures_of_take
from .json_files import result_armature
from .setting_properties import NOT_ANIMATED, plain

if TYPE_CHECKING:
    from bpy.types import Action, Context, Object, Scene


@dataclass(frozen=True, slots=True, eq=False)
class ShownTake:
    """The take that the panel shows, its clock and its corrections."""

    armature: "Object"
    base: "Action"
    clock: TakeClock
    corrections: tuple[Correction, ...]
    scene: "Scene"

    @property
    def armatures(self) -> "list[Object]":
        """All armatures that play the take with a hand each, as new hands of both sides do; a copy has its own
        corrections."""
        return list(armatures_of_take(self.armature, self.scene))

    @property
    def frame(self) -> float:
        """The scene's current frame."""
        return float(self.scene.frame_current_final)

    def find(self, of_id: str) -> Correction | None:
        """Return the correction with an id."""
        return next((correction for correction in self.corrections if correction.id == of_id), None)

    def new_id(self) -> str:
        """Return an id that no correction has. Raises RigError if there are too many."""
        ids = {correction.id for correction in self.corrections}
        if len(ids) >= MAX_CORRECTIONS:
            raise RigError(f"the take has {len(ids)} corrections, expected at most {MAX_CORRECTIONS}: delete some")
        return next(name for number in range(1, MAX_CORRECTIONS + 1) if (name := f"c{number}") not in ids)

    @property
    def ends(self) -> tuple[int, int]:
        """The first and the last scene frame of the take."""
        first, last = (round(value) for value in self.base.curve_frame_range)
        return first, last

    def range(self, first: float, last: float, blend: float) -> TimeRange:
        """Return the time range of scene frames, with blends in frames.

        There is no blend at an end of the take, where it would only weaken the correction.
        """
        (start, end), (take_start, take_end) = self.clock.times([first, last]).tolist(), self.ends
        has_blends = first > take_start, last < take_end
        length = min(blend / self.clock.rate, (end - start) / max(sum(has_blends), 1))
        return TimeRange(start, end, length if has_blends[0] else 0.0, length if has_blends[1] else 0.0)

    def write_changed(self, before: Correction, after: Correction) -> None:
        """Replace a correction, and show the result: only the frames that it changes are composed again if that is
        sufficient."""
        corrections = tuple(after if correction is before else correction for correction in self.corrections)
        armatures = self.armatures
        for armature in armatures:
            make_take_single_user(armature)
        # As soon as one of them must be composed again, compose all.
        if not all(write_change(armature, corrections, before, self.scene) for armature in armatures):
            self.write(corrections)
        self.scene.frame_set(self.scene.frame_current, subframe=self.scene.frame_subframe)

    def composing(
        self, corrections: tuple[Correction, ...], played: Mapping[str, PlayedFrames]
    ) -> Steps[list[dict[Side, Composed]]]:
        """Compose the corrected action of each armature that plays the take, without changing anything.

        played: evaluated frames, by the armature's name. Raises KnuckleError; see composing_take.
        """
        armatures, composed = self.armatures, list[dict[Side, Composed]]()
        for number, armature in enumerate(armatures):
            work = composing_take(armature, corrections, self.scene, played.get(armature.name))
            composed.append((yield from part_of(number / len(armatures), (number + 1) / len(armatures), "", work)))
        return composed

    def write(
        self,
        corrections: tuple[Correction, ...],
        *,
        posed_at: float | None = None,
        composed: Sequence[Mapping[Side, Composed]] | None = None,
    ) -> tuple[str, ...]:
        """Apply corrections to the take, and show them; return notes. Raises KnuckleError; see correct_take.

        composed: the result of `composing` for them.
        """
        armatures = self.armatures
        for armature in armatures:
            check_correctable(armature)
            make_take_single_user(armature)
        notes = [
            note
            for armature, keys in zip(armatures, composed or [None] * len(armatures), strict=True)
            for note in correct_take(armature, corrections, self.scene, posed_at=posed_at, composed=keys)
        ]
        self.scene.frame_set(self.scene.frame_current, subframe=self.scene.frame_subframe)
        return tuple(dict.fromkeys(notes))


def shown_take(context: "Context") -> ShownTake | None:
    """Return the take that is shown, or None. Raises RecipeError if its corrections are damaged."""
    armature = result_armature(context)
    base = base_of(armature)
    if armature is None or base is None:
        return None
    return ShownTake(armature, base, clock_of(base, context.scene), corrections_of(armature), context.scene)


def required_take(context: "Context") -> ShownTake:
    """Return the take that is shown. Raises RigError if there is none."""
    take = shown_take(context)
    if take is None:
        raise RigError("there is no take to correct, solve a capture first")
    check_correctable(take.armature)
    return take


def has_take(operator: Any, context: "Context") -> bool:
    """Return whether there is a take that can be corrected. For `poll` methods."""
    if context.mode not in ("OBJECT", "POSE"):
        operator.poll_message_set("Takes are corrected in Object Mode and Pose Mode")
    elif base_of(result_armature(context)) is None:
        operator.poll_message_set("There is no take to correct, solve a capture")
    else:
        return True
    return False


def _selected(context: "Context") -> tuple[ShownTake, Correction] | None:
    with suppress(RecipeError):
        take = shown_take(context)
        correction = take.find(context.scene.knuckle_correction.selected) if take is not None else None
        if take is not None and correction is not None:
            return take, correction
    return None


Edit = Callable[[Correction, TakeClock, Any], Correction]


def _field(make: Any, read: Callable[[Correction, TakeClock], Any], edit: Edit, default: Any, **options: Any) -> Any:
    """Make a property that shows and changes the selected correction."""

    def get(_group: Any) -> Any:
        selection = _selected(bpy.context)
        return default if selection is None else read(selection[1], selection[0].clock)

    def put(_group: Any, value: Any) -> None:
        # A property cannot report errors: a locked correction or a take that cannot be changed keeps its value.
        selection = _selected(bpy.context)
        if selection is None or selection[1].locked:
            return
        take, correction = selection
        with suppress(KnuckleError):
            take.write_changed(correction, edit(correction, take.clock, value))

    return make(get=get, set=put, options=set(), **options)


def _with_range(correction: Correction, **ends: float) -> Correction:
    span = replace(correction.range, **ends)
    return replace(correction, range=replace(span, start=min(span.start, span.end), end=max(span.start, span.end)))


def _frame_field(end: str, name: str, description: str) -> Any:
    return _field(
        FloatProperty,
        lambda correction, clock: float(clock.frames(getattr(correction.range, end))),
        lambda correction, clock, value: _with_range(correction, **{end: float(clock.times(value))}),
        0.0,
        name=name,
        description=description,
        precision=1,
        step=100,
        min=-LAST_FRAME,
        max=LAST_FRAME,
    )


def _blend_field(blend: str, name: str, description: str) -> Any:
    return _field(
        FloatProperty,
        lambda correction, clock: getattr(correction.range, blend) * clock.rate,
        lambda correction, clock, value: replace(
            correction, range=replace(correction.range, **{blend: value / clock.rate})
        ),
        0.0,
        name=name,
        description=description,
        precision=1,
        step=100,
        min=0.0,
        max=10_000.0,
    )


def _factor(correction: Correction, clock: TakeClock) -> float:
    """Return the factor on the current frame."""
    if not correction.factor_keys:
        return correction.factor
    time = float(clock.times(bpy.context.scene.frame_current_final))
    return float(replace(correction, muted=False, range=TimeRange(time, time)).weights([time])[0])


def _with_factor(correction: Correction, clock: TakeClock, value: float) -> Correction:
    """Return a correction with another factor; if the factor has keys, it is keyed on the current frame."""
    if not correction.factor_keys:
        return replace(correction, factor=plain(value))
    return with_factor_key(correction, float(clock.times(bpy.context.scene.frame_current_final)), plain(value))


def with_factor_key(correction: Correction, time: float, factor: float) -> Correction:
    """Return a correction with a key of its factor at a time, s."""
    keys = {round(key_time, 6): value for key_time, value in correction.factor_keys} | {round(time, 6): factor}
    return replace(correction, factor_keys=tuple(sorted(keys.items())))


def _frame_count(name: str, description: str, default: int, soft_max: int) -> Any:
    return IntProperty(
        name=name,
        description=description,
        default=default,
        min=0,
        max=10_000,
        soft_max=soft_max,
        options=NOT_ANIMATED,  # type: ignore[arg-type]
    )


class KnuckleCorrection(bpy.types.PropertyGroup):
    """The selected correction of the take that is shown, and how new ones are made."""

    __annotations__ = {
        "selected": StringProperty(name="Correction", description="The correction that is shown", options=NOT_ANIMATED),  # type: ignore[arg-type]
        "reach": _frame_count(
            "Reach", "Frames before and after the current one that a new correction changes", 12, 100
        ),
        "blend": _frame_count(
            "Blend", "Frames at each end of its range over which a new one is blended in and out", 6, 50
        ),
        "name": _field(
            StringProperty,
            lambda correction, _clock: correction.name,
            lambda correction, _clock, value: replace(correction, name=value.strip()[:MAX_TEXT] or correction.name),
            "",
            name="Name",
            description="Name of the correction",
        ),
        "start": _frame_field("start", "First", "First frame that it changes"),
        "end": _frame_field("end", "Last", "Last frame that it changes"),
        "blend_in": _blend_field("blend_in", "Blend In", "Frames over which it is blended in, inside its range"),
        "blend_out": _blend_field("blend_out", "Blend Out", "Frames over which it is blended out, inside its range"),
        "factor": _field(
            FloatProperty,
            _factor,
            _with_factor,
            0.0,
            name="Factor",
            description="Influence of the correction; if it has keys, that on this frame",
            subtype="FACTOR",
            min=0.0,
            max=1.0,
        ),
    }


CLASSES = (KnuckleCorrection,)
PROPERTIES: tuple[tuple[Any, str, Any], ...] = (
    (bpy.types.Scene, "knuckle_correction", PointerProperty(type=KnuckleCorrection)),
)
