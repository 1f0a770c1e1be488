"""Mixed use in a real Blender's window for hours: what Blender holds after each ten minutes.

    python tools/package.py && python tools/benchmarks/mixed_use.py [--minutes 120] [--write]

On a virtual screen, with the built zip installed (tools/real_blender.sh). With --write the rows go to
docs/reference/reliability.md. The exit status is 1 if an act went wrong or anything but memory grew.
"""

import argparse
import sys
from pathlib import Path

from standard_page import fill, table

from knuckle.tests.gui.conftest import OUT, bring_rigs, play_scenario
from knuckle.tests.gui.live_senders import vmc_when_asked
from knuckle.tests.gui.test_mixed_use import COUNTED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "reliability.md"
ROW_MINUTES = 10.0
"""Minutes between two rows of the table."""


def main() -> int:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    bring_rigs()
    seconds = round(60 * options.minutes)
    with vmc_when_asked(OUT):
        result = play_scenario("mixed_use", str(seconds), seconds=seconds + 600)
    rounds = result["rounds"]
    rows = [rounds[0]]
    for round_result in rounds[1:]:
        if round_result["minutes"] >= rows[-1]["minutes"] + ROW_MINUTES or round_result is rounds[-1]:
            rows.append(round_result)
    text = table(rows[0], [map(str, row.values()) for row in rows])
    print(f"{text}\n\n{len(rounds)} rounds, {result['done']}, faults: {result['faults']}")
    if options.write:
        fill(PAGE, {"mixed use": text})
    return 1 if result["faults"] or any(rounds[-1][name] > rounds[0][name] for name in COUNTED) else 0


if __name__ == "__main__":
    sys.exit(main())
