"""The settings of each solver and smoothing are opened and drawn; one is changed, reset by its button, and undone."""

from typing import TYPE_CHECKING, Any

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps


def play(screen: "Screen") -> "Steps":
    settings: Any = __import__("bl_ext.user_default.knuckle.operators.solver_settings", fromlist=["REGISTRIES"])
    registries = settings.REGISTRIES
    bpy.data.objects.remove(bpy.data.objects["Cube"])
    yield from screen.fill_window(alone=True)
    yield from screen.show_sidebar("Knuckle")
    yield from screen.widen_sidebar(60)
    screen.scene.knuckle.smoothing = "live"
    screen.scene.knuckle.smoothings.live.calm = 2.0
    screen.scene.knuckle.solvers.fabrik.passes = 7
    bpy.ops.ed.undo_push()
    screen.area().tag_redraw()
    yield 1.0
    screen.picture("solver_settings_closed")
    resets = {}
    for what in reversed(registries):  # the lower one first, since what opens moves what is below it
        x, y = yield from screen.button("knuckle.reset_settings", across=0.86, holding=f"what='{what}'")
        resets[what] = (x, y)
        screen.click(x - 150, y)
        yield 1.0
    screen.move(20, screen.window.height - 20)
    shown = {}
    for what, registry in registries.items():
        before = getattr(screen.scene.knuckle, what)
        for kind in registry.kinds:
            setattr(screen.scene.knuckle, what, kind)
            for _ in range(3):  # the panels below move to their places while they are drawn
                screen.area().tag_redraw()
                yield 0.4
            screen.picture(f"{what}_settings_{kind}")
            group, known = settings.chosen_settings(screen.scene.knuckle, what)
            shown[f"{what} {kind}"] = sorted(set(known) & set(group.bl_rna.properties.keys()))
        setattr(screen.scene.knuckle, what, before)
    screen.area().tag_redraw()
    yield 1.0
    screen.click(*resets["solver"])
    yield from screen.wait_until(lambda: screen.scene.knuckle.solvers.fabrik.passes != 7)
    reset = screen.scene.knuckle.solvers.fabrik.passes
    yield 1.0
    screen.picture("solver_settings_reset")
    screen.move(*screen.view_middle())
    screen.key("ctrl+z")
    yield from screen.wait_until(lambda: screen.scene.knuckle.solvers.fabrik.passes == 7)
    # From the title of the panel Solve to the last setting of the solver with the most.
    region, around = screen.region(screen.area(), "UI"), (120, 330)
    panel = [region.x, resets["solver"][1] - around[0], region.width, sum(around)]
    return {"shown": shown, "reset": reset, "panel": panel}
