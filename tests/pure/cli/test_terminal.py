"""What the shell command prints, asks and returns, whatever happens."""

import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from knuckle.cli.main import main
from knuckle.cli.output import progress_bar
from knuckle.cli.terminal import exit_status, exiting_on_signals, expect_replaceable, holding_interrupts
from knuckle.errors import MAX_LINE, KnuckleError, printable
from knuckle.files import FileError
from knuckle.take_files import write_arrays
from knuckle.tests.full_disk import files_no_larger_than
from knuckle.tests.resources import ROOT


def raising(problem):
    def run():
        raise problem

    return run


@pytest.mark.parametrize(
    ("problem", "status", "sentence"),
    [
        (KnuckleError("take.c3d: is empty"), 1, "knuckle: take.c3d: is empty\n"),
        (KeyboardInterrupt(), 130, "knuckle: interrupted\n"),
        (MemoryError(), 1, "not enough memory"),
        (OSError(36, "File name too long", "x.blend"), 1, "knuckle: x.blend: File name too long\n"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), 1, "invalid start byte"),
        (KnuckleError("label '\x1b]0;title\x07'"), 1, r"label '\x1b]0;title\x07'"),
    ],
)
def test_a_problem_is_one_sentence_and_a_status(problem, status, sentence, capsys):
    assert exit_status(raising(problem)) == status
    printed = capsys.readouterr().err
    assert sentence in printed
    assert printed.count("\n") == 1


def test_an_interrupt_waits_for_blender_to_start():
    """Blender's own scripts would take it for an error of theirs."""
    before, done = signal.getsignal(signal.SIGINT), []
    with pytest.raises(KeyboardInterrupt), holding_interrupts():
        signal.raise_signal(signal.SIGINT)
        done.append("started")
    assert done and signal.getsignal(signal.SIGINT) is before
    with holding_interrupts():
        done.append("nobody interrupts")


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such signals")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_command_that_is_ended_ends_what_it_has_started(name):
    number, ended = getattr(signal, name), []
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as status, exiting_on_signals():
        try:
            signal.raise_signal(number)
        finally:
            ended.append("the browser")
    assert status.value.code == 128 + number
    assert ended and signal.getsignal(number) is before


def test_a_fault_of_ours_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        exit_status(raising(ZeroDivisionError()))


def test_a_terminal_is_not_controlled_by_what_a_file_says():
    text = printable("a\x1b[2Jb\x9b\x7f\n" + "x" * 500_000)
    assert text.splitlines()[0] == r"a\x1b[2Jb\x9b\x7f"
    assert len(text) < MAX_LINE + 100
    assert printable("Ünïcode stays\n\tand so do lines") == "Ünïcode stays\n\tand so do lines"


TAP = str(ROOT / "data" / "leap_finger_tap.json")


def command(folder, *arguments):
    """The command in a process of its own, and its environment."""
    (folder / "knuckle").symlink_to(ROOT)
    code = "from knuckle.cli.main import run_and_exit; run_and_exit()"
    return [sys.executable, "-c", code, *arguments], {**os.environ, "PYTHONPATH": str(folder)}


@pytest.mark.parametrize("package", ["numpy", "knuckle.solvers"])
def test_an_interrupt_while_packages_are_imported_is_a_sentence(tmp_path, package):
    words, environment = command(tmp_path, "info", TAP)
    interrupting = f"""
import signal, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == {package!r}:
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
"""
    words[2] = interrupting + words[2]
    done = subprocess.run(words, capture_output=True, env=environment, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "knuckle: interrupted\n")


def test_progress_does_not_control_the_terminal(monkeypatch, capsys):
    """It names files and armatures."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar() as update:
        update(0.5, "Reading \x1b[2J.csv")
    assert r"Reading \x1b[2J.csv" in capsys.readouterr().err


def test_json_is_ascii_whatever_the_labels(tmp_path, capsys):
    """Terminals obey \x9b as an escape sequence, and an output of ASCII would escape in ways that are no JSON."""
    label, path = "\x9b31m é", tmp_path / "take.csv"
    path.write_text(f"time,{label}.x,{label}.y,{label}.z\n0,1,2,3\n", encoding="utf-8")
    assert main(["info", str(path), "--json"]) == 0
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert json.loads(printed)["labels"][0]["label"] == label


def test_joints_that_cannot_be_written_leave_nothing_behind(tmp_path, monkeypatch):
    """NumPy's archive would complain of its own when it is deleted."""
    arrays = {"times": np.random.default_rng(0).random(10_000)}
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    with pytest.raises(OSError), files_no_larger_than(4096):
        write_arrays(tmp_path / "joints.npz", arrays)
    gc.collect()
    assert not complaints


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_an_output_that_is_full_is_a_sentence(encoding, tmp_path):
    words, environment = command(tmp_path, "info", TAP)
    environment |= {"PYTHONIOENCODING": encoding}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, env=environment, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "knuckle: output: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_problem_has_its_status_where_errors_cannot_be_written():
    """As with a log on a full disk. Where the error left `exit_status`, Blender 4.5 never ended."""
    script = (
        "import os; from knuckle.cli.terminal import exit_status; from knuckle.errors import KnuckleError\n"
        "def run(): raise KnuckleError('take.c3d: is empty')\n"
        "os._exit(40 + exit_status(run))"
    )
    with Path("/dev/full").open("w") as full:
        assert subprocess.run([sys.executable, "-c", script], stderr=full, check=False).returncode == 41


def test_a_line_break_in_a_problem_does_not_forge_another_line(capsys):
    assert exit_status(raising(KnuckleError("x\nknuckle: all is well"))) == 1
    assert capsys.readouterr().err == "knuckle: x\\nknuckle: all is well\n"


@pytest.mark.skipif(os.name != "posix", reason="closes streams by a shell of POSIX")
def test_streams_that_the_shell_closed_are_no_error(tmp_path):
    words, environment = command(tmp_path, "info", TAP, "--save-markers", "map.json")
    for closed, status in ((">&-", 0), ("0<&- >&- 2>&-", 1)):
        shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *words]
        done = subprocess.run(shell, cwd=tmp_path, capture_output=True, env=environment, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (status, "", ""), "the second time the map exists"


def test_a_file_that_exists_is_replaced_only_by_consent(tmp_path, monkeypatch, capsys):
    path = tmp_path / "performer.json"
    expect_replaceable([path, None], force=False)
    path.write_text("before")
    expect_replaceable([path], force=True)
    with pytest.raises(FileError, match="exists, expected a new name, or --force"):
        expect_replaceable([path], force=False)
    for answer, agreed in (("y\n", True), ("n\n", False), ("", False)):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        if agreed:
            expect_replaceable([path], force=False)
        else:
            with pytest.raises(FileError, match="exists and is kept"):
                expect_replaceable([path], force=False)
    assert "Replace it? [y/N]" in capsys.readouterr().err


class Terminal:
    """Somebody who types an answer."""

    def __init__(self, answer):
        self.answer = answer

    def isatty(self):
        return True

    def readline(self):
        return self.answer


def test_a_map_is_not_replaced_unasked(tmp_path, capsys):
    capture, path = str(ROOT / "data" / "leap_finger_tap.json"), tmp_path / "map.json"
    path.write_text("mine")
    assert main(["info", capture, "--save-markers", str(path)]) == 1
    assert path.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main(["info", capture, "--save-markers", str(path), "--force"]) == 0
    assert path.read_text() != "mine"


@pytest.mark.parametrize(("chosen", "used"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_blas_has_one_thread_unless_a_number_was_chosen(chosen, used):
    script = (
        "import os, sys; from knuckle.cli import main as command; assert 'numpy' not in sys.modules; "
        "command.main = lambda: print(os.environ['OPENBLAS_NUM_THREADS']) or 0; command.run_and_exit()"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"} | chosen
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=environment, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{used}\n"), done.stderr
