"""Which release or fork a script is for, and what is then an error, a warning or a hint, records aside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge
from tests.support.linted import Captured, findings, lint

PLAIN = (
    "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
    "--num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
    "--micro-batch-size 1 --train-iters 100 --lr 3e-4 --vocab-file v.json"
)


def script(*options: str, before: str = "") -> str:
    Path("run.sh").write_text(f"{before}{' '.join([PLAIN, *options])}\n")
    return "run.sh"


def levels(capsys: Captured, *options: str) -> dict[object, object]:
    rows = findings(capsys, "run.sh", "--own-levels", *options)
    return {found["code"]: found["severity"] for found in rows}


def summary(capsys: Captured, *options: str) -> str:
    capsys.readouterr()
    lint("run.sh", *options)
    return capsys.readouterr().out.rstrip().splitlines()[-1]


@pytest.mark.parametrize(
    "options, code, unknown, known",
    [
        (("--optimizer", "rmsprop"), "PAR373", "info", "error"),
        (("--optimizer", "adamm"), "PAR373", "error", "error"),
        (("--seed", "many"), "PAR373", "error", "error"),
        (("--tensor-model-parallel-sise", "1"), "PAR372", "warning", "error"),
        (("--our-very-own-option", "1"), "PAR372", None, "error"),
        (("--use-custom-fsdp",), "PAR371", "info", "error"),
        (("--optimizer-cpu-offload",), "PAR303", "error", "error"),
        (("--sharp-enabled-group", "dp"), "PAR303", "error", "error"),
        (("--recompute-granularity", "full"), "PAR303", "warning", "error"),
    ],
)
def test_a_named_release_makes_it_an_error(
    options: tuple[str, ...], code: str, unknown: str | None, known: str, capsys: Captured
) -> None:
    script(*options)
    assert levels(capsys).get(code) == unknown
    assert levels(capsys, "--framework-version", "megatron=0.19").get(code) == known


def test_missing_options_are_hints_where_some_release_does_without(capsys: Captured) -> None:
    text = PLAIN.replace("--micro-batch-size 1 ", "")
    Path("run.sh").write_text(text)
    assert levels(capsys)["PAR374"] == "info"
    assert levels(capsys, "--framework-version", "megatron=0.16")["PAR374"] == "error"
    Path("run.sh").write_text(PLAIN.replace("--num-layers 32 ", ""))
    assert levels(capsys)["PAR374"] == "warning"


def test_an_option_is_judged_by_its_own_time(capsys: Captured) -> None:
    script("--model-parallel-size", "2", "--warmup", "0.01")
    assert "PAR373" not in levels(capsys)
    assert "PAR371" not in levels(capsys, "--framework-version", "megatron=1.0")
    script("--window-size", "128,0")
    (found,) = findings(
        capsys, "run.sh", "--framework-version", "megatron=0.14", "--select", "PAR372"
    )
    assert (
        found["message"]
        == "Megatron-LM 0.14 has no option --window-size: 0.15 is the first with it"
    )


def test_a_script_pins_its_release(capsys: Captured) -> None:
    script("--optimizer", "rmsprop", before="git checkout core_v0.14.0\n")
    assert levels(capsys)["PAR373"] == "error"
    script("--optimizer", "rmsprop", before="# git checkout core_v0.14.0\n")
    assert levels(capsys)["PAR373"] == "info"
    script(
        "--optimizer",
        "rmsprop",
        before="pip install megatron-core==0.14.0 || git checkout core_r0.13.0\n",
    )
    assert levels(capsys)["PAR373"] == "info"


def test_a_fork_is_named_by_its_options(capsys: Captured) -> None:
    script("--optimizer", "ademamix", "--xielu", "--tp-comm-overlap")
    assert "PAR373" not in levels(capsys)
    assert levels(capsys)["PAR303"] == "warning"
    assert "taken for a fork of Megatron-LM such as swiss-ai by --optimizer, --xielu" in summary(
        capsys
    )


def test_a_fork_is_named_by_the_user(capsys: Captured) -> None:
    script("--optimizer", "ademamix", "--xielu", "--use-mamba-of-ours")
    assert levels(capsys, "--fork", "swiss-ai")["PAR372"] == "error"
    assert "PAR373" not in levels(capsys, "--fork", "swiss-ai")
    Path("parc.toml").write_text('fork = "llm-jp"\n')
    found = {each["message"] for each in findings(capsys, "run.sh", "--select", "PAR372,PAR373")}
    assert "Megatron-LM's fork llm-jp has no option --xielu" in found
    assert summary(capsys).endswith("judged for Megatron-LM's fork llm-jp")


def test_forks_are_checked(capsys: Captured) -> None:
    script()
    with pytest.raises(SystemExit) as stopped:
        lint("run.sh", "--fork", "swis-ai")
    assert stopped.value.code == 2
    assert "unknown fork `swis-ai`; did you mean `swiss-ai`?" in capsys.readouterr().err
    Path("parc.toml").write_text('fork = "llmjp"\n')
    assert lint("run.sh") == 2
    assert "parc does not know the fork `llmjp`" in capsys.readouterr().err


def test_the_summary_says_what_was_assumed_and_why(capsys: Captured) -> None:
    script("--use-custom-fsdp", "--ckpt-format", "torch_dist")
    line = summary(capsys)
    assert line.endswith("taken for Megatron-LM 0.12 to 0.13 by --use-custom-fsdp")
    assert summary(capsys, "--framework-version", "megatron=0.13").endswith(
        "judged for Megatron-LM 0.13"
    )
    lint("run.sh", "--format", "json")
    (job,) = json.loads(capsys.readouterr().out)["files"]
    assert job["release"] == "taken for Megatron-LM 0.12 to 0.13 by --use-custom-fsdp"


def test_a_mix_of_times_is_no_release(capsys: Captured) -> None:
    script("--activations-checkpoint-method", "uniform", "--use-custom-fsdp")
    assert "no release of which has all of its options" in summary(capsys)
    assert levels(capsys)["PAR371"] == "info"


def test_a_version_without_a_table_makes_nothing_certain(capsys: Captured) -> None:
    script("--optimizer", "rmsprop")
    assert levels(capsys, "--framework-version", "megatron=3.0")["PAR373"] == "info"


@pytest.mark.parametrize(
    "text, unknown, known",
    [
        ('{"zero_optimization": {"stage": 2, "overlap_com": true}}', "warning", "error"),
        ('{"zero_optimization": {"stage": 2, "cpu_offload_params": true}}', None, "error"),
    ],
)
def test_keys_of_deepspeed(text: str, unknown: str | None, known: str, capsys: Captured) -> None:
    Path("ds.json").write_text(text)

    def level(*options: str) -> object:
        found = findings(capsys, "ds.json", "--select", "PAR403", *options)
        return found[0]["severity"] if found else None

    assert level() == unknown
    assert level("--framework-version", "deepspeed=0.19") == known
    assert level("--framework-version", "deepspeed=0.5") is None


def test_keys_of_torchtitan(capsys: Captured) -> None:
    Path("train.toml").write_text("[training]\nbatch_size = 8\nseq_length = 4096\nour_key = 1\n")

    def found(*options: str) -> dict[object, object]:
        rows = findings(capsys, "train.toml", "--own-levels", "--select", "PAR365", *options)
        return {row["line"]: row["severity"] for row in rows}

    assert found() == {3: "warning", 4: "info"}
    assert found("--framework-version", "torchtitan=24.12") == {3: "error", 4: "error"}
    assert found("--framework-version", "torchtitan=0.2") == dict.fromkeys((2, 3, 4), "error")


TRAINER = "torchrun --nproc-per-node 8 run.py --output_dir o --learning_rate 1 --save_steps 9"


@pytest.mark.parametrize(
    "option, version, level",
    [
        ("--evaluation_strategy no", None, "info"),
        ("--evaluation_strategy no", "4.57", "error"),
        ("--evaluation_strategy no", "4.40", None),
        ("--eval_strategy no", "4.40", "error"),
        ("--eval_strategy no", None, None),
        ("--our_own_option 1", "4.57", None),
    ],
)
def test_options_of_the_trainer(
    option: str, version: str | None, level: str | None, capsys: Captured
) -> None:
    Path("run.sh").write_text(f"{TRAINER} {option}\n")
    given = ("--framework-version", f"transformers={version}") if version else ()
    assert levels(capsys, *given).get("PAR389") == level


def test_the_trainer_is_known_by_several_of_its_options(capsys: Captured) -> None:
    Path("run.sh").write_text("torchrun run.py --output_dir o --evaluation_strategy no\n")
    assert "PAR389" not in levels(capsys)


def test_a_renamed_option_of_the_trainer_is_cured(capsys: Captured) -> None:
    Path("run.sh").write_text(
        f"pip install transformers==4.46.3\n{TRAINER} --evaluation_strategy no\n"
    )
    assert "PAR389" not in levels(capsys)
    Path("run.sh").write_text(
        f"pip install transformers==4.57.6\n{TRAINER} --evaluation_strategy no\n"
    )
    lint("run.sh", "--fix")
    capsys.readouterr()
    assert "--eval_strategy no" in Path("run.sh").read_text()


def test_no_interval_beside_save_is_wrong_in_newer_releases_alone() -> None:
    def said(version: str = "") -> set[str]:
        jobs = read_jobs({"job.sh": f"{PLAIN} --save out --save-interval 0\n"})
        known = {"megatron": version} if version else {}
        judged = judge(jobs, LintOptions(select=("PAR373",), versions=known))
        return {found.severity for job in judged for found in job.findings}

    assert said() <= {"info"}
    assert said("0.19") == {"error"}
    assert not said("0.8")
