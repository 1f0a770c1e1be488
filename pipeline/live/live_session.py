"""Find, measure and solve the hands in a device's frames in a live session."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ... import solvers
from ...capture.frame import NAMES_CACHE_SIZE, Frame
from ...errors import HandError, KnuckleError, MarkerMapError
from ...hand.joints import Side
from ...hand.limits import RigLimits
from ...hand.marker_sets import Groups, from_json, subject_of, suggest
from ...hand.mesh.surface import surface
from ...solvers.smoothing.live_smoother import LiveSmoothedSolver, LiveSmoothing
from ...solvers.smoothing.smoothing_kinds import NoSmoothing
from ..recipe import AnglesChoice, Recipe
from .camera_following import CameraHands
from .displayed_hand import DisplayedHand, DrivenHand, FollowedHand, RigOf, no_rig
from .dropout_blend import DropoutBlend
from .forearm_blend import ForearmBlend
from .live_hand import LiveHand
from .measuring_buffer import MeasuringBuffer
from .take_buffer import TakeBuffer

Floats = NDArray[np.float64]

MAX_HANDS = 16
"""Maximum number of hands of all performers that a session follows. A new hand replaces one that is no longer sent."""
MAX_LABEL_LISTS = 4
"""Maximum number of different label lists read from frames that arrive together."""


@dataclass(slots=True, eq=False)
class _TrackedHand:
    labels: tuple[str, ...]
    """(T,) labels in the current frames."""
    buffer: MeasuringBuffer | None
    """Frames for measuring the hand; None if it is measured."""
    pending: "Future[LiveHand] | None" = None
    live: LiveHand | None = None
    blend: DropoutBlend | None = None
    forearm: ForearmBlend = field(default_factory=ForearmBlend)
    ever_seen: "NDArray[np.bool_] | None" = None
    """(T,) whether each point has been seen; a device may never send some of them."""
    missing: int = 0
    last_seen: float = -np.inf
    """s, arrival time of the last frame in which any point was seen."""

    def count_missing(self, seen: "NDArray[np.bool_]") -> None:
        """Count the points that are missing in a frame. seen: (T,) whether each point is seen."""
        self.ever_seen = seen if self.ever_seen is None else self.ever_seen | seen
        self.missing = int(np.count_nonzero(self.ever_seen & ~seen))

    def relabel(self, labels: tuple[str, ...]) -> None:
        """Measure the hand again if its labels have changed. Until then it is solved with its previous labels."""
        if set(labels) != set(self.labels):
            self.labels, self.ever_seen = labels, None
            is_known = self.live is not None and set(self.live.labels) == set(labels)
            self.buffer = None if is_known else MeasuringBuffer(labels)


class LiveSession:
    """The hands of a device's frames. Pass frames to `feed`, and call `displayed` whenever hands are drawn."""

    def __init__(self, recipe: Recipe, angles: AnglesChoice = "solved", rig: RigOf = no_rig) -> None:
        """Start a session. It uses the recipe's solver, settings, smoothing (live), markers, performer and hand.

        rig: is called with a hand's name before the hand is measured. Raises RecipeError for an unknown solver,
        smoothing or setting.
        """
        self._recipe, self._angles, self._rig = recipe, angles, rig
        self._solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        self._is_late = False
        """Whether hands are displayed one frame late."""
        if not isinstance(smoothing, NoSmoothing):
            # Smoothing over whole takes needs frames that have not arrived yet.
            live = smoothing if isinstance(smoothing, LiveSmoothing) else LiveSmoothing()
            self._solver, self._is_late = LiveSmoothedSolver(self._solver, live), live.lag > 0
        self._hands: dict[str, _TrackedHand] = {}
        self._names: tuple[str, ...] = ()
        self._columns: dict[str, list[int]] = {}
        # Cached, since frames with and without a hand may alternate, and finding hands takes as long as solving.
        self._cached_hands = lru_cache(NAMES_CACHE_SIZE)(self._find_hands)
        self.appeared: list[str] = []
        """Names of the hands that have been seen for long enough to be measured, in order of appearance."""
        self._problems: dict[str, str] = {}
        self.take: TakeBuffer | None = None
        """The displayed poses on the device's clock while a take is recorded; None otherwise."""
        # Measuring takes as long as several frames, and already measured hands must not wait for it.
        self._worker = ThreadPoolExecutor(1, "knuckle measuring")
        self._measures = True
        self._camera = CameraHands(recipe, self._drives, self._worker.submit) if recipe.landmarks != "world" else None

    @property
    def problems(self) -> dict[str, str]:
        """Hand -> sentence that explains why it is not displayed."""
        return self._problems | ({} if self._camera is None else self._camera.problems())

    def close(self) -> None:
        """Cancel measuring. Later frames are solved with the current measurements."""
        self._measures = False
        if self._camera is not None:
            self._camera.measures = False
        self._worker.shutdown(wait=False, cancel_futures=True)

    def feed(self, frames: Sequence[tuple[Frame, float]]) -> None:
        """Solve the hands of new frames, each given with its time of arrival in s.

        Of frames that arrive together only the newest is solved, so as not to fall behind; all are solved while a take
        is recorded.
        """
        newest = {id(frame.names): frame for frame, _ in frames}
        if len(newest) > MAX_LABEL_LISTS:
            # So many label lists are not from a device: use only frames with the last one.
            frames = [(frame, arrival) for frame, arrival in frames if frame.names is frames[-1][0].names]
        for frame, arrival in frames:
            time = arrival if frame.time is None else frame.time
            if frame.picture is not None and self._camera is not None:
                self._camera.feed(frame.picture, time, arrival)
            elif frame.names:
                self._feed_points(frame, arrival, self.take is not None or newest[id(frame.names)] is frame)
            if self.take is not None:
                # A hand that is lost throughout the take is not part of it.
                displayed = [hand for hand in self.displayed(arrival) if not hand.lost or hand.name in self.take]
                predicted = {hand.name for hand in displayed if hand.predicted}
                forearms = {hand.name: hand.forearm for hand in displayed if hand.forearm is not None}
                self.take.add(time, {hand.name: hand.pose for hand in displayed}, predicted, forearms)

    def _feed_points(self, frame: Frame, arrival: float, solve: bool) -> None:
        if frame.names is not self._names:
            self._find_columns(frame.names)
        for name, columns in self._columns.items():
            self._process(name, frame, columns, arrival, solve)

    def displayed(self, time: float) -> list[DisplayedHand]:
        """Return every hand that was ever seen, as displayed at a time in s."""
        displayed = [] if self._camera is None else self._camera.displayed(time)
        for name, hand in self._hands.items():
            pose = hand.blend.pose_at(time) if hand.blend is not None else None
            if pose is not None and hand.live is not None and hand.blend is not None:
                is_lost, forearm = hand.blend.lost, hand.forearm.at(time)
                displayed.append(
                    DisplayedHand(name, hand.live.side, pose, is_lost, hand.missing, predicted=is_lost, forearm=forearm)
                )
        return displayed

    def hands(self) -> dict[str, FollowedHand]:
        """Return the measured hands by name."""
        measured = {name: hand.live for name, hand in self._hands.items() if hand.live is not None}
        return {**measured, **({} if self._camera is None else self._camera.hands())}

    def unmeasured(self) -> list[str]:
        """Return the names of hands that are sent and have been seen, but are not measured yet."""
        unmeasured = [
            name
            for name, hand in self._hands.items()
            if name in self._columns and hand.live is None and np.any(hand.ever_seen) and name not in self._problems
        ]
        return [*unmeasured, *([] if self._camera is None else self._camera.unmeasured())]

    def measure_again(self) -> None:
        """Measure each hand again on the next frames. Until then it is solved with its current measurements."""
        for hand in self._hands.values():
            hand.buffer = MeasuringBuffer(hand.labels)
        if self._camera is not None:
            self._camera.measure_again()

    def _find_columns(self, names: tuple[str, ...]) -> None:
        """Find the hands in frames with these labels."""
        self._names, self._columns = names, {}
        groups, problem = self._cached_hands(names)
        followed = list(groups)[:MAX_HANDS]
        if len(groups) > MAX_HANDS:
            problem = f"{len(groups)} hands are sent, at most {MAX_HANDS} are followed"
        self._problems.pop("", None)
        if problem:
            self._problems[""] = problem
        for group in followed:
            labels = tuple(groups[group])
            if group not in self._hands:
                if len(self._hands) >= MAX_HANDS:
                    self._forget_hand(set(followed))
                self._hands[group] = _TrackedHand(
                    labels, MeasuringBuffer(labels), forearm=ForearmBlend(late=self._is_late)
                )
            self._hands[group].relabel(labels)
            self._columns[group] = _columns(names, self._hands[group].labels)

    def _forget_hand(self, sent: set[str]) -> None:
        """Remove a hand that is not in `sent`: an unmeasured one if any, else the one unseen for longest."""
        unsent = {name: hand for name, hand in self._hands.items() if name not in sent}
        forgotten = min(unsent, key=lambda name: (unsent[name].live is not None, unsent[name].last_seen))
        del self._hands[forgotten]
        self._problems.pop(forgotten, None)

    def _find_hands(self, names: tuple[str, ...]) -> tuple[Groups, str]:
        """Find hands by the recipe's marker map if its labels occur, or else by the labels themselves.

        Return the hands, and an error message if there is none.
        """
        try:
            groups = {} if self._recipe.markers is None else from_json(self._recipe.markers, "marker map")
            present = {
                group: {label: spot for label, spot in spots.items() if label in names}
                for group, spots in groups.items()
            }
            return {group: spots for group, spots in present.items() if spots} or suggest(names).groups, ""
        except MarkerMapError as error:
            return {}, str(error)

    def _process(self, name: str, frame: Frame, columns: list[int], arrival: float, solve: bool) -> None:
        """Process a hand of a frame that arrived at `arrival` s: measure it, or solve it if `solve` is set."""
        hand = self._hands[name]
        positions, rotations = _points(frame, columns)
        time = arrival if frame.time is None else frame.time
        seen = np.all(np.isfinite(positions), axis=-1)
        hand.count_missing(seen)
        if seen.any():
            hand.last_seen = arrival
        buffer = hand.buffer if self._measures and hand.pending is None else None
        if buffer is not None and buffer.add(time, positions, rotations):
            hand.pending = self._worker.submit(self._measure, self._drives(name), buffer)
            hand.buffer = None
        if hand.pending is not None and hand.pending.done():
            measured, hand.pending = hand.pending, None
            self._finish_measuring(name, hand, measured, arrival)
        if solve and hand.live is not None and hand.blend is not None:
            if hand.live.labels != hand.labels:
                positions, rotations = _points(frame, _columns(frame.names, hand.live.labels))
            if np.isfinite(positions).any():
                was_lost = hand.blend.update(hand.live.solve(time, positions, rotations), arrival)
                hand.forearm.update(hand.live.forearm(frame), arrival, was_away=was_lost)

    def _drives(self, name: str) -> DrivenHand:
        """Return the rig's hand that a hand drives. The hand has been seen for long enough to be measured."""
        if name not in self.appeared:
            self.appeared.append(name)
        return self._rig(name)

    def _measure(self, driven: DrivenHand, buffer: MeasuringBuffer) -> LiveHand:
        """Measure a hand. Runs in the worker thread: reads only attributes of the session that never change."""
        result = buffer.measure(self._recipe)
        live = LiveHand(result, self._solver, self._angles, driven.limits.get(result.side, RigLimits({})))
        if driven.needs_skin:
            live.skin = surface(live.measured.proportions)
        return live

    def _finish_measuring(self, name: str, hand: _TrackedHand, measured: "Future[LiveHand]", time: float) -> None:
        """Use a hand that has been measured, or note why it could not be and try again."""
        try:
            live = measured.result()
            self._check_side(name, live.side)
        except KnuckleError as error:
            self._problems[name] = str(error)
            # The next frames may show more of the hand.
            hand.buffer = hand.buffer or MeasuringBuffer(hand.labels)
            return
        self._problems.pop(name, None)
        hand.live = live
        # A hand that was displayed before blends to its new measurements.
        if hand.blend is None or hand.blend.hand.side != live.side:
            hand.blend = DropoutBlend(live.hand)
        hand.blend.set_hand(live.hand, time)
        hand.forearm.start_blend(time)

    def _check_side(self, name: str, side: Side) -> None:
        """Raise HandError if the performer has another hand of this side, as both would drive the same hand."""
        for other_name, hand in self._hands.items():
            same_side = hand.live is not None and hand.live.side == side
            if same_side and other_name != name and subject_of(other_name) == subject_of(name):
                raise HandError(
                    f"'{name}' has the shape of a {side} hand, as '{other_name}' has: hold both hands flat and apart, "
                    "and measure again"
                )


def _columns(names: tuple[str, ...], labels: tuple[str, ...]) -> list[int]:
    """Return the column (T,) of each label among the names, -1 for a label that is missing."""
    return [names.index(label) if label in names else -1 for label in labels]


def _points(frame: Frame, columns: list[int]) -> tuple[Floats, Floats]:
    """Return positions (T, 3) in m and rotations (T, 4) of a frame's columns, NaN for column -1 or if unknown."""
    present = np.array(columns)[:, None] >= 0
    positions = np.where(present, frame.positions[columns], np.nan)
    if frame.rotations is None:
        return positions, np.full((len(columns), 4), np.nan)
    return positions, np.where(present, frame.rotations[columns], np.nan)
