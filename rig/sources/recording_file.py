"""Exchange a recording between two processes of Blender by a file of arrays and texts, without executable content."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ...capture.recording import Recording
from ...errors import CaptureError

ARRAYS = ("positions", "rotations", "times")
TEXTS = ("format", "names", "rate", "unit", "up", "up_is_defined", "warnings")


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording."""
    texts = {name: getattr(recording, name) for name in TEXTS}
    arrays: dict[str, Any] = {name: getattr(recording, name) for name in ARRAYS}
    with path.open("wb") as file:
        np.savez(file, texts=np.array(json.dumps(texts)), **arrays)


def write_problem(path: Path, sentence: str) -> None:
    """Write the sentence that says why there is no recording."""
    with path.open("wb") as file:
        np.savez(file, problem=np.array(sentence))


def read_recording(path: Path) -> Recording:
    """Read a recording. Raises CaptureError with the problem if one was written instead."""
    with np.load(path, allow_pickle=False) as content:
        if "problem" in content:
            raise CaptureError(str(content["problem"]))
        texts = json.loads(str(content["texts"]))
        values: dict[str, Any] = texts | {name: tuple(texts[name]) for name in ("names", "warnings")}
        return Recording(**values, **{name: content[name] for name in ARRAYS})
