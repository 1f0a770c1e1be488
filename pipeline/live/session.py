"""A live session: find, measure and solve the hands in a device's frames."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ... import solvers
from ...capture.frame import NAMES_CACHE_SIZE, Frame
from ...errors import HandError, KnuckleError, MarkerMapError
from ...hand.joints import Side
from ...hand.kinematics import Pose
from ...hand.limits import RigLimits
from ...hand.marker_sets import Groups, from_json, person_of, suggest
from ...hand.mesh.surface import surface
from ...solvers.smoothing.live_smoother import LiveSmoothedSolver, LiveSmoothing
from ...solvers.smoothing.smoothing_kinds import NoSmoothing
from ..recipe import DriveChoice, Recipe
from .dropout_blend import DropoutBlend
from .live_hand import LiveHand
from .measuring_buffer import MeasuringBuffer
from .take_buffer import TakeBuffer

Floats = NDArray[np.float64]

MOST_HANDS = 16
"""Hands of all performers together that a session follows."""
MOST_NAMES = 4
"""Different lists of labels that are looked at among frames that arrive together."""


@dataclass(frozen=True, slots=True, eq=False)
class DrivenHand:
    """What a hand drives."""

    allowed: Mapping[Side, RigLimits] = field(default_factory=dict)
    """The rig's limits for each side: the hand's side is not known before it is measured."""
    skinned: bool = False
    """Whether it drives a new hand, which needs a skin."""


RigOf = Callable[[str], DrivenHand]
"""Returns what the hand of a name drives."""


def no_rig(_hand: str) -> DrivenHand:
    """Drive no rig: the hand has no limits besides its own."""
    return DrivenHand()


@dataclass(frozen=True, slots=True, eq=False)
class DisplayedHand:
    """A hand as it is displayed now."""

    name: str
    """Such as 'right' or 'Anna left'."""
    side: Side
    pose: Pose
    """One frame."""
    lost: bool
    """Whether it is not seen, and is easing to rest or has reached it."""
    missing: int
    """Number of points that were seen before and are not seen now."""


@dataclass(slots=True, eq=False)
class _Hand:
    labels: tuple[str, ...]
    """(T,) labels in the current frames."""
    gathering: MeasuringBuffer | None
    """Frames to measure the hand on; None while it need not be measured."""
    measuring: "Future[LiveHand] | None" = None
    live: LiveHand | None = None
    presence: DropoutBlend | None = None
    ever: "NDArray[np.bool_] | None" = None
    """(T,) which points have ever been seen: no device sends all of them."""
    missing: int = 0

    def note(self, seen: "NDArray[np.bool_]") -> None:
        """Count the points that are missing in a frame, from which of them are seen (T,)."""
        self.ever = seen if self.ever is None else self.ever | seen
        self.missing = int(np.count_nonzero(self.ever & ~seen))

    def relabel(self, labels: tuple[str, ...]) -> None:
        """Measure the hand again if its labels have changed. Until then it is solved with the labels it knows."""
        if set(labels) != set(self.labels):
            self.labels, self.ever = labels, None
            known = self.live is not None and set(self.live.labels) == set(labels)
            self.gathering = None if known else MeasuringBuffer(labels)


class Session:
    """Feed it frames as they come, and ask what is to be shown whenever a picture is made."""

    def __init__(self, recipe: Recipe, drive: DriveChoice = "targets", rig: RigOf = no_rig) -> None:
        """Of the recipe, solver, settings, smoothing, markers, performer and hand are used; any smoothing becomes live.

        rig: called with a hand's name before the hand is measured. Raises RecipeError for an unknown solver, smoothing
        or setting.
        """
        self._recipe, self._drive, self._rig = recipe, drive, rig
        self._solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        if not isinstance(smoothing, NoSmoothing):
            # Smoothing over whole takes needs frames that have not arrived yet.
            self._solver = LiveSmoothedSolver(
                self._solver, smoothing if isinstance(smoothing, LiveSmoothing) else LiveSmoothing()
            )
        self._hands: dict[str, _Hand] = {}
        self._names: tuple[str, ...] = ()
        self._columns: dict[str, list[int]] = {}
        # Frames with and without a hand may alternate, and finding hands takes as long as solving them.
        self._told = lru_cache(NAMES_CACHE_SIZE)(self._find)
        self.came: list[str] = []
        """Names of the hands that have been seen, in order of appearance."""
        self.problems: dict[str, str] = {}
        """Hand -> a sentence why it is not displayed."""
        self.kept: TakeBuffer | None = None
        """The displayed poses on the device's clock while a take is recorded; None otherwise."""
        # Measuring takes as long as several frames, and hands that are measured already must not wait for it.
        self._worker = ThreadPoolExecutor(1, "knuckle measuring")

    def close(self) -> None:
        """Cancel measuring."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def feed(self, frames: Sequence[tuple[Frame, float]]) -> None:
        """Solve the hands of new frames, each given with its time of arrival in s.

        Of frames that arrive together only the newest is solved, so as not to fall behind; all are solved while a take
        is recorded.
        """
        newest = {id(frame.names): frame for frame, _ in frames}
        if len(newest) > MOST_NAMES:
            # No device changes its labels all the time: only frames with the last ones are used.
            frames = [(frame, at) for frame, at in frames if frame.names is frames[-1][0].names]
        for frame, at in frames:
            solved = self.kept is not None or newest[id(frame.names)] is frame
            if frame.names is not self._names:
                self._look(frame.names)
            for name, columns in self._columns.items():
                self._one(name, frame, columns, at, solved)
            if self.kept is not None:
                time = at if frame.time is None else frame.time
                # A hand that is lost throughout the take is no part of it.
                shown = [one for one in self.show(at) if not one.lost or one.name in self.kept]
                self.kept.add(time, {one.name: one.pose for one in shown})

    def show(self, now: float) -> list[DisplayedHand]:
        """Return each hand that was ever seen, as it is displayed at `now` s."""
        shown = []
        for name, hand in self._hands.items():
            pose = hand.presence.show(now) if hand.presence is not None else None
            if pose is not None and hand.live is not None and hand.presence is not None:
                shown.append(DisplayedHand(name, hand.live.side, pose, hand.presence.lost, hand.missing))
        return shown

    def hands(self) -> dict[str, LiveHand]:
        """Return the measured hands by name."""
        return {name: hand.live for name, hand in self._hands.items() if hand.live is not None}

    def waiting(self) -> list[str]:
        """Return the names of hands that have been seen but are not measured yet."""
        came = [name for name, hand in self._hands.items() if hand.live is None and hand.ever is not None]
        return [name for name in came if np.any(self._hands[name].ever) and name not in self.problems]

    def measure_again(self) -> None:
        """Measure each hand again on the next frames. Until then it is solved with its current measurements."""
        for hand in self._hands.values():
            hand.gathering = MeasuringBuffer(hand.labels)

    def _look(self, names: tuple[str, ...]) -> None:
        """Find the hands in frames with these labels."""
        self._names, self._columns = names, {}
        groups, problem = self._told(names)
        self.problems.pop("", None)
        if problem:
            self.problems[""] = problem
        for group, spots in groups.items():
            labels = tuple(spots)
            if group not in self._hands:
                if len(self._hands) >= MOST_HANDS:
                    self.problems[group] = f"{MOST_HANDS} hands are followed already, no more can be"
                    continue
                self._hands[group] = _Hand(labels, MeasuringBuffer(labels))
            self._hands[group].relabel(labels)
            self._columns[group] = _columns(names, self._hands[group].labels)

    def _find(self, names: tuple[str, ...]) -> tuple[Groups, str]:
        """Find hands by the recipe's marker map if its labels occur, else by the labels themselves.

        Returns the hands, and a sentence if there is none.
        """
        try:
            groups = {} if self._recipe.markers is None else from_json(self._recipe.markers, "marker map")
            there = {
                group: {label: spot for label, spot in spots.items() if label in names}
                for group, spots in groups.items()
            }
            return {group: spots for group, spots in there.items() if spots} or suggest(names).groups, ""
        except MarkerMapError as error:
            return {}, str(error)

    def _one(self, name: str, frame: Frame, columns: list[int], at: float, solved: bool) -> None:
        hand = self._hands[name]
        positions, turns = _points(frame, columns)
        time = at if frame.time is None else frame.time
        hand.note(np.all(np.isfinite(positions), axis=-1))
        if name not in self.came and np.any(hand.ever):
            self.came.append(name)
        if hand.gathering is not None and hand.measuring is None and hand.gathering.add(time, positions, turns):
            hand.measuring = self._worker.submit(self._measured, self._rig(name), hand.gathering)
            hand.gathering = None
        if hand.measuring is not None and hand.measuring.done():
            measured, hand.measuring = hand.measuring, None
            self._begin(name, hand, measured, at)
        if solved and hand.live is not None and hand.presence is not None:
            if hand.live.labels != hand.labels:
                positions, turns = _points(frame, _columns(frame.names, hand.live.labels))
            if np.isfinite(positions).any():
                hand.presence.see(hand.live.solve(time, positions, turns), at)

    def _measured(self, driven: DrivenHand, gathering: MeasuringBuffer) -> LiveHand:
        """Measure a hand. Runs in the worker thread: reads only attributes of the session that never change."""
        gathered = gathering.end(self._recipe)
        live = LiveHand(gathered, self._solver, self._drive, driven.allowed.get(gathered.side, RigLimits({})))
        if driven.skinned:
            live.skin = surface(live.measured.proportions)
        return live

    def _begin(self, name: str, hand: _Hand, measured: "Future[LiveHand]", at: float) -> None:
        try:
            live = measured.result()
            self._check_side(name, live.side)
        except KnuckleError as error:
            self.problems[name] = str(error)
            # The next frames may show more of the hand.
            hand.gathering = hand.gathering or MeasuringBuffer(hand.labels)
            return
        self.problems.pop(name, None)
        hand.live = live
        # A hand that was displayed before blends to its new measurements.
        if hand.presence is None or hand.presence.hand.side != live.side:
            hand.presence = DropoutBlend(live.hand)
        hand.presence.measured(live.hand, at)

    def _check_side(self, name: str, side: Side) -> None:
        """Raise HandError if the performer has another hand of this side: both would drive the same one."""
        for other, hand in self._hands.items():
            twice = hand.live is not None and hand.live.side == side
            if twice and other != name and person_of(other) == person_of(name):
                raise HandError(
                    f"'{name}' has the shape of a {side} hand, which '{other}' is already: hold both hands apart and "
                    "flat, and measure again"
                )


def _columns(names: tuple[str, ...], labels: tuple[str, ...]) -> list[int]:
    """Return the column (T,) of each label among the names, -1 for a label that is missing."""
    return [names.index(label) if label in names else -1 for label in labels]


def _points(frame: Frame, columns: list[int]) -> tuple[Floats, Floats]:
    """Return positions (T, 3) in m and rotations (T, 4) of a frame's columns, NaN for column -1 or if unknown."""
    there = np.array(columns) >= 0
    positions = np.where(there[:, None], frame.positions[columns], np.nan)
    if frame.rotations is None:
        return positions, np.full((len(columns), 4), np.nan)
    return positions, np.where(there[:, None], frame.rotations[columns], np.nan)
