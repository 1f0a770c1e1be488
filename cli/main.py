"""The shell command: `knuckle` with Blender's Python module, `blender --command knuckle` in Blender itself."""

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from ..pipeline.blas_threads import use_one_thread
from .terminal import exit_at_once, exit_status, holding_interrupts

if TYPE_CHECKING:
    from ..capture.network.transport import Address


def main(
    arguments: Sequence[str] | None = None, check_address: "Callable[[Address], None]" = lambda _address: None
) -> int:
    """Run a command line and return its exit status.

    Args:
        arguments: the command's arguments; by default those of the process.
        check_address: raises StreamError for an address that must not be listened on or connected to.
    """

    def run() -> None:
        # The import takes a second; Ctrl-C meanwhile would be reported as an error of the package being imported.
        with holding_interrupts():
            from .commands import command_parser
        options = command_parser().parse_args(arguments)
        options.check_address = check_address
        options.run(options)

    try:
        return exit_status(run)
    except SystemExit as stop:
        return int(stop.code or 0)


def run_and_exit() -> NoReturn:
    """Run the process's command line and end the process with its exit status."""
    use_one_thread()
    status = main()
    if "bpy" in sys.modules:
        exit_at_once(status)
    sys.exit(status)


if __name__ == "__main__":
    run_and_exit()
