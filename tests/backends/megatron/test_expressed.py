"""What an import of Megatron-LM's scripts understands is listed; the rest is handed back with its place."""

import re
from pathlib import Path

import pytest

from parc.backends.megatron import BACKEND, read
from parc.backends.megatron.option_rows import ROWS
from parc.backends.megatron.read.expressed import OTHER
from parc.backends.megatron.read.spelling import TELLING
from parc.lint.unexpressed import unexpressed
from tests.support.megatron_plans import PLANS
from tests.support.read_back import read_back

#: Layers per stage, options that a test's `extra` gives, and a checkpoint of which no option says where its
#: weights came from.
PLACEMENT = {
    "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split",
    "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers",
    "--pipeline-model-parallel-layout", "--data-args-path", "--per-split-data-args-path",
    "--pretrained-checkpoint",
}  # fmt: skip


def test_every_option_that_readers_look_up_is_listed() -> None:
    folder = Path(read.__file__).parent
    looked_up = {
        name
        for path in folder.glob("*.py")
        for name in re.findall(r'"(--[a-z0-9-]*[a-z0-9])"', path.read_text())
    }
    # Two that only tell the release of a script, one that tells that it is not Megatron's, and those that
    # tell whether a run lasts.
    telling = {"--warmup", "--nccl-ub", "--per-device-train-batch-size", "--exit-signal"}
    telling |= {"--exit-duration-in-mins", "--finetune", "--non-persistent-save-interval"}
    assert looked_up - ROWS.expressed == {"--pipeline-model-parallel-layout"} | telling
    assert set(OTHER) <= ROWS.expressed and {"--train-tokens"} == TELLING - ROWS.expressed


@pytest.mark.parametrize("name", PLANS)
def test_nothing_that_parc_emits_is_lost(name: str) -> None:
    lost = {setting.name for setting in unexpressed(read_back(BACKEND.emit(PLANS[name])))}
    assert lost <= PLACEMENT


BASE = "--num-layers 2 --hidden-size 64 --micro-batch-size 1 --train-iters 100 --bf16"


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("--lr-decay-style cosine --attention_dropout 0.1", []),
        ("--lr-decay-style inverse-square-root", ["--lr-decay-style"]),
        ("--lr-decay-iters 100", []),
        ("--lr-decay-iters 80", ["--lr-decay-iters"]),
        ("--lr-decay-iters 80 --lr-decay-style constant", []),
        ("--attention-dropout 0", ["--attention-dropout"]),
        ("--attention-dropout 0.0 --hidden-dropout 0", []),
        ("--rampup-batch-size 16 8 100 --global-batch-size 32", ["--rampup-batch-size"]),
        ("--reset-position-ids --eod-mask-loss", ["--reset-position-ids", "--eod-mask-loss"]),
        ("--optimizer lion", ["--optimizer"]),
        ("--data-path /a /b", ["--data-path"]),
        ("--data-path 0.5 /a 0.5 /b", []),
        ("--tokenizer-type GPT2BPETokenizer", ["--tokenizer-type"]),
        ("--profile", ["--profile"]),
        ("--save-interval 10 --save-retain-interval 50", ["--save-retain-interval"]),
        ("--save-retain-interval 50", []),
        ("--attention-backend flash", ["--attention-backend"]),
        ("--attention-backend flash --flash-attention-version 2", []),
        ("--attention-backend flash --flash-attention-version 4", ["--flash-attention-version"]),
        ("--attention-backend auto", []),
        ("--cuda-graph-impl local", ["--cuda-graph-impl"]),
        ("--cuda-graph-impl full_iteration --no-check-for-nan-in-loss-and-grad", []),
        (
            "--cross-entropy-loss-fusion --cross-entropy-fusion-impl te",
            ["--cross-entropy-fusion-impl"],
        ),
        ("--fp8-format e4m3 --fp8-recipe blockwise", []),
        ("--fp8-format e4m3 --fp8-recipe custom", ["--fp8-recipe"]),
    ],
)
def test_other_options_and_values(text: str, lost: list[str]) -> None:
    config = read_back({"run.sh": f"torchrun pretrain_gpt.py {BASE} \\\n  {text}\n"})
    found = list(unexpressed(config))
    assert [setting.name for setting in found] == lost
    assert all((setting.path, setting.line) == ("run.sh", 2) for setting in found)
