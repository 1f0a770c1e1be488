"""The reason that one of Blender's importers gives for refusing a file."""

LONGEST = 300
"""Characters of a reason."""


def importer_reason(error: str) -> str:
    """Return an importer's reason from the text of its RuntimeError, in brackets after a space; empty if it gives none.

    Of a traceback of an importer in Python, the exception is the reason.
    """
    lines = [line for line in error.strip().splitlines() if line.strip() and not line.startswith("Location: ")]
    if not lines:
        return ""
    reason = lines[-1] if "Traceback" in error else lines[0].removeprefix("Error: ")
    return f" ({reason.strip()[:LONGEST]})"
