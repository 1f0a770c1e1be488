"""Feeds mutated captures to the shell command, and reports runs that end without a result or an error message.

    python tools/fuzz_files.py --seconds 3600             # or: make fuzz OF=files FOR=3600
    python tools/fuzz_files.py --seed 4711 [--number 12]  # the same files again, or one of them

The captures are small ones of every format, two closing hands in most of them. Bytes, numbers, cells, lines and values
of JSON are mutated; `info`, `solve` or `calibrate` is run. Reported with the seed, the number and the kept file are
tracebacks, any other exit status than 0 and 1, more than one sentence, too much time or memory, and results that are
not finite or not of a hand without a word about it. Then the exit status is 1.
"""

import contextlib
import io
import json
import random
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from knuckle.cli.main import main as knuckle
from knuckle.cli.terminal import exit_at_once
from knuckle.hand.joints import JOINTS
from knuckle.tests.pure.capture.devices.moments import moments
from knuckle.tests.pure.capture.files import samples
from knuckle.tools.fuzzing import Fuzzing, Result, main
from knuckle.tools.mutations import mutated

COUNTS = [1, 1, 2, 4, 16]
"""Numbers of mutations of a file, equally likely."""
EXTREME_CELLS = [
    "",
    "0",
    "-0",
    "nan",
    "inf",
    "-1e308",
    "1e-320",
    "1e9",
    "99999999999999999999",
    "x",
    '"',
    "1,5",
    "\x1b[2J",
    "é",
]
HAND_SIZE_MM, RATE = (100.0, 260.0), (1.0, 2000.0)
"""Plausible sizes of a hand and rates of a device. Anything outside them must be reported by a warning."""


@cache
def captures() -> dict[str, bytes]:
    """Return small captures of every format."""
    labelled = [f"{side}_{joint}" for side in ("left", "right") for joint in JOINTS]
    frames = moments(12)
    points = np.stack([np.concatenate([frame.hands[side][:, :3, 3] for side in ("left", "right")]) for frame in frames])
    cells = [",".join(f"{value:.4f}" for value in row.ravel()) for row in points]
    head = ",".join(f"{label}.{axis}" for label in labelled for axis in "xyz")
    lines = [f"time,{head}", *(f"{number / 60:.4f},{row}" for number, row in enumerate(cells))]
    hands = {
        "hands.csv": "\n".join(lines).encode(),
        "hands.c3d": samples.C3D(samples.c3d_points(points), labelled, rate=60.0).bytes(),
        "integers_of_hands.c3d": samples.C3D(
            samples.c3d_points(points), labelled, processor=86, scale=0.1, rate=60.0
        ).bytes(),
        "webxr_of_hands.json": samples.webxr(30),
    }
    return {name: make() for name, make in samples.ALL.items()} | hands


def mutate_cells(dice: random.Random, content: bytes) -> bytes:
    """Mutate a text's cells and lines."""
    text = content.decode("latin-1")
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.split(newline)
    for _ in range(dice.choice(COUNTS)):
        row = dice.randrange(len(lines))
        match dice.randrange(6):
            case 0:
                del lines[row]
                lines = lines or [""]
            case 1:
                lines.insert(dice.randrange(len(lines) + 1), lines[row])
            case 2:
                other = dice.randrange(len(lines))
                lines[row], lines[other] = lines[other], lines[row]
            case _:
                separator = max("\t,; ", key=lines[row].count)
                cells = lines[row].split(separator)
                column = dice.randrange(len(cells))
                cells[column : column + dice.choice([1, 1, 1, 0, 3])] = [dice.choice(EXTREME_CELLS)]
                lines[row] = separator.join(cells)
    return newline.join(lines).encode("latin-1", "replace")


def mutate_json(dice: random.Random, content: bytes) -> bytes:
    """Replace, delete or repeat values of a JSON document."""
    document = json.loads(content)
    for _ in range(dice.choice(COUNTS)):
        holder, key = document, None
        while isinstance(holder, (dict, list)) and holder:
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            key = dice.choice(keys)
            if not isinstance(holder[key], (dict, list)) or not holder[key] or dice.random() < 0.15:
                break
            holder = holder[key]
        if key is None:
            continue
        match dice.randrange(4):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, holder[key])
            case 2 if isinstance(holder[key], float):
                holder[key] *= dice.choice([-1.0, 1e3, 1e-3, 1e300, float("nan")])
            case _:
                holder[key] = dice.choice([None, True, "", [], {}, -1, 10**30, 1e308, "x" * 100_000, [[[]]], "\ud800"])
    return json.dumps(document).encode()


def mutate(dice: random.Random, name: str, content: bytes, others: list[bytes]) -> bytes:
    """Return a mutated capture."""
    if name.endswith(".json") and dice.random() < 0.6:
        return mutate_json(dice, content)
    if not name.endswith((".c3d", ".handpose", ".rawtake")) and dice.random() < 0.6:
        return mutate_cells(dice, content)
    return mutated(dice, content, others, COUNTS)


def command(dice: random.Random, capture: Path) -> list[str]:
    """Return a random command line for a capture; files are written beside it."""
    out = capture.parent
    choice = dice.random()
    if choice < 0.3:
        return ["info", str(capture), *dice.choice([[], ["--json"], ["--labels", "shape"]])]
    if choice < 0.4:
        return ["calibrate", str(capture), "--out", str(out / "performer.json")]
    written = ["--out", str(out / "o.blend"), "--joints", str(out / "j.npz"), "--report", str(out / "r.json")]
    extra = dice.choice([[], [], ["--smoothing", "whole"], ["--end", "5"], ["--solver", "cga"], ["--fps", "24"]])
    return ["solve", str(capture), *written, *extra]


def attempt(arguments: list[str], folder: Path) -> tuple[int, str]:
    """Return the exit status, and a problem with how the command ended, empty if there is none."""
    printed, errors = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
            status = knuckle(arguments)
    except Exception:
        return -1, traceback.format_exc()
    error_text, output = (read_back(stream) for stream in (errors, printed))
    if status == 1 and (
        error_text.count("\n") != 1 or not error_text.startswith("knuckle: ") or "suffice" in error_text
    ):
        return status, f"exit status 1 with {error_text!r}"
    if status == 1 and any(folder.glob("*.blend")):
        return status, "exit status 1, but a .blend file is there"
    if status not in (0, 1):
        return status, f"exit status {status}: {error_text!r}"
    return status, implausible(folder, output) if status == 0 and arguments[0] == "solve" else ""


def read_back(stream: io.TextIOWrapper) -> str:
    """Return the text that was written to a stream."""
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def implausible(folder: Path, output: str) -> str:
    """Return what is implausible in a result and was not reported."""
    report = json.loads((folder / "r.json").read_text())
    with np.load(folder / "j.npz") as joints:
        for name, values in joints.items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                return f"{name} is not finite"
    if "note" in output:
        return ""
    for side, hand in report["hands"].items():
        size = hand["hand_length_mm"]
        if not HAND_SIZE_MM[0] <= size <= HAND_SIZE_MM[1]:
            return f"a {side} hand of {size} mm without a note"
    if not RATE[0] <= report["rate"] <= RATE[1]:
        return f"{report['rate']} Hz without a note"
    return ""


def try_capture(dice: random.Random, folder: Path, tell: Callable[[str], None]) -> Result:
    """Mutate a capture, and run a command on it."""
    files = captures()
    name = dice.choice(list(files))
    capture = folder / name
    capture.write_bytes(mutate(dice, name, files[name], list(files.values())))
    arguments = command(dice, capture)
    tell(" ".join(arguments))
    status, wrong = attempt(arguments, folder)
    return Result(wrong, "done" if status == 0 else "refused")


FUZZING = Fuzzing("files", try_capture, batch=50, seconds=20, memory=6 * 2**30)
"""Blender's module takes 2 GiB of address space at the start."""

if __name__ == "__main__":
    exit_at_once(main(__file__, __doc__, FUZZING))
