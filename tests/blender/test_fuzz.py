"""A short run of the fuzz tools, the same in every run; `make fuzz OF=files` and `OF=scene` try others."""

import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"


def assert_finds_nothing(tool: str) -> None:
    command = [sys.executable, str(TOOLS / tool), "--seed", "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0 and "0 found something" in done.stdout, done.stdout + done.stderr


def test_damaged_captures_end_in_a_result_or_a_sentence() -> None:
    assert_finds_nothing("fuzz_files.py")


def test_operators_between_random_edits_end_in_a_result_or_a_sentence() -> None:
    assert_finds_nothing("fuzz_scene.py")
