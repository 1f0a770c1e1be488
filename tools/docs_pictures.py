"""Makes the pictures of the README and docs: the hand's poses, and the bundled recording solved.

    python tools/docs_pictures.py

Pictures of Blender's windows come from the GUI tests: tools/gui_pictures.py.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import hand_pictures  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
CHARTS = (
    "solver_pictures.py",
    "jacobian_charts.py",
    "cga_pictures.py",
    "noise_pictures.py",
    "table_pictures.py",
    "chain_pictures.py",
    "rig_pictures.py",
    "pose_pictures.py",
    "slider_pictures.py",
)
"""Scripts that draw the other pictures of the docs."""
FRAMES = (1, 22, 40, 58)
"""Frames of the bundled recording with different poses."""


def take() -> None:
    """Render four frames of the bundled recording, side by side."""
    hand_pictures.load_package()
    from knuckle.cli.commands import DEMO_CAPTURE
    from knuckle.pipeline import job
    from knuckle.pipeline.recipe import Recipe
    from knuckle.rig import blend_file, render

    blend_file.new_scene_with_take(job.run(Recipe(str(DEMO_CAPTURE))))
    picture = render.RenderSettings(width=720, height=720, engine=render.usable_engine())
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{frame}.png" for frame in FRAMES]
        for frame, path in zip(FRAMES, paths, strict=True):
            render.render_still(path, picture, frame)
        # The camera's view includes the whole take's motion; each picture needs its middle only.
        row = np.concatenate([hand_pictures.read_picture(str(path))[150:590, 210:510] for path in paths], axis=1)
    hand_pictures.write_picture(PICTURES / "take.png", row)


def main() -> None:
    """Make each kind of picture in its own process, so that none inherits another's scene."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "hand_pictures.py"), "--out", str(PICTURES)], check=True)
    take()
    for script in CHARTS:
        subprocess.run([sys.executable, str(ROOT / "tools" / script)], check=True)
    print(f"pictures in {PICTURES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
