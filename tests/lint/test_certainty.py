"""What surely stops a run is an error whatever the record of its rule; what is missing for that is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.compiler.target import Effect, Predicate
from parc.lint.finding import Finding
from parc.lint.judging import LintOptions, judge
from parc.lint.record import records
from parc.lint.rules import RULES
from tests.support.linted import Captured, findings

MODEL = (
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --train-iters 9"
)
PLAIN = f"torchrun --nproc-per-node 8 pretrain_gpt.py {MODEL} --max-position-embeddings 4096"
HEADS = PLAIN.replace("--num-attention-heads 32", "--num-attention-heads 28")
#: Right in few of others' files.
MOSTLY_WRONG = ("PAR111", "PAR303", "PAR373")


def said(text: str, code: str, name: str = "run.sh", options: LintOptions | None = None) -> Finding:
    """The one finding of a code."""
    judged = judge(read_jobs({name: text}), replace(options or LintOptions(), select=(code,)))
    (finding,) = (finding for job in judged for finding in job.findings)
    return finding


def missing(finding: Finding) -> str:
    notes = (note.message for note in finding.diagnostic.notes)
    return next((note for note in notes if note.startswith("not certain: ")), "")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{HEADS} --tensor-model-parallel-size 8", "PAR111"),
        (f"{PLAIN} --num-experts 60 --expert-model-parallel-size 8", "PAR115"),
        (f"{PLAIN} --overlap-param-gather --use-distributed-optimizer", "PAR303"),
        (f"{PLAIN} --async-save 4", "PAR373"),
        (f"{PLAIN} --train-samples 1000", "PAR312"),
        (f"{PLAIN} --use-torch-fsdp2 --no-gradient-accumulation-fusion", "PAR303"),
    ],
)
def test_what_stops_every_release_is_an_error(text: str, code: str) -> None:
    finding = said(text, code)
    assert finding.severity == "error" and not missing(finding)


def test_records_alone_would_make_hints_of_them() -> None:
    assert all(records()[code, ""].level == "info" for code in MOSTLY_WRONG)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("TP=${TP:-8}\n", "--tensor-model-parallel-size $TP", "$TP has its default"),
        (
            "",
            "--tensor-model-parallel-size 8 --our-own-option",
            "`--our-own-option` is not an option of",
        ),
        ("", "--tensor-model-parallel-size 8 --xielu", "a fork of Megatron-LM, swiss-ai"),
        (
            "",
            "--tensor-model-parallel-size 8 --activations-checkpoint-method uniform --use-custom-fsdp",
            "no release of Megatron-LM has all of its options",
        ),
        (
            'DATA=\nif [ -z "$DATA" ]; then exit 1; fi\n',
            "--tensor-model-parallel-size 8",
            "a guard ends the script before it",
        ),
    ],
)
def test_what_is_missing_makes_less_of_it_and_is_said(before: str, after: str, why: str) -> None:
    finding = said(f"{before}{HEADS} {after}\n", "PAR111")
    assert finding.severity != "error" and why in missing(finding)
    finding = said(f"{before}{HEADS} {after}\n", "PAR111", options=LintOptions(own_levels=True))
    assert finding.severity == "warning" and why in missing(finding)


SPLIT = f"{PLAIN.replace('--num-layers 32', '--num-layers 30')} --pipeline-model-parallel-size 4"


@pytest.mark.parametrize(
    ("option", "level", "why"),
    [
        ("--pipeline-model-parallel-blocks 8,8,7,7", "info", "may change what is checked"),
        ("--layer-split 8-8-7-7", "info", "may change what is checked"),
        ("--our-own-option", "warning", "a fork may check otherwise"),
        ("", "error", ""),
    ],
)
def test_an_option_of_a_fork_that_is_about_the_same_makes_a_hint(
    option: str, level: str, why: str
) -> None:
    finding = said(f"{SPLIT} {option}\n", "PAR121")
    assert finding.severity == level and why in missing(finding)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{PLAIN} --tensor-model-parallel-size 16", "PAR101"),
        (f"{HEADS} --tensor-model-parallel-size 8", "PAR111"),
        (SPLIT, "PAR121"),
    ],
)
def test_a_converter_is_no_run(text: str, code: str) -> None:
    assert said(text, code).severity == "error"
    finding = said(text.replace("pretrain_gpt.py", "tools/hf2mcore_convert.py"), code)
    assert finding.severity == "info"
    assert "hf2mcore_convert.py converts checkpoints" in missing(finding)


def test_a_known_release_is_certain() -> None:
    """--recompute-num-layers is needed since 0.4, and the script may be older."""
    text = f"{PLAIN} --recompute-granularity full --recompute-method uniform"
    finding = said(text, "PAR303")
    assert "the release is not known, and Megatron-LM before 0.4" in missing(finding)
    assert (
        said(text, "PAR303", options=LintOptions(versions={"megatron": "0.14"})).severity == "error"
    )
    fork = said(text, "PAR303", options=LintOptions(fork="swiss-ai"))
    assert fork.severity != "error" and "the fork swiss-ai may check otherwise" in missing(fork)


def test_the_projects_own_level_goes_before(capsys: Captured) -> None:
    Path("run.sh").write_text(f"{HEADS} --tensor-model-parallel-size 8\n")
    Path("parc.toml").write_text('[severity]\nPAR111 = "info"\n')
    (finding,) = findings(capsys, "run.sh", "--select", "PAR111")
    assert finding["severity"] == "info"


RECIPE = """
from megatron.bridge.recipes.llama import llama32_1b_sft_config
from megatron.bridge.training.finetune import finetune
from megatron.bridge.training.gpt_step import forward_step
cfg = llama32_1b_sft_config()
cfg.model.tensor_model_parallel_size = 1
cfg.model.seq_length = 4096
cfg.train.micro_batch_size = {micro}
cfg.train.global_batch_size = 8
finetune(cfg, forward_step)
"""


def test_a_batch_that_no_number_of_replicas_divides_is_certain() -> None:
    finding = said(RECIPE.format(micro=3), "PAR201", "recipe.py")
    assert finding.severity == "error" and "no larger dp either" in finding.diagnostic.message
    fine = judge(read_jobs({"recipe.py": RECIPE.format(micro=2)}), LintOptions(select=("PAR201",)))
    assert [finding for job in fine for finding in job.findings] == []


def test_more_nodes_never_mend_a_batch_and_mend_a_layout() -> None:
    """One node is the default of a variable: more of them multiply dp, and give a layout its GPUs."""
    start = "NNODES=${NNODES:-1}\ntorchrun --nnodes $NNODES --nproc-per-node 8 pretrain_gpt.py "
    degrees = "--micro-batch-size 1 --global-batch-size 12"
    finding = said(f"{start}{MODEL} {degrees}\n", "PAR201")
    assert finding.severity == "error"
    finding = said(f"{start}{MODEL} --tensor-model-parallel-size 16\n", "PAR101")
    assert finding.severity == "warning"


def test_rules_say_what_stops_for_them() -> None:
    stops = {rule.code: rule.stops for rule in RULES if rule.stops}
    assert set(stops.values()) == {"own", "itself", "megatron", "deepspeed", "transformers"}
    assert all(rule.severity in ("error", "warning") for rule in RULES if rule.stops)


STARTED = [
    predicate
    for backend in BACKENDS.values()
    for predicate in backend.target.predicates
    if predicate.stricter.startswith(
        ("the engine starts", "Megatron-LM starts", "Megatron-FSDP starts")
    )
]


@pytest.mark.parametrize("predicate", STARTED, ids=[each.name for each in STARTED])
def test_a_framework_that_starts_with_it_does_not_stop_for_it(predicate: Predicate) -> None:
    """But where its first step or checkpoint fails."""
    fails = any(
        word in predicate.stricter for word in ("refuses it", "fails", "finds no gradients")
    )
    assert (predicate.effect is Effect.STOPS) == fails
