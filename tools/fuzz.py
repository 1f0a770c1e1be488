"""Tries random examples of every law for as long as one says; prints what reproduces a failure, and goes on.

    python tools/fuzz.py --seconds 3600 [TESTS ...]        # or: make fuzz SECONDS=3600 TESTS=tests/pure/solvers
    python tools/fuzz.py --seed 4711 TESTS ...             # the same examples again

What failed is tried first in the next run, from build/hypothesis.
"""

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAILED = 1
"""pytest's exit status where tests failed."""
TOLD = ("FAILED", "ERROR", "E   ", "Falsifying", "@reproduce", "    @")


def run(tests: list[str], seed: int, seconds: float) -> tuple[int, str]:
    """pytest's status and what it printed; status 0 where the time ended first."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "--hypothesis-profile=fuzz"]
    command += [f"--hypothesis-seed={seed}", "-p", "no:xdist", *tests]
    try:
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return 0, ""
    return done.returncode, done.stdout + done.stderr


def main() -> int:
    """See above. Returns how many runs found something, 1 where pytest itself could not run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, help="one run with this seed")
    parser.add_argument("tests", nargs="*", default=["tests/pure"])
    options = parser.parse_args()
    end, failed, runs = time.monotonic() + options.seconds, 0, 0
    while time.monotonic() < end:
        seed = random.randrange(2**31) if options.seed is None else options.seed
        status, printed = run(options.tests, seed, max(1.0, end - time.monotonic()))
        runs += 1
        if status > FAILED:
            print(printed)
            return 1
        if status == FAILED:
            failed += 1
            print("\n".join(line for line in printed.splitlines() if line.startswith(TOLD)))
            print(f"again: {sys.executable} tools/fuzz.py --seed {seed} {' '.join(options.tests)}", flush=True)
        if options.seed is not None:
            break
    print(f"fuzz: {runs} runs, {failed} found something")
    return failed


if __name__ == "__main__":
    sys.exit(main())
