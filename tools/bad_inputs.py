"""Writes docs/bad-inputs.md: what is said to each bad file that the tests make.

python tools/bad_inputs.py
"""

import tempfile
from pathlib import Path

from knuckle import captures
from knuckle.errors import CaptureError
from knuckle.tests.pure.captures.test_bad_input import BAD

ROOT = Path(__file__).resolve().parents[1]

HEAD = """# What is said to bad files

Made by `tools/bad_inputs.py` from the table in `tests/pure/captures/test_bad_input.py`, which the tests hold. Each file
is refused with one sentence, exit status 1 in a shell, a report in the panel; nothing is written. Beyond these, tests
mutate every format at random and bound the memory that a bad file can take by its size; `tests/pure/test_pipeline.py`,
`test_recipe.py`, `test_cli.py`, `hand/test_markersets.py`, `hand/test_calibration.py` and
`tests/blender/test_solve_command.py` hold the sentences for hands, maps, performers, recipes and rigs.

| File | What is said |
|---|---|
"""


def main() -> None:
    """Reads every bad file and writes the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make, _ in BAD:
            path = Path(folder) / name
            path.write_bytes(make())
            try:
                captures.read(path)
            except CaptureError as told:
                rows.append(f"| `{name}` | {str(told).replace('|', chr(92) + '|')} |")
    (ROOT / "docs" / "bad-inputs.md").write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(rows)} bad files")


if __name__ == "__main__":
    main()
