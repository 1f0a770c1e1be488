"""The command `farm`: solves many takes on this machine's cores or on a cluster."""

import argparse
from contextlib import ExitStack
from pathlib import Path

from ..errors import RecipeError
from ..farm import cluster
from ..farm.figures_csv import write_csv
from ..farm.output_folder import locked_folder
from ..farm.run import FarmError, FarmRun, SchedulerLostError
from ..farm.summary_page import CSV_NAME, RunFacts, summary_page
from ..farm.take_orders import TakeOrder, absolute, read_orders
from ..farm.take_rows import TakeRow
from ..farm.tasks import FILE_NAMES, FarmSettings, kept_row, settings_of
from ..files import written_whole
from ..pipeline.pieces.pool import cores
from .farm_progress import FarmProgress
from .terminal import TakeFailedError, exiting_on_signals, say

PAGE_NAME = "summary.html"
USUAL_OUTPUTS = ("joints", "evidence", "report", "html")
MAX_WORKERS = 1000
"""Maximum of --workers."""
MIN_MEMORY_GB, MAX_MEMORY_GB = 0.3, 100_000.0
"""Bounds of --memory in GB; an idle worker takes 0.15 GB."""


def add_farm(parser: argparse.ArgumentParser) -> None:
    """Add the options of `farm`."""
    parser.description = (
        "Solve many takes, each into its own folder, with a summary page and a table of all figures. Run again, it "
        "solves only what is missing or changed. Needs pip install 'knuckle[farm]'."
    )
    parser.add_argument(
        "takes",
        nargs="+",
        metavar="TAKES",
        help="folders, globs in quotes, captures, or lists: CSV or JSON with capture, name, performer, rig and recipe",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write to")
    parser.add_argument("--recipe", type=Path, metavar="R.json", help="recipe of all takes for which no list gives one")
    parser.add_argument("--rig", metavar="default|FILE", help="rig of all takes for which no list gives one")
    parser.add_argument(
        "--write",
        nargs="+",
        choices=tuple(FILE_NAMES),
        default=USUAL_OUTPUTS,
        metavar="FILE",
        help=f"files of each take: {', '.join(FILE_NAMES)}; by default all but blend, which needs Blender's module",
    )
    parser.add_argument(
        "--pictures",
        action="store_true",
        help="render pictures of the worst frames for the report pages, which takes seconds per take and needs "
        "--write html blend",
    )
    _add_cluster(parser)


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    machines = parser.add_mutually_exclusive_group()
    machines.add_argument(
        "--workers", type=int, metavar="N", help="processes on this machine; by default one for each core"
    )
    machines.add_argument(
        "--scheduler", metavar="ADDRESS", help="scheduler of a cluster to use instead, such as tcp://10.0.0.5:8786"
    )
    parser.add_argument(
        "--memory",
        type=float,
        metavar="GB",
        help="memory of each process on this machine, beyond which it is restarted; by default an equal share",
    )
    parser.add_argument("--dashboard", action="store_true", help="show dask's dashboard; needs bokeh")


def farm(options: argparse.Namespace) -> None:
    """Solve the takes.

    Raises KnuckleError if the run cannot start or continue, TakeFailedError if takes have failed.
    """
    settings = _settings(options)
    orders = read_orders(options.takes, options.recipe, options.rig, Path(settings.out))
    workers = options.workers or min(cores(), len(orders))
    local = cluster.LocalChoices(workers, options.memory, options.dashboard)
    workers_of_run = (
        cluster.local_cluster(local) if options.scheduler is None else cluster.remote_cluster(options.scheduler)
    )
    # The cluster starts first: if it cannot, nothing is written. It also stops first.
    with exiting_on_signals(), ExitStack() as locks, workers_of_run as (pool, dashboard):
        locks.enter_context(locked_folder(Path(settings.out), settings.run))
        if options.dashboard:
            say(f"dashboard: {dashboard}")
        run, progress, rows = FarmRun(orders, settings, pool), FarmProgress(len(orders)), list[TakeRow]()
        try:
            for new_rows in run.rows():
                rows += new_rows
                progress.add(new_rows, pool.count(), run.unmeasured)
        except SchedulerLostError as lost:
            raise SchedulerLostError(
                f"{options.scheduler or 'this machine'}: {lost}; {len(rows)} of {len(orders)} takes are "
                "finished and kept: start the command again to continue"
            ) from lost
        finally:
            progress.end()
            _write_summary(settings, orders, rows, run, progress.seconds)
    _print_outcome(settings, rows)


def _settings(options: argparse.Namespace) -> FarmSettings:
    """Return the settings of all takes. Raises KnuckleError for contradictory options."""
    if options.workers is not None and not 1 <= options.workers <= MAX_WORKERS:
        raise FarmError(f"--workers is {options.workers}, expected 1 to {MAX_WORKERS}")
    if options.memory is not None and not MIN_MEMORY_GB <= options.memory <= MAX_MEMORY_GB:
        raise FarmError(
            f"--memory is {options.memory:g}, expected {MIN_MEMORY_GB:g} to {MAX_MEMORY_GB:g} GB for each worker"
        )
    outputs = tuple(output for output in FILE_NAMES if output in options.write)
    if options.pictures and not {"html", "blend"} <= {*outputs}:
        raise RecipeError("--pictures renders Blender's scene for the report page, expected --write html blend")
    return settings_of(absolute(options.out), outputs, pictures=options.pictures)


def _write_summary(
    settings: FarmSettings, orders: tuple[TakeOrder, ...], rows: list[TakeRow], run: FarmRun, seconds: float
) -> None:
    """Write the summary page and the figures, also of takes that this run did not reach but an earlier one solved."""
    out = Path(settings.out)
    names = {row.name for row in rows}
    earlier_rows = [kept_row(order, settings) for order in orders if order.name not in names]
    ranked = sorted([*rows, *filter(None, earlier_rows)], key=lambda row: row.rank)
    facts = RunFacts(out.name, settings.version, len(orders), seconds, tuple(run.notes.values()))
    write_csv(out / CSV_NAME, ranked)
    with written_whole(out / PAGE_NAME) as file:
        file.write_text(summary_page(ranked, facts), encoding="utf-8")


def _print_outcome(settings: FarmSettings, rows: list[TakeRow]) -> None:
    """Print the number of solved takes, and the worst takes. Raises TakeFailedError if some have failed."""
    counts = {state: sum(row.state == state for row in rows) for state in ("solved", "unchanged", "failed")}
    rows.sort(key=lambda row: row.rank)
    totals = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    page = Path(settings.out) / PAGE_NAME
    say(f"{page}: {totals}")
    for row in [row for row in rows if row.state != "failed" and row.problems][:3]:
        say(f"  {row.name}: {row.severity:.1f} ×, {row.worst}")
    if counts["failed"]:
        raise TakeFailedError(f"{counts['failed']} of {len(rows)} takes failed: {page} says why")
