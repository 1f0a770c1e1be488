"""What can go wrong through no fault of the code: each error is one sentence for the person."""


class KnuckleError(Exception):
    """A problem to tell the person about: what was found, where, and what was expected.

    Anything that is not a KnuckleError is a fault of ours and propagates with its traceback.
    """


class CaptureError(KnuckleError):
    """A recording that cannot be read, or holds nothing that can be used."""


class MarkerMapError(KnuckleError):
    """Labels that cannot be brought together with the joints of a hand."""


class HandError(KnuckleError):
    """A hand whose measures or settings contradict each other."""


class RecipeError(KnuckleError):
    """A recipe, performer file or option that cannot be understood."""


class RigError(KnuckleError):
    """An armature that cannot carry the hand."""


class SolverError(KnuckleError):
    """A problem that a solver cannot take: numbers or settings that contradict each other."""


class StreamError(KnuckleError):
    """A device that cannot be listened to: a port in use, a connection refused."""


class PacketError(KnuckleError):
    """A packet that is not what its device sends. It is dropped and counted."""
