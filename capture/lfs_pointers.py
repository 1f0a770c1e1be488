"""Git LFS pointers, which stand in for large files in a clone made without Git LFS."""

from ..errors import CaptureError

POINTER = b"version https://git-lfs."
"""The first bytes of a pointer."""


def refuse_pointer(head: bytes, source: str) -> None:
    """Raise CaptureError if a file that starts with these bytes is a Git LFS pointer."""
    if head.startswith(POINTER):
        raise CaptureError(f"{source}: a Git LFS pointer, not the file itself, fetch it with 'git lfs pull'")
