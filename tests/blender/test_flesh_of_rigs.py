"""Flesh of rigs: how thick their skin says they are, and a solve that keeps their digits apart."""

from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.capture.markers import Markers
from knuckle.hand import kinematics, poses, proportions
from knuckle.hand.flesh import usual_radii
from knuckle.hand.joints import DIGIT_JOINTS, DIGITS, JOINT_INDEX, JOINTS
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.evidence.evidence import MEASURE_INDEX
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.rig.default_hand import add_hand
from knuckle.rig.drawn_flesh import hand_of_capsules
from knuckle.rig.rig_query import RigQuery

SIZE = 0.24


@pytest.fixture
def large() -> bpy.types.Object:
    """Knuckle's own hand as a rig of a tall person's size, with its skin."""
    armature = add_hand(proportions.adult("right", SIZE), "Rig", bpy.context.collection)
    bpy.context.view_layer.update()
    return armature


def pinch_markers(frames: int = 40) -> Markers:
    """An adult who closes a pinch until the index finger is in the thumb."""
    hand = proportions.build(proportions.adult("right"))
    closed = poses.angles(hand, "pinch")
    closed[hand.dof("index-finger-phalanx-proximal", "flexion")] += np.deg2rad(6)
    share = np.linspace(0, 1, frames)[:, None]
    pose = Pose.at_origin(hand, (1 - share) * hand.neutral + share * closed)
    places = kinematics.joint_frames(hand, pose)[..., :3, 3]
    return Markers(JOINTS, np.arange(frames) / 60, places, "made", 60.0, "m")


def solved(armature: bpy.types.Object, **recipe: Any) -> Take:
    job = SolveJob(Recipe("made", **recipe), RigQuery.of(armature), markers=pinch_markers())
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take


def test_a_rigs_skin_says_how_thick_its_digits_are(large: bpy.types.Object) -> None:
    radii = RigQuery.of(large).rest_hand(proportions.build(proportions.adult("right")), True).radii
    assert np.isnan(radii[0, 0])
    assert radii.ravel()[1:] == pytest.approx(usual_radii(SIZE).ravel()[1:], rel=0.25)
    large.scale = (2.0, 2.0, 2.0)
    bpy.context.view_layer.update()
    twice = RigQuery.of(large).rest_hand(proportions.build(proportions.adult("right")), True).radii
    assert twice.ravel()[1:] == pytest.approx(2 * radii.ravel()[1:], rel=1e-4)


def test_a_solve_keeps_the_digits_of_a_rig_apart(large: bpy.types.Object) -> None:
    before, after = (solved(large, keep_apart=on) for on in (False, True))
    depth = [take.evidence.hands[0].values[..., MEASURE_INDEX["depth"]].max() for take in (before, after)]
    assert depth[0] > 3.0
    assert depth[1] < 1.3, "1 mm of a hand of the usual length, of which this has 1.27"
    assert after.report["recipe"]["keep_apart"] is True


@pytest.mark.parametrize("missing", DIGITS)
def test_a_hand_of_capsules_that_lacks_a_digit_is_as_thick(missing: str) -> None:
    hand = proportions.build(proportions.adult("right"))
    joints = kinematics.joint_frames(hand, Pose.at_origin(hand, hand.neutral[None]))[0, :, :3, 3]
    whole, _ = hand_of_capsules(joints)
    joints[[JOINT_INDEX[joint] for joint in DIGIT_JOINTS[missing]]] = np.nan
    seen, _ = hand_of_capsules(joints)
    depth, of_whole = (np.ptp(vertices[:, 2]) for vertices in (seen, whole))
    assert 0.5 * of_whole < depth <= of_whole + 1e-9
