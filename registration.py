"""Everything that Blender is told of when the extension is switched on, and forgets when it is switched off."""

from itertools import chain
from typing import Any

import bpy

from .operators import (
    add_hand,
    add_limits,
    algebra_overlay_settings,
    apply_hand_pose,
    calibrate_performer,
    calibration_settings,
    drag_hand,
    fit_range,
    grasp,
    import_capture,
    json_files,
    live,
    live_device,
    live_settings,
    live_takes,
    pick_bone,
    pin_properties,
    pins,
    pose_sliders,
    pose_whole_hand,
    rig_hands,
    rig_properties,
    settings,
    solve_take,
    solver_settings,
    touch_and_follow,
)
from .panels import (
    algebra_overlay,
    algebra_panel,
    axes_overlay,
    follow_panel,
    grasp_panel,
    hand_gizmos,
    hand_tool,
    live_panel,
    pins_panel,
    poses_panel,
    rig_hands_panel,
    sidebar,
)
from .panels import calibration_panel as calibrate_panel
from .panels import sliders_panel as posing_panel

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
    pose_sliders.KnucklePosing,
    pin_properties.KnucklePin,
    pins.KNUCKLE_OT_pin_fingertip,
    pins.KNUCKLE_OT_unpin_fingertip,
    pins.KNUCKLE_OT_unpin_all,
    pins.KNUCKLE_OT_reach_pins,
    drag_hand.KNUCKLE_OT_drag_hand,
    hand_gizmos.KNUCKLE_GGT_hand,
    import_capture.KNUCKLE_OT_import_capture,
    import_capture.KNUCKLE_FH_capture,
    add_hand.KNUCKLE_OT_add_hand,
    calibrate_performer.KNUCKLE_OT_calibrate,
    json_files.KNUCKLE_OT_load_performer,
    json_files.KNUCKLE_OT_save_performer,
    json_files.KNUCKLE_OT_load_markers,
    json_files.KNUCKLE_OT_load_recipe,
    json_files.KNUCKLE_OT_save_recipe,
    json_files.KNUCKLE_OT_export_report,
    json_files.KNUCKLE_OT_forget,
    add_limits.KNUCKLE_OT_add_limits,
    add_limits.KNUCKLE_OT_remove_limits,
    pick_bone.KNUCKLE_OT_pick_bone,
    rig_hands.KNUCKLE_OT_flip_digit,
    rig_hands.KNUCKLE_OT_mirror_hand,
    rig_hands.KNUCKLE_OT_keep_hand,
    rig_hands.KNUCKLE_OT_detect_again,
    rig_hands.KNUCKLE_OT_load_mapping,
    rig_hands.KNUCKLE_OT_save_mapping,
    rig_hands.KNUCKLE_OT_select_bones,
    solve_take.KNUCKLE_OT_solve,
    solver_settings.KNUCKLE_OT_reset_settings,
    fit_range.KNUCKLE_OT_fit_range,
    live.KNUCKLE_OT_live_start,
    live.KNUCKLE_OT_live_stop,
    live.KNUCKLE_OT_live_recentre,
    live.KNUCKLE_OT_live_measure,
    live_takes.KNUCKLE_OT_live_record,
    live_takes.KNUCKLE_OT_live_forget_take,
    live.KNUCKLE_OT_live_forget_performer,
    pose_whole_hand.KNUCKLE_OT_pose_mirror,
    pose_whole_hand.KNUCKLE_OT_pose_relax,
    pose_whole_hand.KNUCKLE_OT_pose_reset,
    pose_whole_hand.KNUCKLE_OT_pose_select,
    apply_hand_pose.KNUCKLE_OT_apply_hand_pose,
    apply_hand_pose.KNUCKLE_OT_add_hand_poses,
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
    touch_and_follow.KnuckleFollow,
    touch_and_follow.KNUCKLE_OT_touch,
    touch_and_follow.KNUCKLE_OT_follow,
    grasp.KnuckleGrasp,
    grasp.KNUCKLE_OT_grasp,
    grasp.KNUCKLE_OT_let_go,
    posing_panel.KNUCKLE_PT_posing,
    poses_panel.KNUCKLE_PT_hand_poses,
    pins_panel.KNUCKLE_PT_pins,
    follow_panel.KNUCKLE_PT_follow,
    grasp_panel.KNUCKLE_PT_grasp,
    algebra_overlay_settings.KnuckleAlgebra,
    algebra_panel.KNUCKLE_PT_algebra,
)

MENUS = (
    (bpy.types.TOPBAR_MT_file_import, import_capture.draw_import),
    (bpy.types.VIEW3D_MT_armature_add, add_hand.draw_add),
)


HANDLERS = (*live_device.HANDLERS, *pose_sliders.HANDLERS)


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
    axes_overlay.register()
    bpy.types.Scene.knuckle_follow = bpy.props.PointerProperty(type=touch_and_follow.KnuckleFollow)
    bpy.types.Scene.knuckle_grasp = bpy.props.PointerProperty(type=grasp.KnuckleGrasp)
    bpy.types.Scene.knuckle_live = bpy.props.PointerProperty(type=live_settings.KnuckleLive)
    bpy.types.Scene.knuckle_posing = bpy.props.PointerProperty(type=pose_sliders.KnucklePosing)
    bpy.types.WindowManager.knuckle_algebra = bpy.props.PointerProperty(type=algebra_overlay_settings.KnuckleAlgebra)
    algebra_overlay.register()
    bpy.types.Object.knuckle_pins = bpy.props.CollectionProperty(
        type=pin_properties.KnucklePin, override={"LIBRARY_OVERRIDABLE", "USE_INSERTION"}
    )
    hand_tool.register()
    for handlers, handler in HANDLERS:
        handlers.append(handler)
    _Registered.command = bpy.utils.register_cli_command("knuckle", _command)


def unregister() -> None:
    """Takes back all that register() gave, in reverse."""
    # While the settings are there by which it ends.
    live_device.end_and_key()
    bpy.utils.unregister_cli_command(_Registered.command)
    algebra_overlay.unregister()
    del bpy.types.WindowManager.knuckle_algebra
    axes_overlay.unregister()
    for menu, draw in reversed(MENUS):
        menu.remove(draw)
    del bpy.types.WindowManager.knuckle
    del bpy.types.Scene.knuckle_rig
    for handlers, handler in HANDLERS:
        handlers.remove(handler)
    hand_tool.unregister()
    del bpy.types.Object.knuckle_pins
    del bpy.types.Scene.knuckle_posing
    del bpy.types.Scene.knuckle_live
    del bpy.types.Scene.knuckle_grasp
    del bpy.types.Scene.knuckle_follow
    del bpy.types.Scene.knuckle_calibration
    del bpy.types.Scene.knuckle
    for cls in reversed(CLASSES):
        bpy.utils.unregister_class(cls)
