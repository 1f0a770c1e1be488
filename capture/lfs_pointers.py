"""Pointers of Git LFS, which a clone without it has instead of large files."""

from ..errors import CaptureError

POINTER = b"version https://git-lfs."
"""The first bytes of a pointer."""


def refuse_pointer(head: bytes, source: str) -> None:
    """Raise CaptureError if a file that starts with these bytes is a pointer of Git LFS."""
    if head.startswith(POINTER):
        raise CaptureError(f"{source}: a pointer of Git LFS, not the file itself, fetch that with 'git lfs pull'")
