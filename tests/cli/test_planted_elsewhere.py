"""What a repository brings in the way of commands other than `compile`, and what parc reads of its own."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from parc.writing import temporary
from parc.writing.durable import new_file
from parc.writing.folder import made
from parc.writing.paths import InTheWay, is_git, is_writable_name, parts_of, resolved
from parc.writing.temporary import is_own, new_name
from tests.cli.test_single_file import BAD
from tests.support.command_line import Parc
from tests.support.planted_state import GITS, put

SECRET = "TOP-SECRET-KEY\n"
Planter = Callable[[Path, str], None]


def link(place: Path, target: str) -> None:
    put(place, "link", target)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder of the user outside of the current one, which is made below it."""
    place = tmp_path.parent / f"{tmp_path.name}-home"
    place.mkdir()
    (place / "secret").write_text(SECRET)
    (place / "a.sh").write_text(BAD)
    return place


#: Commands that write to a name; a link there leads outside.
WRITERS = [
    ("report", "job.par", "-o", "at", "--force"),
    ("report", "job.par", "--markdown", "-o", "at", "--force"),
    ("trace", "job.par", "-o", "at", "--force"),
    ("import", "a.sh", "-o", "at", "--force"),
    ("init", "--model", "gpt_125m", "--gpus", "8xA100", "-o", "at", "--force"),
    ("lint", "a.sh", "--write-baseline", "at"),
    ("measure", "--nodes", "1", "--gpus-per-node", "1", "-o", "at.par", "--force"),
    ("sweep", "job.par", "--over", "train.seq_len=512", "-o", "at", "--force"),
    ("rules", "--pages", "at"),
    ("trials", "job.par", "-o", "at", "--force"),
    ("smoke", "job.par", "--keep", "at"),
]


@pytest.mark.parametrize("below", [False, True], ids=["itself", "above"])
@pytest.mark.parametrize("target", ["secret", "missing", "", "a.sh", "git"])
@pytest.mark.parametrize("command", WRITERS, ids=" ".join)
def test_no_command_writes_through_a_link(
    run: Parc, home: Path, command: tuple[str, ...], target: str, below: bool
) -> None:
    """To a file, to what is missing, to a folder and into Git's, and through one above."""
    (Path(".git") / "hooks").mkdir(parents=True)
    (Path(".git") / "config").write_text(SECRET)
    Path("a.sh").write_text(BAD)
    name = next(word for word in command if word in ("at", "at.par"))
    leads = ".git/config" if target == "git" else str(home / target)
    if below:
        link(Path("up"), os.path.dirname(leads) if target else leads)
        words = [f"up/new/{word}" if word == name else word for word in command]
    else:
        link(Path(name), leads)
        words = list(command)
    before = {each: sorted(everything(each).items()) for each in (home, Path(".git"))}
    ran = run(*words)
    assert ran.code in (1, 2) and SECRET.strip() not in ran.out + ran.err
    assert {each: sorted(everything(each).items()) for each in (home, Path(".git"))} == before


@pytest.mark.parametrize("command", ["lint --fix", "fmt", "check --fix --unsafe-fixes"])
@pytest.mark.parametrize("below", [False, True], ids=["itself", "above"])
def test_no_cure_is_written_through_a_link(
    run: Parc, home: Path, command: str, below: bool
) -> None:
    """A file that is named is read behind a link, and changed only within the folder."""
    job = Path("job.par").read_text().replace("hidden", "hiden").replace("model m", "model   m")
    wrong = BAD if command.startswith("lint") else job
    for name in ("theirs", "ours"):
        (home if name == "theirs" else Path()).joinpath(f"{name}.sh").write_text(wrong)
    link(Path("up"), str(home))
    link(Path("at"), str(home / "theirs.sh"))
    link(Path("inside"), "ours.sh")
    ran = run(*command.split(), "up/theirs.sh" if below else "at")
    assert ran.code == 2 and "leads out of" in ran.err and (home / "theirs.sh").read_text() == wrong
    run(*command.split(), "inside")
    assert Path("ours.sh").read_text() != wrong and Path("inside").is_symlink()


def everything(place: Path) -> dict[str, bytes]:
    found = {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    return found | {str(path): b"" for path in place.rglob("*") if path.is_dir()}


def test_pages_of_rules_follow_no_link_to_a_file(run: Parc, home: Path) -> None:
    link(Path("pages/PAR101.md"), str(home / "secret"))
    assert run("rules", "--pages", "pages").code == 2
    assert (home / "secret").read_text() == SECRET


def test_a_link_within_the_folder_is_followed(run: Parc) -> None:
    Path("real").mkdir()
    link(Path("out"), "real")
    assert run("compile", "job.par", "-o", "out", "--no-report").code == 0
    assert Path("real/plan.json").is_file() and Path("out").is_symlink()


def test_a_link_in_the_home_folder_is_the_users_own(
    run: Parc, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    disk = home.with_name(f"{home.name}-disk")
    disk.mkdir()
    link(home / "scratch", str(disk))
    (home / "job.par").write_text(
        Path(home.parent, home.name.removesuffix("-home"), "job.par").read_text()
    )
    assert run("compile", "job.par", "-o", "scratch/out", "--no-report").code == 0
    assert (disk / "out" / "plan.json").is_file()


@pytest.mark.parametrize(
    ("at", "leads", "is_followed"),
    [
        ("scratch", "/disk", True),
        ("project/out", "/disk", False),
        ("project/out", "HOME/other", False),
        ("project/out", "HOME/project/other", True),
        ("project/up/out", "HOME/project", True),
    ],
)
@pytest.mark.parametrize("repository", ["", "project", "."])
@pytest.mark.parametrize("current", ["", "project", ".."])
def test_what_lies_in_the_home_folder_is_apart(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    at: str,
    leads: str,
    is_followed: bool,
    repository: str,
    current: str,
) -> None:
    """Wherever the command is run, and whether Git keeps a part of it, or all."""
    monkeypatch.setenv("HOME", str(home))
    (home / "project" / "other").mkdir(parents=True)
    if repository:
        (home / repository / ".git").mkdir()
    place = leads.replace("HOME", str(home)).replace("/disk", str(home.parent / "disk"))
    typed = home / at
    link(typed.parent if "up/" in at else typed, place)
    monkeypatch.chdir(home / current)
    if is_followed and not (at == "scratch" and repository == "."):
        assert str(resolved(typed)).startswith(str(Path(place).resolve()))
    else:
        with pytest.raises(ValueError, match="leads out of"):
            resolved(typed)


def test_a_job_called_git_gets_no_folder_of_git(run: Parc) -> None:
    text = Path("job.par").read_text()
    Path(".git.par").write_text(text)
    ran = run("compile", ".git.par", "job.par", "-o", ".", "--no-report")
    assert ran.code == 2 and "folder of Git" in ran.err and not Path(".git").exists()
    assert not Path("job").exists()


@pytest.mark.parametrize(
    "target", ["../home", "HOME", "megatron/../../home", "..", "", "megatron\0"]
)
def test_a_plan_that_is_compared_reads_its_own_folder_alone(
    run: Parc, home: Path, target: str
) -> None:
    assert run("compile", "job.par", "-o", "out", "--no-report").code == 0
    plan = json.loads(Path("out/plan.json").read_text())
    (home / "secret.sh").write_text("torchrun pretrain_gpt.py --num-layers 7171\n")
    where = target.replace("../home", os.path.relpath(home, "out")).replace("HOME", str(home))
    plan["plans"][0]["target"] = where
    Path("out/plan.json").write_text(json.dumps(plan))
    ran = run("compare", "out", "job.par")
    told = (ran.out + ran.err).replace(str(home), "")  # whose name may have any digits
    assert ran.code in (0, 1, 2) and "7171" not in told


@pytest.mark.parametrize("key", ["baseline", "exceptions", "spec"])
@pytest.mark.parametrize("way", ["up", "absolute", "link", "link above", "zero"])
def test_settings_name_files_of_their_folder_alone(
    run: Parc, home: Path, key: str, way: str
) -> None:
    Path("a.sh").write_text(BAD)
    link(Path("linked"), str(home / "secret"))
    link(Path("folder"), str(home))
    names = {
        "up": os.path.relpath(home / "secret"),
        "absolute": str(home / "secret"),
        "link": "linked",
        "link above": "folder/secret",
        "zero": "a\\u0000b",
    }
    Path("parc.toml").write_text(f'{key} = "{names[way]}"\n')
    ran = run("lint", "a.sh")
    assert ran.code == 2 and "leads out of its folder" in ran.err
    assert SECRET.strip() not in ran.out + ran.err


def test_a_spec_of_the_settings_is_below_them(run: Parc, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("parc.toml").write_text('spec = "job.par"\n')
    Path("scripts").mkdir()
    Path("scripts/a.sh").write_text(BAD)
    monkeypatch.chdir("scripts")
    assert "there is no" not in run("lint", "a.sh").err


def test_a_manifest_owns_no_file_that_parc_does_not_write(run: Parc) -> None:
    """Although it lists their content: of those here one alone could be parc's."""
    names = (
        "README",
        "job.par",
        "src/model.py",
        ".github/ci.yml",
        "megatron/a/b.sh",
        "megatron/old.sh",
    )
    for name in names[2:] + names[:1]:
        put(Path(name), "file", "text\n")
    digests = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in names}
    Path("plan.json").write_text(json.dumps({"files": digests}))
    assert run("compile", "job.par", "-o", ".", "--no-report").code == 0
    assert [name for name in names if not Path(name).exists()] == ["megatron/old.sh"]


def test_a_folder_that_becomes_a_link_meanwhile_leads_nowhere(home: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "b").mkdir(parents=True)
    with made(tmp_path / "out") as folder:
        with folder.parent("b/x") as (number, last):
            (tmp_path / "out" / "b").rename(tmp_path / "moved")
            link(tmp_path / "out" / "b", str(home))
            with new_file(last, number, b"text"):
                pass
        with pytest.raises(InTheWay, match="`b` is a link"):
            folder.create("b/y", b"text")
        (tmp_path / "out").rename(tmp_path / "elsewhere")
        link(tmp_path / "out", str(home))
        folder.create("c/z", b"text")
    assert {path.name for path in home.iterdir()} == {"secret", "a.sh"}
    assert (tmp_path / "moved" / "x").is_file() and (tmp_path / "elsewhere" / "c" / "z").is_file()


@pytest.mark.parametrize("git", GITS)
def test_git_is_known_by_each_of_its_names(git: str) -> None:
    assert is_git(git) and is_git(f"a\\{git}") and not is_writable_name(f"a/{git}/b")
    with pytest.raises(ValueError, match="Git"):
        parts_of(f"a/{git}/b")


@pytest.mark.parametrize(
    "name", [".gitignore", ".github", "git", "git~2", "a.git", ".gitx", "..git"]
)
def test_other_names_are_not_gits(name: str) -> None:
    assert not is_git(name)


def forged(page: str, script: str | None) -> str:
    """A page with an element of a stranger's, or with another script that its policy allows."""
    if script is None:
        return page.replace("</body>", "<script>theirs()</script></body>")
    head, middle, rest = page.rpartition("<script>")
    ours, end, tail = rest.partition("</script>")
    digest, theirs = (
        base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in (ours, script)
    )
    assert digest in head
    return head.replace(digest, theirs) + middle + script + end + tail


@pytest.mark.parametrize("script", [None, "theirs()"], ids=["element", "script"])
def test_a_page_of_a_stranger_is_not_kept(run: Parc, script: str | None) -> None:
    """Although the manifest lists it, with all the rest as parc would write it."""
    assert run("compile", "job.par", "-o", "first").code == 0
    ours = Path("first/report.html").read_text()
    plan = json.loads(Path("first/plan.json").read_text())
    page = forged(ours, script)
    assert page != ours
    plan["files"]["report.html"] = hashlib.sha256(page.encode()).hexdigest()
    os.rename("first", "out")
    Path("out/report.html").write_text(page)
    Path("out/plan.json").write_text(json.dumps(plan, indent=2, ensure_ascii=False) + "\n")
    assert run("compile", "job.par", "-o", "out", "--check").code == 1
    assert run("compile", "job.par", "-o", "out").code == 0
    assert Path("out/report.html").read_text() == ours
    assert "nothing to change" in run("compile", "job.par", "-o", "out").out


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666])
def test_a_secret_that_others_may_read_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    temporary._secret.cache_clear()
    name = new_name(tmp_path)
    assert is_own(name, tmp_path) and not is_own(name, tmp_path / "elsewhere")
    key = tmp_path / "state" / "parc" / "temporary.key"
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    key.chmod(mode)
    temporary._secret.cache_clear()
    assert is_own(name, tmp_path) is (mode == 0o600)


@pytest.mark.parametrize("state", ["/dev/null", "/proc/1", "relative", ""])
def test_without_a_folder_for_state_all_is_written(
    run: Parc, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """What a killed run has left is then named and stays."""
    monkeypatch.setenv("XDG_STATE_HOME", state)
    monkeypatch.setenv("HOME", "/dev/null")
    temporary._secret.cache_clear()
    Path("out").mkdir()
    Path("out/.parc-0123456789abcdef-0000000000000000").mkdir()
    for _ in range(2):
        ran = run("compile", "job.par", "-o", "out")
        assert ran.code == 0 and "PAR083" in ran.err
    assert "nothing to change" in ran.out and Path("out/plan.json").is_file()
    assert Path("out/.parc-0123456789abcdef-0000000000000000").is_dir()
    temporary._secret.cache_clear()


def test_a_folder_in_which_somebody_works_stays(run: Parc, tmp_path: Path) -> None:
    """Its number stays, so that a job that runs there finds it; without that it is another folder."""
    assert run("compile", "job.par", "-o", "out", "--no-report").code == 0
    numbers = [Path("out").stat().st_ino]
    for length, place in ((512, tmp_path), (256, tmp_path / "out" / "megatron")):
        os.chdir(place)
        job, out = tmp_path / "job.par", tmp_path / "out"
        said = (
            "compile",
            str(job),
            "-o",
            str(out),
            "--no-report",
            "--set",
            f"train.seq_len={length}",
        )
        assert run(*said).code == 0
        numbers.append(out.stat().st_ino)
    assert numbers[1] != numbers[0] and numbers[2] == numbers[1]
