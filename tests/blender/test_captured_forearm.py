"""What is taken from a capture of the forearm on which a hand hangs."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.capture import Markers
from knuckle.hand import rotations as rot
from knuckle.hand.forearm import Forearm
from knuckle.pipeline.captured_forearm import captured_forearm
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.solvers import SMOOTHINGS
from knuckle.tests.blender.making import take

Floats = NDArray[np.float64]

FRAMES = 60
LENGTH = 0.25
"""m, the forearm."""


def walked() -> tuple[Take, Floats]:
    """A right hand that walks by 1.5 m, and where its elbow (F, 3) is."""
    made = take(("right",), frames=FRAMES)
    (hand,) = made.hands
    roots = hand.pose.root.copy()
    roots[:, :3, 3] = np.linspace([0.0, 0.0, 1.0], [1.5, 0.3, 1.0], FRAMES)
    elbow = roots[:, :3, 3] - LENGTH * roots[:, :3, 1]
    return replace(made, hands=(replace(hand, pose=replace(hand.pose, root=roots), labels=("Anna:RIFT",)),)), elbow


def seen(
    made: Take, points: Mapping[str, Floats], smoothing: str = "off", recipe: Recipe | None = None
) -> Forearm | None:
    """The forearm where the capture has markers with these labels."""
    names = tuple(points)
    positions = np.stack([np.broadcast_to(path, (FRAMES, 3)) for path in points.values()], axis=1)
    shown = Markers(names, made.times, positions, "a.c3d", made.markers.rate, "m", "C3D")
    return captured_forearm(recipe or made.recipe, shown, made.hands[0], SMOOTHINGS[smoothing]())


def elbow_of(made: Take, points: Mapping[str, Floats]) -> Floats | None:
    forearm = seen(made, points)
    return None if forearm is None else forearm.elbow


def test_the_elbow_of_a_gap_goes_along_with_the_wrist() -> None:
    made, elbow = walked()
    shown = elbow.copy()
    shown[[0, 7, 8, 19]] = np.nan
    assert elbow_of(made, {"Anna:RELB": shown}) == pytest.approx(elbow)


def test_an_elbow_that_is_another_performers_or_hardly_seen_or_no_end_of_a_forearm_is_none() -> None:
    made, elbow = walked()
    rare, stretched = elbow.copy(), elbow.copy()
    rare[1:] = np.nan
    stretched[10:] = elbow[9]
    assert elbow_of(made, {"Ben:RELB": elbow}) is None
    assert elbow_of(made, {"Ben:RELB": np.array([3.0, 2.0, 1.0]), "Anna:RELB": elbow}) == pytest.approx(elbow)
    assert elbow_of(made, {"Anna:RELB": rare}) is None and elbow_of(made, {"Anna:RELB": stretched}) is None
    assert elbow_of(made, {"Anna:RIFT": elbow}) is None


@pytest.mark.parametrize(("along", "found"), [(0.0, False), (0.002, False), (0.06, True)])
def test_a_forearm_that_begins_at_the_wrist_shows_no_elbow(along: float, found: bool) -> None:
    """BVH files of a Leap have a root rForeArm that lies at the wrist."""
    made, elbow = walked()
    wrist = made.hands[0].pose.root[:, :3, 3]
    assert (elbow_of(made, {"Anna:rForeArm": wrist + along / LENGTH * (elbow - wrist)}) is not None) == found


def test_a_body_that_jumps_for_a_frame_bends_no_wrist_unless_outliers_are_kept() -> None:
    made, elbow = walked()
    shown, roots = elbow.copy(), made.hands[0].pose.root.copy()
    # Hand and elbow are elsewhere, as of another person in the picture, and the hand is bent by 100 degrees.
    roots[31, :3, :3] = roots[31, :3, :3] @ rot.to_matrix(
        rot.from_axis_angle(np.array([1.0, 0.0, 0.0]), np.array(1.75))
    )
    roots[31, :3, 3] += [1.0, 0.5, 0.0]
    shown[31] += [1.0, 0.5, 0.0]
    hand = made.hands[0]
    made = replace(made, hands=(replace(hand, pose=replace(hand.pose, root=roots)),))
    cleaning = replace(made.recipe.cleaning, spikes=False)
    for recipe, degrees in ((made.recipe, 0.0), (replace(made.recipe, cleaning=cleaning), 100.0)):
        forearm = seen(made, {"Anna:RELB": shown}, recipe=recipe)
        assert forearm is not None
        along = rot.unit_vectors(forearm.wrist - forearm.elbow)
        bends = np.rad2deg(np.arccos(np.clip(np.einsum("fi,fi->f", along, roots[:, :3, 1]), -1.0, 1.0)))
        assert bends[31] == pytest.approx(degrees, abs=1.0) and np.delete(bends, 31).max() < 1e-3


@pytest.mark.parametrize(("smoothing", "less"), [("off", 1.01), ("live", 1.01), ("whole", 0.5)])
def test_an_elbow_that_shakes_is_smoothed_over_the_whole_take_where_markers_are(smoothing: str, less: float) -> None:
    made, elbow = walked()
    shaken = elbow + np.random.default_rng(5).normal(0.0, 0.004, elbow.shape)
    forearm = seen(made, {"Anna:RELB": shaken}, smoothing)
    assert forearm is not None
    assert np.std(forearm.elbow - elbow) < less * np.std(shaken - elbow)
    assert np.abs(forearm.elbow - elbow).max() < 0.02


def test_the_trunk_is_seen_by_the_shoulders_else_by_the_hips_and_only_on_both_sides() -> None:
    made, elbow = walked()
    points = {"Anna:RELB": elbow, "Anna:RSHO": elbow + [0.0, 0.0, 0.3], "Anna:RASI": elbow - [0.0, 0.0, 0.3]}
    across = np.array([0.4, 0.0, 0.0])
    both = points | {"Anna:LSHO": points["Anna:RSHO"] + across, "Anna:LASI": points["Anna:RASI"] + across}
    shoulders, neither = seen(made, both), seen(made, points)
    del both["Anna:LSHO"]
    hips = seen(made, both)
    assert shoulders is not None and hips is not None and neither is not None
    assert shoulders.trunk == pytest.approx(points["Anna:RSHO"]) and hips.trunk == pytest.approx(points["Anna:RASI"])
    assert neither.trunk is None


@pytest.mark.parametrize(
    ("elbow", "shoulders"),
    [
        ("RightForeArm", ("LeftArm", "RightArm")),
        ("mixamorig:RightForeArm", ("mixamorig:LeftArm", "mixamorig:RightArm")),
        ("rForeArm", ("lShldr", "rShldr")),
        ("RELB", ("LSHO", "RSHO")),
        ("RightLowerArm", ("LeftUpperArm", "RightUpperArm")),
        ("lowerarm_r", ("upperarm_l", "upperarm_r")),
        ("RightElbow", ("LeftShoulder", "RightShoulder")),
    ],
)
def test_the_arms_of_common_skeletons_are_known(elbow: str, shoulders: tuple[str, str]) -> None:
    made, path = walked()
    (hand,) = made.hands
    names = ("Hips", *shoulders, elbow, "LeftForeArm" if elbow.endswith("RightForeArm") else "l")
    ends = [path + [0.4, 0.0, 0.3], path + [0.0, 0.0, 0.3], path, path + [0.4, 0.0, 0.0]]
    positions = np.stack([path - 1.0, *ends], axis=1)
    shown = Markers(names, made.times, positions, "a.bvh", made.markers.rate, "m", "BVH")
    hand = replace(hand, labels=(f"{elbow.rpartition(':')[0]}{':' * (':' in elbow)}RIFT",))
    forearm = captured_forearm(made.recipe, shown, hand, SMOOTHINGS["off"]())
    assert forearm is not None and forearm.trunk is not None
    assert forearm.elbow == pytest.approx(path) and forearm.trunk == pytest.approx(ends[1])
