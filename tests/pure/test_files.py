"""Files are written completely or not at all."""

import os
import time

import pytest

from knuckle.files import TEMPORARY_PREFIX, FileError, expect_writable, temporary_folder, write_json, written_whole
from knuckle.tests.full_disk import files_no_larger_than


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_where_the_disk_is_full_the_old_file_stays(tmp_path):
    path = tmp_path / "performer.json"
    write_json(path, {"version": 1})
    before = path.read_bytes()
    with files_no_larger_than(1000), pytest.raises(FileError, match=r"performer\.json: cannot be written"):
        write_json(path, {"numbers": list(range(10_000))})
    assert path.read_bytes() == before
    assert names(tmp_path) == ["performer.json"]


def test_what_a_killed_process_left_is_swept_and_what_another_writes_now_is_not(tmp_path):
    with written_whole(tmp_path / "take.blend") as half:
        half.write_text("whole")
    stale = [half.name]
    dated = f"{TEMPORARY_PREFIX}2025-20251126 backup.md"
    fresh, foreign = half.name.replace("knuckle-", "knuckle-1"), [".x", f"{TEMPORARY_PREFIX}notes.txt", dated]
    for name in (*stale, fresh, *foreign):
        (tmp_path / name).write_text("half")
    long_ago = time.time() - 7200
    for name in (*stale, *foreign):
        os.utime(tmp_path / name, (long_ago, long_ago))
    write_json(tmp_path / "map.json", {})
    assert names(tmp_path) == sorted([fresh, *foreign, "map.json", "take.blend"])


def test_the_folder_of_a_writer_that_goes_on_is_not_swept(tmp_path):
    """Its own time is that of the last entry that was added, not of the last that was written."""
    with temporary_folder(tmp_path / "take.npz") as folder:
        (folder / "rows.npy").write_bytes(b"rows")
        os.utime(folder, (0, 0))
        write_json(tmp_path / "map.json", {})
        assert (folder / "rows.npy").exists()
        os.utime(folder / "rows.npy", (0, 0))
        os.utime(folder, (0, 0))
        write_json(tmp_path / "map.json", {})
        assert not folder.exists(), "after a kill"


def test_a_name_as_long_as_the_system_bears_can_be_written_and_a_longer_one_is_refused_before_the_work(tmp_path):
    longest = tmp_path / ("a" * 250 + ".json")
    write_json(longest, [])
    assert longest.read_text() == "[]\n"
    with pytest.raises(FileError, match="File name too long"):
        expect_writable(tmp_path / ("a" * 251 + ".json"), ".json")


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "a.json", []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((os.fstat(descriptor).st_ino, path.exists())))
    with written_whole(path) as half:
        half.write_text("whole")
        number = half.stat().st_ino
    assert synced == [(number, False), (tmp_path.stat().st_ino, True)]
