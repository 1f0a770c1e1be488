"""A live session: whatever hands a device's frames hold are found, measured, solved and kept apart."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .. import solvers
from ..errors import KnuckleError, MarkerMapError
from ..hand.joints import Side
from ..hand.kinematics import Pose
from ..hand.limits import Allowed
from ..hand.markersets import Groups, from_json, suggest
from ..recipe import DriveChoice, Recipe
from ..solvers.smoothing.kinds import Off
from ..solvers.smoothing.smoothed import Live, Smoothed
from ..streams.frame import KEPT, Frame
from .gathering import Gathering
from .hand import LiveHand
from .presence import Presence

Floats = NDArray[np.float64]

MOST_HANDS = 16
"""Of all performers."""
MOST_NAMES = 4
"""Sets of names of frames that come together."""

RigOf = Callable[[str, Side], Allowed]
"""Name and side of a hand -> what its rig lets it do."""


def unlimited(_hand: str, _side: Side) -> Allowed:
    """A rig without limits."""
    return Allowed({})


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A hand as it is to be shown now."""

    name: str
    """What it is called: 'right', 'Anna left'."""
    side: Side
    pose: Pose
    """One frame."""
    lost: bool
    """Whether it is not seen, and eases to rest or is there."""
    missing: int
    """Points that came before and do not come now."""


@dataclass(slots=True, eq=False)
class _Hand:
    gathering: Gathering
    measuring: "Future[LiveHand] | None" = None
    live: LiveHand | None = None
    presence: Presence | None = None
    ever: "NDArray[np.bool_] | None" = None
    """(T,) which points have been seen at all: no device tells all."""
    missing: int = 0

    def note(self, seen: "NDArray[np.bool_]") -> None:
        """Counts the points (T,) of a frame."""
        self.ever = seen if self.ever is None else self.ever | seen
        self.missing = int(np.count_nonzero(self.ever & ~seen))


class Session:
    """Feed it frames as they come, and ask what is to be shown whenever a picture is made."""

    def __init__(self, recipe: Recipe, drive: DriveChoice = "targets", rig: RigOf = unlimited) -> None:
        """recipe: its solver, settings, smoothing, markers, performer and hand count; rig: what that of a hand, by name
        and side, lets it do, asked by another thread.

        Any smoothing is the live one. Raises RecipeError for a solver, a smoothing or a setting that is not known.
        """
        self._recipe, self._drive, self._rig = recipe, drive, rig
        self._solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        if not isinstance(smoothing, Off):
            # What knows all frames of a take cannot be had of one that is still coming.
            self._solver = Smoothed(self._solver, smoothing if isinstance(smoothing, Live) else Live())
        self._hands: dict[str, _Hand] = {}
        self._names: tuple[str, ...] = ()
        self._columns: dict[str, list[int]] = {}
        # Frames with and without a hand may take turns, and finding hands takes as long as solving them.
        self._told = lru_cache(KEPT)(self._find)
        self.problems: dict[str, str] = {}
        """Hand -> why it is not shown, a sentence."""
        self.kept: list[tuple[float, dict[str, Pose]]] | None = None
        """(s by the device's clock, hand -> as it was shown) of each frame, while a take is kept."""
        # Measuring takes as long as some frames, for which those that are measured already must not wait.
        self._worker = ThreadPoolExecutor(1, "knuckle measuring")

    def close(self) -> None:
        """Ends what is still being measured."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def feed(self, frames: Sequence[tuple[Frame, float]]) -> None:
        """Solves all hands of the newest frames, each with when it came, s; of all frames while a take is kept.

        Of frames that come together the newest is shown: who solved them all where time is short would fall behind.
        """
        newest = {id(frame.names): frame for frame, _ in frames}
        if len(newest) > MOST_NAMES:
            # No device names its points anew all the time: only the last are looked at.
            frames = [(frame, at) for frame, at in frames if frame.names is frames[-1][0].names]
        for frame, at in frames:
            solved = self.kept is not None or newest[id(frame.names)] is frame
            if frame.names is not self._names:
                self._look(frame.names)
            for name, columns in self._columns.items():
                self._one(name, frame, columns, at, solved)
            if self.kept is not None:
                time = at if frame.time is None else frame.time
                self.kept.append((time, {shown.name: shown.pose for shown in self.show(at)}))

    def show(self, now: float) -> list[Shown]:
        """Every hand that was ever seen, as it is to be shown at `now` s."""
        shown = []
        for name, hand in self._hands.items():
            pose = hand.presence.show(now) if hand.presence is not None else None
            if pose is not None and hand.live is not None and hand.presence is not None:
                shown.append(Shown(name, hand.live.side, pose, hand.presence.lost, hand.missing))
        return shown

    def hands(self) -> dict[str, LiveHand]:
        """The hands that are measured, by name."""
        return {name: hand.live for name, hand in self._hands.items() if hand.live is not None}

    def waiting(self) -> list[str]:
        """The hands that came and are not measured yet."""
        came = [name for name, hand in self._hands.items() if hand.live is None and hand.ever is not None]
        return [name for name in came if np.any(self._hands[name].ever) and name not in self.problems]

    def measure_again(self) -> None:
        """Forgets the hands' measures: each is measured on what comes next, and shown as it was till then."""
        for hand in self._hands.values():
            hand.live = None

    def _look(self, names: tuple[str, ...]) -> None:
        """Which hands a frame of other names holds."""
        self._names, self._columns = names, {}
        groups, problem = self._told(names)
        self.problems.pop("", None)
        if problem:
            self.problems[""] = problem
        for group, spots in groups.items():
            known = self._hands.get(group)
            if known is None or set(known.gathering.labels) != set(spots):
                if known is None and len(self._hands) >= MOST_HANDS:
                    continue
                self._hands[group] = known = _Hand(Gathering(tuple(spots)))
            self._columns[group] = [names.index(label) for label in known.gathering.labels]

    def _find(self, names: tuple[str, ...]) -> tuple[Groups, str]:
        """The hands by the recipe's marker map where its labels come, else by their own names; why there is none."""
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
        positions = frame.positions[columns]
        turns = np.full((len(columns), 4), np.nan) if frame.rotations is None else frame.rotations[columns]
        time = at if frame.time is None else frame.time
        hand.note(np.all(np.isfinite(positions), axis=-1))
        if hand.live is None and hand.measuring is None and hand.gathering.add(time, positions, turns):
            hand.measuring = self._worker.submit(self._measured, name, hand.gathering)
        if hand.measuring is not None and hand.measuring.done():
            self._begin(name, hand, hand.measuring)
            hand.measuring = None
        if solved and hand.live is not None and hand.presence is not None and np.isfinite(positions).any():
            hand.presence.see(hand.live.solve(time, positions, turns), at)

    def _measured(self, name: str, gathering: Gathering) -> LiveHand:
        """In the worker's thread: touches nothing of the session but what never changes."""
        gathered = gathering.end(self._recipe)
        return LiveHand(gathered, self._solver, self._drive, self._rig(name, gathered.side))

    def _begin(self, name: str, hand: _Hand, measured: "Future[LiveHand]") -> None:
        try:
            hand.live = measured.result()
        except KnuckleError as error:
            self.problems[name] = str(error)
            return
        self.problems.pop(name, None)
        # Where it was shown before, it is shown on, by its new measures.
        if hand.presence is None or hand.presence.hand.side != hand.live.side:
            hand.presence = Presence(hand.live.hand)
        hand.presence.hand = hand.live.hand
