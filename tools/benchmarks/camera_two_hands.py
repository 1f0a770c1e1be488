"""Two hands before one camera: rendered one over the other, found by Knuckle's page, and solved together.

    python tools/benchmarks/camera_two_hands.py

Fills its table in docs/explanation/camera.md. Knuckle's large right hand moves as a glove did, MakeHuman's large left
hand as a headset saw one. Needs bpy, scipy and ../shared.
"""

import json

import numpy as np
from camera import ANGLE_OF_VIEW, HEAD, cells
from camera_data import hand_length
from camera_detector import page_landmarks
from camera_scores import Score, score
from camera_takes import BUILD, STEP, Studio, Video, motions, picture_of, roots_in_camera
from numpy.typing import NDArray
from skin_hands import hands
from skin_takes import ROOT
from standard_page import fill, table

from knuckle import capture
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import JOINT_INDEX
from knuckle.pipeline.camera_hands import fit_camera_hands
from knuckle.pipeline.recipe import Recipe

Floats = NDArray[np.float64]

FOLDER = BUILD / "two-hands"
PLACES = {"right": (Video(2, "glove", "palm", "busy"), -0.14), "left": (Video(8, "headset", "palm", "busy"), 0.14)}
"""Side -> the hand, and how far right it is in the picture, in m."""


def render() -> None:
    """Render the right hand, and the left one over its pictures, unless they exist."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for side, (video, right) in PLACES.items():
        file = FOLDER / f"{side}.npy"
        if file.is_file():
            continue
        hand = hands()[video.hand]
        angles, roots = motions()[video.motion]
        roots = roots_in_camera(video, hand, roots) + [[0, 0, 0, right], *np.zeros((3, 4))]
        studio, joints = Studio(hand, video), []
        for number, frame in enumerate(range(0, len(angles) - 1, STEP)):
            path = FOLDER / f"{number:04d}.jpg"
            if path.is_file():
                studio.background = picture_of(path)[..., :3]
            studio.shoot(path, angles[frame : frame + 1], roots[frame : frame + 1])
            joints.append(studio.joints())
        rows = [JOINT_INDEX[joint] for joint in LANDMARK_JOINTS]
        np.save(file, np.array(joints)[:, rows][..., :3, 3])


def scores() -> dict[str, tuple[Score, Score]]:
    """Side -> the detector's own score and Knuckle's."""
    true = {side: np.load(FOLDER / f"{side}.npy") for side in PLACES}
    path = FOLDER / "landmarks-read.json"
    path.write_text(json.dumps(page_landmarks(FOLDER)))
    markers = capture.read(path)
    length = float(np.mean([hand_length(joints) for joints in true.values()]))
    fitted = run_to_end(fit_camera_hands(Recipe(str(path), angle_of_view=ANGLE_OF_VIEW, hand_length=length), markers))
    found = {}
    for side, joints in true.items():
        columns = [fitted.names.index(f"{side}:{joint}") for joint in LANDMARK_JOINTS]
        x, y, z = np.moveaxis(fitted.positions[:, columns], -1, 0)
        # Of the detector's tracks, the one that lies where this hand is.
        middle = np.nanmean(joints[:, 0, 0] / joints[:, 0, 2])
        track = min(
            (each.widened() for each in markers.pictures),
            key=lambda each: abs(np.nanmean(each.sight_lines(ANGLE_OF_VIEW)[:, 0, 0]) - middle),
        )
        ours = np.stack([x, -z, y], axis=-1)
        found[side] = score(track.world, joints, placed=False), score(ours, joints, placed=True)
    return found


def main() -> None:
    """Render, find, solve, and fill the table."""
    render()
    rows = [[f"Two hands, the {side} one", *cells(*pair)] for side, pair in scores().items()]
    fill(ROOT / "docs" / "explanation" / "camera.md", {"camera-two": table(HEAD, rows)})


if __name__ == "__main__":
    main()
