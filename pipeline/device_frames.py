"""Convert a device's joint rotations in a recorded take to the joint frames of the hand model, as live solving does."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..capture.arm_labels import forearm_rotation_labels
from ..capture.markers import Markers
from ..hand import rotations as rot
from ..hand.joint_rotations import device_offsets
from ..hand.targets import assign
from ..solvers import Solver, initial_state
from .performer import Performer

COMPARED_FRAMES = 120
"""Number of first frames from which the offsets between the device's joint frames and the model's are computed."""


def to_hand_frames(solver: Solver[Any], performer: Performer, markers: Markers) -> Markers:
    """Convert the rotations of markers to the joint frames of the performer's hands, NaN where that is unknown.

    The offset of each joint is found by comparing the device's rotations with a solution from the positions alone.
    Markers without rotations are returned unchanged.
    """
    if markers.rotations is None:
        return markers
    rotations = np.full_like(markers.rotations, np.nan)
    for measured in performer.hands.values():
        columns = [markers.names.index(label) for label in measured.spots]
        device_rotations = markers.rotations[:, columns]
        hand, targets = assign(measured.model, measured.spots, markers.times, markers.positions[:, columns])
        frames = np.flatnonzero(np.any(targets.weights > 0, axis=1))[:COMPARED_FRAMES]
        if not len(frames):
            continue
        compared = targets.select(frames)
        pose, _ = solver.solve(hand, compared, initial_state(solver, measured))
        offsets = device_offsets(hand, compared, pose, device_rotations[frames])
        rotations[:, columns] = rot.multiply(device_rotations, offsets)
        joints = forearm_rotation_labels(measured.spots, markers.names)
        if joints is not None:
            wrist, elbow = joints
            column = markers.names.index(elbow)
            offset = offsets[list(measured.spots).index(wrist)]
            rotations[:, column] = rot.multiply(markers.rotations[:, column], offset)
    return replace(markers, rotations=rotations)
