"""Performers in front of a device: one glove, two people, hands that cross, or are called by the wrong side."""

import itertools
import socket
from dataclasses import replace

import bpy
import numpy as np
import pytest

from knuckle.capture.network.sender import OutgoingFrame
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.quest import QuestSender
from knuckle.errors import StreamError
from knuckle.hand.joints import SIDES
from knuckle.operators.live_device import update_people
from knuckle.operators.live_loop import LiveRun
from knuckle.operators.live_settings import address_of
from knuckle.rig.keys.take_report import TIMECODE_PROPERTY
from knuckle.tests.pure.capture.devices.avatar import Avatar, fist
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import wait_for
from knuckle.tests.pure.capture.devices.test_rokoko import actor, body, version_3

from .test_live import JOINTS, apart, directions, followed, makehuman, play, port, wanted

__all__ = ["followed", "makehuman", "port"]


def hands() -> list[str]:
    return sorted(obj.name for obj in bpy.context.scene.objects if obj.type == "ARMATURE")


def test_one_glove_moves_one_hand(followed, port):
    run = followed()
    sent = moments(100, sides=("right",))
    play(run, port, sent)
    assert hands() == ["Right Hand"]
    assert apart(directions(bpy.data.objects["Right Hand"], JOINTS), wanted(sent[-1], "right", JOINTS)) < 6.0
    assert not run.rigs.problems and not run.session.problems and not run.session.unmeasured()


def test_hands_that_cross_stay_the_same_hands(followed, port):
    run = followed()
    sent = [crossed(moment, number / 119) for number, moment in enumerate(moments(120))]
    play(run, port, sent)
    assert hands() == ["Left Hand", "Right Hand"]
    for side in SIDES:
        armature = bpy.data.objects[f"{side.capitalize()} Hand"]
        assert apart(directions(armature, JOINTS), wanted(sent[-1], side, JOINTS)) < 6.0
        wrist = armature.matrix_world @ armature.pose.bones["wrist"].head
        assert np.linalg.norm(np.array(wrist) - sent[-1].hands[side][0, :3, 3]) < 0.005


def crossed(moment: OutgoingFrame, share: float) -> OutgoingFrame:
    """The hands change places, and pass through each other on the way."""
    moved = {side: joints.copy() for side, joints in moment.hands.items()}
    moved["left"][:, 0, 3] -= 0.6 * share
    moved["right"][:, 0, 3] += 0.6 * share
    return replace(moment, hands=moved)


def test_hands_that_the_device_calls_by_the_wrong_side_move_the_right_ones(followed, port):
    run = followed()
    sent = moments(120)
    play(run, port, [replace(one, hands={"left": one.hands["right"], "right": one.hands["left"]}) for one in sent])
    assert hands() == ["Left Hand", "Right Hand"]
    for side in SIDES:
        armature = bpy.data.objects[f"{side.capitalize()} Hand"]
        assert apart(directions(armature, JOINTS), wanted(sent[-1], side, JOINTS)) < 6.0, side


def fed(run: LiveRun, sender: socket.socket, to: int, packets: list[bytes]) -> None:
    for packet in packets:
        frames = run.receiver.stats.frames
        sender.sendto(packet, ("127.0.0.1", to))
        wait_for(lambda before=frames: run.receiver.stats.frames > before)
        run.step()


def two_people(closed: tuple[float, float], at: float) -> bytes:
    avatars = [
        Avatar(fist("Left", (60 * share, 70 * share, 40 * share)) | fist("Right", (70 * share, 60 * share, 40 * share)))
        for share in closed
    ]
    people = [actor(name, body(avatar)) for name, avatar in zip(("Anna", "Ben"), avatars, strict=True)]
    return version_3(*people, at=at)


def test_two_people_drive_two_armatures_and_each_can_be_given_another(followed, makehuman, port):
    scene, other = bpy.context.scene, makehuman.copy()
    other.data, other.name = makehuman.data.copy(), "Other"
    scene.collection.objects.link(other)
    rest = {bone.name: bone.matrix_basis.copy() for bone in other.pose.bones}
    run = followed("rokoko")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fed(run, sock, port, [two_people((0.5, 0.2), number / 60) for number in range(40)])
        wait_for(lambda: len(run.session.hands()) == 4 or bool(fed(run, sock, port, [two_people((0.5, 0.2), 1.0)])))
        update_people(run, scene)
        people = scene.knuckle_live.people
        assert people.keys() == ["Anna", "Ben"], "each has a row"
        assert hands() == ["Left Hand", "Other", "Right Hand", makehuman.name], "Ben has new hands"
        people["Ben"].armature = other
        update_people(run, scene)
        # A hand that was not seen while others were built was away, and goes over to where it is seen.
        later = (2.0 + number / 60 for number in itertools.count())
        wait_for(lambda: bend(makehuman) > 50 or bool(fed(run, sock, port, [two_people((1.0, 0.0), next(later))])))
        wait_for(lambda: bend(other) > 50 or bool(fed(run, sock, port, [two_people((0.0, 1.0), next(later))])))
        people["Ben"].armature = None
        update_people(run, scene)
        assert all(bone.matrix_basis == rest[bone.name] for bone in other.pose.bones), "as before"
    assert not run.rigs.problems


def bend(armature: bpy.types.Object) -> float:
    first, second = directions(armature, ["finger3-1.L", "finger3-2.L"])
    return float(np.degrees(np.arccos(np.clip(first @ second, -1, 1))))


def test_bones_that_are_edited_meanwhile_are_posed_by_how_they_stand_then(followed, port):
    run = followed()
    sent = moments(130)

    def edit(number: int) -> None:
        if number == 60:
            bpy.ops.knuckle.live_record()
        elif number == 90:
            assert bpy.ops.knuckle.live_record() == {"FINISHED"}, "the hands have keys from now on"
        if number not in (100, 115) or "Right Hand" not in bpy.data.objects:
            return
        hand = bpy.data.objects["Right Hand"]
        bpy.context.view_layer.objects.active = hand
        bpy.ops.object.mode_set(mode="EDIT" if number == 100 else "OBJECT")
        if number == 100:
            hand.data.edit_bones["wrist"].roll += 1.0
        else:
            assert not run.rigs.problems

    play(run, port, sent, edit)
    assert hands() == ["Left Hand", "Right Hand"], "no other hands beside those"
    for side in SIDES:
        armature = bpy.data.objects[f"{side.capitalize()} Hand"]
        assert apart(directions(armature, JOINTS), wanted(sent[-1], side, JOINTS)) < 6.0, side


def test_what_is_keyed_on_the_hands_does_not_show_through(followed, makehuman, port):
    finger = makehuman.pose.bones["finger2-1.L"]
    for frame, angle in ((1, 0.0), (50, 1.5)):
        finger.rotation_mode = "QUATERNION"
        finger.rotation_quaternion = (np.cos(angle / 2), np.sin(angle / 2), 0, 0)
        finger.keyframe_insert("rotation_quaternion", frame=frame)
    run = followed()
    sent = moments(100)
    play(run, port, sent)
    bpy.context.scene.frame_set(30)
    assert apart(directions(makehuman, ["finger2-1.L"]), wanted(sent[-1], "left", JOINTS[:1])) < 6.0


def test_takes_are_listed_with_their_length_and_read_again(followed, port, tmp_path):
    run = followed()

    def record(number: int) -> None:
        if number == 60:
            run.timecode = "01:02:03:04"
            bpy.ops.knuckle.live_record()

    play(run, port, moments(180), record)
    assert bpy.ops.knuckle.live_record() == {"FINISHED"}
    chosen = bpy.context.scene.knuckle_live
    (take,) = chosen.takes
    assert (take.name, take.timecode) == ("Take 001", "01:02:03:04")
    assert take.seconds == pytest.approx(119 / 60, abs=0.1)
    assert bpy.data.actions["Take 001"][TIMECODE_PROPERTY] == "01:02:03:04"
    assert bpy.ops.knuckle.import_capture(filepath=take.filepath) == {"FINISHED"}
    assert bpy.ops.knuckle.live_forget_take() == {"FINISHED"}
    assert not chosen.takes and (tmp_path / "Take 001.rawtake").exists()


def test_the_person_chooses_which_of_two_senders_is_followed(followed, port, monkeypatch):
    monkeypatch.setattr(bpy.context.preferences.system, "use_online_access", True)
    bpy.context.scene.knuckle_live.host = "0.0.0.0"
    run = followed()
    senders = run.receiver.senders

    def send(address: str) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.bind((address, 0))
            for moment in moments(4):
                for packet in QuestSender(Address()).packets(moment):
                    sock.sendto(packet, ("127.0.0.1", port))

    send("127.0.0.1")
    wait_for(lambda: senders.followed == "127.0.0.1")
    send("127.0.0.2")
    wait_for(lambda: senders.ignored_packets == 16)
    assert senders.ignored_sender == "127.0.0.2"
    assert bpy.ops.knuckle.live_follow_sender(sender="127.0.0.2") == {"FINISHED"}
    send("127.0.0.2")
    wait_for(lambda: senders.followed == "127.0.0.2")
    assert senders.ignored_packets == 16


def test_page_names_are_separated_by_spaces_or_commas(extension):
    chosen = bpy.context.scene.knuckle_live
    chosen.page_names = " hands.example.net,other.example.net "
    assert address_of(chosen).page_names == ("hands.example.net", "other.example.net")
    chosen.page_names = "not a name!"
    with pytest.raises(StreamError, match="'name!' is not an address"):
        address_of(chosen)


def test_nothing_is_posed_while_nothing_changes(followed, port):
    """A hand that is at rest, or held still by its device's silence, costs no drawing."""
    run = followed()
    play(run, port, moments(90))
    wait_for(lambda: not run.step() and all(hand.lost for hand in run.displayed_hands))
    assert [run.step() for _ in range(5)] == [False] * 5
    run.rigs.invalidate()
    assert run.step() is True
