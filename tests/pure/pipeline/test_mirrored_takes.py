"""Takes that drive the other hand: as if the other hand had been recorded."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.hand import mirror, proportions
from knuckle.hand.joints import JOINTS, SIDES, Side
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.hand.limits import RigLimits
from knuckle.hand.model import HandModel
from knuckle.pipeline import job as pipeline
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import AlignChoice, Recipe
from knuckle.pipeline.retarget import RestHand
from knuckle.pipeline.rig_constraints import Frames
from knuckle.pipeline.take import SolvedHand, Take

Floats = NDArray[np.float64]
M = np.diag([-1.0, 1.0, 1.0])
TAP = Recipe(str(DEMO_CAPTURE))


def recorded(path: Path, sides: tuple[Side, ...], mirrored: bool) -> Recipe:
    """A table of hands that close, or of what a mirror shows of them, with the names that the other hands have then."""
    times = np.arange(30) / 60
    columns, names = [times[:, None]], ["time"]
    for side in sides:
        hand = proportions.build(proportions.adult(side))
        angles = (0.4 - 0.3 * np.cos(6 * times))[:, None] * hand.limits[:, 1] * (np.array(hand.movements) == "flexion")
        roots = np.tile(np.eye(4), (len(times), 1, 1))
        roots[:, 0, 3] = (0.2 if side == "right" else -0.3) + 0.05 * times
        places = joint_frames(hand, Pose(hand, roots, np.maximum(angles, hand.limits[:, 0])))[..., :3, 3]
        columns.append((places @ M if mirrored else places).reshape(len(times), -1))
        called = mirror.other_side(side) if mirrored else side
        names += [f"{called}_{joint}.{axis}" for joint in JOINTS for axis in "xyz"]
    np.savetxt(path, np.concatenate(columns, axis=1), delimiter=",", header=",".join(names), comments="", fmt="%.9f")
    return Recipe(str(path))


def expect_mirror_image(take: Take, image: Take, tolerance: float) -> None:
    """Sides are exchanged, angles the same and joints in the mirror, within m and rad."""
    assert [hand.side for hand in image.hands] == sorted(mirror.other_side(hand.side) for hand in take.hands)
    for solved in take.hands:
        seen = next(hand for hand in image.hands if hand.side != solved.side)
        assert seen.hand.side == seen.proportions.side == seen.side
        assert np.abs(seen.pose.angles - solved.pose.angles).max() <= tolerance
        frames, theirs = joint_frames(solved.hand, solved.pose), joint_frames(seen.hand, seen.pose)
        assert np.abs(theirs[..., :3, 3] - frames[..., :3, 3] @ M).max() < tolerance + 1e-9
        figures = image.report["hands"][seen.side]
        assert figures["limit_violations"] == 0
        for digit, finger in take.report["hands"][solved.side]["fingers"].items():
            assert figures["fingers"][digit]["tip_error_mm"] == pytest.approx(finger["tip_error_mm"], abs=1e-3)


@pytest.mark.parametrize(
    "recipe",
    [TAP, replace(TAP, smoothing="whole"), replace(TAP, labels="shape", start=20, end=30)],
    ids=["by names", "smoothed", "by shape"],
)
def test_a_mirrored_take_is_the_mirror_image_of_the_take(recipe: Recipe) -> None:
    expect_mirror_image(pipeline.run(recipe), pipeline.run(replace(recipe, mirror=True)), 0.0)


@pytest.mark.parametrize("sides", [("right",), ("left", "right")])
def test_a_mirrored_take_is_what_a_recording_of_the_other_hands_gives(tmp_path: Path, sides: tuple[Side, ...]) -> None:
    recipe = recorded(tmp_path / "as_it_was.csv", sides, mirrored=False)
    other = pipeline.run(recorded(tmp_path / "in_a_mirror.csv", sides, mirrored=True))
    mirrored = pipeline.run(replace(recipe, mirror=True))
    assert [hand.side for hand in mirrored.hands] == [hand.side for hand in other.hands]
    for ours, theirs in zip(mirrored.hands, other.hands, strict=True):
        places, truth = (joint_frames(hand.hand, hand.pose)[..., :3, 3] for hand in (ours, theirs))
        worst = 1000 * float(np.linalg.norm(places - truth, axis=-1).max())
        assert worst < 0.1, f"{ours.side}: {worst:.3f} mm > 0.1 mm"
        assert np.abs(ours.targets.positions - theirs.targets.positions).max() < 1e-8


def test_two_hands_swap(tmp_path: Path) -> None:
    recipe = recorded(tmp_path / "hands.csv", SIDES, mirrored=False)
    expect_mirror_image(pipeline.run(recipe), pipeline.run(replace(recipe, mirror=True)), 0.0)


def test_a_hand_that_is_asked_for_is_the_captures_and_a_part_is_mirrored_as_the_whole() -> None:
    whole = pipeline.run(replace(TAP, mirror=True, hand="right"))
    assert [hand.side for hand in whole.hands] == ["left"]
    plain = pipeline.run(replace(TAP, start=20, end=40))
    part = pipeline.run(replace(TAP, start=20, end=40, mirror=True))
    expect_mirror_image(plain, part, 0.0)
    assert np.array_equal(part.markers.positions, plain.markers.positions), "the capture stays as it was recorded"


def test_the_rig_is_asked_for_the_limits_of_the_hand_that_is_driven() -> None:
    asked: list[HandModel] = []

    class Rig:
        def limits_of(self, hand: HandModel) -> RigLimits:
            asked.append(hand)
            return RigLimits({("index-finger-phalanx-proximal", "flexion"): (-5.0, 10.0)}, 3)

        def rest_hand(self, hand: HandModel, limited: bool) -> RestHand:
            return RestHand(proportions.rest_frames_in_wrist(proportions.adult(hand.side))[:, :3, 3])

        def sides_to_align(self, align: AlignChoice, points: Sequence[str] | None, sides: Sequence[Side]) -> set[Side]:
            return set(sides)

        def frames_to_align(
            self, align: AlignChoice, points: Sequence[str] | None, hands: Sequence[SolvedHand]
        ) -> Frames:
            return {hand.side: np.eye(4) for hand in hands}

    job = SolveJob(replace(TAP, mirror=True, align="rest"), Rig())
    for _ in job.steps():
        pass
    assert job.take is not None
    assert [hand.side for hand in asked] == ["left"]
    assert job.take.report["hands"]["left"]["limited_bones"] == 3
    (solved,) = job.take.hands
    assert np.abs(solved.pose.root[0] - np.eye(4)).max() < 1e-9, "it begins where the rig's left hand is"
    assert solved.retargeted is not None and solved.retargeted.pose.hand.side == "left"
    bend = solved.hand.dof("index-finger-phalanx-proximal", "flexion")
    assert bend is not None
    assert solved.pose.angles[:, bend].max() <= np.deg2rad(10.0) + 1e-9
