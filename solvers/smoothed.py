"""Any solver on targets that are freed from noise as they come: live, at most one frame late."""

import math
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import RecipeError
from ..hand import rotations
from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..hand.targets import Targets
from ..temporal.live import Following, Place, Track, follow, start
from ..temporal.motion import PLACES, TURNS, Rules, Scale
from .carrier import Riders, carriers, into, out_of, riders
from .smooth import Smooth
from .solver import Solver, State

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
S = TypeVar("S", bound=State)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One frame of T targets, as far as it does not depend on later ones."""

    weights: Floats
    """(2, T) of places and turns; of those not seen, what is left of the weight they were last seen with."""
    predicted: Bools
    """(T,) places that are known and not from a sample of their own."""
    refused: Bools
    """(T,) places that were seen and left out as outliers."""


@dataclass(frozen=True, slots=True, eq=False)
class Going:
    """What is known of targets that are still coming."""

    on: Riders
    places: Track
    turns: Track
    carriers: Floats
    """(2, 4, 4) the frames beside which the fingers of the last two frames were followed, the newer first."""
    seen_weights: Floats
    """(2, T) of the place and the turn of each target when it was last seen."""
    row: Row
    """The last frame."""


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedState(State, Generic[S]):
    """The solver's own state and what is known of the targets."""

    inner: S
    going: Going


@dataclass(frozen=True, slots=True)
class Smoothed(Generic[S]):
    """A solver that is given targets without noise and outliers, `lag` frames late: pose f is that of frame f - lag.

    Each frame is worked on once and in order: a take may be solved in any pieces. A target that is lost goes on for
    `bridge` s, ever slower and with ever less weight. Raises RecipeError for a setting out of its range.
    """

    solver: Solver[S]
    lag: int = 1
    """Frames, 0 or 1."""
    calm: float = 1.0
    """How much going on straight counts against what the filters see: more shakes less and rounds turns off."""
    bridge: float = 0.1
    """s"""

    def __post_init__(self) -> None:
        if self.lag not in (0, 1) or isinstance(self.lag, bool):
            raise RecipeError(f"smoothing: lag is {self.lag!r}, expected 0 or 1 frames")
        for name, most in (("calm", 100.0), ("bridge", 0.5)):
            value = getattr(self, name)
            if not (isinstance(value, (int, float)) and math.isfinite(value) and 0 <= value <= most):
                raise RecipeError(f"smoothing: {name} is {value!r}, expected a number from 0 to {most:g}")

    def solve(
        self, hand: HandModel, targets: Targets, state: SmoothedState[S] | None = None
    ) -> tuple[Pose, SmoothedState[S]]:
        """See Solver."""
        going = state.going if state else None
        clean, going = self.follow(hand, targets, going)
        pose, inner = self.solver.solve(hand, clean.targets, state.inner if state else None)
        return pose, SmoothedState(inner.root, inner.angles, inner, going)

    def follow(self, hand: HandModel, targets: Targets, going: Going | None = None) -> tuple[Smooth, Going]:
        """The targets as the solver is given them, and what is known after them."""
        if going is None or not np.array_equal(going.on.sites, targets.sites):
            going = _begin(hand, targets)
        how = (self._following(PLACES), self._following(TURNS))
        values = targets.positions.copy()
        turns = None if targets.rotations is None else targets.rotations.copy()
        rows: list[Row] = []
        for frame in range(len(targets)):
            place, turn, row, going = _frame(targets.select(slice(frame, frame + 1)), going, how)
            values[frame] = place
            rows.append(row)
            if turns is not None and turn is not None:
                turns[frame] = turn
        return _together(targets, values, turns, rows), going

    def aligned(self, hand: HandModel, targets: Targets) -> Smooth:
        """A whole take as it is followed live, each frame in its own place: what comes late is put back."""
        if not self.lag or not len(targets):
            return self.follow(hand, targets)[0]
        late, going = self.follow(hand, targets)
        # A frame of which nothing is seen brings out the last one.
        end = targets.select(slice(-1, None))
        turned = None if end.rotation_weights is None else np.zeros_like(end.rotation_weights)
        nothing = replace(end, times=end.times + 1e-3, weights=np.zeros_like(end.weights), rotation_weights=turned)
        last, _ = self.follow(hand, nothing, going)
        return _shifted(targets, late, last)

    def _following(self, scale: Scale) -> Following:
        return Following(self.lag, self.calm, Rules(scale, self.bridge))


def _begin(hand: HandModel, targets: Targets) -> Going:
    """Before the first frame: the fingers are followed beside the palm as that frame shows it."""
    on, count = riders(hand, targets.sites), len(targets.sites)
    first = targets.select(slice(0, 1))
    frames = np.broadcast_to(np.eye(4), (2, 4, 4))
    if len(first):
        turned = np.zeros_like(first.weights) if first.rotation_weights is None else first.rotation_weights
        known = (first.weights > 0, turned > 0)
        frames = np.repeat(carriers(on, first.positions, first.rotations, known, np.eye(4)), 2, axis=0)
    nothing = Row(np.zeros((2, count)), np.zeros(count, bool), np.zeros(count, bool))
    return Going(on, start(count, 3, PLACES), start(count, 4, TURNS), frames, np.zeros((2, count)), nothing)


def _frame(one: Targets, going: Going, how: tuple[Following, Following]) -> tuple[Floats, Floats | None, Row, Going]:
    """Places (T, 3), turns (T, 4) and the row of the frame that is given out, and what is known after `one`."""
    time, on = float(one.times[0]), going.on
    late = how[0].lag > 0 and not math.isnan(going.places.time)
    beside, given_beside = going.carriers[:1], going.carriers[1:] if late else going.carriers[:1]
    seen = one.weights[0] > 0
    samples = _fingers(on, into(beside, one.positions), one.positions)[0]
    places, place = follow(going.places, time, samples, seen, how[0])
    given = _fingers(on, out_of(given_beside, place.values[None]), place.values[None])[0]
    current = _fingers(on, out_of(beside, place.current[None]), place.current[None])
    known = place.unseen <= how[0].rules.bridge
    weights, turns, turned, turn_known, turn_now = going.seen_weights.copy(), going.turns, None, known, None
    weights[0, seen] = one.weights[0, seen]
    left = np.zeros_like(weights)
    left[0] = weights[0] * _left(place, how[0])
    if one.rotations is not None and one.rotation_weights is not None:
        shown = one.rotation_weights[0] > 0
        turns, turn = follow(turns, time, _beside(on, beside, one.rotations[0], turns), shown, how[1])
        turned, turn_now = _back(on, given_beside, turn.values), _back(on, beside, turn.current)[None]
        turn_known = turn.unseen <= how[1].rules.bridge
        weights[1, shown] = one.rotation_weights[0, shown]
        left[1] = weights[1] * _left(turn, how[1])
    row = Row(left, known & (place.unseen > 0), place.refused)
    frames = carriers(on, current, turn_now, (known[None], turn_known[None]), beside[0])
    after = Going(on, places, turns, np.concatenate([frames, beside]), weights, row)
    return given, turned, going.row if late else row, after


def _left(place: Place, how: Following) -> Floats:
    """(T,) the part of its weight that a target keeps: all while it is seen, none when the bridge ends."""
    return np.asarray(np.clip(1 - place.unseen / (how.rules.bridge + 1e-9), 0.0, 1.0), np.float64)


def _fingers(on: Riders, fingers: Floats, palm: Floats) -> Floats:
    """(1, T, 3) the places of what rides on the palm from one, of the fingers from the other."""
    chosen = fingers.copy()
    chosen[:, on.places] = palm[:, on.places]
    return chosen


def _beside(on: Riders, carrier: Floats, turns: Floats, track: Track) -> Floats:
    """Turns (T, 4) of the fingers beside the carrier (1, 4, 4), all with the sign that is nearer to their track's."""
    local = rotations.multiply(rotations.conjugate(rotations.from_matrix(carrier[:, :3, :3])), turns)
    local[on.turns] = turns[on.turns]
    away = np.einsum("td,td->t", local, track.given[0]) < 0
    signed: Floats = np.where(away[:, None], -local, local)
    return signed


def _back(on: Riders, carrier: Floats, turns: Floats) -> Floats:
    """Unit turns (T, 4) in the world, of those beside the carrier (1, 4, 4)."""
    length = np.linalg.norm(turns, axis=-1, keepdims=True)
    unit = np.where(length > 1e-6, turns / np.maximum(length, 1e-6), rotations.IDENTITY)
    world = rotations.multiply(rotations.from_matrix(carrier[:, :3, :3]), unit)
    world[on.turns] = unit[on.turns]
    return world


def _together(targets: Targets, places: Floats, turns: Floats | None, rows: list[Row]) -> Smooth:
    if not rows:
        nothing = np.zeros(targets.weights.shape, bool)
        return Smooth(targets, nothing, nothing)
    weights = np.stack([row.weights for row in rows])
    turned = None if targets.rotation_weights is None else weights[:, 1]
    clean = replace(targets, positions=places, weights=weights[:, 0], rotations=turns, rotation_weights=turned)
    return Smooth(clean, np.stack([row.predicted for row in rows]), np.stack([row.refused for row in rows]))


def _shifted(targets: Targets, late: Smooth, last: Smooth) -> Smooth:
    """A take that came one frame late: its frames from the second on, and the last; times and velocities as were."""

    def joined(a: Any, b: Any) -> Any:
        return None if a is None else np.concatenate([a[1:], b])

    names = ("positions", "weights", "rotations", "rotation_weights")
    moved = {name: joined(getattr(late.targets, name), getattr(last.targets, name)) for name in names}
    predicted, refused = joined(late.predicted, last.predicted), joined(late.refused, last.refused)
    return Smooth(replace(targets, **moved), predicted, refused)
