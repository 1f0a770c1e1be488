"""Hands that come live are found, measured, solved, kept apart, and come and go without a jump."""

import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.frame import Frame, SentForearm, concatenate_frames, joint_names, with_forearms
from knuckle.capture.network.sender import OutgoingFrame, UdpSender
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.vmc import VmcParser, VmcSender
from knuckle.errors import RecipeError
from knuckle.hand import kinematics
from knuckle.hand.joints import DIGITS, JOINTS
from knuckle.hand.kinematics import Floats, Pose
from knuckle.hand.marker_sets import suggest
from knuckle.hand.measured_hand import MeasuredHand, apply_skin_fit
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.hand.rotations import IDENTITY, angles_between, from_axis_angle, from_matrix, to_matrix
from knuckle.pipeline import performer
from knuckle.pipeline.live.dropout_blend import EASE_SECONDS, HOLD_SECONDS, RETURN_SECONDS, DropoutBlend
from knuckle.pipeline.live.live_hand import LiveHand
from knuckle.pipeline.live.live_session import MAX_HANDS, LiveSession
from knuckle.pipeline.performer import Performer
from knuckle.pipeline.recipe import MarkersOn, Recipe
from knuckle.tests.pure.capture.devices.moments import fist, moments
from knuckle.tests.pure.hand.people import someone
from knuckle.tests.pure.hand.skin_people import made


def frame(
    moment: OutgoingFrame, performer: str = "", hands: Iterable[str] = ("left", "right"), shift: float = 0.0
) -> Frame:
    """All joints of a moment, with their turns."""
    parts = tuple(
        Frame(
            joint_names(side, performer),
            joints[:, :3, 3] + [shift, 0.0, 0.0],
            from_matrix(joints[:, :3, :3]),
            moment.time,
            moment.number,
        )
        for side, joints in moment.hands.items()
        if side in hands
    )
    return concatenate_frames(parts)


def fed(session: LiveSession, frames: list[Frame]) -> LiveSession:
    """Feeds all frames; waits where hands are being measured."""
    for number, one in enumerate(frames):
        session.feed([(one, float(one.time or 0.0))])
        if number == 31:
            wait(session, one)
    return session


def wait(session: LiveSession, one: Frame) -> None:
    end = time.monotonic() + 20
    while (session.unmeasured() or not session.hands()) and not session.problems and time.monotonic() < end:
        time.sleep(0.01)
        session.feed([(one, float(one.time or 0.0))])
    time.sleep(0.3)


def joints_of(pose: Pose) -> np.ndarray:
    return kinematics.joint_frames(pose.hand, pose)[0, :, :3, 3]


@pytest.mark.parametrize("lag", [0, 1])
def test_a_forearm_is_as_late_as_the_hand_is_smoothed(lag: int) -> None:
    session = LiveSession(Recipe("x", hand="right", smoothing="live", smoothing_settings={"lag": lag}))
    bends = 0.02 * np.arange(60)
    for number, (moment, bend) in enumerate(zip(moments(60), bends, strict=True)):
        wrist = moment.hands["right"][0]
        arm = wrist[:3, :3] @ to_matrix(from_axis_angle(np.array([1.0, 0.0, 0.0]), bend))
        elbow = SentForearm("right", wrist[:3, 3] - 0.25 * arm[:, 1], from_matrix(arm))
        sent = with_forearms(frame(moment, hands=("right",)), (elbow,))
        session.feed([(sent, float(moment.time))])
        if number == 31:
            wait(session, sent)
    (shown,) = session.displayed(float(moment.time))
    assert shown.forearm is not None
    assert angles_between(shown.forearm.rotation[0], IDENTITY) == pytest.approx(bends[-1 - lag], abs=8e-3)


@pytest.mark.parametrize("angles", ["solved", "device"])
def test_both_hands_are_where_the_device_has_them(angles):
    sent = moments(80)
    session = fed(LiveSession(Recipe("quest"), angles), [frame(moment) for moment in sent])
    shown = {hand.name: hand for hand in session.displayed(sent[-1].time)}
    assert set(shown) == {"left", "right"}
    for side, joints in sent[-1].hands.items():
        apart = np.linalg.norm(joints_of(shown[side].pose) - joints[:, :3, 3], axis=1).max()
        # The fist's DIP bends by 60 degrees, by its coupling it would by 67.
        assert apart < 0.004, f"{side}: {1000 * apart:.1f} mm"
    session.close()


def bent(hand: HandModel, angles: Floats, joints: list[str]) -> list[float]:
    """rad, how far joints are bent."""
    return [float(angles[hand.dof(joint, "flexion")]) for joint in joints]


def closed(joints: list[str]) -> list[float]:
    """Degrees by which joints are bent in the last of all moments."""
    hand = build(adult("right"))
    return [float(angle) for angle in np.rad2deg(bent(hand, fist(hand), joints))]


def test_joints_of_the_device_are_taken_as_they_are():
    """Where a device has solved the hand, its angles are the hand's: DIP and PIP uncoupled."""
    sent = moments(80)
    session = fed(LiveSession(Recipe("quest"), "device"), [frame(moment) for moment in sent])
    pose = next(hand for hand in session.displayed(sent[-1].time) if hand.name == "right").pose
    bends = [f"index-finger-phalanx-{part}" for part in ("intermediate", "distal")]
    assert np.rad2deg(bent(pose.hand, pose.angles[0], bends)) == pytest.approx(closed(bends), abs=1.5)
    session.close()


def test_last_bones_whose_tips_are_not_sent_turn_as_reported():
    """VMC tells no tips, so that no place tells how far the last joint is bent: its turn does."""
    sender, parser = VmcSender(Address()), VmcParser()
    sent = moments(80)
    frames = [one for moment in sent for packet in sender.packets(moment) for one in parser.feed(packet)]
    session = fed(LiveSession(Recipe("vmc"), "device"), frames)
    for shown in session.displayed(sent[-1].time):
        bends = ["index-finger-phalanx-distal", "thumb-phalanx-distal"]
        angles = np.rad2deg(bent(shown.pose.hand, shown.pose.angles[0], bends))
        assert angles == pytest.approx(closed(bends), abs=2.5)
    session.close()


def test_two_people_keep_their_own_hands():
    sent = moments(80)
    frames = [concatenate_frames((frame(moment, "Anna"), frame(moment, "Ben", shift=1.0))) for moment in sent]
    names = frames[0].names
    frames = [Frame(names, one.positions, one.rotations, one.time, one.number) for one in frames]
    session = fed(LiveSession(Recipe("quest")), frames)
    shown = {hand.name: hand for hand in session.displayed(sent[-1].time)}
    assert set(shown) == {"Anna left", "Anna right", "Ben left", "Ben right"}
    between = shown["Ben left"].pose.root[0, :3, 3] - shown["Anna left"].pose.root[0, :3, 3]
    assert between == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    session.close()


def test_swapped_names_are_told_by_the_hands_shape():
    """What a device calls left and has the shape of a right hand is a right hand."""
    sent = moments(80, sides=("right",))
    swapped = [Frame(joint_names("left"), f.positions, f.rotations, f.time, f.number) for f in map(frame, sent)]
    named = [Frame(swapped[0].names, f.positions, f.rotations, f.time, f.number) for f in swapped]
    session = fed(LiveSession(Recipe("quest")), named)
    assert [hand.side for hand in session.displayed(sent[-1].time)] == ["right"]
    session.close()


def test_one_hand_that_is_away_leaves_the_other_alone():
    sent = moments(140)
    both, right = [frame(moment) for moment in sent], [frame(moment, hands=("right",)) for moment in sent]
    session = fed(LiveSession(Recipe("quest")), both[:80] + right[80:])
    shown = {hand.name: hand for hand in session.displayed(sent[-1].time)}
    assert shown["left"].lost and not shown["right"].lost
    apart = np.linalg.norm(joints_of(shown["right"].pose) - sent[-1].hands["right"][:, :3, 3], axis=1).max()
    assert apart < 0.004
    session.close()


def test_a_finger_that_is_never_reported_goes_with_those_beside_it():
    """As the optical glove without markers on the ring finger, live as in a file."""
    sent = moments(80)
    keep = [row for row, joint in enumerate(JOINTS) if not joint.startswith("ring-finger") or "metacarpal" in joint]
    names = tuple(joint_names("right")[row] for row in keep)
    frames = [Frame(names, moment.hands["right"][keep, :3, 3], None, moment.time, moment.number) for moment in sent]
    session = fed(LiveSession(Recipe("quest")), frames)
    pose = next(iter(session.displayed(sent[-1].time))).pose
    bend = {digit: pose.angles[0, pose.hand.dof(f"{digit}-phalanx-intermediate", "flexion")] for digit in DIGITS[1:]}
    assert bend["middle-finger"] > 1.5 and bend["pinky-finger"] > 1.5, "it is a fist"
    assert bend["ring-finger"] > 1.4
    session.close()


def test_a_solver_that_is_not_known_is_reported_at_once():
    with pytest.raises(RecipeError, match="magic"):
        LiveSession(Recipe("quest", solver="magic"))


def test_every_wire_drives_a_session():
    for device in DEVICES.values():
        sender, parser = device.sender(Address()), device.parser()
        if not isinstance(sender, UdpSender):
            continue
        frames = [f for moment in moments(90) for packet in sender.packets(moment) for f in parser.feed(packet)]
        session = LiveSession(Recipe("x"))
        for number, one in enumerate(frames):
            session.feed([(one, number / 60)])
            if number == 40:
                wait(session, one)
        assert {hand.side for hand in session.displayed(len(frames) / 60)} == {"left", "right"}, device.name
        session.close()


def hand_and_poses() -> tuple[Pose, Pose]:
    hand = build(someone("right"))
    root = np.eye(4)[None].repeat(2, axis=0)
    root[1, :3, 3] = [0.3, 0.0, 0.1]
    low, high = hand.limits.T
    closed, opened = (low + share * (high - low) for share in (0.9, 0.1))
    return Pose(hand, root[:1], closed[None]), Pose(hand, root[1:], opened[None])


def at(presence: DropoutBlend, moment: float) -> Pose:
    pose = presence.pose_at(moment)
    assert pose is not None
    return pose


def test_a_lost_hand_holds_then_eases_to_rest_and_comes_back_without_a_jump():
    first, second = hand_and_poses()
    presence = DropoutBlend(first.hand)
    presence.update(first, 0.0)
    at(presence, 0.0)
    assert np.array_equal(at(presence, HOLD_SECONDS - 0.01).angles, first.angles) and not presence.lost
    steps, before = [], at(presence, HOLD_SECONDS + 0.001)
    for moment in np.arange(HOLD_SECONDS + 0.001, HOLD_SECONDS + EASE_SECONDS + 0.2, 1 / 60):
        now = at(presence, moment)
        steps.append(np.abs(now.angles - before.angles).max())
        before = now
    assert presence.lost
    assert np.allclose(before.angles, first.hand.neutral)
    assert np.array_equal(before.root, first.root), "it stays where it was last"
    back = HOLD_SECONDS + EASE_SECONDS + 0.5
    at(presence, back)
    for moment in np.arange(back, back + RETURN_SECONDS + 0.1, 1 / 60):
        presence.update(second, moment)
        now = at(presence, moment)
        steps.append(np.abs(now.angles - before.angles).max())
        before = now
    assert np.array_equal(before.angles, second.angles) and not presence.lost
    # 1.5 is the steepest slope of the smooth step that both go by.
    widest = max(np.abs(first.angles - first.hand.neutral).max(), np.abs(second.angles - first.hand.neutral).max())
    assert max(steps) < 1.6 * widest / 60 / RETURN_SECONDS


@pytest.mark.parametrize("together", [2, 5, 8])
def test_frames_that_come_in_bursts_are_followed_without_delay(together):
    """Each is where it was seen, at once: nothing of that is a hand that was away."""
    pose, _ = hand_and_poses()
    presence = DropoutBlend(pose.hand)
    numbers = np.arange(600)
    for moment in numbers // together * together / 120 + numbers % together * 1e-4:
        root = pose.root.copy()
        root[:, 0, 3] += moment
        presence.update(Pose(pose.hand, root, pose.angles), moment)
        assert np.array_equal(at(presence, moment).root, root)


def test_a_clock_that_begins_anew_keeps_no_hand_from_being_measured():
    sent = [frame(moment) for moment in moments(60)]
    session = fed(LiveSession(Recipe("quest")), [replace(sent[0], time=1000.0), *sent])
    assert sorted(session.hands()) == ["left", "right"]


def test_hands_are_looked_for_once_in_frames_that_take_turns_and_in_few_that_have_other_names_each_time(monkeypatch):
    looked: list[tuple[str, ...]] = []

    def counted(names):
        looked.append(names)
        return suggest(names)

    monkeypatch.setattr("knuckle.pipeline.live.live_session.suggest", counted)
    session = LiveSession(Recipe("quest"))
    both, one = frame(moments(1)[0]), frame(moments(1)[0], hands=("left",))
    for number in range(20):
        session.feed([(both, number / 60), (one, number / 60)])
    assert len(looked) == 2
    hostile = [(Frame((f"marker {n}",), np.zeros((1, 3))), 1.0) for n in range(64)]
    session.feed(hostile)
    assert len(looked) == 3


def followed(session: LiveSession, frames: list[Frame], name: str = "right") -> np.ndarray:
    """(F, 25, 3) m where a hand's joints are shown as frames come, each as soon as what is being measured is."""
    places = []
    for one in frames:
        at = float(one.time or 0.0)
        session.feed([(one, at)])
        while any(hand.pending is not None for hand in session._hands.values()):
            time.sleep(0.01)
            session.feed([(one, at)])
        places.append(next(joints_of(hand.pose) for hand in session.displayed(at) if hand.name == name))
    return np.array(places)


def longest_step(places: np.ndarray) -> float:
    """m that a joint goes at most between two frames."""
    return float(np.linalg.norm(np.diff(places, axis=0), axis=-1).max())


def held(moment: OutgoingFrame, count: int, start: float, labels: Iterable[str] = JOINTS) -> list[Frame]:
    """Frames of a right hand that stands still; labels: the joints that are named."""
    whole = frame(moment, hands=("right",))
    columns = [JOINTS.index(label) for label in labels]
    names = tuple(whole.names[column] for column in columns)
    assert whole.rotations is not None
    positions, rotations = whole.positions[columns], whole.rotations[columns]
    return [Frame(names, positions, rotations, start + number / 60) for number in range(count)]


def test_a_hand_that_is_measured_again_goes_on_without_a_jump():
    sent = moments(80)
    session = fed(LiveSession(Recipe("quest")), [frame(moment) for moment in sent])
    before = followed(session, held(sent[-1], 20, 2.0))
    measured = session.hands()["right"]
    session.measure_again()
    after = followed(session, held(sent[-1], 90, 2.0 + 20 / 60))
    assert session.hands()["right"] is not measured
    # What it is measured as may differ, by mm: it goes over to that.
    assert longest_step(np.concatenate([before, after])) < 0.001
    session.close()


def test_a_hand_of_which_other_points_come_goes_on_without_a_jump():
    sent = moments(80)
    session = fed(LiveSession(Recipe("quest")), [frame(moment) for moment in sent])
    before = followed(session, held(sent[-1], 20, 2.0))
    fewer = [joint for joint in JOINTS if not joint.startswith("pinky")]
    after = followed(session, held(sent[-1], 90, 2.0 + 20 / 60, fewer))
    rest = [row for row, joint in enumerate(JOINTS) if not joint.startswith("pinky")]
    live = session.hands()["right"]
    assert isinstance(live, LiveHand) and live.labels == tuple(f"right:{joint}" for joint in fewer)
    assert longest_step(np.concatenate([before, after])[:, rest]) < 0.004
    session.close()


def test_a_hand_that_moved_while_it_was_away_for_a_moment_goes_there_and_does_not_leap():
    sent = moments(80)
    session = fed(LiveSession(Recipe("quest")), [frame(moment) for moment in sent])
    seen = held(sent[-1], 30, 2.0)
    moved = [replace(one, positions=one.positions + [0.25, 0.0, 0.0], time=(one.time or 0.0) + 0.7) for one in seen]
    places = followed(session, seen + moved)
    # 1.5 is the steepest slope of the smooth step by which it goes over.
    assert longest_step(places) < 1.6 * 0.25 / 60 / RETURN_SECONDS
    np.testing.assert_allclose(places[-1] - places[0], np.tile([0.25, 0.0, 0.0], (25, 1)), atol=0.002)
    session.close()


def test_two_hands_of_one_side_are_not_both_shown_on_it():
    sent = moments(80, sides=("right",))
    second = [replace(frame(moment, shift=0.5), names=joint_names("left")) for moment in sent]
    frames = [concatenate_frames((frame(moment), other)) for moment, other in zip(sent, second, strict=True)]
    session = fed(LiveSession(Recipe("quest")), frames)
    assert len(session.hands()) == 1
    assert "has the shape of a right hand" in " ".join(session.problems.values())
    session.close()


def test_invented_performers_give_up_their_places_and_are_reported_in_one_sentence():
    session, sent = LiveSession(Recipe("rokoko")), moments(80)
    for number in range(300):
        invented = tuple(frame(sent[0], f"invented {number} {actor}") for actor in range(4))
        session.feed([(concatenate_frames(invented), 0.0)])
    many = tuple(frame(sent[0], f"extra {actor}") for actor in range(20))
    session.feed([(concatenate_frames(many), 0.0)])
    assert session.problems == {"": f"40 hands are sent, at most {MAX_HANDS} are followed"}
    assert session.appeared == [], "no place in the panel for who is seen for a moment"
    shown = fed(session, [frame(moment, "Anna") for moment in sent]).displayed(sent[-1].time)
    assert {hand.name for hand in shown} == {"Anna left", "Anna right"}
    assert session.appeared == ["Anna left", "Anna right"] and not session.problems
    session.close()


def test_a_performer_fitted_with_skin_markers_is_followed_by_all_of_them():
    take = made("right", frames=80, noise=0.0005)
    labels = tuple(f"m{number}" for number in range(18))
    worn = replace(take.worn, markers=replace(take.worn.markers, labels=labels))
    spots = {label: {"joint": s.joint, "offset": list(s.offset)} for label, s in worn.spots().items()}
    person = performer.to_dict(
        Performer("another take", {"right": apply_skin_fit(MeasuredHand(worn.proportions, {}), worn)})
    )
    frames = [Frame(labels, places, None, time) for time, places in zip(take.times, take.positions, strict=True)]
    known = kinematics.joint_frames(take.pose.hand, take.pose)[-1, :, :3, 3]

    def off(markers_on: MarkersOn) -> float:
        recipe = Recipe("mocap", markers={"right": spots}, performer=person, markers_on=markers_on)
        session = fed(LiveSession(recipe), frames)
        (shown,) = session.displayed(float(take.times[-1]))
        session.close()
        return float(1000 * np.linalg.norm(joints_of(shown.pose) - known, axis=1).mean())

    assert off("skin") < 1.5
    assert off("joints") > 2 * off("skin")
