"""Takes of markers on the skin, from file to pose: the performer is fitted and all markers count."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from knuckle.capture import read
from knuckle.errors import MarkerMapError, RecipeError
from knuckle.hand import kinematics
from knuckle.hand.calibration.skin_markers import fit
from knuckle.hand.joints import DIGITS
from knuckle.hand.limits import AngleLimits
from knuckle.hand.marker_sets import Spot, suggest
from knuckle.hand.measured_hand import MeasuredHand, apply_skin_fit
from knuckle.pipeline import calibration, performer
from knuckle.pipeline.calibration_choices import CalibrationChoices
from knuckle.pipeline.job import SolveJob, run
from knuckle.pipeline.performer import Performer
from knuckle.pipeline.recipe import Recipe
from knuckle.solvers.skin_markers import SkinSolver
from knuckle.solvers.skin_tracker import SkinTracker
from knuckle.solvers.solver import residuals
from knuckle.tests.pure.hand.skin_people import SPOTS, made, worn_by
from knuckle.tests.resources import SHARED

SIG18 = SHARED / "data" / "sig18" / "user1"
GLOVE = SHARED / "data" / "captures" / "two_hands_glove.c3d"
needs_takes = pytest.mark.skipif(not SIG18.exists(), reason="no data/sig18 beside the checkout (../shared)")
needs_glove = pytest.mark.skipif(not GLOVE.exists(), reason="no data/captures beside the checkout (../shared)")


@cache
def solved(path, **choices):
    return run(Recipe(capture=str(path), **choices))


def off(hand):
    """(F, T) mm from the markers that were seen to where the solved hand has them."""
    return np.where(hand.measured, 1000 * residuals(hand.hand, hand.targets, hand.pose), np.nan)


@needs_takes
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_take_of_skin_markers_is_met_by_all_markers_and_not_by_tips_alone(side):
    take = solved(SIG18 / f"capture2_2_{side}.trc")
    (hand,) = take.hands
    mean = float(np.nanmean(off(hand)))
    assert take.report["marker_set"]["name"] == "19 markers on the skin (Han et al. 2018)"
    assert hand.side == side
    assert len(hand.targets.sites) == 19
    assert mean < 2.3, f"markers are {mean:.2f} mm off"
    assert take.report["hands"][side]["limit_violations"] == 0


@needs_takes
def test_a_person_may_ask_for_fingertips():
    (hand,) = solved(SIG18 / "capture2_2_right.trc", markers_on="joints").hands
    tips = [number for number, site in enumerate(hand.targets.sites) if hand.hand.sites[site].name.endswith("-tip")]
    assert np.nanmean(off(hand)[:, tips]) < 2.0


@needs_glove
def test_a_gloves_thumbs_have_no_kink():
    """Where fingertips alone are met, a thumb's middle markers are up to 26 mm from its bones."""
    for one in solved(GLOVE).hands:
        missed, mean = off(one), float(np.nanmean(off(one)))
        joints = [one.hand.joints[one.hand.sites[site].joint] for site in one.targets.sites]
        thumb = float(np.nanmax(missed[[60, 240]][:, [joint.startswith("thumb") for joint in joints]]))
        assert mean < 2.5, f"{one.side} hand: {mean:.2f} mm"
        assert thumb < 4.0, f"{one.side} thumb: {thumb:.1f} mm"
        assert not one.predicted.any(), "every marker is seen in every frame"


@needs_takes
def test_a_hidden_fingertip_stays_where_the_other_markers_say_it_is():
    """0.3 s without IndexTip, solved by default: longer than gaps that are filled."""
    path = SIG18 / "capture2_2_right.trc"
    whole = read(path)
    column, gap = whole.names.index("IndexTip"), slice(120, 156)
    positions = whole.positions.copy()
    positions[gap, column] = np.nan
    job = SolveJob(Recipe(capture=str(path)), markers=replace(whole, positions=positions))
    for _ in job.steps():
        pass
    assert job.take is not None
    (hand,) = job.take.hands
    sites = kinematics.site_positions(hand.hand, kinematics.joint_frames(hand.hand, hand.pose))
    at = sites[gap, [site.name for site in hand.hand.sites].index("IndexTip")]
    missed = 1000 * np.linalg.norm(at - whole.positions[gap, column], axis=-1)
    assert np.nanmean(missed) < 8, f"{np.nanmean(missed):.1f} mm"


@needs_takes
def test_a_fingertip_that_a_take_never_shows_bends_as_the_performers_other_takes_do():
    """The bend of the DIP then follows from the other angles. The third performer's took no part in choosing how."""
    folder = SIG18.with_name("user3")
    takes = [read(folder / f"{name}_right.trc") for name in ("capture3_out2", "capture4_9", "capture4_20")]
    worn = fit([take.positions for take in takes], takes[0].rate, spots_of(takes[0].names), "right")
    test = read(folder / "capture3_out6_right.trc")
    tip = test.names.index("IndexTip")
    withheld = test.positions.copy()
    withheld[:, tip] = np.nan
    poses = SkinSolver().solve_take(worn, test.times, withheld)
    missed = 1000 * np.linalg.norm(poses.markers[:, tip] - test.positions[:, tip], axis=-1)
    assert np.nanmean(missed) < 6, f"{np.nanmean(missed):.1f} mm"


@needs_takes
def test_a_followed_hand_recovers_from_swapped_labels():
    """Ten frames of other labels now and then, and two frames after each to recover."""
    take = read(SIG18 / "capture2_4_right.trc")
    worn = fit(take.positions, take.rate, spots_of(take.names), "right")
    test = another_take(200)
    given, random = test.positions.copy(), np.random.default_rng(1)
    for start in range(20, 180, 40):
        given[start : start + 10] = given[start : start + 10, random.permutation(given.shape[1])]
    tracker, state, found = SkinTracker(worn), None, []
    for time, markers in zip(test.times, given, strict=True):
        poses, state = tracker.solve(float(time), markers, state)
        found.append(poses.markers[0])
    missed = 1000 * np.nanmean(np.linalg.norm(np.array(found) - test.positions, axis=-1), axis=1)
    recovered = [frame for frame in range(len(missed)) if (frame - 20) % 40 >= 12]
    assert missed[recovered].max() < 4, f"{missed[recovered].max():.1f} mm"


@cache
def fitted_performer():
    """The first performer's right hand, fitted to a take, as its file has it."""
    take = read(SIG18 / "capture2_4_right.trc")
    worn = fit(take.positions, take.rate, spots_of(take.names), "right")
    hand = apply_skin_fit(MeasuredHand(worn.proportions, {}), worn)
    return performer.to_dict(Performer("take", {"right": hand}))


def solved_by(markers, performer):
    """Another take of a performer, solved with its file."""
    job = SolveJob(Recipe(capture="take.trc", performer=performer), markers=markers)
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take


@cache
def another_take(frames):
    return read(SIG18 / "capture2_2_right.trc").select(slice(0, frames))


@needs_takes
def test_a_performer_is_known_by_its_markers_whatever_subject_their_labels_name():
    plain = another_take(60)
    annas = replace(plain, names=tuple(f"Anna:{name}" for name in plain.names))
    (expected,), (found,) = (solved_by(markers, fitted_performer()).hands for markers in (plain, annas))
    np.testing.assert_allclose(found.pose.angles, expected.pose.angles, atol=1e-9)
    np.testing.assert_allclose(found.pose.root, expected.pose.root, atol=1e-9)


@needs_takes
def test_a_marker_that_the_performer_was_measured_without_is_reported():
    data = json.loads(json.dumps(fitted_performer()))
    del data["hands"]["right"]["skin"]["markers"]["RingPIP"]
    reported = solved_by(another_take(60), data).report["warnings"]
    assert "the performer was measured without 'RingPIP': left out" in reported


@needs_takes
def test_a_performer_who_wore_another_set_is_fitted_anew():
    data = json.loads(json.dumps(fitted_performer()))
    worn = data["hands"]["right"]["skin"]["markers"]
    data["hands"]["right"]["skin"]["markers"] = {f"X{number}": entry for number, entry in enumerate(worn.values())}
    data["markers"]["right"] = {}
    take = solved_by(another_take(300), data)
    assert np.nanmean(off(take.hands[0])) < 2.3
    assert any(
        text.startswith("the right hand is fitted again: 19 of its 19 markers") for text in take.report["warnings"]
    )


def spots_of(labels):
    (spots,) = suggest(labels).groups.values()
    return {label: spots.get(label, Spot("wrist")) for label in labels}


def test_the_19_markers_are_a_known_set():
    digits = {"Thumb": ("CMC", "MCP", "IP", "Tip"), "Index": ("MCP", "PIP", "Tip"), "Pinky": ("MCP", "PIP", "Tip")}
    names = [f"{digit}{part}" for digit, parts in digits.items() for part in parts]
    found = suggest([*names, "BackHand1", "BackHand2", "BackHand3"])
    assert found.on_skin
    assert sum(map(len, found.groups.values())) == len(names) + 3


def test_limits_that_a_person_has_written_outlive_a_fit():
    worn = worn_by("left")
    written: AngleLimits = {("thumb-phalanx-distal", "flexion"): (-60.0, 100.0)}
    hand = apply_skin_fit(MeasuredHand(worn.proportions, {}, limits=written), worn)
    assert hand.limits == {**worn.limits, **written} != worn.limits


def test_a_performers_file_holds_the_markers_worn():
    worn = worn_by("left")
    hand = apply_skin_fit(MeasuredHand(worn.proportions, {}), worn)
    read = performer.from_dict(json.loads(json.dumps(performer.to_dict(Performer("take", {"left": hand})))), "file")
    again = read.hands["left"].skin_fit
    assert again is not None
    assert again.markers.labels == worn.markers.labels
    np.testing.assert_array_equal(again.markers.digits, worn.markers.digits)
    np.testing.assert_allclose(again.markers.offsets, worn.markers.offsets, atol=1e-6)
    np.testing.assert_allclose(again.poses.covariance, worn.poses.covariance, atol=1e-5)
    np.testing.assert_allclose(read.hands["left"].proportions.phalanges, worn.proportions.phalanges, atol=1e-5)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda skin: skin.pop("habits"), "'markers' and 'habits'"),
        (lambda skin: skin["markers"]["thumbA"].update(on="toe"), "on 'toe'"),
        (lambda skin: skin["markers"]["thumbA"].update(spread_mm=[0, 1, 1]), "not above zero"),
        (lambda skin: skin["markers"]["thumbA"].update(offset_mm=[1, 2]), "offset_mm is not 3 numbers"),
        (lambda skin: skin["habits"].update(mean_deg="x"), "mean_deg is not 26 numbers"),
        (lambda skin: skin["habits"]["covariance_deg2"][0].__setitem__(0, -5.0), "no covariance"),
    ],
)
def test_a_spoiled_file_is_refused_in_a_sentence(spoil, said):
    worn = worn_by("right")
    hand = apply_skin_fit(MeasuredHand(worn.proportions, {}), worn)
    data = json.loads(json.dumps(performer.to_dict(Performer("take", {"right": hand}))))
    spoil(data["hands"]["right"]["skin"])
    with pytest.raises(RecipeError, match=said.replace("(", r"\(")):
        performer.from_dict(data, "file")


LABELS = tuple(f"m{number}" for number in range(18))


def written(path, seed):
    """The recipe of a made take, in a table, with a map of where its markers are."""
    take = made("right", frames=60, seed=seed, noise=0.0005)
    _write(path, take.times, {label: take.positions[:, column] for column, label in enumerate(LABELS)})
    places = zip(LABELS, take.worn.spots().values(), strict=True)
    spots = {label: {"joint": spot.joint, "offset": list(spot.offset)} for label, spot in places}
    return Recipe(capture=str(path), unit="m", up="z", markers={"right": spots}, markers_on="skin")


def _write(path, times, columns):
    """A table of positions (F, 3) m by label."""
    head = "time," + ",".join(f"{label}.{axis}" for label in columns for axis in "xyz")
    rows = np.column_stack([times, *columns.values()])
    path.write_text(head + "\n" + "\n".join(",".join(f"{value:.6f}" for value in row) for row in rows) + "\n")


def written_hands(path, takes):
    """The recipe of a capture of several hands, with maps that name the joints beside their digits' markers."""
    columns: dict[str, np.ndarray] = {}
    markers = {}
    for side, take in takes.items():
        columns |= {f"{side}-{label}": take.positions[:, number] for number, label in enumerate(SPOTS)}
        spots = take.worn.spots() | {label: spot for label, spot in SPOTS.items() if spot.joint != "wrist"}
        markers[side] = {
            f"{side}-{label}": {"joint": spot.joint, "offset": list(spot.offset)} for label, spot in spots.items()
        }
    _write(path, next(iter(takes.values())).times, columns)
    return Recipe(capture=str(path), unit="m", up="z", markers=markers, markers_on="skin")


def person(frames=100):
    """Takes of a right hand whose index finger hardly bends, and of the same person's left one whose fingers all do."""
    right = made("right", frames, noise=0.0005, worn=worn_by("right", seed=8), stiff=["index-finger"])
    return {"right": right, "left": made("left", frames, seed=4, noise=0.0005, worn=worn_by("left", seed=8))}


@pytest.mark.parametrize("calibrated", [False, True])
def test_both_hands_of_a_capture_are_fitted_with_what_each_says_about_the_other(tmp_path, calibrated):
    takes = person()
    recipe = written_hands(tmp_path / "take.csv", takes)

    def measured(choice):
        if calibrated:
            return calibration.run(choice, CalibrationChoices()).hands["right"].proportions
        return next(hand for hand in run(choice).hands if hand.side == "right").proportions

    true = takes["right"].worn.proportions.phalanges[DIGITS.index("index-finger"), 0]
    off = [
        1000 * abs(measured(replace(recipe, hand=hand)).phalanges[DIGITS.index("index-finger"), 0] - true)
        for hand in ("right", "auto")
    ]
    assert off[1] < 0.8 * off[0], f"the proximal phalanx is {off[0]:.1f} mm off alone, {off[1]:.1f} with both hands"


def test_hands_of_two_people_in_one_capture_are_told(tmp_path):
    worn = worn_by("left")
    palm, phalanges = (1.12 * part for part in (worn.proportions.palm, worn.proportions.phalanges))
    larger = replace(
        worn,
        proportions=replace(worn.proportions, palm=palm, phalanges=phalanges),
        markers=replace(worn.markers, offsets=1.12 * worn.markers.offsets),
    )
    takes = {"right": made("right", 100, noise=0.0005), "left": made("left", 100, noise=0.0005, worn=larger)}
    take = run(written_hands(tmp_path / "take.csv", takes))
    assert any("each hand was fitted by itself" in warning for warning in take.report["warnings"])


def test_a_performers_file_is_used_as_it_is(tmp_path):
    worn = worn_by("right")
    worn = replace(worn, markers=replace(worn.markers, labels=LABELS))
    hand = apply_skin_fit(MeasuredHand(worn.proportions, {}), worn)
    person = performer.to_dict(Performer("another take", {"right": hand}))
    (found,) = run(replace(written(tmp_path / "take.csv", seed=9), performer=person)).hands
    np.testing.assert_allclose(found.proportions.phalanges, worn.proportions.phalanges, atol=1e-5)
    assert np.nanmean(off(found)) < 1.0


def test_a_map_serves_a_take_that_lacks_some_of_its_labels(tmp_path):
    recipe = written(tmp_path / "take.csv", seed=3)
    assert recipe.markers is not None
    take = run(replace(recipe, markers={"right": recipe.markers["right"] | {"gone": "thumb-metacarpal"}}))
    assert any("gone" in warning for warning in take.report["warnings"])
    assert np.nanmean(off(take.hands[0])) < 2.0
    with pytest.raises(MarkerMapError, match="is not in the capture"):
        run(replace(recipe, markers={"right": {"a": "wrist", "b": "thumb-tip", "m1": "index-finger-tip"}}))
