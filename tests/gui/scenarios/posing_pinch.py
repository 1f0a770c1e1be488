"""A fingertip of three rigs is dragged to the thumb's tip on the screen, with Alt and without; then P over both."""

import runpy
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
INDEX, THUMB = "index-finger-tip", "thumb-tip"


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1000, 720)
    reported: dict[str, Any] = {}
    for name in ("own", "makehuman", "rigify"):
        yield from hands.opened(screen, name)
        opposed(screen)
        yield from hands.look(screen, "thumb")
        before = hands.channels(screen)
        rig = reported[name] = {"apart": (yield from pinched(screen, name, during="alt"))["apart"]}
        yield from hands.undone(screen)
        rig["pinched"] = yield from pinched(screen, name)
        screen.picture(f"pinch_{name}")
        yield from hands.look(screen, "front")
        screen.picture(f"pinch_{name}_front")
        yield from hands.look(screen, "thumb")
        rig["pins"] = yield from pinned_in_turn(screen)
        yield from hands.undone(screen)
        rig["undone"] = hands.channels(screen) == before
    return reported


def pinched(screen: "Screen", name: str, during: str = "") -> "Steps":
    """The index fingertip dragged to the thumb's; mm between the tips."""
    index, thumb = hands.spot(screen, INDEX), hands.spot(screen, THUMB)
    reported: dict[str, Any] = {}
    way = thumb[0] - index[0] + 3, thumb[1] - index[1] - 2
    reported |= yield from hands.drag(
        screen, INDEX, way, during=during, meanwhile=lambda: screen.picture(f"pinch_{name}_meanwhile{during}")
    )
    reported["apart"] = apart(screen)
    return reported


def apart(screen: "Screen") -> float:
    """mm between the tips."""
    return float(hands.apart(hands.place(screen, INDEX), hands.place(screen, THUMB)))


def opposed(screen: "Screen") -> None:
    """A relaxed hand whose thumb stands as in a pinch."""
    held, poses, joints = hands.held_hand(screen), hands.ours("hand.poses"), hands.ours("hand.joints")
    state, thumb = held.read(), [joints.JOINT_INDEX[joint] for joint in joints.CHAIN_JOINTS["thumb"]]
    relaxed, pinch = (poses.angles(held.hand, name) for name in ("relaxed", "pinch"))
    angles = np.where(np.isin(held.hand.axis_joint, thumb), pinch, relaxed)
    pose = hands.ours("hand.kinematics").Pose(held.hand, state.pose.root, angles[None])
    held.write(hands.ours("rig.posing.rig_hand").HandState(pose, state.beyond))
    with screen.in_view():
        bpy.ops.ed.undo_push(message="Opposed")


def pinned_in_turn(screen: "Screen") -> Generator[float, None, list[list[str]]]:
    """P four times over the tips that pinch; the pinned digits after each."""
    reported = []
    screen.move(*hands.spot(screen, INDEX))
    yield 0.2
    for _ in range(4):
        before = hands.pins(screen)
        screen.key("p")
        yield from screen.wait_until(lambda before=before: hands.pins(screen) != before)
        reported.append(sorted(pin[1] for pin in hands.pins(screen)))
    for _ in range(4):
        yield from hands.undone(screen)
    return reported
