"""Meta's marker tracker as a method: its `calibrate_markers` and `process_markers` on Knuckle's mean hand.

The hand has 6 parameters of its root, 26 angles with Knuckle's limits and 24 lengths along the bones; a locator of each
label starts 1 cm above the bone that wears it, on which it stays. Needs an environment with pymomentum-core:

    python -m venv build/momentum && build/momentum/bin/pip install pymomentum-core
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from skin_methods import Fitted, Solved
from skin_paints import PAINTS
from skin_takes import ROOT, Clip

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, JOINTS
from knuckle.hand.limits import DIP_PER_PIP
from knuckle.hand.proportions import adult, build
from knuckle.hand.rotations import from_matrix, to_matrix

PYTHON = ROOT / "build" / "momentum" / "bin" / "python"
INITIAL_HEIGHT = 0.01
"""m, initial distance of a marker above its bone."""
FRAMES = 300
"""Number of frames for calibration, spread evenly over all takes."""


@dataclass(frozen=True, slots=True)
class Momentum:
    """Meta's marker tracker, in a process that is started on first use."""

    name: str = "pymomentum, Knuckle's mean hand"
    _worker: "list[subprocess.Popen[str]]" = field(default_factory=list)

    def fit(self, takes: Sequence[Clip]) -> Fitted:
        """See Method."""
        joined = np.concatenate([take.positions for take in takes])
        sample = joined[:: max(1, len(joined) // FRAMES)][:FRAMES]
        data = {**_hand(takes[0]), "positions": sample}
        key = takes[0].name
        return Fitted(key, float(self._ask("fit", key, data)["seconds"]))

    def solve(self, clip: Clip, fitted: Fitted, complete: Clip) -> Solved:
        """See Method."""
        hand = _hand(complete)
        positions = np.full((len(clip), len(complete.labels), 3), np.nan)
        positions[:, [complete.column(label) for label in clip.labels]] = clip.positions
        answer = self._ask("solve", fitted.performer, {**hand, "positions": positions})
        frames = np.tile(np.eye(4), (len(clip), len(JOINTS), 1, 1))
        frames[..., :3, :3] = to_matrix(answer["turns"][..., [3, 0, 1, 2]].astype(float))
        frames[..., :3, 3] = answer["places"]
        angles = answer["angles"].astype(float)
        return Solved(complete.labels, answer["carried"], frames, angles, hand["limits"], float(answer["seconds"]))

    def _ask(self, do: str, key: str, data: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        if not self._worker:
            script = Path(__file__).with_name("skin_momentum_worker.py")
            self._worker.append(
                subprocess.Popen(
                    [PYTHON, script],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, **_preloaded()},
                )
            )
        worker = self._worker[0]
        assert worker.stdin and worker.stderr
        with tempfile.TemporaryDirectory() as folder:
            given, answer = Path(folder) / "in.npz", Path(folder) / "out.npz"
            np.savez(given, **data)
            print(
                json.dumps({"do": do, "in": str(given), "out": str(answer), "hand": key}), file=worker.stdin, flush=True
            )
            output = []
            while (line := worker.stderr.readline()) != "done\n":
                output.append(line)
                if not line:
                    raise SystemExit("pymomentum: " + "".join(output))
            with np.load(answer) as stored:
                return dict(stored)


def _preloaded() -> dict[str, str]:
    """Return the environment variables that preload the wheel's C++ library; beside the system's, its progress bar
    crashes."""
    libraries = PYTHON.parents[1].glob("lib/python3*/site-packages/pymomentum*.libs/libstdc++*")
    return {"LD_PRELOAD": ":".join(map(str, libraries))}


def _hand(clip: Clip) -> dict[str, Any]:
    """Return Knuckle's mean hand as arrays, with the clip's markers above their bones."""
    hand = build(adult("left" if clip.side == "left" else "right"))
    paint_of_label = {paint.label: paint for paint in PAINTS}
    offsets = []
    for label in clip.labels:
        paint = paint_of_label[label]
        length = np.linalg.norm(hand.rest[JOINT_INDEX[paint.joint] + 1, :3, 3])
        offsets.append([0.0, paint.along * length, INITIAL_HEIGHT])
    return {
        "joints": np.array(hand.joints),
        "parents": np.array(hand.parents),
        "shifts": hand.rest[:, :3, 3],
        "rotations": from_matrix(hand.rest[:, :3, :3])[:, [1, 2, 3, 0]],
        "axis_joint": hand.axis_joint,
        "axes": hand.axes,
        "limits": hand.limits,
        "rho": np.array(DIP_PER_PIP),
        "coupled": np.array(
            [[hand.dof(joint, "flexion") for joint in CHAIN_JOINTS[digit][1:3]] for digit in DIGITS[1:]]
        ),
        "lengths": np.arange(1, len(hand.joints)),
        "labels": np.array(clip.labels),
        "spots": np.array([JOINT_INDEX[paint_of_label[label].joint] for label in clip.labels]),
        "offsets": np.array(offsets),
    }
