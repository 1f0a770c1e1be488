"""Videos of hands whose joints are known, for camera_corrections.py to learn a detector's errors from.

    python tools/benchmarks/camera_training.py [FIRST END]

Other hands, motions and views than those of camera_takes.py: the same skins with bones up to 8 % longer or shorter,
seen from random directions, and moved through a headset's poses, those of the video "headset" left out, which tests;
in every other dozen of videos each digit is in another of these poses. Made once, kept in build/camera-training; a
detector writes `landmarks.json` beside each video's pictures. Needs bpy, scipy and ../shared.
"""

import sys
from functools import cache
from pathlib import Path

import bpy
import numpy as np
from camera_table import usual_poses
from camera_takes import Studio, Video, View, busy_background, roots_in_view
from numpy.typing import NDArray
from skin_hands import SHAPES, hand_of
from skin_motions import FRAMES, POSE_FRAMES, RATE, eased, plausible, wandering
from skin_takes import ROOT

from knuckle.hand.joints import DIGIT_JOINTS, DIGITS
from knuckle.hand.proportions import adult, build

Floats = NDArray[np.float64]

BUILD = ROOT / "build" / "camera-training"
VIDEOS = 23
HANDS = 2 * len(SHAPES)
STEP = 6
"""The motions have 100 frames a second, the videos a sixth of them."""
FARTHER = (-0.1, 0.15)
"""m that a hand is farther from the camera than in the videos of camera_takes.py."""


def folder(number: int) -> Path:
    """Return where a video is."""
    return BUILD / f"{number:03d}"


def render(number: int) -> None:
    """Render a video's pictures and write its truth, unless they are there."""
    path = folder(number)
    if (path / "truth.npz").is_file():
        return
    path.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(9000 + number)
    hand = hand_of(number % HANDS, random.uniform(0.92, 1.08, (5, 3)))
    about, pitch, roll = random.uniform(-180, 180), np.clip(random.normal(0, 30), -60, 70), random.uniform(-70, 70)
    background = "busy" if random.random() < 0.5 else "plain"
    skin = ("light", "medium", "dark")[random.integers(3)]
    angles = plausible(build(adult("right")), _through_poses(random, by_digit=number // HANDS % 2 == 1), 50 + number)
    roots = roots_in_view(View(about, float(pitch), roll), hand, wandering(500 + number))
    roots[:, 2, 3] += random.uniform(*FARTHER)
    studio, joints = Studio(hand, Video(number % HANDS, "training", "training", background, skin)), []
    bpy.context.scene.display.render_aa = "FXAA"
    if background == "busy":
        studio.background = busy_background(1000 + number)
    frames = np.arange(0, len(angles), STEP)
    for picture, frame in enumerate(frames):
        studio.shoot(path / f"{picture:04d}.jpg", angles[frame : frame + 1], roots[frame : frame + 1])
        joints.append(studio.joints())
    np.savez(path / "truth.npz", times=frames / RATE, joints=np.array(joints), angles=angles[frames])


def _through_poses(random: np.random.Generator, *, by_digit: bool) -> Floats:
    """(300, 26) rad, from pose to pose in minimum jerk; by_digit: each digit in a pose of its own."""
    poses, stops = _poses(), FRAMES // POSE_FRAMES + 1
    if by_digit:
        through = np.zeros((stops, poses.shape[1]))
        for digit in _digits():
            through[:, digit] = poses[random.integers(len(poses), size=stops)][:, digit]
    else:
        through = poses[random.permutation(len(poses))[:stops]]
    return eased(through, POSE_FRAMES)


@cache
def _poses() -> Floats:
    return usual_poses()


def _digits() -> list[list[int]]:
    """Return the angles of each digit."""
    hand = build(adult("right"))
    return [
        [dof for dof in range(hand.dofs) if hand.joints[hand.axis_joint[dof]] in DIGIT_JOINTS[digit]]
        for digit in DIGITS
    ]


def main() -> None:
    """Render the videos from FIRST to before END, or all."""
    first, end = (int(word) for word in sys.argv[1:3]) if len(sys.argv) > 2 else (0, VIDEOS)
    for number in range(first, end):
        render(number)
        print(folder(number).name, flush=True)


if __name__ == "__main__":
    main()
