"""Builds the documentation site into build/site, and fails on any warning: `make docs`.

Writes the pages that follow from the code, collects docs/ with CONTRIBUTING.md and CHANGELOG.md in
build/docs, puts the package's sources where mkdocstrings reads them, and runs zensical. zensical checks links and
anchors, but not the nav: that is done here.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from knuckle.tools import architecture, reference_pages

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "build" / "docs"
SITE = ROOT / "build" / "site"
WORKER = "https://unpkg.com/iframe-worker/shim"
PACKAGE = ROOT / "build" / "package" / "knuckle"
COLLECTED = {
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Pages outside docs/ -> their path in the site."""
NOT_IN_PACKAGE = ("tests/", "tools/", "docs/")


def main() -> None:
    """Write, collect, check and build."""
    reference_pages.main()
    architecture.main()
    collect_pages()
    collect_package()
    check_nav()
    shutil.rmtree(SITE, ignore_errors=True)
    zensical = Path(sys.executable).with_name("zensical")
    subprocess.run([str(zensical), "build", "--strict", "--clean"], cwd=ROOT, check=True)
    use_local_worker()
    print("build/site/index.html")


def use_local_worker() -> None:
    """Make pages load our own replacement for web workers instead of the remote one of the offline plugin."""
    replacement = SITE / "assets" / "offline-search.js"
    pages = [page for page in SITE.rglob("*.html") if WORKER in page.read_text(encoding="utf-8")]
    if not pages or not replacement.is_file():
        sys.exit(f"build/site: expected {replacement.name} and pages that load {WORKER}")
    for page in pages:
        text = page.read_text(encoding="utf-8").replace(WORKER, os.path.relpath(replacement, page.parent))
        page.write_text(text, encoding="utf-8")


def collect_pages() -> None:
    """Copy docs/ and the pages of COLLECTED, and adapt their links."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES)
    new_paths = {(ROOT / name).resolve(): PAGES / to for name, to in COLLECTED.items()}
    originals = {
        page.relative_to(ROOT): PAGES / page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")
    }
    originals |= {Path(name): PAGES / to for name, to in COLLECTED.items()}
    for original, page in originals.items():
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(with_links(original, page, new_paths), encoding="utf-8")


def with_links(original: Path, page: Path, new_paths: dict[Path, Path]) -> str:
    """Return a page's text with its links adapted to the layout of the site."""

    def link(match: re.Match[str]) -> str:
        target = (ROOT / original.parent / match[1]).resolve()
        if "://" in match[1] or not target.exists():
            return match[0]
        inside = target.is_relative_to(ROOT / "docs")
        target_page = new_paths.get(target, PAGES / target.relative_to(ROOT / "docs") if inside else target)
        return f"]({os.path.relpath(target_page, page.parent)}"

    return re.sub(r"\]\(([^)#\s]+)", link, (ROOT / original).read_text(encoding="utf-8"))


def collect_package() -> None:
    """Copy the sources that git tracks, because in the checkout itself griffe would search the environments, too."""
    shutil.rmtree(PACKAGE, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard", "*.py"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if not name.startswith(NOT_IN_PACKAGE) and (ROOT / name).is_file():
            (PACKAGE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, PACKAGE / name)


def check_nav() -> None:
    """Exit if the nav names a page that does not exist, or a page is not in the nav."""
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    nav_names = nav_pages(nav)
    page_files = {str(page.relative_to(PAGES)) for page in PAGES.rglob("*.md")}
    if nav_names != page_files:
        missing, unlisted = sorted(nav_names - page_files), sorted(page_files - nav_names)
        sys.exit(f"zensical.toml, nav: no such pages {missing}, not named {unlisted}")


def nav_pages(entry: Any) -> set[str]:
    """Return the pages below a part of the nav."""
    if isinstance(entry, str):
        return {entry}
    return set().union(*map(nav_pages, entry.values() if isinstance(entry, dict) else entry))


if __name__ == "__main__":
    main()
