"""Which strings Blender can store."""


def is_storable(text: str) -> bool:
    """Return whether Blender stores a string unchanged: it cuts strings at NUL and rejects what UTF-8 cannot encode."""
    return "\0" not in text and text.encode("utf-8", "replace").decode() == text
