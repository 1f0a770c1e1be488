"""A device that is followed in Blender: bones move, nothing is keyed, and what ends leaves things as they were."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle import capture
from knuckle.capture.devices import receiver as receivers
from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.network.sender import OutgoingFrame
from knuckle.capture.network.transport import Address
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import JOINT_INDEX, SIDES, Side
from knuckle.operators.live_device import _tick, end
from knuckle.operators.live_loop import LiveRun
from knuckle.operators.session import SESSION
from knuckle.pipeline.live import dropout_blend
from knuckle.pipeline.live.live_hand import LiveHand
from knuckle.rig.armature_hands import find_hands
from knuckle.rig.keys.nla_layers import TAKE_PROPERTY
from knuckle.rig.keys.reduced_take import dense_action
from knuckle.tests.blender.making import forearm_bones
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.devices.sockets import free_address, wait_for

DEVICE = "quest"


@pytest.fixture
def port() -> int:
    return free_address().port


@pytest.fixture
def followed(extension, port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., LiveRun]]:
    """Begins to follow the device with the scene's settings."""
    # A busy machine may keep frames waiting for longer than a hand is usually held.
    monkeypatch.setattr(dropout_blend, "HOLD_SECONDS", 2.0)
    monkeypatch.setattr(dropout_blend, "BURST_SECONDS", 2.0)

    def begin(device: str = DEVICE) -> LiveRun:
        chosen = bpy.context.scene.knuckle_live
        chosen.device, chosen.folder = device, str(tmp_path)
        chosen.port = port
        assert bpy.ops.knuckle.live_start() == {"FINISHED"}
        assert SESSION.live.run is not None
        wait_for(lambda: SESSION.live.run.receiver.is_open)
        return SESSION.live.run

    yield begin
    end(put_back=False)


@pytest.fixture
def makehuman(shared: Path) -> bpy.types.Object:
    """MakeHuman's rig, which the hands are to drive."""
    bpy.ops.wm.open_mainfile(filepath=str(shared / "data" / "rigs" / "makehuman_default.blend"))
    scene = bpy.context.scene
    armature = next(obj for obj in scene.objects if obj.type == "ARMATURE")
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", armature
    scene.knuckle.drive = "wrist"  # the fingers are compared with what was sent, in the world
    return armature


def play(run: LiveRun, port: int, sent: list[OutgoingFrame], then: Callable[[int], None] = lambda _: None) -> None:
    """Sends moments and lets Blender take them, as its timer would."""
    with DEVICES[DEVICE].sender(Address("127.0.0.1", port)) as sender:
        for number, moment in enumerate(sent):
            sender.send(moment)
            time.sleep(0.004)
            run.step()
            if run.session.unmeasured():
                # However long it takes to measure them, hands move for the rest of what is sent.
                wait_for(lambda: all(hand.pending is None or hand.pending.done() for hand in hands_of(run)))
            then(number)
    for _ in range(4):
        time.sleep(0.03)
        run.step()


def hands_of(run: LiveRun) -> list[Any]:
    return list(run.session._hands.values())


def directions(armature: bpy.types.Object, bones: list[str]) -> np.ndarray:
    """(N, 3) where bones point in the world, as Blender evaluates them."""
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    along = np.array([(posed.matrix_world @ posed.pose.bones[name].matrix).col[1][:3] for name in bones])
    unit: np.ndarray = along / np.linalg.norm(along, axis=1, keepdims=True)
    return unit


def wanted(sent: OutgoingFrame, side: Side, joints: list[str]) -> np.ndarray:
    return sent.hands[side][[JOINT_INDEX[joint] for joint in joints], :3, 1]


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Degrees, at most."""
    return float(np.degrees(np.arccos(np.clip((a * b).sum(axis=1), -1, 1))).max())


JOINTS = ["index-finger-phalanx-proximal", "middle-finger-phalanx-intermediate", "thumb-phalanx-distal"]


def test_new_hands_move_as_the_performers(followed, port):
    run = followed()
    sent = moments(150)
    play(run, port, sent)
    hands = [obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE"]
    assert sorted(hand.name for hand in hands) == ["Left Hand", "Right Hand"]
    for hand, side in zip(sorted(hands, key=lambda hand: hand.name), SIDES, strict=True):
        assert apart(directions(hand, JOINTS), wanted(sent[-1], side, JOINTS)) < 6.0
    assert all(hand.animation_data is None for hand in hands), "nothing is keyed"
    assert run.receiver.stats.malformed == run.receiver.stats.lost == 0


def test_an_armature_moves_and_stands_again_as_before(followed, makehuman, port):
    armature = makehuman
    before = {bone.name: bone.matrix_basis.copy() for bone in armature.pose.bones}
    run = followed()
    sent = moments(150)
    play(run, port, sent)
    assert not run.rigs.problems and len(run.displayed_hands) == 2
    bones = ["finger2-1.L", "finger3-2.L"]
    assert apart(directions(armature, bones), wanted(sent[-1], "left", JOINTS[:2])) < 6.0
    strains = [posed.mover.strain for posed in run.rigs.rig_hands().values()]
    reported, beyond = (
        run.rigs.strain_warnings(),
        [strain for strain in strains if strain.excess_bend[0] > 0 or strain.excess_twist[0] > 0],
    )
    assert len(reported) == len(beyond) and all(
        note.endswith("press Recenter, or drive the fingers only") for note in reported
    )
    moved = {bone.name for bone in armature.pose.bones if bone.matrix_basis != before[bone.name]}
    mapped = {bone for hand in find_hands(armature) for bone in hand.bones.values()}
    assert moved and moved <= mapped | forearm_bones(armature), moved
    assert bpy.ops.knuckle.live_stop() == {"FINISHED"}
    assert all(bone.matrix_basis == before[bone.name] for bone in armature.pose.bones)
    assert armature.animation_data is None or armature.animation_data.action is None


def test_a_take_is_recorded_raw_and_keyed_over_what_is_played(followed, makehuman, port, tmp_path):
    """A body's animation on another action plays on below the take."""
    scene, armature = bpy.context.scene, makehuman
    spine = armature.pose.bones["spine01"]
    for frame, angle in ((1, 0.0), (50, 0.5)):
        spine.rotation_quaternion = (np.cos(angle), np.sin(angle), 0, 0)
        spine.keyframe_insert("rotation_quaternion", frame=frame)
    body = armature.animation_data.action
    rate = (scene.render.fps, scene.render.fps_base)
    scene.frame_set(20)
    run = followed()
    sent = moments(240)

    def record(number: int) -> None:
        if number == 150:
            wait_for(lambda: run.step() or len(run.displayed_hands) == 2)
            bpy.ops.knuckle.live_record()

    play(run, port, sent, record)
    assert bpy.ops.knuckle.live_record() == {"FINISHED"}
    bpy.ops.knuckle.live_stop()
    take = armature.animation_data.action
    assert take[TAKE_PROPERTY] and take is not body and take.frame_range[0] == 20
    assert [strip.action for track in armature.animation_data.nla_tracks for strip in track.strips] == [body]
    assert (scene.render.fps, scene.render.fps_base) == rate
    scene.frame_set(int(take.frame_range[1]))
    assert apart(directions(armature, ["finger2-1.L"]), wanted(sent[-1], "left", JOINTS[:1])) < 6.0
    scene.frame_set(50)
    assert armature.pose.bones["spine01"].rotation_quaternion.angle == pytest.approx(1.0, abs=1e-4)
    raw = capture.read(next(tmp_path.glob("*.rawtake")))
    assert len(raw.times) > 90 and raw.rate == pytest.approx(60.0, abs=0.1)
    scene.frame_set(40)
    shown = directions(armature, ["finger2-1.L", "finger2-3.L"])
    bpy.context.view_layer.objects.active = armature
    assert bpy.ops.knuckle.reduce_keys() == {"FINISHED"}
    assert dense_action(armature) == take
    scene.frame_set(40)
    # Three joints of at most a degree each.
    assert apart(directions(armature, ["finger2-1.L", "finger2-3.L"]), shown) < 3.0


def test_a_take_is_keyed_without_posing_what_is_shown_on_each_of_its_frames(followed, makehuman, port, monkeypatch):
    spine = makehuman.pose.bones["spine01"]
    for frame in (1, 50):
        spine.keyframe_insert("location", frame=frame)
    run = followed()
    sent = moments(120)
    play(run, port, sent[:60])
    bpy.ops.knuckle.live_record()
    play(run, port, sent[60:])
    posed: list[float] = []
    monkeypatch.setattr(run, "pose", posed.append)
    assert bpy.ops.knuckle.live_record() == {"FINISHED"}
    assert makehuman.animation_data.action[TAKE_PROPERTY] and len(posed) <= 1


def test_a_take_has_the_frames_that_still_wait_when_it_ends(followed, port):
    """As after a moment in which Blender stood still."""
    run = followed()
    play(run, port, moments(60))
    bpy.ops.knuckle.live_record()
    before = run.receiver.stats.frames
    with DEVICES[DEVICE].sender(Address("127.0.0.1", port)) as sender:
        for moment in moments(100)[60:]:
            sender.send(moment)
    wait_for(lambda: run.receiver.stats.frames == before + 40)
    taken = run.end_recording()
    assert len(taken.buffer) == 0 and taken.missed == 0
    duration = taken.seconds
    progress = [step.fraction for step in run.solve_unread(taken.buffer)]
    assert len(taken.buffer) == 40 and taken.buffer.seconds == pytest.approx(duration)
    assert len(progress) >= 3 and progress == sorted(progress), "in slices, so that Blender does not stand still"


def test_a_take_has_all_frames_though_the_view_is_slow(followed, port):
    """Two looks a second, a device of 240 Hz that goes on while the take ends; the raw take has the same frames."""
    bpy.context.scene.knuckle_live.pre_roll = 0.0
    run = followed()
    play(run, port, moments(60))
    bpy.ops.knuckle.live_record()
    seconds, stopped, later, sent = 6.0, threading.Event(), moments(2200)[60:], [0]

    def send() -> None:
        started = time.perf_counter()
        with DEVICES[DEVICE].sender(Address("127.0.0.1", port)) as sender:
            for number, moment in enumerate(later):
                if stopped.is_set():
                    return
                time.sleep(max(0.0, started + number / 240 - time.perf_counter()))
                sender.send(moment)
                sent[0] = number

    sending = threading.Thread(target=send)
    sending.start()
    try:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            run.step()
            time.sleep(0.5)
        sent_by_then = sent[0]
        taken = run.end_recording()
        run_to_end(run.solve_unread(taken.buffer))
    finally:
        stopped.set()
        sending.join()
    recorded = capture.read(taken.recorder.path)
    assert len(recorded.times) > 0.5 * sent_by_then, "the receiver reads on while nobody looks"
    assert len(taken.buffer) == len(recorded.times) and taken.missed == 0
    assert taken.buffer.seconds == pytest.approx(recorded.duration, abs=0.05)


def test_frames_that_came_too_fast_for_keys_are_counted(followed, port, monkeypatch):
    """More of them wait for Blender than the queue holds."""
    run = followed()
    play(run, port, moments(60))
    monkeypatch.setattr(receivers, "RECORDING_QUEUE_LENGTH", 20)
    run.receiver.stats.overrun += 3
    bpy.ops.knuckle.live_record()
    before = run.receiver.stats.packets
    with DEVICES[DEVICE].sender(Address("127.0.0.1", port)) as sender:
        for moment in moments(100)[60:]:
            sender.send(moment)
    wait_for(lambda: run.receiver.stats.packets == before + 4 * 40)
    assert run.end_recording().missed == 20


def test_hands_are_seen_however_long_blender_takes(followed, port, monkeypatch):
    """Frames that waited are not all solved, and a hand is not lost because those that are take their time."""
    run = followed()
    play(run, port, moments(100))
    solve, solved = LiveHand.solve, []

    def slowly(*of):
        solved.append(of)
        time.sleep(dropout_blend.HOLD_SECONDS / 4)
        return solve(*of)

    monkeypatch.setattr(LiveHand, "solve", slowly)
    with DEVICES[DEVICE].sender(Address("127.0.0.1", port)) as sender:
        for moment in moments(200)[100:150]:
            sender.send(moment)
        time.sleep(0.1)
        run.step()
    assert len(solved) == 2, "of each hand the newest"
    assert len(run.displayed_hands) == 2 and not any(shown.lost for shown in run.displayed_hands)


def test_opening_a_file_ends_it(followed, port):
    run = followed()
    play(run, port, moments(60))
    bpy.ops.wm.read_homefile(use_empty=True)
    assert SESSION.live.run is None and not bpy.app.timers.is_registered(_tick)
    assert not run.receiver._thread.is_alive()


def test_an_armature_that_is_deleted_is_let_go(followed, port):
    run = followed()
    sent = moments(120)

    def delete(number: int) -> None:
        if number == 90 and run.displayed_hands:
            for obj in [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]:
                bpy.data.objects.remove(obj)

    play(run, port, sent, delete)
    assert run.step() is False
    assert sorted(run.rigs.problems) == ["left", "right"]
    assert all("are gone, stop and start again" in problem for problem in run.rigs.problems.values())


def test_recentred_hands_are_where_the_rigs_are_at_rest(followed, port):
    run = followed()
    play(run, port, moments(120))
    bpy.ops.knuckle.live_recentre()
    run.step()
    place = run.device_transforms[""]
    middle = np.mean([(place @ hand.pose.root[0])[:3, 3] for hand in run.displayed_hands], axis=0)
    assert middle == pytest.approx([0.0, 0.0, 0.0], abs=1e-6), "new hands are at the origin at rest"
    assert place[2, :3] == pytest.approx([0.0, 0.0, 1.0]), "turned about the vertical only"


def test_nothing_is_followed_twice_and_nothing_is_stopped_that_is_not(followed, port):
    assert not bpy.ops.knuckle.live_stop.poll()
    followed()
    with pytest.raises(RuntimeError, match="is followed already"):
        bpy.ops.knuckle.live_start()
