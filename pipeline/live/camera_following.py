"""The hands before a live camera: found in each picture, told apart, measured, and followed.

A hand is the one that was nearest in the picture before. What is near none is collected: after some frames its side is
told, and a hand of that side that was followed before goes on there. So a hand that leaves the picture and comes back
elsewhere is the same hand, and what is found for a moment is none. At most one hand of each side is followed.
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
"""s and frames after which a hand that is not seen may come back anywhere: some computers manage a frame a second."""
NEAR, SPEED, FARTHEST = 0.6, 4.0, 2.0
"""How far a hand may be from where it was last found, in hands: at once, more for every second since, and at most."""
KNOWN_FRAMES, KNOWN_SECONDS = 8, 0.3
"""Frames, or s, after which the side of a hand is decided while another hand that was followed is missing."""
MAX_CAUGHT_UP = 15
"""Frames that came while a hand was measured, by which it is then followed at most."""
NEW_HAND = "new"
"""What a hand is called whose side is not known yet."""

Work = Callable[[], "Measured"]
Submit = Callable[[Work], "Future[Measured]"]
"""Runs a function in the session's thread for measuring."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What the thread for measuring found."""

    first: FirstFit
    driven: DrivenHand
    live: LiveCameraHand | None
    """Of the likelier side; None if a hand of that side is known already."""


@dataclass(slots=True, eq=False)
class _Track:
    """A hand that is found, or was."""

    detection: Detection
    """Where it was found last."""
    found_at: float
    """s, when that was."""
    frames: FoundFrames | None
    """To measure the hand on; None if it need not be measured."""
    pending: "Future[Measured] | None" = None
    missed: int = 0
    """Frames since then."""
    live: LiveCameraHand | None = None
    """None while its side is not known."""
    blend: DropoutBlend | None = None
    state: TrackerState | None = None
    """None while its side is not known."""
    problem: str = ""
    """A sentence why it is not followed, or not measured."""

    def near(self, time: float) -> bool:
        """Whether the hand is where it was found last, or near."""
        return time - self.found_at <= ABSENT or self.missed <= MISSED_FRAMES

    def distance(self, detection: Detection, time: float) -> float:
        """How far a detection is from where the hand was last, in hands; inf if it is too far."""
        apart = detection.distance(self.detection)
        return apart if apart <= min(NEAR + SPEED * (time - self.found_at), FARTHEST) else np.inf

    def follow(self, time: float, size: PictureSize, found: PictureHand | None) -> bool:
        """Follow the hand to a frame. Returns whether it was found, and what was found is this hand."""
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
        """Display the pose of a frame. One that is only held eases to rest after a while."""
        moved = self.state if self.state is not None and self.state.filter.time == time else None
        if self.live is not None and self.blend is not None and moved is not None:
            self.blend.update(self.live.pose(moved), arrival)


class CameraHands:
    """The hands of a camera's frames. Pass frames to `feed`, and call `displayed` whenever hands are drawn."""

    def __init__(self, recipe: Recipe, rig: RigOf, submit: Submit) -> None:
        """submit: see Submit. Of the recipe, angle of view, the hand's length, up, performer and hand are used."""
        self.measures = True
        """Whether hands are measured; those that are not stay unknown."""
        self._recipe, self._rig, self._submit = recipe, rig, submit
        self._settings = camera_settings(recipe)
        self._performer = None if recipe.performer is None else from_dict(recipe.performer, "performer")
        self._tracks: list[_Track] = []
        self._time, self._size = -np.inf, PictureSize(1, 1)

    def feed(self, picture: PictureFrame, time: float, arrival: float) -> None:
        """Follow the hands of a picture that arrived at `arrival` s; time: s on the camera's clock, which increases."""
        self._time, self._size = time, picture.size
        found = self._assign(picture, time)
        for track in self._tracks:
            detection = found.get(id(track))
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
        """Return each hand that is known, as it is displayed at `now` s."""
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
        """Return the names of hands that are seen, and whose side is not known yet."""
        new = [track for track in self._tracks if track.live is None and track.frames is not None]
        return [NEW_HAND for track in new if track.frames is not None and track.frames.enough(MIN_TO_MEASURE, 0.0)]

    def problems(self) -> dict[str, str]:
        """Return for each hand that is not followed, or not measured, a sentence why."""
        return {f"camera {number}": track.problem for number, track in enumerate(self._tracks) if track.problem}

    def measure_again(self) -> None:
        """Measure each hand again on the next frames. Until then it is followed with its current bones."""
        for track in self._tracks:
            track.frames, track.pending = FoundFrames(self._size), None

    def _assign(self, picture: PictureFrame, time: float) -> dict[int, Detection]:
        """Return the detection of each track that is found, by the track's id; begin tracks for the others.

        What is found on top of a hand is the same hand, found twice.
        """
        size = [picture.size.width, picture.size.height]
        left = [Detection(0, hand.points[:, :2] * size, index) for index, hand in enumerate(picture.hands)]
        near = [track for track in self._tracks if track.near(time)]
        pairs = [(track.distance(seen_hand, time), id(track), seen_hand.index) for track in near for seen_hand in left]
        found: dict[int, Detection] = {}
        for distance, track, index in sorted(pairs):
            seen_hand = next((seen_hand for seen_hand in left if seen_hand.index == index), None)
            if distance < np.inf and track not in found and seen_hand is not None:
                found[track] = seen_hand
                left = [
                    other_hand
                    for other_hand in left
                    if other_hand is not seen_hand and other_hand.distance(seen_hand) > SAME_HAND
                ]
        for seen_hand in left:
            new = _Track(seen_hand, time, FoundFrames(picture.size))
            self._tracks.append(new)
            found[id(new)] = seen_hand
        return found

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
        enough = track.frames.enough(MIN_FRAMES, MAX_SECONDS)
        if self.measures and (enough or (missed and track.frames.enough(KNOWN_FRAMES, KNOWN_SECONDS))):
            known = {} if track.live is not None else self.hands()
            track.pending = self._submit(self._work(track.frames.copy(), set(known)))

    def _work(self, frames: FoundFrames, known: Collection[str]) -> Work:
        """What measures a hand in the thread for it. It reads nothing that changes."""
        driven = self._rig(NEW_HAND)

        def work() -> Measured:
            first = fit_first_frames(frames, self._settings)
            side = first.costs.side
            return Measured(first, driven, None if side in known else self._built(first, side, driven))

        return work

    def _built(self, first: FirstFit, side: Side, driven: DrivenHand) -> LiveCameraHand:
        own = first.measured(side) if self._performer is None else self._performer.hand(side, {})
        return LiveCameraHand.of(own, driven, self._settings, camera_up(self._recipe))

    def _finish(self, track: _Track, frames: FoundFrames, done: "Future[Measured]", arrival: float) -> None:
        """Use a hand that has been measured, go on collecting frames if these do not suffice, or note a problem."""
        again = False
        try:
            measured = done.result()
            if not measured.first.costs.is_known and not frames.enough(MIN_FRAMES, MAX_SECONDS):
                return
            side = self._side(track, measured.first.costs)
            earlier = self._of(side, track)
            if earlier is not None:
                self._tracks.remove(track if track.live is None else earlier)
            if earlier is not None and track.live is None:
                earlier.detection, earlier.found_at, earlier.missed = track.detection, track.found_at, track.missed
                track, again = earlier, earlier.frames is not None
                track.pending = None
            else:
                live = measured.live
                if live is None or live.side != side:
                    live = self._built(measured.first, side, measured.driven)
                track.measured(live, arrival)
            track.resume(measured.first.state(side), frames)
            track.problem = ""
        except KnuckleError as error:
            track.problem = str(error)
        track.frames = FoundFrames(self._size) if again else None

    def _of(self, side: Side, besides: _Track) -> _Track | None:
        """Return the hand of a side that is known."""
        others = (track for track in self._tracks if track is not besides and track.live is not None)
        return next((track for track in others if track.live is not None and track.live.side == side), None)

    def _side(self, track: _Track, costs: SideCosts) -> Side:
        """Return the likelier side that no other hand has that is seen now. Raises HandError."""
        seen, wanted = costs.side, self._recipe.hand
        sides = [side for side in costs.sides if wanted not in SIDES or side == wanted]
        if not sides:
            raise HandError(f"a {seen} hand is seen, not the {wanted} one that was asked for")
        for side in sides:
            other_track = self._of(side, track)
            if other_track is None or not other_track.near(self._time):
                return side
        raise HandError(
            f"another hand has the shape of a {seen} hand, too: hold both hands flat and apart, and measure again"
        )
