"""Properties of Blender's for a dataclass of settings, made from what it says of each of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty

from ..solvers.settings import SettingRange

Known = Mapping[str, tuple[Any, SettingRange]]
"""As settings_of gives them: name -> (default, what it may be)."""

FIXED: set[str] = set()
"""The options of a property that makes no sense to animate."""

SMALLEST = 1e-4
"""Blender's fields have six digits behind the point: a default below this is shown in a smaller unit."""

LARGEST_WHOLE = 2**31 - 1


def drive() -> Any:
    """How joint angles are found where a device tells how joints are turned: for a live run, and for takes of it."""
    return EnumProperty(
        name="Follow",
        description="How joint angles are found",
        items=[
            ("targets", "Solve", "The solver that is chosen finds them from where joints and markers are"),
            ("joints", "Device", "As the device has solved them, inside the limits"),
        ],
        options=set(),
    )


@dataclass(frozen=True, slots=True)
class DisplayScale:
    """How a number is shown: its property holds `factor` times the setting."""

    factor: float = 1.0
    subtype: str = "NONE"
    suffix: str = ""
    """Behind the name, where Blender does not write the unit itself."""


# Blender multiplies other lengths with the scene's unit scale, which says nothing of the recorded hand.
UNITS = {
    "": DisplayScale(),
    "m": DisplayScale(1000.0, "DISTANCE_CAMERA"),
    "rad": DisplayScale(1.0, "ANGLE"),
    "s": DisplayScale(1.0, "TIME_ABSOLUTE"),
}

SMALLER = {1e3: ("m", "10⁻³"), 1e6: ("µ", "10⁻⁶"), 1e9: ("n", "10⁻⁹")}
"""Factor -> the prefix of a unit, and a factor without one."""


def shown(default: float, may_be: SettingRange) -> DisplayScale:
    """How a setting with this default is shown."""
    usual = UNITS[may_be.unit]
    if not 0 < abs(default) * usual.factor < SMALLEST:
        return usual
    factor = next((factor for factor in SMALLER if abs(default) * factor > 0.99), max(SMALLER))
    prefix, alone = SMALLER[factor]
    return DisplayScale(factor, suffix=f" ({prefix}{may_be.unit})" if may_be.unit else f" ({alone})")


def plain(value: float) -> float:
    """A number as the person typed it: Blender keeps 0.2 in 32 bits, as 0.20000000298."""
    return float(f"{value:.6g}")


def choice_number(name: str) -> int:
    """The number by which a file keeps a choice: the same, whichever choices stand before it in a later version."""
    return crc32(name.encode()) >> 1


def property_of(name: str, default: Any, may_be: SettingRange) -> Any:
    """A setting as a property of its kind."""
    common: dict[str, Any] = {
        "name": name.replace("_", " ").title(),
        "description": may_be.about,
        "default": default,
        "options": FIXED,
    }
    if isinstance(default, bool):
        return BoolProperty(**common)
    if isinstance(default, str):
        return EnumProperty(items=_items(may_be), **common)
    if isinstance(default, int):
        return IntProperty(min=int(may_be.least), max=min(int(may_be.most), LARGEST_WHOLE), **common)
    how = shown(default, may_be)
    common |= {
        "name": common["name"] + how.suffix,
        "default": how.factor * default,
        "min": how.factor * may_be.least,
        "max": how.factor * may_be.most,
        "subtype": how.subtype,
    }
    return FloatProperty(precision=3, step=1, **common)


def _items(may_be: SettingRange) -> list[tuple[str, str, str, str, int]]:
    about = may_be.choices if isinstance(may_be.choices, Mapping) else dict.fromkeys(may_be.choices, may_be.about)
    return [
        (choice, choice.replace("_", " ").title(), text, "NONE", choice_number(choice))
        for choice, text in about.items()
    ]


def group_of(name: str, about: str, known: Known) -> type[bpy.types.PropertyGroup]:
    """A class of this name with a property for each setting."""
    properties = {key: property_of(key, *what) for key, what in known.items()}
    return type(name, (bpy.types.PropertyGroup,), {"__doc__": about, "__annotations__": properties})


def changed(group: Any, known: Known) -> dict[str, Any]:
    """The settings in a group of properties that differ from their defaults."""
    values = {}
    for name, (default, may_be) in known.items():
        value, usual = getattr(group, name), default
        if isinstance(default, float):
            value, usual = plain(value / shown(default, may_be).factor), plain(default)
        if value != usual:
            values[name] = min(max(value, may_be.least), may_be.most) if isinstance(default, float) else value
    return values


def give(group: Any, known: Known, settings: Mapping[str, Any]) -> None:
    """Sets a group of properties to settings within their ranges; what is not named gets its default."""
    for name, (default, may_be) in known.items():
        if name not in settings:
            group.property_unset(name)
        elif isinstance(default, float):
            setattr(group, name, shown(default, may_be).factor * settings[name])
        else:
            setattr(group, name, settings[name])
