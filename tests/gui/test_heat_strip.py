"""Heat strips of long takes: they scroll and zoom as the editor does."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import bpy
import numpy as np

import knuckle
from knuckle.pipeline.evidence.evidence import MEASURE_INDEX, Evidence, HandEvidence
from knuckle.rig.default_hand import add_hand
from knuckle.rig.keys.take_report import store_report
from knuckle.tests.blender import making
from knuckle.tests.gui.conftest import OUT

FRAMES = 100_000
MAX_MS = 5.0
"""ms that the handler may take in the middle, of 16 ms that a frame of a screen lasts."""
FEW_MS = 50.0
"""ms that it may take at a time: a tile is made where the view comes to it first."""


def long_take() -> None:
    """Save a file with a take of both hands that has many problems all along: strips have bars everywhere."""
    short, rng = making.take(), np.random.default_rng(1)
    times, evidence = np.arange(FRAMES) / 60.0, []
    for hand in short.evidence.hands:
        values = np.zeros((FRAMES, *hand.values.shape[1:]), np.float32)
        # Errors that come and go within some frames, and stretches that no marker determines.
        values[..., MEASURE_INDEX["tip_error"]] = 12.0 * rng.random(values.shape[:2]) ** 4 * (rng.random(6) + 0.5)
        unseen = np.repeat(rng.random((FRAMES // 20, values.shape[1])) > 0.9, 20, axis=0)
        values[..., MEASURE_INDEX["predicted"]] = unseen
        evidence.append(HandEvidence(hand.side, values))
    take = replace(short, times=times, evidence=Evidence(times, tuple(evidence)))
    bpy.ops.wm.read_homefile(use_empty=True)
    armature = add_hand(short.hands[0].proportions, "Hand", bpy.context.scene.collection)
    armature.rotation_euler.x = 0.0
    for frame in (1.0, float(FRAMES)):
        armature.keyframe_insert("rotation_euler", frame=frame)
    frames = 1.0 + np.arange(FRAMES, dtype=float)
    store_report(armature.animation_data.action, take.report, take, frames)
    bpy.context.view_layer.objects.active = armature
    OUT.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(OUT / "heat_strip.blend"))


def test_strips_of_100_000_frames_are_drawn_within_milliseconds(play: Callable[[str], dict[str, Any]]) -> None:
    knuckle.register()
    try:
        long_take()
    finally:
        knuckle.unregister()
    seen = play("heat_strip")
    assert seen["rows"] == 12
    for name, move in seen["moves"].items():
        handler, redraw = (1000 * np.array(move[key]) for key in ("handler", "redraw"))
        print(f"{name}: handler {handler.mean():.2f}, at most {handler.max():.1f} ms; redraw {redraw.mean():.1f} ms")
    print(f"opened: {[round(1000 * each, 1) for each in seen['opened']['handler']]} ms")
    for name in ("zoom in", "scroll", "zoom out"):
        handler = 1000 * np.array(seen["moves"][f"{name}, with"]["handler"])
        assert len(handler) >= 30 and handler.mean() < MAX_MS and handler.max() < FEW_MS, name
