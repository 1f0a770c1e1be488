"""The heat strips of the take that an armature plays, cached between redraws."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import RigError
from ...pipeline.evidence.heat_tiles import HeatRows
from .reviewed_takes import reviewed_take
from .take_report import EVIDENCE_ID_PROPERTY, action_with_report

if TYPE_CHECKING:
    from bpy.types import Object

MAX_TILES = 64


@dataclass(slots=True, eq=False)
class HeatCache:
    """A cache of the last strips and of the pictures of their tiles. It may be emptied at any time."""

    key: str = ""
    rows: HeatRows | None = None
    tiles: dict[Hashable, Any] = field(default_factory=dict)

    def of(self, armature: "Object | None") -> HeatRows | None:
        """Return the strips of the take that an armature plays; None if it plays none. Fast if they are cached."""
        action = action_with_report(armature)
        key = None if action is None else action.get(EVIDENCE_ID_PROPERTY)
        if action is None or not isinstance(key, str):
            return None
        if key != self.key:
            self.key, self.tiles = key, {}
            try:
                take = reviewed_take(action)
                self.rows = HeatRows(take.evidence, take.frames)
            except RigError:
                self.rows = None
        return self.rows

    def tile(self, tile: Hashable, make: Callable[[], Any]) -> Any:
        """Return the cached drawing of a tile, or make it."""
        if tile not in self.tiles:
            if len(self.tiles) >= MAX_TILES:
                self.tiles.clear()
            self.tiles[tile] = make()
        return self.tiles[tile]
