"""Fetches the third-party files of the camera page into build/camera, unmodified: tools/camera_assets.json.

    python tools/camera_assets.py            fetches what is missing
    python tools/camera_assets.py --renew    accepts the packages as they are now, and writes their hashes

npm fetches the packages; each is refused unless its SHA-512 is the one that is written down.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".json")
ASSETS = ROOT / "build" / "camera"


def main() -> None:
    """Fetch the files, or renew the hashes."""
    bring(renew="--renew" in sys.argv[1:])
    print(f"{ASSETS.relative_to(ROOT)}: {sum(path.stat().st_size for path in ASSETS.iterdir()) / 2**20:.1f} MiB")


def bring(renew: bool = False) -> None:
    """Make build/camera hold exactly the files of the list. Exits if a package's hash differs from the listed one."""
    packages = json.loads(LIST.read_text())
    stamp = ASSETS / "list.sha512"
    if not renew and stamp.is_file() and stamp.read_text() == _list_hash():
        return
    with tempfile.TemporaryDirectory(prefix="knuckle-assets-") as folder:
        staged = Path(folder) / "files"
        staged.mkdir()
        for name, package in packages.items():
            tarball = _pack(name, package["version"], Path(folder))
            digest = hashlib.sha512(tarball.read_bytes()).hexdigest()
            if renew:
                package["sha512"] = digest
            elif digest != package["sha512"]:
                sys.exit(f"{name} {package['version']}: SHA-512 is {digest}, expected {package['sha512']}")
            _extract(tarball, package["files"], staged)
        if renew:
            LIST.write_text(json.dumps(packages, indent=2) + "\n")
        shutil.rmtree(ASSETS, ignore_errors=True)
        ASSETS.parent.mkdir(exist_ok=True)
        shutil.copytree(staged, ASSETS)
        stamp.write_text(_list_hash())  # last, so that an incomplete copy is not taken for a complete one


def stage_assets(folder: Path) -> None:
    """Copy the files into a folder, after fetching missing ones."""
    bring()
    shutil.copytree(ASSETS, folder, ignore=shutil.ignore_patterns("list.sha512"))


def _list_hash() -> str:
    return hashlib.sha512(LIST.read_bytes()).hexdigest()


def _pack(name: str, version: str, folder: Path) -> Path:
    """Fetch a package with npm, which is installed if it is missing; return the tarball."""
    if shutil.which("npm") is None:
        subprocess.run([ROOT / "tools" / "setup.sh", "npm"], check=True)
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder), f"{name}@{version}"]
    packed = subprocess.run(command, check=False, capture_output=True, text=True, cwd=folder)
    if packed.returncode:
        sys.exit(f"{name} {version}: npm cannot fetch it ({packed.stderr.strip()[-300:]})")
    return folder / packed.stdout.split()[-1]


def _extract(tarball: Path, files: dict[str, Any], folder: Path) -> None:
    with tarfile.open(tarball) as archive:
        for inside, name in files.items():
            content = archive.extractfile(f"package/{inside}")
            assert content is not None
            (folder / name).write_bytes(content.read())


if __name__ == "__main__":
    main()
