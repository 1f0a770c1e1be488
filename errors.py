"""Errors that a user can cause. Each message is one sentence.

`printable` is for all text that may reach a terminal, since it may quote a file or a packet.
"""

MAX_LINE = 1000
"""Characters of a line; the rest is cut."""
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


class KnuckleError(Exception):
    """A problem for the user: the message says what was found, where, and what was expected.

    Any other exception is a bug in Knuckle and propagates with its traceback.
    """

    def __str__(self) -> str:
        """Return the message; what UTF-8 lacks, as names of files may have it, is escaped, for Blender rejects it."""
        return super().__str__().encode("utf-8", "backslashreplace").decode()


class CaptureError(KnuckleError):
    """A recording that cannot be read, or holds nothing usable."""


class MarkerMapError(KnuckleError):
    """Marker labels that cannot be matched with the joints of a hand."""


class HandError(KnuckleError):
    """A hand whose measurements or settings contradict each other."""


class RecipeError(KnuckleError):
    """A recipe, performer file or option that cannot be understood."""


class RigError(KnuckleError):
    """An armature that cannot be used for the hand."""


class SolverError(KnuckleError):
    """A problem that a solver cannot solve: values or settings that contradict each other."""


class StreamError(KnuckleError):
    """A device that cannot be read: a port in use, a connection refused."""


class PacketError(KnuckleError):
    """A packet that does not follow its device's format. It is dropped and counted."""


def printable(text: str) -> str:
    """Return text that may come from a file, for a terminal: control characters are escaped and long lines cut."""
    lines = text.translate(CONTROLS).split("\n")
    return "\n".join(line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} ..." for line in lines)
