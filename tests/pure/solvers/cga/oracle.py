"""Clifford's answers, over the null basis that solvers/cga/generated.py writes its coefficients in."""

from functools import reduce
from itertools import combinations
from operator import xor
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.solvers.cga import generated

g3c: ModuleType = pytest.importorskip("clifford.g3c")

Floats = NDArray[np.float64]

TYPES = {name: kind for name, kind in vars(generated).items() if hasattr(kind, "_fields")}
NAMES = [
    "e" + space + "".join(ends) if space or ends else "s"
    for space in ("", "1", "2", "3", "23", "31", "12", "123")
    for count in range(3)
    for ends in combinations("oi", count)
]
BASIS = {"1": g3c.e1, "2": g3c.e2, "3": g3c.e3, "o": g3c.eo, "i": g3c.einf}
NOTHING = 0.0 * g3c.e1
I5 = g3c.e1 * g3c.e2 * g3c.e3 * g3c.e4 * g3c.e5


def blade(name: str) -> Any:
    """A blade by its name, e31o = e3 ∧ e1 ∧ n_o."""
    return reduce(xor, (BASIS[letter] for letter in name.lstrip("se")), 1 + NOTHING)


BLADES = {name: blade(name) for name in NAMES}
TO_NULL = np.linalg.inv(np.stack([BLADES[name].value for name in NAMES], 1))
ONES = {"Sphere": "eo", "Translator": "s"}


def coefficients(value: Any) -> dict[str, float]:
    """A multivector's coefficients by name of blade."""
    return dict(zip(NAMES, TO_NULL @ (value + NOTHING).value, strict=True))


def theirs(ours: Any) -> Any:
    """One of our objects of floats as a multivector."""
    kind = type(ours).__name__
    held = ours._asdict() if kind in TYPES else {"s": ours}
    held |= {ONES[kind]: 1.0} if kind in ONES else {}
    return sum((float(x) * BLADES[name] for name, x in held.items()), NOTHING)


def difference(ours: Any, value: Any) -> float:
    """How far our object is from theirs, beside the largest coefficient."""
    expected, found = coefficients(value), coefficients(theirs(ours))
    return max(abs(found[name] - expected[name]) for name in NAMES) / max(map(abs, expected.values()))


def vector(x: Floats) -> Any:
    """A vector of space."""
    return x[0] * g3c.e1 + x[1] * g3c.e2 + x[2] * g3c.e3


def up(x: Floats) -> Any:
    """The point of a place."""
    return g3c.up(vector(x))


def down(point: Any) -> Floats:
    """The place of a point of any weight."""
    place: Floats = g3c.down(point).value[1:4]
    return place


def sphere(x: Floats, radius: float) -> Any:
    """A standard sphere."""
    return up(x) - 0.5 * radius**2 * g3c.einf


def ends(pair: Any) -> list[Floats]:
    """The two places of a direct pair, by projectors."""
    length = np.sqrt((pair * pair)[()])
    arm = g3c.einf.lc(pair)
    return [down((pair + sign * length) * arm) for sign in (-1, 1)]


def sample(kind: str, random: np.random.Generator) -> Any:
    """A multivector that is an object of one of our types: a true blade, or a versor of length 1."""
    x, y, z, r = random.uniform(-1, 1, 4)
    weight = random.uniform(0.5, 2)

    def another(*kinds: str) -> Any:
        return reduce(xor, (sample(k, random) for k in kinds))

    if kind.startswith("Direct"):
        standard = {"DirectSphere": "WeightedSphere"}.get(kind, kind.removeprefix("Direct"))
        return sample(standard, random) * I5
    if kind == "Plane":
        normal = np.array([x, y, z]) / np.linalg.norm([x, y, z])
        return vector(normal) + r * g3c.einf
    made = {
        "T": lambda: x + NOTHING,
        "Vector": lambda: vector(np.array([x, y, z])),
        "Sphere": lambda: sphere(np.array([x, y, z]), r),
        "WeightedSphere": lambda: weight * sample("Sphere", random),
        "Circle": lambda: another("Sphere", "Sphere"),
        "Line": lambda: another("Plane", "Plane"),
        "Pair": lambda: another("Sphere", "Sphere", "Sphere"),
        "FlatPoint": lambda: another("Plane", "Plane", "Plane"),
        "Rotor": lambda: _rotor(random.normal(size=4)),
        "Translator": lambda: 1 - 0.5 * sample("Vector", random) * g3c.einf,
        "Dilator": lambda: np.cosh(x) + np.sinh(x) * (g3c.einf ^ g3c.eo),
        "Motor": lambda: sample("Translator", random) * sample("Rotor", random),
    }
    return made[kind]()


def _rotor(q: Floats) -> Any:
    w, x, y, z = q / np.linalg.norm(q)
    return w - x * BLADES["e23"] - y * BLADES["e31"] - z * BLADES["e12"]


def ours(kind: str, value: Any) -> Any:
    """A multivector as an object of one of our types, of floats."""
    held = coefficients(value)
    return held["s"] if kind == "T" else TYPES[kind](*(held[field] for field in TYPES[kind]._fields))
