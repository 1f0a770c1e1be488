"""Contacts of a performer: found in made motion, and held by hands of the same and of other proportions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from knuckle.hand import kinematics, mirror, poses, proportions
from knuckle.hand.flesh import PALM, STARTS, Flesh
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, SIDES, Side
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.pipeline.contacts.contact_report import contact_report
from knuckle.pipeline.contacts.find_contacts import Contact, find_contacts
from knuckle.pipeline.contacts.flesh_depths import pair_depths, part_depths
from knuckle.pipeline.contacts.held_contacts import BLEND_SECONDS
from knuckle.pipeline.contacts.hold_contacts import hold_contacts
from knuckle.pipeline.contacts.hold_touch import find_touch
from knuckle.pipeline.contacts.settling import settle
from knuckle.pipeline.contacts.sliding_points import contact_pairs
from knuckle.pipeline.evidence.skin_depth import depths
from knuckle.solvers.pose_problem import angles_of
from knuckle.solvers.solver import limit_excess

RATE = 100.0
FRAMES = 200
HELD = slice(70, 131)
"""Rows in which the performer's pinch is closed."""
TURNS = (
    ("ring-finger", (18, 34, 8, 2, 2, 39, 8, 27, 44, 5, 42)),
    ("middle-finger", (-19, -3, -14, 2, -47, 45, 42, -35, -33, 34, -5)),
)
"""A finger, and by how many degrees the joints of thumb and finger turn while the pinch is closed."""


def performed(side: Side = "right", name: str = "ok") -> Pose:
    """A performer who closes a named pose, holds it with a tremble of half a degree, and opens it again."""
    hand = proportions.build(proportions.adult(side))
    share = np.interp(np.arange(FRAMES), [30, HELD.start, HELD.stop - 1, 170], [0, 1, 1, 0])[:, None]
    share = share * share * (3 - 2 * share)
    tremble = np.deg2rad(0.5) * np.sin(np.arange(FRAMES)[:, None] / 7 + np.arange(hand.dofs))
    angles = (1 - share) * hand.neutral + share * (poses.angles(hand, name) + tremble)
    return Pose.at_origin(hand, np.clip(angles, *hand.limits.T))


def times_of(pose: Pose, rate: float = RATE) -> np.ndarray:
    return np.arange(len(pose)) / rate


def found(pose: Pose, rate: float = RATE) -> tuple[Contact, ...]:
    flesh = Flesh.of(pose.hand)
    return find_contacts(pose, times_of(pose, rate), flesh, pair_depths(flesh, pose.hand, pose.angles))


def other_hand(hand: HandModel, size: float, **factors: float) -> HandModel:
    """A hand of another size, with digits longer or shorter by factors."""
    rest = np.array(hand.rest)
    rest[:, :3, 3] *= size
    for digit, factor in factors.items():
        for joint in CHAIN_JOINTS[digit.replace("_", "-")][1:]:
            rest[JOINT_INDEX[joint], :3, 3] *= factor
    return replace(hand, rest=rest)


def held(performer: Pose, hand: HandModel, rate: float = RATE) -> tuple[Pose, Pose, list[dict[str, Any]]]:
    """The same angles on a hand, how it holds the contacts, and the report of them."""
    before, flesh, times = Pose.at_origin(hand, performer.angles), Flesh.of(hand), times_of(performer, rate)
    free, contacts = angles_of(hand, DIGITS), found(performer, rate)
    holding = hold_contacts(before, times, flesh, free, contacts)
    after = run_to_end(settle(before, times, flesh, free, holding, everywhere=False))
    return before, after, contact_report(contacts, holding, after, times)


def deepest(pose: Pose) -> np.ndarray:
    joints = kinematics.joint_frames(pose.hand, pose)[..., :3, 3]
    deepest_of_frame: np.ndarray = depths(Flesh.of(pose.hand), joints).max(axis=1)
    return deepest_of_frame


def turns(pose: Pose) -> np.ndarray:
    """Degrees (F - 1, J) that each joint turns from one frame to the next."""
    same = np.abs((pose.rotations[1:] * pose.rotations[:-1]).sum(axis=-1))
    degrees: np.ndarray = np.rad2deg(2 * np.arccos(np.clip(same, 0.0, 1.0)))
    return degrees


def tips(pose: Pose) -> np.ndarray:
    at = [JOINT_INDEX[chain[-1]] for chain in CHAIN_JOINTS.values()]
    positions: np.ndarray = 1000 * kinematics.joint_frames(pose.hand, pose)[..., :3, 3][:, at]
    return positions


@pytest.mark.parametrize("side", SIDES)
def test_a_pinch_is_found_where_it_is_closed(side: Side) -> None:
    contacts = [each for each in found(performed(side)) if set(each.parts) == {0, 1}]
    assert len(contacts) == 1
    (contact,) = contacts
    # The tips are within 4 mm a few frames before and after.
    assert HELD.start - 12 <= contact.first <= HELD.start + 5
    assert HELD.stop - 6 <= contact.last <= HELD.stop + 12
    assert abs(contact.gap) < 0.003


def test_depth_of_parts_is_that_of_the_evidence() -> None:
    for pose in (performed(name="fist"), performed(name="open")):
        flesh = Flesh.of(pose.hand)
        joints = kinematics.joint_frames(pose.hand, pose)[..., :3, 3]
        by_pairs = part_depths(flesh, pair_depths(flesh, pose.hand, pose.angles))
        np.testing.assert_array_equal(by_pairs, depths(flesh, joints))


def test_a_fist_touches_the_palm_and_an_open_hand_nothing() -> None:
    fist = found(performed(name="fist"))
    assert {part for each in fist for part in each.parts if PALM in each.parts} >= {2, 3, PALM}
    assert not found(performed(name="open"))
    assert not found(performed(name="spread"))


def test_contacts_of_a_mirrored_take_are_the_same() -> None:
    pose = performed()
    other = mirror.pose(pose, mirror.model(pose.hand))
    assert [(each.parts, each.first, each.last) for each in found(pose)] == [
        (each.parts, each.first, each.last) for each in found(other)
    ]


def test_a_touch_in_passing_is_no_contact() -> None:
    pose = performed()
    quick = Pose.at_origin(pose.hand, pose.angles[[*range(30, 71, 8), *range(131, 170, 8)]])
    assert not [each for each in found(quick) if set(each.parts) == {0, 1}]


@pytest.mark.parametrize(
    "proportions_of",
    [
        {"size": 1.0},
        {"size": 1.25},
        {"size": 1.2, "thumb": 1.2, "index_finger": 1.1},
        {"size": 0.85, "index_finger": 0.85},
    ],
    ids=str,
)
def test_a_pinch_closes_on_hands_of_other_proportions(proportions_of: dict[str, float]) -> None:
    performer = performed()
    _, after, report = held(performer, other_hand(performer.hand, **proportions_of))
    (pinch,) = (one for one in report if {one["digit"], one["other"]} == {"thumb", "index-finger"})
    assert pinch["off_mm"] < 1.0
    assert pinch["slip_mm"] < 1.0
    inside = slice(pinch["first"] - 1, pinch["last"])
    assert np.quantile(deepest(after)[inside], 0.99) < 1.0 * proportions_of["size"]
    assert limit_excess(after.hand, after.angles).max() <= 1e-9


def test_contacts_that_hinder_each_other_are_left_out_and_the_others_hold() -> None:
    """In a fist the thumb lies on two fingers, and the fingers on the palm, which a long thumb cannot all hold."""
    fist = performed(name="fist")
    performer = Pose.at_origin(fist.hand, fist.angles[::4])
    _, after, report = held(performer, other_hand(performer.hand, 1.1, thumb=1.25), RATE / 4)
    kept = [one for one in report if "off_mm" in one]
    assert kept
    assert max(one["off_mm"] for one in kept) < 1.0
    assert max(one["slip_mm"] for one in kept) < 1.0
    inside = np.zeros(len(after), bool)
    for one in kept:
        inside[one["first"] - 1 : one["last"]] = True
    assert np.quantile(deepest(after)[inside], 0.99) < 1.1


def test_contacts_that_hinder_each_other_slide_to_where_all_of_them_meet() -> None:
    """A shorter thumb cannot lie on the same places of two fingers that lie on the palm, but on these fingers."""
    fist = performed(name="fist")
    performer = Pose.at_origin(fist.hand, fist.angles[::4])
    before, after, report = held(performer, other_hand(performer.hand, 1.0, thumb=0.8), RATE / 4)
    assert len(report) == 5
    assert all(one["off_mm"] < 1.0 and one["slip_mm"] < 1.0 for one in report)
    inside = np.zeros(len(after), bool)
    for one in report:
        inside[one["first"] - 1 : one["last"]] = True
    assert np.quantile(deepest(after)[inside], 0.99) < 1.0
    assert (turns(after) - 1.5 * turns(before)).max() < 5.0
    assert limit_excess(after.hand, after.angles).max() <= 1e-9


def test_a_contact_slides_to_where_the_hand_gets() -> None:
    """A short thumb does not reach the palm below the ring finger, and touches the palm where it does."""
    performer = performed(name="open")
    hand = other_hand(performer.hand, 1.0, thumb=0.7)
    before, times, flesh = Pose.at_origin(hand, performer.angles), times_of(performer), Flesh.of(hand)
    free, on_palm = angles_of(hand, DIGITS), Contact((2, 17), 70, 130, 0.0, (0.9, 0.9), np.array([0.0, 0.0, -1.0]))
    holding = hold_contacts(before, times, flesh, free, [on_palm])
    assert [each.contact for each in holding.contacts] == [on_palm]
    after = run_to_end(settle(before, times, flesh, free, holding, everywhere=False))
    of_parts = pair_depths(flesh, hand, after.angles[HELD])[:, contact_pairs(flesh, on_palm)].max(axis=1)
    assert np.abs(of_parts).max() < 1e-3
    assert pair_depths(flesh, hand, before.angles[HELD])[:, contact_pairs(flesh, on_palm)].max() < -0.02


def test_frames_far_from_contacts_are_the_same_to_the_bit() -> None:
    performer = performed()
    before, after, report = held(performer, other_hand(performer.hand, 1.05))
    # A joint that has farther to go takes longer; a pinch of a hand of nearly the same size does not have to.
    blend = 2 * int(np.ceil(BLEND_SECONDS * RATE))
    near = np.zeros(FRAMES, bool)
    for one in report:
        near[max(one["first"] - 1 - blend, 0) : one["last"] + blend] = True
    assert near.any() and not near.all()
    assert (after.angles[~near] == before.angles[~near]).all()


@pytest.mark.parametrize("rate", [30.0, 120.0])
def test_no_joint_leaps_where_a_contact_begins_or_ends(rate: float) -> None:
    """At most 1.5 times what the take does there, and 5 degrees, though a fingertip is 30 mm away."""
    performer = performed()
    performer = Pose.at_origin(performer.hand, performer.angles[:: round(120 / rate)])
    before, after, report = held(performer, other_hand(performer.hand, 1.2, thumb=1.25), rate)
    assert [one for one in report if "off_mm" in one]
    assert np.abs(after.angles - before.angles).max() > np.deg2rad(10.0)
    assert (turns(after) - 1.5 * turns(before)).max() < 5.0


def test_a_digit_that_is_not_keyed_is_met_where_it_is() -> None:
    performer = performed()
    hand = other_hand(performer.hand, 1.1)
    before, flesh = Pose.at_origin(hand, performer.angles), Flesh.of(hand)
    free, contacts = angles_of(hand, ("thumb",)), found(performer)
    holding = hold_contacts(before, times_of(before), flesh, free, contacts)
    after = run_to_end(settle(before, times_of(before), flesh, free, holding, everywhere=False))
    others = np.setdiff1d(np.arange(hand.dofs), free - 6)
    assert (after.angles[:, others] == before.angles[:, others]).all()


def test_a_contact_with_a_digit_that_the_hand_lacks_is_left_out() -> None:
    performer = performed()
    flesh = Flesh.of(performer.hand, digits=("thumb", "middle-finger"))
    contacts = [each for each in found(performer) if 1 in each.parts]
    assert contacts
    free = angles_of(performer.hand, DIGITS)
    assert not hold_contacts(performer, times_of(performer), flesh, free, contacts).contacts


def test_skin_that_slides_is_held_place_by_place() -> None:
    """The thumb rubs along the index finger: between two places the hand goes from the one to the other."""
    performer = performed()
    angles = performer.angles.copy()
    rub = np.interp(np.arange(FRAMES), [85, 115], [0.0, 1.0])
    for joint, degrees in (("index-finger-phalanx-intermediate", 25.0), ("index-finger-phalanx-proximal", -14.0)):
        flexion = performer.hand.dof(joint, "flexion")
        assert flexion is not None
        angles[:, flexion] += np.deg2rad(degrees) * rub
    rubbing = Pose.at_origin(performer.hand, np.clip(angles, *performer.hand.limits.T))
    before, after, report = held(rubbing, other_hand(performer.hand, 1.15))
    pinches = [one for one in report if {one["digit"], one["other"]} == {"thumb", "index-finger"}]
    assert pinches
    assert all(one["gap_mm"] < 6.0 for one in pinches)
    assert max(one["slip_mm"] for one in pinches) < 1.0
    turns = [np.abs(np.diff(one.angles, axis=0)).max() for one in (before, after)]
    assert turns[1] < turns[0] + np.deg2rad(6.0)


@pytest.mark.parametrize("gap", [-0.015, 0.004])
def test_of_contacts_that_hinder_each_other_the_one_is_left_out_that_is_less_of_a_touch(gap: float) -> None:
    """A thumb on the index finger's tip, and at once on its base: skins deep in each other are no better than apart."""
    performer = performed()
    (true,) = found(performer)
    base = replace(true, capsules=(true.capsules[0], 3), gap=gap, shares=(true.shares[0], 0.2))
    hand, flesh = performer.hand, Flesh.of(performer.hand)
    free, times = angles_of(hand, DIGITS), times_of(performer)
    alone = hold_contacts(performer, times, flesh, free, [base])
    assert [each.contact for each in alone.contacts] == [base], "it could be held without the other"
    both = hold_contacts(performer, times, flesh, free, [true, base])
    assert [each.contact for each in both.contacts] == [true]


@pytest.mark.parametrize(("finger", "turned"), TURNS)
def test_digits_that_turn_on_each_other_stay_out_of_each_other(finger: str, turned: tuple[int, ...]) -> None:
    """Points of skin that meet where tips turn on each other would be one in the other."""
    performer = performed()
    hand = other_hand(performer.hand, 1.2, thumb=0.9)
    free = angles_of(hand, ("thumb", finger))
    share = np.interp(np.arange(FRAMES), [HELD.start, HELD.stop - 1], [0.0, 1.0])[:, None]
    angles = performer.angles.copy()
    angles[:, free - 6] += np.deg2rad(turned) * share
    before = Pose.at_origin(hand, np.clip(angles, *hand.limits.T))
    flesh, times = Flesh.of(hand), times_of(before)
    touch = find_touch(Pose.at_origin(hand, before.angles[HELD]), flesh, "thumb", finger)
    one, other = (STARTS.tolist().index(JOINT_INDEX[bone]) for bone in touch.bones)
    contact = Contact((one, other), HELD.start, HELD.stop - 1, 0.0, touch.shares, touch.direction)
    holding = hold_contacts(before, times, flesh, free, [contact])
    after = run_to_end(settle(before, times, flesh, free, holding, everywhere=False))
    (report,) = contact_report([contact], holding, after, times)
    assert report["off_mm"] < 1.0 and report["slip_mm"] < 1.0
    of_thumb = (flesh.parts == 0).any(axis=0)
    assert pair_depths(flesh, hand, after.angles[HELD])[:, of_thumb].max() < 1e-3
    assert (turns(after) - 1.5 * turns(before)).max() < 5.0
