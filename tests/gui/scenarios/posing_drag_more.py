"""Knuckle's hands, an armature each, dragged beside what else there is: a pin and a surface, the other armature, keys,
another solver with the algebra shown; and what the header tells meanwhile.
"""

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

hands = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "hands.py")))
INDEX, THUMB = "index-finger-tip", "thumb-tip"


def play(screen: "Screen") -> "Steps":
    yield from screen.resize(1200, 800)
    reported: dict[str, Any] = {}
    yield from hands.opened(screen, "own", sides=("left", "right"))
    screen.window.view_layer.objects.active = hands.armature_of(screen, "right")
    yield from hands.look(screen)
    reported["header"] = yield from header(screen)
    reported["escape"] = yield from escaped(screen)
    reported["other"] = yield from other_armature(screen)
    reported["algebra"] = yield from by_algebra(screen)
    reported["surface"] = yield from to_a_surface(screen)
    return reported


class Noting:
    """A context whose area notes what its header is given, and gives it: Blender's own function cannot be replaced."""

    def __init__(self, context: bpy.types.Context, texts: list[str | None]) -> None:
        self.area, self.workspace, self.scene = self, context.workspace, context.scene
        self.shown, self.texts = context.area, texts

    def header_text_set(self, text: str | None) -> None:
        self.texts.append(text)
        self.shown.header_text_set(text)


@contextmanager
def header_texts() -> Iterator[list[str | None]]:
    """What the header is given meanwhile."""
    texts: list[str | None] = []
    dragging = hands.ours("operators.drag_hand").KNUCKLE_OT_drag_hand
    show, clear = dragging._show_texts, dragging._clear_texts
    dragging._show_texts = lambda operator, context: show(operator, Noting(context, texts))
    dragging._clear_texts = lambda operator, context: clear(operator, Noting(context, texts))
    yield texts
    dragging._show_texts, dragging._clear_texts = show, clear


def header(screen: "Screen") -> "Steps":
    """Of a tip, a joint, a knuckle and the palm; all are left by Esc."""
    reported: dict[str, Any] = {}
    for joint in (INDEX, "middle-finger-phalanx-intermediate", "middle-finger-phalanx-proximal", "wrist"):
        with header_texts() as texts:
            yield from hands.drag(
                screen, joint, (20, 30), left=True, meanwhile=lambda: screen.picture("drag_more_header")
            )
        reported[joint] = texts
    return reported


def curves(screen: "Screen") -> list[tuple[str, str, int, list[list[float]]]]:
    """Every key of the armatures in Pose Mode."""
    return [
        (armature.name, curve.data_path, curve.array_index, [list(key.co) for key in curve.keyframe_points])
        for armature in hands.posed(screen)
        for curve in hands.curves(armature)
    ]


def escaped(screen: "Screen") -> "Steps":
    """With auto-keying on: without a key before, and on another frame of a hand that has keys."""
    screen.scene.tool_settings.use_keyframe_insert_auto = True
    before = hands.channels(screen)
    yield from hands.drag(screen, INDEX, (28, 36), left=True)
    reported: dict[str, Any] = {"exact": [hands.channels(screen) == before], "keys": [curves(screen)]}
    yield from hands.drag(screen, INDEX, (20, 30))
    reported["keyed"] = curves(screen)
    screen.scene.frame_set(11)
    before = hands.channels(screen)
    yield from hands.drag(screen, INDEX, (30, 40), left=True)
    reported["exact"].append(hands.channels(screen) == before)
    reported["keys"].append(curves(screen))
    screen.scene.frame_set(1)
    yield from hands.undone(screen)  # else the index fingertip would lie over a joint of the ring finger
    return reported


def other_armature(screen: "Screen") -> "Steps":
    """The hand of the armature that is not the active one; auto-keying is still on."""
    yield from hands.look(screen, "thumb", "left")
    before, keys = hands.channels(screen), curves(screen)
    reported: dict[str, Any] = {"tip": (yield from hands.drag(screen, INDEX, (-25, 40), side="left"))}
    screen.picture("drag_more_other")
    after = hands.channels(screen)
    reported["own"] = hands.armature_of(screen, "left").name
    reported["active"] = screen.window.view_layer.objects.active.name
    reported["moved"] = sorted(
        {armature for armature, bone in after if after[armature, bone] != before[armature, bone]}
    )
    reported["keyed"] = sorted({key[0] for key in curves(screen) if key not in keys})
    yield from hands.undone(screen)
    reported["undone"] = hands.channels(screen) == before and curves(screen) == keys
    screen.scene.tool_settings.use_keyframe_insert_auto = False
    yield from hands.look(screen)
    return reported


def by_algebra(screen: "Screen") -> "Steps":
    """By the solver whose algebra is shown: what it is asked for is where the mouse has the tip."""
    before, shown = hands.channels(screen), bpy.context.window_manager.knuckle_algebra
    screen.scene.knuckle_posing.solver = "cga"
    shown.parts, shown.step, shown.show = {"index-finger"}, 0, True
    session = hands.ours("operators.session").SESSION
    reported: dict[str, Any] = {}

    def meanwhile() -> None:
        tip = hands.place(screen, INDEX)
        reported["asked"] = {digit: hands.apart(goal, tip) for digit, goal in session.drag_targets.tips.items()}
        reported["drawn"] = len(session.algebra_names)
        screen.picture("drag_more_algebra")

    with header_texts() as texts:
        reported |= yield from hands.drag(screen, INDEX, (25, 40), meanwhile=meanwhile)
    reported |= {"header": texts[-2], "after": session.drag_targets}
    yield from hands.undone(screen)
    reported["undone"] = hands.channels(screen) == before
    yield from hands.drag(screen, INDEX, (25, 40), left=True)
    reported["left as before"] = hands.channels(screen) == before
    shown.show = False
    screen.scene.knuckle_posing.solver = "nearest"
    return reported


def to_a_surface(screen: "Screen") -> "Steps":
    """With Ctrl onto a ball, while the thumb is pinned."""
    made = yield from hands.ball_under(screen, INDEX)
    yield from hands.pinned(screen, THUMB)
    thumb, pins = hands.place(screen, THUMB), hands.pins(screen)
    yield from hands.drag(screen, INDEX, made["onto"], held="ctrl")
    screen.picture("drag_more_surface")
    return {
        "gap": hands.gap(screen, made["ball"]),
        "held": hands.apart(hands.place(screen, THUMB), thumb),
        "pin stays": hands.pins(screen) == pins,
        "pins": [pin[:3] for pin in pins],
    }
