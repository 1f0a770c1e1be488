"""Fingertips of three rigs are dragged straight at the palm, seen from the side, the top, the front and between: how
their joints bend."""

import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
EYES = ("side", "top", "front", "back")
DIGITS = ("index-finger", "middle-finger", "ring-finger", "pinky-finger")


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1000, 720)
    reported: dict[str, Any] = {}
    for name in ("own", "makehuman", "rigify"):
        yield from hands.opened(screen, name)
        for eye, one in zip(EYES, DIGITS, strict=True):
            yield from hands.look(screen, eye)
            # Each finger and each view on every rig; all of both, which takes minutes, on Knuckle's own hand if asked.
            for digit in DIGITS if (name, *screen.arguments) == ("own", "all") else (one,):
                reported[f"{name} {eye} {digit}"] = yield from at_the_palm(screen, f"{name}_{eye}", digit)
    return reported


def at_the_palm(screen: "Screen", picture: str, digit: str) -> "Steps":
    """Drags a fingertip to the middle of the palm; degrees of its joints before and after, and pixels off."""
    tip = hands.on_screen(screen, hands.place(screen, f"{digit}-tip"))
    axes = hands.frame(screen, "wrist")
    knuckle = hands.place(screen, f"{digit}-phalanx-proximal")
    out = hands.place(screen, "middle-finger-phalanx-proximal") - axes[:3, 3]
    palm = hands.on_screen(
        screen, axes[:3, 3] + 0.7 * (knuckle - axes[:3, 3]) - 0.22 * (out @ out) ** 0.5 * axes[:3, 2]
    )
    before = bends(screen, digit)
    reported: dict[str, Any] = yield from hands.drag(screen, f"{digit}-tip", (palm[0] - tip[0], palm[1] - tip[1]))
    reported |= {"before": before, "after": bends(screen, digit), "limits": hands.outside(screen)}
    if digit in ("index-finger", "pinky-finger"):
        screen.picture(f"curl_{picture}_{digit.partition('-')[0]}")
    yield from hands.undone(screen)
    return reported


def bends(screen: "Screen", digit: str) -> dict[str, float]:
    """Degrees of a digit's angles by joint and movement."""
    held = hands.held_hand(screen)
    model, angles = held.hand, held.read().pose.angles[0]
    chain = hands.ours("hand.joints").CHAIN_JOINTS[digit][:3]
    return {
        f"{number} {movement}": 57.29578 * float(angles[model.dof(joint, movement)])
        for number, joint in enumerate(chain)
        for movement in ("abduction", "flexion")
        if model.dof(joint, movement) is not None
    }
