"""Motion that the markers of a hand share is no spike, at the rates of skeletons; what one marker does by itself is."""

import numpy as np
import pytest

from knuckle.capture import Markers
from knuckle.capture.cleaning import remove_spikes
from knuckle.hand import kinematics, proportions
from knuckle.hand import rotations as rot
from knuckle.hand.joints import JOINT_INDEX, JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.tests.pure.capture.files.samples import Floats

FRAMES, CLAP = 22, 12


def clapping(rate: float, turn: float = 0.9, way: float = 0.12) -> Markers:
    """All joints of a stiff hand that strikes and bounces back within a frame, turning by so many rad on so many m."""
    hand = proportions.build(proportions.adult("right"))
    joints = kinematics.joint_frames(hand, Pose.at_origin(hand, hand.neutral[None]))[0, :, :3, 3]
    struck = np.exp(-np.abs(np.arange(FRAMES) - CLAP) * 2.0)
    rotations = rot.to_matrix(rot.from_axis_angle(np.array([0.6, 0.0, 0.8]), struck * turn))
    positions = joints @ rotations.swapaxes(1, 2) + struck[:, None, None] * np.array([way, 0.0, 0.0])
    names = tuple(f"right:{joint}" for joint in JOINTS)
    return Markers(names, np.arange(FRAMES) / rate, positions, "clap", rate, "m")


def moved(markers: Markers, marker: int, by: Floats) -> Markers:
    positions = markers.positions.copy()
    positions[CLAP, marker] += by
    return Markers(markers.names, markers.times, positions, "clap", markers.rate, "m")


@pytest.mark.parametrize("rate", [25.0, 30.0, 60.0, 120.0])
def test_a_clap_of_a_skeleton_is_no_spike(rate: float) -> None:
    assert remove_spikes(clapping(rate)).seen.all()


@pytest.mark.parametrize("marker", range(0, len(JOINTS), 4))
def test_a_marker_that_leaps_from_a_clapping_hand_is_removed_and_no_other(marker: int) -> None:
    rng = np.random.default_rng(marker)
    direction, by = rng.normal(size=3), rng.uniform(0.05, 1.0)
    seen = remove_spikes(moved(clapping(60.0), marker, by * direction / np.linalg.norm(direction))).seen
    assert np.argwhere(~seen).tolist() == [[CLAP, marker]]


def test_few_markers_are_judged_by_themselves() -> None:
    """Four markers have three neighbours, which tell no motion."""
    few = clapping(120.0)
    few = Markers(few.names[-4:], few.times, few.positions[:, -4:], "few", few.rate, "m")
    assert (~remove_spikes(few).seen).sum() == 4


def test_a_clap_is_solved_as_the_file_says() -> None:
    """Every error in the report is a distance from the file's own positions, in the frame of the clap, too."""
    markers = clapping(25.0)
    job = SolveJob(Recipe("clap"), markers=markers)
    for _ in job.steps():
        pass
    assert job.take is not None
    hand = job.take.hands[0]
    solved = kinematics.joint_frames(hand.hand, hand.pose)[:, :, :3, 3]
    tip = JOINT_INDEX["index-finger-tip"]
    off = 1000 * np.linalg.norm(solved[:, tip] - markers.positions[:, tip], axis=-1)
    assert off[CLAP] < 0.1
    reported = job.take.report["hands"]["right"]["fingers"]["index-finger"]["tip_error_mm"]["max"]
    assert reported == pytest.approx(off.max(), abs=1e-3)
