"""Fragments: wrong positions between gaps are dropped, right ones are kept, on real takes with gaps cut into them.

The constants were chosen on takes of users 1 and 3 of Han et al. (2018) and on two_hands_glove.c3d; the takes measured
here are others.
"""

from dataclasses import replace

import numpy as np
import pytest

from knuckle.capture import Markers
from knuckle.capture.fragments import MAX_FRAGMENT_FRAMES, Body, drop_fragments, find_fragments
from knuckle.hand import poses
from knuckle.hand.generators import run_to_end
from knuckle.hand.kinematics import Pose, joint_frames, site_positions
from knuckle.hand.marker_sets import on_palm
from knuckle.hand.rotations import to_matrix
from knuckle.pipeline import assignment
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import Take
from knuckle.tests.pure.capture.cut_gaps import Fragment, cut
from knuckle.tests.pure.hand import people
from knuckle.tests.pure.hand.skin_people import SPOTS, worn_by
from knuckle.tests.resources import SHARED, Folder

CAPTURES = (
    "captures/qualisys_glove.tsv",
    "captures/leap_finger_tap.json",
    "captures/mediapipe_video.json",
    *(f"sig18/user2/capture4_{number}_left.trc" for number in (2, 4, 6, 9, 12, 16, 21, 26, 31)),
)
SEEDS = 4
BODY = Body(np.arange(4), np.arange(0))


def drop(markers: Markers, bodies: list[Body]) -> tuple[Markers, dict[str, int]]:
    return run_to_end(drop_fragments(markers, bodies))


def read(name: str) -> tuple[Markers, list[Body]]:
    """A capture and its hands."""
    recipe = Recipe(str(SHARED / "data" / name))
    markers = assignment.label_markers(recipe, assignment.read(recipe)).markers
    hands = assignment.assign_hands(recipe, markers).hands.values()
    return markers, [
        Body(
            np.array([markers.names.index(label) for label in spots]),
            np.flatnonzero([on_palm(spot) for spot in spots.values()]),
        )
        for spots in hands
    ]


def kept(markers: Markers, fragments: list[Fragment]) -> list[bool]:
    return [bool(markers.seen[each.start : each.stop, each.column].all()) for each in fragments]


@pytest.mark.skipif(not (SHARED / "data/sig18").exists(), reason="no data/sig18 beside the checkout (../shared)")
def test_on_real_takes_wrong_fragments_are_dropped_and_right_ones_kept() -> None:
    right: list[bool] = []
    wrong: list[bool] = []
    for name in CAPTURES:
        whole, bodies = read(name)
        for seed in range(SEEDS):
            markers, fragments = cut(whole, [column for body in bodies for column in body.columns], seed)
            after, _ = drop(markers, bodies)
            right += kept(after, [each for each in fragments if each.off == 0])
            wrong += kept(after, [each for each in fragments if each.off > 0.015])
    lost, left = 1 - np.mean(right), np.mean(wrong)
    assert min(len(right), len(wrong)) > 300
    assert left <= 0.05, f"{left:.1%} of {len(wrong)} fragments more than 15 mm off were left, expected 5 %"
    assert lost <= 0.01, f"{lost:.1%} of {len(right)} right fragments were dropped, expected 1 %"


def waving(frames: int = 600, rate: float = 120.0) -> Markers:
    """Four markers on a hand that is thrown about at up to 4 m/s while it closes, with noise of 0.3 mm."""
    times = np.arange(frames) / rate
    angle = 1.5 * np.sin(9 * times)
    turned = to_matrix(np.stack([np.cos(angle / 2), np.sin(angle / 2), 0 * angle, 0 * angle], -1))
    rest = np.array([[0.0, 0.0, 0.0], [0.04, 0.0, 0.0], [0.0, 0.08, 0.01], [0.03, 0.15, 0.0]])
    local = np.broadcast_to(rest, (frames, 4, 3)).copy()
    local[:, 3, 2] -= 0.02 * (1 + np.sin(4 * times))
    moved = np.einsum("fij,fmj->fmi", turned, local) + 0.4 * np.sin(np.outer(times, [10.0, 6.0, 3.0]))[:, None]
    moved += np.random.default_rng(0).normal(scale=0.0003, size=moved.shape)
    return Markers(tuple("abcd"), times, moved, "test", rate, "m")


def with_fragment(markers: Markers, start: int, off: float, column: int = 3, frames: int = 2) -> Markers:
    """A fragment moved by `off` m, with a gap on both sides."""
    positions, gap = markers.positions.copy(), 15
    positions[start - gap : start, column] = positions[start + frames : start + frames + gap, column] = np.nan
    positions[start : start + frames, column] += np.array([0.6, -0.64, 0.48]) * off
    return replace(markers, positions=positions)


@pytest.mark.parametrize("start", [100, 240, 333, 470])
@pytest.mark.parametrize("frames", range(1, MAX_FRAGMENT_FRAMES + 1))
def test_a_fast_hand_is_no_fragment_and_a_point_beside_it_is_one(start: int, frames: int) -> None:
    """The marker moves by 8 cm between the frames on both sides of a gap of an eighth of a second."""
    body = [Body(np.arange(4), np.arange(3))]
    right = with_fragment(waving(), start, 0.0, frames=frames)
    assert drop(right, body)[1] == {}
    after, dropped = drop(with_fragment(waving(), start, 0.015, frames=frames), body)
    assert dropped == {"d": 1}
    gone = right.seen & ~after.seen
    assert gone.sum() == frames
    assert gone[start : start + frames, 3].all()


def test_a_marker_of_the_palm_does_not_pull_the_palm_after_it() -> None:
    body = [Body(np.arange(4), np.arange(4))]
    still = replace(waving(), positions=np.broadcast_to(waving().positions[:1], (600, 4, 3)) + noise(0.0003))
    assert drop(with_fragment(still, 300, 0.012, column=1), body)[1] == {"b": 1}
    assert drop(with_fragment(still, 300, 0.0, column=1), body)[1] == {}


def noise(scale: float) -> np.ndarray:
    return np.random.default_rng(5).normal(scale=scale, size=(600, 4, 3))


def test_noise_is_measured_on_the_take_itself() -> None:
    """What is 20 mm off in a take whose positions are 0.3 mm off on average may be right where they are 10 mm off."""
    calm = replace(waving(), positions=np.broadcast_to(waving().positions[:1], (600, 4, 3)) + noise(0.0003))
    rough = replace(calm, positions=calm.positions + noise(0.010))
    assert drop(with_fragment(calm, 300, 0.020), [BODY])[1] == {"d": 1}
    assert drop(with_fragment(rough, 300, 0.020), [BODY])[1] == {}


@pytest.mark.parametrize(("column", "off"), [(1, 0.03), (3, 0.1)])
def test_a_short_take_tells_by_distances_what_it_has_too_few_gaps_to_learn(column: int, off: float) -> None:
    body = [Body(np.arange(4), np.arange(3))]
    assert drop(with_fragment(waving(90), 45, 0.0, column), body)[1] == {}
    assert drop(with_fragment(waving(90), 45, off, column), body)[1] == {"abcd"[column]: 1}


@pytest.mark.parametrize(("seed", "tip"), [(1, "ring-fingerTip"), (3, "middle-fingerTip")])
def test_a_tip_that_is_lost_in_a_fist_keeps_what_is_seen_of_it(seed: int, tip: str) -> None:
    """While the hand was open and hardly moved, each of its markers kept its distance from all others."""
    worn, random = worn_by("right", seed), np.random.default_rng(seed)
    hand = worn.model.with_sites(people.sites_of(worn))
    closed = np.interp(np.arange(700), [250, 300], [0.0, 1.0])[:, None]
    beat = 2 * np.pi * np.arange(700)[:, None] / 100 * random.uniform(0.5, 1.5, hand.dofs)
    tremble = 0.02 / 3 * np.sin(beat + random.uniform(0, 6, hand.dofs)) * np.ptp(hand.limits, axis=1)
    angles = (1 - closed) * poses.angles(hand, "open") + closed * poses.angles(hand, "fist") + tremble
    pose = Pose.at_origin(hand, np.clip(angles, *hand.limits.T))
    positions = site_positions(hand, joint_frames(hand, pose))[:, -len(worn.markers) :]
    positions = positions + random.normal(0, 0.0004, positions.shape)
    lost = np.flatnonzero((np.arange(700) >= 255) & (np.arange(700) % 12 > 1))
    positions[lost, list(SPOTS).index(tip)] = np.nan
    markers = Markers(tuple(SPOTS), np.arange(700) / 100, positions, "a fist", 100.0, "m")
    assert drop(markers, [Body(np.arange(len(SPOTS)), np.array([15, 16, 17]))])[1] == {}


def test_what_cannot_be_decided_is_kept() -> None:
    """Of a take of a few frames, and of one in which a marker is never seen for longer."""
    short = with_fragment(waving(40), 20, 0.05)
    assert drop(short, [BODY])[0].seen.sum() == short.seen.sum()
    positions = waving().positions.copy()
    positions[np.arange(600) % 5 > 1, 3] = np.nan
    scattered = replace(waving(), positions=positions)
    assert drop(scattered, [BODY])[1] == {}


def test_long_runs_and_markers_of_no_hand_stay() -> None:
    longer = with_fragment(waving(), 300, 0.05, frames=MAX_FRAGMENT_FRAMES + 1)
    assert drop(longer, [BODY])[1] == {}
    assert drop(with_fragment(waving(), 300, 0.05), [Body(np.arange(3), np.arange(3))])[1] == {}


def test_runs_are_split_into_fragments_and_the_rest() -> None:
    seen = np.array([[1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1]], bool).T
    fragments, reliable = find_fragments(seen)
    assert [(each.start, each.stop) for each in fragments] == [(0, 2), (3, 6), (12, 13)]
    np.testing.assert_array_equal(np.flatnonzero(reliable), [7, 8, 9, 10])


@pytest.mark.parametrize("smoothing", ["off", "whole"])
def test_no_joint_snaps_at_a_fragment(shared: Folder, smoothing: str) -> None:
    """A solved take turns its joints no faster than without the fragments, and says what was dropped."""
    path = shared.file("data/captures/qualisys_glove.tsv")
    whole, bodies = read("captures/qualisys_glove.tsv")
    whole = whole.select(slice(0, 800))
    tips = [column for body in bodies for column in body.columns if whole.names[column].lower().endswith("tip")]
    markers, fragments = cut(whole, tips, seed=3, off=(0.02, 0.06), right=0.0)
    recipe = Recipe(str(path), smoothing=smoothing)
    clean, seeded = (solve(recipe, each) for each in (whole, markers))
    assert sum(seeded.report["dropped_fragments"].values()) >= 0.95 * len(fragments)
    assert any("did not fit" in warning for warning in seeded.report["warnings"])
    for before, after in zip(clean.hands, seeded.hands, strict=True):
        fastest, found = (np.rad2deg(np.abs(np.diff(each.pose.angles, axis=0))) for each in (before, after))
        beyond = found.max(0) - fastest.max(0)
        assert beyond.max() <= 5.0, f"{after.side}: an angle turns {beyond.max():.1f} degrees a frame more"


def solve(recipe: Recipe, markers: Markers) -> Take:
    job = SolveJob(recipe, markers=markers)
    run_to_end(job.steps())
    assert job.take is not None
    return job.take
