"""The summary of a run: worst first, whatever is in names and sentences, and the same figures as CSV."""

import csv
from dataclasses import replace

import pytest

from knuckle.farm import summary_page as page_module
from knuckle.farm.figures_csv import write_csv
from knuckle.farm.summary_page import RunFacts, summary_page
from knuckle.farm.take_rows import TakeRow, row_of
from knuckle.pipeline.report_page.page import ASSETS
from knuckle.tests.pure.pipeline.test_report_page import HOSTILE, Parsed, made_take

FACTS = RunFacts("corpus", "0.1.0", 3, 60.0)


def row(name, **fields):
    return replace(row_of(made_take(name=name, **fields), "a.c3d", "Ada"), files=("report.html",), seconds=1.0)


ROWS = [row("calm", worst=0.5), row("bad", worst=90.0), TakeRow("gone", "gone.c3d", "failed", "no such file")]


def test_takes_are_ranked_worst_first_and_lead_to_their_reports():
    parsed = Parsed(summary_page(ROWS, FACTS))
    links = [link["href"] for link in parsed.all("a")]
    assert links == ["takes.csv", "takes/bad/report.html", "takes/calm/report.html"]
    text = " ".join(parsed.texts)
    assert "3 takes: 2 solved, 1 failed; 1,000 frames in 60 s, 2 takes a minute" in text
    assert text.index("gone") < text.index("bad") < text.index("calm")
    assert "a problem in" not in text and "right ring fingertip" in text


def test_a_row_has_the_figures_of_the_report_page():
    found = row("bad", worst=90.0)
    assert (found.frames, found.rate, found.hands, found.problems) == (500, 100.0, "right", 1)
    assert found.max_mm == pytest.approx(90.0) and found.predicted == pytest.approx(0.1)
    assert found.severity == pytest.approx(90.0 / 8.0, rel=0.05)
    assert len(found.heat) == 120 and found.heat.count("4") == 1, "two bad frames in the middle, in one column"
    assert found.heat[59:61].count("4") == 1


def test_what_is_hostile_in_names_and_sentences_stays_text():
    hostile = [row(HOSTILE, worst=90.0), TakeRow(HOSTILE, HOSTILE, "failed", HOSTILE)]
    content = summary_page(hostile, RunFacts(HOSTILE, "1", 2, 1.0, (HOSTILE,)))
    parsed = Parsed(content)
    assert len(parsed.all("script")) == 1 and not parsed.all("img")
    assert (ASSETS / "summary.js").read_text(encoding="utf-8") in parsed.texts
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    assert all(link["href"].startswith(("takes/", "takes.csv")) for link in parsed.all("a"))
    assert "\x00" not in content and "\u202e" not in content


def test_a_run_that_ended_early_and_one_of_many_takes_say_so(monkeypatch):
    assert "2 are left, the run ended early" in summary_page(ROWS[:1], FACTS)
    many = [replace(ROWS[0], name=f"t{number}") for number in range(27)]
    monkeypatch.setattr(page_module, "MAX_ROWS", 20)
    content = summary_page(many, replace(FACTS, listed=len(many)))
    assert "The other 7 takes are better" in content and len(Parsed(content).all("tr")) == 20 + 1


def test_the_figures_are_all_in_the_table_and_no_text_is_a_formula(tmp_path):
    rows = [*ROWS, TakeRow("=cmd|' /C calc'!A0", "a\nb", "failed", "+1")]
    write_csv(tmp_path / "takes.csv", rows)
    with (tmp_path / "takes.csv").open(newline="") as file:
        found = list(csv.DictReader(file))
    assert [line["name"] for line in found] == ["calm", "bad", "gone", "'=cmd|' /C calc'!A0"]
    assert found[3]["capture"] == "a\nb" and found[3]["problem"] == "'+1"
    assert float(found[1]["max_mm"]) == ROWS[1].max_mm and found[2]["max_mm"] == ""
