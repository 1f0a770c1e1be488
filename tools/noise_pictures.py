"""Draws docs/pictures/noise.svg and noise-angle.svg: a fingertip's path and a finger's angle, raw and smoothed.

python tools/noise_pictures.py [--out docs/pictures]    Needs ../shared for the second.
"""

import argparse
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import svg
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
SHOWN_FRAMES = slice(100, 240)
"""Frames of the path to draw, which has 300 at 100 Hz."""
OUTLIER = 170
"""The frame in which the marker jumps by 15 mm."""
FINGER, LEAP = 4, slice(230, 350)
"""The little finger, and frames in which its tip passes below its knuckle."""


MODES = {"not smoothed": "off", "live": "live", "whole take": "whole"}


def load_package() -> None:
    """Make this checkout importable as knuckle, whatever its folder is called."""
    if "knuckle" not in sys.modules:
        spec = spec_from_file_location("knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
        assert spec and spec.loader
        sys.modules["knuckle"] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules["knuckle"])


def paths() -> dict[str, Floats]:
    """Return positions in mm over frames: rest, a tap and a slow swing, with one outlier."""
    load_package()
    from knuckle.solvers.smoothing.live_path import PathFilter, filter_frame, initial_history
    from knuckle.solvers.smoothing.motion_model import POSITION_SCALE, NoiseRules
    from knuckle.solvers.smoothing.path_smoother import smooth

    times = np.arange(300) / 100
    truth = np.zeros((300, 1, 3))
    tap = 0.025 * np.exp(-(((times - 1.3) / 0.05) ** 2))
    truth[:, 0, 0] = tap + 0.012 * np.sin(2 * np.pi * 1.2 * np.maximum(times - 1.5, 0.0))
    values = truth + np.random.default_rng(3).normal(0, 0.001, truth.shape)
    values[OUTLIER, 0, 0] += 0.015
    is_visible = np.ones((300, 1), bool)
    whole = smooth(times, values, is_visible, NoiseRules(POSITION_SCALE, 0.2)).values
    track, live = initial_history(1, 3, POSITION_SCALE), []
    for frame, time in enumerate(times):
        track, position = filter_frame(
            track, float(time), values[frame], is_visible[frame], PathFilter(1, 0.3, NoiseRules(POSITION_SCALE, 0.1))
        )
        live.append(position.values)
    curves = {"marker": values, "live, as shown": np.array(live), "whole take": whole, "truth": truth}
    return {name: 1000 * path[SHOWN_FRAMES, 0, 0] for name, path in curves.items()}


def angles() -> dict[str, Floats]:
    """Return abduction in degrees over frames, of a finger whose tip, with 1 mm of noise, passes below its knuckle."""
    sys.path[:0] = [str(ROOT.parent / "shared" / "bench"), str(ROOT / "tools" / "benchmarks")]

    noise = import_module("noise")
    points, truth = noise.truth(4711)
    tips, is_visible = noise.faults(points[:, :, 3], 4712)["1 mm of noise"]
    curves = {name: noise.angles_of("table", mode, tips, is_visible) for name, mode in MODES.items()}
    return {name: np.rad2deg(each[LEAP, FINGER, 0]) for name, each in {**curves, "truth": truth}.items()}


def chart(title: str, label: str, curves: dict[str, Floats], first: int) -> str:
    """Return curves over frames; the truth is dashed."""
    frames = [float(first + frame) for frame in range(len(next(iter(curves.values()))))]
    series = [svg.Series(name, frames, [float(y) for y in path], name == "truth") for name, path in curves.items()]
    values = [value for series_item in series for value in series_item.y]
    drawing: str = svg.lines(title, svg.axis("frames of 10 ms", frames), svg.axis(label, values), series)
    return drawing


def main() -> None:
    """Write both pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    out: Path = parser.parse_args().out
    svg.write(
        out / "noise.svg", chart("A fingertip: rest, a tap, a swing, one outlier", "mm", paths(), SHOWN_FRAMES.start)
    )
    if (ROOT.parent / "shared").is_dir():
        title = "Abduction of a finger that bends and stretches"
        svg.write(out / "noise-angle.svg", chart(title, "degrees", angles(), LEAP.start))


if __name__ == "__main__":
    main()
