"""The extension's preferences, which apply to all files."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import bpy
import rna_keymap_ui
from bpy.props import EnumProperty, FloatVectorProperty, IntProperty, StringProperty

from ..capture.devices.device_table import DEVICES
from . import keymap
from .setting_properties import NOT_ANIMATED

if TYPE_CHECKING:
    from bpy.types import Context, UILayout

PACKAGE = __package__.rpartition(".")[0]

UNITS = {
    "mm": ("Millimeters", "mm", 1.0),
    "cm": ("Centimeters", "cm", 0.1),
    "in": ("Inches", "in", 1 / 25.4),
}
"""Unit of lengths in panels -> name, suffix, and factor from millimeters."""

COLORS: Mapping[str, tuple[str, tuple[float, float, float, float]]] = {
    "thumb": ("Thumb", (1.0, 0.36, 0.32, 1.0)),
    "index_finger": ("Index Finger", (1.0, 0.75, 0.18, 1.0)),
    "middle_finger": ("Middle Finger", (0.45, 0.88, 0.35, 1.0)),
    "ring_finger": ("Ring Finger", (0.30, 0.72, 1.0, 1.0)),
    "pinky_finger": ("Little Finger", (0.82, 0.52, 1.0, 1.0)),
    "palm": ("Palm", (0.95, 0.95, 0.95, 1.0)),
    "picked": ("Picked Bone", (1.0, 0.55, 0.0, 1.0)),
    "uncertain": ("Uncertain Digit", (1.0, 0.45, 0.1, 1.0)),
}
"""Element of the axes overlay -> its name and default RGBA. Digits are spelled as identifiers."""


def port_setting(device: str) -> str:
    """Return the name of the preference with a device's port."""
    return f"port_{device.replace('-', '_')}"


def color_setting(what: str) -> str:
    """Return the name of the preference with a color of COLORS, or of a digit."""
    return f"color_{what.replace('-', '_')}"


DEFAULTS: dict[str, Any] = {
    "take_folder": "",
    "length_unit": "mm",
    **{port_setting(key): device.port for key, device in DEVICES.items()},
    **{color_setting(what): default for what, (_, default) in COLORS.items()},
}


def _properties() -> dict[str, Any]:
    folder = StringProperty(
        name="Take Folder",
        description="For raw takes of all files. If empty, that of the blend file, or Knuckle Takes in Documents",
        subtype="DIR_PATH",
    )
    unit = EnumProperty(
        name="Length Unit",
        description="Unit of errors and of hands' measurements in the panels",
        items=[(unit, name, f"Show lengths in {name.lower()}") for unit, (name, _, _) in UNITS.items()],
    )
    ports = {
        port_setting(key): IntProperty(
            name=device.name,
            description=f"Port of {device.name}, set when the device is chosen",
            default=device.port,
            min=1,
            max=65535,
        )
        for key, device in DEVICES.items()
    }
    colors = {
        color_setting(what): FloatVectorProperty(
            name=name,
            description=f"Color of the {name.lower()} in the viewport overlay of a hand's axes",
            subtype="COLOR",
            size=4,
            min=0.0,
            max=1.0,
            default=default,
            options=NOT_ANIMATED,  # type: ignore[arg-type]
        )
        for what, (name, default) in COLORS.items()
    }
    return {"take_folder": folder, "length_unit": unit, **ports, **colors}


class KnucklePreferences(bpy.types.AddonPreferences):
    """Ports, the take folder, units, overlay colors and the keys."""

    bl_idname = PACKAGE
    __annotations__ = _properties()

    def draw(self, context: "Context") -> None:
        """Draw the preferences by groups."""
        layout = self.layout
        layout.use_property_split, layout.use_property_decorate = True, False
        general = layout.column()
        general.prop(self, "length_unit")
        general.prop(self, "take_folder")
        for title, names in (("Ports", map(port_setting, DEVICES)), ("Overlay Colors", map(color_setting, COLORS))):
            header, body = layout.panel(f"knuckle_{title.split()[-1].lower()}", default_closed=True)
            header.label(text=title)
            for name in names if body else ():
                body.prop(self, name)
        _draw_keymap(layout, context)


def _draw_keymap(layout: "UILayout", context: "Context") -> None:
    header, body = layout.panel("knuckle_keymap")
    header.label(text="Keymap")
    keyconfig = context.window_manager.keyconfigs.user
    for in_keymap, item, title in keymap.items(keyconfig) if body and keyconfig else ():
        row = body.column()
        row.context_pointer_set("keymap", in_keymap)
        row.label(text=f"{title}, {in_keymap.name}")
        rna_keymap_ui.draw_kmi([], keyconfig, in_keymap, item, row, 0)


def user_folder() -> Path:
    """Return the folder of the extension's files that outlive its updates, which may not exist yet."""
    return Path(bpy.utils.user_resource("EXTENSIONS", path=".user/knuckle"))


def preferences() -> Any:
    """Return the preferences, or their defaults if the extension is registered without being enabled."""
    addon: Any = bpy.context.preferences.addons.get(PACKAGE)
    return addon.preferences if addon and addon.preferences else SimpleNamespace(**DEFAULTS)


def overlay_colour(what: str) -> tuple[float, float, float, float]:
    """Return the RGBA of a row of COLORS, or of a digit."""
    red, green, blue, alpha = getattr(preferences(), color_setting(what))
    return red, green, blue, alpha


CLASSES = (KnucklePreferences,)
