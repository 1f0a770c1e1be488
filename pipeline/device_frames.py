"""Convert a device's joint rotations in a recorded take to the joint frames of the hand model, as live solving does."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..capture.markers import Markers
from ..hand import rotations as rot
from ..hand.joint_rotations import device_offsets
from ..hand.targets import assign
from ..solvers import Solver, initial_state
from .assignment import positions_of, turns_of
from .performer import Performer

FRAMES = 120
"""How many frames of a hand, from the first, the offsets between the device's frames and its own are computed from."""


def in_own_frames(solver: Solver[Any], person: Performer, markers: Markers) -> Markers:
    """Convert the rotations of markers to the joint frames of the performer's hands, NaN where that is unknown.

    The offset of each joint is found by comparing the device's rotations with a solution from the positions alone.
    Markers without rotations are returned unchanged.
    """
    if markers.rotations is None:
        return markers
    turns = np.full_like(markers.rotations, np.nan)
    for measured in person.hands.values():
        spots, told = measured.spots, turns_of(markers, measured.spots)
        hand, targets = assign(measured.model, spots, markers.times, positions_of(markers, spots))
        first = np.flatnonzero(np.any(targets.weights > 0, axis=1))[:FRAMES]
        if told is None or not len(first):
            continue
        some = targets.select(first)
        pose, _ = solver.solve(hand, some, initial_state(solver, measured))
        columns = [markers.names.index(label) for label in spots]
        turns[:, columns] = rot.multiply(told, device_offsets(hand, some, pose, told[first]))
    return replace(markers, rotations=turns)
