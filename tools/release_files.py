"""Writes the files of a release, which every later version must open: tests/data/releases/VERSION.

    .venv/3.11/bin/python tools/release_files.py      # the oldest Blender, so that all others open the .blend file

One of each kind that Knuckle writes and reads: docs/reference/files.md. tests/blender/test_releases.py opens them.
"""

import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

import bpy
import numpy as np

import knuckle
from knuckle.capture.devices.raw_take import Packet, RawTakeHeader, header_bytes, packet_bytes
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.quest import QuestSender
from knuckle.cli.main import main as run
from knuckle.tests.blender.making import rig
from knuckle.tests.pure.capture.devices.moments import moments

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "data" / "leap_finger_tap.json"
FRAMES, RATE = 24, 60.0
"""Number of frames, and frame rate in Hz, of the raw take."""


def version() -> str:
    """Return the manifest's version."""
    return str(tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))["version"])


def write_raw_take(path: Path) -> None:
    """Write the hands of `moments` as a headset sends them."""
    sender, began = QuestSender(Address()), "2026-01-01T00:00:00Z"
    packets = [Packet(moment.time, each) for moment in moments(FRAMES, RATE) for each in sender.packets(moment)]
    content = b"".join(map(packet_bytes, packets))
    path.write_bytes(header_bytes(RawTakeHeader("quest", "Closing", began)) + content)


def write_scene(folder: Path) -> None:
    """Write a solved take, a hand with a pin, a rig with corrections, and settings; the settings as a recipe, too."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.knuckle.import_capture(filepath=str(folder / CAPTURE.name))
    scene.knuckle.solver, scene.knuckle.end = "dynamical", 30
    bpy.ops.knuckle.load_performer(filepath=str(folder / "performer.json"))
    bpy.ops.knuckle.load_markers(filepath=str(folder / "markers.json"))
    bpy.ops.knuckle.solve()
    bpy.ops.knuckle.save_recipe(filepath=str(folder / "recipe.json"))
    bpy.ops.knuckle.add_hand(side="left", location=(0.5, 0.0, 0.0))
    bpy.context.active_object.name = "Pinned"
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.knuckle.pin_fingertip(side="left", digit="index-finger")
    bpy.ops.object.mode_set(mode="OBJECT")
    armature = rig("left", arm=True)
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", armature
    bpy.ops.knuckle.flip_digit(side="left", digit="index-finger")
    bpy.ops.knuckle.export_mapping(side="left", filepath=str(folder / "mapping.json"))
    live = scene.knuckle_live
    live.device, live.port = "quest", 4711
    row = live.takes.add()
    row.name, row.filepath, row.seconds = "Closing", "//closing.rawtake", FRAMES / RATE
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "scene.blend"), compress=True)


def main() -> None:
    """See above."""
    target = ROOT / "tests" / "data" / "releases" / version()
    knuckle.register()
    with tempfile.TemporaryDirectory(prefix="knuckle-") as name:
        folder = Path(name)
        # Not from the checkout, whose path would be in the files.
        capture = shutil.copy(CAPTURE, folder)
        write_raw_take(folder / "closing.rawtake")
        for command in (
            ["calibrate", capture, "--out", folder / "performer.json"],
            ["info", capture, "--save-markers", folder / "markers.json"],
            ["solve", capture, "--performer", folder / "performer.json", "--solver", "dynamical", "--end", 30,
             "--joints", folder / "joints.npz", "--out", folder / "o.blend"],
        ):  # fmt: skip
            if run(list(map(str, command))):
                sys.exit(f"release_files: {command[0]} failed")
        write_scene(folder)
        with np.load(folder / "joints.npz") as joints:
            positions = {name: values for name, values in joints.items() if name == "times" or "positions" in name}
        np.savez_compressed(folder / "joints.npz", **positions)
        target.mkdir(parents=True, exist_ok=True)
        for each in ("performer.json", "markers.json", "recipe.json", "mapping.json"):
            shutil.copy(folder / each, target)
        for each in ("closing.rawtake", "joints.npz", "scene.blend"):
            shutil.copy(folder / each, target)
    knuckle.unregister()
    print(f"release_files: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
