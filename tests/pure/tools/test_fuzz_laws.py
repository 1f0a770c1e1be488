"""tools/fuzz_laws.py on laws of its own: what fails is found, also where the time ends before pytest does."""

import sys

import pytest

from knuckle.tools import fuzz_laws


@pytest.fixture
def outcome(tmp_path, monkeypatch):
    """How a run of these tests ends."""
    monkeypatch.setattr(fuzz_laws, "ROOT", tmp_path)

    def outcome(text, seconds):
        (tmp_path / "test_file.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:hypothesispytest", "test_file.py"]
        return fuzz_laws.run(command, seconds)[0]

    return outcome


def test_what_fails_is_found_and_what_passes_is_not(outcome):
    assert outcome("def test_law():\n    pass\n", 60) is fuzz_laws.Outcome.PASSED
    assert outcome("def test_law():\n    assert False\n", 60) is fuzz_laws.Outcome.FAILED
    assert outcome("def test_law(:\n", 60) is fuzz_laws.Outcome.BROKEN


def test_a_run_that_the_time_cuts_off_reports_what_had_failed_by_then(outcome):
    waits = "def test_wait():\n    import time\n    time.sleep(60)\n"
    assert outcome(waits, 1) is fuzz_laws.Outcome.CUT_OFF
    # A busy machine may need longer until the first test has failed.
    fails = "def test_law():\n    assert False\n\n\n" + waits
    assert any(outcome(fails, seconds) is fuzz_laws.Outcome.FAILED for seconds in (2, 8, 32))


def test_only_files_with_laws_are_tried():
    assert fuzz_laws.files(["tests/pure/hand/mesh", "tests/pure/tools"]) == ["tests/pure/hand/mesh/test_surface.py"]
    assert fuzz_laws.files(["tests/pure/tools/test_fuzz_laws.py::test_x"]) == [
        "tests/pure/tools/test_fuzz_laws.py::test_x"
    ]
