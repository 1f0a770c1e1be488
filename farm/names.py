"""Names of takes, which are folders of the output on any system."""

from pathlib import Path

from ..errors import RecipeError

FILES = frozenset({"take.json", "joints.npz", "evidence.npz", "report.html", "report.json", "take.blend", "error.txt"})
"""Suffixes of a take's files, which may be in the same folder as another take's folder."""
MAX_NAME = 200
"""Characters of a name."""
FORBIDDEN = frozenset('<>:"|?*\\')
"""Characters that Windows does not allow in file names."""
DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names that Windows reserves."""


def check_name(name: str, where: str) -> str:
    """Return a name if each of its parts between slashes can be a folder. Raises RecipeError."""
    if not name or len(name) > MAX_NAME or not all(map(_is_folder, name.split("/"))):
        raise RecipeError(
            f"{where}: '{name[:MAX_NAME]}' is no name for a take, expected one such as day1/take-07, of at most "
            f"{MAX_NAME} characters"
        )
    return name


def _is_folder(part: str) -> bool:
    if not part or part[0] in ". " or part[-1] in ". " or part.partition(".")[0].casefold() in DEVICES:
        return False
    if part.casefold() in FILES:
        return False
    return part.isprintable() and not FORBIDDEN & {*part} and part.encode("utf-8", "replace").decode() == part


def name_of(capture: Path, root: Path) -> str:
    """Return the name of a capture: its path from a folder, without its suffix and forbidden characters."""
    parts = (*capture.relative_to(root).parts[:-1], capture.stem or "capture")
    return "/".join(map(_as_folder, parts))[:MAX_NAME].rstrip("/. ")


def _as_folder(part: str) -> str:
    safe = "".join("_" if char in FORBIDDEN or not char.isprintable() else char for char in part)
    safe = safe.encode("utf-8", "replace").decode().replace("?", "_").rstrip(". ")
    return safe if _is_folder(safe) else f"_{safe.lstrip('. ')}"
