"""Mutation testing: breaks the code one operator at a time, and prints the mutants that no test detects.

    python tools/mutate.py [--seconds 1800] [--seed 0] [MODULE ...]  # by default the named breaks, then all of MODULES
    python tools/mutate.py --named                                    # the named breaks alone

A break turns an operator around: a sum, a product, a comparison, an `and`, a `not`, the two sides of a conditional
expression. Each is tried by quick tests up to the first that fails, in a copy in build/mutants: those named after the
module, those that import it, then all of its folder in tests/pure. Survivors are printed, and their number is the exit
status.

A survivor needs a law unless it computes the same: `<` for `>=` where both branches agree at equality and nothing else
reaches it, the sign or length of a vector that is squared or normalised later, a guard against division by zero, a
shortcut that only saves work, or a tolerance that both versions meet.
"""

import argparse
import ast
import copy
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COPY = ROOT / "build" / "mutants"
SHARED = Path(os.environ.get("KNUCKLE_SHARED", ROOT.parent / "shared"))
SECONDS = 300
"""Processor seconds that the tests of one break may take; a break that does not end counts as detected."""
PATIENCE = 3600
"""s after which tests that do not use the processor count as hanging."""
NONE_COLLECTED = 5
"""pytest's exit status where all tests are slow."""


@dataclass(frozen=True)
class Break:
    """One change of one file."""

    module: str
    old: str
    new: str
    tests: tuple[str, ...]
    """Stages of tests, run one after the other; each is a list of files and folders, separated by blanks."""

    def __str__(self) -> str:
        return f"{self.module}: {self.old.strip().splitlines()[0]} -> {self.new.strip().splitlines()[0]}"


NAMED = [
    Break(
        "solvers/tree/tree_fabrik.py",
        "best = best.replace_rows(distant, _passes(plan, rows.select(distant), settings))",
        "pass",
        ("tests/pure/solvers/tree",),
    ),
    Break(
        "solvers/tree/fabrik_passes.py",
        "and plan.position_known[link.parent]",
        "and False",
        ("tests/pure/solvers/tree",),
    ),
    Break(
        "solvers/tree/fabrik_passes.py",
        "wanted[:, b] = _loop_position(",
        "wanted[:, b] = 0 * _loop_position(",
        ("tests/pure/solvers/tree",),
    ),
    Break(
        "solvers/planar/planar_fabrik.py",
        "for _ in range(self.stopping.passes):",
        "for _ in range(0):",
        ("tests/pure/solvers/test_planar_passes.py",),
    ),
    Break(
        "solvers/planar/planar_fabrik.py",
        "nearest(m, outer_end, bones.lengths[bone], joints[bone - 1])",
        "joints[bone - 1]",
        ("tests/pure/solvers/test_planar_passes.py",),
    ),
    Break(
        "solvers/conformal/cga_bend.py",
        "return along, -up",
        "return along, up",
        ("tests/pure/solvers/test_planar_passes.py",),
    ),
]
"""Breaks that no test detected in the past: the passes of FABRIK, and the joint between two known joints."""

MODULES = ("solvers/**/*.py", "hand/**/*.py", "rig/binding.py", "rig/keys/keyframes.py")
IN_BLENDER = {
    "rig/binding.py": (
        "tests/blender/test_binding.py",
        "tests/blender/test_carriers.py tests/blender/test_rig_limits.py",
    ),
    "rig/keys/keyframes.py": ("tests/blender/test_keyframes.py", "tests/blender/test_arm.py"),
}
"""Tests of the modules that need Blender."""

SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def inverted(node: ast.AST) -> str | None:
    """The source of an expression with its operator inverted; None if it has no operator."""
    other = copy.deepcopy(node)
    if isinstance(other, ast.BinOp) and type(other.op) in SUMS:
        other.op = SUMS[type(other.op)]()
    elif isinstance(other, ast.Compare) and type(other.ops[0]) in COMPARISONS:
        other.ops[0] = COMPARISONS[type(other.ops[0])]()
    elif isinstance(other, ast.BoolOp):
        other.op = ast.Or() if isinstance(other.op, ast.And) else ast.And()
    elif isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not):
        other = other.operand
    elif isinstance(other, ast.IfExp):
        other.body, other.orelse = other.orelse, other.body
    else:
        return None
    return f"({ast.unparse(other)})"


def breaks(module: Path) -> Iterator[Break]:
    """All mutants of a module: each operator of its functions inverted, one at a time."""
    text, tests = module.read_text(), tests_of(module)
    for function in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)):
        for node in ast.walk(function):
            old, new = ast.get_source_segment(text, node), inverted(node)
            if old and new and text.count(old) == 1:
                yield Break(str(module.relative_to(ROOT)), old, new, tests)


def tests_of(module: Path) -> tuple[str, ...]:
    """The tests named after a module, those that import it, then all of its folder or of the nearest one above."""
    name = module.relative_to(ROOT)
    if str(name) in IN_BLENDER:
        return IN_BLENDER[str(name)]
    folder = ROOT / "tests" / "pure" / name.parent
    while not folder.is_dir():
        folder = folder.parent
    imports = re.compile(rf"^from \S+\.{name.stem} import|^from \S+ import .*\b{name.stem}\b", re.MULTILINE)
    importers = [
        path for path in sorted((ROOT / "tests" / "pure").rglob("test_*.py")) if imports.search(path.read_text())
    ]
    own = [path for path in importers if path.stem.replace("_", "") == "test" + name.stem.replace("_", "")]
    stages = (" ".join(str(path.relative_to(ROOT)) for path in paths) for paths in (own, importers, [folder]))
    return tuple(stage for stage in stages if stage)


def detected_by(change: Break) -> str | None:
    """The first stage of tests in which one fails, None where all pass.

    Raises ValueError if the module does not contain the text to change.
    """
    path = COPY / change.module
    text = path.read_text()
    if change.old not in text:
        raise ValueError(f"{change.module}: there is no {change.old!r}")
    path.write_text(text.replace(change.old, change.new, 1))
    try:
        return next((stage for stage in change.tests if fails(stage)), None)
    finally:
        path.write_text(text)


def fails(tests: str) -> bool:
    """Whether one of the tests fails in the copy, or they time out."""
    command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow"]
    try:
        done = subprocess.run(
            [*command, *tests.split()],
            cwd=COPY,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "KNUCKLE_SHARED": str(SHARED)},
            check=False,
            capture_output=True,
            timeout=PATIENCE,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, NONE_COLLECTED)


def main() -> int:
    """Try the mutants; returns the number of survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--named", action="store_true")
    parser.add_argument("modules", nargs="*", type=Path)
    options = parser.parse_args()
    shutil.rmtree(COPY, ignore_errors=True)
    ignored = shutil.ignore_patterns(".venv", "build", ".git", "__pycache__", ".*_cache", "docs")
    shutil.copytree(ROOT, COPY, ignore=ignored)
    end = time.monotonic() + options.seconds
    changes = [] if options.modules else list(NAMED)
    if not options.named:
        modules = [path.resolve() for path in options.modules]
        modules = modules or sorted(path for pattern in MODULES for path in ROOT.glob(pattern))
        found = [change for module in modules for change in breaks(module)]
        random.Random(options.seed).shuffle(found)
        changes += found
    tried, survivors = 0, []
    sound: set[str] = set()
    for change in changes:
        if time.monotonic() > end:
            break
        tried += 1
        stage = detected_by(change)
        if stage is None:
            survivors.append(change)
            print(f"survived: {change}", flush=True)
        elif stage not in sound:
            if fails(stage):
                sys.exit(f"mutate: {stage} fails with nothing broken")
            sound.add(stage)
    print(f"mutate: {tried} of {len(changes)} tried, {len(survivors)} survived")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(main())
