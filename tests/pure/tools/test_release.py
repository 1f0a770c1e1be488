"""tools/release.py on a small checkout of its own."""

import datetime
import subprocess

import pytest

from knuckle.tools import release

TODAY = datetime.date(2030, 1, 2)
FILES = {
    "pyproject.toml": '[project]\nversion = "0.1.0"\ndependencies = ["other==0.1.0"]\n',
    "blender_manifest.toml": 'schema_version = "1.0.0"\n\nversion = "0.1.0"\n',
    "CITATION.cff": "cff-version: 1.2.0\nversion: 0.1.0\n",
    "docs/tutorials/first-hand.md": "Choose **knuckle-0.1.0.zip**.\n",
    "docs/tutorials/first-take.md": "Choose **knuckle-0.1.0.zip**.\n",
    "tests/gui/walking.py": 'ZIP = "knuckle-0.1.0.zip"\n',
    "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n- New.\n\n## 0.0.9 (2029-01-01)\n\n- Old.\n",
    ".gitignore": "build/\n",
}


def git(root, *arguments):
    command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for key in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{key}_NAME", "A")
        monkeypatch.setenv(f"GIT_{key}_EMAIL", "a@example.org")
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return tmp_path


def builder(root, version):
    def build():
        (root / "build").mkdir()
        (root / "build" / f"knuckle-{version}.zip").write_bytes(b"zip")

    return build


def test_a_release_is_stated_everywhere_and_tagged_with_its_checksum(checkout):
    release.release(checkout, "0.2.0", TODAY, builder(checkout, "0.2.0"))
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "rev-list", "-n1", "v0.2.0") == git(checkout, "rev-parse", "HEAD")
    for name in release.PLACES:
        text = (checkout / name).read_text()
        assert text == FILES[name].replace(release.PLACES[name].format("0.1.0"), release.PLACES[name].format("0.2.0"))
    assert "other==0.1.0" in (checkout / "pyproject.toml").read_text(), "no other version is touched"
    log = (checkout / "CHANGELOG.md").read_text()
    assert release.notes(log, "0.2.0") == "- New."
    assert "## 0.2.0 (2030-01-02)\n" in log
    check = subprocess.run(["sha256sum", "--check", "knuckle-0.2.0.zip.sha256"], cwd=checkout / "build", check=False)
    assert check.returncode == 0


def test_a_dry_run_prints_the_changes_and_writes_nothing(checkout, capsys):
    release.release(checkout, "0.2.0", TODAY, lambda: pytest.fail("nothing is built"), dry=True)
    assert '+version = "0.2.0"' in capsys.readouterr().out
    assert {name: (checkout / name).read_text() for name in FILES} == FILES
    assert git(checkout, "tag", "--list") == ""


@pytest.mark.parametrize("version", ["0.0.9", "1.0", "v1.0.0", "01.0.0", "1.0.0-rc1"])
def test_versions_that_go_back_or_are_not_semantic_are_refused(checkout, version):
    with pytest.raises(SystemExit, match="expected three numbers"):
        release.release(checkout, version, TODAY, lambda: None)


def test_work_that_is_not_committed_is_refused(checkout):
    (checkout / "more.py").write_text("")
    with pytest.raises(SystemExit, match="clean work tree"):
        release.release(checkout, "0.2.0", TODAY, lambda: None)


def test_a_version_is_released_once(checkout):
    git(checkout, "tag", "v0.2.0")
    with pytest.raises(SystemExit, match=r"tag v0\.2\.0 is there"):
        release.release(checkout, "0.2.0", TODAY, lambda: None)


def test_an_empty_changelog_is_refused(checkout):
    (checkout / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n## 0.0.9 (2029-01-01)\n\n- Old.\n")
    git(checkout, "commit", "--quiet", "--all", "--message", "Empty")
    with pytest.raises(SystemExit, match="at least one line below it"):
        release.release(checkout, "0.2.0", TODAY, lambda: None)


@pytest.mark.parametrize("name", release.PLACES)
def test_the_version_stands_where_a_release_looks_for_it(name):
    line = release.PLACES[name].format(release.version_of(release.ROOT))
    assert (release.ROOT / name).read_text(encoding="utf-8").count(line) == 1
