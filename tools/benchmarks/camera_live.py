"""Landmarks of a video as a live camera sends them: followed frame by frame, and scored."""

import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np
from camera_scores import Score
from numpy.typing import NDArray

from knuckle.capture.files.mediapipe_json import hands_in, picture_frame
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS, PictureFrame, PictureSize
from knuckle.hand.joints import JOINT_INDEX
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.pipeline.live.camera_following import CameraHands
from knuckle.pipeline.live.displayed_hand import no_rig
from knuckle.pipeline.recipe import Recipe

Floats = NDArray[np.float64]

LIVE_HEAD = ["video", "PA-MPJPE mm", "ratio", "p95 mm", "MPJPE mm", "jitter", "bends °", "leaps", "wrist %", "ms"]
ROWS = [JOINT_INDEX[joint] for joint in LANDMARK_JOINTS]


@dataclass(frozen=True, slots=True, eq=False)
class Streamed:
    """Results of F frames."""

    joints: Floats
    """(F, 21, 3) m in the camera's space, NaN until the hand is measured."""
    angles: Floats
    """(F, D) rad"""
    milliseconds: Floats
    """(F,) of the processor, without the measuring, which runs beside."""

    @property
    def first(self) -> int:
        """The first frame in which the hand is displayed."""
        return int(np.argmax(np.isfinite(self.joints).all(axis=(1, 2))))


def streamed(document: dict[str, Any], recipe: Recipe) -> Streamed:
    """Follow the hand of a video that is followed first. Measuring takes no time here."""
    hands = CameraHands(recipe, no_rig, _at_once)
    joints, angles, spent = [], [], []
    for at, picture in pictures(document):
        started, measuring = time.thread_time(), _Spent.seconds
        hands.feed(picture, at, at)
        spent.append(1000 * (time.thread_time() - started - _Spent.seconds + measuring))
        shown = hands.displayed(at)
        pose = shown[0].pose if shown else None
        joints.append(np.full((21, 3), np.nan) if pose is None else in_camera(pose))
        angles.append(np.full(26, np.nan) if pose is None else pose.angles[0])
    return Streamed(np.array(joints), np.array(angles), np.array(spent))


def live_cells(detector: Score, take: Score, live: Score, milliseconds: float) -> list[str]:
    """Return a row of the table: the detector's own, live, and of the whole take."""
    three = (detector, live, take)
    figures = ("pa_mpjpe", "pa_p95", "mpjpe", "jitter", "bend")
    pa, p95, about, jitter, bend = (" → ".join(f"{getattr(one, name):.1f}" for one in three) for name in figures)
    return [
        pa,
        f"{live.pa_mpjpe / detector.pa_mpjpe:.2f}",
        p95,
        about,
        jitter,
        bend,
        " → ".join(str(one.leaps) for one in three),
        f"{live.wrist:.1f} → {take.wrist:.1f}",
        f"{milliseconds:.1f}",
    ]


def pictures(document: dict[str, Any]) -> Iterator[tuple[float, PictureFrame]]:
    """Yield the time in s and the picture of each frame."""
    size = PictureSize(document["width"], document["height"])
    rate = document.get("rate") or document.get("fps") or 30.0
    for number, frame in enumerate(document["frames"]):
        at = frame.get("time_s", number / rate)
        yield float(at), picture_frame(hands_in(frame), size, claimed=False)


def in_camera(pose: Pose) -> Floats:
    """Return the joints (21, 3) m of a pose (1 frame), X right, Y down, Z away."""
    x, y, z = joint_frames(pose.hand, pose)[0, ROWS, :3, 3].T
    return np.stack([x, -z, y], axis=-1)


class _Spent:
    seconds = 0.0


def _at_once(work: Any) -> Any:
    started, done = time.thread_time(), Future[Any]()
    done.set_result(work())
    _Spent.seconds += time.thread_time() - started
    return done
