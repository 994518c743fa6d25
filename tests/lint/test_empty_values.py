"""Values that are empty when a command runs, and several options in one argument: argparse stops, and lint
says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.linted import Captured, findings

MEGATRON = (
    "pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 "
    "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --lr 1e-4 --bf16 "
    "--train-iters 100"
)
RUN = f"export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nproc-per-node 8 {MEGATRON}"
TRAINER = """
from transformers import HfArgumentParser, TrainingArguments
args, = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
"""
TUNED = "deepspeed --num_gpus 8 train.py --output_dir out --per_device_train_batch_size 4"
TP = "--tensor-model-parallel-size"
ARGS = f'ARGS="{TP} 2 --sequence-parallel"'


def said(capsys: Captured, script: str, **files: str) -> list[tuple[object, object]]:
    """Codes and levels of PAR801 and PAR816 on a script that starts Megatron-LM or the Trainer."""
    Path("train.py").write_text(TRAINER)
    Path("run.sh").write_text(f"{script}\n")
    for name, text in files.items():
        Path(f"{name}.sh").write_text(f"{text}\n")
    found = findings(capsys, "run.sh", "--select", "PAR801,PAR816")
    return [(each["code"], each["severity"]) for each in found]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (f"TP=\n{RUN} {TP} $TP --sequence-parallel", "PAR801"),
        (f'TP=""\n{RUN} {TP} "$TP"', "PAR801"),
        (f"TP=''\n{RUN} {TP}=${{TP}}", "PAR801"),
        (f'TP=\nARGS=({TP} $TP --swiglu)\n{RUN} "${{ARGS[@]}}"', "PAR801"),
        (f'TP=\nARGS="{TP} $TP --swiglu"\n{RUN} $ARGS', "PAR801"),
        (f"N=\ntorchrun --nnodes $N --nproc-per-node 8 {MEGATRON}", "PAR801"),
        (f"LR=\n{TUNED} --learning_rate $LR", "PAR801"),
        (f'EXTRA=""\n{RUN} --swiglu {TP} 2 "$EXTRA"', "PAR816"),
        (f'ARGS=({TP} 2 "" --swiglu)\n{RUN} "${{ARGS[@]}}"', "PAR816"),
        (f'EXTRA=\n{TUNED} --learning_rate 1e-5 "$EXTRA"', "PAR816"),
        (f'EXTRA=\n{TUNED} --learning_rate 1e-5 --run_name tuned "$EXTRA"', "PAR816"),
        (f'{ARGS}\n{RUN} "$ARGS"', "PAR816"),
        (f'ARGS=({TP} 2 --swiglu)\n{RUN} "${{ARGS[*]}}"', "PAR816"),
        (f'D="--nnodes 1 --nproc-per-node 8"\ntorchrun "$D" {MEGATRON}', "PAR816"),
        (f'D=\ntorchrun "$D" --nproc-per-node 8 {MEGATRON}', "PAR816"),
    ],
)
def test_the_parser_stops(script: str, code: str, capsys: Captured) -> None:
    assert said(capsys, script) == [(code, "error")]


@pytest.mark.parametrize(
    "script",
    [
        f"TP=\nTP=2\n{RUN} {TP} $TP",
        f"TP=\n[ -d /data ] && TP=2\n{RUN} {TP} $TP",
        f"TP=\nread TP\n{RUN} {TP} $TP",
        f"EXTRA=\n{RUN} --swiglu $EXTRA",
        f"EXTRA=\n{RUN} {TP} 2 $EXTRA",
        f'EXTRA=()\n{RUN} {TP} 2 "${{EXTRA[@]}}"',
        f'LOAD=""\n{RUN} --load "$LOAD"',
        f"{ARGS}\n{RUN} $ARGS",
        f'ARGS=({TP} 2 "" --swiglu)\n{RUN} ${{ARGS[@]}}',
        f"FSDP=\n{TUNED} --learning_rate 1e-5 --fp16 $FSDP",
        f'A="--a 1 --b 2"\n{RUN} --data-cache-path "$A"',
    ],
)
def test_what_the_parser_takes_passes(script: str, capsys: Captured) -> None:
    assert [each for each in said(capsys, script) if each[1] != "info"] == []


@pytest.mark.parametrize(
    ("caller", "levels"),
    [
        ("bash inner.sh 8", ["error"]),
        ("./inner.sh 8", ["error"]),
        ("X=\nbash inner.sh $X 8", ["error"]),
        ('bash inner.sh 8 "$TP"', []),
        ("bash inner.sh 4 2", []),
        ('bash inner.sh "$@"', []),
    ],
)
def test_an_argument_that_the_caller_leaves_out(
    caller: str, levels: list[str], capsys: Captured
) -> None:
    inner = f"{RUN} --pipeline-model-parallel-size $1 {TP} $2"
    found = [level for _, level in said(capsys, caller, inner=inner) if level != "info"]
    assert found == levels


def test_a_value_that_somebody_fills_in_is_no_error(capsys: Captured) -> None:
    noted = f"NODES=  # of your cluster\ntorchrun --nnodes $NODES --nproc-per-node 8 {MEGATRON}"
    path = f"LOAD=\n{RUN} --load $LOAD --swiglu"
    for script in (noted, path):
        assert [code for code, _ in said(capsys, script)] == ["PAR801"]
        assert "error" not in [level for _, level in said(capsys, script)]


def test_a_parser_that_is_not_in_sight_may_split_it(capsys: Captured) -> None:
    script = f'{ARGS}\ntorchrun --nproc-per-node 8 own.py --lr 1 "$ARGS"'
    assert ("PAR816", "error") not in said(capsys, script)
