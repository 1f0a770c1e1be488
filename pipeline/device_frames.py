"""A device's turns in a recorded take, brought to the frames of the measured hands as it is done live."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..capture.markers import Markers
from ..hand import rotations as rot
from ..hand.joint_rotations import between
from ..hand.targets import assign
from ..solvers import Solver, beginning
from .assignment import positions_of, turns_of
from .performer import Performer

FRAMES = 120
"""The first frames of a hand by which a device's frames and its own are compared."""


def in_own_frames(solver: Solver[Any], person: Performer, markers: Markers) -> Markers:
    """The markers with the turns of the person's hands as the hands' own joints have them, NaN where that is unknown.

    They are compared with what the solver makes of the positions alone. Markers without turns stay as they are.
    """
    if markers.turns is None:
        return markers
    turns = np.full_like(markers.turns, np.nan)
    for measured in person.hands.values():
        spots, told = measured.spots, turns_of(markers, measured.spots)
        hand, targets = assign(measured.model, spots, markers.times, positions_of(markers, spots))
        first = np.flatnonzero(np.any(targets.weights > 0, axis=1))[:FRAMES]
        if told is None or not len(first):
            continue
        some = targets.select(first)
        pose, _ = solver.solve(hand, some, beginning(solver, measured))
        columns = [markers.names.index(label) for label in spots]
        turns[:, columns] = rot.multiply(told, between(hand, some, pose, told[first]))
    return replace(markers, turns=turns)
