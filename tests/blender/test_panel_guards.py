"""Between the panel and the scene: recipes that do not fit, scenes that change under a job, what is put aside, undo."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from knuckle.hand.generators import Progress
from knuckle.operators.job import JobOperator, navigates
from knuckle.operators.scene_recipe import recipe_of
from knuckle.rig.blend_file import new_scene_with_take
from knuckle.tests.blender.making import everything, rig, take

pytestmark = pytest.mark.usefixtures("extension")

TAP = str(Path(__file__).parents[2] / "data" / "leap_finger_tap.json")


def settings() -> dict[str, Any]:
    """All that the panel shows, of every solver and smoothing too."""
    return dict(_values(bpy.context.scene.knuckle, ""))


def _values(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name in set(group.bl_rna.properties.keys()) - {"rna_type"}:
        value = getattr(group, name)
        if isinstance(value, bpy.types.PropertyGroup):
            yield from _values(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def load(folder: Path, **values: Any) -> None:
    path = folder / "recipe.json"
    path.write_text(json.dumps({"capture": TAP, "unit": "mm", "hand": "left"} | values))
    bpy.ops.knuckle.load_recipe(filepath=str(path))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"end": 2**31}, "end is 2147483648, the panel takes 1 to 2147483647"),
        ({"start": 2**40}, "start is"),
        ({"solver": "psychic"}, "solver is 'psychic'"),
        ({"settings": {"passes": -1}}, "passes"),
        ({"settings": {"colour": 1}}, "no setting 'colour'"),
        ({"smoothing": "ironed"}, "smoothing is 'ironed'"),
        ({"smoothing": "whole", "smoothing_settings": {"calm": 99}}, "smoothing whole: calm is 99"),
        ({"performer": {"hands": 3}}, "recipe.json, performer: not a performer file"),
        ({"performer": {}}, "recipe.json, performer: not a performer file"),
        ({"markers": {"right": {"a": "elbow"}}}, "'elbow' is not a joint"),
        ({"markers": {}}, "recipe.json, markers: expected"),
        ({"cleaning": {"gap_limit": -0.5}}, "gap_limit is -0.5"),
        ({"cleaning": {"cutoff": 0.01}}, "cutoff is 0.01, the panel takes 0.1"),
        ({"cleaning": {"cutoff": 1e39}}, "cutoff is"),
        ({"cleaning": {"gap_limit": float("nan")}}, "gap_limit is nan"),
        ({"fps": 0.01}, "fps is 0.01, the panel takes 0.1"),
        ({"capture": "a\udc80b.c3d"}, "contains half a character"),
        ({"rig": "a\0b.blend"}, "rig holds characters"),
    ],
    ids=str,
)
def test_a_recipe_that_does_not_fit_is_reported_in_one_sentence_and_changes_nothing(
    tmp_path: Path, values: dict[str, Any], sentence: str
) -> None:
    before = settings()
    with pytest.raises(RuntimeError) as reported:
        load(tmp_path, **values)
    assert sentence[1:] in str(reported.value)  # the first letter of a report is large
    assert str(reported.value).strip().count("\n") == 0, "one sentence and no traceback"
    assert settings() == before


def test_a_recipe_without_an_end_keeps_none(tmp_path: Path) -> None:
    load(tmp_path, start=5)
    recipe = recipe_of(bpy.context.scene)
    assert (recipe.start, recipe.end) == (5, None)


def test_a_recipes_rig_file_is_not_passed_over() -> None:
    chosen = bpy.context.scene.knuckle
    bpy.ops.knuckle.import_capture(filepath=TAP)
    chosen.rig_file = "/nowhere/x.blend"
    assert not bpy.ops.knuckle.solve.poll()
    armature = rig("right")
    chosen.rig, chosen.armature = "ARMATURE", armature
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert chosen.result == armature
    chosen.rig = "NEW"
    assert not bpy.ops.knuckle.solve.poll()
    bpy.ops.knuckle.clear_rig_file()
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert chosen.result != armature


class _Job(JobOperator):
    """A job during which something happens."""

    def __init__(self, happens: Any, seen: list[str], reported: list[str]) -> None:
        """seen: gets the names of the scene, view layer and collection in which it ends; reported: its reports."""
        self.happens, self.seen, self.reported = happens, seen, reported

    def steps(self, context: bpy.types.Context) -> Iterator[Progress]:
        yield Progress(0.0, "Waiting")
        self.happens()

    def finish(self, context: bpy.types.Context) -> None:
        self.seen += [context.scene.name, context.view_layer.name, context.collection.name]

    def report(self, _kinds: set[str], text: str) -> None:
        self.reported.append(text)


def test_a_job_ends_in_the_scene_in_which_it_began() -> None:
    began = bpy.context.scene
    collection = bpy.data.collections.new("Hands")
    began.collection.children.link(collection)
    layer = bpy.context.view_layer
    layer.active_layer_collection = layer.layer_collection.children["Hands"]
    other = bpy.data.scenes.new("Other")

    def leave() -> None:
        bpy.context.window.scene = other

    seen, reported = list[str](), list[str]()
    job = _Job(leave, seen, reported)
    assert job.execute(bpy.context) == {"FINISHED"}
    assert bpy.context.scene == other, "the person stays where they are"
    assert seen == [began.name, layer.name, "Hands"]
    assert not vars(job), "Blender keeps ended operators: they hold nothing"
    bpy.context.window.scene = began
    seen.clear()
    assert _Job(lambda: bpy.data.collections.remove(collection), seen, reported).execute(bpy.context) == {"FINISHED"}
    assert seen[2] == began.collection.name
    name = began.name

    def take_away() -> None:
        bpy.context.window.scene = other
        bpy.data.scenes.remove(began)

    seen.clear()
    assert _Job(take_away, seen, reported).execute(bpy.context) == {"CANCELLED"}
    assert seen == []
    assert reported == [f"Scene '{name}', in which the job was started, no longer exists: nothing was changed"]


def test_a_take_goes_to_the_scene_and_the_armature_that_it_was_solved_for() -> None:
    scene, armature = bpy.context.scene, rig("right")
    bpy.ops.knuckle.import_capture(filepath=TAP)
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", armature
    other = bpy.data.scenes.new("Other")
    operator: Any = SimpleNamespace(report=lambda *_: None)
    kind: Any = bpy.types.KNUCKLE_OT_solve
    for _ in kind.steps(operator, bpy.context):
        pass
    operator._armature = lambda where: kind._armature(operator, where)
    scene.knuckle.armature, scene.knuckle.rig = None, "NEW"
    bpy.context.window.scene = other
    with bpy.context.temp_override(scene=scene, view_layer=scene.view_layers[0], collection=scene.collection):
        kind.finish(operator, bpy.context)
    assert scene.knuckle.result == armature
    assert armature.animation_data.action.name == "leap_finger_tap"
    assert not other.objects
    scene.collection.objects.unlink(armature)
    bpy.context.window.scene = scene
    with pytest.raises(Exception, match="'Rig' is no longer in scene 'Scene'"):
        kind.finish(operator, bpy.context)


@pytest.mark.parametrize(
    ("kind", "ctrl", "passes"),
    [
        ("NUMPAD_1", False, True),
        ("NUMPAD_0", False, True),
        ("NUMPAD_0", True, False),
        ("NUMPAD_PERIOD", False, True),
        ("NDOF_MOTION", False, True),
        ("NDOF_BUTTON_FIT", False, True),
        ("NDOF_BUTTON_MENU", False, False),
        ("X", False, False),
        ("LEFTMOUSE", False, False),
    ],
)
def test_while_a_job_runs_a_person_may_look_around(kind: str, ctrl: bool, passes: bool) -> None:
    event: Any = SimpleNamespace(type=kind, ctrl=ctrl)
    assert navigates(event) == passes


def aside(obj: bpy.types.Object) -> Any:
    """Puts an object into a collection of its own; that collection in the view layer."""
    collection = bpy.data.collections.new("Aside")
    bpy.context.scene.collection.children.link(collection)
    for old in obj.users_collection:
        old.objects.unlink(obj)
    collection.objects.link(obj)
    return bpy.context.view_layer.layer_collection.children["Aside"]


def test_an_armature_in_an_excluded_collection_is_refused_before_the_solving() -> None:
    scene, armature = bpy.context.scene, rig("right")
    bpy.ops.knuckle.import_capture(filepath=TAP)
    scene.knuckle.rig, scene.knuckle.armature = "ARMATURE", armature
    aside(armature).exclude = True
    before = everything(scene)
    with pytest.raises(RuntimeError, match="excluded from this view layer"):
        bpy.ops.knuckle.solve()
    assert everything(scene) == before
    assert armature.animation_data is None


def test_markers_in_an_excluded_collection_are_read_again_without_being_selected() -> None:
    bpy.ops.knuckle.import_capture(filepath=TAP)
    aside(bpy.context.scene.knuckle.markers).exclude = True
    assert bpy.ops.knuckle.import_capture(filepath=TAP) == {"FINISHED"}
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert bpy.context.active_object == bpy.context.scene.knuckle.result


def test_undo_of_a_solve_gives_an_armature_back_what_it_played() -> None:
    new_scene_with_take(take(("right",), frames=5))
    scene = bpy.context.scene
    armature = scene.objects["Right Hand"]
    played = armature.animation_data.action.name
    scene.knuckle.capture, scene.knuckle.rig, scene.knuckle.armature = TAP, "ARMATURE", armature
    bpy.ops.ed.undo_push(message="Before")
    assert bpy.ops.knuckle.solve() == {"FINISHED"}
    assert armature.animation_data.action.name == "leap_finger_tap"
    bpy.ops.ed.undo_push(message="Solve")
    bpy.ops.ed.undo()
    armature = bpy.context.scene.objects["Right Hand"]
    animation = armature.animation_data
    assert animation.action.name == played
    assert animation.action_slot in set(animation.action.slots)
    assert not animation.action.use_fake_user
    assert "leap_finger_tap" not in bpy.data.actions
    assert bpy.context.scene.knuckle.result is None
