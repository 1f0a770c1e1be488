"""Settings of solvers and smoothing: a group of properties for each kind that is registered."""

from itertools import chain
from typing import TYPE_CHECKING, Any

import bpy
from bpy.props import EnumProperty, PointerProperty

from ..solvers import SMOOTHING, SOLVER
from ..solvers.registry import Registry
from .setting_properties import SettingRanges, assign, changed, choice_number, group_of

if TYPE_CHECKING:
    from bpy.stub_internal.rna_enums import OperatorReturnItems
    from bpy.types import Context

REGISTRIES: dict[str, Registry[Any]] = {registry.what: registry for registry in (SOLVER, SMOOTHING)}
"""Property that chooses a kind -> registry of the kinds. The settings of all kinds are in `settings_property`."""


def settings_property(what: str) -> str:
    """Return the name of the property that holds the settings of all kinds."""
    return f"{what}s"


def _identifier(kind: str) -> str:
    """Return the name of a kind as an identifier."""
    return kind.replace("-", "_")


def _groups(registry: Registry[Any]) -> list[type[bpy.types.PropertyGroup]]:
    """Make a class of properties for each kind, and one with pointers to all of them as the last."""
    prefix = f"Knuckle{registry.what.capitalize()}"
    groups = {
        kind: group_of(
            f"{prefix}_{_identifier(kind)}", f"What is set on {registry.label(kind).name}", registry.settings(kind)
        )
        for kind in registry.kinds
    }
    pointers = {
        _identifier(kind): PointerProperty(name=registry.label(kind).name, description=group.__doc__ or "", type=group)
        for kind, group in groups.items()
    }
    tooltip = f"The settings of each {registry.what}: those of one that is not chosen stay as they are"
    group_classes = type(
        f"{prefix}Settings", (bpy.types.PropertyGroup,), {"__doc__": tooltip, "__annotations__": pointers}
    )
    return [*groups.values(), group_classes]


GROUPS = {what: _groups(registry) for what, registry in REGISTRIES.items()}


def kind_property(what: str, description: str, default: str) -> Any:
    """Make the property that chooses a kind."""
    registry = REGISTRIES[what]
    labels = {kind: registry.label(kind) for kind in registry.kinds}
    items = [(kind, label.name, label.about, "NONE", choice_number(kind)) for kind, label in labels.items()]
    return EnumProperty(name=what.capitalize(), description=description, items=items, default=default, options=set())


def all_settings_property(what: str) -> Any:
    """Make the property that holds the settings of all kinds."""
    settings_class = GROUPS[what][-1]
    return PointerProperty(
        name=f"{what.capitalize()} Settings", description=settings_class.__doc__ or "", type=settings_class
    )


def chosen_settings(settings: Any, what: str) -> tuple[Any, SettingRanges]:
    """Return the properties of the chosen solver or smoothing, and their ranges.

    Raises RecipeError if it is unknown: the file may come from a later version.
    """
    kind = getattr(settings, what)
    setting_ranges = REGISTRIES[what].settings(kind)
    return getattr(getattr(settings, settings_property(what)), _identifier(kind)), setting_ranges


class KNUCKLE_OT_reset_settings(bpy.types.Operator):
    """Reset all of these settings to their defaults"""

    bl_idname = "knuckle.reset_settings"
    bl_label = "Reset Settings"
    bl_options = {"REGISTER", "UNDO", "INTERNAL"}

    what: EnumProperty(name="What", items=[(what, what.capitalize(), "") for what in REGISTRIES], options={"SKIP_SAVE"})

    def execute(self, context: "Context") -> "set[OperatorReturnItems]":
        """Reset the settings to their defaults."""
        group, setting_ranges = chosen_settings(context.scene.knuckle, self.what)
        if not changed(group, setting_ranges):
            return {"CANCELLED"}
        assign(group, setting_ranges, {})
        return {"FINISHED"}


CLASSES = (*chain.from_iterable(GROUPS.values()), KNUCKLE_OT_reset_settings)
