"""Extract the reason for which one of Blender's importers refused a file."""

MAX_CHARACTERS = 300
"""Maximum length of a reason."""


def importer_reason(error: str) -> str:
    """Return the reason in an importer's RuntimeError, as " (reason)" to append to a sentence; empty if there is none.

    The reason in a traceback, which importers written in Python raise, is its exception.
    """
    lines = [line for line in error.strip().splitlines() if line.strip() and not line.startswith("Location: ")]
    if not lines:
        return ""
    reason = lines[-1] if "Traceback" in error else lines[0].removeprefix("Error: ")
    return f" ({reason.strip()[:MAX_CHARACTERS]})"
