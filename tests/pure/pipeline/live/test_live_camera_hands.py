"""Hands before a live camera: one that leaves and comes back is the same, and what is found for a moment is none."""

import gzip
import json
from concurrent.futures import Future
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.capture.protocols.camera_stream import CameraParser
from knuckle.hand.camera.picture_landmarks import PictureFrame, PictureHand, PictureSize
from knuckle.hand.limits import RigLimits
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.hand.proportions import adult
from knuckle.pipeline.live.camera_following import CameraHands, Submit
from knuckle.pipeline.live.displayed_hand import DisplayedHand, DrivenHand, RigOf, no_rig
from knuckle.pipeline.live.live_session import LiveSession
from knuckle.pipeline.performer import Performer, to_dict
from knuckle.pipeline.recipe import Recipe

Floats = NDArray[np.float64]

FOLDER = Path(__file__).parents[3] / "data" / "camera"
RIGHT, LEFT = "00-range-palm", "08-headset-palm"
SIZE = PictureSize(640, 480)
RATE = 30.0


@cache
def video(name: str) -> list[PictureHand]:
    data = json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))
    hands = [frame["hands"][0] for frame in data["frames"] if frame["hands"]]
    return [PictureHand(np.array(hand["landmarks"]), np.array(hand["world_landmarks"])) for hand in hands]


def moved(hand: PictureHand, x: float, y: float = 0.0) -> PictureHand:
    return replace(hand, points=hand.points + [x, y, 0.0])


def at_once(work: Any) -> Any:
    done = Future[Any]()
    done.set_result(work())
    return done


class Followed:
    """What is displayed while frames of hands come."""

    def __init__(self, recipe: Recipe = Recipe("camera"), rig: RigOf = no_rig, submit: Submit = at_once) -> None:  # noqa: B008
        self.hands = CameraHands(recipe, rig, submit)
        self.shown: list[dict[str, DisplayedHand]] = []

    def feed(self, *frames: tuple[PictureHand, ...]) -> "Followed":
        for found in frames:
            at = len(self.shown) / RATE
            self.hands.feed(PictureFrame(SIZE, found), at, at)
            self.shown.append({hand.name: hand for hand in self.hands.displayed(at)})
        return self


def alone(name: str, start: int, stop: int, x: float = 0.0) -> list[tuple[PictureHand, ...]]:
    return [(moved(hand, x),) for hand in video(name)[start:stop]]


NOBODY: list[tuple[PictureHand, ...]] = [()]


@pytest.mark.parametrize(("name", "side"), [(RIGHT, "right"), (LEFT, "left")])
def test_a_hand_is_followed_within_a_second_by_its_side(name: str, side: str) -> None:
    shown = Followed().feed(*alone(name, 0, 40)).shown
    assert not shown[20] and list(shown[39]) == [side]
    assert 0.2 < shown[39][side].pose.root[0, 1, 3] < 1.0, "m before the camera"


@pytest.mark.parametrize("place", [0.0, 0.25])
def test_a_hand_that_leaves_and_comes_back_elsewhere_is_the_same_hand(place: float) -> None:
    one = Followed().feed(*alone(RIGHT, 0, 40), *NOBODY * 30)
    before = one.hands.hands()["right"]
    one.feed(*alone(RIGHT, 40, 60, place))
    assert list(one.shown[-1]) == ["right"] and one.hands.hands()["right"] is before
    assert not one.shown[-1]["right"].lost and not one.hands.unmeasured() and not one.hands.problems()
    waited = next(i for i, shown in enumerate(one.shown[70:]) if not shown["right"].predicted)
    assert waited <= 10


def test_a_hand_is_followed_at_a_frame_a_second() -> None:
    """As on a computer that manages no more."""
    one = CameraHands(Recipe("camera"), no_rig, at_once)
    shown = []
    for number, hand in enumerate(video(RIGHT)[::4]):
        for moment in (number, number + 0.9):
            if moment == number:
                one.feed(PictureFrame(SIZE, (hand,)), float(number), float(number))
            shown.append(one.displayed(moment))
    assert not shown[2] and all(len(hands) == 1 and not hands[0].lost for hands in shown[12:])
    assert not one.unmeasured()


def test_the_other_hand_that_comes_into_the_picture_is_the_other_hand() -> None:
    one = Followed().feed(*alone(RIGHT, 0, 40), *NOBODY * 30, *alone(LEFT, 0, 50))
    shown = one.shown[-1]
    assert set(shown) == {"right", "left"} and shown["right"].lost and not shown["left"].lost


def test_two_hands_keep_their_sides_though_one_goes_and_comes_and_their_order_changes() -> None:
    right, left = video(RIGHT), video(LEFT)
    one = Followed()
    for frame in range(79):
        pair = [moved(right[frame], 0.25), moved(left[frame], -0.25)]
        if 45 <= frame < 62:
            del pair[0]
        elif frame >= 62:
            pair[0] = moved(right[frame], 0.35, 0.1)
        one.feed(tuple(pair[:: 1 if frame % 2 else -1]))
    shown = one.shown[-1]
    assert set(shown) == {"right", "left"} and not any(hand.predicted for hand in shown.values())
    assert shown["left"].pose.root[0, 0, 3] < 0 < shown["right"].pose.root[0, 0, 3]


def test_a_ghost_of_some_frames_is_no_hand_and_a_hand_found_twice_is_one() -> None:
    frames = [
        (hand, moved(hand, 0.02), *([moved(hand, 0.4)] if frame in (5, 6, 50) else []))
        for frame, hand in enumerate(video(RIGHT)[:70])
    ]
    one = Followed().feed(*frames)
    assert [list(shown) for shown in one.shown if shown] == [["right"]] * sum(map(bool, one.shown))
    assert not one.hands.unmeasured()


def test_lost_frames_are_predicted_marked_and_then_the_hand_rests() -> None:
    one = Followed().feed(*alone(RIGHT, 0, 40), *NOBODY * 60)
    marks = [shown["right"].predicted for shown in one.shown[35:]]
    assert marks == [False] * 5 + [True] * 60
    assert one.shown[-1]["right"].lost
    neutral = one.hands.hands()["right"].hand.neutral
    np.testing.assert_allclose(one.shown[-1]["right"].pose.angles[0], neutral, atol=1e-6)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_detector_tells_the_side_of_a_flat_hand(side: Any) -> None:
    """Its depths do not."""
    hands = [
        PictureHand(hand.points * [1, 1, 0], hand.world * [1, 1, 0], side if frame % 5 else "right")
        for frame, hand in enumerate(video(RIGHT)[:40])
    ]
    assert list(Followed().feed(*[(hand,) for hand in hands]).shown[-1]) == [side]


def test_a_second_hand_of_one_side_is_reported() -> None:
    one = Followed().feed(*[(moved(hand, 0.3), moved(hand, -0.3)) for hand in video(RIGHT)[:60]])
    assert list(one.shown[-1]) == ["right"]
    assert any("another hand has the shape of a right hand" in reported for reported in one.hands.problems().values())
    one.feed(*alone(RIGHT, 60, 80, 0.3))
    assert not one.hands.problems()


def test_only_the_hand_that_is_asked_for_is_followed() -> None:
    one = Followed(Recipe("camera", hand="left")).feed(*alone(RIGHT, 0, 40))
    assert not one.shown[-1]
    assert any("not the requested left one" in reported for reported in one.hands.problems().values())


def test_bones_are_those_of_a_usual_hand_of_the_length_that_is_typed() -> None:
    one = Followed(Recipe("camera", hand_length=0.16)).feed(*alone(RIGHT, 0, 40))
    own, usual = one.hands.hands()["right"].measured.proportions, adult("right")
    assert own.size == pytest.approx(0.16, rel=0.01)
    scale = own.size / usual.size
    assert np.abs(own.phalanges / (scale * usual.phalanges) - 1).max() < 0.35
    palms = [np.linalg.norm(one.first_joints[[1, 4]], axis=1) for one in (own, usual)]
    assert np.abs(palms[0] / (scale * palms[1]) - 1).max() < 0.15


def test_a_performers_bones_are_kept() -> None:
    small = adult("right").scaled(0.85)
    known = Performer("still.c3d", {"right": MeasuredHand(small, {})})
    one = Followed(Recipe("camera", performer=to_dict(known))).feed(*alone(RIGHT, 0, 40))
    np.testing.assert_allclose(one.hands.hands()["right"].measured.proportions.phalanges, small.phalanges, atol=1e-6)


def test_a_rigs_limits_are_kept() -> None:
    joint = "index-finger-phalanx-intermediate"
    driven = DrivenHand({"right": RigLimits({(joint, "flexion"): (0.0, 20.0)})})
    one = Followed(rig=lambda _hand: driven).feed(*alone(RIGHT, 0, 60))
    column = one.hands.hands()["right"].hand.dof(joint, "flexion")
    bends = [np.rad2deg(shown["right"].pose.angles[0, column]) for shown in one.shown[40:]]
    assert min(bends) >= -1e-6 and max(bends) <= 20 + 1e-6


def test_hands_that_are_measured_again_go_on_meanwhile() -> None:
    one = Followed().feed(*alone(RIGHT, 0, 40))
    before = one.hands.hands()["right"]
    one.hands.measure_again()
    one.feed(*alone(RIGHT, 40, 79))
    assert one.hands.hands()["right"] is not before
    assert all(list(shown) == ["right"] and not shown["right"].predicted for shown in one.shown[40:])
    steps = np.linalg.norm(np.diff([shown["right"].pose.root[0, :3, 3] for shown in one.shown[40:]], axis=0), axis=1)
    assert steps.max() < 0.03


def test_a_hand_that_is_away_is_measured_again_when_it_comes_back() -> None:
    one = Followed().feed(*alone(RIGHT, 0, 40), *NOBODY * 30)
    before = one.hands.hands()["right"]
    one.hands.measure_again()
    one.feed(*alone(RIGHT, 20, 79))
    assert one.hands.hands()["right"] is not before


def test_measuring_that_is_asked_for_during_a_measurement_comes_after_it() -> None:
    waiting: list[tuple[Future[Any], Any]] = []

    def later(work: Any) -> Any:
        waiting.append((Future(), work))
        return waiting[-1][0]

    def measured() -> None:
        done, work = waiting.pop()
        done.set_result(work())

    one = Followed(submit=later).feed(*alone(RIGHT, 0, 32))
    measured()
    one.feed(*alone(RIGHT, 32, 33))
    before = one.hands.hands()["right"]
    one.hands.measure_again()
    one.feed(*alone(RIGHT, 33, 64))
    assert len(waiting) == 1
    one.hands.measure_again()
    measured()
    one.feed(*alone(RIGHT, 25, 64)[::-1])
    assert one.hands.hands()["right"] is before, "what was measured is of frames before the request"
    measured()
    one.feed(*alone(RIGHT, 25, 26))
    assert one.hands.hands()["right"] is not before


def message(at: float, *hands: PictureHand) -> bytes:
    reported = [
        {"handedness": "Left", "score": 0.9, "landmarks": hand.points.tolist(), "world_landmarks": hand.world.tolist()}
        for hand in hands
    ]
    return json.dumps({"kind": "live", "time_s": at, "width": 640, "height": 480, "hands": reported}).encode()


@pytest.mark.parametrize("landmarks", ["picture", "world"])
def test_what_the_page_sends_drives_a_session(landmarks: Any) -> None:
    parser, session = CameraParser(), LiveSession(Recipe("camera", landmarks=landmarks))
    for number, hand in enumerate([None, *video(RIGHT)]):
        (frame,) = parser.feed(message(number / RATE, *([] if hand is None else [hand])))
        session.feed([(frame, number / RATE)])
        if number == 35:
            session._worker.submit(int).result()
    (shown,) = session.displayed(80 / RATE)
    assert (shown.name, shown.side) == ("right", "right") and not session.problems
    before_camera = np.linalg.norm(shown.pose.root[0, :3, 3]) > 0.3
    assert before_camera == (landmarks == "picture")
    assert session.appeared
    session.close()
