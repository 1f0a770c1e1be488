"""Which page of the documentation explains an operator or a setting: F1 on a button opens it."""

from pathlib import Path

import bpy

ROOT = Path(__file__).parents[1]

PAGES = {
    "how-to/gloves": ("ops.knuckle.capture_armature", "types.knucklesettings.source"),
    "how-to/corrections": (
        "ops.knuckle.correct_pose", "ops.knuckle.snap_to_pose", "ops.knuckle.take_from", "ops.knuckle.hide_marker",
        "ops.knuckle.swap_labels", "ops.knuckle.solve_range", "ops.knuckle.*_correction*", "types.knucklecorrection.*",
    ),
    "how-to/contacts": ("ops.knuckle.hold_contact",),
    "how-to/keys": ("ops.knuckle.reduce_keys", "ops.knuckle.restore_dense_keys", "types.knucklesettings.reduce*"),
    "how-to/solve": (
        "ops.knuckle.align_capture",
        "ops.knuckle.import_capture", "ops.knuckle.solve", "ops.knuckle.fit_range", "ops.knuckle.export_report",
        "ops.knuckle.*_markers", "ops.knuckle.clear_*", "ops.knuckle.*_preset", "types.knucklesettings.*",
    ),
    "how-to/review": (
        "ops.knuckle.*_problem", "ops.knuckle.mark_seen", "ops.knuckle.export_report_page", "types.knucklereview.*",
    ),
    "how-to/camera": ("ops.knuckle.import_video",),
    "how-to/live": ("ops.knuckle.live_*", "types.knucklelive.*", "types.knuckleperson.*", "types.knuckletake.*"),
    "how-to/solvers": ("ops.knuckle.reset_settings", "types.knuckle?olver*", "types.knuckle?moothing*"),
    "how-to/calibrate": (
        "ops.knuckle.calibrate", "ops.knuckle.*_performer", "types.knucklecalibration.*",
    ),
    "how-to/rigs": (
        "ops.knuckle.*_mapping", "ops.knuckle.flip_digit", "ops.knuckle.mirror_hand", "ops.knuckle.detect_again",
        "ops.knuckle.pick_bone", "ops.knuckle.select_bones", "types.knucklerig.*", "types.knuckle*hand.*",
    ),
    "explanation/rig-limits": ("ops.knuckle.add_limits", "ops.knuckle.remove_limits"),
    "reference/interface": ("types.knucklepreferences.*",),
    "reference/recipe": ("ops.knuckle.load_recipe", "ops.knuckle.save_recipe"),
    "how-to/sliders": ("ops.knuckle.pose_*", "types.knuckleposing.*"),
    "how-to/poses": ("ops.knuckle.*hand_pose*",),
    "how-to/drag-and-pin": ("ops.knuckle.drag_hand", "ops.knuckle.*pin*", "types.knucklepin.*"),
    "how-to/touch-and-follow": ("ops.knuckle.touch", "ops.knuckle.follow", "types.knucklefollow.*"),
    "how-to/grasp": ("ops.knuckle.grasp", "ops.knuckle.release_object", "types.knucklegrasp.*"),
    "how-to/see-the-algebra": ("types.knucklealgebra.*",),
    "tutorials/first-hand": ("ops.knuckle.add_hand",),
    "index": ("ops.knuckle.*", "types.knuckle*"),
}  # fmt: skip
"""Page -> patterns of identifiers in lower case, without "bpy.". The first match is used."""


def _folder() -> tuple[Path, str]:
    """Return the folder of the pages and their suffix, in the extension's zip or in the source."""
    packed = ROOT / "help"
    return (packed, ".html") if packed.is_dir() else (ROOT / "docs", ".md")


def page_url(page: str) -> str:
    """Return the URL of a page on this computer."""
    folder, suffix = _folder()
    return f"{folder.as_uri()}/{page}{suffix}"


def manual_map() -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a URL, and identifiers with the pages below it, as bpy.utils.register_manual_map expects them."""
    folder, suffix = _folder()
    pages = ((f"bpy.{pattern}", f"{page}{suffix}") for page, patterns in PAGES.items() for pattern in patterns)
    return f"{folder.as_uri()}/", tuple(pages)


def register() -> None:
    """Register the pages, so that F1 finds them."""
    bpy.utils.register_manual_map(manual_map)


def unregister() -> None:
    """Unregister the pages."""
    bpy.utils.unregister_manual_map(manual_map)
