"""`knuckle farm` as it is typed: on a cluster of this machine, killed and started again, and without what it needs."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from knuckle import api
from knuckle.cli.main import main
from knuckle.farm import cluster
from knuckle.farm.output_folder import locked_folder
from knuckle.farm.run import FarmError, Workers
from knuckle.files import FileError
from knuckle.tests.pure.farm.samples import CAPTURE, FRAMES, captures, recipe_file

psutil = pytest.importorskip("psutil", reason="dask.distributed is not installed: pip install 'knuckle[farm]'")
pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install 'knuckle[farm]'")

TAKES = 8
SECONDS = 240
"""The longest that a run may take on a busy machine."""
COMMAND = "import sys; from knuckle.cli.main import main; sys.exit(main())"


def started(*arguments: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", COMMAND, "farm", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def workers_of(pid: int) -> "list[Any]":
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def wait_for_records(out: Path, count: int) -> None:
    end = time.monotonic() + SECONDS
    while len(list(out.glob("takes/*/take.json"))) < count:
        assert time.monotonic() < end, "no take came"
        time.sleep(0.02)


def test_killed_workers_and_a_killed_command_lose_and_double_nothing(tmp_path):
    folder, out = captures(tmp_path, TAKES), tmp_path / "out"
    (folder / "bad.json").write_text("{")
    recipe = str(recipe_file(tmp_path))
    arguments = [str(folder), "--recipe", recipe, "--out", str(out), "--workers", "1", "--write", "joints", "report"]

    first = started(*arguments)
    wait_for_records(out, 1)
    workers_of(first.pid)[0].send_signal(signal.SIGKILL)
    wait_for_records(out, 3)
    orphans = workers_of(first.pid)
    first.kill()
    first.communicate(timeout=SECONDS)
    psutil.wait_procs(orphans, timeout=SECONDS)
    assert not any(orphan.is_running() for orphan in orphans), "workers end with the command"
    kept = {path: path.stat().st_mtime_ns for path in out.glob("takes/*/take.json")}
    half = out / "takes" / "a07" / ".knuckle-123-00000000.npz"
    half.parent.mkdir(exist_ok=True)
    half.write_bytes(b"half")

    again = started(*arguments)
    reported, problem = again.communicate(timeout=SECONDS)
    assert again.returncode == 3 and problem.endswith(f"1 of 9 takes failed: {out / 'summary.html'} says why\n")
    assert f"{TAKES - len(kept)} solved, {len(kept)} unchanged, 1 failed" in reported
    assert "bad: bad.json" in problem and "Traceback" not in problem and "distributed" not in problem
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    expected = api.joints(api.solve(CAPTURE, end=FRAMES))
    for number in range(TAKES):
        files = out / "takes" / f"a{number:02}"
        assert {path.name for path in files.iterdir()} == {"joints.npz", "report.json", "take.json"}
        with np.load(files / "joints.npz") as joints:
            np.testing.assert_allclose(joints["right_positions"], expected["right_positions"], atol=1e-12)
    assert {path.name for path in out.iterdir()} == {"takes", "takes.csv", "summary.html", "farm.lock"}


class InThisProcess(Executor):
    """Workers that are this process; their scheduler is lost after some tasks."""

    def __init__(self, tasks: int = 1000) -> None:
        self.tasks = tasks

    def submit(self, fn, /, *args, **_kwargs):
        future: Future[Any] = Future()
        self.tasks -= 1
        if self.tasks < 0:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(fn(*args))
        return future


def test_a_run_that_is_lost_keeps_what_the_summary_knew(tmp_path, monkeypatch, capsys):
    arguments = ["farm", str(captures(tmp_path, 3)), "--recipe", str(recipe_file(tmp_path)), "--out"]
    arguments += [str(tmp_path / "out"), "--write", "report"]
    executor = InThisProcess()
    monkeypatch.setattr(cluster, "local_cluster", lambda _: nullcontext((Workers(executor, lambda: 1), "")))
    assert main(arguments) == 0
    first = (tmp_path / "out" / "takes.csv").read_text()
    assert first.count(",solved,") == 3 and "3 solved" in capsys.readouterr().out
    executor.tasks = 1
    assert main(arguments) == 1
    reported = capsys.readouterr().err
    assert "the connection to the scheduler is lost; 1 of 3 takes are finished and kept" in reported
    assert reported.count("\n") == 1
    assert (tmp_path / "out" / "takes.csv").read_text() == first.replace(",solved,", ",unchanged,")
    assert "3 takes: 3 unchanged" in (tmp_path / "out" / "summary.html").read_text()


def test_a_cluster_without_living_workers_ends_the_run():
    count = cluster.WorkerCount(SimpleNamespace(nthreads=dict), patience=0.0)
    with pytest.raises(FarmError, match="no worker has lived for 0 s, expected more memory"):
        count()
    with pytest.raises(FarmError, match="the worker at tcp://a has 2 threads, expected 1"):
        cluster.WorkerCount(SimpleNamespace(nthreads=lambda: {"tcp://a": 2}))()


def test_without_dask_one_sentence_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["farm", str(CAPTURE), "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == ("knuckle: dask.distributed is not installed: pip install 'knuckle[farm]'\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "ftp://x:1"])
def test_a_scheduler_that_is_not_there_is_one_sentence(address, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1)
    assert main(["farm", str(CAPTURE), "--out", str(tmp_path / "out"), "--scheduler", address]) == 1
    reported = capsys.readouterr().err
    assert (
        reported.startswith(f"knuckle: {address}: no scheduler answers there, expected one")
        and reported.count("\n") == 1
    )
    assert not (tmp_path / "out").exists()


def versions(python="3.13.1.final.0", **packages):
    return {"packages": {"python": python, "dask": "1", "distributed": "1", "knuckle": "3", **packages}}


def test_another_version_of_dask_python_or_knuckle_is_reported_with_where_it_is():
    here, without = versions(), versions(knuckle=None)
    found = {"client": here, "scheduler": versions("3.13.9"), "workers": {"tcp://a": here}}
    cluster.check_versions(found, "tcp://s")
    with pytest.raises(FarmError, match="the worker at tcp://a has no knuckle, expected 3 as this command"):
        cluster.check_versions({"client": here, "scheduler": here, "workers": {"tcp://a": without}}, "tcp://s")
    with pytest.raises(FarmError, match="the scheduler at tcp://s has distributed 2, expected 1"):
        cluster.check_versions({"client": here, "scheduler": versions(distributed="2"), "workers": {}}, "tcp://s")
    with pytest.raises(FarmError, match=r"the worker at tcp://a has Python 3\.11, expected 3\.13"):
        found = {"client": here, "scheduler": here, "workers": {"tcp://b": here, "tcp://a": versions("3.11.2")}}
        cluster.check_versions(found, "tcp://s")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--workers", "0"], "--workers is 0, expected 1 to"),
        (["--memory", "0.05"], "--memory is 0.05, expected 0.3 to"),
        (["--memory", "inf"], "--memory is inf, expected 0.3 to"),
        (["--memory", "nan"], "--memory is nan, expected 0.3 to"),
        (["--pictures"], "expected --write html blend"),
        (["--recipe", "none.json"], "none.json: cannot be read"),
    ],
)
def test_wrong_options_are_reported_before_anything_starts(arguments, sentence, tmp_path, capsys):
    assert main(["farm", str(CAPTURE), "--out", str(tmp_path / "out"), *arguments]) == 1
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_is_held_by_one_run_and_is_no_others(tmp_path):
    out = tmp_path / "out"
    with locked_folder(out, "a"):
        if os.name == "posix":
            with pytest.raises(FileError, match="another run writes there"), locked_folder(out, "a"):
                pass
    with locked_folder(out, "a"):
        pass
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileError, match="holds other files than a run's"), locked_folder(tmp_path, "a"):
        pass
    with (
        pytest.raises(FileError, match="no folder can be made there"),
        locked_folder(tmp_path / "mine.txt" / "out", "a"),
    ):
        pass
