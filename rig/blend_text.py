"""What texts Blender can keep."""


def is_kept_whole(text: str) -> bool:
    """Whether Blender keeps a text as it is: it ends one at a NUL, and takes none that UTF-8 has no bytes for."""
    return "\0" not in text and text.encode("utf-8", "replace").decode() == text
