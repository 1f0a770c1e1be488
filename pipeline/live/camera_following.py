"""Find, distinguish, measure and follow the hands before a live camera.

A detection belongs to the hand that was nearest in the previous picture. Detections near no hand are collected. After
some frames their side is determined, and a hand of that side that was followed before continues there. So a hand that
leaves the picture and returns elsewhere is the same hand, and a detection of a moment is not a hand. At most one hand
of each side is followed.
"""

from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np

from ...errors import HandError, KnuckleError
from ...hand.camera.detection_paths import SAME_HAND, Detection
from ...hand.camera.live_tracker import TrackerState
from ...hand.camera.picture_landmarks import PictureFrame, PictureHand, PictureSize
from ...hand.camera.side_costs import SideCosts
from ...hand.joints import SIDES, Side
from ..camera_hands import camera_settings, camera_up
from ..performer import from_dict
from ..recipe import Recipe
from .displayed_hand import DisplayedHand, DrivenHand, RigOf
from .dropout_blend import DropoutBlend
from .live_camera_hand import MIN_TO_MEASURE, FirstFit, FoundFrames, LiveCameraHand, fit_first_frames
from .measuring_buffer import MAX_SECONDS, MIN_FRAMES

ABSENT, MISSED_FRAMES = 0.5, 2
"""s and frames after which a hand that is not seen may return anywhere. Some computers process one frame per second."""
NEAR_DISTANCE, DISTANCE_PER_SECOND, MAX_DISTANCE = 0.6, 4.0, 2.0
"""Maximum distance of a hand from its last detection, in hand sizes: at once, additional per second, and in total."""
KNOWN_FRAMES, KNOWN_SECONDS = 8, 0.3
"""Frames or s after which the side of a hand is decided while another followed hand is missing."""
MAX_CAUGHT_UP = 15
"""Maximum number of frames received during measuring through which the hand is then followed."""
NEW_HAND = "new"
"""The name of a hand whose side is not known yet."""

Work = Callable[[], "Measured"]
Submit = Callable[[Work], "Future[Measured]"]
"""Runs a function in the session's measuring thread."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """The result of the measuring thread."""

    first: FirstFit
    driven: DrivenHand
    live: LiveCameraHand | None
    """The hand of the likelier side; None if a hand of that side is already known."""


@dataclass(slots=True, eq=False)
class _Track:
    """A hand that is or was found."""

    detection: Detection
    """The last detection of the hand."""
    found_at: float
    """s, the time of that detection."""
    frames: FoundFrames | None
    """Frames to measure the hand on; None if it need not be measured."""
    pending: "Future[Measured] | None" = None
    missed: int = 0
    """Number of frames since then."""
    live: LiveCameraHand | None = None
    """None while its side is not known."""
    blend: DropoutBlend | None = None
    state: TrackerState | None = None
    """None while its side is not known."""
    problem: str = ""
    """A sentence that says why it is not followed or measured."""

    def near(self, time: float) -> bool:
        """Return whether the hand must still be near its last detection."""
        return time - self.found_at <= ABSENT or self.missed <= MISSED_FRAMES

    def distance(self, detection: Detection, time: float) -> float:
        """Return the distance of a detection from the hand's last one, in hand sizes; infinite if it is too large."""
        apart = detection.distance(self.detection)
        return (
            apart
            if apart <= min(NEAR_DISTANCE + DISTANCE_PER_SECOND * (time - self.found_at), MAX_DISTANCE)
            else np.inf
        )

    def follow(self, time: float, size: PictureSize, found: PictureHand | None) -> bool:
        """Follow the hand to a frame. Return whether a detection of this hand was passed."""
        if self.live is None or self.state is None:
            return found is not None
        self.state = self.live.tracker.follow(time, size, found, self.state)
        return not self.state.predicted

    def measured(self, live: LiveCameraHand, arrival: float) -> None:
        """Follow the hand with new measurements. One that was displayed before blends to them."""
        self.live = live
        if self.blend is None or self.blend.hand.side != live.side:
            self.blend = DropoutBlend(live.hand)
        self.blend.set_hand(live.hand, arrival)

    def resume(self, state: TrackerState, frames: FoundFrames) -> None:
        """Follow the hand from a state through the last of the frames after it."""
        self.state = state
        for time, hand in frames.since(state.seen_at)[-MAX_CAUGHT_UP:]:
            self.follow(time, frames.size, hand)

    def show(self, time: float, arrival: float) -> None:
        """Display the pose of a frame. A pose that is only held eases to rest after a while."""
        moved = self.state if self.state is not None and self.state.filter.time == time else None
        if self.live is not None and self.blend is not None and moved is not None:
            self.blend.update(self.live.pose(moved), arrival)


class CameraHands:
    """The hands in a camera's frames. Pass frames to `feed`, and call `displayed` whenever hands are drawn."""

    def __init__(self, recipe: Recipe, rig: RigOf, submit: Submit) -> None:
        """submit: see Submit. Of the recipe, angle of view, the hand's length, up, performer and hand are used."""
        self.measures = True
        """Whether hands are measured. Hands that are not measured stay unknown."""
        self._recipe, self._rig, self._submit = recipe, rig, submit
        self._settings = camera_settings(recipe)
        self._performer = None if recipe.performer is None else from_dict(recipe.performer, "performer")
        self._tracks: list[_Track] = []
        self._time, self._size = -np.inf, PictureSize(1, 1)

    def feed(self, picture: PictureFrame, time: float, arrival: float) -> None:
        """Follow the hands of a picture that arrived at `arrival` s; time: s on the camera's clock, which increases."""
        self._time, self._size = time, picture.size
        assigned = self._assign(picture, time)
        for track in self._tracks:
            detection = assigned.get(id(track))
            hand = None if detection is None else picture.hands[detection.index]
            track.missed += 1
            if track.follow(time, picture.size, hand) and detection is not None and hand is not None:
                track.detection, track.found_at, track.missed = detection, time, 0
                if track.frames is not None:
                    track.frames.add(time, picture.size, hand)
            track.show(time, arrival)
        self._tracks = [track for track in self._tracks if track.live is not None or track.near(time)]
        for track in list(self._tracks):
            if track in self._tracks:
                self._measure(track, arrival)

    def displayed(self, time: float) -> list[DisplayedHand]:
        """Return the known hands as displayed at a time in s."""
        displayed = []
        for track in self._tracks:
            pose = None if track.blend is None else track.blend.pose_at(time)
            if pose is not None and track.live is not None and track.blend is not None:
                predicted = track.state is None or track.state.predicted
                side, lost = track.live.side, track.blend.lost
                displayed.append(DisplayedHand(side, side, pose, lost, 0, predicted or lost))
        return displayed

    def hands(self) -> dict[str, LiveCameraHand]:
        """Return the known hands by name."""
        return {track.live.side: track.live for track in self._tracks if track.live is not None}

    def unmeasured(self) -> list[str]:
        """Return the names of hands that are seen but whose side is not known yet."""
        new = [track for track in self._tracks if track.live is None and track.frames is not None]
        return [NEW_HAND for track in new if track.frames is not None and track.frames.has_enough(MIN_TO_MEASURE, 0.0)]

    def problems(self) -> dict[str, str]:
        """Return a sentence for each hand that says why it is not followed or measured."""
        return {f"camera {number}": track.problem for number, track in enumerate(self._tracks) if track.problem}

    def measure_again(self) -> None:
        """Measure each hand again on the next frames. Until then it is followed with its current bones."""
        for track in self._tracks:
            track.frames, track.pending = FoundFrames(self._size), None

    def _assign(self, picture: PictureFrame, time: float) -> dict[int, Detection]:
        """Return track id -> detection for the tracks that are found, and start tracks for other detections.

        A detection on top of another is the same hand, detected twice.
        """
        size = [picture.size.width, picture.size.height]
        unassigned = [Detection(0, hand.points[:, :2] * size, index) for index, hand in enumerate(picture.hands)]
        nearby_tracks = [track for track in self._tracks if track.near(time)]
        pairs = [
            (track.distance(seen_hand, time), id(track), seen_hand.index)
            for track in nearby_tracks
            for seen_hand in unassigned
        ]
        assigned: dict[int, Detection] = {}
        for distance, track, index in sorted(pairs):
            seen_hand = next((seen_hand for seen_hand in unassigned if seen_hand.index == index), None)
            if distance < np.inf and track not in assigned and seen_hand is not None:
                assigned[track] = seen_hand
                unassigned = [
                    other_hand
                    for other_hand in unassigned
                    if other_hand is not seen_hand and other_hand.distance(seen_hand) > SAME_HAND
                ]
        for seen_hand in unassigned:
            new = _Track(seen_hand, time, FoundFrames(picture.size))
            self._tracks.append(new)
            assigned[id(new)] = seen_hand
        return assigned

    def _measure(self, track: _Track, arrival: float) -> None:
        """Measure a hand if there are enough frames, and use the measurements when they are done."""
        if track.frames is None:
            return
        if track.pending is not None:
            if track.pending.done():
                measured, track.pending = track.pending, None
                self._finish(track, track.frames, measured, arrival)
            return
        missed = track.live is None and any(not other_track.near(self._time) for other_track in self._tracks)
        has_enough = track.frames.has_enough(MIN_FRAMES, MAX_SECONDS)
        if self.measures and (has_enough or (missed and track.frames.has_enough(KNOWN_FRAMES, KNOWN_SECONDS))):
            known_sides = {} if track.live is not None else self.hands()
            track.pending = self._submit(self._work(track.frames.copy(), set(known_sides)))

    def _work(self, frames: FoundFrames, known_sides: Collection[str]) -> Work:
        """Return the function that measures a hand in the measuring thread. It reads nothing that changes."""
        driven = self._rig(NEW_HAND)

        def work() -> Measured:
            first = fit_first_frames(frames, self._settings)
            side = first.costs.side
            return Measured(first, driven, None if side in known_sides else self._live_hand(first, side, driven))

        return work

    def _live_hand(self, first: FirstFit, side: Side, driven: DrivenHand) -> LiveCameraHand:
        measured_hand = first.measured(side) if self._performer is None else self._performer.hand(side, {})
        return LiveCameraHand.of(measured_hand, driven, self._settings, camera_up(self._recipe))

    def _finish(self, track: _Track, frames: FoundFrames, done: "Future[Measured]", arrival: float) -> None:
        """Use a hand that has been measured, collect more frames if these do not suffice, or note a problem."""
        again = False
        try:
            measured = done.result()
            if not measured.first.costs.is_known and not frames.has_enough(MIN_FRAMES, MAX_SECONDS):
                return
            side = self._side(track, measured.first.costs)
            earlier = self._known_hand(side, track)
            if earlier is not None:
                self._tracks.remove(track if track.live is None else earlier)
            if earlier is not None and track.live is None:
                earlier.detection, earlier.found_at, earlier.missed = track.detection, track.found_at, track.missed
                track, again = earlier, earlier.frames is not None
                track.pending = None
            else:
                live = measured.live
                if live is None or live.side != side:
                    live = self._live_hand(measured.first, side, measured.driven)
                track.measured(live, arrival)
            track.resume(measured.first.state(side), frames)
            track.problem = ""
        except KnuckleError as error:
            track.problem = str(error)
        track.frames = FoundFrames(self._size) if again else None

    def _known_hand(self, side: Side, besides: _Track) -> _Track | None:
        """Return the known hand of a side other than `besides`; None if there is none."""
        known_tracks = (track for track in self._tracks if track is not besides and track.live is not None)
        return next((track for track in known_tracks if track.live is not None and track.live.side == side), None)

    def _side(self, track: _Track, costs: SideCosts) -> Side:
        """Return the likelier side that no other visible hand has. Raises HandError if there is none."""
        seen_side, requested = costs.side, self._recipe.hand
        sides = [side for side in costs.sides if requested not in SIDES or side == requested]
        if not sides:
            raise HandError(f"a {seen_side} hand is seen, not the requested {requested} one")
        for side in sides:
            other_track = self._known_hand(side, track)
            if other_track is None or not other_track.near(self._time):
                return side
        raise HandError(
            f"another hand has the shape of a {seen_side} hand, too: hold both hands flat and apart, and measure again"
        )
