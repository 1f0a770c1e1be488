"""Run by test_package.py in a fresh Python: installs the zip as Blender does, switches it on and off, tells what came.

Arguments: the zip and an empty folder that takes Blender's own place for settings and extensions.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

package, folder = Path(sys.argv[1]), Path(sys.argv[2])
os.environ["BLENDER_USER_RESOURCES"] = str(folder / "user")  # read when bpy is imported

import bpy  # noqa: E402, I001
import addon_utils  # noqa: E402  # found only once bpy is there

MODULE = "bl_ext.knuckle_test.knuckle"


def registered_panels() -> list[str]:
    """The labels of the panels in the sidebar's tab."""
    ours = [panel for panel in bpy.types.Panel.__subclasses__() if getattr(panel, "bl_category", "") == "Knuckle"]
    return [panel.bl_label for panel in ours if panel.is_registered]


repository = folder / "repository"
repository.mkdir()
tool = Path(addon_utils.__file__).parents[1] / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
version = ".".join(map(str, bpy.app.version))
options = ["--local-dir", str(repository), "--blender-version", version, "--temp-prefix-and-suffix", "tmp/.tmp"]
subprocess.run([sys.executable, str(tool), "install-files", *options, str(package)], check=True, stdout=sys.stderr)

bpy.context.preferences.extensions.repos.new(name="Test", module="knuckle_test", custom_directory=str(repository))
addon_utils.extensions_refresh(ensure_wheels=True, addon_modules_pending=[MODULE])
addon_utils.enable(MODULE, default_set=True)
_, enabled = addon_utils.check(MODULE)
panels = registered_panels()
wheels = sorted(path.name for path in (folder / "user").rglob("site-packages/*.dist-info"))
addon_utils.disable(MODULE, default_set=True)
result = {"enabled": enabled, "panels": panels, "panels_left": registered_panels(), "wheels": wheels}
print(json.dumps(result))
