"""Find contacts of a performer: spans of frames in which a fingertip stays on another digit or on the palm.

A span starts when the flesh of a digit's last phalanx comes within START_GAP of another part, and ends when it is
farther away than END_GAP. The difference is a hysteresis, since a solved hand is off by a millimetre or two. A span
lasts at least MIN_SECONDS. One of the two parts must touch with its pad. Neighbouring fingers do not count, as they
nearly always touch. A span is cut where the performer's skin slides by more than MAX_SLIP.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...capture.cleaning import runs
from ...hand.flesh import LINKS_OF_CAPSULES, PALM, PARTS_OF_CAPSULES, STARTS, Flesh, touches
from ...hand.kinematics import Pose, joint_frames
from ...solvers.pose_problem import relative_size
from .flesh_depths import FRAMES_AT_ONCE
from .windows import smoothed, window_frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

START_GAP, END_GAP = 3e-3, 6e-3
"""m on a hand of REFERENCE_LENGTH, gaps at which a contact starts and ends."""
MIN_SECONDS = 0.1
"""s, minimum duration of a contact."""
PAD = 0.3
"""Minimum cosine between the palmar direction of a bone and the direction to the other digit, if its pad touches."""
MAX_SLIP = 6e-3
"""m of a hand of the usual length, maximum slide of skin on skin within a contact."""


@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """A span of frames in which a fingertip stays on another part of the hand."""

    capsules: tuple[int, int]
    """The capsules of the fingertip and of the part that it touches."""
    first: int
    last: int
    """First and last row of the pose, both included."""
    gap: float
    """m, median distance between the skins; negative if they are pressed together."""
    shares: tuple[float, float]
    """Fractions of the two axes at which the skins touch."""
    direction: Floats
    """(3,) unit, from the second axis to the first, in the frame of the second one's bone."""

    @property
    def parts(self) -> tuple[int, int]:
        """The digit of the tip, and the digit that it touches, or PALM."""
        first, second = PARTS_OF_CAPSULES[list(self.capsules)].tolist()
        return first, second


def find_contacts(pose: Pose, times: Floats, flesh: Flesh, deep: Floats) -> tuple[Contact, ...]:
    """Return the contacts of a performer's hand over F frames, by their first frame.

    times: (F,) s. deep: (F, K) m, as pair_depths returns it.
    """
    contacts = list[Contact]()
    scale, pause = relative_size(pose.hand), window_frames(times, MIN_SECONDS)
    tips = (LINKS_OF_CAPSULES[flesh.pairs] == 2).any(axis=0)
    for parts in np.unique(flesh.parts[:, tips], axis=1).T:
        if parts[1] - parts[0] == 1 and parts[0] > 0 and parts[1] < PALM:
            continue
        columns = np.flatnonzero(tips & (flesh.parts == parts[:, None]).all(axis=0))
        for first, stop in _spans(-deep[:, columns].max(axis=1) / scale):
            span = Pose.at_origin(pose.hand, pose.angles[first:stop])
            contacts += _cut_at_slides(span, flesh, columns[deep[first:stop, columns].argmax(axis=1)], first, pause)
    lasting = (contact for contact in contacts if times[contact.last] - times[contact.first] >= MIN_SECONDS)
    return tuple(sorted(lasting, key=lambda contact: (contact.first, contact.capsules)))


def _spans(gaps: Floats) -> list[tuple[int, int]]:
    """Return the first and the stop row, exclusive, of spans in which gaps (F,) m are below START_GAP.

    Gaps may rise to END_GAP within a span.
    """
    spans = []
    for start, stop in zip(*runs((gaps < END_GAP)[:, None])[1:], strict=True):
        touched = start + np.flatnonzero(gaps[start:stop] < START_GAP)
        if len(touched):
            spans.append((int(touched[0]), int(touched[-1]) + 1))
    return spans


def _cut_at_slides(span: Pose, flesh: Flesh, pairs: Ints, first: int, pause: int) -> list[Contact]:
    """Return the contacts in a span of frames, which is cut where skin has slid too far.

    A contact is between the capsules that are deepest in most of its first frames. pairs: (F,) the deepest pair in each
    frame. first: row of the span's first frame in the take. pause: frames that are left out for each slide.
    """
    frames, contacts, start = joint_frames(span.hand, span), list[Contact](), 0
    scale = relative_size(span.hand)
    touches_by_pair = {pair: touch_over_time(frames, flesh, pair, pause // 2) for pair in np.unique(pairs).tolist()}
    while start < len(span):
        touch = touches_by_pair[int(np.bincount(pairs[start : start + pause]).argmax())]
        stop = touch.slides_from(start, MAX_SLIP * scale, END_GAP * scale)
        if stop > start and np.median(touch.pads[start:stop]) > PAD:
            contacts.append(touch.contact(slice(start, stop), first))
        start = stop + pause
    return contacts


@dataclass(frozen=True, slots=True, eq=False)
class TouchOverTime:
    """A fingertip's capsule and another one over F frames."""

    capsules: tuple[int, int]
    gaps: Floats
    """(F,) m"""
    shares: Floats
    """(2, F) fractions of the two axes at which the skins touch."""
    positions: Floats
    """(F, 3) m, the touching point of the first axis in the frame of the second one's bone, smoothed."""
    directions: Floats
    """(F, 3) unit, from the second axis to the first, in that frame."""
    pads: Floats
    """(F,) cosine between a bone's palmar direction and the direction to the other bone; the larger of both bones."""

    def slides_from(self, first: int, max_slip: float, max_gap: float) -> int:
        """Return the first row after `first` at which the slip or the gap exceeds its maximum; F if there is none."""
        for start in range(first, len(self.positions), FRAMES_AT_ONCE):
            rows = slice(start, start + FRAMES_AT_ONCE)
            distances = np.linalg.norm(self.positions[rows] - self.positions[first], axis=1)
            slid = np.flatnonzero((distances > max_slip) | (self.gaps[rows] > max_gap))
            if len(slid):
                return start + int(slid[0])
        return len(self.positions)

    def contact(self, rows: slice, first: int) -> Contact:
        """Return the contact in some of the frames. first: row of the span's first frame in the take."""
        mean = self.directions[rows].mean(axis=0)
        fractions = np.median(self.shares[:, rows], axis=1)
        return Contact(
            self.capsules,
            first + rows.start,
            first + rows.stop - 1,
            float(np.median(self.gaps[rows])),
            (float(fractions[0]), float(fractions[1])),
            mean / max(float(np.linalg.norm(mean)), 1e-9),
        )


def touch_over_time(frames: Floats, flesh: Flesh, pair: int, radius: int, tip: int | None = None) -> TouchOverTime:
    """Return how a pair of capsules touches with joints at frames (F, J, 4, 4). Positions are smoothed by `radius`.

    tip: the digit whose tip is first if both are tips. By default it is the thumb, or the digit nearer to it.
    """
    rows = np.arange(len(frames))
    touch_points = touches(flesh, frames[..., :3, 3], rows, np.full(len(rows), pair))
    capsules = flesh.pairs[:, pair]
    is_first = LINKS_OF_CAPSULES[capsules] == 2
    if tip is not None:
        is_first &= PARTS_OF_CAPSULES[capsules] == tip
    order = [0, 1] if is_first[0] else [1, 0]
    first, second = flesh.pairs[order, pair].tolist()
    points, rotations = touch_points.points[order], frames[:, STARTS[[first, second]], :3, :3]
    offsets = points[0] - points[1]
    unit = offsets / np.maximum(np.linalg.norm(offsets, axis=1, keepdims=True), 1e-9)
    # A bone's +Z is out of the back of the hand.
    pads = np.einsum("fi,fki->fk", unit, rotations[..., 2]) * [1.0, -1.0]
    from_bone = points[0] - frames[:, STARTS[second], :3, 3]
    return TouchOverTime(
        (first, second),
        -touch_points.depths,
        touch_points.shares[order],
        smoothed(np.einsum("fji,fj->fi", rotations[:, 1], from_bone), radius),
        np.einsum("fji,fj->fi", rotations[:, 1], unit),
        pads.max(axis=1),
    )
