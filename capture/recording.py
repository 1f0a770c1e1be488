"""A recording in its file's units and axes, and its conversion to Markers.

Every format is read into a Recording; units, axes, times and missing positions are then handled here for all of them.
"""

from dataclasses import dataclass

import numpy as np

from ..errors import CaptureError
from ..hand import rotations as rot
from ..hand.camera.picture_landmarks import PictureStretch
from ..hand.finite_points import finite_points
from .conventions import MAX_COORDINATE_M, METRES, guess_unit, standing_axis, to_z_up, unit_from
from .marker_labels import quoted
from .markers import Floats, Markers
from .timestamps import Timestamps, clean_timestamps


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """The content of a file, in its own units and axes. F frames, M markers."""

    format: str
    names: tuple[str, ...]
    """(M,) labels, unique."""
    positions: Floats
    """(F, M, 3) in the file's unit and axes, not finite where not seen."""
    rotations: Floats | None = None
    """(F, M, 4) unit wxyz in the file's axes, NaN where unknown; None if the format has none."""
    times: Floats | None = None
    """(F,) in s as in the file, possibly not in order; None if the file has none."""
    rate: float | None = None
    """Nominal rate in Hz; None if the file states none or an unreliable one."""
    unit: str | None = None
    """m, dm, cm, mm or inch; None if the file does not state it."""
    unit_text: str = ""
    """The unit as the file spells it; used if `unit` is None."""
    default_unit: str | None = None
    """Unit to assume if none is stated; None guesses it from the extent of the points."""
    up: str | None = None
    """The axis that points up, such as 'z' or '-y'; None if the file does not state it."""
    default_up: str = "z"
    """Axis to assume if none is stated, unless the recorded body stands along another axis."""
    up_is_defined: bool = False
    """Whether the format defines the axes; otherwise they are checked against the data."""
    timecode: str = ""
    """SMPTE timecode of the first frame, hh:mm:ss:ff; empty if there is none."""
    pictures: tuple[PictureStretch, ...] = ()
    """Image landmarks of hands, one entry for each range of frames; possibly of other hands than those in `names`."""
    warnings: tuple[str, ...] = ()


def to_markers(
    recording: Recording, source: str, unit: str = "auto", up: str = "auto", rate: float | None = None
) -> Markers:
    """Convert to metres, seconds and Z up; damaged positions become gaps, and frames with disordered times are dropped.

    Raises CaptureError if no valid position remains or the file's unit is unknown.

    unit, up: override those of the file unless they are 'auto'. rate: in Hz, overrides the file's times.
    """
    frames, count = recording.positions.shape[:2]
    expect_content(count, frames, source)
    converted = convert(recording, source, unit, up)
    if not np.isfinite(converted.positions[..., 0]).any():
        raise CaptureError(f"{source}: no marker has a position in any of the {frames} frames, expected at least one")
    rotations = converted.rotations
    times, stated_rate = (recording.times, recording.rate) if rate is None else (None, rate)
    clock: Timestamps = clean_timestamps(times, stated_rate, frames, source)
    return Markers(
        names=recording.names,
        times=clock.times,
        positions=np.ascontiguousarray(converted.positions[clock.frames]),
        source=source,
        rate=clock.rate,
        unit=converted.unit,
        format=recording.format,
        rotations=None if rotations is None else np.ascontiguousarray(rotations[clock.frames]),
        timecode=recording.timecode,
        pictures=tuple(hand.select(clock.frames) for hand in recording.pictures),
        warnings=recording.warnings + converted.notes + clock.warnings,
    )


def expect_content(markers: int, frames: int, source: str) -> None:
    """Raise CaptureError if a recording has no markers or no frames."""
    if not markers:
        raise CaptureError(f"{source}: no markers found, expected at least one")
    if not frames:
        raise CaptureError(f"{source}: no frames found, expected at least one")


@dataclass(frozen=True, slots=True, eq=False)
class ConvertedRecording:
    """A recording in metres and Z up. F frames, M markers."""

    positions: Floats
    """(F, M, 3) m, NaN where not seen."""
    rotations: Floats | None
    """(F, M, 4) unit wxyz"""
    unit: str
    up: str
    """The file's unit and up axis, stated or guessed."""
    notes: tuple[str, ...]
    """Sentences about guesses and damage."""


def convert(recording: Recording, source: str, unit: str = "auto", up: str = "auto") -> ConvertedRecording:
    """Convert to metres and Z up, as to_markers does. Raises CaptureError if the file's unit is unknown."""
    stated_unit = recording.unit or unit_from(recording.unit_text)
    if unit == "auto" and stated_unit is None and recording.unit_text.strip():
        raise CaptureError(
            f"{source}: the unit of length is {quoted(recording.unit_text)}, expected m, dm, cm, mm or inch, "
            "or a chosen unit"
        )
    positions, unit, unit_notes = _to_metres(recording, unit if unit != "auto" else stated_unit)
    up, up_notes = _up(recording, positions, up)
    rotations = (
        None
        if recording.rotations is None
        else rot.multiply(rot.from_matrix(to_z_up(np.eye(3), up).T), recording.rotations)
    )
    return ConvertedRecording(to_z_up(positions, up), rotations, unit, up, unit_notes + up_notes)


def _to_metres(recording: Recording, unit: str | None) -> tuple[Floats, str, tuple[str, ...]]:
    """Return positions (F, M, 3) in m, NaN where a coordinate is missing or damaged; the unit; and notes."""
    notes: tuple[str, ...] = ()
    raw = recording.positions
    finite = finite_points(raw)
    if unit is None:
        unit = recording.default_unit or guess_unit(raw, finite)
        notes = (f"no unit of length in the file: taken as {unit} from the size of what was recorded",)
    plausible = np.where(np.abs(raw) < MAX_COORDINATE_M / METRES[unit], raw, np.nan)
    valid = finite_points(plausible)
    distant = int((finite & ~valid).sum())
    if distant:
        notes += (f"{distant} positions more than {MAX_COORDINATE_M / 1000:.0f} km away were taken as not seen",)
    return np.where(valid[..., None], plausible, np.nan) * METRES[unit], unit, notes


def _up(recording: Recording, positions: Floats, up: str) -> tuple[str, tuple[str, ...]]:
    """Return the up axis, and warnings about guesses."""
    if up != "auto":
        return up, ()
    stated_up = recording.up or recording.default_up
    if recording.up_is_defined:
        return stated_up, ()
    measured_up = standing_axis(positions)
    if measured_up is None and recording.up is None and recording.default_up != "z":
        note = f"no up axis in the file: taken as {stated_up.upper()}, the format's convention"
        return stated_up, (note,)
    if measured_up is None or measured_up == stated_up:
        return stated_up, ()
    statement = (
        f"the file says {recording.up.upper()}" if recording.up else f"the format's convention is {stated_up.upper()}"
    )
    note = f"up is taken as {measured_up.upper()}, along which the recorded body stands, though {statement}"
    return measured_up, (note,)
