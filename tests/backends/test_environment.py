"""Variables of the environment in launch scripts: real bash exports what the job and the backends say."""

import subprocess
from collections.abc import Mapping, Sequence

import pytest

from parc.backends import BACKENDS
from parc.backends.deepspeed.options import Options
from parc.backends.environment import Variable, lines, problems
from parc.dsl.job import Job, Launch
from tests.support.sample_plans import sample_job, sample_plan

#: Texts in which a careless writer lets bash see code, a quote or an end.
HOSTILE = [
    "$(touch /nowhere/x)",
    "`id`",
    'a"; exit 9; "',
    "}; exit 9; {",
    "it's",
    "back\\slash\\",
    "two\nlines",
    "^NVLS,*.?[a]",
    "  blanks  ",
    "größe ✓",
    "a#b !history",
]
FIXED = Variable("CONNECTIONS", "1", "The framework demands it.", fixed=True)
UNSET = Variable("CONNECTIONS", None, "The framework refuses it.", fixed=True)
MARGIN = Variable("MARGIN", "16", "Leaves room.")
ALLOCATOR = Variable("OLD_NAME", "grow", "Grows.", synonyms=("NEW_NAME",))


def job(**env: str | int | bool) -> Job:
    return sample_job("megatron", launch=Launch(env=env))


def exported(text: Sequence[str], name: str, **before: str) -> str | None:
    """The value of a variable in a process that the script starts; None where it is not set."""
    script = "\n".join(["set -euo pipefail", *text, "exec /usr/bin/env -0"])
    environment: Mapping[str, str] = {"PATH": "/usr/bin:/bin", **before}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    found = dict(line.split("=", 1) for line in done.stdout.split("\0") if line)
    return found.get(name)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_arrives_as_it_was_written(value: str) -> None:
    assert exported(lines(job(NCCL_ALGO=value), []), "NCCL_ALGO") == value


def test_other_variables_may_stand_in_a_value() -> None:
    text = lines(job(CACHE="$HOME/cache", TRITON="${HOME}/triton"), [])
    assert exported(text, "CACHE", HOME="/home/a b") == "/home/a b/cache"
    assert exported(text, "TRITON", HOME="/home/a b") == "/home/a b/triton"


def test_truth_and_numbers_become_digits() -> None:
    text = lines(job(ON=True, OFF=False, COUNT=1200), [])
    assert [exported(text, name) for name in ("ON", "OFF", "COUNT")] == ["1", "0", "1200"]


def test_where_the_script_starts_weighs_most_then_the_job_then_the_default() -> None:
    assert exported(lines(job(), [MARGIN]), "MARGIN") == "16"
    asked = lines(job(MARGIN=20), [MARGIN])
    assert exported(asked, "MARGIN") == "20"
    assert exported(asked, "MARGIN", MARGIN="4") == "4"


def test_a_synonym_in_the_job_leaves_the_default_out() -> None:
    text = lines(job(NEW_NAME="stay"), [ALLOCATOR])
    assert exported(text, "OLD_NAME") is None and exported(text, "NEW_NAME") == "stay"


@pytest.mark.parametrize(("variable", "value"), [(FIXED, "1"), (UNSET, None)])
def test_what_the_framework_demands_is_set_whatever_was(
    variable: Variable, value: str | None
) -> None:
    assert exported(lines(job(), [variable]), "CONNECTIONS", CONNECTIONS="8") == value


def test_every_default_says_what_it_is_for() -> None:
    text = lines(job(), [FIXED, MARGIN])
    assert [text[0], text[2]] == ["# The framework demands it.", "# Leaves room."]


@pytest.mark.parametrize(
    ("env", "codes"),
    [
        ({"1ST": "a"}, ["PAR381"]),
        ({"A B": "a", "x;y": "b"}, ["PAR381", "PAR381"]),
        ({"CONNECTIONS": 8}, ["PAR381"]),
        ({"CONNECTIONS": 1, "_fine9": "a"}, []),
    ],
)
def test_problems(env: dict[str, str | int | bool], codes: list[str]) -> None:
    assert [problem.code for problem in problems(job(**env), [FIXED])] == codes


def test_an_unset_variable_may_not_be_asked_for() -> None:
    (problem,) = problems(job(CONNECTIONS=1), [UNSET])
    assert problem.code == "PAR381" and "unset" in problem.message


def test_one_comment_may_tell_of_several() -> None:
    text = lines(job(), [MARGIN, Variable("OTHER_MARGIN", "8")])
    assert [line.startswith("#") for line in text] == [True, False, False]


@pytest.mark.parametrize("path", ["/data/$USER/x", "/data/${USER}/x"])
def test_a_path_with_the_users_name_works_where_none_is_set(path: str) -> None:
    """Many pods have no USER, and a script that reads it would stop."""
    plan = sample_plan("deepspeed", Options(save=path))
    script = BACKENDS["deepspeed"].emit(plan)["deepspeed/launch.sh"]
    (line,) = [line for line in script.splitlines() if line.startswith("export USER=")]
    name = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    assert exported([line], "USER") == name
    assert exported([line], "USER", USER="somebody") == "somebody"
    plain = BACKENDS["deepspeed"].emit(sample_plan("deepspeed", Options(save="/data/$USERS")))
    assert "export USER=" not in plain["deepspeed/launch.sh"]
