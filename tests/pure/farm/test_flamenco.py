"""Flamenco's workers, lent to a run: the job script is compiled and its commands are run as Flamenco would.

No Flamenco Manager can be installed from a registry. Its part is played by flamenco_manager.js, after the documentation
of job types and commands of Flamenco 3.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from knuckle.cli.main import main
from knuckle.tests.pure.farm.samples import captures, recipe_file

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed is not installed: pip install 'knuckle[farm]'"
)

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "farm" / "flamenco" / "knuckle_workers.js"
MANAGER = Path(__file__).with_name("flamenco_manager.js")
SETTING_TYPES = {"string", "int32", "float", "bool"}
"""Of Flamenco's API, AvailableJobSettingType."""
SECONDS = 240


def compiled(**settings: Any) -> dict[str, Any]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node.js, which compiles the job script here: tools/setup.sh npm")
    command = [node, str(MANAGER), str(SCRIPT), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture
def scheduler() -> Iterator[str]:
    """The address of a scheduler that ends a few seconds after its last work."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    command += ["--idle-timeout", "5s", "--dashboard-address", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        yield next(line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
        process.kill()


def test_a_job_has_a_task_for_each_machine_and_settings_that_flamenco_knows():
    job = compiled(scheduler="tcp://10.0.0.5:8786", machines=3, memory="4GB")
    assert [task["name"] for task in job["tasks"]] == ["workers-1", "workers-2", "workers-3"]
    assert {setting["type"] for setting in job["type"]["settings"]} <= SETTING_TYPES
    for task in job["tasks"]:
        (command,) = task["commands"]
        assert (task["type"], command["name"], {*command["parameters"]}) == ("misc", "exec", {"exe", "args"})
        assert all(isinstance(argument, str) for argument in command["parameters"]["args"]), "as Flamenco demands"
        assert command["parameters"]["exe"] == "{knucklePython}", "expanded by Flamenco for each machine"


def test_machines_that_flamenco_lends_solve_the_takes_and_are_given_back(scheduler, tmp_path):
    folder, out = captures(tmp_path, 3), tmp_path / "out"
    job = compiled(scheduler=scheduler, machines=2, processes="1", python=sys.executable)
    with ExitStack() as stack:
        lent = []
        for task in job["tasks"]:
            ((exe, args),) = [
                (command["parameters"]["exe"], command["parameters"]["args"]) for command in task["commands"]
            ]
            lent.append(stack.enter_context(subprocess.Popen([exe, *args], stderr=subprocess.DEVNULL, cwd=tmp_path)))
            stack.callback(lent[-1].kill)
        arguments = [str(folder), "--recipe", str(recipe_file(tmp_path)), "--out", str(out), "--write", "joints"]
        assert main(["farm", *arguments, "--scheduler", scheduler]) == 0
        assert len(list(out.glob("takes/*/joints.npz"))) == 3
        assert [machine.wait(SECONDS) for machine in lent] == [0, 0], "their tasks are completed"
