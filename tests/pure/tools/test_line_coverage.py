"""tools/line_coverage.py: the lines that a test runs are noted, whatever ran before."""

import sys

import pytest

from knuckle.hand.joints import digit_of
from knuckle.tools.line_coverage import record_lines

pytestmark = pytest.mark.skipif("monitoring" not in vars(sys), reason="needs Python 3.12")


def test_lines_that_have_run_before_are_noted_again() -> None:
    found = []
    for _ in range(2):
        with record_lines() as lines:
            digit_of("thumb-tip")
        found.append(lines["hand/joints.py"])
    assert found[0] == found[1] != 0
