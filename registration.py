"""Registers what the modules of operators and panels define, when Blender enables and disables the extension.

A module may define CLASSES, PROPERTIES (owner, name, property), MENUS (menu, draw function) and HANDLERS (list of
handlers, handler), and functions `register` and `unregister` for anything else.
"""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import bpy

from .operators import (
    add_hand,
    add_limits,
    algebra_overlay_settings,
    align_capture,
    apply_hand_pose,
    assign_markers,
    calibrate_performer,
    calibration_settings,
    capture_armature,
    change_correction,
    clear_settings,
    correct_take,
    drag_hand,
    fit_range,
    grasp,
    help_pages,
    hold_contact,
    import_capture,
    import_video,
    json_files,
    keymap,
    live,
    live_device,
    live_settings,
    live_takes,
    load_capture,
    pick_bone,
    pin_properties,
    pins,
    pose_sliders,
    pose_whole_hand,
    preferences,
    presets,
    reduce_keys,
    report_page,
    review,
    rig_hands,
    rig_properties,
    saved_poses,
    settings,
    solve_corrections,
    solve_take,
    solver_settings,
    take_corrections,
    touch_and_follow,
)
from .operators.online_access import check_online_access
from .operators.session import SESSION
from .panels import (
    algebra_overlay,
    algebra_panel,
    assign_markers_overlay,
    axes_overlay,
    calibration_panel,
    corrections_panel,
    follow_panel,
    grasp_panel,
    hand_gizmos,
    hand_menu,
    hand_tool,
    heat_strip,
    keys_panel,
    live_panel,
    pins_panel,
    pose_icons,
    poses_panel,
    result_panel,
    review_overlay,
    review_panel,
    rig_hands_panel,
    sidebar,
    sliders_panel,
)
from .rig import detection_cache
from .rig.posing import posable_cache

MODULES: tuple[ModuleType, ...] = (
    preferences,
    solver_settings,
    settings,
    calibration_settings,
    rig_properties,
    live_settings,
    pose_sliders,
    pin_properties,
    pins,
    drag_hand,
    hand_gizmos,
    capture_armature,
    import_capture,
    import_video,
    add_hand,
    calibrate_performer,
    json_files,
    presets,
    add_limits,
    pick_bone,
    rig_hands,
    solve_take,
    align_capture,
    fit_range,
    review,
    report_page,
    reduce_keys,
    take_corrections,
    correct_take,
    hold_contact,
    solve_corrections,
    change_correction,
    clear_settings,
    live,
    live_takes,
    pose_whole_hand,
    apply_hand_pose,
    saved_poses,
    sidebar,
    result_panel,
    review_panel,
    corrections_panel,
    keys_panel,
    calibration_panel,
    rig_hands_panel,
    live_panel,
    touch_and_follow,
    grasp,
    sliders_panel,
    pose_icons,
    poses_panel,
    pins_panel,
    follow_panel,
    grasp_panel,
    algebra_overlay_settings,
    algebra_panel,
    live_device,
    load_capture,
    assign_markers,
    assign_markers_overlay,
    axes_overlay,
    review_overlay,
    heat_strip,
    algebra_overlay,
    hand_tool,
    hand_menu,
    keymap,
    help_pages,
)
"""The classes in order of registration: property groups before groups that contain them, panels before sub-panels."""


def definitions(name: str) -> Iterator[Any]:
    """Yield the entries of a list, such as CLASSES, from every module that defines it."""
    for module in MODULES:
        yield from getattr(module, name, ())


def _command(arguments: list[str]) -> int:
    """Run `blender --command knuckle ...`."""
    from .cli import main as cli

    return cli.main(arguments, check_online_access)


def register() -> None:
    """Register classes, properties, menus, handlers, overlays, the tool and the shell command."""
    for cls in definitions("CLASSES"):
        if issubclass(cls, bpy.types.Operator):
            # Of a docstring, Blender shows line breaks and indents as well.
            cls.bl_description = " ".join((cls.__doc__ or "").split())
        bpy.utils.register_class(cls)
    for owner, name, prop in definitions("PROPERTIES"):
        setattr(owner, name, prop)
    for menu, draw in definitions("MENUS"):
        menu.append(draw)
    for module in MODULES:
        if hasattr(module, "register"):
            module.register()
    for handlers, handler in definitions("HANDLERS"):
        handlers.append(handler)
    SESSION.command = bpy.utils.register_cli_command("knuckle", _command)


def unregister() -> None:
    """Undo register() in reverse order."""
    # A running stream ends first, while the settings it needs still exist.
    live_device.end_and_key()
    bpy.utils.unregister_cli_command(SESSION.command)
    for handlers, handler in definitions("HANDLERS"):
        handlers.remove(handler)
    for module in reversed(MODULES):
        if hasattr(module, "unregister"):
            module.unregister()
    for menu, draw in reversed(list(definitions("MENUS"))):
        menu.remove(draw)
    for owner, name, _ in reversed(list(definitions("PROPERTIES"))):
        delattr(owner, name)
    for cls in reversed(list(definitions("CLASSES"))):
        bpy.utils.unregister_class(cls)
    SESSION.clear()
    detection_cache.clear()
    posable_cache.forget()
