"""Meta's marker tracker (pymomentum) on Knuckle's mean hand: fits and solves data in files, on request.

Runs in a separate environment (`pip install pymomentum-core`), since it brings its own numpy and torch;
skin_momentum.py starts it. Each line of the input is JSON {"do": "fit" or "solve", "in": npz, "out": npz, "hand": key}.
"""

import json
import sys
import time
from dataclasses import dataclass

import numpy as np
import pymomentum.marker_tracking as tracking
from pymomentum import geometry

CM = 100.0
REGULARISATION = 0.001
CALIBRATION_FRAMES = 300


@dataclass
class Hand:
    """A character with fitted locators, and its identity parameters."""

    character: geometry.Character
    identity: np.ndarray


def character_of(data) -> geometry.Character:
    """Return a character with the angles as parameters, bone lengths as scales, and a locator for each label."""
    joints = [
        geometry.Joint(
            str(name), int(parent), data["rotations"][i].astype(np.float32), (CM * data["shifts"][i]).astype(np.float32)
        )
        for i, (name, parent) in enumerate(zip(data["joints"], data["parents"], strict=True))
    ]
    skeleton = geometry.Skeleton(joints)
    names = ["root_tx", "root_ty", "root_tz", "root_rx", "root_ry", "root_rz"]
    rows = [(0, column, 1.0) for column in range(6)]
    for dof, (joint, axis) in enumerate(zip(data["axis_joint"], data["axes"], strict=True)):
        axis_index = int(np.abs(axis).argmax())
        names.append(f"dof{dof}")
        rows.append((int(joint), 3 + axis_index, float(axis[axis_index])))
    for joint in data["lengths"]:
        names.append(f"scale_{data['joints'][joint]}")
        # Of the bone that ends in the joint: in the parent's frame, along its own direction.
        rows.append((int(joint), 1, 1.0))
    transform = np.zeros((7 * len(joints), len(names)), np.float32)
    for parameter, (joint, column, factor) in enumerate(rows):
        transform[7 * joint + column, parameter] = factor
    locators = [
        geometry.Locator(str(label), int(joint), (CM * offset).astype(np.float32))
        for label, joint, offset in zip(data["labels"], data["spots"], data["offsets"], strict=True)
    ]
    character = geometry.Character(
        "hand", skeleton, geometry.ParameterTransform(names, skeleton, transform), locators=locators
    )
    limits = [
        geometry.ParameterLimit.create_minmax(6 + dof, float(low), float(high), 10.0)
        for dof, (low, high) in enumerate(data["limits"])
    ]
    # The coupling that Knuckle's own solvers use: DIP = rho PIP.
    limits += [
        geometry.ParameterLimit.create_linear(6 + int(last), 6 + int(middle), float(data["rho"]), 0.0, 1.0)
        for middle, last in data["coupled"]
    ]
    return character.with_parameter_limits(limits)


def markers_of(labels, positions):
    """Return frames of Marker; unseen markers are occluded."""
    return [
        [
            geometry.Marker(str(label), np.nan_to_num(CM * position), bool(np.isnan(position).any()))
            for label, position in zip(labels, frame, strict=True)
        ]
        for frame in positions
    ]


def fit(data) -> Hand:
    """Calibrate on the frames of the file."""
    character = character_of(data)
    config = tracking.CalibrationConfig(
        regularization=REGULARISATION, calib_frames=min(CALIBRATION_FRAMES, len(data["positions"]))
    )
    frames = markers_of(data["labels"], data["positions"])
    identity, *_ = tracking.calibrate_markers(character, np.zeros(0, np.float32), frames, config)
    return Hand(character, identity)


def solve(hand: Hand, data) -> dict[str, np.ndarray]:
    """Return the pose of each frame, and the positions of the locators."""
    frames = markers_of(data["labels"], data["positions"])
    config, still = tracking.TrackingConfig(regularization=REGULARISATION), tracking.CalibrationConfig()
    start = time.perf_counter()
    motion = tracking.process_markers(hand.character, hand.identity, frames, config, still, calibrate=False)
    seconds = time.perf_counter() - start
    motion = np.asarray(motion, np.float32)
    motion = motion if motion.shape[0] == len(frames) else motion.T
    states = np.asarray(geometry.model_parameters_to_skeleton_state(hand.character, motion))
    locators = hand.character.locators
    carried = np.stack(
        [
            states[:, locator.parent, :3]
            + rotated(states[:, locator.parent, 3:7], states[:, locator.parent, 7:8] * locator.offset)
            for locator in locators
        ],
        axis=1,
    )
    dofs = len(data["limits"])
    return {
        "carried": carried / CM,
        "places": states[:, :, :3] / CM,
        "turns": states[:, :, 3:7],
        "angles": motion[:, 6 : 6 + dofs],
        "seconds": np.array(seconds),
    }


def rotated(xyzw, vectors):
    """Return vectors (F, 3) rotated by quaternions (F, 4)."""
    u, w = xyzw[:, :3], xyzw[:, 3:]
    twice = 2 * np.cross(u, vectors)
    return vectors + w * twice + np.cross(u, twice)


def main() -> None:
    """Answer requests line by line."""
    hands: dict[str, Hand] = {}
    for line in sys.stdin:
        order = json.loads(line)
        with np.load(order["in"]) as stored:
            data = dict(stored)
        if order["do"] == "fit":
            start = time.perf_counter()
            hands[order["hand"]] = fit(data)
            np.savez(order["out"], seconds=time.perf_counter() - start)
        else:
            np.savez(order["out"], **solve(hands[order["hand"]], data))
        print("done", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
