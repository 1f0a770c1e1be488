"""Makes a release: version, changelog, zip, checksum, commit and tag. Nothing is pushed.

    python tools/release.py 0.2.0 [--dry-run]    --dry-run prints the changes and writes nothing
    python tools/release.py notes 0.2.0          prints that version's part of CHANGELOG.md

Versions are semantic: docs/reference/python-api.md says what a major, minor and patch release may change.
"""

import argparse
import datetime
import difflib
import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
UNRELEASED = "## Unreleased\n"
PLACES = {
    "pyproject.toml": 'version = "{}"\n',
    "blender_manifest.toml": '\nversion = "{}"\n',
    "CITATION.cff": "\nversion: {}\n",
    "docs/tutorials/first-hand.md": "knuckle-{}.zip",
    "docs/tutorials/first-take.md": "knuckle-{}.zip",
    "tests/gui/walking.py": "knuckle-{}.zip",
}
"""Files that state the version, and how."""


def main() -> None:
    """Read the command line, and release or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", metavar="VERSION", help="the new version, or: notes VERSION")
    parser.add_argument("--dry-run", action="store_true", help="print the changes and write nothing")
    options = parser.parse_args()
    if options.what[0] == "notes" and len(options.what) == 2:
        print(notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), options.what[1]))
    elif len(options.what) == 1:
        today = datetime.datetime.now(datetime.UTC).date()
        release(
            ROOT, options.what[0], today, lambda: run(ROOT, "make", "release-files", "package"), dry=options.dry_run
        )
    else:
        parser.error("expected a version, or notes and a version")


def release(root: Path, version: str, today: datetime.date, build: Callable[[], object], *, dry: bool = False) -> None:
    """Release a checkout.

    Args:
        root: The checkout. Its work tree must be clean and its branch main.
        version: The new version, at least the current one, without a tag so far.
        today: The date of the release.
        build: Writes build/knuckle-VERSION.zip, and the files that later versions must open.
        dry: Print what would change, and stop there.

    Raises:
        SystemExit: With a sentence, before anything is written, where one of these does not hold.
    """
    present = version_of(root)
    if not VERSION.fullmatch(version) or numbers(version) < numbers(present):
        sys.exit(f"'{version}', expected three numbers with dots, at least {present}")
    if output(root, "git", "tag", "--list", f"v{version}"):
        sys.exit(f"the tag v{version} is there already")
    if not dry and (output(root, "git", "status", "--porcelain") or branch(root) != "main"):
        sys.exit("expected a clean work tree on the branch main")
    changed = changes(root, present, version, today)
    for name, text in changed.items():
        before = (root / name).read_text(encoding="utf-8")
        print("".join(difflib.unified_diff(before.splitlines(True), text.splitlines(True), name, name, n=0)), end="")
    if dry:
        return
    for name, text in changed.items():
        (root / name).write_text(text, encoding="utf-8")
    build()
    package = root / "build" / f"knuckle-{version}.zip"
    checksum = f"{hashlib.sha256(package.read_bytes()).hexdigest()}  {package.name}\n"
    package.with_suffix(".zip.sha256").write_text(checksum, encoding="utf-8")
    run(root, "git", "add", "--all")
    run(root, "git", "commit", "--message", f"Version {version}")
    run(root, "git", "tag", "--annotate", f"v{version}", "--message", f"Knuckle {version}")
    print(f"{checksum}tagged v{version}; to publish: git push origin main v{version}")


def changes(root: Path, present: str, version: str, today: datetime.date) -> dict[str, str]:
    """Return the new text of each file that states the version, by its name."""
    result = {}
    for name, line in PLACES.items():
        text = (root / name).read_text(encoding="utf-8")
        if line.format(present) not in text:
            sys.exit(f"{name}: expected {line.format(present).strip()!r}")
        result[name] = text.replace(line.format(present), line.format(version))
    log = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^{UNRELEASED}\n+(?!## )\S", log, re.MULTILINE):
        sys.exit(f"CHANGELOG.md: expected '{UNRELEASED.strip()}' with at least one line below it")
    result["CHANGELOG.md"] = log.replace(UNRELEASED, f"## {version} ({today})\n", 1)
    return result


def notes(log: str, version: str) -> str:
    """Return the section of the changelog for a version."""
    part = re.search(rf"^## {re.escape(version)}\b[^\n]*\n(.*?)(?=^## |\Z)", log, re.MULTILINE | re.DOTALL)
    if part is None:
        sys.exit(f"CHANGELOG.md: there is no part '## {version}'")
    return part[1].strip()


def version_of(root: Path) -> str:
    """Return the current version, as pyproject.toml states it."""
    match = re.search(r'^version = "(.+)"$', (root / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if match is None:
        sys.exit("pyproject.toml: expected a line version = …")
    return match[1]


def numbers(version: str) -> tuple[int, ...]:
    """Return the version's numbers, for comparisons."""
    return tuple(int(part) for part in version.split("."))


def branch(root: Path) -> str:
    """Return the branch that is checked out."""
    return output(root, "git", "branch", "--show-current")


def output(root: Path, *command: str) -> str:
    """Return the output of a command."""
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def run(root: Path, *command: str) -> None:
    """Run a command in the checkout."""
    subprocess.run(command, cwd=root, check=True)


if __name__ == "__main__":
    main()
