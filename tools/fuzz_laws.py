"""Try random examples of every law for a given time, print how to reproduce each failure, and continue.

    python tools/fuzz_laws.py --seconds 3600 [TESTS ...]        # or: make fuzz FOR=3600 ARGS=tests/pure/solvers
    python tools/fuzz_laws.py --seed 4711 TESTS ...             # the same examples again

Files are tried one after the other in random order, again and again. A file that the end of the time cuts off counts
as found only if a test had failed by then. What failed is tried first in the next run, from .hypothesis.
"""

import argparse
import random
import signal
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PASSED, FAILED = 0, 1
"""pytest's exit statuses where all tests passed, and where some failed."""
PRINTED = ("FAILED", "ERROR", "E   ", "Falsifying", "@reproduce", "    @")
"""Prefixes of the lines of pytest's output that are printed."""
REPORT_SECONDS = 60.0
"""s that pytest may take to report failures after it is interrupted."""


class Outcome(Enum):
    """Outcome of a run of pytest."""

    PASSED = "passed"
    FAILED = "found something"
    CUT_OFF = "cut off"
    BROKEN = "could not run"


def pytest(tests: list[str], *options: str) -> list[str]:
    """Return the command that runs the laws among tests."""
    return [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-p", "no:xdist", *options, *tests]


def files(tests: list[str]) -> list[str]:
    """Return the files among tests that contain laws, and individually named tests unchanged."""
    if any("::" in test for test in tests):
        return tests
    collection = subprocess.run(pytest(tests, "--collect-only"), cwd=ROOT, check=False, capture_output=True, text=True)
    return list(dict.fromkeys(line.partition("::")[0] for line in collection.stdout.splitlines() if "::" in line))


def run(command: list[str], seconds: float) -> tuple[Outcome, str]:
    """Return pytest's exit status and output. After `seconds` it is interrupted, and reports the failures so far."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            printed, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                printed, _ = process.communicate(timeout=REPORT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                printed, _ = process.communicate()
            failed = any(line.startswith("FAILED") for line in printed.splitlines())
            return Outcome.FAILED if failed else Outcome.CUT_OFF, printed
    outcomes = {PASSED: Outcome.PASSED, FAILED: Outcome.FAILED}
    return outcomes.get(process.returncode, Outcome.BROKEN), printed


def main() -> int:
    """See above. Returns how many runs found something, 1 where pytest itself could not run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, help="run every file once, with this seed")
    parser.add_argument("tests", nargs="*", default=["tests/pure"])
    options = parser.parse_args()
    end, outcomes = time.monotonic() + options.seconds, []
    tests = files(options.tests)
    if not tests:
        sys.exit(f"fuzz: no law in {' '.join(options.tests)}")
    while time.monotonic() < end:
        random.shuffle(tests)
        for test in tests:
            seed = random.randrange(2**31) if options.seed is None else options.seed
            command = pytest([test], "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}")
            outcome, printed = run(command, max(1.0, end - time.monotonic()))
            outcomes.append(outcome)
            if outcome is Outcome.BROKEN:
                print(printed)
                return 1
            if outcome is Outcome.FAILED:
                print("\n".join(line for line in printed.splitlines() if line.startswith(PRINTED)))
                print(f"again: {sys.executable} tools/fuzz_laws.py --seed {seed} {test}", flush=True)
            elif outcome is Outcome.CUT_OFF:
                print(f"fuzz: the time ended in {test}")
            if time.monotonic() > end:
                break
        if options.seed is not None:
            break
    counts = ", ".join(f"{outcomes.count(outcome)} {outcome.value}" for outcome in Outcome if outcome in outcomes)
    print(f"fuzz: {len(outcomes)} runs of {len(tests)} files: {counts}")
    return outcomes.count(Outcome.FAILED)


if __name__ == "__main__":
    sys.exit(main())
