"""Everything that Blender is told of when the extension is switched on, and forgets when it is switched off."""

from itertools import chain
from typing import Any

import bpy

from .operators import (
    add_hand,
    calibrate,
    calibration_settings,
    fit_range,
    import_capture,
    json_files,
    limits,
    live,
    live_following,
    live_settings,
    live_takes,
    pick_bone,
    posing_algebra,
    posing_at_once,
    posing_drag,
    posing_follow,
    posing_grasp,
    posing_pinned,
    posing_pins,
    posing_poses,
    posing_sliders,
    rig_hands,
    rig_properties,
    settings,
    solve,
    solver_settings,
)
from .panels import algebra_overlay, overlay, posing_gizmos, posing_tool, sidebar
from .panels import calibrate as calibrate_panel
from .panels import live as live_panel
from .panels import posing_algebra as algebra_panel
from .panels import posing_follow as follow_panel
from .panels import posing_grasp as grasp_panel
from .panels import posing_pins as pins_panel
from .panels import posing_poses as poses_panel
from .panels import posing_sliders as posing_panel
from .panels import rig_hands as rig_hands_panel

CLASSES: tuple[type, ...] = (
    *chain.from_iterable(solver_settings.CLASSES.values()),
    settings.KnuckleSettings,
    settings.KnuckleStatus,
    calibration_settings.KnuckleCalibration,
    rig_properties.KnuckleLeftHand,
    rig_properties.KnuckleRightHand,
    rig_properties.KnuckleRig,
    live_settings.KnucklePerson,
    live_settings.KnuckleTake,
    live_settings.KnuckleLive,
    posing_sliders.KnucklePosing,
    posing_pinned.KnucklePin,
    posing_pins.KNUCKLE_OT_pin_fingertip,
    posing_pins.KNUCKLE_OT_unpin_fingertip,
    posing_pins.KNUCKLE_OT_unpin_all,
    posing_pins.KNUCKLE_OT_reach_pins,
    posing_drag.KNUCKLE_OT_drag_hand,
    posing_gizmos.KNUCKLE_GGT_hand,
    import_capture.KNUCKLE_OT_import_capture,
    import_capture.KNUCKLE_FH_capture,
    add_hand.KNUCKLE_OT_add_hand,
    calibrate.KNUCKLE_OT_calibrate,
    json_files.KNUCKLE_OT_load_performer,
    json_files.KNUCKLE_OT_save_performer,
    json_files.KNUCKLE_OT_load_markers,
    json_files.KNUCKLE_OT_load_recipe,
    json_files.KNUCKLE_OT_save_recipe,
    json_files.KNUCKLE_OT_export_report,
    json_files.KNUCKLE_OT_forget,
    limits.KNUCKLE_OT_add_limits,
    limits.KNUCKLE_OT_remove_limits,
    pick_bone.KNUCKLE_OT_pick_bone,
    rig_hands.KNUCKLE_OT_flip_digit,
    rig_hands.KNUCKLE_OT_mirror_hand,
    rig_hands.KNUCKLE_OT_keep_hand,
    rig_hands.KNUCKLE_OT_detect_again,
    rig_hands.KNUCKLE_OT_load_mapping,
    rig_hands.KNUCKLE_OT_save_mapping,
    rig_hands.KNUCKLE_OT_select_bones,
    solve.KNUCKLE_OT_solve,
    solver_settings.KNUCKLE_OT_reset_settings,
    fit_range.KNUCKLE_OT_fit_range,
    live.KNUCKLE_OT_live_start,
    live.KNUCKLE_OT_live_stop,
    live.KNUCKLE_OT_live_recentre,
    live.KNUCKLE_OT_live_measure,
    live_takes.KNUCKLE_OT_live_record,
    live_takes.KNUCKLE_OT_live_forget_take,
    live.KNUCKLE_OT_live_forget_performer,
    posing_at_once.KNUCKLE_OT_pose_mirror,
    posing_at_once.KNUCKLE_OT_pose_relax,
    posing_at_once.KNUCKLE_OT_pose_reset,
    posing_at_once.KNUCKLE_OT_pose_select,
    posing_poses.KNUCKLE_OT_apply_hand_pose,
    posing_poses.KNUCKLE_OT_add_hand_poses,
    sidebar.KNUCKLE_PT_capture,
    sidebar.KNUCKLE_PT_hand,
    calibrate_panel.KNUCKLE_PT_calibrate,
    sidebar.KNUCKLE_PT_solve,
    rig_hands_panel.KNUCKLE_PT_rig_hands,
    sidebar.KNUCKLE_MT_recipe,
    sidebar.KNUCKLE_PT_result,
    live_panel.KNUCKLE_UL_takes,
    live_panel.KNUCKLE_PT_live,
    live_panel.KNUCKLE_PT_live_takes,
    posing_follow.KnuckleFollow,
    posing_follow.KNUCKLE_OT_touch,
    posing_follow.KNUCKLE_OT_follow,
    posing_grasp.KnuckleGrasp,
    posing_grasp.KNUCKLE_OT_grasp,
    posing_grasp.KNUCKLE_OT_let_go,
    posing_panel.KNUCKLE_PT_posing,
    poses_panel.KNUCKLE_PT_hand_poses,
    pins_panel.KNUCKLE_PT_pins,
    follow_panel.KNUCKLE_PT_follow,
    grasp_panel.KNUCKLE_PT_grasp,
    posing_algebra.KnuckleAlgebra,
    algebra_panel.KNUCKLE_PT_algebra,
)

MENUS = (
    (bpy.types.TOPBAR_MT_file_import, import_capture.draw_import),
    (bpy.types.VIEW3D_MT_armature_add, add_hand.draw_add),
)


HANDLERS = (*live_following.HANDLERS, *posing_sliders.HANDLERS)


def _command(arguments: list[str]) -> int:
    """`blender --command knuckle ...`."""
    from .cli import main as cli

    return cli.main(arguments)


class _Registered:
    """What register() has to hand back to Blender in unregister()."""

    command: Any = None


def register() -> None:
    """Registers classes, properties, menus and the shell command."""
    for cls in CLASSES:
        bpy.utils.register_class(cls)
    bpy.types.Scene.knuckle = bpy.props.PointerProperty(type=settings.KnuckleSettings)
    bpy.types.Scene.knuckle_calibration = bpy.props.PointerProperty(type=calibration_settings.KnuckleCalibration)
    bpy.types.Scene.knuckle_rig = bpy.props.PointerProperty(type=rig_properties.KnuckleRig)
    bpy.types.WindowManager.knuckle = bpy.props.PointerProperty(type=settings.KnuckleStatus)
    for menu, draw in MENUS:
        menu.append(draw)
    overlay.register()
    bpy.types.Scene.knuckle_follow = bpy.props.PointerProperty(type=posing_follow.KnuckleFollow)
    bpy.types.Scene.knuckle_grasp = bpy.props.PointerProperty(type=posing_grasp.KnuckleGrasp)
    bpy.types.Scene.knuckle_live = bpy.props.PointerProperty(type=live_settings.KnuckleLive)
    bpy.types.Scene.knuckle_posing = bpy.props.PointerProperty(type=posing_sliders.KnucklePosing)
    bpy.types.WindowManager.knuckle_algebra = bpy.props.PointerProperty(type=posing_algebra.KnuckleAlgebra)
    algebra_overlay.register()
    bpy.types.Object.knuckle_pins = bpy.props.CollectionProperty(
        type=posing_pinned.KnucklePin, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    posing_tool.register()
    for handlers, handler in HANDLERS:
        handlers.append(handler)
    _Registered.command = bpy.utils.register_cli_command("knuckle", _command)


def unregister() -> None:
    """Takes back all that register() gave, in reverse."""
    # While the settings are there by which it ends.
    live_following.end_and_key()
    bpy.utils.unregister_cli_command(_Registered.command)
    algebra_overlay.unregister()
    del bpy.types.WindowManager.knuckle_algebra
    overlay.unregister()
    for menu, draw in reversed(MENUS):
        menu.remove(draw)
    del bpy.types.WindowManager.knuckle
    del bpy.types.Scene.knuckle_rig
    for handlers, handler in HANDLERS:
        handlers.remove(handler)
    posing_tool.unregister()
    del bpy.types.Object.knuckle_pins
    del bpy.types.Scene.knuckle_posing
    del bpy.types.Scene.knuckle_live
    del bpy.types.Scene.knuckle_grasp
    del bpy.types.Scene.knuckle_follow
    del bpy.types.Scene.knuckle_calibration
    del bpy.types.Scene.knuckle
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
