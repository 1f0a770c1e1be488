"""The node group that shows the current row of a mesh with all rows of a capture's markers.

The mesh has R rows of M vertices. In every frame the group finds the current row, takes its M positions and puts a
small ball on each. It is plain Geometry Nodes, so it plays back without Knuckle and in renders.
"""

from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from bpy.types import GeometryNodeTree, NodeTree

NAME = "Knuckle Markers"

INPUTS: tuple[tuple[str, str, float, str], ...] = (
    ("Markers", "NodeSocketInt", 0, "Number of markers in a row"),
    ("Start", "NodeSocketFloat", 1.0, "Frame on which the first row is shown"),
    ("Rows per Frame", "NodeSocketFloat", 1.0, "Rows of the capture per frame of the scene"),
    ("Size", "NodeSocketFloat", 0.008, "Diameter of a marker in metres"),
)
MATERIALS = ("Measured", "Predicted")


class _Builder:
    """Adds nodes to a tree; an input that is a socket becomes a link."""

    def __init__(self, tree: "GeometryNodeTree") -> None:
        self.tree = tree

    def node(self, kind: str, *inputs: Any, **settings: Any) -> Any:
        """Add a node, set its first inputs in order (None skips one), and return its outputs."""
        node = self.tree.nodes.new(kind)
        for name, value in settings.items():
            setattr(node, name, value)
        sockets = [socket for socket in node.inputs if socket.enabled]
        for socket, value in zip(sockets, inputs, strict=False):
            if isinstance(value, bpy.types.NodeSocket):
                self.tree.links.new(value, socket)
            elif value is not None:
                socket.default_value = value
        return [socket for socket in node.outputs if socket.enabled]

    def math(self, operation: str, *inputs: Any) -> Any:
        return self.node("ShaderNodeMath", *inputs, operation=operation)[0]

    def whole(self, operation: str, *inputs: Any) -> Any:
        return self.node("FunctionNodeIntegerMath", *inputs, operation=operation)[0]


def marker_nodes() -> "GeometryNodeTree":
    """Return the node group, made if the file has none with these inputs."""
    for found in bpy.data.node_groups:
        if found.name.startswith(NAME) and isinstance(found, bpy.types.GeometryNodeTree) and shows_markers(found):
            return found
    tree = bpy.data.node_groups.new(NAME, "GeometryNodeTree")
    assert isinstance(tree, bpy.types.GeometryNodeTree)
    tree.is_modifier = True
    tree.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    tree.interface.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    for name, kind, value, description in INPUTS:
        socket = tree.interface.new_socket(name, in_out="INPUT", socket_type=kind)
        socket.default_value = int(value) if kind == "NodeSocketInt" else value
        socket.description = description
        if name == "Size":
            socket.subtype = "DISTANCE"
    for name in MATERIALS:
        tree.interface.new_socket(name, in_out="INPUT", socket_type="NodeSocketMaterial")
    _build(_Builder(tree))
    _lay_out(tree)
    return tree


def shows_markers(tree: "NodeTree") -> bool:
    """Return whether a node group has the inputs of this one: the user has not changed it beyond use."""
    return {name for name, *_ in INPUTS} | set(MATERIALS) <= input_identifiers(tree).keys()


def input_identifiers(tree: "NodeTree") -> dict[str, str]:
    """Return input of a node group -> its identifier."""
    sockets = tree.interface.items_tree
    return {str(socket.name): str(socket.identifier) for socket in sockets if getattr(socket, "in_out", "") == "INPUT"}


def _build(b: _Builder) -> None:
    rows, count, start, per_frame, size, measured, predicted = b.node("NodeGroupInput")[:7]
    points, nearest = _current_row(b, rows, count, start, per_frame)
    balls = [_ball(b, size, material) for material in (measured, predicted)]
    joined = b.node("GeometryNodeGeometryToInstance")[0].node
    for ball in reversed(balls):
        b.tree.links.new(ball, joined.inputs[0])
    is_predicted = b.math("SUBTRACT", nearest, 1.0)
    instances = b.node("GeometryNodeInstanceOnPoints", points, None, joined.outputs[0], True, is_predicted)[0]
    # Instances alone have no bounds; realized, the object can be framed and selected.
    b.node("NodeGroupOutput", b.node("GeometryNodeRealizeInstances", instances)[0])


def _ball(b: _Builder, size: Any, material: Any) -> Any:
    ball = b.node("GeometryNodeMeshIcoSphere", b.math("MULTIPLY", size, 0.5), 2)[0]
    ball = b.node("GeometryNodeSetShadeSmooth", ball)[0]
    return b.node("GeometryNodeSetMaterial", ball, None, material)[0]


def _current_row(b: _Builder, rows: Any, count: Any, start: Any, per_frame: Any) -> tuple[Any, Any]:
    """Return the markers as points, interpolated between two rows that both have the marker, and their states."""
    size = b.node("GeometryNodeAttributeDomainSize", rows)[0]
    last = b.whole("SUBTRACT", b.whole("DIVIDE", size, b.whole("MAXIMUM", count, 1)), 1)
    frame = b.node("GeometryNodeInputSceneTime")[1]
    row = b.math("MULTIPLY", b.math("SUBTRACT", frame, start), per_frame)
    # A frame on a row may miss it by a rounding error; adding a thousandth of a row corrects that.
    lower = b.math("FLOOR", b.math("ADD", row, 0.001))
    fraction = b.math("MAXIMUM", b.math("SUBTRACT", row, lower), 0.0)
    second_nearer = b.math("GREATER_THAN", fraction, 0.5)
    index = b.node("GeometryNodeInputIndex")[0]
    position = b.node("GeometryNodeInputPosition")[0]
    state = b.node("GeometryNodeInputNamedAttribute", "state", data_type="INT")[0]
    positions, states = [], []
    for offset in (0.0, 1.0):
        clamped = b.math("MINIMUM", b.math("MAXIMUM", b.math("ADD", lower, offset), 0.0), last)
        sample_index = b.whole("ADD", b.whole("MULTIPLY", clamped, count), index)
        positions.append(b.node("GeometryNodeSampleIndex", rows, position, sample_index, data_type="FLOAT_VECTOR")[0])
        states.append(b.node("GeometryNodeSampleIndex", rows, state, sample_index, data_type="INT")[0])
    least_state = b.math("MINIMUM", *states)
    both_known = b.math("GREATER_THAN", least_state, 0.5)
    blend = b.node("GeometryNodeSwitch", both_known, second_nearer, fraction, input_type="FLOAT")[0]
    blended_position = b.node("ShaderNodeMix", blend, *positions, data_type="VECTOR")[0]
    nearest = b.node("GeometryNodeSwitch", second_nearer, *states, input_type="INT")[0]
    points = b.node("GeometryNodePoints", count, blended_position)[0]
    nearest_on_points = b.node("GeometryNodeStoreNamedAttribute", points, None, "state", nearest, data_type="INT")[0]
    before = b.math("LESS_THAN", row, -0.001)
    after = b.math("GREATER_THAN", row, b.math("ADD", last, 0.001))
    missing = b.math("LESS_THAN", state, 0.5)
    hidden = b.math("MAXIMUM", missing, b.math("MAXIMUM", before, after))
    visible = b.node("GeometryNodeDeleteGeometry", nearest_on_points, hidden)[0]
    return visible, state


def _lay_out(tree: "GeometryNodeTree") -> None:
    """Arrange the nodes in columns by their distance from the input, for users who open the group."""
    column: dict[str, int] = {node.name: 0 for node in tree.nodes}
    for _ in tree.nodes:
        for link in tree.links:
            column[link.to_node.name] = max(column[link.to_node.name], column[link.from_node.name] + 1)
    filled: dict[int, int] = {}
    for node in tree.nodes:
        index = column[node.name]
        node.location = (200 * index, -220 * filled.get(index, 0))
        filled[index] = filled.get(index, 0) + 1
