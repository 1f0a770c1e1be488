"""The Hand menu, its pie menu and key, the preferences, and the pages that F1 opens."""

import runpy
import types
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import bpy
import pytest

import knuckle
from knuckle.capture.devices.device_table import DEVICES
from knuckle.operators import keymap
from knuckle.operators.help_pages import PAGES, page_url
from knuckle.operators.preferences import COLORS, DEFAULTS, PACKAGE, overlay_colour, preferences
from knuckle.panels.hand_menu import ENTRIES, PIE
from knuckle.panels.sidebar import KNUCKLE_PT_presets
from knuckle.registration import definitions

pytestmark = pytest.mark.usefixtures("extension")

MODES_AT_ONCE = {
    "Pose": {"Window", "Screen", "Screen Editing", "3D View Generic", "3D View", "Frames", "Pose", "User Interface"},
    "Object Mode": {
        *("Window", "Screen", "Screen Editing", "3D View Generic", "3D View", "Frames"),
        *("Object Mode", "Object Non-modal", "User Interface"),
    },
}
"""Mode -> the keymaps that handle a key there."""


@pytest.fixture
def enabled() -> Iterator[Any]:
    """The preferences, as when the extension is enabled; they are not saved."""
    addon = bpy.context.preferences.addons.new()
    addon.module = PACKAGE
    yield addon.preferences
    for each in [each for each in bpy.context.preferences.addons if each.module == PACKAGE]:
        bpy.context.preferences.addons.remove(each)


def manual_pages(identifier: str) -> list[str]:
    """Every page that F1 would try for an identifier, the first of which opens."""
    return [
        prefix + page
        for prefix, pages in bpy.utils.manual_map()
        for pattern, page in pages
        if fnmatchcase(identifier.lower(), pattern)
    ]


def test_every_entry_of_the_menus_is_an_operator_with_the_properties_that_it_names() -> None:
    for entry in (*PIE, *(entry for group in ENTRIES for entry in group)):
        category, _, name = entry.operator.partition(".")
        known = getattr(getattr(bpy.ops, category), name).get_rna_type().properties
        assert {*entry.properties, *filter(None, [entry.enum])} <= set(known.keys()), entry.operator


@pytest.mark.parametrize("sought", ["solve hand", "grasp", "relax hand", "knuckle"])
def test_words_that_people_search_for_are_in_the_menu(sought: str) -> None:
    texts = [entry.text.lower() for group in ENTRIES for entry in group]
    assert any(all(word in text for word in sought.split()) for text in texts)


def test_the_menu_is_drawn_in_pose_mode_and_in_object_mode() -> None:
    for menu in (bpy.types.VIEW3D_MT_pose, bpy.types.VIEW3D_MT_object):
        drawn = [draw.__name__ for draw in menu._dyn_ui_initialize() if draw.__module__.startswith("knuckle.")]
        assert drawn == ["draw_menu"]


def test_the_keys_are_free_in_blenders_keymap() -> None:
    scripts = Path(bpy.utils.system_resource("SCRIPTS"))
    data = runpy.run_path(str(scripts / "presets" / "keyconfig" / "keymap_data" / "blender_default.py"))
    taken = {name: content["items"] for name, _, content in data["generate_keymaps"](data["Params"]())}
    for mode, together in MODES_AT_ONCE.items():
        assert together <= set(taken)
        keys = [item for name in together for _, item, *_ in taken[name] if item["type"] == keymap.KEY]
        held = [{name for name in ("ctrl", "alt", "shift", "oskey") if item.get(name)} for item in keys]
        for shortcut in keymap.SHORTCUTS:
            own = {name for name in ("alt", "shift") if getattr(shortcut, name)}
            assert own not in held, (mode, shortcut.title)


def test_keys_and_pages_are_gone_when_the_extension_is_off() -> None:
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    maps = len(list(bpy.utils.manual_map()))
    assert len(list(keymap.items(keyconfig))) == len(keymap.KEYMAPS) * len(keymap.SHORTCUTS)
    for _ in range(20):
        knuckle.unregister()
        assert list(keymap.items(keyconfig)) == [] and len(list(bpy.utils.manual_map())) == maps - 1
        knuckle.register()
    assert len(list(keymap.items(keyconfig))) == len(keymap.KEYMAPS) * len(keymap.SHORTCUTS)


def test_every_page_exists() -> None:
    for page in PAGES:
        path = Path(urlparse(page_url(page)).path)
        assert path.is_file(), page


def test_f1_on_every_operator_and_setting_opens_a_page_of_its_own() -> None:
    for cls in definitions("CLASSES"):
        if issubclass(cls, bpy.types.Operator):
            identifier = f"bpy.ops.{cls.bl_idname}"
        elif issubclass(cls, bpy.types.PropertyGroup | bpy.types.AddonPreferences):
            identifier = f"bpy.types.{cls.__name__}.any"
        else:
            continue
        pages = manual_pages(identifier)
        # Status is no setting, and no pages of its own have what only holds other groups.
        known = cls.__name__ == "KnuckleStatus" or "Settings" in cls.__name__
        assert pages and (known or "/index." not in pages[0]), f"{identifier}: {pages}"


@pytest.mark.parametrize(
    ("identifier", "page"),
    [
        ("bpy.ops.knuckle.grasp", "how-to/grasp"),
        ("bpy.ops.knuckle.live_forget_performer", "how-to/live"),
        ("bpy.types.KnuckleSettings.solver", "how-to/solve"),
        ("bpy.types.KnuckleSolver_fabrik.passes", "how-to/solvers"),
        ("bpy.types.KnuckleRightHand.wrist", "how-to/rigs"),
    ],
)
def test_f1_opens_the_page_about_what_is_under_the_mouse(identifier: str, page: str) -> None:
    assert manual_pages(identifier)[0] == page_url(page)


def test_preferences_have_their_defaults_whether_or_not_the_extension_is_enabled(enabled: Any) -> None:
    properties = enabled.bl_rna.properties
    assert {name for name in DEFAULTS if name not in properties} == set()
    for name, default in DEFAULTS.items():
        value = getattr(enabled, name)
        assert (list(value) == pytest.approx(default)) if name.startswith("color_") else (value == default)


def test_a_devices_port_and_the_take_folder_are_those_of_the_preferences(enabled: Any, tmp_path: Path) -> None:
    from knuckle.operators.take_folder import folder_of

    live = bpy.context.scene.knuckle_live
    enabled.port_xsens, enabled.take_folder = 9999, str(tmp_path)
    live.device = "xsens"
    assert live.port == 9999
    live.device = "quest"
    assert live.port == DEVICES["quest"].port
    assert folder_of(bpy.context.scene) == tmp_path
    live.folder = str(tmp_path / "own")
    assert folder_of(bpy.context.scene) == tmp_path / "own", "the scene's folder comes first"


def test_a_file_that_is_not_saved_records_among_the_documents(
    enabled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from knuckle.operators.take_folder import folder_of

    bpy.ops.wm.read_homefile(use_empty=True, load_ui=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert folder_of(bpy.context.scene) == tmp_path / "Knuckle Takes"
    (tmp_path / "Documents").mkdir()
    assert folder_of(bpy.context.scene) == tmp_path / "Documents" / "Knuckle Takes"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    assert folder_of(bpy.context.scene) == tmp_path


def test_colors_of_the_overlay_follow_the_preferences(enabled: Any) -> None:
    assert overlay_colour("index-finger") == pytest.approx(COLORS["index_finger"][1])
    enabled.color_index_finger = (0.0, 0.5, 1.0, 1.0)
    assert overlay_colour("index-finger") == (0.0, 0.5, 1.0, 1.0)
    bpy.context.preferences.addons.remove(bpy.context.preferences.addons[PACKAGE])
    assert preferences().color_index_finger == COLORS["index_finger"][1]
    bpy.context.preferences.addons.new().module = PACKAGE


def test_the_menu_of_presets_lists_them_and_says_nothing_of_paths_before_there_is_one(tmp_path: Path) -> None:
    drawn: list[str] = []

    class Layout(types.SimpleNamespace):
        """Notes the labels and the buttons of files, and stands for all rows in it."""

        def __getattr__(self, name: str) -> Any:
            def draw(*_: object, text: str = "", **__: object) -> Layout:
                if text:
                    drawn.append(text)
                return self

            return draw

    menu: Any = types.SimpleNamespace(layout=Layout(), bl_idname="")
    options = {"add_operator": KNUCKLE_PT_presets.preset_add_operator, "filter_ext": [".json"].__contains__}
    KNUCKLE_PT_presets.path_menu(menu, [], KNUCKLE_PT_presets.preset_operator, **options)
    assert drawn == []
    for name in ("calm.json", "other.py"):
        (tmp_path / name).touch()
    KNUCKLE_PT_presets.path_menu(menu, [str(tmp_path)], KNUCKLE_PT_presets.preset_operator, **options)
    assert [text.lower() for text in drawn] == ["calm"]
