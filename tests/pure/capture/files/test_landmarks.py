"""Leap, WebXR/OpenXR and MediaPipe: joints by their names, in metres and Z up, claims as the source makes them."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.marker_labels import OPENXR_JOINTS, parse_joint
from knuckle.errors import CaptureError
from knuckle.hand.joints import JOINTS
from knuckle.tests.pure.capture.files import samples

Y_UP = ([0, 2, 1], [1.0, -1.0, 1.0])


def z_up(points: samples.Floats) -> samples.Floats:
    """(x, y, z) with Y up as (x, -z, y)."""
    return points[..., [0, 2, 1]] * [1.0, -1.0, 1.0]


def written(folder: Path, document: Any, name: str = "hands.json") -> Path:
    file = folder / name
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def joints_of(markers: capture.Markers, track: str, names: tuple[str, ...] = JOINTS) -> samples.Floats:
    """(F, J, 3)"""
    return markers.positions[:, [markers.names.index(f"{track}:{name}") for name in names]]


@pytest.mark.parametrize("spelling", ["XR_HAND_JOINT_{}_EXT", "{}"])
def test_joints_are_known_by_other_spellings(spelling: str) -> None:
    for joint in OPENXR_JOINTS:
        name = joint.replace("-finger", "").replace("pinky", "little").replace("-phalanx", "").replace("-", "_")
        assert parse_joint(spelling.format(name.upper())) == joint
    assert parse_joint("indexFingerPhalanxProximal") == "index-finger-phalanx-proximal"
    assert [parse_joint(text) for text in ("elbow", "thumb", "thumb-intermediate", "")] == [None] * 4


# --- Leap ---------------------------------------------------------------------------------------------------------


def leap_bones(shared: Path) -> tuple[capture.Markers, Any]:
    file = shared / "data/captures/leap_finger_tap.json"
    return capture.read(file), json.loads(file.read_text())


def test_leap_fingers_are_the_packed_fields(shared: Path) -> None:
    markers, document = leap_bones(shared)
    assert (len(markers.times), markers.unit, markers.format) == (89, "mm", "Leap JSON")
    last = document["frames"][-1]
    index = next(finger for finger in last[3] if finger[-1] == 1)
    bones = np.array(index[8:13]) / 1000
    parts = ("metacarpal", "phalanx-proximal", "phalanx-intermediate", "phalanx-distal", "tip")
    names = tuple(f"index-finger-{part}" for part in parts)
    np.testing.assert_allclose(joints_of(markers, "right", names)[-1], z_up(bones), atol=1e-12)
    np.testing.assert_allclose(joints_of(markers, "right", ("wrist",))[-1, 0], z_up(np.array(last[2][0][13]) / 1000))


def test_leap_thumb_has_the_bones_of_a_thumb(shared: Path) -> None:
    """Lengths of a grown-up's thumb: metacarpal 40-55 mm, proximal 27-38 mm, distal 18-28 mm."""
    markers, _ = leap_bones(shared)
    thumb = joints_of(markers, "right", JOINTS[1:5])
    lengths = np.linalg.norm(np.diff(thumb, axis=1), axis=-1).mean(axis=0) * 1000
    for length, (least, most) in zip(lengths, [(40, 55), (27, 38), (18, 28)], strict=True):
        assert least < length < most, f"{lengths.round(1)} mm"


def test_leap_timestamps_beat_the_rate_in_its_head(shared: Path) -> None:
    markers, document = leap_bones(shared)
    stamps = np.array([frame[1] for frame in document["frames"][1:]])
    np.testing.assert_allclose(markers.times, (stamps - stamps[0]) * 1e-6, atol=1e-9)
    assert 55 < markers.rate < 55.8
    assert document["metadata"]["frameRate"] == "54"


def test_leap_objects_and_packed_rows_read_alike(tmp_path: Path) -> None:
    objects = capture.read(written(tmp_path, samples.leap().decode()))
    packed = capture.read(written(tmp_path, samples.leap_packed().decode()))
    assert objects.names == packed.names
    np.testing.assert_array_equal(objects.positions, packed.positions)
    np.testing.assert_allclose(joints_of(objects, "right")[0], z_up(samples.hand() + [0, 0.2, 0]), atol=1e-9)
    assert "right:elbow" in objects.names


# --- WebXR and OpenXR ---------------------------------------------------------------------------------------------


def handy_poses(shared: Path) -> list[dict[str, Any]]:
    """The poses in the JSON inside the script, one a line."""
    text = (shared / "data/captures/webxr_poses_right.js").read_text()
    return [json.loads(row.rstrip(",")) for row in re.findall(r'^\s*(\{"names":.*\}),?\s*$', text, re.M)]


def test_the_poses_of_a_headset_are_read_in_millimetres(shared: Path, tmp_path: Path) -> None:
    poses = handy_poses(shared)
    assert len(poses) > 50
    frames = [{"t": float(index), "hands": [pose]} for index, pose in enumerate(poses)]
    markers = capture.read(written(tmp_path, {"frames": frames}))
    assert markers.unit == "mm"
    expected = np.array([pose["jointPositions"] for pose in poses]) / 1000
    np.testing.assert_allclose(joints_of(markers, "right"), z_up(expected), atol=1e-12)


@pytest.mark.parametrize("name", ["fist", "flat", "point", "relax", "shaka"])
def test_handpose_holds_a_left_and_a_right_hand(shared: Path, name: str) -> None:
    """Seen in the matrices' own axes a thumb points to +x on a left hand and to -x on a right one."""
    file = shared / f"data/captures/webxr/{name}.handpose"
    markers = capture.read(file)
    values = np.frombuffer(file.read_bytes(), "<f4")
    right = values[401:801].reshape(25, 4, 4)[:, 3, :3]
    np.testing.assert_allclose(joints_of(markers, "right")[0], z_up(right), rtol=1e-6, atol=1e-9)
    assert (len(markers.times), len(markers.names), markers.duration) == (1, 50, 0.0)
    thumbs = [joints_of(markers, side, ("thumb-metacarpal",))[0, 0, 0] for side in ("left", "right")]
    assert thumbs[0] > 0 > thumbs[1]


def webxr_forms() -> dict[str, Any]:
    """The same right hand in the shapes that recorders write."""
    hand = samples.hand().tolist()
    named = dict(zip(samples.JOINTS, hand, strict=True))
    xyz = {name: dict(zip("xyz", point, strict=True)) for name, point in named.items()}
    poses = {name: {"position": point, "orientation": [0, 0, 0, 1]} for name, point in named.items()}
    matrices = {
        name: {"offsetMatrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, *point, 1], "radius": 0.01}
        for name, point in named.items()
    }
    palm = [[0.0, 0.0, -0.05], *hand]
    enums = {
        f"XR_HAND_JOINT_{name.replace('-finger', '').replace('pinky', 'little').replace('-phalanx', '')}_EXT".replace(
            "-", "_"
        ).upper(): point
        for name, point in named.items()
    }
    return {
        "named": {"frames": [{"t": 0.0, "hands": {"right": named}}]},
        "list of frames": [{"time": 0.0, "right": named, "left": None}],
        "xyz": {"frames": [{"timestamp": 0.0, "hands": {"right": {"joints": xyz}}}]},
        "poses, one row a hand": [{"timestamp_ns": 5, "hand": "right", "joints": poses}],
        "matrices": [{"tMs": 1466, "hands": [{"handedness": "right", "jointTransforms": matrices}]}],
        "25 arrays": {"frames": [{"t": 0.0, "hands": {"right": hand}}]},
        "26 arrays": {"frames": [{"t": 0.0, "hands": {"Right": palm}}]},
        "flat numbers": {"frames": [{"t": 0.0, "hands": {"right": [value for point in hand for value in point]}}]},
        "named items": {
            "frames": [{"t": 0.0, "rightHand": [{"name": name, "position": point} for name, point in named.items()]}]
        },
        "enumerators": {"frames": [{"t": 0.0, "hands": {"right": enums}}]},
    }


@pytest.mark.parametrize("form", webxr_forms())
def test_webxr_joints_in_the_shapes_recorders_write(tmp_path: Path, form: str) -> None:
    markers = capture.read(written(tmp_path, webxr_forms()[form]))
    np.testing.assert_allclose(joints_of(markers, "right")[0], z_up(samples.hand()), atol=1e-9)
    assert ("right:palm" in markers.names) == (form == "26 arrays")
    assert markers.unit == "m"


def test_a_hand_without_a_frame_around_it_is_one_frame(tmp_path: Path) -> None:
    markers = capture.read(written(tmp_path, samples.hand().tolist()))
    np.testing.assert_allclose(joints_of(markers, "hand")[0], z_up(samples.hand()), atol=1e-9)


@pytest.mark.parametrize(
    ("key", "ticks"), [("t", 1.0), ("time", 1e3), ("timestamp", 1e6), ("timestamp_ns", 1e9), ("tMs", 1e3)]
)
def test_clocks_of_any_unit_become_seconds_from_the_first_frame(tmp_path: Path, key: str, ticks: float) -> None:
    hand = {"right": samples.hand().tolist()}
    document = [{key: (1000.0 + index / 72) * ticks, "hands": hand} for index in range(10)]
    markers = capture.read(written(tmp_path, document))
    np.testing.assert_allclose(markers.times, np.arange(10) / 72, atol=1e-6)


def test_rows_of_one_hand_each_become_frames_of_both(tmp_path: Path) -> None:
    rows = [
        {"t": index / 50, "hand": side, "joints": samples.hand().tolist()}
        for index in range(4)
        for side in ("left", "right")
    ]
    markers = capture.read(written(tmp_path, rows))
    assert (len(markers.times), len(markers.names)) == (4, 50)
    assert markers.seen.all()


def test_two_hands_of_the_same_claim_are_numbered(tmp_path: Path) -> None:
    far = samples.hand() + [0.5, 0.0, 0.0]
    rows = [
        {
            "t": index / 50,
            "hands": [{"handedness": "left", "joints": joints.tolist()} for joints in (samples.hand(), far)],
        }
        for index in range(4)
    ]
    markers = capture.read(written(tmp_path, rows))
    np.testing.assert_allclose(
        joints_of(markers, "left#2") - joints_of(markers, "left"), np.tile([0.5, 0, 0], (4, 25, 1))
    )


# --- MediaPipe ----------------------------------------------------------------------------------------------------


def test_the_video_is_one_track_as_claimed_without_its_ghost(shared: Path) -> None:
    file = shared / "data/captures/mediapipe_video.json"
    markers = capture.read(file)
    frames = json.loads(file.read_text())["frames"]
    assert {name.split(":")[0] for name in markers.names} == {"left"}
    assert (len(markers.times), len(markers.names), markers.rate) == (621, 21, 30.0)
    assert any("6 of 621 frames was left out" in warning for warning in markers.warnings)
    one = [index for index, frame in enumerate(frames) if len(frame["hands"]) == 1]
    expected = np.array([frames[index]["hands"][0]["world_landmarks"] for index in one])
    np.testing.assert_allclose(markers.positions[one], expected[..., [0, 2, 1]] * [1, 1, -1], atol=1e-12)


def test_the_ghost_does_not_take_the_hands_place(shared: Path) -> None:
    """Where two hands are seen, the wrist of the track stays within 5 mm of the line between its neighbours."""
    markers = capture.read(shared / "data/captures/mediapipe_video.json")
    tip = markers.positions[:, markers.names.index("left:index-finger-phalanx-proximal")]
    for frame in (555, 557, 559, 561, 563, 565):
        away = np.linalg.norm(tip[frame] - (tip[frame - 1] + tip[frame + 1]) / 2) * 1000
        assert away < 10, f"frame {frame}: {away:.1f} mm > 10 mm"


def landmark_forms() -> dict[str, Any]:
    """The same hand in the shapes that others write."""
    world = samples.landmarks().tolist()
    image = np.abs(samples.landmarks() * 2).tolist()
    xyz = [dict(zip("xyz", point, strict=True)) for point in world]
    image_xyz = [dict(zip("xyz", point, strict=True)) for point in image]
    return {
        "21 points a frame": [world],
        "63 numbers a frame": {"frames": [{"landmarks": [value for point in world for value in point]}]},
        "hands a frame": [[world]],
        "solutions": [
            {
                "multi_hand_world_landmarks": [{"landmark": xyz}],
                "multi_hand_landmarks": [{"landmark": image_xyz}],
                "multi_handedness": [{"classification": [{"index": 0, "score": 0.9, "label": "Right"}]}],
            }
        ],
        "tasks": {
            "landmarks": [image_xyz],
            "worldLandmarks": [xyz],
            "handedness": [[{"score": 0.9, "index": 0, "categoryName": "Right", "displayName": "Right"}]],
        },
        "sides": {"frames": [{"t": 0, "right": world}]},
        "hands by side": {"frames": [{"t": 0, "hands": {"Right": {"world_landmarks": world}}}]},
        "results": {"results": [{"timestampMs": 7, "hands": [{"handedness": "Right", "worldLandmarks": xyz}]}]},
    }


@pytest.mark.parametrize("form", landmark_forms())
def test_landmarks_in_the_shapes_others_write(tmp_path: Path, form: str) -> None:
    markers = capture.read(written(tmp_path, landmark_forms()[form]))
    track = {"21 points a frame": "hand", "63 numbers a frame": "hand", "hands a frame": "hand"}.get(form, "right")
    names = tuple(JOINTS[index] for index in samples.LANDMARKS)
    expected = samples.landmarks()[:, [0, 2, 1]] * [1, 1, -1]
    np.testing.assert_allclose(joints_of(markers, track, names)[0], expected, atol=1e-12)
    assert len(markers.names) == 21


def test_landmarks_of_the_image_alone_are_refused(tmp_path: Path) -> None:
    image = np.abs(samples.landmarks() * 4) + [0.3, 0.3, 0.0]
    image[0, 2] = 0.0
    for document in ([image.tolist()], [{"multi_hand_landmarks": [image.tolist()]}]):
        with pytest.raises(CaptureError, match="only image landmarks"):
            capture.read(written(tmp_path, document))


def test_a_claim_that_changes_on_the_way_stays_one_track(tmp_path: Path) -> None:
    rows = []
    for index in range(40):
        claim = "Left" if index in {10, 11, 25} else "Right"
        world = samples.landmarks() + [0.0005 * index, 0, 0]
        rows.append({"t": index / 30, "hands": [{"handedness": claim, "world_landmarks": world.tolist()}]})
    markers = capture.read(written(tmp_path, rows))
    assert {name.split(":")[0] for name in markers.names} == {"right"}
    assert markers.seen.all()
    assert "the 'right' hand has another name in 3 of its 40 frames" in markers.warnings


def test_two_hands_keep_their_tracks_while_one_is_called_wrongly(tmp_path: Path) -> None:
    world = samples.landmarks()
    mirrored = world * [-1, 1, 1]
    rows = []
    for index in range(40):
        claims = ("Left", "Left") if 10 <= index < 13 else ("Right", "Left")
        image = [world[:, :2] * 2 + [0.3 + 0.002 * index, 0.5], mirrored[:, :2] * 2 + [0.7, 0.5]]
        hands = [
            {"handedness": claim, "landmarks": np.c_[seen, np.zeros(21)].tolist(), "world_landmarks": points.tolist()}
            for claim, seen, points in zip(claims, image, (world, mirrored), strict=True)
        ]
        rows.append({"t": index / 30, "hands": hands if index % 2 else hands[::-1]})
    markers = capture.read(written(tmp_path, rows))
    names = tuple(JOINTS[index] for index in samples.LANDMARKS)
    turned = world[:, [0, 2, 1]] * [1, 1, -1]
    np.testing.assert_allclose(joints_of(markers, "right", names), np.tile(turned, (40, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(joints_of(markers, "left", names), np.tile(turned * [-1, 1, 1], (40, 1, 1)), atol=1e-12)


def test_frames_without_a_hand_are_gaps(tmp_path: Path) -> None:
    rows = [
        {
            "t": index / 30,
            "hands": []
            if index in {3, 4}
            else [{"handedness": "Right", "world_landmarks": samples.landmarks().tolist()}],
        }
        for index in range(10)
    ]
    markers = capture.read(written(tmp_path, rows))
    assert len(markers.times) == 10
    assert np.flatnonzero(np.all(~markers.seen, axis=1)).tolist() == [3, 4]


def test_frames_left_out_of_the_list_are_counted_by_their_numbers(tmp_path: Path) -> None:
    hand = [{"handedness": "Right", "world_landmarks": samples.landmarks().tolist()}]
    markers = capture.read(
        written(tmp_path, {"fps": 30, "frames": [{"frame": number, "hands": hand} for number in (0, 1, 4, 5)]})
    )
    np.testing.assert_allclose(markers.times, np.array([0, 1, 4, 5]) / 30)
