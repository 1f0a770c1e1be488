"""BVH: positions by forward kinematics worked out by hand."""

from pathlib import Path

import numpy as np
import pytest

from knuckle import capture
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS
from knuckle.hand.proportions import PALM_JOINTS, adult
from knuckle.pipeline import job
from knuckle.pipeline.recipe import Recipe
from knuckle.tests.pure.capture.files import samples


def read(folder: Path, text: str, unit: str = "auto", up: str = "z") -> capture.Markers:
    file = folder / "hand.bvh"
    file.write_text(text)
    return capture.read(file, unit=unit, up=up)


def test_a_chain_turned_by_right_angles(tmp_path: Path) -> None:
    """Row 2 turns the index by +90° about Z at its root. Row 3 turns the wrist by +90° about Y (x to -z), then the
    index about Z (x to y), then its end about Z back (-90°).
    """
    markers = read(tmp_path, samples.BVH, unit="cm")
    assert markers.names == ("Wrist", "Index1", "Index2", "Index2_end")
    expected = [
        [[0, 10, 0], [9, 10, 0], [13, 10, 0], [15, 10, 0]],
        [[0, 10, 0], [9, 10, 0], [9, 14, 0], [9, 16, 0]],
        [[1, 10, 0], [1, 10, -9], [1, 14, -9], [1, 14, -11]],
    ]
    np.testing.assert_allclose(markers.positions, np.array(expected) / 100, atol=1e-12)
    assert markers.rate == 30.0


def test_channels_act_in_the_order_of_the_file(tmp_path: Path) -> None:
    """Z then X: v = Rz Rx v0. The y axis, turned by 90° about X, is z, which Z leaves; in the other order it is -x."""
    row = "0 10 0 90 90 0 0 0 0 0 0 0"
    text = (
        samples.BVH.replace("OFFSET 9.0 0.0 0.0", "OFFSET 0.0 9.0 0.0").split("Frames:")[0]
        + f"Frames: 1\nFrame Time: 0.1\n{row}\n"
    )
    zx = read(tmp_path, text, unit="cm").positions[0, 1] - [0, 0.1, 0]
    xz = read(
        tmp_path, text.replace("Zrotation Xrotation Yrotation\n\tJOINT", "Xrotation Zrotation Yrotation\n\tJOINT"), "cm"
    )
    np.testing.assert_allclose(zx, [0, 0, 0.09], atol=1e-12)
    np.testing.assert_allclose(xz.positions[0, 1] - [0, 0.1, 0], [-0.09, 0, 0], atol=1e-12)


def test_position_channels_on_a_joint_take_the_place_of_its_offset(tmp_path: Path) -> None:
    text = samples.BVH.replace(
        "OFFSET 4.0 0.0 0.0\n\t\t\tCHANNELS 3 Zrotation Yrotation Xrotation",
        "OFFSET 4.0 0.0 0.0\n\t\t\tCHANNELS 6 Yposition Xposition Zposition Zrotation Yrotation Xrotation",
    )
    text = text.split("Frames:")[0] + "Frames: 1\nFrame Time: 0.1\n0 0 0 0 0 0 0 0 0 2 5 1 0 0 0\n"
    markers = read(tmp_path, text, unit="cm")
    np.testing.assert_allclose(markers.positions[0, 2] * 100, [9 + 5, 2, 1], atol=1e-12)


def test_y_is_up_unless_said_otherwise(tmp_path: Path) -> None:
    markers = read(tmp_path, samples.BVH, unit="cm", up="auto")
    np.testing.assert_allclose(markers.positions[1, 3] * 100, [9, 0, 16], atol=1e-12)


@pytest.mark.parametrize(("factor", "unit"), [(0.01, "m"), (0.1, "dm"), (1.0, "cm"), (10.0, "mm")])
def test_the_unit_is_told_by_the_length_of_the_hand(tmp_path: Path, factor: float, unit: str) -> None:
    text = samples.BVH.replace("OFFSET 9.0", f"OFFSET {9 * factor}").replace("OFFSET 4.0", f"OFFSET {6 * factor}")
    text = text.replace("OFFSET 2.0", f"OFFSET {3 * factor}").replace(" 10.0 ", f" {10 * factor} ")
    markers = read(tmp_path, text)
    assert markers.unit == unit
    reach = np.linalg.norm(markers.positions[0, 3] - markers.positions[0, 0])
    assert reach == pytest.approx(0.18)
    assert any(f"taken as {unit}" in warning for warning in markers.warnings)


def test_a_body_without_fingers_tells_the_unit_by_its_height(tmp_path: Path) -> None:
    text = "HIERARCHY\nROOT Hips {\nOFFSET 0 0 0\nCHANNELS 3 Xposition Yposition Zposition\n"
    for name, offset in (("Leg", "-10 -90 0"), ("Leg", "10 -90 0"), ("Head", "0 75 0")):
        text += f"JOINT {name}\n{{\nOFFSET {offset}\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        text += "End Site\n{\nOFFSET 0 0 0\n}\n}\n"
    markers = read(tmp_path, text + "}\nMOTION\nFrames: 1\nFrame Time: 0.01\n" + "0 " * 12)
    assert markers.unit == "cm"
    assert markers.names == ("Hips", "Leg", "Leg#2", "Head")


def test_end_sites_without_length_are_left_out(tmp_path: Path) -> None:
    for end in ("OFFSET 0.0 0.0 0.0", "OFFSET 1e-8 0 0", ""):
        markers = read(tmp_path, samples.BVH.replace("OFFSET 2.0 0.0 0.0", end))
        assert markers.names == ("Wrist", "Index1", "Index2")


def test_a_finger_that_ends_at_its_last_joint_is_given_the_tip_of_a_mean_hand(tmp_path: Path) -> None:
    """The tip continues the bone before it, turned as the file turns the last joint: here by -90° about Z."""
    text = (
        samples.BVH.replace("Index1", "Index2").replace("JOINT Index2", "JOINT Index3").replace("Index3", "Index2", 1)
    )
    known = read(tmp_path, text, unit="cm")
    assert known.names == ("Wrist", "Index2", "Index3", "Index3_end")
    found = read(tmp_path, text.replace("OFFSET 2.0", "OFFSET 0.0"), unit="cm")
    assert found.names == known.names
    np.testing.assert_array_equal(found.positions[:, :3], known.positions[:, :3])
    bone, true_bone = (np.diff(markers.positions[:, 2:], axis=1)[:, 0] for markers in (found, known))
    _, middle, last = adult("right").phalanges[1]
    np.testing.assert_allclose(bone, true_bone / 2 * 4 * last / middle, atol=1e-12)
    assert any("1 fingers end at their last joint" in warning for warning in found.warnings)


def test_a_joint_that_is_a_tip_needs_no_end_site(tmp_path: Path) -> None:
    text = samples.BVH.replace("Index2", "Index4").replace("OFFSET 2.0", "OFFSET 0.0")
    assert read(tmp_path, text).names == ("Wrist", "Index1", "Index4")


def test_a_wrong_number_of_frames_gives_way_to_the_data(tmp_path: Path) -> None:
    markers = read(tmp_path, samples.BVH.replace("Frames: 3", "Frames: 300000000"))
    assert len(markers.times) == 3
    assert "the header says 3e+08 frames, the data holds 3" in markers.warnings


def test_a_hand_without_end_sites_is_solved_with_the_tips_of_a_mean_hand(tmp_path: Path) -> None:
    """Straight fingers that bend by the same angle in each joint; the true tips are where a mean hand has them."""
    hand = adult("right")
    text = "HIERARCHY\nROOT RightHand\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
    for row, digit in enumerate(("Thumb", "Index", "Middle", "Ring", "Pinky")):
        knuckle = hand.palm[PALM_JOINTS.index(CHAIN_JOINTS[DIGITS[row]][0])]
        bones = [knuckle, *(length * np.array([0.0, 1.0, 0.0]) for length in hand.phalanges[row, :2])]
        for number, (x, y, z) in enumerate(bones, start=1):
            text += f"JOINT RightHand{digit}{number}\n{{\nOFFSET {x} {y} {z}\nCHANNELS 1 Xrotation\n"
        text += "End Site\n{\nOFFSET 0 0 0\n}\n" + "}\n" * 3
    rows = ["0 0 0" + " 0 0 0" + f" {-frame} {-frame} {-frame}" * 4 for frame in range(30)]
    file = tmp_path / "hand.bvh"
    file.write_text(text + "}\nMOTION\nFrames: 30\nFrame Time: 0.01\n" + "\n".join(rows) + "\n")
    take = job.run(Recipe(str(file), up="z"))
    (solved,) = take.hands
    assert take.report["hands"]["right"]["fingers"]["index-finger"]["tip_error_mm"]["max"] < 2
    joint = solved.hand.joints.index("middle-finger-phalanx-distal")
    column = int(np.flatnonzero(solved.hand.axis_joint == joint)[0])
    assert np.degrees(solved.pose.angles[-1, column]) == pytest.approx(29, abs=5)
