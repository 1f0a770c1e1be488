"""A live take of many minutes is stopped, twice: Escape leaves the first without keys, the second gets them."""

import runpy
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from collections.abc import Generator

    from knuckle.tests.gui.driver import Screen, Steps

PACKAGE = "bl_ext.user_default.knuckle"
RATE = 120.0
"""Hz"""
PERFORMER = "127.0.0.1"
strangers = runpy.run_path(str(Path(__file__).parent / "live_strangers.py"))


def play(screen: "Screen") -> "Steps":
    yield from screen.empty_scene_with_panel("KNUCKLE_PT_live")
    screen.scene.knuckle_live.folder = "/tmp/out/long takes"
    screen.scene.knuckle_live.device = "quest"
    screen.scene.knuckle_live.port = strangers["free_port"]()
    frames = round(float(screen.arguments[0]) * 60 * RATE)
    escaped = yield from recorded_and_stopped(screen, frames, "escape")
    whole = yield from recorded_and_stopped(screen, frames, "")
    return {"escaped": escaped, "whole": whole}


def recorded_and_stopped(screen: "Screen", frames: int, key: str) -> "Generator[float, None, dict[str, Any]]":
    """What is there after a long take, and for how many seconds of its processor time Blender's own thread let nothing
    else happen; the key is pressed meanwhile."""
    with screen.in_view():
        bpy.ops.knuckle.live_start()
    live = __import__(f"{PACKAGE}.operators.session", fromlist=["SESSION"]).SESSION.live
    for number in range(90):
        if number == 60:
            bpy.ops.knuckle.live_record()
        strangers["send"](PERFORMER, screen.scene.knuckle_live.port, number)
        yield 1 / 60
    buffer, poses = live.run.session.take, {shown.name: shown.pose for shown in live.run.displayed_hands}
    first = buffer.times[-1]
    for number in range(frames - len(buffer)):
        buffer.add(first + (number + 1) / RATE, poses)
    stop = yield from screen.button("knuckle.live_stop", across=0.25)
    ticks: list[float] = []

    def tick() -> float:
        ticks.append(time.thread_time())
        return 0.02

    bpy.app.timers.register(tick)
    status = bpy.context.window_manager.knuckle
    screen.click(*stop)
    yield from screen.wait_until(lambda: status.running, 30)
    fractions: list[float] = []
    while status.running:
        fractions.append(status.fraction)
        if status.fraction > 0.3:
            screen.picture(f"live_long_take{'_' if key else ''}{key}")
            if key:
                screen.key("Escape")
                key = ""
        yield 0.05
    yield 1.0
    bpy.app.timers.unregister(tick)
    longest = max(after - before for before, after in pairwise(ticks))
    actions = [action.name for action in bpy.data.actions]
    return {"fractions": fractions, "actions": actions, "stall": longest, "followed": live.run is not None}
