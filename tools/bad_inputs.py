"""Writes docs/reference/bad-inputs.md: the error message for each bad file and each bad rig of the tests.

.venv/3.13/bin/python tools/bad_inputs.py
"""

import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path

import bpy

from knuckle import capture
from knuckle.cli.commands import DEMO_CAPTURE
from knuckle.cli.main import main as knuckle
from knuckle.errors import CaptureError
from knuckle.rig.blend_file import suppressed_output
from knuckle.tests.blender.bad_rigs import BAD as BAD_RIGS
from knuckle.tests.pure.capture.files.test_bad_input import BAD

ROOT = Path(__file__).resolve().parents[1]

HEAD = """# Error messages

What Knuckle says about bad files and rigs. Each is refused with one sentence: in the panel, or on stderr with exit
status 1. Nothing is written. `tools/bad_inputs.py` makes this page from the tables of the tests
(`tests/pure/capture/files/test_bad_input.py`, `tests/blender/bad_rigs.py`). Other tests mutate every format at random
and bound the memory that a bad file can take.

## Files

| File | Message |
|---|---|
"""


RIGS = """
## Rigs

Armatures that cannot be keyed. In a shell the sentence begins with the file's path.

| Rig | Message |
|---|---|
"""


def main() -> None:
    """Read every bad file, solve onto every bad rig, and write the tables."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make, _ in BAD:
            path = Path(folder) / name
            path.write_bytes(make())
            try:
                capture.read(path)
            except CaptureError as error:
                rows.append(f"| `{name}` | {cell(str(error))} |")
        rigs = [f"| {name} | {cell(rig_message(Path(folder), make, options))} |" for name, make, options, _ in BAD_RIGS]
    text = HEAD + "\n".join(rows) + "\n" + RIGS + "\n".join(rigs) + "\n"
    (ROOT / "docs" / "reference" / "bad-inputs.md").write_text(text, encoding="utf-8")
    print(f"{len(rows)} bad files, {len(rigs)} bad rigs")


def cell(text: str) -> str:
    """Escape a text for a table cell."""
    return text.replace("|", chr(92) + "|")


def rig_message(folder: Path, make: Callable[[], object], options: tuple[str, ...]) -> str:
    """Return the message of `knuckle solve` about a rig, without its leading path."""
    file, written = folder / "rig.blend", io.BytesIO()
    with suppressed_output():
        bpy.ops.wm.read_factory_settings(use_empty=True)
        make()
        bpy.ops.wm.save_as_mainfile(filepath=str(file))
    # The command calls reconfigure() on its streams, which StringIO lacks.
    with io.TextIOWrapper(written, "utf-8", write_through=True) as messages, contextlib.redirect_stderr(messages):
        knuckle(
            ["solve", str(DEMO_CAPTURE), "--rig", str(file), "--out", str(folder / "out.blend"), "--end", "5", *options]
        )
        return written.getvalue().decode().strip().removeprefix("knuckle: ").removeprefix(f"{file}: ")


if __name__ == "__main__":
    main()
