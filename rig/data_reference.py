"""References to data-blocks that survive undo, renaming and loading of files."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bpy.types import ID


@dataclass(frozen=True, slots=True)
class DataReference:
    """A data-block of this session. Holds no pointer, which undo and loading a file would leave dangling."""

    uid: int
    name: str = field(compare=False)
    """Its name when the reference was made: used in messages, and looked up first."""

    @classmethod
    def of(cls, block: "ID") -> "DataReference":
        """Return a reference to a data-block."""
        return cls(block.session_uid, block.name)

    def find_in(self, blocks: Any) -> Any:
        """Return the data-block in a collection of bpy.data, such as bpy.data.objects; None if it no longer exists."""
        named = blocks.get(self.name)
        if named is not None and named.session_uid == self.uid:
            return named
        return next((block for block in blocks if block.session_uid == self.uid), None)
