"""A live session: whatever hands a device's frames hold are found, measured, solved and kept apart."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ... import solvers
from ...capture.frame import KEPT, Frame
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
"""Of all performers."""
MOST_NAMES = 4
"""Sets of names of frames that come together."""


@dataclass(frozen=True, slots=True, eq=False)
class DrivenHand:
    """What a hand is to drive."""

    allowed: Mapping[Side, RigLimits] = field(default_factory=dict)
    """What its rig lets it do, by the side that it turns out to be."""
    skinned: bool = False
    """Whether it is a new hand, whose skin is to be worked out."""


RigOf = Callable[[str], DrivenHand]
"""Name of a hand -> what it drives."""


def no_rig(_hand: str) -> DrivenHand:
    """No rig that limits a hand."""
    return DrivenHand()


@dataclass(frozen=True, slots=True, eq=False)
class DisplayedHand:
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
    labels: tuple[str, ...]
    """(T,) as they come now."""
    gathering: MeasuringBuffer | None
    """What it is to be measured on; None while it need not be."""
    measuring: "Future[LiveHand] | None" = None
    live: LiveHand | None = None
    presence: DropoutBlend | None = None
    ever: "NDArray[np.bool_] | None" = None
    """(T,) which points have been seen at all: no device tells all."""
    missing: int = 0

    def note(self, seen: "NDArray[np.bool_]") -> None:
        """Counts the points (T,) of a frame."""
        self.ever = seen if self.ever is None else self.ever | seen
        self.missing = int(np.count_nonzero(self.ever & ~seen))

    def relabel(self, labels: tuple[str, ...]) -> None:
        """Other labels come: it is measured on these, and solved by those that it knows till then."""
        if set(labels) != set(self.labels):
            self.labels, self.ever = labels, None
            known = self.live is not None and set(self.live.labels) == set(labels)
            self.gathering = None if known else MeasuringBuffer(labels)


class Session:
    """Feed it frames as they come, and ask what is to be shown whenever a picture is made."""

    def __init__(self, recipe: Recipe, drive: DriveChoice = "targets", rig: RigOf = no_rig) -> None:
        """recipe: its solver, settings, smoothing, markers, performer and hand count; rig: asked before a hand is
        measured.

        Any smoothing is the live one. Raises RecipeError for a solver, a smoothing or a setting that is not known.
        """
        self._recipe, self._drive, self._rig = recipe, drive, rig
        self._solver = solvers.make(recipe.solver, recipe.settings)
        smoothing = solvers.make_smoothing(recipe.smoothing, recipe.smoothing_settings)
        if not isinstance(smoothing, NoSmoothing):
            # What knows all frames of a take cannot be had of one that is still coming.
            self._solver = LiveSmoothedSolver(
                self._solver, smoothing if isinstance(smoothing, LiveSmoothing) else LiveSmoothing()
            )
        self._hands: dict[str, _Hand] = {}
        self._names: tuple[str, ...] = ()
        self._columns: dict[str, list[int]] = {}
        # Frames with and without a hand may take turns, and finding hands takes as long as solving them.
        self._told = lru_cache(KEPT)(self._find)
        self.came: list[str] = []
        """The hands that were seen, in the order in which they came."""
        self.problems: dict[str, str] = {}
        """Hand -> why it is not shown, a sentence."""
        self.kept: TakeBuffer | None = None
        """Each frame by the device's clock, while a take is kept."""
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
                # A hand that is away from beginning to end is none of the take's.
                shown = [one for one in self.show(at) if not one.lost or one.name in self.kept]
                self.kept.add(time, {one.name: one.pose for one in shown})

    def show(self, now: float) -> list[DisplayedHand]:
        """Every hand that was ever seen, as it is to be shown at `now` s."""
        shown = []
        for name, hand in self._hands.items():
            pose = hand.presence.show(now) if hand.presence is not None else None
            if pose is not None and hand.live is not None and hand.presence is not None:
                shown.append(DisplayedHand(name, hand.live.side, pose, hand.presence.lost, hand.missing))
        return shown

    def hands(self) -> dict[str, LiveHand]:
        """The hands that are measured, by name."""
        return {name: hand.live for name, hand in self._hands.items() if hand.live is not None}

    def waiting(self) -> list[str]:
        """The hands that came and are not measured yet."""
        came = [name for name, hand in self._hands.items() if hand.live is None and hand.ever is not None]
        return [name for name in came if np.any(self._hands[name].ever) and name not in self.problems]

    def measure_again(self) -> None:
        """Each hand is measured on what comes next, and goes on by its measures so far till then."""
        for hand in self._hands.values():
            hand.gathering = MeasuringBuffer(hand.labels)

    def _look(self, names: tuple[str, ...]) -> None:
        """Which hands a frame of other names holds."""
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
        """In the worker's thread: touches nothing of the session but what never changes."""
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
            # What comes next may tell more.
            hand.gathering = hand.gathering or MeasuringBuffer(hand.labels)
            return
        self.problems.pop(name, None)
        hand.live = live
        # Where it was shown before, it is shown on, by its new measures.
        if hand.presence is None or hand.presence.hand.side != live.side:
            hand.presence = DropoutBlend(live.hand)
        hand.presence.measured(live.hand, at)

    def _check_side(self, name: str, side: Side) -> None:
        """Raises HandError for a performer's second hand of one side: both would drive the same one."""
        for other, hand in self._hands.items():
            twice = hand.live is not None and hand.live.side == side
            if twice and other != name and person_of(other) == person_of(name):
                raise HandError(
                    f"'{name}' has the shape of a {side} hand, which '{other}' is already: hold both hands apart and "
                    "flat, and measure again"
                )


def _columns(names: tuple[str, ...], labels: tuple[str, ...]) -> list[int]:
    """(T,) where labels are among the names, -1 for one that is not."""
    return [names.index(label) if label in names else -1 for label in labels]


def _points(frame: Frame, columns: list[int]) -> tuple[Floats, Floats]:
    """(T, 3) m and (T, 4) of columns of a frame, NaN for -1 and where not told."""
    there = np.array(columns) >= 0
    positions = np.where(there[:, None], frame.positions[columns], np.nan)
    if frame.rotations is None:
        return positions, np.full((len(columns), 4), np.nan)
    return positions, np.where(there[:, None], frame.rotations[columns], np.nan)
