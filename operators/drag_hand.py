"""Dragging a fingertip, a knuckle or the palm of a rig's hand by the mouse; and to a place, from scripts and redo."""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import EnumProperty, FloatVectorProperty, StringProperty
from bpy_extras.view3d_utils import region_2d_to_location_3d, region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector
from numpy.typing import NDArray

from ..errors import KnuckleError
from ..hand.joints import CHAIN_JOINTS, KNUCKLES, digit_label, digit_of
from ..posing.algebra_shapes import watched_solve
from ..posing.dragging import DRAGGABLE, LABELS, WRIST, DragStep
from ..rig import detection_cache
from ..rig.posing.dragging import RigDrag, begin, move, moved_bones, put_back
from ..rig.posing.pin_reach import as_they_stand
from ..rig.posing.posable_cache import held_follower
from ..rig.posing.surface_contact import Padded, SurfaceHit, padded
from .auto_key import key_posed
from .drag_solver import solver_property
from .mouse_picking import pressed_at, under_mouse
from .pin_properties import pin_again, pins_of
from .pins import others
from .posed_hands import can_drag, named_armature
from .rig_hands import SIDE_ITEMS

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event, Object

Floats = NDArray[np.float64]

PRECISION = 0.1
"""Of the mouse's way while Shift is held."""
THROUGH = 16
"""Surfaces of the hand's own that the mouse looks through."""
KEYS = "Confirm: LMB, Enter     Cancel: RMB, Esc     Precision: Shift"
ONTO = "     To a Surface: Ctrl"


def joint_words(joint: str) -> str:
    """What is dragged, as a person calls it: "Index finger's tip"."""
    digit = digit_of(joint)
    if digit is None:
        return "Palm"
    part = (
        "knuckle"
        if joint in KNUCKLES
        else ("first joint", "middle joint", "last joint", "tip")[CHAIN_JOINTS[digit].index(joint)]
    )
    return f"{digit_label(digit).capitalize()}'s {part}"


class KNUCKLE_OT_drag_hand(bpy.types.Operator):
    """Drag a fingertip or a joint and the digit follows; a knuckle, and the hand turns; the palm, and the hand comes
    along with its arm. Limits hold, and so do pinned fingertips"""

    bl_idname = "knuckle.drag_hand"
    bl_label = "Drag Hand"
    bl_options = {"REGISTER", "UNDO", "BLOCKING"}

    armature: StringProperty(name="Armature", description="Whose hand it is; empty: the active one's")
    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, default="right")
    joint: EnumProperty(
        name="Point",
        description="What is dragged",
        items=[(joint, joint_words(joint), f"The {joint}") for joint in DRAGGABLE],
        options={"SKIP_SAVE"},
    )
    goal: FloatVectorProperty(
        name="To", description="Where it is dragged, in the world", size=3, subtype="TRANSLATION", precision=4
    )
    # The scene's choice, unless one is named.
    solver: solver_property(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """In Pose Mode."""
        return can_drag(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """At once to the goal."""
        try:
            dragged = self._begin(context)
            move(dragged, np.array(self.goal))
        except KnuckleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return self._end(context, dragged)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Follows the mouse until its button is let go."""
        if context.region is None or context.region.type != "WINDOW" or context.region_data is None:
            self.report({"ERROR"}, "Hands are dragged in a 3D view")
            return {"CANCELLED"}
        mouse = pressed_at(event)
        if not self.properties.is_property_set("joint"):
            found = under_mouse(context, mouse)
            if found is None:
                return {"PASS_THROUGH"}
            self.armature, self.side, self.joint = found[0].name, found[1], found[2]
        try:
            self._dragged: RigDrag = self._begin(context)
            self._goal: Floats = self._dragged.position
            self._step: DragStep | None = None
            self._padded: Padded | None = None
            self._mouse = mouse
            self._follow(context, event)
        except KnuckleError as error:
            self._untell(context)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        self._button = event.type if event.value == "PRESS" else "LEFTMOUSE"
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """A step for each move of the mouse."""
        try:
            if event.type in ("ESC", "RIGHTMOUSE"):
                self.cancel(context)
                return {"CANCELLED"}
            if event.type in ("MOUSEMOVE", "LEFT_CTRL", "RIGHT_CTRL"):
                self._follow(context, event)
            elif event.type in ("RET", "NUMPAD_ENTER") or (event.type == self._button and event.value == "RELEASE"):
                self._untell(context)
                return self._end(context, self._dragged)
        except KnuckleError as error:
            self.cancel(context)
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        return {"RUNNING_MODAL"}

    def cancel(self, context: "Context") -> None:
        """All as it was. Blender also calls this while it loads another file."""
        put_back(self._dragged)
        self._untell(context)

    def _begin(self, context: "Context") -> RigDrag:
        armature = named_armature(context, self.armature)
        self.armature = armature.name
        scene = context.scene.knuckle_posing
        if not self.properties.is_property_set("solver"):
            self.solver = scene.solver
        who = held_follower(armature, self.side)
        pins = as_they_stand(who.held, pins_of(armature, self.side))
        return begin(who, self.joint, pins, coupled=scene.dip_lock, solver=self.solver)

    def _follow(self, context: "Context", event: "Event") -> None:
        mouse = event.mouse_region_x, event.mouse_region_y
        before, now = (self._in_depth(context, spot) for spot in (self._mouse, mouse))
        self._goal = self._goal + (PRECISION if event.shift else 1.0) * (now - before)
        self._mouse = mouse
        armature, goal = named_armature(context, self.armature), self._goal
        surface = _surface(context, armature, mouse) if event.ctrl and self.joint != WRIST else None
        if surface is None:
            self._step = move(self._dragged, goal, self._step)
        else:
            self._padded = self._padded or padded(self._dragged, detection_cache.found(armature, self.side))
            self._step, goal = self._padded.lay(surface, self._step)
        watched_solve.watch(self.armature, self.side, self._dragged.drag.tip_targets(self._step))
        self.goal = goal.tolist()
        self._tell(context)

    def _in_depth(self, context: "Context", spot: tuple[int, int]) -> Floats:
        """(3,) m in the world, what is at a point of the view as far away as what is dragged."""
        depth = Vector(self._goal.tolist())
        return np.array(region_2d_to_location_3d(context.region, context.region_data, spot, depth))

    def _end(self, context: "Context", dragged: RigDrag) -> "set[OperatorReturnItems]":
        """Keys what was moved. Where nothing was, there is nothing to undo."""
        moved, placed = moved_bones(dragged)
        if not moved:
            put_back(dragged)
            return {"CANCELLED"}
        armature, digit = named_armature(context, self.armature), digit_of(self.joint)
        context.view_layer.update()
        if digit is not None and self.joint == CHAIN_JOINTS[digit][-1]:
            pin_again(armature, dragged.follower.held, digit)
        key_posed(context, armature, moved, placed)
        return {"FINISHED"}

    def _tell(self, context: "Context") -> None:
        way = np.array(self.goal) - self._dragged.position
        along = "   ".join(f"D{axis}: {_length(context, part)}" for axis, part in zip("xyz", way, strict=True))
        if context.area:
            by = f"Solver: {LABELS[self.solver].name}"
            context.area.header_text_set(
                f"{joint_words(self.joint)}   {along}   ({_length(context, _size(way))})   {by}"
            )
        context.workspace.status_text_set(KEYS if self.joint == WRIST else KEYS + ONTO)

    def _untell(self, context: "Context") -> None:
        watched_solve.forget()
        if context.area:
            context.area.header_text_set(None)
        if context.workspace:
            context.workspace.status_text_set(None)


def _size(way: Floats) -> float:
    return float(np.linalg.norm(way))


def _length(context: "Context", metres: float) -> str:
    """A length in the scene's units."""
    units = context.scene.unit_settings
    if units.system == "NONE":
        return f"{metres:.4f}"
    told: str = bpy.utils.units.to_string(units.system, "LENGTH", metres * units.scale_length, precision=4)
    return told


def _surface(context: "Context", armature: "Object", spot: tuple[int, int]) -> SurfaceHit | None:
    """The first surface under the mouse that is not the hand's own."""
    graph = context.evaluated_depsgraph_get()
    origin = region_2d_to_origin_3d(context.region, context.region_data, spot)
    along: Any = region_2d_to_vector_3d(context.region, context.region_data, spot)
    allowed = set(others(context, armature))
    for _ in range(THROUGH):
        hit, place, normal, _, obj, matrix = context.scene.ray_cast(graph, origin, along)
        if not hit:
            return None
        if obj.original in allowed:
            up = normal if normal.dot(along) < 0 else -normal
            return SurfaceHit(obj.original, matrix, np.array(place), np.array(up))
        origin = place + 1e-4 * along
    return None


CLASSES = (KNUCKLE_OT_drag_hand,)
