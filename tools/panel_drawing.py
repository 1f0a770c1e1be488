"""Draws all of Knuckle's panels without a window, to check that what they read exists and that nothing raises."""

import traceback
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import bpy

from knuckle.registration import definitions


class Layout:
    """A layout that draws nothing, but raises for anything that does not exist."""

    def prop(self, data: Any, name: str, **_: Any) -> None:
        """Check a property."""
        getattr(data, name)

    def prop_search(self, data: Any, name: str, others: Any, other: str, **_: Any) -> None:
        """Check a property and its choices."""
        getattr(data, name), getattr(others, other)

    def operator(self, name: str, **_: Any) -> SimpleNamespace:
        """Check an operator, and return an object that accepts its arguments."""
        getattr(getattr(bpy.ops, name.partition(".")[0]), name.partition(".")[2]).get_rna_type()
        return SimpleNamespace()

    def template_list(self, _kind: str, _id: str, data: Any, name: str, active: Any, index: str, **_: Any) -> None:
        """Check a list."""
        getattr(data, name), getattr(active, index)

    def panel(self, *_: Any, **__: Any) -> "tuple[Layout, Layout]":
        """Return a sub-panel that is open."""
        return self, self

    def __getattr__(self, _name: str) -> Callable[..., "Layout"]:
        return lambda *_, **__: self


class Drawn:
    """A panel drawn on a Layout, because only Blender can make instances of panel classes."""

    def __init__(self, panel: Any) -> None:
        self._panel, self.layout = panel, Layout()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._panel, name)
        return value.__get__(self) if isinstance(value, FunctionType) else value


class DrawContext:
    """Blender's context with a sidebar, which the bpy module lacks."""

    preferences = SimpleNamespace(
        system=SimpleNamespace(ui_scale=1.0), ui_styles=[SimpleNamespace(widget=SimpleNamespace(points=11.0))]
    )
    region = SimpleNamespace(width=300, height=600, alignment="NONE", tag_redraw=lambda: None)
    area = SimpleNamespace(type="VIEW_3D", tag_redraw=lambda: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(bpy.context, name)


def draw_panels() -> str:
    """Draw every panel whose poll passes; return the traceback of the first that raises, empty if none does."""
    context = DrawContext()
    for panel in [cls for cls in definitions("CLASSES") if issubclass(cls, bpy.types.Panel | bpy.types.Menu)]:
        try:
            if getattr(panel, "poll", lambda _: True)(context):
                for draw in ("draw_header", "draw"):
                    if draw in vars(panel):
                        getattr(Drawn(panel), draw)(context)
        except Exception:
            return f"{panel.__name__} raised\n{traceback.format_exc()}"
    return ""
