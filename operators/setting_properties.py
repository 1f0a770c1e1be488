"""Make Blender properties from the fields of a dataclass of settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from ..solvers.settings import SettingRange

SettingRanges = Mapping[str, tuple[Any, SettingRange]]
"""Name -> (default, range), as settings_of returns them."""

NOT_ANIMATED: set[str] = set()
"""Options of a property that must not be animated."""

MIN_DISPLAYED = 1e-4
"""Blender's fields show at most six decimals: a default below this is shown in a smaller unit."""

MAX_INT = 2**31 - 1


def angles_property() -> Any:
    """Make the property that chooses where joint angles come from, for devices that send rotations."""
    return EnumProperty(
        name="Joint Angles",
        description="How joint angles are found",
        items=[
            ("solved", "Solve", "The chosen solver finds them from the positions of joints and markers"),
            ("device", "Device", "The device's own angles, within the limits"),
        ],
        options=set(),
    )


@dataclass(frozen=True, slots=True)
class DisplayScale:
    """Display of a number: its property holds `factor` times the setting."""

    factor: float = 1.0
    subtype: str = "NONE"
    suffix: str = ""
    """Appended to the name if Blender does not display the unit."""


# Blender multiplies other length subtypes by the scene's unit scale, which has nothing to do with the recorded hand.
UNITS = {
    "": DisplayScale(),
    "m": DisplayScale(1000.0, "DISTANCE_CAMERA"),
    "rad": DisplayScale(1.0, "ANGLE"),
    "s": DisplayScale(1.0, "TIME_ABSOLUTE"),
}

SMALL_UNITS = {1e3: ("m", "10⁻³"), 1e6: ("µ", "10⁻⁶"), 1e9: ("n", "10⁻⁹")}
"""Factor -> prefix of the unit, and the text for numbers without a unit."""


def display_scale(default: float, allowed: SettingRange) -> DisplayScale:
    """Return how a setting with this default is displayed."""
    unit_scale = UNITS[allowed.unit]
    if not 0 < abs(default) * unit_scale.factor < MIN_DISPLAYED:
        return unit_scale
    factor = next((factor for factor in SMALL_UNITS if abs(default) * factor > 0.99), max(SMALL_UNITS))
    prefix, power = SMALL_UNITS[factor]
    return DisplayScale(factor, suffix=f" ({prefix}{allowed.unit})" if allowed.unit else f" ({power})")


def plain(value: float) -> float:
    """Round a number to what the user typed: Blender stores 0.2 in 32 bits, as 0.20000000298."""
    return float(f"{value:.6g}")


def choice_number(name: str) -> int:
    """Return the number that identifies a choice in .blend files: it does not depend on the order of the choices."""
    return crc32(name.encode()) >> 1


def property_of(name: str, default: Any, allowed: SettingRange) -> Any:
    """Make the property of a setting, by the type of its default."""
    common: dict[str, Any] = {
        "name": name.replace("_", " ").title(),
        "description": allowed.about,
        "default": default,
        "options": NOT_ANIMATED,
    }
    if isinstance(default, bool):
        return BoolProperty(**common)
    if isinstance(default, str):
        return EnumProperty(items=_items(allowed), **common)
    if isinstance(default, int):
        return IntProperty(min=int(allowed.minimum), max=min(int(allowed.maximum), MAX_INT), **common)
    scale = display_scale(default, allowed)
    common |= {
        "name": common["name"] + scale.suffix,
        "default": scale.factor * default,
        "min": scale.factor * allowed.minimum,
        "max": scale.factor * allowed.maximum,
        "subtype": scale.subtype,
    }
    return FloatProperty(precision=3, step=1, **common)


def _items(allowed: SettingRange) -> list[tuple[str, str, str, str, int]]:
    descriptions = (
        allowed.choices if isinstance(allowed.choices, Mapping) else dict.fromkeys(allowed.choices, allowed.about)
    )
    return [
        (choice, choice.replace("_", " ").title(), text, "NONE", choice_number(choice))
        for choice, text in descriptions.items()
    ]


def group_of(name: str, descriptions: str, ranges: SettingRanges) -> type[bpy.types.PropertyGroup]:
    """Make a class of this name with a property for each setting."""
    properties = {key: property_of(key, *what) for key, what in ranges.items()}
    return type(name, (bpy.types.PropertyGroup,), {"__doc__": descriptions, "__annotations__": properties})


def changed(group: Any, ranges: SettingRanges) -> dict[str, Any]:
    """Return the settings in a group of properties that differ from their defaults."""
    values = {}
    for name, (default, allowed) in ranges.items():
        value, unchanged = getattr(group, name), default
        if isinstance(default, float):
            value, unchanged = plain(value / display_scale(default, allowed).factor), plain(default)
        if value != unchanged:
            values[name] = min(max(value, allowed.minimum), allowed.maximum) if isinstance(default, float) else value
    return values


def assign(group: Any, ranges: SettingRanges, settings: Mapping[str, Any]) -> None:
    """Assign settings to a group of properties. Properties that are not named get their defaults."""
    for name, (default, allowed) in ranges.items():
        if name not in settings:
            group.property_unset(name)
        elif isinstance(default, float):
            setattr(group, name, display_scale(default, allowed).factor * settings[name])
        else:
            setattr(group, name, settings[name])
