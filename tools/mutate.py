"""Mutation testing: changes the code one operator at a time, and prints the mutants that no test notices.

    python tools/mutate.py [--seconds 1800] [--seed 0] [--count N] [MODULE ...]   # the named breaks, then a sample
    python tools/mutate.py --named                                                # the named breaks alone
    python tools/mutate.py --again                                                # what survived the last run

A sample of all mutants of the MODULES (mutants.py) is tried by the tests that reach what is broken, up to the
first that fails (mutant_trials.py). Survivors are printed, and their number is the exit status. Needs Python 3.12.

A survivor needs a law, or the code is dead, or the mutant computes the same and stands in equivalent_mutants.tsv with
its reason: `<` for `<=` where both branches agree at equality, the sign or length of a vector that is squared or
normalised later, a shortcut that only saves work, or a tolerance that both versions meet.
"""

import argparse
import json
import random
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

from knuckle.tools.mutant_trials import Tests, Verdict, try_cold, try_warm
from knuckle.tools.mutants import EQUIVALENT, ROOT, Key, Mutant, equivalent, mutants_of, text_mutant

SURVIVORS = ROOT / "build" / "mutants" / "survivors.json"
COLD = 300.0
"""Maximum processor seconds of the tests of a mutant if everything is imported again."""

NAMED = (
    (
        "solvers/tree/tree_solver.py",
        "best_rows = best_rows.replace_rows(far_rows, iterated_rows)",
        "pass",
    ),
    (
        "solvers/tree/fabrik_passes.py",
        "and plan.position_known[link.parent]",
        "and False",
    ),
    (
        "solvers/tree/fabrik_passes.py",
        "targets[:, a] = targets[:, b] = _loop_position(",
        "targets[:, a] = targets[:, b] = 0 * _loop_position(",
    ),
    (
        "solvers/planar/planar_fabrik.py",
        "for _ in range(self.stopping.passes):",
        "for _ in range(0):",
    ),
    (
        "solvers/planar/planar_fabrik.py",
        "nearest(m, outer_end, bones.lengths[bone], joints[bone - 1])",
        "joints[bone - 1]",
    ),
    (
        "solvers/conformal/cga_bend.py",
        "return u_coordinate, -minus_v",
        "return u_coordinate, minus_v",
    ),
)
"""Mutants that no test noticed in the past: of the passes of FABRIK, and of the joint between two known joints."""

MODULES = ("solvers/**/*.py", "hand/**/*.py", "rig/binding.py", "rig/keys/**/*.py")
GENERATED = ROOT / "solvers" / "cga" / "generated.py"
"""Not mutated: a test compares the file with its generator's output, byte by byte."""
TESTS = {"rig": Tests(("tests/blender", "tests/pure/rig"), "not spare")}
"""Room -> the tests for its modules: the quick Blender tests cover only a part."""
PURE = Tests(("tests/pure/hand", "tests/pure/solvers", "tests/pure/posing"), "not slow")
"""Tests for all other rooms."""


def tests_of(module: str) -> Tests:
    """Return the tests for a module."""
    return TESTS.get(module.partition("/")[0], PURE)


def importers(module: str) -> tuple[str, ...]:
    """Return the tests that import a module, separated by blanks."""
    name = Path(module).stem
    imports = re.compile(rf"^from \S+\.{name} import|^from \S+ import .*\b{name}\b", re.MULTILINE)
    paths = [path for folder in tests_of(module).folders for path in sorted((ROOT / folder).rglob("test_*.py"))]
    tests = [str(path.relative_to(ROOT)) for path in paths if imports.search(path.read_text())]
    return (" ".join(tests),) if tests else ()


def sample(options: argparse.Namespace, equivalents: dict[Key, str]) -> list[Mutant]:
    """Return the mutants to try, in random order.

    Raises ValueError if equivalent_mutants.tsv names one that does not exist.
    """
    paths = [path.resolve() for path in options.modules]
    modules = paths or sorted(path for pattern in MODULES for path in ROOT.glob(pattern) if path != GENERATED)
    mutants = [mutant for module in modules for mutant in mutants_of(module)]
    keys, names = {mutant.key for mutant in mutants}, {str(module.relative_to(ROOT)) for module in modules}
    missing = [key for key in equivalents if key[0] in names and key not in keys]
    if missing:
        raise ValueError(f"{EQUIVALENT.name}: there is no {missing[0][2]!r} in {missing[0][1]} of {missing[0][0]}")
    if options.again:
        last = {tuple(key) for key in json.loads(SURVIVORS.read_text())}
        return [mutant for mutant in mutants if mutant.key in last and mutant.key not in equivalents]
    random.Random(options.seed).shuffle(mutants)
    return mutants[: options.count]


def try_all(mutants: list[Mutant], end: float, each: float) -> list[tuple[Mutant, Verdict]]:
    """Return the mutants that were tried before the end, and the verdict on each."""
    counts = [0, 0]

    def report(mutant: Mutant, verdict: Verdict) -> None:
        survived = verdict.noticed is None and not verdict.early
        counts[0], counts[1] = counts[0] + 1, counts[1] + survived
        if survived:
            print(f"survived {verdict.tests} tests: {mutant}", flush=True)
        print(f"\rmutate: {counts[0]} tried, {counts[1]} survived", end="", file=sys.stderr, flush=True)

    results, remaining = list[tuple[Mutant, Verdict]](), len(mutants)
    for tests in dict.fromkeys(tests_of(mutant.module) for mutant in mutants):
        group, start = [mutant for mutant in mutants if tests_of(mutant.module) == tests], time.monotonic()
        results += zip(
            group,
            try_warm(group, tests, start + (end - start) * len(group) / remaining, each, report),
            strict=False,
        )
        remaining -= len(group)
    for number, (mutant, verdict) in enumerate(results):
        if verdict.noticed is None and verdict.early:
            chosen = tests_of(mutant.module).chosen
            noticed = try_cold(mutant, importers(mutant.module), chosen, COLD)
            cold = Verdict(noticed, verdict.tests, early=False)
            report(mutant, cold)
            results[number] = mutant, cold
    return results


def table(results: list[tuple[Mutant, Verdict]], same: list[Mutant]) -> str:
    """Return a table of the numbers of mutants tried, noticed, equivalent and surviving in each room."""
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    outcomes = [(mutant, 1 if verdict.noticed else 3) for mutant, verdict in results] + [(mutant, 2) for mutant in same]
    for mutant, column in outcomes:
        for room in (str(Path(mutant.module).parent), "together"):
            rooms[room][0] += 1
            rooms[room][column] += 1
    lines = [f"{'':32}{'tried':>8}{'noticed':>10}{'equivalent':>12}{'survived':>10}"]
    lines += [f"{room:32}{a:8}{b:10}{c:12}{d:10}" for room, (a, b, c, d) in sorted(rooms.items())]
    return "\n".join(lines)


def main() -> int:
    """Try the mutants; returns the number of survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int)
    parser.add_argument("--each", type=float, default=20.0, help="maximum s of the tests of a mutant")
    parser.add_argument("--named", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("modules", nargs="*", type=Path)
    options = parser.parse_args()
    if "monitoring" not in vars(sys):
        parser.error(f"expected Python 3.12 or newer, this is {sys.version.split()[0]}")
    equivalents = equivalent()
    mutants = [] if options.modules or options.again else [text_mutant(*change) for change in NAMED]
    if not options.named:
        mutants += sample(options, equivalents)
    same = [mutant for mutant in mutants if mutant.key in equivalents]
    others = [mutant for mutant in mutants if mutant.key not in equivalents]
    results = try_all(others, time.monotonic() + options.seconds, options.each)
    survivors = [mutant for mutant, verdict in results if verdict.noticed is None]
    SURVIVORS.parent.mkdir(parents=True, exist_ok=True)
    SURVIVORS.write_text(json.dumps([mutant.key for mutant in survivors]))
    print(table(results, same))
    return len(survivors)


if __name__ == "__main__":
    sys.exit(main())
