"""tools/fuzzing.py on runs of its own: what is wrong is found and kept, also where it ends the process."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = """
import os, sys
from pathlib import Path
from knuckle.tools import fuzzing
fuzzing.FOUND = Path(os.environ["KEPT"])

def attempt(dice, folder, tell):
    (folder / "dice").write_text(str(dice.random()))
    number = int(folder.name.partition("-")[2])
    tell(f"step of {number}")
    if number == 2:
        os._exit(9)
    while number == 4:
        pass
    memory = bytearray(2**40) if number == 6 else b""
    return fuzzing.Result("it is odd" if number == 3 else "", "odd" if number % 2 else "even")

sys.exit(fuzzing.main(__file__, "", fuzzing.Fuzzing("runs", attempt, batch=3, seconds=1, memory=2**32)))
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "tool.py").write_text(TOOL)
    environment = os.environ | {"KEPT": str(folder / "kept"), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(folder / "tool.py"), "--seed", "7", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (2, "exit status 9 of the process"),
        (3, "it is odd"),
        (4, "exit status -24 of the process"),
        (6, "MemoryError"),
    ],
)
def test_what_is_wrong_is_found_and_its_files_are_kept(tmp_path: Path, number: int, said: str) -> None:
    done = run(tmp_path, "--number", str(number))
    assert done.returncode == 1 and "1 found something" in done.stdout
    assert f"seed 7, number {number}: step of {number}\n" in done.stdout and said in done.stdout
    kept = tmp_path / "kept" / f"7_{number}" / "dice"
    assert kept.read_text() == str(random.Random(f"7 {number}").random()), "a seed and a number repeat a run"


def test_what_is_right_is_counted_and_nothing_is_kept(tmp_path: Path) -> None:
    done = run(tmp_path, "--number", "1")
    assert done.returncode == 0 and "fuzz: 1 runs with seed 7: 1 odd, 0 found something" in done.stdout
    assert not (tmp_path / "kept").exists()


def test_a_run_that_ends_the_process_is_not_tried_again(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert "fuzz: 3 runs with seed 7: 1 ended the process, 1 even, 1 odd, 1 found something" in done.stdout
