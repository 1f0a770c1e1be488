"""The markers of a capture as one object that plays in the viewport."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..capture.markers import Markers
from ..errors import RigError
from ..pipeline.capture_transform import CaptureTransform, transform_of
from .marker_nodes import NAME, input_identifiers, marker_nodes, shows_markers
from .marker_rows import MISSING, PREDICTED, MarkerRows, marker_rows, sampled

if TYPE_CHECKING:
    from bpy.types import Collection, Material, Modifier, Object

Floats = NDArray[np.float64]

CAPTURE_PROPERTY = "knuckle_capture"
"""Custom property that makes an object a capture's markers; it holds the data that the panel shows about them."""

DESCRIBED = frozenset(
    ("source", "format", "frames", "rate", "unit", "first", "duration", "names", "gaps", "warnings", "row_rate")
)
"""Keys of that property, among others."""

COLOURS = {"Knuckle Measured": (1.0, 0.32, 0.05, 1.0), "Knuckle Predicted": (0.28, 0.42, 1.0, 1.0)}


def add_markers(
    markers: Markers, name: str, collection: "Collection", *, start: float, rate: float, size: float = 0.008
) -> "Object":
    """Add an object that shows the markers, the first at scene frame `start` in a scene of `rate` frames per second.

    size: a marker's diameter in m.
    """
    rows = marker_rows(markers)
    obj = bpy.data.objects.new(name, bpy.data.meshes.new(name))
    collection.objects.link(obj)
    # Markers of joints are inside the skin.
    obj.show_in_front = True
    obj.modifiers.new(NAME, "NODES").node_group = marker_nodes()
    for slot, material in zip(("Measured", "Predicted"), COLOURS, strict=True):
        obj.data.materials.append(_material(material))
        set_input(obj, slot, bpy.data.materials[material])
    set_markers(obj, markers, rows)
    set_input(obj, "Size", size)
    set_timing(obj, start, rate)
    return obj


def set_markers(obj: "Object", markers: Markers, rows: MarkerRows | None = None) -> None:
    """Fill a markers object with positions and a description of `markers`. Raises RigError if it is being edited."""
    rows = rows or marker_rows(markers)
    mesh = obj.data
    if mesh.is_editmode:
        raise RigError(f"markers '{obj.name}' are being edited, leave Edit Mode first")
    mesh.clear_geometry()
    mesh.vertices.add(rows.states.size)
    mesh.vertices.foreach_set("co", rows.positions.astype(np.float32).ravel())
    mesh.attributes.new("state", "INT8", "POINT").data.foreach_set("value", rows.states.ravel())
    mesh.update()
    set_input(obj, "Markers", rows.states.shape[1])
    obj[CAPTURE_PROPERTY] = describe(markers) | {"row_rate": rows.rate}


def describe(markers: Markers) -> dict[str, Any]:
    """Return the data about a capture that the panel shows, as a custom property."""
    return {
        "source": markers.source,
        "format": markers.format,
        "frames": len(markers.times),
        "rate": float(markers.rate),
        "unit": markers.unit,
        "first": float(markers.times[0]) if len(markers.times) else 0.0,
        "duration": markers.duration,
        "names": list(markers.names),
        "gaps": float(1.0 - markers.seen.mean()) if markers.seen.size else 0.0,
        "warnings": list(markers.warnings),
    }


def set_timing(obj: "Object", start: float, rate: float) -> None:
    """Put the first frame of the capture at scene frame `start` in a scene of `rate` frames per second."""
    set_input(obj, "Start", float(start))
    set_input(obj, "Rows per Frame", float(obj[CAPTURE_PROPERTY]["row_rate"] / rate))


def show_mirrored(obj: "Object", mirror: bool) -> None:
    """Show the capture mirrored in X or not, to match its solved hands; the data do not change."""
    obj.scale.x = abs(obj.scale.x) * (-1.0 if mirror else 1.0)


def set_transform(obj: "Object", transform: CaptureTransform, *, mirror: bool) -> None:
    """Place a markers object in the scene, and show it mirrored or not."""
    obj.matrix_world = Matrix(transform.matrix().tolist())
    show_mirrored(obj, mirror)


def transform_in_scene(obj: "Object") -> CaptureTransform:
    """Return the transform of a markers object on the scene's frame. Raises RecipeError if it is scaled unevenly."""
    # Objects moved since the last redraw, by a script or an operator, are not evaluated yet.
    bpy.context.view_layer.update()
    matrix = np.array(obj.matrix_world, float)
    if np.linalg.det(matrix[:3, :3]) < 0:  # it is shown mirrored
        matrix[:, 0] *= -1.0
    return transform_of(matrix, f"the markers '{obj.name}'")


def is_markers(obj: "Object | None") -> bool:
    """Return whether an object shows the markers of a capture, with description, points and modifier as add_markers
    made them.
    """
    if obj is None or obj.type != "MESH" or "state" not in obj.data.attributes or _modifier(obj) is None:
        return False
    described = obj.get(CAPTURE_PROPERTY)
    return hasattr(described, "keys") and set(described.keys()) >= DESCRIBED


def show_solved(obj: "Object", markers: Markers) -> None:
    """Show the markers that cleaning filled in as predicted, in the rows that were solved.

    Rows outside the solved range do not change. Nothing changes if the object is being edited, or if its labels or
    points are not those of `markers`.
    """
    if obj.data.is_editmode:
        return
    capture, count = obj[CAPTURE_PROPERTY], len(markers.names)
    if list(capture["names"]) != list(markers.names) or not len(markers.times) or len(obj.data.vertices) % count:
        return
    times = capture["first"] + np.arange(len(obj.data.vertices) // count) / capture["row_rate"]
    solved = np.flatnonzero((times >= markers.times[0] - 1e-6) & (times <= markers.times[-1] + 1e-6))
    solved_positions, solved_states = sampled(markers, times[solved], np.inf)
    positions, states = _read(obj, count)
    filled = solved_states == PREDICTED
    positions[solved] = np.where(filled[..., None], solved_positions, positions[solved])
    states[solved] = np.where(filled, PREDICTED, states[solved])
    obj.data.vertices.foreach_set("co", positions.ravel())
    obj.data.attributes["state"].data.foreach_set("value", states.ravel())
    obj.data.update()


def _read(obj: "Object", count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (R, M, 3) m and their states (R, M)."""
    positions = np.empty(3 * len(obj.data.vertices), np.float32)
    states = np.empty(len(obj.data.vertices), np.int8)
    obj.data.vertices.foreach_get("co", positions)
    obj.data.attributes["state"].data.foreach_get("value", states)
    return positions.reshape(-1, count, 3), states.reshape(-1, count)


def positions_at(obj: "Object", frame: float) -> Floats:
    """Return the positions (M, 3) m in the world of the markers that an object shows on a frame, NaN for markers not
    shown.

    All are NaN while it is being edited: attributes of its mesh are empty then.
    """
    count = len(obj[CAPTURE_PROPERTY]["names"])
    if obj.data.is_editmode:
        return np.full((count, 3), np.nan)
    last = len(obj.data.vertices) // count - 1
    row = (frame - get_input(obj, "Start")) * get_input(obj, "Rows per Frame")
    if not -0.001 <= row <= last + 0.001:
        return np.full((count, 3), np.nan)
    # As in the node group: interpolate between two rows that both have the marker, else use the nearer row.
    lower = min(max(int(row + 0.001), 0), last)
    before, after = (_row(obj, index, count) for index in (lower, min(lower + 1, last)))
    fraction = max(row - lower, 0.0)
    nearer = after if fraction > 0.5 else before
    between = before * (1 - fraction) + after * fraction
    matrix = np.array(obj.matrix_world)
    local: Floats = np.where(np.isfinite(between), between, nearer)
    world: Floats = local @ matrix[:3, :3].T + matrix[:3, 3]
    return world


def _row(obj: "Object", row: int, count: int) -> Floats:
    """Return the markers of a row in the object's space: (M, 3) m, NaN where missing."""
    vertices, states = obj.data.vertices, obj.data.attributes["state"].data
    indices = range(row * count, (row + 1) * count)
    seen = np.array([states[index].value != MISSING for index in indices])
    return np.where(seen[:, None], np.array([vertices[index].co for index in indices]), np.nan)


def _modifier(obj: "Object") -> "Modifier | None":
    """Return the modifier that shows the markers, None if it was removed or has other nodes."""
    nodes = (modifier for modifier in obj.modifiers if modifier.type == "NODES" and modifier.node_group)
    return next((modifier for modifier in nodes if shows_markers(modifier.node_group)), None)


def _shown_by(obj: "Object", name: str) -> "tuple[Modifier, str]":
    """Return the modifier of an object that is_markers, and the identifier of an input."""
    modifier = _modifier(obj)
    assert modifier is not None
    return modifier, input_identifiers(modifier.node_group)[name]


def set_input(obj: "Object", name: str, value: object) -> None:
    """Set an input of the node group: Start, Rows per Frame, Size, ..."""
    modifier, identifier = _shown_by(obj, name)
    # Since Blender 5.2 the inputs are properties; before, they were custom properties of the modifier.
    if hasattr(modifier, "properties"):
        getattr(modifier.properties.inputs, identifier).value = value
    else:
        modifier[identifier] = value
    obj.update_tag()


def get_input(obj: "Object", name: str) -> Any:
    """Return the value of an input of the node group."""
    modifier, identifier = _shown_by(obj, name)
    if hasattr(modifier, "properties"):
        return getattr(modifier.properties.inputs, identifier).value
    return modifier[identifier]


def size_property(obj: "Object") -> tuple[Any, str]:
    """Return the data and property name of the markers' size, for a panel."""
    modifier, identifier = _shown_by(obj, "Size")
    if hasattr(modifier, "properties"):
        return getattr(modifier.properties.inputs, identifier), "value"
    return modifier, f'["{identifier}"]'


def _material(name: str) -> "Material":
    """Return a material with its colour in the viewport and in renders, made if the file has none."""
    if name in bpy.data.materials:
        return bpy.data.materials[name]
    material = bpy.data.materials.new(name)
    if bpy.app.version < (5, 0, 0):  # since 5.0 every material has nodes
        material.use_nodes = True
    material.diffuse_color = COLOURS[name]
    material.node_tree.nodes["Principled BSDF"].inputs["Base Color"].default_value = COLOURS[name]
    return material


def object_name(markers: Markers) -> str:
    """Return the name of a capture's object: its file name without the suffix."""
    return Path(markers.source).stem or "Markers"
