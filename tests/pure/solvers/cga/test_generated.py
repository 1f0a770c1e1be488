"""Every generated function against clifford, which is given the same formula."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from knuckle.solvers.cga import generated

from . import oracle
from .oracle import I5, NOTHING, g3c, ours, sample

ROOT = Path(__file__).parents[4]
SAMPLES = 6


FUNCTIONS = runpy.run_path(str(ROOT / "tools" / "cga_definitions.py"))["FUNCTIONS"]
CLIFFORDS = {
    "o": g3c.eo,
    "inf": g3c.einf,
    "lc": lambda a, b: a.lc(b),
    "scalar": lambda a: a(0),
    "space": lambda a: sum((a.value[k] * e for k, e in ((1, g3c.e1), (2, g3c.e2), (3, g3c.e3))), NOTHING),
    "rev": lambda a: ~a,
    "dual": lambda a: a * I5,
    "undual": lambda a: a * I5.inv(),
    "up": g3c.up,
    "over": lambda a, n: a / n,
}
SIZED = [function for function in FUNCTIONS if "size" in function.formula]
PRODUCTS = [function for function in FUNCTIONS if function not in SIZED]


@pytest.mark.parametrize("function", PRODUCTS, ids=lambda function: function.name)
def test_each_product_is_cliffords_for_floats_and_for_columns(function):
    random = np.random.default_rng(1)
    kinds = function.arguments.split()
    rows = [[sample(kind, random) for kind in kinds] for _ in range(SAMPLES)]
    calculate = getattr(generated, function.name)
    live = [calculate(*map(ours, kinds, row)) for row in rows]
    for row, answer in zip(rows, live, strict=True):
        expected = eval(function.formula, {**CLIFFORDS, **dict(zip("abcd", row, strict=False))})
        assert oracle.difference(answer, expected) < 1e-12
    columns = [
        np.array([ours(kind, row[k]) for row in rows]) if kind == "T" else column(kind, [row[k] for row in rows])
        for k, kind in enumerate(kinds)
    ]
    together = calculate(*columns)
    assert np.array_equal(np.array(live).T, np.array(together))


def column(kind, values):
    return oracle.TYPES[kind](*np.array([ours(kind, value) for value in values]).T)


@pytest.mark.parametrize("function", SIZED, ids=lambda function: function.name)
def test_a_scale_is_the_sum_of_what_the_square_is_a_difference_of(function):
    value = ours(function.arguments, sample(function.arguments, np.random.default_rng(2)))
    parts = [x * oracle.BLADES[name] for name, x in value._asdict().items()]
    expected = sum(abs((a * b)[()]) for a in parts for b in parts)
    assert getattr(generated, function.name)(value) == pytest.approx(expected, rel=1e-12)


def test_clifford_agrees_about_the_null_basis_and_its_pseudoscalar():
    assert (g3c.eo * g3c.eo)[()] == (g3c.einf * g3c.einf)[()] == 0
    assert (g3c.eo | g3c.einf)[()] == -1
    assert (I5 * I5)[()] == -1


def test_the_generator_writes_the_same_file_again_byte_for_byte(tmp_path):
    again = tmp_path / "generated.py"
    subprocess.run([sys.executable, str(ROOT / "tools" / "generate_cga.py"), str(again)], check=True)
    assert again.read_bytes() == (ROOT / "solvers" / "cga" / "generated.py").read_bytes()
