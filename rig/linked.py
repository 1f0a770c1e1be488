"""Armatures linked from another file: they cannot be keyed, so library overrides replace them in the scene."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
from mathutils import Matrix

from ..errors import RigError
from .keys.keyframes import check_keyable
from .keys.parent_motion import is_evaluated

if TYPE_CHECKING:
    from bpy.types import ID, Collection, Object, Scene, ViewLayer


@dataclass(frozen=True, slots=True)
class ObjectName:
    """An object's name and library: a linked object and its override have the same name."""

    name: str
    library: str | None

    @classmethod
    def of(cls, obj: "Object") -> "ObjectName":
        """Return the name and library of an object."""
        return cls(obj.name, obj.library.filepath if obj.library else None)

    def find(self) -> "Object | None":
        """Return the object in the open file, None if it is gone."""
        key: Any = (self.name, self.library)
        found: Object | None = bpy.data.objects.get(key)
        return found


def library_of(obj: "Object") -> str | None:
    """Return the name of the file that an object is linked from, None for a local object."""
    return Path(bpy.path.abspath(obj.library.filepath)).name if obj.library else None


def is_in_scene(armature: "Object", scene: "Scene") -> bool:
    """Return whether an armature is in a scene, as an object or in a collection instance."""
    return _is_scene_object(armature, scene) or bool(_instances_of(armature, scene))


def check_target(armature: "Object", scene: "Scene") -> None:
    """Raise RigError for an armature that can be neither keyed nor overridden, and say what to do."""
    if armature.library is None:
        check_keyable(armature)
    else:
        _check_overridable(armature, scene)


def _check_overridable(armature: "Object", scene: "Scene") -> None:
    where = f"armature '{armature.name}' of {library_of(armature)}"
    if armature.library.is_missing:
        raise RigError(f"{where}: that file is missing, find it with File > External Data > Find Missing Files")
    scene_object = _scene_object(armature, scene)
    if not is_evaluated(scene_object):
        raise RigError(
            f"{where}: '{scene_object.name}' is excluded from this view layer or disabled in viewports, so that "
            "Blender does not evaluate it: include it first"
        )


@contextmanager
def editable(armature: "Object", scene: "Scene", layer: "ViewLayer") -> "Iterator[Object]":
    """Yield an armature that can be keyed: itself, or a library override that replaces a linked one.

    Its hierarchy is overridden as well, as by Object > Library Override > Make. A collection instance is replaced by
    its objects, as children of the empty, so that they stay in place. If the body raises, all of this is undone.
    Raises RigError if Blender cannot make an override.
    """
    if armature.library is None:
        yield armature
        return
    _check_overridable(armature, scene)
    with ExitStack() as undo:
        override = _override(armature, scene, layer, undo)
        layer.update()
        yield override
        undo.pop_all()


def _is_scene_object(armature: "Object", scene: "Scene") -> bool:
    """Return whether an object is in a scene, compared by identity because names are not unique across files."""
    return any(obj == armature for obj in scene.objects)


def _instances_of(armature: "Object", scene: "Scene") -> "list[Object]":
    """Return the collection instances of a scene whose collection contains the armature."""
    instances = [obj for obj in scene.objects if obj.instance_type == "COLLECTION" and obj.instance_collection]
    containing = [
        obj for obj in instances if any(obj_inside == armature for obj_inside in obj.instance_collection.all_objects)
    ]
    return sorted(containing, key=lambda obj: obj.name)


def _scene_object(armature: "Object", scene: "Scene") -> "Object":
    """Return the scene object of a linked armature: itself, or the collection instance that contains it."""
    if _is_scene_object(armature, scene):
        return armature
    instances = _instances_of(armature, scene)
    active = [obj for obj in instances if obj == bpy.context.view_layer.objects.active]
    if len(instances) > 1 and not active:
        raise RigError(
            f"armature '{armature.name}' of {library_of(armature)} has {len(instances)} instances, "
            f"{' and '.join(repr(obj.name) for obj in instances)}: make the instance to drive the active object"
        )
    if not instances:
        raise RigError(f"armature '{armature.name}' of {library_of(armature)} is not in this scene, choose another")
    return (active or instances)[0]


def _override(armature: "Object", scene: "Scene", layer: "ViewLayer", undo: ExitStack) -> "Object":
    """Make the override and replace the linked objects by it; push the steps that undo this onto `undo`."""
    scene_object = _scene_object(armature, scene)
    instance_collection = scene_object.instance_collection if scene_object != armature else None
    root = instance_collection or _linked_collection(armature, scene) or armature
    undo.callback(_restore_selection, layer, layer.objects.active, list(layer.objects.selected))
    before = set(bpy.data.user_map())
    root.override_hierarchy_create(scene, layer)
    new_blocks = [block for block in bpy.data.user_map() if block not in before and block.override_library]
    undo.callback(bpy.data.batch_remove, new_blocks)
    overrides: dict[ID, Any] = {block.override_library.reference: block for block in new_blocks}
    override: Object | None = overrides.get(armature)
    if override is None:
        raise RigError(
            f"armature '{armature.name}' of {library_of(armature)}: Blender cannot make a library override of it, "
            "append it instead of linking it"
        )
    override.override_library.is_system_override = False
    if instance_collection is not None:
        _parent_to(scene_object, [block for block in new_blocks if isinstance(block, bpy.types.Object)], undo)
    else:
        _replace_in_collections(overrides, scene, layer, undo)
    return override


def _restore_selection(layer: "ViewLayer", active: "Object | None", selected: "list[Object]") -> None:
    """Restore the active object and the selection."""
    # Until this update, objects that were unlinked or removed meanwhile are listed as None.
    layer.update()
    for obj in layer.objects:
        obj.select_set(obj in selected, view_layer=layer)
    layer.objects.active = active


def _linked_collection(armature: "Object", scene: "Scene") -> "Collection | None":
    """Return the outermost linked collection of a scene that contains the armature."""
    linked = (collection for collection in scene.collection.children_recursive if collection.library)
    return next((candidate for candidate in linked if any(obj == armature for obj in candidate.all_objects)), None)


def _parent_to(empty: "Object", objects: "list[Object]", undo: ExitStack) -> None:
    instance_collection = empty.instance_collection
    offset = Matrix.Translation(-instance_collection.instance_offset)
    for obj in objects:
        if obj.parent is None:
            obj.parent = empty
            obj.matrix_parent_inverse = offset
    undo.callback(setattr, empty, "instance_collection", instance_collection)
    undo.callback(setattr, empty, "instance_type", empty.instance_type)
    empty.instance_collection = None
    empty.instance_type = "NONE"


def _replace_in_collections(overrides: "dict[ID, Any]", scene: "Scene", layer: "ViewLayer", undo: ExitStack) -> None:
    """Link each override to the local collections of its original, and unlink the original."""
    active = layer.objects.active
    collections = [
        collection for collection in (scene.collection, *scene.collection.children_recursive) if collection.is_editable
    ]
    for linked, override in overrides.items():
        kind = "objects" if isinstance(linked, bpy.types.Object) else "children"
        if not isinstance(linked, bpy.types.Object | bpy.types.Collection):
            continue
        for parent in [
            collection for collection in collections if any(item == linked for item in getattr(collection, kind))
        ]:
            items = getattr(parent, kind)
            if not any(item == override for item in items):
                items.link(override)
            items.unlink(linked)
            undo.callback(items.link, linked)
    if active in overrides:
        layer.objects.active = overrides[active]
        overrides[active].select_set(True, view_layer=layer)
