"""Runs random operators of Knuckle between hostile edits of the scene, and reports what ends in more than a sentence.

    python tools/fuzz_scene.py --seconds 3600             # or: make fuzz OF=scene FOR=3600
    python tools/fuzz_scene.py --seed 4711 [--number 12]  # the same runs again, or one of them

A run opens a rig or solves a capture, then STEPS times calls an operator with arguments at random, or does to the scene
what people, scripts and other add-ons do: deletes, renames, unlinks, edits bones, undoes, saves and loads. After each
step all panels are drawn on a layout that only notes. Reported with seed, number and steps are tracebacks, panels that
raise, operators that fail and leave data behind, a process that dies, and over SECONDS or MEMORY. Then the exit status
is 1.
"""

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import bpy

import knuckle
from knuckle.hand.joints import SIDES
from knuckle.registration import defined
from knuckle.tests.blender.making import rig
from knuckle.tests.blender.rigs import RIGS
from knuckle.tools.panel_drawing import draw_panels
from knuckle.tools.scene_edits import EDITS, activate, capture, value_of

ROOT = Path(__file__).resolve().parents[1]
CAPTURE = ROOT / "data" / "leap_finger_tap.json"
STEPS = 25
BATCH = 6
"""Runs of one process."""
SECONDS = 120
"""Processor time of a run."""
MEMORY = 8 * 2**30
"""Bytes of address space of the process."""
LEFT_ALONE = {"knuckle.live_start", "knuckle.hand_tool", "knuckle.pick_bone", "knuckle.drag_hand"}
"""Operators that need a device or a window."""
COUNTED = ("objects", "meshes", "armatures", "actions", "materials", "node_groups", "collections", "scenes")


@dataclass(slots=True)
class Run:
    """A run: its dice, and what was done."""

    dice: random.Random
    done: list[str] = field(default_factory=list)

    def step(self) -> str:
        """Do one thing; returns what is wrong afterwards, empty if nothing."""
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(errors):
            wrong = self._operator() if self.dice.random() < 0.5 else self._edit()
            wrong = wrong or draw_panels()
        return wrong or (errors.getvalue() if "Traceback" in errors.getvalue() else "")

    def _operator(self) -> str:
        names = [one.bl_idname for one in defined("CLASSES") if issubclass(one, bpy.types.Operator)]
        operators = {name: getattr(bpy.ops.knuckle, name.partition(".")[2]) for name in names if name not in LEFT_ALONE}
        name = self.dice.choice([name for name, operator in operators.items() if operator.poll()])
        operator, arguments = operators[name], self._arguments(operators[name])
        self.done.append(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")
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
            self.done[-1] += f" was not called: {error}"
        return ""

    def _arguments(self, operator: Any) -> dict[str, Any]:
        arguments = {}
        for each in operator.get_rna_type().properties:
            if each.identifier == "rna_type" or (self.dice.random() < 0.4 and each.identifier != "filepath"):
                continue
            value = value_of(self.dice, each)
            if value is not None:
                arguments[each.identifier] = value
        return arguments

    def _edit(self) -> str:
        (edit,) = self.dice.choices(list(EDITS), list(EDITS.values()))
        self.done.append(edit.__name__.strip("_"))
        try:
            edit(self.dice)
        except (RuntimeError, ReferenceError, IndexError, AttributeError, TypeError, ValueError) as error:
            # Blender refuses some edits in some modes.
            if any(
                "knuckle" in frame.filename and "tools" not in frame.filename
                for frame in traceback.extract_tb(error.__traceback__)
            ):
                return traceback.format_exc()
            self.done[-1] += f" was refused: {str(error).strip()[:80]}"
        return ""


def counts() -> dict[str, int]:
    """How many data-blocks of each kind there are."""
    return {kind: len(getattr(bpy.data, kind)) for kind in COUNTED}


def begin(dice: random.Random) -> str:
    """Open an empty file with something of Knuckle's, or a rig."""
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


def work(seed: int, numbers: range) -> None:
    """Try runs; prints lines of JSON."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    results = sys.stdout
    tempfile.tempdir = tempfile.mkdtemp(prefix="knuckle-fuzz-")
    knuckle.register()
    for number in numbers:
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SECONDS, resource.RLIM_INFINITY))
        dice = random.Random(f"{seed} {number}")
        with contextlib.redirect_stdout(io.StringIO()):
            kind = begin(dice)
        run, wrong = Run(dice, [kind]), ""
        for _ in range(STEPS):
            wrong = run.step()
            print(json.dumps([number, run.done[-1]]), file=results, flush=True)
            if wrong:
                break
        print(json.dumps([number, "", run.done, wrong]), file=results, flush=True)
    knuckle.unregister()


def run_batch(seed: int, numbers: range) -> tuple[int, int]:
    """Try runs in a process of their own; returns how many were tried, and how many found something."""
    tool = [sys.executable, __file__, "--seed", str(seed), "--numbers", str(numbers.start), str(numbers.stop)]
    # Operators that save poses and presets find an empty folder instead of the user's.
    with tempfile.TemporaryDirectory(prefix="knuckle-fuzz-user-") as user:
        environment = os.environ | {"BLENDER_USER_RESOURCES": user}
        done = subprocess.run(tool, check=False, capture_output=True, text=True, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    ended = [line for line in lines if line[1] == ""]
    found = 0
    for number, _, steps, wrong in ended:
        if wrong:
            found += 1
            print(f"seed {seed}, number {number}: {'; '.join(steps)}\n{wrong}", flush=True)
    tried = len(ended)
    if done.returncode:
        number = numbers.start + tried
        steps = [line[1] for line in lines if line[0] == number]
        print(f"seed {seed}, number {number}: exit status {done.returncode} after {'; '.join(steps)}", flush=True)
        print(done.stderr[-3000:], flush=True)
        tried, found = tried + 1, found + 1
    return tried, found


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--number", type=int)
    parser.add_argument("--numbers", type=int, nargs=2, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.numbers:
        work(chosen.seed, range(*chosen.numbers))
        sys.stdout.flush()
        os._exit(0)  # Blender 4.5 may wait for a thread of its own for ever as it ends
    end, tried, found, first = time.monotonic() + chosen.seconds, 0, 0, chosen.number or 0
    while not tried or time.monotonic() < end:
        start = first + tried
        counts = run_batch(chosen.seed, range(start, start + (1 if chosen.number is not None else BATCH)))
        tried, found = tried + counts[0], found + counts[1]
    print(f"fuzz: {tried} runs of {STEPS} steps with seed {chosen.seed}, {found} found something")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
