"""A hand that its device shows larger or smaller points as the device says, on whichever frames it was measured."""

import time
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knuckle import captures, performer
from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS, JOINT_INDEX, JOINTS, SIDES
from knuckle.hand.kinematics import Floats, Pose
from knuckle.hand.markersets import Spot
from knuckle.hand.measured import MeasuredHand
from knuckle.hand.proportions import adult
from knuckle.live.gathering import ENOUGH
from knuckle.live.session import Session
from knuckle.live.shape import WHOLE, shape_of
from knuckle.performer import Performer
from knuckle.recipe import Recipe
from knuckle.streams.frame import Frame, joint_names
from knuckle.tests.pure.streams.moments import moments

TAP = Path(__file__).parents[3] / "data" / "leap_finger_tap.json"
"""A recording of Leap's service, whose hand grows by a fortieth in its first second, all bones at once."""
SETTLED = 59
"""A step at which it has grown, with ring and little finger nearly straight."""
BONES = [pair for chain in CHAIN_JOINTS.values() for pair in pairwise(chain)]
SPOTS = tuple(map(Spot, JOINTS))


def hand_of(session: Session, sent: Iterable[Frame]) -> Pose:
    """How a hand is shown at last: measured on as few frames as do, before the next one comes."""
    at = 0.0
    for one in sent:
        session.feed([(one, at)])
        while any(hand.measuring is not None and not hand.measuring.done() for hand in session._hands.values()):
            time.sleep(0.005)
        at = float(one.time or 0.0)
    (shown,) = session.show(at)
    session.close()
    return shown.pose


def ways(places: dict[str, Floats]) -> Floats:
    """(15, 3) where bones point."""
    along = np.array([places[far] - places[near] for near, far in BONES])
    unit: Floats = along / np.linalg.norm(along, axis=1, keepdims=True)
    return unit


def turned(pose: Pose, sent: dict[str, Floats]) -> dict[str, float]:
    """Degrees between the bones of a pose of one frame and those that were sent."""
    joints = kinematics.joint_frames(pose.hand, pose)[0, :, :3, 3]
    cosines = np.sum(ways({joint: joints[JOINT_INDEX[joint]] for joint in JOINTS}) * ways(sent), axis=1)
    return dict(zip([near for near, _ in BONES], np.degrees(np.arccos(np.clip(cosines, -1, 1))).tolist(), strict=True))


def recorded(steps: Iterable[int]) -> Iterator[Frame]:
    take = captures.read(str(TAP))
    for number, step in enumerate(steps):
        yield Frame(take.names, take.positions[step], time=number / 60)


def grown(sizes: Floats) -> Floats:
    """(F, 25, 3) m, a right hand that closes, and is shown in these sizes (F,) about its wrist."""
    places = np.array([moment.hands["right"][:, :3, 3] for moment in moments(len(sizes), sides=("right",))])
    shown: Floats = places[:, :1] + (places - places[:, :1]) * sizes[:, None, None]
    return shown


def lengths(places: Floats) -> Any:
    """(F, 15) m of bones."""
    ends = np.array([[JOINT_INDEX[joint] for joint in pair] for pair in BONES])
    return np.linalg.norm(places[:, ends[:, 1]] - places[:, ends[:, 0]], axis=-1)


@pytest.fixture(scope="module")
def settled() -> Pose:
    """How the hand is shown that was measured once it had grown."""
    return hand_of(Session(Recipe("leap")), recorded([*range(SETTLED, SETTLED - ENOUGH // 4, -1), *[SETTLED] * ENOUGH]))


def test_a_hand_that_has_grown_points_as_the_device_says(settled):
    take = captures.read(str(TAP))
    sent = {name.partition(":")[2]: place for name, place in zip(take.names, take.positions[SETTLED], strict=True)}
    apart = turned(settled, sent)
    assert max(apart.values()) < 2.0, f"{apart} degrees"


@pytest.mark.parametrize("first", [0, 10, 20, 30])
@pytest.mark.parametrize("way", [1, -1])
def test_a_hand_is_posed_as_if_it_had_been_measured_once_it_had_grown(settled, first, way):
    measured = list(range(first, first + ENOUGH))[::way]
    pose = hand_of(Session(Recipe("leap")), recorded([*measured, *[SETTLED] * 5]))
    apart = np.degrees(np.abs(pose.angles - settled.angles)).max()
    assert apart < 0.5, f"{apart:.2f} degrees"


def test_a_performer_of_another_size_than_the_devices_hand_bends_as_it_does():
    """Headsets show everybody the same hand, or guess how large it is; the performer's bones are known better."""
    sent = grown(np.ones(80))
    frames = [Frame(joint_names("right"), places, time=number / 60) for number, places in enumerate(sent)]
    angles = []
    for scale in (1.0, 1.05):
        known = Performer("", {side: MeasuredHand(adult(side).scaled(scale), {}) for side in SIDES})
        angles.append(hand_of(Session(Recipe("quest", performer=performer.to_dict(known))), frames).angles[0])
    apart = np.degrees(np.abs(angles[1] - angles[0])).max()
    assert apart < 0.5, f"{apart:.2f} degrees"


def test_all_sizes_of_a_shape_are_one_about_the_palm():
    sizes = np.linspace(0.9, 1.1, 40)
    shown = grown(sizes)
    shape = shape_of(SPOTS, shown)
    alike = shape.at_one_size(shown)
    # Of the size of the newest.
    np.testing.assert_allclose(lengths(alike), lengths(shown)[-1:].repeat(40, axis=0), rtol=1e-9)
    palm = [JOINT_INDEX[joint] for joint in ("wrist", "index-finger-phalanx-proximal", "pinky-finger-metacarpal")]
    assert np.linalg.norm(alike - shown, axis=-1)[:, palm].max() < 0.02, "where the palm is, it stays"
    np.testing.assert_array_equal(alike[-1], shown[-1])


def test_a_hand_in_another_size_is_known_by_the_bones_that_are_seen():
    shown = grown(np.linspace(0.9, 1.1, 40))
    shape = shape_of(SPOTS, shown)
    whole = shape.at_one_size(shown)
    shown[:, [JOINT_INDEX["thumb-tip"], JOINT_INDEX["ring-finger-tip"]]] = np.nan
    seen = np.isfinite(shown).all(axis=-1)
    np.testing.assert_allclose(shape.at_one_size(shown)[seen], whole[seen], atol=1e-12)


def camera() -> Floats:
    """(40, 25, 3) m, a hand of which each place is measured by itself, to some millimetres."""
    wandering: Floats = grown(np.ones(40)) + np.random.default_rng(3).normal(0.0, 0.003, (40, 25, 3))
    return wandering


def few() -> Floats:
    """(40, 25, 3) m, two fingers that grow."""
    shown = grown(np.linspace(0.9, 1.1, 40))
    others = [
        row for row, joint in enumerate(JOINTS) if joint not in {*CHAIN_JOINTS["thumb"], *CHAIN_JOINTS["index-finger"]}
    ]
    shown[:, others[1:]] = np.nan
    assert np.isfinite(lengths(shown)).all(axis=0).sum() < WHOLE
    return shown


@pytest.mark.parametrize("shown", [camera(), few(), np.full((3, 25, 3), np.nan), np.zeros((3, 25, 3))])
def test_what_is_no_hand_of_one_shape_is_left_as_it_is(shown):
    before = shown.copy()
    np.testing.assert_array_equal(shape_of(SPOTS, shown).at_one_size(shown), before)
    np.testing.assert_array_equal(shown, before)
    known = shape_of(SPOTS, grown(np.ones(2)))
    np.testing.assert_array_equal(known.at_one_size(shown), before)
