"""Drag a fingertip, a knuckle or the palm of a rig's hand with the mouse, or to a given position."""

from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import EnumProperty, FloatVectorProperty, StringProperty
from bpy_extras.view3d_utils import region_2d_to_location_3d, region_2d_to_origin_3d, region_2d_to_vector_3d
from mathutils import Vector
from numpy.typing import NDArray

from ..errors import KnuckleError
from ..hand.joints import CHAIN_JOINTS, KNUCKLES, digit_label, digit_of
from ..posing.dragging import DRAGGABLE, LABELS, WRIST, DragStep
from ..rig import detection_cache
from ..rig.posing.dragging import RigDrag, move, moved_bones, restore_pose, start_rig_drag
from ..rig.posing.pin_reach import pins_at_fingertips
from ..rig.posing.pinching import Pinching, pinching
from ..rig.posing.posable_cache import posable_hand_arm
from ..rig.posing.surface_contact import Padded, SurfaceHit, padded
from .auto_key import key_posed
from .drag_solver import solver_property
from .mouse_picking import nearest_on_screen, press_position, under_mouse
from .pin_properties import pins_of, update_pin
from .pins import touchable_objects
from .posed_hands import can_drag, named_armature
from .reports import report_message
from .rig_hands import SIDE_ITEMS
from .session import SESSION, DragTargets

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context, Event

Floats = NDArray[np.float64]

PRECISION = 0.1
"""Factor on the mouse's movement while Shift is held."""
MAX_OWN_SURFACES = 16
"""Maximum number of surfaces of the hand's meshes that a ray from the mouse passes through."""
KEYS = "Confirm: LMB, Enter     Cancel: RMB, Esc     Precision: Shift"
SURFACE_KEY = "     To a Surface: Ctrl"
PINCH_KEY = "     No Pinch: Alt"
PINCH_RADIUS = 12.0
"""Pixels at a UI scale of 1 between fingertips that pinch."""


def point_label(joint: str) -> str:
    """Return the label of a dragged joint: "Index Finger Tip"."""
    digit = digit_of(joint)
    if digit is None:
        return "Palm"
    part = (
        "Knuckle"
        if joint in KNUCKLES
        else ("First Joint", "Middle Joint", "Last Joint", "Tip")[CHAIN_JOINTS[digit].index(joint)]
    )
    return f"{digit_label(digit).title()} {part}"


class KNUCKLE_OT_drag_hand(bpy.types.Operator):
    """Drag a fingertip or a joint to bend its digit, a knuckle to rotate the hand, the palm to move the hand with its
    arm. Limits and pinned fingertips hold"""

    bl_idname = "knuckle.drag_hand"
    bl_label = "Drag Hand"
    bl_options = {"REGISTER", "UNDO", "BLOCKING"}

    armature: StringProperty(name="Armature", description="Armature of the hand. If empty, the active one")
    side: EnumProperty(name="Hand", description="Which hand", items=SIDE_ITEMS, default="right")
    joint: EnumProperty(
        name="Point",
        description="Point to drag",
        items=[(joint, point_label(joint), f"The {point_label(joint).lower()}") for joint in DRAGGABLE],
        options={"SKIP_SAVE"},
    )
    goal: FloatVectorProperty(
        name="Target", description="Position to drag it to, in world space", size=3, subtype="TRANSLATION", precision=4
    )
    # The scene's solver by default.
    solver: solver_property(options={"SKIP_SAVE"})

    @classmethod
    def poll(cls, context: "Context") -> bool:
        """Available in Pose Mode."""
        return can_drag(cls, context)

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Drag the point to the goal in one step."""
        try:
            drag = self._begin(context)
            move(drag, np.array(self.goal))
        except KnuckleError as error:
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return self._end(context, drag)

    def invoke(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Follow the mouse until its button is released."""
        if context.region is None or context.region.type != "WINDOW" or context.region_data is None:
            report_message(self, "ERROR", "Hands are dragged in a 3D view")
            return {"CANCELLED"}
        mouse = press_position(event)
        if not self.properties.is_property_set("joint"):
            target = under_mouse(context, mouse)
            if target is None:
                return {"PASS_THROUGH"}
            self.armature, self.side, self.joint = target[0].name, target[1], target[2]
        try:
            self._drag: RigDrag = self._begin(context)
            self._goal: Floats = self._drag.position
            self._step: DragStep | None = None
            self._padded: Padded | None = None
            self._pinching: Pinching | None = None
            self._pinches = ""
            self._mouse = mouse
            self._label = point_label(self.joint)
            self._follow(context, event)
        except KnuckleError as error:
            self._clear_texts(context)
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        self._button = event.type if event.value == "PRESS" else "LEFTMOUSE"
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, context: "Context", event: "Event") -> "set[OperatorReturnItems]":
        """Make a step for each movement of the mouse."""
        try:
            if event.type in ("ESC", "RIGHTMOUSE"):
                self.cancel(context)
                return {"CANCELLED"}
            if event.type in ("MOUSEMOVE", "LEFT_CTRL", "RIGHT_CTRL", "LEFT_ALT", "RIGHT_ALT"):
                self._follow(context, event)
            elif event.type in ("RET", "NUMPAD_ENTER") or (event.type == self._button and event.value == "RELEASE"):
                self._clear_texts(context)
                return self._end(context, self._drag)
        except KnuckleError as error:
            self.cancel(context)
            report_message(self, "ERROR", str(error))
            return {"CANCELLED"}
        return {"RUNNING_MODAL"}

    def cancel(self, context: "Context") -> None:
        """Restore the pose. Blender also calls this while it loads another file."""
        restore_pose(self._drag)
        self._clear_texts(context)

    def _begin(self, context: "Context") -> RigDrag:
        armature = named_armature(context, self.armature)
        self.armature = armature.name
        scene = context.scene.knuckle_posing
        if not self.properties.is_property_set("solver"):
            self.solver = scene.solver
        hand_arm = posable_hand_arm(armature, self.side)
        pins = pins_at_fingertips(hand_arm.rig_hand, pins_of(armature, self.side))
        return start_rig_drag(hand_arm, self.joint, pins, coupled=scene.dip_lock, solver=self.solver)

    def _follow(self, context: "Context", event: "Event") -> None:
        mouse = event.mouse_region_x, event.mouse_region_y
        old_point, new_point = (self._at_goal_depth(context, point) for point in (self._mouse, mouse))
        self._goal = self._goal + (PRECISION if event.shift else 1.0) * (new_point - old_point)
        self._mouse = mouse
        surface = self._surface(context) if event.ctrl and self.joint != WRIST else None
        pinch = None if event.ctrl or event.alt else self._pinched(context)
        if pinch is not None:
            self._step, goal = pinch
        elif surface is None:
            direction = self._view_direction(context)
            self._step = move(self._drag, self._goal, self._step, direction)
            goal = self._drag.drag.reached(self._step, self._goal, direction)
        else:
            if self._padded is None:
                hand = detection_cache.usable_hand(named_armature(context, self.armature), self.side)
                self._padded = padded(self._drag, hand)
            self._step, goal = self._padded.lay(surface, self._step)
        SESSION.drag_targets = DragTargets(self.armature, self.side, self._drag.drag.tip_targets(self._step))
        self.goal = goal.tolist()
        self._show_texts(context)

    def _at_goal_depth(self, context: "Context", point: tuple[int, int]) -> Floats:
        """Return (3,) m in the world, a point of the view in pixels at the depth of the goal."""
        depth = Vector(self._goal.tolist())
        return np.array(region_2d_to_location_3d(context.region, context.region_data, point, depth))

    def _view_direction(self, context: "Context") -> Floats:
        """Return (3,) unit vector in the world, along which the goal is seen."""
        view: Any = context.region_data
        eye = np.array(view.view_matrix.inverted())
        direction: Floats = self._goal - eye[:3, 3] if view.is_perspective else eye[:3, 2]
        return direction / np.linalg.norm(direction)

    def _pinched(self, context: "Context") -> tuple[DragStep, Floats] | None:
        """Return the step with the fingertip on the one under the mouse, and its goal; None if there is none."""
        self._pinches = ""
        if not self.joint.endswith("-tip"):
            return None
        if self._pinching is None:
            hand = detection_cache.usable_hand(named_armature(context, self.armature), self.side)
            self._pinching = pinching(self._drag, hand)
        positions = {digit: tip.position for digit, tip in self._pinching.others.items()}
        digit = nearest_on_screen(context, self._goal, positions, PINCH_RADIUS)
        if digit is None:
            return None
        pinch = self._pinching.pinch(digit, self._goal, self._view_direction(context), self._step)
        self._pinches = f"Pinch: {digit_label(digit).capitalize()}   " if pinch else ""
        return pinch

    def _surface(self, context: "Context") -> SurfaceHit | None:
        """Return the first surface under the mouse that does not belong to the hand."""
        graph = context.evaluated_depsgraph_get()
        origin = region_2d_to_origin_3d(context.region, context.region_data, self._mouse)
        direction: Any = region_2d_to_vector_3d(context.region, context.region_data, self._mouse)
        allowed = set(touchable_objects(context, named_armature(context, self.armature)))
        for _ in range(MAX_OWN_SURFACES):
            hit, position, normal, _, obj, matrix = context.scene.ray_cast(graph, origin, direction)
            if not hit:
                return None
            if obj.original in allowed:
                outwards = normal if normal.dot(direction) < 0 else -normal
                return SurfaceHit(obj.original, matrix, np.array(position), np.array(outwards))
            origin = position + 1e-4 * direction
        return None

    def _end(self, context: "Context", drag: RigDrag) -> "set[OperatorReturnItems]":
        """Key the bones that moved. If none did, cancel, so that no undo step is made."""
        rotated_bones, placed_bones = moved_bones(drag)
        if not rotated_bones:
            restore_pose(drag)
            return {"CANCELLED"}
        armature, digit = named_armature(context, self.armature), digit_of(self.joint)
        context.view_layer.update()
        if digit is not None and self.joint == CHAIN_JOINTS[digit][-1]:
            update_pin(armature, drag.hand_arm.rig_hand, digit)
        key_posed(context, armature, rotated_bones, placed_bones)
        return {"FINISHED"}

    def _show_texts(self, context: "Context") -> None:
        offset = np.array(self.goal) - self._drag.position
        components = "   ".join(
            f"D{axis}: {_length(context, component)}" for axis, component in zip("xyz", offset, strict=True)
        )
        if context.area:
            distance = _length(context, float(np.linalg.norm(offset)))
            context.area.header_text_set(
                f"{self._label}   {components}   ({distance})   {self._pinches}Solver: {LABELS[self.solver].name}"
            )
        surface, pinch = self.joint != WRIST, self.joint.endswith("-tip")
        context.workspace.status_text_set(KEYS + SURFACE_KEY * surface + PINCH_KEY * pinch)

    def _clear_texts(self, context: "Context") -> None:
        SESSION.drag_targets = None
        if context.area:
            context.area.header_text_set(None)
        if context.workspace:
            context.workspace.status_text_set(None)


def _length(context: "Context", metres: float) -> str:
    """Return a length in the scene's units."""
    units = context.scene.unit_settings
    if units.system == "NONE":
        return f"{metres:.4f}"
    text: str = bpy.utils.units.to_string(units.system, "LENGTH", metres * units.scale_length, precision=4)
    return text


CLASSES = (KNUCKLE_OT_drag_hand,)
