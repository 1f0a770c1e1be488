"""Definitions from which solvers/cga/generated.py is generated: the types of G(4,1) in use, and functions by formula.

A formula is Python over multivectors. Its names are the function's arguments and

    o, inf       the origin n_o and infinity n∞, with n_o · n∞ = -1
    a * b        geometric product          a ^ b      outer product          lc(a, b)  left contraction a ⌋ b
    scalar(a)    the part without blades    space(a)   the part of e1 e2 e3   size(a)   a, all its terms' signs dropped
    rev(a)       the reverse ~a             up(x)      the point of a vector of space
    over(a, n)   a / n, exactly
    dual(a)      a I: standard (representation 1) to direct (2)               undual(a) a I⁻¹, the way back

with I = e1 e2 e3 e+ e-.
"""

from dataclasses import dataclass

# Each type's coefficients, by blade. "1 e5": the coefficient of e5 is 1 and is not kept.
TYPES = {
    "Vector": ("e1 e2 e3", "A vector of space: a position or a direction."),
    "Sphere": ("e1 e2 e3 ei", "Standard sphere of weight 1, c + (c² - ρ²)/2 n∞ + n_o; a point is one of radius 0."),
    "WeightedSphere": ("e1 e2 e3 eo ei", "Standard sphere or point of any weight eo; a plane where eo = 0."),
    "Plane": ("e1 e2 e3 ei", "Standard plane n + d n∞, of the points x with n · x = d."),
    "Circle": ("e23 e31 e12 e1o e2o e3o e1i e2i e3i eoi", "Standard circle, where two spheres meet."),
    "Line": ("e23 e31 e12 e1i e2i e3i", "Standard line, where two planes meet."),
    "Pair": ("e123 e23o e31o e12o e23i e31i e12i e1oi e2oi e3oi", "Standard point pair, where three spheres meet."),
    "FlatPoint": ("e123 e23i e31i e12i", "Standard flat point, where a line and a plane meet."),
    "DirectSphere": ("e123o e123i e23oi e31oi e12oi", "The sphere through four points."),
    "DirectPlane": ("e123i e23oi e31oi e12oi", "The plane through three points."),
    "DirectCircle": ("e123 e23o e31o e12o e23i e31i e12i e1oi e2oi e3oi", "The circle through three points."),
    "DirectLine": ("e23i e31i e12i e1oi e2oi e3oi", "The line through two points."),
    "DirectPair": ("e23 e31 e12 e1o e2o e3o e1i e2i e3i eoi", "Two points."),
    "DirectFlatPoint": ("e1i e2i e3i eoi", "One point and infinity."),
    "Rotor": ("s e23 e31 e12", "Turns about a line through the origin."),
    "Translator": ("e1i e2i e3i", "Moves by t: 1 - t n∞ / 2."),
    "Dilator": ("s eoi", "Scales about the origin."),
    "Motor": ("s e23 e31 e12 e1i e2i e3i e123i", "Turns and moves."),
}
# Coefficients that are 1 by definition of the type, and therefore not stored.
ONES = {"Sphere": "eo", "Translator": "s"}


@dataclass(frozen=True, slots=True)
class Function:
    """One function to generate."""

    name: str
    arguments: str
    """Types, named a, b, c, d in their order; "T" is a scalar."""
    result: str
    formula: str
    doc: str


STANDARD = ("Sphere", "Plane", "Circle", "Line", "Pair")
DUALS = (
    ("WeightedSphere", "DirectSphere"),
    ("Plane", "DirectPlane"),
    ("Circle", "DirectCircle"),
    ("Line", "DirectLine"),
    ("Pair", "DirectPair"),
    ("FlatPoint", "DirectFlatPoint"),
)
MEETS = (
    ("Sphere", "Sphere", "Circle"),
    ("Sphere", "Plane", "Circle"),
    ("Plane", "Plane", "Line"),
    ("Circle", "Sphere", "Pair"),
    ("Circle", "Plane", "Pair"),
    ("Line", "Sphere", "Pair"),
    ("Line", "Plane", "FlatPoint"),
)


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


def _duals() -> list[Function]:
    there = [Function(f"direct_{_snake(s)}", s, d, "dual(a)", f"{d} of a {s}.") for s, d in DUALS]
    back = [Function(f"standard_{_snake(s)}", d, s, "undual(a)", f"{s} of a {d}.") for s, d in DUALS]
    return there + back


def _meets() -> list[Function]:
    doc = "Where both are. CGA-arm Table 1.1."
    return [Function(f"meet_{_snake(a)}_{_snake(b)}", f"{a} {b}", c, "a ^ b", doc) for a, b, c in MEETS]


def _versors() -> list[Function]:
    functions = []
    for versor in ("Rotor", "Translator", "Motor"):
        for x in (*(("Vector",) if versor == "Rotor" else ()), *STANDARD):
            doc = f"b as the unit {versor.lower()} a moves it. FABRIK-CGA (3.9)."
            functions.append(Function(f"{versor.lower()}_{_snake(x)}", f"{versor} {x}", x, "a * b * rev(a)", doc))
    for x in STANDARD:
        # A dilator changes the weight of a sphere.
        result = "WeightedSphere" if x == "Sphere" else x
        doc = "b as the unit dilator a scales it. CGA-arm (5.3)."
        functions.append(Function(f"dilator_{_snake(x)}", f"Dilator {x}", result, "a * b * rev(a)", doc))
        doc = "b in the mirror of the unit plane a, its orientation kept. FABRIK-CGA (3.16)."
        sign = "-" if x in ("Sphere", "Plane", "Pair") else ""
        functions.append(Function(f"mirror_{_snake(x)}", f"Plane {x}", x, f"{sign}(a * b * a)", doc))
    return functions


FUNCTIONS = [
    Function("up", "Vector", "Sphere", "up(a)", "The point at a position, Hestenes' H. FABRIK-CGA (3.1)."),
    Function("sphere", "Vector T", "Sphere", "up(a) - over(b * b * inf, 2)", "Centre and radius. FABRIK-CGA (3.10)."),
    Function("plane_at", "Vector Vector", "Plane", "a + scalar(a * b) * inf", "Of normal a through the point b."),
    Function("join_pair", "Sphere Sphere", "DirectPair", "a ^ b", "Both points. CGA-arm Table 1.1."),
    Function("join_flat_point", "Sphere", "DirectFlatPoint", "a ^ inf", "The point and infinity."),
    Function("join_line", "Sphere Sphere", "DirectLine", "a ^ b ^ inf", "From a to b. FABRIK-CGA (3.11)."),
    Function("join_circle", "Sphere Sphere Sphere", "DirectCircle", "a ^ b ^ c", "CGA-arm Table 1.1."),
    Function("join_plane", "Sphere Sphere Sphere", "DirectPlane", "a ^ b ^ c ^ inf", "FABRIK-CGA (3.2)."),
    Function("join_plane_along", "Sphere Sphere Vector", "DirectPlane", "a ^ b ^ c ^ inf", "Points, direction. (3.8)."),
    Function("join_sphere", "Sphere Sphere Sphere Sphere", "DirectSphere", "a ^ b ^ c ^ d", "CGA-arm Table 1.1."),
    *_duals(),
    *_meets(),
    Function("dot_sphere_sphere", "Sphere Sphere", "T", "scalar(a * b)", "Of points, -distance² / 2. (3.13)."),
    Function("dot_sphere_plane", "Sphere Plane", "T", "scalar(a * b)", "How far the centre is above a unit plane."),
    Function("dot_plane_plane", "Plane Plane", "T", "scalar(a * b)", "Of unit planes, the cosine between them."),
    Function("dot_line_line", "Line Line", "T", "-scalar(a * b)", "Of unit lines, the cosine between them."),
    Function("square_sphere", "Sphere", "T", "scalar(a * a)", "The squared radius; below 0 the sphere is imaginary."),
    Function("square_plane", "Plane", "T", "scalar(a * a)", "The squared length of the normal."),
    Function("square_line", "Line", "T", "-scalar(a * a)", "The squared length of the direction."),
    Function("square_circle", "Circle", "T", "-scalar(a * a)", "C² of the direct circle. FABRIK-CGA after (3.5)."),
    Function("square_pair", "Pair", "T", "-scalar(a * a)", "B² of the direct pair. FABRIK-CGA after (3.6)."),
    Function("scale_circle", "Circle", "T", "size(scalar(a * a))", "What C² is a difference of."),
    Function("scale_pair", "Pair", "T", "size(scalar(a * a))", "What B² is a difference of."),
    Function("circle_plane", "Circle", "Plane", "-lc(inf, a)", "The plane it lies in. FABRIK-CGA (3.15)."),
    Function("circle_axis", "Circle", "Line", "undual(a ^ inf)", "The line through its centre across its plane."),
    Function(
        "circle_centre", "Circle", "DirectFlatPoint", "over(a * inf * a ^ inf, -2)", "Its centre. FABRIK-CGA (3.14)."
    ),
    # The plane through a circle's axis and a point meets the circle in the pair of FABRIK-CGA (3.19), without the
    # mirrored point of (3.16) and the mid-point of (3.17); its normal is the direction from one point to the other.
    Function("circle_side", "Circle Vector", "Vector", "space(undual(a ^ up(b) ^ inf))", "Normal to axis and point."),
    Function("circle_arm", "Circle Vector", "Vector", "-space(lc(inf, lc(a, dual(b))))", "From its centre, across b."),
    Function("foot_plane", "Plane Vector", "DirectFlatPoint", "lc(a, a ^ up(b) ^ inf)", "Its point nearest to b."),
    Function("foot_line", "Line Vector", "DirectFlatPoint", "lc(a, a ^ up(b) ^ inf)", "Its point nearest to b."),
    Function("pair_line", "Pair", "Line", "lc(inf, a)", "From the first point to the second."),
    Function("pair_centre", "Pair", "DirectFlatPoint", "over(a * inf * a ^ inf, 2)", "The point halfway."),
    Function("pair_arm", "Pair", "Vector", "space(lc(inf, dual(a)))", "From the second point to the first."),
    Function("line_direction", "Line", "Vector", "-space(lc(o, lc(inf, dual(a))))", "Its direction."),
    Function("rotor_rotor", "Rotor Rotor", "Rotor", "a * b", "b followed by a."),
    Function("motor_motor", "Motor Motor", "Motor", "a * b", "b followed by a."),
    Function("translator_rotor", "Translator Rotor", "Motor", "a * b", "b followed by a."),
    Function("plane_plane", "Plane Plane", "Motor", "a * b", "Twice the motion from b to a, both unit planes."),
    *_versors(),
]
