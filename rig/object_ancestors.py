"""The parents of an object, of its parent, and so on."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpy.types import Object


def ancestors(obj: "Object") -> "Iterator[tuple[Object, Object]]":
    """Yield each ancestor of an object after its child, the nearest first: pairs of child and parent."""
    while obj.parent is not None:
        yield obj, obj.parent
        obj = obj.parent
