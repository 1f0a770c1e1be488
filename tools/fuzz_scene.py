"""Runs random operators of Knuckle between hostile edits of the scene, and reports what raises anything but an error
message.

    python tools/fuzz_scene.py --seconds 3600             # or: make fuzz OF=scene FOR=3600
    python tools/fuzz_scene.py --seed 4711 [--number 12]  # the same runs again, or one of them

A run opens a rig or solves a capture, then STEPS times calls an operator with arguments at random, or does to the scene
what people, scripts and other add-ons do: deletes, renames, unlinks, edits bones, undoes, saves and loads. After each
step all panels are drawn on a layout that only notes. Reported with seed, number and steps are tracebacks, panels that
raise, operators that fail and leave data behind, a process that dies, and too much time or memory. Then the exit status
is 1.
"""

import contextlib
import io
import random
import shutil
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import bpy

import knuckle
from knuckle.cli.terminal import exit_at_once
from knuckle.hand.joints import SIDES
from knuckle.registration import definitions
from knuckle.tests.blender.making import rig
from knuckle.tests.blender.rigs import RIGS
from knuckle.tools.fuzzing import Fuzzing, Result, main
from knuckle.tools.panel_drawing import draw_panels
from knuckle.tools.scene_edits import EDITS, activate, capture, value_of

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "data" / "leap_finger_tap.json"
STEPS = 25
LEFT_ALONE = {"knuckle.live_start", "knuckle.hand_tool", "knuckle.pick_bone", "knuckle.drag_hand"}
"""Operators that need a device or a window."""
COUNTED = ("objects", "meshes", "armatures", "actions", "materials", "node_groups", "collections", "scenes")


@dataclass(slots=True)
class Run:
    """A run: its random numbers, and the function that logs its steps."""

    dice: random.Random
    tell: Callable[[str], None]

    def step(self) -> str:
        """Take one step; return a problem that follows, empty if there is none."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(errors):
            wrong = self._operator() if self.dice.random() < 0.5 else self._edit()
            wrong = wrong or draw_panels()
        return wrong or (errors.getvalue() if "Traceback" in errors.getvalue() else "")

    def _operator(self) -> str:
        names = [cls.bl_idname for cls in definitions("CLASSES") if issubclass(cls, bpy.types.Operator)]
        operators = {name: getattr(bpy.ops.knuckle, name.partition(".")[2]) for name in names if name not in LEFT_ALONE}
        name = self.dice.choice([name for name, operator in operators.items() if operator.poll()])
        operator, arguments = operators[name], self._arguments(operators[name])
        self.tell(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")
        before = counts()
        try:
            operator(**arguments)
        except RuntimeError as error:
            text = str(error).strip()
            if "Traceback" in text or text.count("\n") > 1:
                return text
            if counts() != before:
                return f"it failed ({text}) and left {counts()} of {before}"
        except (TypeError, OverflowError) as error:
            self.tell(f"it was not called: {error}")
        return ""

    def _arguments(self, operator: Any) -> dict[str, Any]:
        arguments = {}
        for prop in operator.get_rna_type().properties:
            if prop.identifier == "rna_type" or (self.dice.random() < 0.4 and prop.identifier != "filepath"):
                continue
            value = value_of(self.dice, prop)
            if value is not None:
                arguments[prop.identifier] = value
        return arguments

    def _edit(self) -> str:
        (edit,) = self.dice.choices(list(EDITS), list(EDITS.values()))
        self.tell(edit.__name__.strip("_"))
        try:
            edit(self.dice)
        except (RuntimeError, ReferenceError, IndexError, AttributeError, TypeError, ValueError) as error:
            # Blender refuses some edits in some modes.
            if any(_of_extension(Path(frame.filename)) for frame in traceback.extract_tb(error.__traceback__)):
                return traceback.format_exc()
            self.tell(f"it was refused: {str(error).strip()[:80]}")
        return ""


def _of_extension(file: Path) -> bool:
    """Return whether a file belongs to the extension, and not to these tools or an environment in the checkout."""
    return file.is_relative_to(ROOT) and file.relative_to(ROOT).parts[0] not in ("tools", "tests", ".venv")


def counts() -> dict[str, int]:
    """Return the number of data-blocks of each kind."""
    return {kind: len(getattr(bpy.data, kind)) for kind in COUNTED}


def begin(dice: random.Random) -> str:
    """Open an empty file, and add a hand of Knuckle's or a rig."""
    bpy.ops.wm.read_factory_settings(use_empty=dice.random() < 0.7)
    shutil.copy(CAPTURE, capture())
    kind = dice.choice(["hand", "solved", "rig", "own rig", "empty"])
    if kind == "hand":
        bpy.ops.knuckle.add_hand()
    elif kind == "solved":
        bpy.ops.knuckle.import_capture(filepath=capture())
        bpy.context.scene.knuckle.end = 30
        bpy.ops.knuckle.solve()
    elif kind == "rig":
        name = dice.choice(list(RIGS))
        armature, _ = RIGS[name]()
        activate(armature)
        return name
    elif kind == "own rig":
        activate(rig(dice.choice(SIDES), arm=dice.random() < 0.5))
    return kind


def try_scene(dice: random.Random, folder: Path, tell: Callable[[str], None]) -> Result:
    """Open a scene and take random steps."""
    tempfile.tempdir = str(folder)
    register()
    with contextlib.redirect_stdout(io.StringIO()):
        kind = begin(dice)
    tell(kind)
    run, wrong = Run(dice, tell), ""
    for _ in range(STEPS):
        wrong = run.step()
        if wrong:
            break
    return Result(wrong, kind)


@cache
def register() -> None:
    """Register the extension once per process."""
    knuckle.register()


FUZZING = Fuzzing(f"runs of {STEPS} steps", try_scene, batch=6, seconds=120, memory=8 * 2**30)

if __name__ == "__main__":
    exit_at_once(main(__file__, __doc__, FUZZING))
