"""The performer: the measures of one person's hands, in a readable file that is kept next to the recipe."""

from dataclasses import dataclass
from typing import Any

from .errors import RecipeError
from .hand.calibration import from_json, to_json
from .hand.joints import SIDES, Side
from .hand.markersets import Spot
from .hand.markersets import from_json as spots_from_json
from .hand.markersets import to_json as spots_to_json
from .hand.proportions import Proportions

FORMAT = "knuckle performer 1"


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredHand:
    """One hand's measures, and where on it the markers were found to sit."""

    proportions: Proportions
    spots: dict[str, Spot]
    """label -> spot."""


@dataclass(frozen=True, slots=True, eq=False)
class Performer:
    """One person's hands."""

    capture: str
    """What they were measured on."""
    hands: dict[Side, MeasuredHand]

    def hand(self, side: Side, spots: dict[str, Spot]) -> MeasuredHand:
        """The hand of this side with the markers that a capture has (label -> spot).

        Where only the other hand was measured this is its mirror image. A label that was measured sits where it was
        found, if it is still said to sit at that joint.
        """
        if side in self.hands:
            known = self.hands[side]
            found = {label: known.spots.get(label, spot) for label, spot in spots.items()}
            agreed = {
                label: found[label] if found[label].joint == spot.joint else spot for label, spot in spots.items()
            }
            return MeasuredHand(known.proportions, agreed)
        return MeasuredHand(next(iter(self.hands.values())).proportions.mirrored(), spots)


def to_dict(performer: Performer) -> dict[str, Any]:
    """What the file holds: millimetres by joint, the markers' places, and the capture they were measured on."""
    markers = {side: hand.spots for side, hand in performer.hands.items()}
    return {
        "format": FORMAT,
        "capture": performer.capture,
        "hands": {side: to_json(hand.proportions) for side, hand in performer.hands.items()},
        "markers": spots_to_json({str(side): spots for side, spots in markers.items()}),
    }


def from_dict(data: object, where: str) -> Performer:
    """A decoded performer file. Raises RecipeError, HandError or MarkerMapError naming `where` and what is wrong."""
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("hands"), dict):
        raise RecipeError(f"{where}: not a performer file, expected '{FORMAT}' with 'hands'")
    found = [side for side in SIDES if side in data["hands"]]
    if not found:
        raise RecipeError(f"{where}: holds neither a left nor a right hand")
    markers = spots_from_json(data["markers"], where) if data.get("markers") else {}
    hands = {
        side: MeasuredHand(from_json(side, data["hands"][side], f"{where}, {side}"), markers.get(side, {}))
        for side in found
    }
    return Performer(str(data.get("capture", "")), hands)
