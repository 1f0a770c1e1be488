"""Builds build/knuckle-VERSION.zip, one extension for every platform and Python, with Blender's own build tool.

Contents: the files that git tracks, without what the manifest's [build] excludes, the documentation as HTML, the wheels
of tools/wheels.txt, and what the camera page needs of others, tools/camera_assets.json. The same sources give the same
zip, byte for byte.
"""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import bpy  # noqa: F401  # brings addon_utils
from camera_assets import stage_assets
from help_pages import write_help

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
STAGE = BUILD / "stage"


def main() -> None:
    """Stage, build, make reproducible and validate."""
    version = checked_version()
    shutil.rmtree(STAGE, ignore_errors=True)
    stage_sources()
    write_help(STAGE / "help")
    list_wheels(stage_wheels())
    stage_assets(STAGE / "data" / "camera" / "assets")
    package = BUILD / f"knuckle-{version}.zip"
    run_extension_tool("build", "--source-dir", str(STAGE), "--output-filepath", str(package))
    make_repeatable(package)
    run_extension_tool("validate", str(package))
    print(f"{package.relative_to(ROOT)}: {package.stat().st_size / 1024:.0f} KiB")


def checked_version() -> str:
    """Return the version. Exits unless manifest and pyproject agree on it."""
    manifest = tomllib.loads((ROOT / "blender_manifest.toml").read_text())["version"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    if manifest != project:
        sys.exit(f"blender_manifest.toml says version {manifest}, pyproject.toml says {project}")
    return str(manifest)


def stage_sources() -> None:
    """Copy the files that git tracks, as they are in the work tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in listed.split("\0"):
        if name and (ROOT / name).is_file():
            (STAGE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, STAGE / name)


def stage_wheels() -> list[str]:
    """Download the wheels next to the sources, verified by their hashes; returns their names."""
    requirements = ROOT / "tools" / "wheels.txt"
    if all(line.startswith("#") for line in requirements.read_text().splitlines()):
        return []
    wheels = STAGE / "wheels"
    download = ["download", "-qq", "--no-deps", "--only-binary=:all:", "--require-hashes", "-r", str(requirements)]
    subprocess.run([sys.executable, "-m", "pip", *download, "-d", str(wheels)], check=True)
    names = sorted(wheel.name for wheel in wheels.iterdir())
    for name in names:
        if not name.endswith("-py3-none-any.whl"):
            sys.exit(f"{name} would shut out every Blender with another Python; only py3-none-any wheels are bundled")
    return names


def list_wheels(names: list[str]) -> None:
    """List the wheels in the staged manifest."""
    manifest = STAGE / "blender_manifest.toml"
    text = manifest.read_text()
    if "\nwheels = []\n" not in text:
        sys.exit("blender_manifest.toml: expected the line 'wheels = []', which the build fills in")
    paths = ", ".join(f'"./wheels/{name}"' for name in names)
    manifest.write_text(text.replace("\nwheels = []\n", f"\nwheels = [{paths}]\n"))


def make_repeatable(package: Path) -> None:
    """Rewrite the zip sorted by name, without timestamps and file modes, so that builds are reproducible."""
    with ZipFile(package) as built:
        contents = {name: built.read(name) for name in sorted(built.namelist())}
    with ZipFile(package, "w", compresslevel=9) as repeatable:
        for name, content in contents.items():
            entry = ZipInfo(name)
            entry.external_attr = 0o644 << 16
            entry.compress_type = ZIP_STORED if name.endswith(".whl") else ZIP_DEFLATED
            repeatable.writestr(entry, content)


def run_extension_tool(*arguments: str) -> None:
    """Run Blender's extension tool, which needs no Blender."""
    import addon_utils

    tool = Path(addon_utils.__file__).parents[1] / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    subprocess.run([sys.executable, str(tool), *arguments], check=True)


if __name__ == "__main__":
    main()
