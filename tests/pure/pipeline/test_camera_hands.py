"""Files of camera landmarks: hands fitted in the picture by default, against the truth of rendered videos."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle import capture
from knuckle.errors import RecipeError
from knuckle.hand.camera import landmark_corrections
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS
from knuckle.hand.generators import run_to_end
from knuckle.pipeline.assignment import read_file
from knuckle.pipeline.job import run
from knuckle.pipeline.recipe import Recipe

Floats = NDArray[np.float64]

FOLDER = Path(__file__).parents[2] / "data" / "camera"
VIDEOS = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.gz"))


def document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    return loaded


def written(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "hands.json"
    path.write_text(json.dumps({key: value for key, value in data.items() if key != "truth"}))
    return path


def joints_of(markers: capture.Markers) -> Floats:
    """(F, 21, 3) m in the camera's space, X right, Y down, Z away."""
    side = markers.names[0].partition(":")[0]
    x, y, z = np.moveaxis(
        markers.positions[:, [markers.names.index(f"{side}:{one}") for one in LANDMARK_JOINTS]], -1, 0
    )
    return np.stack([x, -z, y], axis=-1)


def aligned_mm(points: Floats, onto: Floats) -> float:
    """Mean distance after the best translation, rotation and scale of each frame (Umeyama 1991)."""
    total = []
    for a, b in zip(points, onto, strict=True):
        if np.isfinite(a).all():
            ours, theirs = a - a.mean(axis=0), b - b.mean(axis=0)
            u, s, vt = np.linalg.svd(theirs.T @ ours)
            flip = np.array([1.0, 1.0, np.sign(np.linalg.det(u @ vt))])
            turned = ours @ ((u * flip) @ vt).T * (s @ flip) / (ours**2).sum()
            total.append(np.linalg.norm(turned - theirs, axis=1).mean())
    return 1000 * float(np.mean(total))


def solved(name: str, folder: Path) -> tuple[capture.Markers, capture.Markers, Floats]:
    """What the file holds, what is fitted, and the true joints (F, 21, 3) m."""
    data = document(name)
    true = np.array(data["truth"]) / 1000
    length = float(np.median(np.linalg.norm(np.diff(true[:, [0, 9, 10, 11, 12]], axis=1), axis=-1).sum(axis=1)))
    path = written(folder, data)
    return capture.read(path), run_to_end(read_file(Recipe(str(path), hand_length=length, angle_of_view=60.0))), true


@pytest.mark.parametrize("name", VIDEOS)
def test_rendered_videos_hold_the_figures(name: str, tmp_path: Path) -> None:
    raw, fitted, true = solved(name, tmp_path)
    joints = joints_of(fitted)
    detector, ours = aligned_mm(raw.pictures[0].widened().world, true), aligned_mm(joints, true)
    assert ours < 0.9 * detector
    assert ours < 14
    lengths = np.linalg.norm(joints[:, 6] - joints[:, 5], axis=-1)
    assert np.nanmax(lengths) - np.nanmin(lengths) < 1e-6
    side = "right" if int(name[:2]) < 6 else "left"
    assert {label.partition(":")[0] for label in fitted.names} == {side}


def test_corrections_bring_joints_nearer_to_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the videos that the corrections were not found on, all but the first."""

    def distance(name: str) -> float:
        data = document(name)
        data["frames"] = data["frames"][:15]
        fitted = run_to_end(read_file(Recipe(str(written(tmp_path, data)), angle_of_view=60.0)))
        return aligned_mm(joints_of(fitted), np.array(data["truth"][: len(fitted.times)]) / 1000)

    corrected = [distance(name) for name in VIDEOS[1:]]
    none = np.zeros_like(landmark_corrections.error_coefficients())
    monkeypatch.setattr(landmark_corrections, "error_coefficients", lambda: none)
    assert np.mean(corrected) < np.mean([distance(name) for name in VIDEOS[1:]]) - 0.3


def test_six_videos_are_kept() -> None:
    assert len(VIDEOS) == 6


@pytest.mark.parametrize(("word", "side"), [("Left", "right"), ("Right", "left")])
def test_the_claimed_side_counts_where_the_depths_tell_nothing(word: str, side: str, tmp_path: Path) -> None:
    """A flat hand before the camera: the camera page's words are those for a mirror's picture."""
    data = document(VIDEOS[0])
    data["frames"] = data["frames"][:12]
    for frame in data["frames"]:
        for hand in frame["hands"]:
            hand["handedness"] = word
            for kind in ("landmarks", "world_landmarks"):
                hand[kind] = [[x, y, 0.0] for x, y, _ in hand[kind]]
    fitted = run_to_end(read_file(Recipe(str(written(tmp_path, data)))))
    assert {label.partition(":")[0] for label in fitted.names} == {side}
    del data["format"]
    assert capture.read(written(tmp_path, data)).pictures[0].landmarks.claim is None, (
        "others' pictures may be a mirror's"
    )


def test_the_claimed_side_does_not_matter_where_they_do(tmp_path: Path) -> None:
    data = document(VIDEOS[0])
    honest = joints_of(run_to_end(read_file(Recipe(str(written(tmp_path, data))))))
    for frame in data["frames"]:
        for hand in frame["hands"]:
            hand["handedness"] = "Left" if hand["handedness"] == "Right" else "Right"
    swapped = joints_of(run_to_end(read_file(Recipe(str(written(tmp_path, data))))))
    np.testing.assert_array_equal(swapped, honest)


def test_a_note_tells_what_was_assumed_and_world_landmarks_can_be_had(tmp_path: Path) -> None:
    data = document(VIDEOS[0])
    data["frames"] = data["frames"][:20]
    path = written(tmp_path, data)
    fitted = run_to_end(read_file(Recipe(str(path))))
    assert any("60 degrees (assumed)" in note and "(an adult's)" in note for note in fitted.warnings)
    assert len(fitted.names) == 25
    world = run_to_end(read_file(Recipe(str(path), landmarks="world")))
    np.testing.assert_array_equal(world.positions, capture.read(path).positions)
    assert world.pictures == ()


def test_without_a_pictures_size_world_landmarks_are_taken(tmp_path: Path) -> None:
    data = document(VIDEOS[0])
    del data["width"]
    path = written(tmp_path, data)
    markers = run_to_end(read_file(Recipe(str(path))))
    np.testing.assert_array_equal(markers.positions, capture.read(path).positions)
    assert not any("fitted" in note for note in markers.warnings)


@pytest.mark.parametrize("seed", range(3))
def test_landmarks_of_no_hand_are_fitted_within_limits_or_left_out(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(seed)
    data = document(VIDEOS[0])
    data["frames"] = data["frames"][:12]
    for number, frame in enumerate(data["frames"]):
        for hand in frame["hands"]:
            points = random.uniform(-3, 3, (2, 21, 3)) if number % 2 else np.full((2, 21, 3), random.uniform())
            hand["landmarks"], hand["world_landmarks"] = points.tolist()
    markers = run_to_end(read_file(Recipe(str(written(tmp_path, data)))))
    assert np.isfinite(markers.positions[markers.seen]).all()


def test_missing_frames_are_marked_as_predicted_and_the_take_is_solved(tmp_path: Path) -> None:
    data = document("02-glove-palm")
    data["frames"] = data["frames"][:40]
    for frame in data["frames"][10:14]:
        frame["hands"] = []
    recipe = Recipe(str(written(tmp_path, data)))
    markers = run_to_end(read_file(recipe))
    assert markers.predicted[10:14].all() and not np.delete(markers.predicted, range(10, 14), axis=0).any()
    (hand,) = run(recipe).hands
    assert hand.predicted[10:14].all() and not hand.predicted[20:].any()
    assert np.isfinite(hand.pose.angles).all()


@pytest.mark.parametrize(
    ("field", "value"), [("angle_of_view", 1.0), ("angle_of_view", 179.0), ("hand_length", 0.0), ("landmarks", "image")]
)
def test_settings_out_of_range_are_refused(field: str, value: Any) -> None:
    with pytest.raises(RecipeError, match=field):
        Recipe("hands.json", **{field: value})


@pytest.mark.parametrize("size", [(0, 720), (-1, 720), (1e9, 720), ("wide", 720), (None, 720)])
def test_an_impossible_picture_is_no_picture(size: tuple[object, object], tmp_path: Path) -> None:
    data = document(VIDEOS[0])
    data["frames"] = data["frames"][:5]
    data["width"], data["height"] = size
    assert capture.read(written(tmp_path, data)).pictures == ()


def in_one_picture(right: str, left: str, frames: int) -> dict[str, Any]:
    """The hands of two videos beside each other."""
    both = [document(name) for name in (right, left)]
    result = {key: value for key, value in both[0].items() if key != "truth"}
    result["frames"] = []
    for number in range(frames):
        hands = [
            {**hand, "landmarks": (np.array(hand["landmarks"]) + [shift, 0.0, 0.0]).tolist()}
            for data, shift in zip(both, (0.3, -0.3), strict=True)
            for hand in data["frames"][number]["hands"][:1]
        ]
        result["frames"].append({"time_s": both[0]["frames"][number]["time_s"], "hands": hands})
    return result


def test_a_hand_that_leaves_and_comes_back_elsewhere_is_the_same_hand(tmp_path: Path) -> None:
    data = in_one_picture(VIDEOS[0], "08-headset-palm", 70)
    for frame in data["frames"][25:45]:
        del frame["hands"][0]
    for frame in data["frames"][45:]:
        points = np.array(frame["hands"][0]["landmarks"]) + [0.1, -0.35, 0.0]
        frame["hands"][0]["landmarks"] = points.tolist()
    assert len(capture.read(written(tmp_path, data)).pictures) == 3
    markers = run_to_end(read_file(Recipe(str(written(tmp_path, data)))))
    assert {name.partition(":")[0] for name in markers.names} == {"left", "right"}
    wrists = {side: markers.seen[:, markers.names.index(f"{side}:wrist")] for side in ("left", "right")}
    assert wrists["left"].all()
    assert wrists["right"].tolist() == [not 25 <= frame < 45 for frame in range(70)]
    refused = markers.predicted[wrists["right"], markers.names.index("right:wrist")]
    assert refused.mean() < 0.2, "the landmarks are moved in the picture, which is not quite how a hand is seen there"


def test_another_hand_that_comes_where_one_was_is_another(tmp_path: Path) -> None:
    data, other = document(VIDEOS[0]), document("08-headset-palm")
    step = data["frames"][1]["time_s"]
    frames = [*data["frames"][:40], *[{"hands": []}] * 25, *other["frames"][:40]]
    data["frames"] = [{"time_s": step * number, "hands": frame["hands"]} for number, frame in enumerate(frames)]
    markers = run_to_end(read_file(Recipe(str(written(tmp_path, data)))))
    found = {name.partition(":")[0] for name in markers.names}
    assert found == {"left", "right"}
    seen = {side: markers.seen[:, markers.names.index(f"{side}:wrist")] for side in found}
    assert seen["right"][:40].all() and not seen["right"][65:].any()
    assert seen["left"][65:].all() and not seen["left"][:40].any()
