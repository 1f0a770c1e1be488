"""Armatures linked from another file: a library override, which can be keyed, replaces them in the scene."""

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

    def found(self) -> "Object | None":
        """Return the object in the open file, None if it is gone."""
        key: Any = (self.name, self.library)
        found: Object | None = bpy.data.objects.get(key)
        return found


def library_of(obj: "Object") -> str | None:
    """Return the name of the file that an object is linked from, None for a local object."""
    return Path(bpy.path.abspath(obj.library.filepath)).name if obj.library else None


def stands_in(armature: "Object", scene: "Scene") -> bool:
    """Whether an armature is in a scene, as an object of its own or in a collection instance."""
    return _among(armature, scene) or bool(_showing(armature, scene))


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
    stand = _stand(armature, scene)
    if not is_evaluated(stand):
        raise RigError(
            f"{where}: '{stand.name}' is excluded from this view layer or disabled in viewports, so that Blender does "
            "not work out where it is: include it first"
        )


@contextmanager
def editable(armature: "Object", scene: "Scene", layer: "ViewLayer") -> "Iterator[Object]":
    """Yield an armature that can be keyed: itself, or a library override that replaces a linked one.

    Its hierarchy is overridden as well, as by Object > Library Override > Make. A collection instance is replaced by
    its objects, as children of the empty, so that they stay in place. If the body raises, all of this is undone.
    Raises RigError if Blender makes no override.
    """
    if armature.library is None:
        yield armature
        return
    _check_overridable(armature, scene)
    with ExitStack() as back:
        own = _override(armature, scene, layer, back)
        layer.update()
        yield own
        back.pop_all()


def _among(armature: "Object", scene: "Scene") -> bool:
    """Whether an object is in a scene, compared by identity because names are not unique across files."""
    return any(obj == armature for obj in scene.objects)


def _showing(armature: "Object", scene: "Scene") -> "list[Object]":
    """Return the collection instances of a scene whose collection contains the armature."""
    empties = [obj for obj in scene.objects if obj.instance_type == "COLLECTION" and obj.instance_collection]
    showing = [obj for obj in empties if any(one == armature for one in obj.instance_collection.all_objects)]
    return sorted(showing, key=lambda obj: obj.name)


def _stand(armature: "Object", scene: "Scene") -> "Object":
    """Return the scene object of a linked armature: itself, or the collection instance that contains it."""
    if _among(armature, scene):
        return armature
    showing = _showing(armature, scene)
    active = [obj for obj in showing if obj == bpy.context.view_layer.objects.active]
    if len(showing) > 1 and not active:
        raise RigError(
            f"armature '{armature.name}' of {library_of(armature)} is shown {len(showing)} times, by "
            f"{' and '.join(repr(obj.name) for obj in showing)}: make the one to drive the active object"
        )
    if not showing:
        raise RigError(f"armature '{armature.name}' of {library_of(armature)} is not in this scene, choose another")
    return (active or showing)[0]


def _override(armature: "Object", scene: "Scene", layer: "ViewLayer", back: ExitStack) -> "Object":
    """Make the override and replace the linked objects by it; register on `back` how to undo that."""
    stand = _stand(armature, scene)
    shown = stand.instance_collection if stand != armature else None
    root = shown or _linked_collection(armature, scene) or armature
    back.callback(_chosen_again, layer, layer.objects.active, list(layer.objects.selected))
    before = set(bpy.data.user_map())
    root.override_hierarchy_create(scene, layer)
    made = [block for block in bpy.data.user_map() if block not in before and block.override_library]
    back.callback(bpy.data.batch_remove, made)
    overrides: dict[ID, Any] = {block.override_library.reference: block for block in made}
    own: Object | None = overrides.get(armature)
    if own is None:
        raise RigError(
            f"armature '{armature.name}' of {library_of(armature)}: Blender makes no library override of it, append it "
            "instead of linking it"
        )
    own.override_library.is_system_override = False
    if shown is not None:
        _hung_on(stand, [block for block in made if isinstance(block, bpy.types.Object)], back)
    else:
        _exchanged(overrides, scene, layer, back)
    return own


def _chosen_again(layer: "ViewLayer", active: "Object | None", selected: "list[Object]") -> None:
    """Restore the active object and the selection."""
    # Until this update, objects that were unlinked or removed meanwhile are listed as None.
    layer.update()
    for obj in layer.objects:
        obj.select_set(obj in selected, view_layer=layer)
    layer.objects.active = active


def _linked_collection(armature: "Object", scene: "Scene") -> "Collection | None":
    """Return the outermost linked collection of a scene that contains the armature."""
    linked = (collection for collection in scene.collection.children_recursive if collection.library)
    return next((one for one in linked if any(obj == armature for obj in one.all_objects)), None)


def _hung_on(empty: "Object", made: "list[Object]", back: ExitStack) -> None:
    shown = empty.instance_collection
    offset = Matrix.Translation(-shown.instance_offset)
    for obj in made:
        if obj.parent is None:
            obj.parent = empty
            obj.matrix_parent_inverse = offset
    back.callback(setattr, empty, "instance_collection", shown)
    back.callback(setattr, empty, "instance_type", empty.instance_type)
    empty.instance_collection = None
    empty.instance_type = "NONE"


def _exchanged(overrides: "dict[ID, Any]", scene: "Scene", layer: "ViewLayer", back: ExitStack) -> None:
    """Link each override to the local collections of its original, and unlink the original."""
    active = layer.objects.active
    holders = [one for one in (scene.collection, *scene.collection.children_recursive) if one.is_editable]
    for linked, own in overrides.items():
        part = "objects" if isinstance(linked, bpy.types.Object) else "children"
        if not isinstance(linked, bpy.types.Object | bpy.types.Collection):
            continue
        for holder in [one for one in holders if any(item == linked for item in getattr(one, part))]:
            listed = getattr(holder, part)
            if not any(item == own for item in listed):
                listed.link(own)
            listed.unlink(linked)
            back.callback(listed.link, linked)
    if active in overrides:
        layer.objects.active = overrides[active]
        overrides[active].select_set(True, view_layer=layer)
