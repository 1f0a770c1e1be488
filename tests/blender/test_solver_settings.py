"""What is set on a solver in the panel: made from the solver's dataclass, kept in the file, read into the recipe."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from knuckle.errors import RecipeError
from knuckle.operators.scene_recipe import apply_recipe, recipe_of
from knuckle.operators.setting_properties import assign, changed, group_of
from knuckle.operators.solver_settings import REGISTRIES
from knuckle.pipeline.recipe import Recipe, from_dict
from knuckle.solvers import SOLVER, SOLVERS
from knuckle.solvers.settings import SettingRange, setting, settings_of

pytestmark = pytest.mark.usefixtures("extension")


def other_value(default: Any, may_be: SettingRange, rng: np.random.Generator) -> Any:
    """A value that a setting may have and that is not its default."""
    if isinstance(default, bool):
        return not default
    if isinstance(default, str):
        return next((choice for choice in may_be.choices if choice != default), default)
    share = rng.uniform(0.1, 0.9)
    value = may_be.minimum + share * (may_be.maximum - may_be.minimum)
    return int(value) if isinstance(default, int) else float(f"{value:.5g}")


@pytest.mark.parametrize(("what", "kind"), [(what, kind) for what in REGISTRIES for kind in REGISTRIES[what].kinds])
def test_all_settings_go_to_the_panel_and_back(what: str, kind: str) -> None:
    scene, rng = bpy.context.scene, np.random.default_rng(0)
    scene.knuckle.capture = "/a.c3d"
    setattr(scene.knuckle, what, kind)
    named = {"solver": "settings", "smoothing": "smoothing_settings"}[what]
    assert getattr(recipe_of(scene), named) == {}
    known = REGISTRIES[what].settings(kind)
    settings = {name: other_value(*of, rng) for name, of in known.items()}
    apply_recipe(from_dict({"capture": "/a.c3d", what: kind, named: settings}, "test"), scene)
    found = getattr(recipe_of(scene), named)
    assert found == {name: value for name, value in settings.items() if value != known[name][0]}
    assert not settings or found, "a setting can be another than its default"
    REGISTRIES[what].make(kind, found)


def test_every_solver_is_in_the_menu_and_kept_by_the_file(tmp_path: Path) -> None:
    items = bpy.context.scene.knuckle.bl_rna.properties["solver"].enum_items
    labels = {name: SOLVER.label(name) for name in SOLVERS}
    assert {item.identifier: (item.name, item.description) for item in items} == {
        name: (label.name, label.about) for name, label in labels.items()
    }
    kept = Recipe("/a.c3d", solver="table", settings={"method": "lu", "precision": 0.5}, smoothing="live")
    apply_recipe(kept, bpy.context.scene)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "kept.blend"))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "kept.blend"))
    recipe = recipe_of(bpy.context.scene)
    assert (recipe.solver, recipe.settings, recipe.smoothing) == (kept.solver, kept.settings, kept.smoothing)


def test_a_solver_that_is_not_chosen_keeps_its_settings_and_the_chosen_one_is_reset() -> None:
    scene = bpy.context.scene
    apply_recipe(Recipe("/a.c3d", settings={"passes": 7}, smoothing="whole", smoothing_settings={"calm": 2.0}), scene)
    apply_recipe(Recipe("/a.c3d", solver="table", settings={"coupled": False}, smoothing="whole"), scene)
    assert recipe_of(scene).smoothing_settings == {}
    assert bpy.ops.knuckle.reset_settings(what="solver") == {"FINISHED"}
    assert recipe_of(scene).settings == {}
    assert bpy.ops.knuckle.reset_settings(what="solver") == {"CANCELLED"}
    scene.knuckle.solver = "fabrik"
    assert recipe_of(scene).settings == {"passes": 7}


@dataclass(frozen=True, slots=True)
class EveryKind:
    switch: bool = setting(True, "A switch")
    count: int = setting(3, "A count", minimum=1, maximum=9)
    huge: int = setting(10**9, "More than Blender can keep", maximum=1e12)
    share: float = setting(0.2, "A share", maximum=1.0)
    way: float = setting(0.003, "A length", minimum=1e-9, maximum=0.1, unit="m")
    turn: float = setting(0.5, "An angle", maximum=3.0, unit="rad")
    time: float = setting(0.1, "A time", maximum=0.5, unit="s")
    step: float = setting(1e-9, "A tiny angle", minimum=1e-10, maximum=0.1, unit="rad")
    small: float = setting(2e-6, "A tiny number", maximum=1.0)
    third: float = setting(2 / 3, "What six digits cannot tell", minimum=1 / 3, maximum=2e6 / 3)
    method: str = setting("one-step", "How", choices=("one-step", "all"))
    named: str = setting("b", "Which", choices={"a": "The first", "b": "The second"})


@pytest.fixture
def group() -> Iterator[Any]:
    kind: Any = group_of("KnuckleTestGroup", "Every kind of setting", settings_of(EveryKind))
    bpy.utils.register_class(kind)
    bpy.types.Scene.knuckle_test = bpy.props.PointerProperty(type=kind)
    yield bpy.context.scene.knuckle_test
    del bpy.types.Scene.knuckle_test
    bpy.utils.unregister_class(kind)


def test_each_kind_of_setting_has_its_kind_of_property(group: Any) -> None:
    known, found = settings_of(EveryKind), group.bl_rna.properties
    assert changed(group, known) == {}
    for name, (_, may_be) in known.items():
        assert found[name].description == may_be.about
    assert {name: found[name].type for name in ("switch", "count", "share", "method")} == {
        "switch": "BOOLEAN",
        "count": "INT",
        "share": "FLOAT",
        "method": "ENUM",
    }
    assert (found["count"].hard_min, found["count"].hard_max) == (1, 9)
    assert found["huge"].hard_max == 2**31 - 1
    assert {name: found[name].unit for name in ("share", "way", "turn", "time", "step")} == {
        "share": "NONE",
        "way": "CAMERA",
        "turn": "ROTATION",
        "time": "TIME_ABSOLUTE",
        "step": "NONE",
    }
    assert group.way == pytest.approx(3.0), "millimetres"
    assert (found["step"].name, group.step) == ("Step (nrad)", 1.0)
    assert (found["small"].name, group.small) == ("Small (10⁻⁶)", 2.0)
    assert [(item.name, item.description) for item in found["method"].enum_items] == [
        ("One-Step", "How"),
        ("All", "How"),
    ]
    assert [item.description for item in found["named"].enum_items] == ["The first", "The second"]


def test_each_kind_of_setting_is_given_and_read_and_stays_within_its_range(group: Any) -> None:
    known = settings_of(EveryKind)
    values = {"switch": False, "count": 9, "way": 1e-9, "turn": 1.25, "step": 2e-8, "small": 0.5, "named": "a"}
    assign(group, known, values)
    assert changed(group, known) == values
    group.third = 0.0
    assert changed(group, known)["third"] == 1 / 3
    group.third = 1e9
    assert changed(group, known)["third"] == 2e6 / 3
    assign(group, known, {})
    assert changed(group, known) == {}


def test_a_solver_that_only_a_later_version_has_is_reported_and_can_be_replaced() -> None:
    chosen = bpy.context.scene.knuckle
    chosen.capture = "/a.c3d"
    kept = chosen.bl_system_properties_get() if hasattr(chosen, "bl_system_properties_get") else chosen
    kept["solver"] = 7  # the number of none of ours
    assert chosen.solver == ""
    with pytest.raises(RecipeError, match="solver is '', expected one of fabrik"):
        recipe_of(bpy.context.scene)
    with pytest.raises(RuntimeError, match="Solver is ''"):
        bpy.ops.knuckle.solve()
    chosen.solver = "fabrik"
    assert recipe_of(bpy.context.scene).solver == "fabrik"
