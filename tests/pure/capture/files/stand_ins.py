"""Captures in place of those of ../shared that may not be bundled: the same names, sizes and quirks, made-up motion."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from . import samples
from .samples import C3D, Floats

INTEL, DEC, MIPS = 84, 85, 86
CLUSTER = 4
"""Markers on one part of a body: they are lost together."""


def body(frames: int, markers: int, up: str = "z", seed: int = 1) -> Floats:
    """(F, M, 3) m: markers between the floor and 1.7 m that walk along x and sway, rounded to a tenth of a mm."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0.0, 2.0, frames)[:, None]
    height = np.linspace(0.05, 1.7, markers)
    sway = 0.03 * np.sin(4.0 * time + rng.uniform(0.0, 6.0, markers))
    points = np.stack(
        [0.5 * time + rng.uniform(-0.15, 0.15, markers), rng.uniform(-0.3, 0.3, markers) + sway, height + 0.3 * sway],
        axis=2,
    )
    axes = [0, 1, 2] if up == "z" else [1, 2, 0]
    result: Floats = np.round(points[..., axes], 4)
    return result


def with_gaps(points: Floats, seed: int = 2) -> Floats:
    """The points with NaN where a cluster of markers is lost for a while."""
    rng = np.random.default_rng(seed)
    result = points.copy()
    frames, markers = points.shape[:2]
    for first in range(0, markers, CLUSTER):
        start = rng.integers(0, frames)
        result[start : start + frames // 10, first : first + CLUSTER] = np.nan
    return result


def c3d(frames: int, markers: int) -> C3D:
    """A body with gaps: by their residual alone in some markers, at the origin too in the others."""
    points = samples.c3d_points(with_gaps(body(frames, markers)))
    lost = np.isnan(points[..., 0])
    points[lost] = [0.0, 0.0, 0.0, -1.0]
    points[:, ::2][lost[:, ::2]] = [123.0, 45.0, 67.0, -1.0]
    return C3D(points, [f"M{marker:02}" for marker in range(markers)], rate=50.0)


def byte_order(processor: int, scale: float) -> bytes:
    """The same body for each of the three processors, in integers of a scale or in reals."""
    return replace(c3d(60, 26), processor=processor, scale=scale).bytes()


def moved(before: int, between: int) -> bytes:
    """Parameters and points behind blocks of no meaning."""
    return replace(c3d(60, 26), scale=1 / 12, before=before, between=between).bytes()


def damaged() -> bytes:
    """A section whose last group has a name and an offset past the section's end."""
    return replace(c3d(20, 8), end=b"\x09\xf7DAMAGED\0\0\xff\x7f").bytes()


def without_rate(markers: int) -> bytes:
    """No rate, no unit, labels that occur more than once, and analog values between the points."""
    file = c3d(40, markers)
    labels = [f"M{marker % (markers - 8)}" for marker in range(markers)]
    return replace(file, labels=labels, rate=100.0, analog=6, left_out=("RATE", "UNITS")).bytes()


def long_parameters() -> bytes:
    """Points from block 188 on, which a signed byte cannot say, and two groups of one name."""
    file = c3d(40, 20)
    file.parameters += [("PROCESSING", f"NOTE{number}", file.strings(["x" * 250] * 120)) for number in range(3)]
    file = replace(file, more_groups=("PROCESSING",))
    return replace(file, between=188 - 2 - len(file.section()) // samples.BLOCK).bytes()


def trc(
    points: Floats,
    rate: float,
    *,
    write_number: Callable[[float], str] = "{:.5f}".format,
    unit: str = "mm",
    header_rate: float | None = None,
    newline: str = "\n",
    label_tabs: str = "\t",
    blank_line: bool = True,
    first: int = 1,
    gap: str = "",
) -> bytes:
    """A TRC in a writer's own layout: `points` (F, M, 3) m, `header_rate` where the header has a rate of its own."""
    count, markers = points.shape[:2]
    said = rate if header_rate is None else header_rate
    labels = [f"M{marker}" for marker in range(markers)]
    lines = [
        "PathFileType\t4\t(X/Y/Z)\tbody.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames",
        f"{said:g}\t{said:g}\t{count:8}\t{markers}\t{unit}\t{said:g}\t1\t{count:8}",
        f"Frame#\tTime{label_tabs}" + "\t\t\t".join(labels) + "\t\t",
        f"\t{label_tabs}" + "\t".join(f"X{index}\tY{index}\tZ{index}" for index in range(1, markers + 1)),
        *([""] if blank_line else []),
    ]
    scale = 1000.0 if unit == "mm" else 1.0
    for index, row in enumerate(points * scale):
        cells = (gap if np.isnan(value) else write_number(value) for value in row.ravel())
        lines.append("\t".join([str(index + first), f"{index / rate:.6f}", *cells]))
    return newline.join(lines).encode() + newline.encode()


def spelled_gaps() -> bytes:
    """Two gaps: one blank, one of three spellings of NaN."""
    points = body(5, 3)
    points[0, 0] = points[2, 1] = np.nan
    text = trc(points, 100.0, write_number="{:.3g}".format, unit="m", blank_line=False, gap="GAP").decode()
    for spelling in ("", "", "", "Nan", "nan", "NAN"):
        text = text.replace("GAP", spelling, 1)
    return text.encode()


FILES: dict[str, Callable[[], bytes]] = {
    "data/c3d/sample_08/EB015PI.c3d": partial(moved, 0, 0),
    "data/c3d/sample_08/TESTAPI.c3d": partial(moved, 0, 0),
    "data/c3d/sample_08/TESTBPI.c3d": partial(moved, 9, 0),
    "data/c3d/sample_08/TESTCPI.c3d": partial(moved, 0, 9),
    "data/c3d/sample_08/TESTDPI.c3d": partial(moved, 5, 4),
    "data/c3d/sample_18/bad_parameter_section.c3d": damaged,
    "data/c3d/sample_28/dynamic.C3D": partial(without_rate, 34),
    "data/c3d/sample_28/standing.C3D": partial(without_rate, 38),
    "data/c3d/sample_28/type1.C3D": lambda: c3d(40, 28).bytes(),
    "data/c3d/sample_33/bigparlove.c3d": long_parameters,
    "data/trc/dataWithBlanksForMissingMarkers.trc": lambda: trc(with_gaps(body(464, 40)), 250.0),
    "data/trc/dataWithEformat.trc": lambda: trc(
        body(5, 14, up="y"), 119.88, write_number="{:.2E}".format, unit="m", blank_line=False
    ),
    "data/trc/exampleFormat.trc": spelled_gaps,
    "data/trc/futureMarkerPreviewData.trc": lambda: trc(
        body(73, 31, up="y"), 60.0, write_number="{:.5g}".format, unit="m", label_tabs="\t\t"
    ),
    "data/trc/gait10dof18musc_walk_CRLF_line_ending.trc": lambda: trc(body(10, 41, up="y"), 60.0, newline="\r\n"),
    "data/trc/init100.trc": lambda: trc(body(120, 22), 120.0, first=101),
    "data/trc/std_walking2_markers.trc": lambda: trc(
        with_gaps(body(126, 44)), 25.0, header_rate=250.0, label_tabs="\t\t", gap="NaN"
    ),
}
"""Path below ../shared -> what makes the bytes of its stand-in."""

FILES |= {
    f"data/c3d/sample_01/Eb015{order}{number}.c3d": partial(byte_order, processor, scale)
    for order, processor in {"p": INTEL, "s": MIPS, "v": DEC}.items()
    for number, scale in {"i": 1 / 12, "r": -1 / 12}.items()
}
FILES |= {
    f"data/c3d/sample_02/{order}_{number}.c3d": partial(byte_order, processor, scale)
    for order, processor in {"pc": INTEL, "sgi": MIPS, "dec": DEC}.items()
    for number, scale in {"int": 0.28, "real": -0.28}.items()
}
