"""Landmarks of rendered videos and their truth, kept small in tests/data/camera: solving is tested without a browser.

A file is JSON in gzip: the landmarks as a camera writes them, with `truth`: the 21 joints in the camera's space in mm,
X right, Y down, Z away.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
from camera_takes import BUILD, Video, truth
from numpy.typing import NDArray
from skin_takes import ROOT

from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS
from knuckle.hand.joints import JOINT_INDEX

Floats = NDArray[np.float64]

FOLDER = ROOT / "tests" / "data" / "camera"
MAX_FRAMES = 80
"""Maximum number of frames stored of a video."""
DIGITS = 4
"""Decimal places of the stored landmarks."""


def landmarks(video: Video) -> dict[str, Any]:
    """Return the landmarks of a rendered video, as a camera writes them."""
    document: dict[str, Any] = json.loads((BUILD / video.name / "landmarks.json").read_text())
    return document


def true_joints(video: Video) -> Floats:
    """Return (F, 21, 3) m in the camera's space."""
    rows = [JOINT_INDEX[joint] for joint in LANDMARK_JOINTS]
    return truth(video).joints[:, rows][..., :3, 3]


def hand_length(joints: Floats) -> float:
    """Return m from the wrist over the middle finger's joints to its tip, of joints (F, 21, 3)."""
    chain = joints[:, [0, 9, 10, 11, 12]]
    return float(np.median(np.linalg.norm(np.diff(chain, axis=1), axis=-1).sum(axis=1)))


def keep(video: Video) -> Path:
    """Write a video's landmarks and truth for the tests."""
    document = landmarks(video)
    document["frames"] = [
        {"time_s": frame["time_s"], "hands": [_rounded(hand) for hand in frame["hands"]]}
        for frame in document["frames"][:MAX_FRAMES]
    ]
    document["truth"] = np.round(1000 * true_joints(video)[:MAX_FRAMES], 1).tolist()
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{video.name}.json.gz"
    with path.open("wb") as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.write(json.dumps(document, separators=(",", ":")).encode())
    return path


def _rounded(hand: dict[str, Any]) -> dict[str, Any]:
    points = {key: np.round(np.array(hand[key]), DIGITS).tolist() for key in ("landmarks", "world_landmarks")}
    return {**hand, **points}
