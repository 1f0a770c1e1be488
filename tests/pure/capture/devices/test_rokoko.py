"""Rokoko Studio: actors that stand as Studio's do, and what comes of them."""

import json
import socket
from typing import Any

import lz4.frame
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.frame import Frame, joint_names
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.rokoko import MAX_ACTORS, RokokoParser
from knuckle.errors import PacketError
from knuckle.hand import rotations as rot
from knuckle.hand.joints import JOINT_INDEX, SIDES, Side
from knuckle.hand.labelling.handedness import handedness
from knuckle.hand.marker_sets import Spot

from .avatar import HAND_BONES, Avatar, blender, fist, turn
from .moments import moments
from .sockets import listening, wait_for
from .test_vmc import BODY, JOINT

# Turns of bones in Studio's T-pose, wxyz in Unity's axes, as Rokoko's own plug-ins have them.
REFERENCE = {
    "left": {"": (-0.5, -0.5, -0.5, 0.5), "ThumbProximal": (-0.0923, -0.56098, -0.70106, 0.43046)},
    "right": {"": (0.5, 0.5, -0.5, 0.5), "ThumbProximal": (0.0923, 0.56099, -0.70106, 0.43046)},
}
for _side, _thumb in (("left", (-0.2706, -0.65328, -0.65328, 0.2706)), ("right", (0.2706, 0.65328, -0.65328, 0.2706))):
    REFERENCE[_side] |= {"ThumbMedial": _thumb, "ThumbDistal": _thumb}


def reference(side: str, bone: str) -> np.ndarray:
    w, x, y, z = REFERENCE[side].get(bone, REFERENCE[side][""])
    matrix: np.ndarray = Rotation.from_quat([x, y, z, w]).as_matrix()
    return matrix


def body(avatar: Avatar, sides=("left", "right"), arms: bool = True) -> dict[str, object]:
    """The bones of an avatar's hands and forearms as Studio tells them: places and turns in the world."""
    bones: dict[str, object] = {"hip": {"position": dict.fromkeys("xyz", 0), "rotation": dict.fromkeys("xyzw", 0)}}
    for side in sides:
        title = side.capitalize()
        for name in (*([f"{title}UpperArm", f"{title}LowerArm"] if arms else []), *HAND_BONES[title]):
            bone = name[len(side) :].replace("Intermediate", "Medial")
            turned = Rotation.from_matrix(avatar.turns[name] @ reference(side, bone)).as_quat()
            bones[side + bone] = {
                "position": dict(zip("xyz", map(float, avatar.places[name]), strict=True)),
                "rotation": dict(zip("xyzw", map(float, turned), strict=True)),
            }
    return bones


def actor(name: str, bones: dict[str, object], left: bool = True, right: bool = True) -> dict[str, Any]:
    meta = {"hasGloves": left or right, "hasLeftGlove": left, "hasRightGlove": right, "hasBody": True, "hasFace": False}
    return {"name": name, "color": [255, 0, 0], "meta": meta, "dimensions": {"hipHeight": 1.0}, "body": bones}


def version_3(*actors: dict[str, Any], at: float = 2.5) -> bytes:
    scene = {"timestamp": at, "actors": actors, "characters": [], "props": []}
    return json.dumps({"version": "3,0", "fps": 60, "scene": scene}).encode()


def version_2(*actors: dict[str, Any], version: object = 2, at: float = 2.5) -> bytes:
    flat = [{"name": one["name"], "id": "x", "isLive": True, "hipHeight": 1.0, **one["body"]} for one in actors]
    said = {"version": version, "timestamp": at, "playbackTimestamp": 0, "props": [], "trackers": [], "faces": []}
    return json.dumps(said | {"actors": flat}).encode()


def seen(packet: bytes) -> Frame:
    (frame,) = RokokoParser().feed(packet)
    return frame


def rows(frame: Frame, side: Side, owner: str = "") -> list[int]:
    return [frame.names.index(joint_names(side, owner)[JOINT_INDEX[joint]]) for joint in JOINT.values()]


@pytest.mark.parametrize("side", SIDES)
def test_joints_are_where_they_are_and_turned_as_the_hand_is(side: Side) -> None:
    """Flexion is about −X, for the thumb as well, which Studio's T-pose has along the hand."""
    title, sign = side.capitalize(), 1 if side == "left" else -1
    # From along the hand, the nail up and to the front, down and to the back.
    about = sign * np.sqrt(0.5) * np.array([0, -1, 1])
    thumb = {f"{title}ThumbIntermediate": turn(about, 20), f"{title}ThumbDistal": turn(about, 35)}
    avatar, flat = Avatar(BODY | fist(title, (80.0, 60.0, 30.0)) | thumb), Avatar(BODY)
    frame, rest = seen(version_3(actor("", body(avatar)))), seen(version_3(actor("", body(flat))))
    assert frame.rotations is not None and rest.rotations is not None
    own = rows(frame, side)
    assert np.allclose(frame.positions[own], blender([avatar.places[bone] for bone in HAND_BONES[title]]), atol=1e-6)
    for digit, bends in (("Index", (80, 60, 30)), ("Little", (80, 60, 30)), ("Thumb", (0, 20, 35))):
        chain = [row for row, part in zip(own, JOINT, strict=True) if part.startswith(digit)]
        above = [own[0], *chain[:-1]]
        now = rot.multiply(rot.conjugate(frame.rotations[above]), frame.rotations[chain])
        before = rot.multiply(rot.conjugate(rest.rotations[above]), rest.rotations[chain])
        wanted = rot.multiply(before, rot.from_axis_angle(np.array([-1.0, 0, 0]), np.deg2rad(bends)))
        assert np.allclose(np.abs((now * wanted).sum(1)), 1.0, atol=1e-4), digit


def test_in_studios_t_pose_backs_are_up_and_thumbs_roll_outwards() -> None:
    frame = seen(version_3(actor("", body(Avatar({})))))
    assert frame.rotations is not None
    for side, out in zip(SIDES, (1.0, -1.0), strict=True):
        frames = rot.to_matrix(frame.rotations[rows(frame, side)])
        for part, found in zip(JOINT, frames, strict=True):
            wanted = {"ThumbProximal": [0.866 * out, -0.5, 0]}.get(part, [out, 0, 0])
            assert found[:, 1] == pytest.approx(wanted, abs=1e-3), part
            assert found[2, 2] > 0.7 and (found[1, 2] < -0.6) == part.startswith("Thumb"), part


@pytest.mark.parametrize("side", SIDES)
def test_a_hands_shape_tells_the_side_that_its_names_do(side: Side) -> None:
    frame = seen(version_3(actor("", body(Avatar(BODY | fist(side.capitalize(), (40, 40, 20))), (side,)))))
    spots = tuple(Spot(joint) for joint in JOINT.values())
    found, sure = handedness(spots, frame.positions[rows(frame, side)][None])
    assert (found, sure > 0.9) == (side, True)


def test_both_versions_plain_and_packed_tell_the_same() -> None:
    anna = actor("Anna", body(Avatar(BODY)))
    plain = [version_3(anna), version_2(anna), version_2(anna, version="3")]
    packed = [lz4.frame.compress(packet, block_linked=linked) for packet in plain for linked in (False, True)]
    frames, both = (
        [seen(packet) for packet in plain + packed],
        joint_names("left", "Anna") + joint_names("right", "Anna"),
    )
    for frame in frames:
        assert frame.names == frames[0].names == (*both, "Anna left:elbow", "Anna right:elbow")
        assert frame.time == 2.5
        assert np.array_equal(frame.positions, frames[0].positions, equal_nan=True)
        assert frame.rotations is not None and frames[0].rotations is not None
        assert np.array_equal(frame.rotations, frames[0].rotations, equal_nan=True)


def test_one_glove_is_one_hand() -> None:
    bones = body(Avatar({}))
    one_sided = {name: bone for name, bone in bones.items() if not name.startswith("left") or name == "leftHand"}
    for packet in (
        version_3(actor("", one_sided, left=False)),
        version_3(actor("", bones, left=False)),
        version_2(actor("", one_sided)),
    ):
        assert seen(packet).names == (*joint_names("right"), "right:elbow")
    assert list(RokokoParser().feed(version_3(actor("", bones, left=False, right=False)))) == []
    assert list(RokokoParser().feed(version_3())) == []


def test_actors_keep_apart_and_their_names_fit_into_labels() -> None:
    bones = body(Avatar({}), ("left",))
    named = ["Anna", "Ben: the  second ", "Anna", "x" * 100]
    frame = seen(version_3(*(actor(name, bones) for name in named)))
    owners = ["Anna", "Ben the second", "x" * 40]
    own = [label for owner in owners for label in joint_names("left", owner)]
    assert frame.names == (*own, *(f"{owner} left:elbow" for owner in owners))
    crowd = seen(version_3(*(actor(str(number), bones) for number in range(20))))
    assert len(crowd.names) == 26 * MAX_ACTORS


def test_bones_that_are_not_reported_are_not_there() -> None:
    bones = body(Avatar({}), ("right",))
    del bones["rightIndexDistal"]
    frame = seen(version_3(actor("", bones)))
    there = {name for name, at in zip(frame.names, frame.positions, strict=True) if np.isfinite(at).all()}
    reported = {f"right:{joint}" for joint in (*JOINT.values(), "elbow")} - {"right:index-finger-phalanx-distal"}
    assert there == reported


def test_a_clock_that_stands_still_is_none() -> None:
    parser, bones = RokokoParser(), actor("", body(Avatar({})))
    times = [frame.time for at in (0.0, 0.0, 0.5, 0.25, 0.25) for frame in parser.feed(version_3(bones, at=at))]
    assert times == [0.0, None, 0.5, 0.25, None]


GOOD = actor("", body(Avatar({}), ("right",)))


@pytest.mark.parametrize(
    ("packet", "what"),
    [
        (b"\x00\x01", "expected Rokoko Studio's JSON"),
        (b"[" * 60_000, "expected Rokoko Studio's JSON"),
        (b'{"version": 1}', "JSON without actors"),
        (b'{"scene": {"actors": [3]}}', "JSON without actors"),
        (lz4.frame.compress(b"{}"), "JSON without actors"),
        (lz4.frame.compress(b"{}")[:-5], "is truncated"),
        (lz4.frame.compress(b" " * (1 << 21)), "more than 262144 bytes"),
        (version_3(GOOD | {"body": []}), "an actor's body is not an object"),
        (
            version_3(GOOD | {"body": {"rightHand": {}, "rightThumbTip": 4}}),
            "a bone of the right hand is not an object",
        ),
        (version_3(GOOD | {"body": {"rightThumbTip": {"rotation": {}}}}), "a bone's position is 'None'"),
        (version_3(GOOD).replace(b'"w": ', b'"w": 1e9, "was": '), "a quaternion has the length"),
        (version_3(GOOD).replace(b'"x": ', b'"x": NaN, "was": '), "a coordinate is not a number"),
        (version_3(GOOD).replace(b'"y": ', b'"y": ' + b"9" * 6000 + b', "was": '), "a coordinate is not a number"),
        (version_3(GOOD).replace(b'"z": ', b'"z": "1", "was": '), "expected the numbers x, y, z"),
        (version_3(GOOD).replace(b'"z": ', b'"z": true, "was": '), "expected the numbers x, y, z"),
    ],
    ids=range(15),
)
def test_what_is_malformed_is_refused(packet: bytes, what: str) -> None:
    with pytest.raises(PacketError, match=what):
        RokokoParser().feed(packet)


def test_packed_frames_come_over_a_socket(address: Address) -> None:
    sent = moments(20)
    sender = DEVICES["rokoko"].sender(address)
    with listening("rokoko", address) as receiver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for moment in sent:
            for packet in sender.packets(moment):  # type: ignore[attr-defined]
                sock.sendto(lz4.frame.compress(packet), (address.host, address.port))
        wait_for(lambda: receiver.stats.frames >= len(sent))
    frames = [arrived.frame for arrived in receiver.drain()]
    assert [frame.time for frame in frames] == [moment.time for moment in sent]
    assert receiver.stats.malformed == 0


@pytest.mark.parametrize("side", SIDES)
def test_a_forearm_is_where_it_is_and_turned_as_a_hand_that_rests_on_it(side: Side) -> None:
    title = side.capitalize()
    resting = Avatar({name: turned for name, turned in BODY.items() if not name.endswith("Hand")})
    frame, of_hand = (seen(version_3(actor("", body(avatar)))) for avatar in (Avatar(BODY), resting))
    assert frame.rotations is not None and of_hand.rotations is not None
    elbow, wrist = frame.names.index(f"{side}:elbow"), of_hand.names.index(f"{side}:wrist")
    assert frame.positions[elbow] == pytest.approx(blender(Avatar(BODY).places[f"{title}LowerArm"]), abs=1e-6)
    assert abs(frame.rotations[elbow] @ of_hand.rotations[wrist]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("side", SIDES)
def test_what_a_forearm_is_turned_about_itself_is_the_hands(side: Side) -> None:
    fore = f"{side.capitalize()}LowerArm"
    turned = Avatar(BODY | {fore: BODY.get(fore, np.eye(3)) @ turn((1, 0, 0), 80.0)})
    one, other = (seen(version_3(actor("", body(avatar)))) for avatar in (Avatar(BODY), turned))
    assert one.rotations is not None and other.rotations is not None
    for joint, degrees in (("elbow", 0.0), ("wrist", 80.0)):
        row = one.names.index(f"{side}:{joint}")
        alike = abs(one.rotations[row] @ other.rotations[row])
        assert alike == pytest.approx(np.cos(np.deg2rad(degrees / 2)), abs=1e-6), joint


@pytest.mark.parametrize("bad", [float("nan"), 0.0, 1e30, "x", None])
def test_a_damaged_forearm_leaves_the_hands_as_they_are(bad: object) -> None:
    bones, gloves = body(Avatar(BODY)), seen(version_3(actor("", body(Avatar(BODY), arms=False))))
    whole = actor("", bones)
    for side in SIDES:
        bones[f"{side}LowerArm"] = {"position": dict.fromkeys("xyz", bad), "rotation": dict.fromkeys("xyzw", bad)}
    for sent in (whole, whole | {"meta": whole["meta"] | {"hasBody": False}}, actor("", bones | {"leftLowerArm": bad})):
        frame = seen(version_3(sent))
        assert frame.names == gloves.names
        assert np.array_equal(frame.positions, gloves.positions, equal_nan=True)
