"""Fingertips of three rigs are dragged straight at the palm, seen from the thumb's side, the back, the front and
between: how their joints bend."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
DIGITS = ("index-finger", "ring-finger")


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1000, 720)
    told: dict[str, Any] = {}
    for name in ("own", "makehuman", "rigify"):
        yield from hands.opened(screen, name)
        for eye in ("thumb", "back"):
            yield from hands.look(screen, eye)
            for digit in DIGITS:
                told[f"{name} {eye} {digit}"] = yield from at_the_palm(screen, f"{name}_{eye}", digit)
    return told


def at_the_palm(screen: "Screen", picture: str, digit: str) -> "Steps":
    """Drags a fingertip to the middle of the palm; degrees of its joints before and after, and pixels off."""
    tip = hands.on_screen(screen, hands.place(screen, f"{digit}-tip"))
    axes, knuckle = hands.frame(screen, "wrist"), hands.place(screen, f"{digit}-phalanx-proximal")
    inside = axes[:3, 3] + 0.62 * (knuckle - axes[:3, 3]) - 0.02 * axes[:3, 2]
    palm = hands.on_screen(screen, inside)
    before = bends(screen, digit)
    told: dict[str, Any] = yield from hands.drag(screen, f"{digit}-tip", (palm[0] - tip[0], palm[1] - tip[1]))
    told |= {"before": before, "after": bends(screen, digit)}
    screen.picture(f"curl_{picture}_{digit.partition('-')[0]}")
    yield from hands.undone(screen)
    return told


def bends(screen: "Screen", digit: str) -> list[float]:
    """Degrees of a finger's abduction, and of its knuckle's, middle and last joint's flexion."""
    held = hands.held_hand(screen)
    model = held.hand
    first, *others = hands.ours("hand.joints").CHAIN_JOINTS[digit][:3]
    named = [(first, "abduction"), (first, "flexion"), *((joint, "flexion") for joint in others)]
    own = list(zip(model.axis_joint.tolist(), model.movements, strict=True))
    angles = held.read().pose.angles[0]
    return [float(np.rad2deg(angles[own.index((model.joints.index(joint), movement))])) for joint, movement in named]
