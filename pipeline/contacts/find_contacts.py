"""Contacts of a performer: spans of frames in which a fingertip stays on another digit or on the palm.

A span begins where the flesh of a digit's last phalanx comes within START_GAP of another part, and ends where it leaves
by END_GAP (hysteresis: a solved hand is a millimetre or two off),
and is at least MIN_SECONDS long. One of the two must be touched with its pad, and fingers beside each other do not
count: they nearly always touch. Where the performer's skin slides by more than MAX_SLIP a span is cut.
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
"""m of a hand of the usual length."""
MIN_SECONDS = 0.1
"""s"""
PAD = 0.3
"""Least cosine between a pad's direction, out of the palm's side of its bone, and that to the other digit."""
MAX_SLIP = 6e-3
"""m of such a hand, by which skin may slide on skin within a contact."""


@dataclass(frozen=True, slots=True, eq=False)
class Contact:
    """A span of frames in which a fingertip stays on another part of the hand."""

    capsules: tuple[int, int]
    """Of the fingertip, and of what it touches."""
    first: int
    last: int
    """Rows of the pose, both included."""
    gap: float
    """m, median between the skins; negative where they are pressed."""
    shares: tuple[float, float]
    """Where on the two axes the skins touch."""
    direction: Floats
    """(3,) unit, from the second axis to the first, in the frame of the second one's bone."""

    @property
    def parts(self) -> tuple[int, int]:
        """The digit of the tip, and that of what it touches, or PALM."""
        first, second = PARTS_OF_CAPSULES[list(self.capsules)].tolist()
        return first, second


def find_contacts(pose: Pose, times: Floats, flesh: Flesh, deep: Floats) -> tuple[Contact, ...]:
    """Return the contacts of a performer's hand over F frames, by their first frame.

    times: (F,) s. deep: (F, K) m, as pair_depths returns it.
    """
    found = list[Contact]()
    scale, pause = relative_size(pose.hand), window_frames(times, MIN_SECONDS)
    tips = (LINKS_OF_CAPSULES[flesh.pairs] == 2).any(axis=0)
    for parts in np.unique(flesh.parts[:, tips], axis=1).T:
        if parts[1] - parts[0] == 1 and parts[0] > 0 and parts[1] < PALM:
            continue
        columns = np.flatnonzero(tips & (flesh.parts == parts[:, None]).all(axis=0))
        for first, stop in _spans(-deep[:, columns].max(axis=1) / scale):
            span = Pose.at_origin(pose.hand, pose.angles[first:stop])
            found += _cut(span, flesh, columns[deep[first:stop, columns].argmax(axis=1)], first, pause)
    lasting = (
        found_contact
        for found_contact in found
        if times[found_contact.last] - times[found_contact.first] >= MIN_SECONDS
    )
    return tuple(sorted(lasting, key=lambda contact: (contact.first, contact.capsules)))


def _spans(gaps: Floats) -> list[tuple[int, int]]:
    """Return first and stop rows, exclusive, in which gaps (F,) m are below START_GAP, but for rises to END_GAP."""
    spans = []
    for start, stop in zip(*runs((gaps < END_GAP)[:, None])[1:], strict=True):
        touched = start + np.flatnonzero(gaps[start:stop] < START_GAP)
        if len(touched):
            spans.append((int(touched[0]), int(touched[-1]) + 1))
    return spans


def _cut(span: Pose, flesh: Flesh, pairs: Ints, first: int, pause: int) -> list[Contact]:
    """Return the contacts in a span of frames, cut where skin has slid too far.

    A contact is that of the pair of capsules that is deepest in most of its first frames. pairs (F,): the deepest in
    each frame. first: the span's row in the take. pause: frames that are left to the slide.
    """
    frames, contacts, start = joint_frames(span.hand, span), list[Contact](), 0
    scale = relative_size(span.hand)
    of_pairs = {pair: touch_over_time(frames, flesh, pair, pause // 2) for pair in np.unique(pairs).tolist()}
    while start < len(span):
        touch = of_pairs[int(np.bincount(pairs[start : start + pause]).argmax())]
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
    """(2, F)"""
    positions: Floats
    """(F, 3) m, where on the first axis that is, in the frame of the second one's bone, smoothed."""
    directions: Floats
    """(F, 3) unit, from the second axis to the first, in that frame."""
    pads: Floats
    """(F,) cosine between the direction to the other one and the palm's side of a bone, the greater of both."""

    def slides_from(self, first: int, most_slip: float, most_gap: float) -> int:
        """Return the first row after `first` at which skin has slid, or is apart, by more than that; F if none is."""
        for start in range(first, len(self.positions), FRAMES_AT_ONCE):
            rows = slice(start, start + FRAMES_AT_ONCE)
            away = np.linalg.norm(self.positions[rows] - self.positions[first], axis=1)
            slid = np.flatnonzero((away > most_slip) | (self.gaps[rows] > most_gap))
            if len(slid):
                return start + int(slid[0])
        return len(self.positions)

    def contact(self, rows: slice, first: int) -> Contact:
        """Return the contact in some of the frames; first: the row of the span in the take."""
        mean = self.directions[rows].mean(axis=0)
        shares = np.median(self.shares[:, rows], axis=1)
        return Contact(
            self.capsules,
            first + rows.start,
            first + rows.stop - 1,
            float(np.median(self.gaps[rows])),
            (float(shares[0]), float(shares[1])),
            mean / max(float(np.linalg.norm(mean)), 1e-9),
        )


def touch_over_time(frames: Floats, flesh: Flesh, pair: int, radius: int, tip: int | None = None) -> TouchOverTime:
    """Return how a pair of capsules touches with joints at frames (F, J, 4, 4); its place smoothed by `radius`.

    tip: the digit whose tip comes first where both are tips; by default the thumb's, or that nearer to it.
    """
    rows = np.arange(len(frames))
    found = touches(flesh, frames[..., :3, 3], rows, np.full(len(rows), pair))
    capsules = flesh.pairs[:, pair]
    is_first = LINKS_OF_CAPSULES[capsules] == 2
    if tip is not None:
        is_first &= PARTS_OF_CAPSULES[capsules] == tip
    order = [0, 1] if is_first[0] else [1, 0]
    first, second = flesh.pairs[order, pair].tolist()
    points, rotations = found.points[order], frames[:, STARTS[[first, second]], :3, :3]
    away = points[0] - points[1]
    unit = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-9)
    # A bone's +Z is out of the back of the hand.
    pads = np.einsum("fi,fki->fk", unit, rotations[..., 2]) * [1.0, -1.0]
    from_bone = points[0] - frames[:, STARTS[second], :3, 3]
    return TouchOverTime(
        (first, second),
        -found.depths,
        found.shares[order],
        smoothed(np.einsum("fji,fj->fi", rotations[:, 1], from_bone), radius),
        np.einsum("fji,fj->fi", rotations[:, 1], unit),
        pads.max(axis=1),
    )
