"""All that a file holds, as plain values: every property of every data-block, to compare before and after."""

import hashlib
from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np

Snapshot = dict[str, Any]
"""Where a value is -> what it is."""

EVALUATED = {
    "PoseBone": {"matrix", "matrix_channel", "head", "tail", "center", "vector", "x_axis", "y_axis", "z_axis", "length"}
    | {"bbone_segment_matrix", "bbone_segment_x", "bbone_segment_z"},
    "Object": {"matrix_world", "matrix_local", "bound_box", "dimensions", "is_from_instancer", "is_instancer"},
    "Mesh": {"vertices", "edges", "loops", "polygons", "attributes", "vertex_normals", "polygon_normals"}
    | {"corner_normals", "loop_triangles", "loop_triangle_polygons", "uv_layers", "color_attributes", "skin_vertices"}
    | {"uv_layer_stencil", "uv_layer_clone"},
    "FCurve": {"sampled_points"},
    "AnimData": {"action_suitable_slots"},
    "ParticleEdit": {"object"},
    "Scene": {"view_layers", "knuckle", "keying_sets_all"},
    "Action": {"fcurves", "groups", "id_root"},
}
"""What Blender works out from the rest, or lists once more: the pose's channels count, and not where they lead."""
ANYWHERE = {"rna_type", "bl_rna", "users", "session_uid", "is_evaluated", "is_library_indirect", "original", "tag"} | {
    "preview",
    "id_data",
    "is_runtime_data",
}
KINDS_ASIDE = {"all_ids", "window_managers", "screens", "workspaces", "libraries", "brushes", "palettes", "linestyles"}


def snapshot() -> Snapshot:
    """Every value of the open file, and the selection and modes of its first view layer."""
    values: Snapshot = {}
    for kind in bpy.data.bl_rna.properties:
        if kind.type == "COLLECTION" and kind.identifier not in KINDS_ASIDE:
            for block in getattr(bpy.data, kind.identifier):
                where = f"{kind.identifier}/{_named(block)}"
                values[where] = "is there"
                values.update(_values(block, where, set()))
    values.update(_selection())
    return values


def differences(before: Snapshot, after: Snapshot) -> dict[str, tuple[Any, Any]]:
    """Where two snapshots differ -> what there was and is; None for nothing."""
    places = [*before, *(place for place in after if place not in before)]
    pairs = {place: (before.get(place), after.get(place)) for place in places}
    return {place: pair for place, pair in pairs.items() if not _same(*pair)}


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or repr(one) == repr(other) == "nan")


def _named(block: bpy.types.ID) -> str:
    return block.name + (f" of {block.library.name}" if block.library else "")


def _values(struct: Any, where: str, met: set[tuple[str, int]]) -> Iterator[tuple[str, Any]]:
    """The values of a struct and all that it owns; what was met before is named by its first place."""
    kind = struct.bl_rna.identifier
    mark = (kind, struct.as_pointer())
    if mark in met:
        return
    met.add(mark)
    aside = ANYWHERE.union(*(names for base, names in EVALUATED.items() if _is_a(struct, base)))
    for prop in struct.bl_rna.properties:
        name = prop.identifier
        if name in aside:
            continue
        place = f"{where}.{name}"
        value = getattr(struct, name)
        if prop.type == "POINTER":
            yield from _pointed(value, place, met)
        elif prop.type == "COLLECTION":
            for number, item in enumerate(value):
                yield from _pointed(item, f"{place}[{getattr(item, 'name', number)}]", met)
        else:
            yield place, _plain(value)
    if _is_a(struct, "Mesh"):
        yield f"{where}.places", _digest(struct)
    if isinstance(struct, bpy.types.ID | bpy.types.PoseBone | bpy.types.Bone):
        yield from ((f"{where}[{key!r}]", _custom(value)) for key, value in struct.items() if key != "knuckle")


def _pointed(value: Any, place: str, met: set[tuple[str, int]]) -> Iterator[tuple[str, Any]]:
    if value is None or (isinstance(value, bpy.types.ID) and not value.is_embedded_data):
        yield place, value and (type(value).__name__, _named(value))
    elif isinstance(value, bpy.types.ActionSlot) and not place.startswith("actions/"):
        yield place, value.identifier
    else:
        yield from _values(value, place, met)


def _is_a(struct: Any, kind: str) -> bool:
    return isinstance(struct, getattr(bpy.types, kind))


def _plain(value: Any) -> Any:
    if isinstance(value, str | int | float | bool | frozenset | set) or value is None:
        return value
    return np.array(value).ravel().tolist()


def _custom(value: Any) -> Any:
    """A custom property, groups and lists of groups too."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, bpy.types.ID):
        return _named(value)
    return [_custom(item) for item in value] if isinstance(value, list) else _plain(value)


def _digest(mesh: bpy.types.Mesh) -> str:
    places = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", places)
    return hashlib.sha256(places.tobytes()).hexdigest()


def _selection() -> Iterator[tuple[str, Any]]:
    context = bpy.context
    layer = context.view_layer
    yield "mode", context.mode
    yield "active", layer.objects.active and _named(layer.objects.active)
    for obj in layer.objects:
        yield f"selected/{_named(obj)}", obj.select_get()
        yield f"hidden/{_named(obj)}", obj.hide_get()
        yield f"mode/{_named(obj)}", obj.mode
