"""Learn a marker map from a labelled take, for labelling other takes of the same markers by shape."""

from dataclasses import replace

import numpy as np

from ..capture.markers import Markers
from ..hand.calibration.skin_markers import Recording, fit_hands
from ..hand.generators import run_to_end
from ..hand.marker_sets import Groups, Spot
from .assignment import Reader, assign_hands, label_markers, positions_of, read, read_file
from .recipe import Recipe


def learn_markers(recipe: Recipe, reader: Reader = read_file) -> tuple[Groups, tuple[str, ...]]:
    """Return a marker map with the spots on the skin of each hand in a recipe's labelled capture, and notes.

    The labels of the capture, or the recipe's map, give the joint near each marker; the motion gives its bone and
    offset. Raises MarkerMapError if the labels name no hand, HandError if too few frames show one.
    """
    markers: Markers = read(recipe, run_to_end(reader(recipe)))
    recipe = replace(recipe, labels="names")
    markers = label_markers(recipe, markers).markers
    hands = assign_hands(recipe, markers).hands
    result = fit_hands(
        {side: Recording([positions_of(markers, spots)], markers.rate, spots) for side, spots in hands.items()}
    )
    for problem in result.problems.values():
        raise problem
    groups: Groups = {
        side: {label: _rounded(spot) for label, spot in fitted.spots().items()} for side, fitted in result.fits.items()
    }
    return groups, result.notes


def _rounded(spot: Spot) -> Spot:
    """Return a spot to a tenth of a millimetre. The map's offset points to the little finger on both hands."""
    x, y, z = np.round(spot.offset, 4).tolist()
    return Spot(spot.joint, (x, y, z))
