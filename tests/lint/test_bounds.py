"""What a run of lint leaves out of a folder, of whatever size: it is told, and the rest is judged."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.dsl.inputs.budget import DEEPEST_FOLDERS, Budget
from parc.lint.discovery import Left, within
from parc.lint.judging import LintOptions
from parc.lint.launch_texts import read_texts
from parc.lint.rules.coverage.not_read import LEFT_OUT
from parc.lint.run import lint_texts
from tests.support.linted import BAD, Captured, findings, lint

CODE = "PAR903"
LAUNCH = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 2\n"
ACCELERATE = "distributed_type: MULTI_GPU\nnum_processes: 8\n"


def bomb(step: Callable[[str], str], leaf: str) -> str:
    """A YAML of 25 lines, each of which stands for ten of the one before."""
    lines = [f"a{n + 1}: &a{n + 1} {step(f'*a{n}')}\n" for n in range(24)]
    return f"{ACCELERATE}a0: &a0 {leaf}\n" + "".join(lines)


BOMBS = {
    "lists": bomb(lambda each: f"[{', '.join([each] * 10)}]", "[]"),
    "lists of words": bomb(lambda each: f"[{', '.join([each] * 10)}]", "[x]"),
    "repeated keys": bomb(lambda each: f"{{{', '.join([f'k: {each}'] * 10)}}}", "{k: 1}"),
    "keys": bomb(lambda each: f"{{{', '.join(f'k{n}: {each}' for n in range(10))}}}", "{}"),
    "merges": bomb(lambda each: f"{{<<: {each}, k: {each}}}", "{}"),
    "keys that are lists": bomb(lambda each: f"{{? [{each}, {each}] : {each}}}", "[]"),
    "itself": f"{ACCELERATE}a: &a [*a]\n",
    "each other": f"{ACCELERATE}a: &a\n  b: &b\n    c: *a\n    d: *b\n",
    "a chain": f"{ACCELERATE}a0: &a0 [x]\n"
    + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(200)),
    "long names": f"{ACCELERATE}? {'k' * 100_000}\n: [{'1, ' * 2_000}]\n",
    "long words": f"{ACCELERATE}a: &a {'k' * 100_000}\nb: [{'*a, ' * 2_000}]\n",
    "many words": ACCELERATE + "b: [" + "x, " * 60_000 + "]\n",
    "long": ACCELERATE + "# comment\n" * 40_000,
}


def tree(files: dict[str, str]) -> None:
    Path("good.sh").unlink()
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


@pytest.mark.parametrize("kind", BOMBS)
def test_a_text_that_stands_for_too_much_is_a_finding(kind: str, capsys: Captured) -> None:
    """In a folder, where the rest is judged, and by its name."""
    tree({"a/config.yaml": BOMBS[kind]})
    started = time.process_time()
    found = findings(capsys, ".")
    assert "PAR101" in {each["code"] for each in found}
    if kind == "long":
        assert CODE not in {each["code"] for each in found}  # it is not looked at as a launch file
    else:
        (told,) = (each for each in found if each["code"] == CODE)
        assert told["path"] == "a/config.yaml" and told["severity"] == "error"
        assert "`a/config.yaml` is not read in full: " in str(told["message"])
    assert lint("a/config.yaml") == 1 and f"error[{CODE}]" in capsys.readouterr().out
    assert time.process_time() - started < 4


def test_a_manifest_is_as_bounded_as_a_configuration(capsys: Captured) -> None:
    head = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command: [torchrun, train.py]\n"
    tree({"pod.yaml": head + BOMBS["lists"].removeprefix(ACCELERATE)})
    assert [each["code"] for each in findings(capsys, "pod.yaml")] == [CODE]


def test_a_finding_of_reading_is_said_unless_it_is_ignored_by_name(capsys: Captured) -> None:
    tree({"config.yaml": BOMBS["lists"]})
    Path("parc.toml").write_text('rules = "2026-11"\n')
    assert lint("config.yaml", "--select", "PAR101") == 1
    assert lint("config.yaml", "--ignore", CODE) == 0
    capsys.readouterr()


def test_a_deep_folder_is_read_to_its_limit_and_the_rest_told(capsys: Captured) -> None:
    tree({})
    Path("bad.sh").unlink()
    here = os.getcwd()
    for level in range(600):  # one step at a time: the whole path is longer than the system takes
        if level in (DEEPEST_FOLDERS, 599):
            Path("run.sh").write_text(BAD)
        os.mkdir("a")
        os.chdir("a")
    os.chdir(here)
    started = time.process_time()
    found = findings(capsys, ".")
    assert time.process_time() - started < 2
    assert "PAR101" in {each["code"] for each in found if str(each["path"]).endswith("run.sh")}
    (told,) = (each for each in found if each["code"] == CODE)
    assert told["path"] == "/".join("a" * (DEEPEST_FOLDERS + 1))
    assert f"nested more than {DEEPEST_FOLDERS} folders deep" in str(told["message"])
    assert lint(".") == 1 and lint("a", "--ignore", "PAR101") == 1
    capsys.readouterr()


#: What is left of one limit, what is said where it is reached, and how many of 30 jobs are judged.
LIMITS: list[tuple[dict[str, float], str, int]] = [
    ({"entries": 20}, "the search ends there, after 500,000 files and folders", 17),
    ({"search_seconds": -1}, "the search ends there, after -1 s of the processor", 0),
    ({"files": 7}, "the run ends there, after 5,000 launch files, and leaves out what follows", 7),
    ({"bytes": 1_000}, "the run ends there, after 64 MiB of launch files", 9),
    ({"jobs": 5}, "it comes after 5,000 jobs, as are 23 more", 6),
    ({"settings": 30}, "it comes after 500,000 settings, as are", 7),
    ({"seconds": -1}, "it comes after -1 s of the processor, as are 29 more", 0),
]


@pytest.mark.parametrize(("left", "said", "judged"), LIMITS, ids=lambda value: str(value)[:20])
def test_what_is_beyond_a_limit_is_told(left: dict[str, Any], said: str, judged: int) -> None:
    tree({f"d{n % 3}/run{n}.sh": LAUNCH for n in range(30)})
    Path("bad.sh").unlink()
    budget = Budget(**left)
    texts = read_texts(["."], budget=budget)
    jobs = lint_texts(texts.texts, LintOptions(), {}, (), budget)
    assert not texts.unreadable
    (told,) = (each for job in jobs for each in job.findings if each.code == CODE)
    assert said in told.diagnostic.message
    assert 0 <= sum(job.config.kind != LEFT_OUT for job in jobs) == judged


def test_what_is_in_a_limit_is_not_told() -> None:
    tree({f"d{n % 3}/run{n}.sh": LAUNCH for n in range(30)})
    budget = Budget(entries=34, files=31, jobs=31)
    texts = read_texts(["."], budget=budget)
    lint_texts(texts.texts, LintOptions(), {}, (), budget)
    assert len(texts.texts) == 31 and not budget.left_out


def test_a_file_of_a_folder_that_is_too_large_is_told_and_the_rest_judged(capsys: Captured) -> None:
    tree({"a/large.sh": LAUNCH})
    with Path("a/large.sh").open("ab") as stream:
        stream.write(b"#" * 2**20 * 5)
    found = findings(capsys, ".")
    assert {"PAR101", CODE} <= {each["code"] for each in found}
    assert any("`a/large.sh` has 5," in str(each["message"]) for each in found)
    assert lint("a") == 1 and lint("a/large.sh") == 2
    capsys.readouterr()


def test_a_sweep_is_judged_to_its_limit_and_nothing_is_wrong_in_it(capsys: Captured) -> None:
    """What is wrong in each of the jobs that are judged is said all the same."""
    rounds = "for s in $(seq 1 60); do\n{} --seed $s\ndone\n"
    tree({"sweep.sh": rounds.format("python3 train.py"), "bad.sh": rounds.format(BAD.strip())})
    said = "sweep.sh: only the first 40 jobs that it starts are judged"
    assert lint("sweep.sh") == 0 and said in capsys.readouterr().out
    (told,) = findings(capsys, "sweep.sh")
    assert told["code"] == CODE and told["severity"] == "info"
    assert lint("bad.sh") == 1 and "error[PAR101]" in capsys.readouterr().out


def test_files_that_a_script_names_have_a_limit_together(capsys: Captured) -> None:
    """Each is below its own limit, and what is not followed is told once."""
    names = [f"part{n}.sh" for n in range(12)]
    tree({"run.sh": "".join(f". ./{name}\n" for name in names) + LAUNCH})
    for name in names:
        Path(name).write_text("#" * 3_900_000)
    found = [each for each in findings(capsys, "run.sh") if each["code"] == CODE]
    assert len(found) == 1 and "all that is followed has over 33,554,432 bytes" in str(
        found[0]["message"]
    )


@pytest.mark.parametrize("pattern", ["*a" * 12 + "b", "/".join(["**", "a"] * 12) + "/b"])
def test_a_pattern_of_a_clone_cannot_hold_the_search(pattern: str, capsys: Captured) -> None:
    """In .gitignore and in the settings; patterns of as many stars as people write are obeyed beside it."""
    deep = "/".join("a" * 40)
    tree({"a" * 200 + ".sh": BAD, f"{deep}/run.sh": BAD, "out/my_old_run.sh": BAD})
    Path("bad.sh").unlink()
    Path(".git").mkdir()
    started = time.process_time()
    for name, text in (
        (".gitignore", f"{pattern}\n*y_o*d_*.sh\n"),
        ("parc.toml", f'exclude = ["{pattern}", "*y_o*d_*.sh"]\n'),
    ):
        Path(name).write_text(text)
        paths = {str(each["path"]) for each in findings(capsys, ".", "--select", "PAR101")}
        assert paths == {"a" * 200 + ".sh", f"{deep}/run.sh"}
        Path(name).unlink()
    assert time.process_time() - started < 2


def test_a_folder_is_searched_in_the_time_of_its_files() -> None:
    """Twice as many files in folders of twice the depth take about twice the time, not four times."""

    def seconds(files: int, depth: int) -> float:
        place = Path(f"t{files}", *("d" * depth))
        place.mkdir(parents=True)
        for parent in (place, *place.parents[: depth - 1]):
            (parent / ".gitignore").write_text("*.log\n")
        for n in range(files):
            (place / f"{n}.txt").write_text("")
        started = time.process_time()
        assert list(within(f"t{files}", Left(), Budget())) == []
        return time.process_time() - started

    seconds(10, 2)
    assert seconds(2_000, 20) < 8 * seconds(1_000, 10) + 0.2


def test_python_has_the_same_limits() -> None:
    tree({"config.yaml": BOMBS["lists"]})
    assert CODE in {each.code for each in parc.lint(["config.yaml"])}
