"""The code in docs/explanation/chains.md does what the page says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "chains.md"


def test_the_code_of_the_page_runs_and_what_it_asserts_is_true():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
