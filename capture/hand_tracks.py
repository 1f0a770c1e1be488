"""Track hands over frames, although the side or id that the source states for a hand may change."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import CaptureError
from .marker_labels import unique
from .markers import Floats

MAX_TRACKS = 16
"""Maximum number of hands in a recording; more are noise or a damaged file."""
MIN_SEEN = 0.05
"""Minimum fraction of the frames in which a track must be seen; others are false detections."""
MAX_STEP = 0.5
"""Maximum movement of a hand between detections while its claim changes, as a multiple of its size."""


@dataclass(frozen=True, slots=True, eq=False)
class HandSample:
    """A detection of a hand, with J joints, in one frame of the source."""

    claim: str
    """The side according to the source: left, right, or hand if it is not stated."""
    joints: Floats
    """(J, 3) positions in the source's unit, NaN where unknown."""
    position: Floats
    """(N,) position of the hand, or other features that distinguish hands, possibly not in the unit of the joints."""
    size: float
    """The hand's size, about half its largest extent, in the unit of `position`."""
    hand_id: str = ""
    """The source's id of the hand; empty if it has none."""
    picture: Floats | None = None
    """(21, 3) image landmarks as in PictureLandmarks; None if the source has none."""

    @classmethod
    def of(cls, claim: str, joints: Floats, hand_id: str = "") -> "HandSample":
        """Return a sample located at the mean of its known joints."""
        valid_joints = joints[(np.abs(joints) < 1e9).all(axis=-1)]
        if not len(valid_joints):
            return cls(claim, joints, np.zeros(3), 1.0, hand_id)
        size = float((valid_joints.max(axis=0) - valid_joints.min(axis=0)).max()) / 2
        return cls(claim, joints, valid_joints.sum(axis=0) / len(valid_joints), size, hand_id)

    @property
    def extent(self) -> float:
        """The hand's largest extent along an axis, in the unit of `position`."""
        return 2 * self.size


@dataclass(slots=True, eq=False)
class _Track:
    frames: list[int] = field(default_factory=list)
    samples: list[HandSample] = field(default_factory=list)

    def cost(self, sample: HandSample, frame: int) -> float:
        """Return the cost of continuing this track with a sample: their distance as a multiple of the hand's size.

        It is lower for equal ids, higher for different claims, and inf if the sample cannot be the same hand.
        """
        last = self.samples[-1]
        if last.position.shape != sample.position.shape:
            return np.inf
        distance = min(math.dist(last.position.tolist(), sample.position.tolist()) / max(sample.size, 1e-9), 1e6)
        if sample.hand_id and sample.hand_id == last.hand_id:
            return distance - 1e7
        if sample.claim == last.claim:
            return distance
        # A different claim at nearly the same position and time is an error of the source, otherwise another hand.
        return distance + 1.0 if distance < MAX_STEP and frame - self.frames[-1] <= 3 else np.inf

    @property
    def claim(self) -> str:
        """The most frequent claim of the source."""
        claims = [sample.claim for sample in self.samples]
        return max(sorted(set(claims)), key=claims.count)


def track_hands(frames: list[list[HandSample]], source: str) -> tuple[tuple[str, ...], Floats, tuple[str, ...]]:
    """Track hands over F frames.

    Returns:
        Names (T,) of the tracks by their claims, left before right; positions (F, T, J, 3), NaN where not seen; and
        warnings, also about false detections, which are dropped.

    Raises:
        CaptureError: no track remains, or there are far too many.
    """
    tracks: list[_Track] = []
    for index, samples in enumerate(frames):
        if len(samples) > MAX_TRACKS or len(tracks) > 4 * MAX_TRACKS:
            hands = max(len(samples), len(tracks))
            raise CaptureError(f"{source}, frame {index + 1}: {hands} different hands, expected {MAX_TRACKS} at most")
        _assign(tracks, samples, index)
    if not tracks:
        raise CaptureError(f"{source}: no hand in any of the {len(frames)} frames, expected at least one")
    valid_tracks = [track for track in tracks if len(track.frames) >= MIN_SEEN * len(frames)]
    warnings = tuple(
        f"a '{track.claim}' hand seen in only {len(track.frames)} of {len(frames)} frames was left out"
        for track in tracks
        if track not in valid_tracks
    )
    if not valid_tracks:
        raise CaptureError(
            f"{source}: no hand is seen in {MIN_SEEN:.0%} of the {len(frames)} frames or more, expected at least one"
        )
    valid_tracks.sort(key=lambda track: -len(track.frames))
    joints = len(valid_tracks[0].samples[0].joints)
    positions = np.full((len(frames), len(valid_tracks), joints, 3), np.nan)
    for number, track in enumerate(valid_tracks):
        positions[track.frames, number] = [sample.joints for sample in track.samples]
    names, positions = _sort_by_name(unique(track.claim for track in valid_tracks), positions)
    return names, positions, _abbreviate(warnings) + _claim_changes(valid_tracks)


def _assign(tracks: list[_Track], samples: list[HandSample], frame: int) -> None:
    """Assign each sample of a frame to the track that it continues best, or to a new one. Greedy: hands are few."""
    costs = [
        (track.cost(sample, frame), number, index)
        for index, sample in enumerate(samples)
        for number, track in enumerate(tracks)
    ]
    used_tracks: set[int] = set()
    used_samples: set[int] = set()
    for cost, number, index in sorted(costs):
        if np.isfinite(cost) and number not in used_tracks and index not in used_samples:
            used_tracks.add(number)
            used_samples.add(index)
            tracks[number].frames.append(frame)
            tracks[number].samples.append(samples[index])
    for index, sample in enumerate(samples):
        if index not in used_samples:
            tracks.append(_Track([frame], [sample]))


def _sort_by_name(names: tuple[str, ...], positions: Floats) -> tuple[tuple[str, ...], Floats]:
    """Return names and positions sorted by name: left before right, whichever was seen longer."""
    order: NDArray[np.intp] = np.array(sorted(range(len(names)), key=lambda index: names[index]), np.intp)
    return tuple(names[index] for index in order), positions[:, order]


def _abbreviate(warnings: tuple[str, ...], maximum: int = 3) -> tuple[str, ...]:
    omitted = len(warnings) - maximum
    return warnings if omitted <= 0 else (*warnings[:maximum], f"and {omitted} more hands seen as briefly")


def _claim_changes(tracks: list[_Track]) -> tuple[str, ...]:
    """Return a warning for each track whose claim changes."""
    warnings = []
    for track in tracks:
        claim = track.claim
        differing = sum(sample.claim != claim for sample in track.samples)
        if differing:
            warnings.append(f"the '{claim}' hand has another name in {differing} of its {len(track.frames)} frames")
    return tuple(warnings)


def marker_names(tracks: tuple[str, ...], joints: tuple[str, ...], positions: Floats) -> tuple[tuple[str, ...], Floats]:
    """Return names `<track>:<joint>` (M,) and positions (F, M, 3) of the joints that are seen in any frame.

    positions: (F, T, J, 3), NaN where not seen.
    """
    labels = [f"{track}:{joint}" for track in tracks for joint in joints]
    flat = positions.reshape(len(positions), len(labels), 3)
    seen = np.any(np.all(np.isfinite(flat), axis=-1), axis=0)
    return tuple(label for label, is_seen in zip(labels, seen, strict=True) if is_seen), flat[:, seen]
