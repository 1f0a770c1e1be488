"""A body that is sent live bends and pronates the character's wrists as the same motion does from a file."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Quaternion

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.raw_take import Packet, RawTakeHeader, header_bytes, packet_bytes
from knuckle.hand.generators import run_to_end
from knuckle.operators.live_rigs import LiveRigs
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.live.dropout_blend import HOLD_SECONDS, RETURN_SECONDS
from knuckle.pipeline.live.live_session import LiveSession
from knuckle.pipeline.live.take_buffer import TakeBuffer
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.data_reference import DataReference
from knuckle.rig.keys.nla_layers import is_take
from knuckle.rig.keys.take_scene import TakeTiming, write_take
from knuckle.rig.live_take import LiveTake, key_live
from knuckle.rig.rig_query import RigQuery
from knuckle.rig.sources.reading import read_capture
from knuckle.tests.blender.bvh_of_avatar import write_bvh
from knuckle.tests.blender.rigs import RIGS
from knuckle.tests.pure.capture.devices.avatar import Avatar, fist, turn
from knuckle.tests.pure.capture.devices.test_rokoko import actor, body, version_3
from knuckle.tests.pure.capture.devices.test_vmc import bundled, message, said

Object = bpy.types.Object
Floats = np.ndarray[Any, np.dtype[np.float64]]
RATE, MEASURED, FRAMES = 24.0, 28, 20
"""Frames a second, and how many come before the take and in it."""
ARM = [0, 1, 2, 9, 10, 11]
"""The bones of forearms and wrists among those that are compared."""


def performed(share: float) -> Avatar:
    """Arms that go from the sides before the chest, and pronate, while wrists bend and hands close."""
    turns = {"Hips": turn((0, 1, 0), 40.0)}
    for side, sign in (("Left", 1), ("Right", -1)):
        turns[f"{side}UpperArm"] = turn((0, 0, sign), 50 + 20 * share)
        turns[f"{side}LowerArm"] = turn((0, sign, 0), 90 * share) @ turn((1, 0, 0), 70 * share)
        turns[f"{side}Hand"] = turn((0, 0, sign), 50 * share - 20) @ turn((1, 0, 0), 30 - 60 * share)
        turns |= fist(side, tuple(np.multiply(share, (60, 70, 40))))
    return Avatar(turns)


def character() -> Object:
    """MakeHuman's armature, without the meshes, which take time."""
    armature, _ = RIGS["MakeHuman"]()
    for obj in [obj for obj in bpy.context.scene.objects if obj != armature]:
        bpy.data.objects.remove(obj)
    return armature


@dataclass
class Followed:
    """A character that followed a device, and the take that was recorded meanwhile."""

    armature: Object
    rigs: LiveRigs
    buffer: TakeBuffer


def follow(armature: Object, device: str, packets: list[bytes], then: Callable[[], None] = lambda: None) -> Followed:
    """Follow packets as a run does, and record those after the hands were measured. then: called after each."""
    parser, recipe, scene = DEVICES[device].parser(), Recipe("live", drive="wrist", smoothing="off"), bpy.context.scene
    session = LiveSession(recipe)
    rigs = LiveRigs(DataReference.of(scene), DataReference.of(armature), {}, recipe=recipe)
    buffer, posing, deepest = TakeBuffer({}), 0, 0

    def pose_after_frame(changed: bpy.types.Scene, *_: Any) -> None:
        nonlocal posing, deepest
        if changed == scene:
            deepest = max(deepest, posing := posing + 1)
            rigs.invalidate()
            rigs.pose(session.displayed(number / RATE), session.hands(), {})
            posing -= 1

    bpy.app.handlers.frame_change_post.append(pose_after_frame)
    for number, packet in enumerate(packets):
        for frame in parser.feed(packet):
            session.feed([(frame, number / RATE)])
        rigs.add_performers(session.appeared)
        wait_until_measured(session)
        session.take = buffer if number >= MEASURED else None
        rigs.pose(session.displayed(number / RATE), session.hands(), {})
        bpy.context.view_layer.update()
        then()
    bpy.app.handlers.frame_change_post.remove(pose_after_frame)
    assert not session.problems and not rigs.problems
    assert deepest <= 2, "a hand whose binding changes frames is not bound by that again"
    return Followed(armature, rigs, buffer)


def recorded(armature: Object, packets: list[bytes]) -> tuple[Floats, list[int]]:
    """Follow packets of VMC and key what was recorded. Returns what the last one showed, and the frames with keys."""
    followed = follow(armature, "vmc", packets)
    shown, buffer = rotations(armature), followed.buffer
    taken = LiveTake("Live", buffer.times, buffer.poses(), followed.rigs.rig_hands(), forearms=buffer.forearms())
    began = round(float(buffer.times[0]) * RATE)
    run_to_end(key_live(taken, bpy.context.scene, began + 1))
    return shown, list(range(began + 1, began + len(buffer) + 1))


def wait_until_measured(session: LiveSession) -> None:
    end = time.monotonic() + 20.0
    while any(hand.pending is not None and not hand.pending.done() for hand in session._hands.values()):
        assert time.monotonic() < end
        time.sleep(0.005)


def rotations(armature: Object, frames: list[int] | None = None) -> Floats:
    """(F, B, 3, 3) how the bones of arms and hands are rotated from their rest, in armature space."""
    found = []
    for frame in frames or [bpy.context.scene.frame_current]:
        if frames:
            bpy.context.scene.frame_set(frame)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found.append(
            [
                np.array((bone.matrix @ bone.bone.matrix_local.inverted()).to_3x3())
                for bone in posed.pose.bones
                if bone.name.startswith(("lowerarm", "wrist", "finger2-", "finger4-"))
            ]
        )
    return np.array(found)


def apart(one: Floats, other: Floats) -> Floats:
    """(F, B) degrees between rotations."""
    cosines = (np.einsum("fbij,fbij->fb", one, other) - 1) / 2
    return np.asarray(np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0))))


def copy_of(armature: Object) -> Object:
    """A copy at rest, without animation."""
    copied = armature.copy()
    copied.animation_data_clear()
    bpy.context.scene.collection.objects.link(copied)
    for bone in copied.pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()
    return copied


def baked(armature: Object, capture: str) -> int:
    """Solve a capture onto a character. Returns how many frames of the motion come before its first."""
    recipe = Recipe(capture, drive="wrist", smoothing="off")
    job = SolveJob(recipe, RigQuery.of(armature), reader=read_capture)
    run_to_end(job.steps())
    assert job.take is not None
    write_take(job.take, armature, bpy.context.scene, bpy.context.collection, TakeTiming())
    return round(float(job.take.times[0]) * RATE)


def raw_take(path: Path, device: str, packets: list[bytes]) -> str:
    content = [packet_bytes(Packet(number / RATE, packet)) for number, packet in enumerate(packets)]
    path.write_bytes(header_bytes(RawTakeHeader(device)) + b"".join(content))
    return str(path)


def test_live_is_what_its_raw_take_and_a_bvh_of_the_motion_are_baked_to(tmp_path: Path) -> None:
    performer = character()
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = int(RATE), 1.0
    avatars = [performed(max(0, number - MEASURED) / FRAMES) for number in range(MEASURED + FRAMES)]
    packets = [bundled([*said(avatar), message("/VMC/Ext/T", number / RATE)]) for number, avatar in enumerate(avatars)]
    live, raw, file = performer, copy_of(performer), copy_of(performer)
    shown, frames = recorded(live, packets)
    keyed = rotations(live, frames)
    assert apart(keyed[-1:], shown).max() < 0.1, "keys of what was seen"
    path = raw_take(tmp_path / "live.rawtake", "vmc", packets)
    first = baked(raw, path)
    solved = rotations(raw, [frame - first for frame in frames])
    assert apart(keyed, solved)[:, ARM].max() < 0.1 and apart(keyed, solved).max() < 1.0
    baked(raw, path)
    again = rotations(raw, [frame - first for frame in frames])
    assert apart(again, solved).max() < 0.1, "whatever twist the forearm had from the take before"
    write_bvh(tmp_path / "avatar.bvh", avatars, RATE)
    bpy.ops.import_anim.bvh(filepath=str(tmp_path / "avatar.bvh"), use_fps_scale=False)
    baked(file, f"armature:{bpy.context.object.name}")
    of_file = apart(keyed, rotations(file, frames))
    # The protocols send no fingertips, which the file has.
    assert of_file[:, ARM].max() < 0.1 and of_file.max() < 8.0
    of_armature = rotations(file, frames)
    baked(file, str(tmp_path / "avatar.bvh"))
    assert apart(of_armature, rotations(file, frames)).max() < 0.1, "the same file, read by Knuckle and by Blender"


def test_a_hand_is_shown_live_and_keyed_alike_however_the_character_twists_its_forearm_by_itself() -> None:
    armature, scene = character(), bpy.context.scene
    scene.render.fps, scene.render.fps_base = int(RATE), 1.0
    fore, bones = armature.pose.bones["lowerarm01.L"], armature.data.bones
    along = bones["lowerarm01.L"].matrix_local.inverted() @ bones["wrist.L"].head_local
    fore.rotation_mode = "QUATERNION"
    fore.rotation_quaternion = Quaternion(along, 0.6)
    fore.keyframe_insert("rotation_quaternion", frame=1)
    avatars = [performed(max(0, number - MEASURED) / FRAMES) for number in range(MEASURED + FRAMES)]
    packets = [bundled([*said(avatar), message("/VMC/Ext/T", number / RATE)]) for number, avatar in enumerate(avatars)]
    shown, frames = recorded(armature, packets)
    assert apart(rotations(armature, frames[-1:]), shown).max() < 0.1
    assert armature.animation_data.nla_tracks and is_take(armature.animation_data.action)
    again, frames = recorded(armature, packets)
    assert apart(again, shown).max() < 0.1, "the action plays in the NLA now, below a take that does not count"
    assert apart(rotations(armature, frames[-1:]), again).max() < 0.1
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    untwisted, _ = recorded(armature, packets)
    assert apart(untwisted, shown).max() < 0.1, "the captured pronation is the hand's, whatever twist it replaces"


def test_a_forearm_that_is_no_longer_sent_eases_out_and_comes_back_without_a_jump() -> None:
    armature = character()
    seconds = {"whole": 1.5, "without": 1.4, "back": 0.6}
    sent = [(what, number) for what, some in seconds.items() for number in range(round(some * RATE))]
    packets = [
        version_3(actor("", body(performed(0.7), arms=what != "without")), at=row / RATE)
        for row, (what, _) in enumerate(sent)
    ]
    shown: list[Floats] = []
    follow(armature, "rokoko", packets, then=lambda: shown.append(rotations(armature)))
    steps = [apart(one, other).max() for one, other in pairwise(shown[MEASURED:])]
    turned = apart(shown[MEASURED], shown[round(2.9 * RATE) - 1]).max()
    assert turned > 45.0, "as captured, since the character's arms are not where the performer's are"
    # 1.5 is the steepest slope of the smooth step by which it goes.
    assert max(steps) < 1.6 * turned / RATE / RETURN_SECONDS
    held = round((seconds["whole"] + HOLD_SECONDS) * RATE)
    assert max(steps[: held - MEASURED]) < 0.1
    assert apart(shown[-1], shown[MEASURED]).max() < 0.1, "it bends against the forearm again, and nothing adds up"
