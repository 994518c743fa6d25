"""First tries of people from other tools: each works, or prints a line that works when it is typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import parc
from parc.backends import OPTIONS
from parc.dsl import JobError, Source, loads
from parc.dsl.fixes import applied
from tests.support.command_line import Parc

PLAIN = {
    "model": "",
    "cluster": "nodes = 2",
    "train": "seq_len = 8192; global_batch = 512; steps = 1000",
    "target megatron": "",
}
#: Where a line is from -> the block that it was put into, the line, and what a cure makes of the job.
SETTINGS = {
    "habit: HF Trainer, learning rate": ("train", "lr = 3e-4", "learning_rate = 3e-4"),
    "habit: HF Trainer, bf16": ("train", "bf16 = true", "precision = bf16"),
    "habit: HF Trainer, fp16": ("train", "fp16 = true", "precision = fp16"),
    "habit: HF Trainer, accumulation": (
        "train",
        "gradient_accumulation_steps = 8",
        "microbatches == 8",
    ),
    "habit: HF Trainer, recomputation": (
        "train",
        "gradient_checkpointing = true",
        "recompute == full",
    ),
    "habit: HF Trainer, DeepSpeed": ("train", 'deepspeed = "ds_config.json"', ""),
    "habit: HF Trainer, optimizer": ("train", "optim = adamw_torch", "optimizer = adam"),
    "habit: vLLM, tensor parallelism": ("target megatron", "tensor_parallel = 4", "tp == 4"),
    "habit: SGLang, tensor parallelism": ("target megatron", "tp_size = 4", "tp == 4"),
    "habit: torchrun, nodes": ("cluster", "num_nodes = 2", "nodes = 2"),
    "habit: torchrun, processes": ("cluster", "nproc_per_node = 8", "gpus_per_node = 8"),
    "habit: torchrun, world": ("cluster", "world_size = 16", "nodes = 2"),
    "habit: GPUs in a text": ("cluster", 'gpus = "16xH100"', "nodes = 2; gpu = H100"),
    "habit: Megatron-LM, length": ("train", "seq_length = 8192", "seq_len = 8192"),
    # drawn from public READMEs, configs and threads
    "facebookresearch video models, README": ("train", "amp = true", "precision = bf16"),
    "megatron_gpt_sft.py in a guide of NeMo": ("cluster", "devices = 8", "gpus_per_node = 8"),
    "ROLL, megatron_train strategy": ("train", "recompute_granularity = full", "recompute == full"),
    "ROLL, its optimizer": ("train", "use_distributed_optimizer = true", "zero == 1"),
    "ROLL, experts": ("train", "expert_model_parallel_size = 1", "ep == 1"),
    "Qwen2-VL recipe, torchrun": ("train", "per_device_train_batch_size = 1", "micro_batch == 1"),
    "torchtitan, llama3_70b.toml": ("target megatron", "tensor_parallel_degree = 8", "tp == 8"),
    "torchtitan, clipping": ("train", "max_norm = 1.0", "clip_grad = 1.0"),
    "torchtitan, batch": ("train", "local_batch_size = 2", "micro_batch == 2"),
    "torchtitan, recomputation": ("train", "selective_ac_option = op", "recompute == selective"),
    "axolotl, length": ("train", "sequence_len = 8192", "seq_len = 8192"),
    "axolotl, optimizer": ("train", "optimizer = adamw_torch_fused", "optimizer = adam"),
    "LLaMA-Factory, length": ("train", "cutoff_len = 8192", "seq_len = 8192"),
    "model card, batch": ("train", "total_train_batch_size = 32", "global_batch = 32"),
    "model card, warmup": ("train", "lr_scheduler_warmup_steps = 500", "warmup = 500"),
    # drawn again later, by another reader, from other pages
    "MaxText's SFT of Qwen3, length": ("train", "max_target_length = 1024", "seq_len = 1024"),
    "MaxText's SFT of Qwen3, batch": ("train", "per_device_batch_size = 1", "micro_batch == 1"),
    "ms-swift, qwen_7b sft.sh": (
        "train",
        'sft_type = full; weights = "meta-llama/Meta-Llama-3-8B"',
        "tune = full",
    ),
    "ms-swift, its precision": ("train", "dtype = bf16", "precision = bf16"),
    "ms-swift, its length": ("train", "max_length = 2048", "seq_len = 2048"),
    "llm-decontaminator, finetune.sh": ("train", "model_max_length = 1536", "seq_len = 1536"),
    "llm-decontaminator, FSDP": ("train", 'fsdp = "full_shard auto_wrap"', "zero == 3"),
    "verl, SFT": ("train", "lr_warmup_steps_ratio = 0.1", "warmup = 100"),
    "verl, Ulysses": ("train", "ulysses_sequence_parallel_size = 2", "cp == 2"),
    "LLaMA2-Accessory, accumulation": ("train", "accum_iter = 2", "microbatches == 2"),
    "LLaMA2-Accessory, length": ("train", "max_words = 512", "seq_len = 512"),
    "LLaMA2-Accessory, degree": ("target megatron", "model_parallel_size = 2", "tp == 2"),
    "NeMo's launcher, length of a run": ("train", "max_steps = 300000", "steps = 300000"),
    "a DeepSpeed config": ("train", "offload_optimizer = true", "offload == optimizer"),
    "FSDP in a tutorial": ("train", "sharding_strategy = FULL_SHARD", "zero == 3"),
}
#: Where a command is from -> it, and the line that is typed where it does not work.
COMMANDS = {
    "habit: a short name": ("init --model llama3-8b --gpus 8xH100", None),
    "habit: a number of GPUs": ("init --model llama3-8b --gpus 8", "8xH100"),
    "habit: a name without its size": ("init --model mistral --gpus 8xA100", "mistral_7b"),
    "habit: a name without its version": ("init --model llama-70b --gpus 64xH100", "llama2_70b"),
    "habit: no option": ("init Qwen/Qwen3-8B --gpus 8xH100", None),
    "habit: a verb": ("list", "parc std"),
    # drawn from public READMEs, configs and threads
    "SkyPilot, --gpus A100:8": ("init --model llama3-8b --gpus A100:8", None),
    "SkyPilot, --gpus L40S": ("init --model qwen3-0.6b --gpus L40S", None),
    "SkyPilot, A10G:1 of g5.xlarge": ("init --model qwen3-0.6b --gpus A10G:1", None),
    "SkyPilot, tpu-v6e-8": (
        "init --model llama3-8b --gpus tpu-v6e-8",
        "cluster from std.dgx_h100 {}",
    ),
    "torchrun --nproc_per_node=8": ("init --model llama3-8b --nproc_per_node=8", "parc init"),
    "torchrun --nnodes=2": ("init --model llama3-8b --gpus 8xH100 --nnodes=2", "parc init"),
    "accelerate launch --num_processes 4": (
        "init --model llama3-8b --num_processes 4",
        "parc init",
    ),
    "deepspeed --num_gpus=8": ("init --model llama3-8b --num_gpus=8", "parc init"),
    "llamafactory-cli train FILE": ("train job.par", "parc compile job.par -o out"),
    # drawn again later, by another reader, from other pages
    "SkyPilot's list, A100-80GB-SXM": ("init --model llama3-8b --gpus A100-80GB-SXM:8", None),
    "SkyPilot's list, H100-MEGA": ("init --model llama3-8b --gpus H100-MEGA:8", None),
    "Databricks, GPU_8xH100": ("init --model llama3-8b --gpus GPU_8xH100", None),
    "SLURM's --gres": ("init --model llama3-8b --gpus gpu:h100:8", None),
    "a table of clouds, AWS": ("init --model llama3-8b --gpus p4d.24xlarge", "8xA100-40GB"),
    "a table of clouds, Azure": (
        "init --model llama3-8b --gpus Standard_ND96asr_A100_v4",
        "8xA100-40GB",
    ),
    "a table of clouds, Azure's NVL": (
        "init --model qwen3-0.6b --gpus Standard_NC40ads_H100_v5",
        "1xH100-NVL",
    ),
    "dstack, Google's a3-highgpu-8g": ("init --model llama3-8b --gpus a3-highgpu-8g", "8xH100"),
    "a shop, DGX-H100": ("init --model llama3-8b --gpus DGX-H100", None),
    "torchtune's issue, 8 4090s": ("init --model llama3-8b --gpus 8x4090s", None),
    "llama-cookbook's issue, a path": (
        "init --model ../../../llama/llama-2-7b-hf --gpus A100-SXM4-80GB",
        None,
    ),
    "ms-swift, qwen-14b-chat": ("init --model qwen-14b-chat --gpus 8xA10", None),
    "verl, Qwen2.5-0.5B-Instruct": ("init --model Qwen/Qwen2.5-0.5B-Instruct --gpus A10", None),
    "Ollama, llama3.1": ("init --model llama3.1 --gpus 8xH100", "llama3_1_8b"),
    "habit: no output": ("compile job.par", "parc compile job.par -o out"),
    "habit: no layout": ("estimate job.par", "parc estimate job.par --layout"),
    "habit: a word for help": ("help", "parc --help"),
    "NeMo, --gpus of a typo": ("init --model llama3-8b --gpus 12xH100", "8xH100"),
}


def job(block: str, line: str) -> str:
    """A job with the line in place of what says the same there."""
    blocks = dict(PLAIN)
    said = {"learning_rate", "precision", "optimizer", "warmup", "clip_grad"}
    ours = {"seq_length": "seq_len", "sequence_len": "seq_len", "cutoff_len": "seq_len", "num_nodes": "nodes",
            "max_target_length": "seq_len", "max_length": "seq_len", "model_max_length": "seq_len",
            "max_words": "seq_len", "max_steps": "steps",
            "world_size": "nodes", "gpus": "nodes", "total_train_batch_size": "global_batch"}  # fmt: skip
    gone = ours.get(line.split()[0])
    kept = [each for each in blocks[block].split("; ") if each and each.split()[0] != gone]
    assert gone not in said
    blocks[block] = "; ".join([*kept, line])
    bases = {"model": " from std.llama3_8b", "cluster": " from std.dgx_h100"}
    return "".join(f"{kind}{bases.get(kind, '')} {{ {text} }}\n" for kind, text in blocks.items())


def cured(text: str) -> str:
    """The text after its cures, until nothing is wrong."""
    for _ in range(5):
        try:
            loads(text, targets=OPTIONS)
        except JobError as error:
            assert all(each.help for each in error.diagnostics), error
            fixes = [each.fix for each in error.diagnostics if each.fix]
            text, count = applied(Source("job.par", text), fixes)
            assert count, error
        else:
            return text
    raise AssertionError(text)


@pytest.mark.parametrize("source", SETTINGS)
def test_settings(source: str) -> None:
    block, line, becomes = SETTINGS[source]
    text = job(block, line)
    with pytest.raises(JobError):
        loads(text, targets=OPTIONS)
    after = cured(text)
    assert becomes in after and line.split()[0] not in re.findall(
        r"\w+", after.replace(becomes, "")
    )


def test_a_decision_outside_of_the_blocks_is_required() -> None:
    assert "require tp == 4" in cured("tensor_parallel = 4\n" + job("train", "compile = true"))


@pytest.mark.parametrize("source", COMMANDS)
def test_commands(run: Parc, source: str) -> None:
    words, line = COMMANDS[source]
    Path("job.par").write_text(job("train", "compile = false"))
    ran = run(*_into(words.split()))
    if line is None:
        assert ran.code == 0
        return
    assert ran.code == 2
    shown = next(each for each in re.findall(r"`([^`]+)`", ran.err.partition("= help: ")[2]))
    assert shown.startswith(line)
    assert run(*_into(_typed(words.split(), shown))).code == 0


def _into(words: list[str]) -> list[str]:
    return [*words, "-o", "new.par", "--force"] if words[0] == "init" else words


def _typed(words: list[str], shown: str) -> list[str]:
    """The arguments with which the printed line is typed: a command, GPUs, a model, or a line of a job."""
    if shown.startswith("parc "):
        return shlex.split(shown)[1:]
    if shown.startswith("cluster "):
        text = Path("job.par").read_text()
        Path("job.par").write_text(
            re.sub(r"cluster .*", shown.replace("{}", "{ nodes = 1 }"), text)
        )
        return ["check", "job.par"]
    option = "--gpus" if re.match(r"\d+x", shown) else "--model"
    place = words.index(option) + 1
    return [*words[:place], shown, *words[place + 1 :]]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [("job.par", "model { layers = }", "parc check job.par"),
     ("config.json", '{"model_type": "qwen3"}', "parc init --hf config.json")],
)  # fmt: skip
def test_lint_says_who_reads_what_is_no_launch_file(
    run: Parc, name: str, text: str, line: str
) -> None:
    Path(name).write_text(text)
    ran = run("lint", name)
    assert ran.code == 2 and f"`{line}`" in ran.err and "no findings" not in ran.out
    assert run("lint", name, "--skip-others").code == 0


def test_estimates_take_words_and_refuse_unknown_ones(run: Parc) -> None:
    Path("job.par").write_text(job("train", "compile = false"))
    given = parc.load("job.par")
    words = parc.estimate(given, {"tp": 2, "recompute": "none"}, "megatron")
    assert words == parc.estimate(given, {"tp": 2, "recompute": 0}, "megatron")
    for layout, target, said in (
        ({"recompute": "nonee"}, "megatron", "did you mean `none`?"),
        ({"tpp": 2}, "megatron", "did you mean `tp`?"),
        ({"tp": 2}, "megatrn", "did you mean `megatron`?"),
    ):
        with pytest.raises(JobError, match=re.escape(said)):
            parc.estimate(given, layout, target)


def test_epochs_are_taken_out_where_the_length_is_said(run: Parc) -> None:
    Path("job.par").write_text(job("train", "epochs = 3"))
    assert run("check", "job.par", "--fix", "--unsafe-fixes").code == 0
    assert "epochs" not in Path("job.par").read_text()
