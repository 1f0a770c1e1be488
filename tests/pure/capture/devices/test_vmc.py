"""VMC: an avatar that others send, and what comes of it."""

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pythonosc.osc_bundle_builder import IMMEDIATELY, OscBundleBuilder
from pythonosc.osc_message import OscMessage
from pythonosc.osc_message_builder import OscMessageBuilder
from pythonosc.osc_packet import OscPacket
from pythonosc.udp_client import SimpleUDPClient
from scipy.spatial.transform import Rotation
from vmcp.osc.typing import Message
from vmcp.protocol import bone_transform, root_transform, state
from vmcp.protocol import time as clock
from vmcp.typing import Bone, CoordinateVector, ModelState, Quaternion, Timestamp

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.receiver import Receiver
from knuckle.capture.frame import Frame, joint_names
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.vmc import HAND_LIFETIME, VmcParser
from knuckle.errors import PacketError
from knuckle.hand import rotations as rot
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from knuckle.hand.labelling.handedness import handedness
from knuckle.hand.marker_sets import Spot
from knuckle.tests.pure.capture.devices.sockets import listening, wait_for
from knuckle.tests.pure.capture.devices.speaking_vmc import speaking

from .avatar import BONES, HAND_BONES, PARTS, Avatar, blender, fist, turn
from .moments import moments

SIDES = ("Left", "Right")
BODY = {
    "Hips": turn((0, 1, 0), 35),
    "Chest": turn((0.6, 0, 0.8), 20),
    "LeftUpperArm": turn((0, 0, 1), 60),
    "RightUpperArm": turn((0, 0.8, 0.6), -50),
    "LeftLowerArm": turn((0, 1, 0), 70),
    "LeftHand": turn((0.6, 0.8, 0), 30),
    "RightHand": turn((1, 0, 0), -80),
}
_HAND = [bone.removeprefix("Left") for bone in HAND_BONES["Left"]]
JOINT = dict(zip(_HAND, ["wrist", *(joint for digit in DIGITS for joint in CHAIN_JOINTS[digit][:3])], strict=True))
"""The joint that a bone of the hand begins in: its parts in their order from the wrist outwards."""


def message(address: str, *arguments: object) -> OscMessage:
    builder = OscMessageBuilder(address)
    for argument in arguments:
        builder.add_arg(argument)
    return builder.build()


def said(avatar: Avatar, bones=BONES, places: bool = True) -> list[OscMessage]:
    """The messages of an avatar's bones."""
    return [
        message("/VMC/Ext/Bone/Pos", bone, *map(float, place if places else np.zeros(3)), *map(float, turned))
        for bone, (place, turned) in avatar.local.items()
        if bone in bones
    ]


def bundled(messages: list[OscMessage]) -> bytes:
    builder = OscBundleBuilder(IMMEDIATELY)
    for one in messages:
        builder.add_content(one)
    packet: bytes = builder.build().dgram
    return packet


def seen(avatar: Avatar, bones=BONES, places: bool = True) -> Frame:
    """The frame of an avatar that is sent twice."""
    parser, packet = VmcParser(), bundled(said(avatar, bones, places))
    return [*parser.feed(packet), *parser.feed(packet)][-1]


def row(frame: Frame, bone: str) -> int:
    side, part = ("left", bone.removeprefix("Left")) if bone.startswith("Left") else ("right", bone[len("Right") :])
    return frame.names.index(f"{side}:{JOINT[part]}")


def axes(frame: Frame, bone: str) -> np.ndarray:
    """(3, 3) the columns are the joint's axes in the world."""
    assert frame.rotations is not None
    return rot.to_matrix(frame.rotations[row(frame, bone)])


@pytest.mark.parametrize("body", [{}, BODY], ids=["T-pose", "moved"])
def test_every_bone_is_where_the_avatar_has_it(body) -> None:
    avatar = Avatar(body | fist("Left") | fist("Right"))
    frame = seen(avatar)
    for bone in HAND_BONES["Left"] + HAND_BONES["Right"]:
        apart = np.linalg.norm(frame.positions[row(frame, bone)] - blender(avatar.places[bone]))
        assert apart < 1e-6, f"{bone}: {1000 * apart:.4f} mm"


def test_what_is_not_sent_is_not_there() -> None:
    frame = seen(Avatar({}))
    assert frame.rotations is not None
    for side in ("left", "right"):
        reported = {f"{side}:{joint}" for joint in JOINT.values()}
        for name in joint_names(side):
            index = frame.names.index(name)
            assert np.isfinite(frame.positions[index]).all() == np.isfinite(frame.rotations[index]).all()
            assert np.isfinite(frame.positions[index]).all() == (name in reported)


def test_in_the_t_pose_fingers_point_aside_backs_up_and_thumbs_nails_outwards() -> None:
    frame = seen(Avatar({}))
    for side, out in (("Left", 1.0), ("Right", -1.0)):
        for part in JOINT:
            found = axes(frame, side + part)[:, 1:].T
            thumb = part.startswith("Thumb")
            wanted = np.array([[out, -1, 0], [-out, -1, 0]] if thumb else [[out, 0, 0], [0, 0, 1]])
            cosines = (found * wanted).sum(1) / np.linalg.norm(wanted, axis=1)
            assert (cosines > 1 - 1e-6).all(), side + part


@pytest.mark.parametrize("side", SIDES)
def test_joints_bend_to_the_palm_by_the_angles_that_were_sent(side: str) -> None:
    """HandModel's flexion is about −X; the angles also show between the points."""
    frame = seen(Avatar(BODY | fist(side, (80.0, 60.0, 30.0))))
    assert frame.rotations is not None
    palm = -axes(frame, f"{side}Hand")[:, 2]
    for digit in ("Index", "Middle", "Ring", "Little"):
        chain = [f"{side}Hand", *(f"{side}{digit}{part}" for part in ("Proximal", "Intermediate", "Distal"))]
        turns = frame.rotations[[row(frame, bone) for bone in chain]]
        bends = rot.multiply(rot.conjugate(turns[:-1]), turns[1:])
        wanted = rot.from_axis_angle(np.array([-1.0, 0, 0]), np.deg2rad([80.0, 60.0, 30.0]))
        assert np.allclose(np.abs((bends * wanted).sum(1)), 1.0, atol=1e-9)
        places = frame.positions[[row(frame, bone) for bone in chain[1:]]]
        bones = np.diff(places, axis=0)
        cosine = bones[0] @ bones[1] / np.linalg.norm(bones[0]) / np.linalg.norm(bones[1])
        assert np.isclose(np.rad2deg(np.arccos(cosine)), 60.0, atol=1e-3)
        assert (bones @ palm > 0.01).all(), "the fingers are on the palm's side"


@pytest.mark.parametrize("side", SIDES)
def test_a_thumb_flexes_along_the_palm_to_the_fingers(side: str) -> None:
    """From 45 degrees before the hand to beside it, in Unity about the vertical."""
    bent = {f"{side}Thumb{part}": turn((0, -1 if side == "Left" else 1, 0), 15) for part in PARTS}
    frame, flat = seen(Avatar(BODY | bent)), seen(Avatar(BODY))
    assert frame.rotations is not None and flat.rotations is not None
    rows = [row(frame, f"{side}Thumb{part}") for part in PARTS]
    bends = rot.multiply(rot.conjugate(flat.rotations[rows]), frame.rotations[rows])
    wanted = rot.from_axis_angle(np.array([-1.0, 0, 0]), np.deg2rad([15.0, 30.0, 45.0]))
    assert np.allclose(np.abs((bends * wanted).sum(1)), 1.0, atol=1e-9)
    index = row(frame, f"{side}IndexProximal")
    nearer = [np.linalg.norm(one.positions[rows[-1]] - one.positions[index]) for one in (frame, flat)]
    assert nearer[0] < nearer[1] - 0.01


@pytest.mark.parametrize("side", SIDES)
def test_a_hands_shape_tells_the_side_that_its_names_do(side: str) -> None:
    frame = seen(Avatar(BODY | fist(side, (40.0, 40.0, 20.0))), HAND_BONES[side])
    names = tuple(JOINT.values())
    spots = tuple(Spot(name) for name in names)
    found, sure = handedness(spots, frame.positions[[JOINT_INDEX[name] for name in names]][None])
    assert (found, sure > 0.9) == (side.lower(), True)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20)
def test_bones_with_axes_of_their_own_are_where_they_are_all_the_same(seed: int) -> None:
    """As some avatars have them. Only the wrist's frame can be found, and only from its knuckles."""
    dice = np.random.default_rng(seed)
    # From 60 degrees on, so that no hand's axes come near to the world's.
    own = {
        bone: turn(axis / np.linalg.norm(axis), angle)
        for bone, axis, angle in zip(
            BONES, dice.normal(size=(len(BONES), 3)), dice.uniform(60, 180, len(BONES)), strict=True
        )
    }
    avatar = Avatar(BODY | fist("Left") | fist("Right"), own)
    frame, plain = seen(avatar), seen(Avatar(BODY | fist("Left") | fist("Right")))
    assert frame.rotations is not None
    assert plain.names == (*frame.names, "left:elbow", "right:elbow"), "whose axes do not tell how a hand rests"
    assert np.allclose(frame.positions, plain.positions[:-2], atol=1e-6, equal_nan=True)
    for side in SIDES:
        tilt = np.rad2deg(np.arccos(np.diag(axes(frame, f"{side}Hand").T @ axes(plain, f"{side}Hand"))))
        assert (tilt < 15).all(), f"{tilt} degrees"
        assert np.isnan(frame.rotations[[row(frame, bone) for bone in HAND_BONES[side][1:]]]).all()


@pytest.mark.parametrize("side", ["Left", "Right"])
def test_what_a_forearm_is_turned_about_itself_is_the_hands(side: str) -> None:
    fore = f"{side}LowerArm"
    turned = Avatar(BODY | {fore: BODY.get(fore, np.eye(3)) @ turn((1, 0, 0), 80.0)})
    one, other = (seen(avatar) for avatar in (Avatar(BODY), turned))
    assert one.rotations is not None and other.rotations is not None
    elbow = one.names.index(f"{side.lower()}:elbow")
    assert abs(one.rotations[elbow] @ other.rotations[elbow]) == pytest.approx(1.0, abs=1e-5)
    relative = axes(one, f"{side}Hand").T @ axes(other, f"{side}Hand")
    assert np.trace(relative) == pytest.approx(1 + 2 * np.cos(np.deg2rad(80.0)), abs=1e-5)


def test_turns_without_places_move_the_hands_of_an_adult() -> None:
    """Some senders set every bone's place to zero."""
    avatar = Avatar(BODY | fist("Left"))
    frame, whole = seen(avatar, places=False), seen(avatar)
    assert frame.rotations is not None and whole.rotations is not None
    assert np.allclose(frame.rotations, whole.rotations, atol=1e-6, equal_nan=True)
    bone = frame.positions[row(frame, "LeftIndexIntermediate")] - frame.positions[row(frame, "LeftIndexProximal")]
    assert 0.035 < np.linalg.norm(bone) < 0.045
    rest = seen(Avatar({}), places=False)
    wrists = [rest.positions[row(rest, f"{side}Hand")] for side in SIDES]
    assert 1.2 < wrists[0][0] - wrists[1][0] < 1.7, "arms are spread as wide as an adult's"


def test_hands_without_a_body_come_in_the_root() -> None:
    avatar = Avatar(fist("Right"))
    parser = VmcParser()
    root = message(
        "/VMC/Ext/Root/Pos", "root", 1.0, 2.0, 3.0, *map(float, Rotation.from_matrix(BODY["Hips"]).as_quat())
    )
    packet = bundled([root, *said(avatar, HAND_BONES["Right"])])
    frame = [*parser.feed(packet), *parser.feed(packet)][-1]
    assert frame.names == joint_names("right")
    place, _ = avatar.local["RightHand"]
    assert np.allclose(frame.positions[0], blender([1, 2, 3] + BODY["Hips"] @ place), atol=1e-6)


ORDERS = {
    "time last": lambda bones, time: [*bones, time],
    "time first": lambda bones, time: [time, *bones],
    "no time": lambda bones, time: bones,
}


@pytest.mark.parametrize("missed", [0, 1, 30])
@pytest.mark.parametrize(
    ("order", "size"),
    # Nothing tells a time that is sent first from one that is sent last, where messages come one by one.
    [(order, size) for order in ORDERS for size in (1, 12, 100) if (order, size) != ("time first", 1)],
)
def test_a_frame_is_whole_with_its_last_message_whatever_the_order(order: str, size: int, missed: int) -> None:
    """No frame waits, comes twice or is of two moments, wherever in the first one listening began."""
    parser, dice = VmcParser(), np.random.default_rng(7)
    shuffled = list(BONES) if order == "no time" else dice.permutation(list(BONES)).tolist()
    for number in range(6):
        avatar = Avatar({"LeftHand": turn((0, 1, 0), number), "RightLittleDistal": turn((0, 0, 1), 10 * number)})
        bones = sorted(said(avatar), key=lambda one: shuffled.index(one.params[0]))
        messages = ORDERS[order](bones, message("/VMC/Ext/T", 5.0 + number / 64))
        groups = [messages[i : i + size] for i in range(0, len(messages), size)]
        packets = [group[0].dgram if size == 1 else bundled(group) for group in groups]
        heard = packets if number else packets[min(missed, len(packets) - 1) :]
        frames = [frame for packet in heard for frame in parser.feed(packet)]
        if number < 3:
            continue
        assert len(frames) == 1
        assert frames[0].time == (None if order == "no time" else 5.0 + number / 64)
        for bone in HAND_BONES["Left"] + HAND_BONES["Right"]:
            assert np.allclose(frames[0].positions[row(frames[0], bone)], blender(avatar.places[bone]), atol=1e-6)


@pytest.mark.parametrize("every", [2, 3])
def test_bones_that_come_in_some_frames_only_are_reported_once(every: int) -> None:
    """Virtual Motion Capture has periods for bones, for the root and for the time."""
    parser = VmcParser()
    root = message("/VMC/Ext/Root/Pos", "root", *[0.0] * 6, 1.0)
    times = []
    for number in range(8 * every):
        bones = [] if number % every else said(Avatar({"LeftHand": turn((0, 1, 0), number)}))
        packet = bundled([*bones, root, message("/VMC/Ext/T", number / 64)])
        times += [frame.time for frame in parser.feed(packet)]
    assert times[-5:] == [every * number / 64 for number in range(3, 8)]


def test_a_root_that_is_told_rarely_stays() -> None:
    parser, bones = VmcParser(), said(Avatar({}))
    root = message("/VMC/Ext/Root/Pos", "root", 0.0, 5.0, *[0.0] * 4, 1.0)
    frames = [frame for _ in range(3) for frame in parser.feed(bundled([root, *bones]))]
    frames += [frame for _ in range(60) for frame in parser.feed(bundled(bones))]
    assert np.array_equal(frames[-1].positions, frames[0].positions, equal_nan=True)
    assert frames[0].positions[0, 2] > 5.0


def test_a_hand_that_leaves_is_gone_and_comes_back_at_once() -> None:
    parser, avatar = VmcParser(), Avatar({})
    both, one = bundled(said(avatar)), bundled(said(avatar, set(BONES) - set(HAND_BONES["Left"])))
    for _ in range(3):
        frames = list(parser.feed(both))
    assert frames[-1].names == (*joint_names("left"), *joint_names("right"), "left:elbow", "right:elbow")
    for _ in range(HAND_LIFETIME + 2):
        frames = list(parser.feed(one))
    assert frames[-1].names == (*joint_names("right"), "right:elbow")
    frames = [frame for _ in range(2) for frame in parser.feed(both)]
    assert frames[-1].names == (*joint_names("left"), *joint_names("right"), "left:elbow", "right:elbow")
    assert [len(list(parser.feed(both))) for _ in range(4)] == [1] * 4


AVATARS = [Avatar({"Hips": turn((0, 1, 0), angle)}) for angle in (0.0, 30.0, 60.0)]


@cache
def _thirds(avatar: Avatar) -> list[bytes]:
    messages = said(avatar)
    return [bundled(messages[i::3]) for i in range(3)]


@given(lost=st.lists(st.booleans(), min_size=30, max_size=30))
def test_lost_packets_cost_their_bones_and_nothing_else(lost: list[bool]) -> None:
    """With whichever of three bundles a frame lost, frames go on, and are right again three rounds later."""
    parser = VmcParser()

    def round_of(avatar: Avatar, keep=(True, True, True)) -> list[Frame]:
        return [
            frame for third, kept in zip(_thirds(avatar), keep, strict=True) if kept for frame in parser.feed(third)
        ]

    kept = [[not gone for gone in lost[i : i + 3]] for i in range(0, 30, 3)]
    frames = [frame for number, keep in enumerate(kept) for frame in round_of(AVATARS[number % 2], keep)]
    assert len(frames) <= 2 * 10
    for number in range(4):
        round_of(AVATARS[number % 2])
    avatar = AVATARS[2]
    after = round_of(avatar)
    assert len(after) == 1
    assert np.allclose(after[0].positions[row(after[0], "LeftHand")], blender(avatar.places["LeftHand"]), atol=1e-6)


@pytest.mark.parametrize(
    ("packet", "what"),
    [
        (b"\x00\x01hello", "no end|expected an OSC"),
        (b"hello\0\0\0", "expected an OSC message or bundle"),
        (message("/VMC/Ext/Bone/Pos", "LeftHand", 1.0).dgram, "has 1 numbers, expected 7"),
        (message("/VMC/Ext/Bone/Pos").dgram, "expected a name"),
        (message("/VMC/Ext/Bone/Pos", "LeftHand", *[0.0] * 7).dgram, "LeftHand: a quaternion has the length 0"),
        (message("/VMC/Ext/Bone/Pos", "LeftHand", *[float("nan")] * 7).dgram, "LeftHand: a coordinate"),
        (message("/VMC/Ext/T", "late").dgram, "has 0 numbers"),
    ],
)
def test_what_is_malformed_is_refused_and_changes_nothing(packet: bytes, what: str) -> None:
    parser, good = VmcParser(), said(Avatar({}))
    with pytest.raises(PacketError, match=what):
        parser.feed(packet)
    if packet.startswith(b"/"):
        with pytest.raises(PacketError, match=what):
            parser.feed(bundled([*said(Avatar(BODY)), OscMessage(packet)]))
    frames = [*parser.feed(bundled(good)), *parser.feed(bundled(good))]
    assert len(frames) == 2
    assert np.allclose(frames[0].positions, frames[1].positions, equal_nan=True)


def test_what_is_not_of_hands_is_passed_over() -> None:
    parser = VmcParser()
    for one in (
        message("/VMC/Ext/Blend/Val", "Joy", 1.0),
        message("/VMC/Ext/Bone/Pos", "Jaw", *[0.0] * 7),
        message("/VMC/Ext/OK", 1, 3, 0, 1),
        message("/avatar/parameters/x", True, None, [1, 2]),
    ):
        assert list(parser.feed(one.dgram)) == []
    longer = message("/VMC/Ext/Bone/Pos", "LeftHand", 0, 1, 0, 0, 0, 0, 1, "of a later version", 5)
    assert [len(list(parser.feed(longer.dgram))) for _ in range(2)] == [0, 2]


def test_what_the_sender_sends_another_library_reads() -> None:
    sender = DEVICES["vmc"].sender(Address())
    for packet in sender.packets(moments(2)[1]):  # type: ignore[attr-defined]
        assert len(packet) < 1200
        for timed in OscPacket(packet).messages:
            one = timed.message
            if one.address == "/VMC/Ext/Bone/Pos":
                name, *numbers = one.params
                assert Bone(name) and len(numbers) == 7 and np.isclose(np.linalg.norm(numbers[3:]), 1.0)
            else:
                assert (one.address, len(one.params)) in {
                    ("/VMC/Ext/OK", 1),
                    ("/VMC/Ext/Root/Pos", 8),
                    ("/VMC/Ext/T", 1),
                }


@pytest.fixture
def receiver(address: Address) -> Iterator[Receiver]:
    with listening("vmc", address) as receiver:
        yield receiver


def arrived(receiver: Receiver, packets: int, frames: int) -> list[Frame]:
    got: list[Frame] = []

    def enough() -> bool:
        got.extend(one.frame for one in receiver.drain())
        return receiver.stats.packets >= packets and len(got) >= frames

    wait_for(enough)
    assert (receiver.stats.malformed, receiver.stats.late) == (0, 0), receiver.stats.problem
    return got


def test_vmcp_is_understood_over_a_socket(receiver: Receiver, address: Address) -> None:
    """Bundles and single messages of PyPI's vmcp, whose own types say what a bone and a turn are."""
    avatar = Avatar(BODY | fist("Right"))
    here = CoordinateVector(0.0, 0.0, 0.0)
    with speaking() as system:
        sender = system.create_sender(address.host, address.port, "avatar").open()
        for number in range(4):
            bones = [
                bone_transform(Bone(bone), CoordinateVector(*map(float, place)), Quaternion(*map(float, turned)))
                for bone, (place, turned) in avatar.local.items()
            ]
            root = root_transform(here, Quaternion(0.0, 0.0, 0.0, 1.0))
            packets = [
                Message(*one) for one in (root, *bones, state(ModelState.LOADED), clock(Timestamp(number + 1.0)))
            ]
            groups = [packets] if number % 2 else [packets[:30], *([packet] for packet in packets[30:])]
            for group in groups:
                sender.send(group)
                system.run()
    single = len(packets) - 30
    frames = arrived(receiver, 2 + 2 * (1 + single), 4)
    assert [frame.time for frame in frames] == [1.0, 2.0, 3.0, 4.0]
    for bone in HAND_BONES["Left"] + HAND_BONES["Right"]:
        assert np.allclose(frames[-1].positions[row(frames[-1], bone)], blender(avatar.places[bone]), atol=1e-6)


def test_virtual_motion_captures_own_order_is_understood_over_a_socket(receiver: Receiver, address: Address) -> None:
    """Bones in the order of HumanBodyBones in bundles of 13; the rest in a bundle in the last one; then OK and T."""
    client = SimpleUDPClient(address.host, address.port)
    for number in range(5):
        avatar = Avatar(BODY | fist("Left", (number, number, number)))
        bones = {one.params[0]: one for one in said(avatar)}
        ordered = [bones[bone.value] for bone in Bone if bone.value in bones]
        head, rest = ordered[: 13 * (len(ordered) // 13)], ordered[13 * (len(ordered) // 13) :]
        for start in range(0, len(head), 13):
            client._sock.sendto(bundled(head[start : start + 13]), (address.host, address.port))
        last = OscBundleBuilder(IMMEDIATELY)
        inner = OscBundleBuilder(IMMEDIATELY)
        last.add_content(message("/VMC/Ext/Root/Pos", "root", *[0.0] * 6, 1.0, *[1.0] * 3, *[0.0] * 3))
        for one in rest:
            inner.add_content(one)
        last.add_content(inner.build())
        last.add_content(message("/VMC/Ext/OK", 1, 3, 0, 1))
        last.add_content(message("/VMC/Ext/T", 100.0 + number))
        client.send(last.build())
    frames = arrived(receiver, 5 * (1 + len(head) // 13), 5)
    assert [frame.time for frame in frames] == [100.0 + number for number in range(5)]
    for bone in HAND_BONES["Left"] + HAND_BONES["Right"]:
        assert np.allclose(frames[-1].positions[row(frames[-1], bone)], blender(avatar.places[bone]), atol=1e-6)
