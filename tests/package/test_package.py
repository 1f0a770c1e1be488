"""The zip that `make package` has just built: what is in it, and that both Blender modules take it."""

import json
import posixpath
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

from knuckle.operators.help_pages import PAGES

ROOT = Path(__file__).parents[2]
MANIFEST = tomllib.loads((ROOT / "blender_manifest.toml").read_text())
PACKAGE = ROOT / "build" / f"knuckle-{MANIFEST['version']}.zip"
PYTHONS = sorted(ROOT.glob(".venv/3.*/bin/python"))


@pytest.fixture(scope="module")
def names() -> list[str]:
    with ZipFile(PACKAGE) as package:
        return package.namelist()


def test_the_zip_holds_the_package_the_licences_and_the_recording(names: list[str]) -> None:
    wanted = {"__init__.py", "blender_manifest.toml", "LICENSE", "capture/__init__.py"}
    wanted |= {"data/leap_finger_tap.json", "data/LICENSES.md", "data/Apache-2.0.txt"}
    assert wanted <= set(names)


def test_the_zip_holds_the_documentation_with_links_and_pictures_that_are_there(names: list[str]) -> None:
    pages = [name for name in names if name.startswith("help/") and name.endswith(".html")]
    assert {f"help/{page}.html" for page in PAGES} <= set(pages)
    with ZipFile(PACKAGE) as package:
        for page in pages:
            for target in re.findall(r'(?:href|src)="(?!https:)([^"#:]+)', package.read(page).decode()):
                assert posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) in names, (page, target)


def test_the_zip_holds_nothing_compiled_no_tests_no_tools_and_no_caches(names: list[str]) -> None:
    compiled = (".so", ".pyd", ".dll", ".dylib", ".pyc", ".exe")
    assert [name for name in names if name.endswith(compiled)] == []
    rooms = {name.split("/")[0] for name in names}
    assert rooms & {"tests", "tools", "docs", "build", ".venv", ".git", ".ci", "Makefile", "pyproject.toml"} == set()
    assert [name for name in names if "__pycache__" in name or "/." in name or name.startswith(".")] == []


def test_every_wheel_is_pure_and_listed(names: list[str]) -> None:
    wheels = [name for name in names if name.startswith("wheels/")]
    assert [name for name in wheels if not name.endswith("-py3-none-any.whl")] == []
    with ZipFile(PACKAGE) as package:
        listed = tomllib.loads(package.read("blender_manifest.toml").decode())["wheels"]
        for wheel in wheels:
            with package.open(wheel) as file, ZipFile(file) as contents:
                assert [name for name in contents.namelist() if name.endswith((".so", ".pyd", ".dll"))] == []
    assert sorted(listed) == sorted(f"./{name}" for name in wheels)


def test_what_is_bundled_is_what_pip_would_install() -> None:
    lines = (ROOT / "tools" / "wheels.txt").read_text().splitlines()
    bundled = {line.split()[0] for line in lines if line and not line.startswith("#")}
    dependencies = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    assert bundled == {name for name in dependencies if not name.startswith("numpy")}


def test_building_again_gives_the_same_zip() -> None:
    before = PACKAGE.read_bytes()
    subprocess.run([sys.executable, str(ROOT / "tools" / "package.py")], check=True)
    assert PACKAGE.read_bytes() == before


def test_every_folder_of_code_in_the_zip_is_installed_by_pip(names: list[str]) -> None:
    folders = {str(Path(name).parent) for name in names if name.endswith(".py")}
    packages = {"knuckle" if folder == "." else f"knuckle.{folder.replace('/', '.')}" for folder in folders}
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert packages == set(pyproject["tool"]["setuptools"]["packages"])


@pytest.mark.parametrize("python", PYTHONS, ids=[path.parts[-3] for path in PYTHONS])
def test_the_zip_installs_in_blenders_module(python: Path, tmp_path: Path) -> None:
    script = Path(__file__).with_name("install.py")
    # A limit, since bpy 4.5 does not end while an operator is still registered.
    ran = subprocess.run(
        [str(python), str(script), str(PACKAGE), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout.splitlines()[-1])
    assert result["enabled"], ran.stdout + ran.stderr
    assert result["panels"]
    assert result["panels_left"] == []
    with ZipFile(PACKAGE) as package:
        assert len(result["wheels"]) == len([name for name in package.namelist() if name.startswith("wheels/")])
