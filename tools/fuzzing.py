"""Main loop of the fuzz tools whose runs may end their process: by memory, time or a crash.

A run is reproducible from its seed and number. Batches of runs are tried in a process each; its standard output has a
line of JSON for whatever a run does, before it is done, and one for how the run ended.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from knuckle.cli.terminal import exit_at_once

FOUND = Path(__file__).resolve().parents[1] / "build" / "fuzz"
"""Where the files of runs that found something are kept."""


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a run."""

    wrong: str
    """A problem that was found; empty if none was."""
    outcome: str
    """Name under which the run is counted."""


@dataclass(frozen=True, slots=True)
class Fuzzing:
    """A target of fuzzing, and its limits."""

    runs: str
    """Name of the runs."""
    attempt: Callable[[random.Random, Path, Callable[[str], None]], Result]
    """Runs once with the given random numbers, in an empty folder; logs each step before it is taken."""
    batch: int
    """Number of runs in a process."""
    seconds: int
    """Maximum s of processor time of a run."""
    memory: int
    """Maximum bytes of address space of the process."""


@dataclass(slots=True)
class Tally:
    """Results of the runs."""

    tried: int = 0
    found: int = 0
    slowest: float = 0.0
    """s, maximum processor time of a run."""
    outcomes: Counter[str] = field(default_factory=Counter)

    def summary(self, runs: str, seed: int) -> str:
        """Return the final line of output."""
        counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(self.outcomes.items()))
        return (
            f"fuzz: {self.tried} {runs} with seed {seed}: {counts}, {self.found} found something; "
            f"{self.slowest:.1f} s the longest"
        )


def main(tool: str, about: str, fuzzing: Fuzzing) -> int:
    """Try runs for the time on the command line. tool: the script. Returns 1 if a run found something."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=random.randrange(2**31))
    parser.add_argument("--number", type=int)
    parser.add_argument("--numbers", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.numbers:
        _work(fuzzing, arguments.seed, range(*arguments.numbers), sys.stdout)
        exit_at_once(0)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    tally, end, first = Tally(), time.monotonic() + arguments.seconds, arguments.number or 0
    size = fuzzing.batch if arguments.number is None else 1
    try:
        while not tally.tried or time.monotonic() < end:
            # A run that ended the process is not tried again.
            start = first + tally.tried
            _try_batch(tool, arguments.seed, range(start, start + size), tally)
    except KeyboardInterrupt:
        print("fuzz: the last batch was interrupted")
    print(tally.summary(fuzzing.runs, arguments.seed))
    return 1 if tally.found else 0


def _work(fuzzing: Fuzzing, seed: int, numbers: range, log: TextIO) -> None:
    """Try runs; prints lines of JSON. A run that is over its processor time is killed."""
    resource.setrlimit(resource.RLIMIT_AS, (fuzzing.memory, fuzzing.memory))
    scratch = Path(tempfile.gettempdir())
    for number in numbers:
        folder = _folder(scratch, number)
        folder.mkdir()
        started = time.process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (int(started) + fuzzing.seconds, resource.RLIM_INFINITY))

        def tell(what: str, number: int = number) -> None:
            print(json.dumps([number, what]), file=log, flush=True)

        result = fuzzing.attempt(random.Random(f"{seed} {number}"), folder, tell)
        spent = time.process_time() - started
        print(json.dumps([number, result.wrong, result.outcome, spent]), file=log, flush=True)
        if not result.wrong:
            shutil.rmtree(folder)


def _folder(scratch: Path, number: int) -> Path:
    return scratch / f"run-{number}"


def _try_batch(tool: str, seed: int, numbers: range, tally: Tally) -> None:
    """Try runs in a separate process, and keep the files of those that find something."""
    command = [sys.executable, tool, "--seed", str(seed), "--numbers", str(numbers.start), str(numbers.stop)]
    with tempfile.TemporaryDirectory(prefix="knuckle-fuzz-") as scratch:
        # What is saved for the user, such as poses and presets, must not be visible to other runs.
        environment = os.environ | {"TMPDIR": scratch, "BLENDER_USER_RESOURCES": f"{scratch}/user"}
        process = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
        lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("[")]
        steps = {number: [line[1] for line in lines if line[0] == number and len(line) == 2] for number in numbers}
        ended = [line for line in lines if len(line) > 2]
        if process.returncode:
            wrong = f"exit status {process.returncode} of the process: {process.stderr[-3000:]}"
            ended.append([numbers.start + len(ended), wrong, "ended the process", 0.0])
        for number, wrong, outcome, spent in ended:
            tally.tried += 1
            tally.outcomes[outcome] += 1
            tally.slowest = max(tally.slowest, spent)
            if wrong:
                tally.found += 1
                print(f"seed {seed}, number {number}: {'; '.join(steps.get(number, []))}\n{wrong}", flush=True)
                _keep(_folder(Path(scratch), number), FOUND / f"{seed}_{number}")


def _keep(folder: Path, target: Path) -> None:
    if folder.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        shutil.move(folder, target)
        print(f"  kept in {target}", flush=True)
