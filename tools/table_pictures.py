"""Draws the pictures of docs/explanation/table.md: two flexions for one distance, and a joint as a circle.

python tools/table_pictures.py [--out docs/pictures]
"""

import argparse
from pathlib import Path

import numpy as np
import svg

from knuckle.hand.calibration.joint_radii import radii_by_size
from knuckle.hand.proportions import adult
from knuckle.solvers.planar.planar_chain import Chain, ChainMarker
from knuckle.solvers.table.linkage import linkage
from knuckle.solvers.table.uniform_table import build, reach

ROOT = Path(__file__).resolve().parents[1]
HAND = adult("right")
LIMITS = np.deg2rad([[-30.0, 90.0], [-30.0, 110.0], [-20.0, 70.0]])
CHAIN = Chain(HAND.phalanges[1], LIMITS, 2 / 3, 0.0)
TIP = ChainMarker(2, float(HAND.phalanges[1, 2]))


def distances() -> str:
    """Return the tip's distance from the knuckle over the middle joint's bend."""
    bends = np.linspace(LIMITS[1, 0], LIMITS[1, 1], 281)
    curves = []
    for name, radii in (("joints are points", np.zeros(3)), ("joints are circles", radii_by_size(HAND)[1])):
        far = reach(linkage(CHAIN, TIP, radii), bends)
        curves.append(svg.Series(name, np.rad2deg(bends).tolist(), (1000 * far).tolist()))
    x = svg.Axis("the middle joint's bend, degrees", -30, 110, range(-20, 111, 20))
    y = svg.axis("mm from knuckle to tip", [value for curve in curves for value in curve.y])
    drawing: str = svg.lines("One distance, two bends: backwards and forwards", x, y, curves)
    return drawing


def indices() -> str:
    """Return a chart of the bend over the table's index, and over the thesis's."""
    table = build(linkage(CHAIN, TIP, np.zeros(3)))
    branch = table.forwards
    index = branch.step * np.arange(len(branch.bends) - 1)
    lack = table.farthest - np.sqrt(np.maximum(table.farthest**2 - index**2, 0.0))
    bends = np.rad2deg(branch.bends[:-1])
    curves = [
        svg.Series("by what the distance lacks (thesis)", (lack / lack[-1]).tolist(), bends.tolist()),
        svg.Series("by s, the root of R² - r² (even)", (index / index[-1]).tolist(), bends.tolist()),
    ]
    x = svg.Axis("through the table, first row to last", 0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1])
    y = svg.Axis("the middle joint's bend, degrees", 0, 112, range(0, 111, 20))
    drawing: str = svg.lines("What a row of the table says", x, y, curves)
    return drawing


def circle() -> str:
    """Return a bent joint with markers on the back: the hidden link."""
    radius, bend, first, second = 46.0, np.deg2rad(70), 190.0, 160.0
    centre = complex(330, 150)
    # The picture's y axis points down, so a bend towards the palm is clockwise: exp(i·bend).
    before, after = centre - 1j * radius, centre - 1j * radius * np.exp(1j * bend)
    ends = before - first, after + second * np.exp(1j * bend)

    def pair(*places: complex) -> list[tuple[float, float]]:
        return [(position.real, position.imag) for position in places]

    parts = [svg.text(24, 20, "The circular joint: markers run along the back, the bone turns below it", "start")]
    parts.append(
        f'<circle cx="{centre.real:.1f}" cy="{centre.imag:.1f}" r="{radius:g}" fill="none" stroke="{svg.INK}" '
        'stroke-dasharray="4 4"/>'
    )
    parts += [svg.path(pair(ends[0], before), svg.COLOURS[0], 5), svg.path(pair(after, ends[1]), svg.COLOURS[0], 5)]
    parts.append(svg.path(pair(before, after), svg.COLOURS[3], 4))
    parts += [svg.path(pair(before, centre, after), svg.INK, 1.2)]
    for position in (ends[0], before, after, ends[1], centre):
        parts.append(f'<circle cx="{position.real:.1f}" cy="{position.imag:.1f}" r="4" fill="{svg.INK}"/>')
    middle = (before + after) / 2
    parts.append(svg.text(middle.real + 12, middle.imag - 8, "hidden link, 2 r sin(θ/2)", "start"))
    parts.append(svg.text(centre.real - 34, centre.imag - 14, "r"))
    parts.append(svg.text(centre.real + 10, centre.imag - 16, "θ"))
    parts.append(svg.text((ends[0].real + before.real) / 2, before.imag - 10, "bone"))
    outer = (after + ends[1]) / 2
    parts.append(svg.text(outer.real + 14, outer.imag - 4, "next bone", "start"))
    drawing: str = svg.page("A joint as a circle, with its hidden link", parts, svg.WIDTH, 340)
    return drawing


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    out = parser.parse_args().out
    for name, drawing in (("distances", distances()), ("index", indices()), ("circle", circle())):
        svg.write(out / f"table-{name}.svg", drawing)


if __name__ == "__main__":
    main()
