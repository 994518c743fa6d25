"""Launch files -> jobs: launchers, spellings, linked configs, several files, what is unknown and where."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.reading.facts import LaunchConfig, Unknown
from tests.support.paths import GOLDEN

SIZES = "--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 2048"


def one(text: str, **keywords: object) -> LaunchConfig:
    (job,) = read_jobs({"job.sh": text}, **keywords)  # type: ignore[arg-type]
    return job


def values(job: LaunchConfig, *names: str) -> list[object]:
    return ["?" if isinstance(job.value(name), Unknown) else job.value(name) for name in names]


def shape(text: str) -> list[object]:
    return values(
        one(text.replace("TRAIN", f"pretrain_gpt.py {SIZES}")), "nodes", "gpus_per_node", "gpus"
    )


HEADER = "#!/bin/bash\n#SBATCH -N 4 --ntasks-per-node=8 # eight\n#SBATCH --gres gpu:a100:8\n"
SHAPES = {
    "torchrun --nnodes=2 --nproc_per_node 8 TRAIN": [2, 8, 16],
    "torchrun TRAIN": [1, 1, 1],
    "torchrun --standalone --nproc-per-node gpu TRAIN": [1, "?", "?"],
    "torchrun --nnodes 1:4 --nproc_per_node 8 TRAIN": ["?", 8, "?"],
    "python3 -u -m torch.distributed.launch --nproc_per_node=4 TRAIN": [1, 4, 4],
    "$PYTHON -m torch.distributed.run --nproc_per_node=4 --nnodes $NODES TRAIN": ["?", 4, "?"],
    "deepspeed TRAIN": ["?", "?", "?"],
    "deepspeed --num_nodes=2 --num_gpus 4 TRAIN": [2, 4, 8],
    "deepspeed --include localhost:0,1,3 TRAIN": [1, 3, 3],
    "deepspeed -i worker-0:0,1@worker-1:0,1 TRAIN": [2, 2, 4],
    "deepspeed --num_nodes 2 --num_gpus 8 --no_python bash -c 'python TRAIN'": [2, 8, 16],
    "accelerate launch --num_processes 16 --num_machines 2 TRAIN": [2, 8, 16],
    "accelerate launch --config_file a.yaml TRAIN": ["?", "?", "?"],
    "mpirun -np 16 -ppn 8 -x NCCL_DEBUG=INFO python TRAIN": [2, 8, 16],
    "mpiexec --map-by ppr:4:node -n 8 python TRAIN": [2, 4, 8],
    "WORLD_SIZE=1 python TRAIN": [1, 1, 1],
    "python TRAIN": ["?", "?", "?"],
    "NPROC_PER_NODE=8 NNODES=2 megatron sft --num_layers 4 --hidden_size 8": [2, 8, 16],
    HEADER + "srun python TRAIN": [4, 8, 32],
    HEADER
    + "srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE TRAIN": [4, 8, 32],
    HEADER + "srun --nodes=2 --ntasks-per-node 4 python TRAIN": [2, 8, 8],
    HEADER + "echo\n#SBATCH --nodes=9\nsrun python TRAIN": [4, 8, 32],
    "sbatch --nodes=2 --ntasks-per-node=4 --wrap='srun python TRAIN'": [2, 4, 8],
    "sbatch -N2 <<EOF\n#!/bin/bash\n#SBATCH --ntasks-per-node=4\nsrun python TRAIN\nEOF": [2, 4, 8],
    'srun singularity exec --nv image.sif bash -c "torchrun --nproc_per_node 2 TRAIN"': [1, 2, 2],
}


@pytest.mark.parametrize("text", SHAPES)
def test_launchers(text: str) -> None:
    assert shape(text) == SHAPES[text]


ARGUMENTS: dict[str, dict[str, object]] = {
    "--model-parallel-size 4": {"tp": 4},
    "--tensor_model_parallel_size=2 --sequence_parallel true": {"tp": 2, "sequence_parallel": True},
    "--sequence_parallel false": {"sequence_parallel": False},
    "--batch-size 3": {"micro_batch": 3},
    "--num-key-value-heads 4": {"kv_heads": 4},
    "--num_attention_heads_kv 4": {"kv_heads": 4},
    "--attention-head-type multiquery": {"kv_heads": 1},
    "--num-query-groups 4": {"kv_heads": 16},
    "--group-query-attention --num-query-groups 4": {"kv_heads": 4},
    "--checkpoint-activations": {"recompute": "full"},
    "--activations-checkpoint-method uniform": {"recompute": "full"},
    "--recompute-activations": {"recompute": "selective"},
    "--recompute-granularity full --recompute-method block": {"recompute": "full"},
    "--recompute-granularity selective": {"recompute": "selective"},
    "--recompute-granularity selective --recompute-modules layernorm mla_up_proj "
    "--multi-latent-attention": {"recompute": "fine"},
    "--recompute-granularity selective --recompute-modules layernorm moe_act --num-experts 8 "
    "--moe-grouped-gemm": {"recompute": "fine"},
    "--recompute-granularity selective --recompute-modules moe layernorm --num-experts 8 "
    "--moe-grouped-gemm": {"recompute": "moe"},
    "--recompute-granularity selective --recompute-modules mla_up_proj layernorm moe "
    "--multi-latent-attention --num-experts 8": {"recompute": "moe"},
    "--recompute-granularity selective --recompute-modules moe": {"recompute": "selective"},
    "--recompute-granularity selective --recompute-modules layernorm --num-experts 8 "
    "--moe-grouped-gemm": {"recompute": "selective"},
    "--recompute-granularity selective --recompute-modules mlp layernorm moe_act --num-experts 8 "
    "--moe-grouped-gemm": {"recompute": "selective"},
    "--recompute-granularity selective --recompute-modules mla_up_proj --multi-latent-attention "
    "--fp8-format hybrid": {"recompute": "fine"},
    "--recompute-granularity selective --recompute-modules mla_up_proj --multi-latent-attention "
    "--fp8-format hybrid --fp8-recipe blockwise": {"recompute": "selective"},
    "--recompute-granularity selective --recompute-modules $MODULES --multi-latent-attention": {
        "recompute": "?"
    },
    "--deepspeed-activation-checkpointing": {"recompute": "none"},
    "--rampup-batch-size 16 16 6_000_000": {"rampup": "16 16 6_000_000"},
    "--bf16 --fp8-format hybrid": {"precision": "bf16+fp8"},
    "--bf16 --fp8-format e4m3 --fp8-recipe mxfp8": {"precision": "bf16+mxfp8"},
    "--bf16 --fp4-format e2m1": {"precision": "bf16+nvfp4"},
    "": {"precision": "fp32", "zero": "none", "tp": 1, "kv_heads": 16, "recompute": "none"},
    "--ds-sequence-parallel-size 4": {"ulysses": 4, "dp": 2},
    "--num-experts 8 --tensor-model-parallel-size 2": {"experts": 8, "etp": 2, "ep": 1},
    "--num-experts 64 --moe-expert-parallel-size 8": {"ep": 8},
    "--pipeline-model-parallel-size 3": {"dp": "invalid"},
    "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 3": {"vpp": 2},
    "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 5": {"vpp": "?"},
    "--use-distributed-optimizer": {"distributed_optimizer": True, "sharding": 1, "zero": "none"},
    "--deepspeed --zero-stage=2": {"zero": 2},
    "--zero-stage 2": {"zero": "none"},
    "--micro-batch-size 4 --micro-batch-size 8": {"micro_batch": 8},
    "--micro-batch-size four": {"micro_batch": "?"},
    "--micro-batch-size $UNSET --global-batch-size 8": {"micro_batch": "?", "global_batch": 8},
    "$UNSET --bf16": {"precision": "bf16", "sequence_parallel": False},
    "$(cat more.txt) --bf16": {"precision": "?", "tp": "?", "sequence_parallel": "?", "layers": 24},
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_megatrons_arguments(arguments: str) -> None:
    job = one(f"torchrun --nproc_per_node 8 pretrain_gpt.py {SIZES} {arguments}\n")
    wanted = ARGUMENTS[arguments]
    assert values(job, *wanted) == list(wanted.values())


def test_words_that_may_hide_options_are_told_apart() -> None:
    text = f"""ARGS="{SIZES}"
if [ -d /data ]; then ARGS="$ARGS --sequence-parallel"; fi
torchrun --nproc_per_node 8 pretrain_gpt.py $ARGS --bf16
"""
    job = one(text)
    assert values(job, "sequence_parallel", "tp", "precision", "layers") == ["?", 1, "bf16", 24]
    unknown = job.value("sequence_parallel")
    assert isinstance(unknown, Unknown) and "line 2" in unknown.reason


def test_alternatives_are_listed() -> None:
    text = f"if [ -d x ]; then TP=2; else TP=4; fi\ntorchrun a.py {SIZES} --tensor-model-parallel-size $TP\n"
    unknown = one(text).value("tp")
    assert isinstance(unknown, Unknown) and unknown.alternatives == ("2", "4")


DEEPSPEED = f"""STAGE=1
CONFIG=out/ds.$SLURM_JOB_ID.json
cat <<EOT > $CONFIG
{{
  "train_batch_size": 64, // a comment
  "zero_optimization": {{"stage": $STAGE}},
  "fp16": {{"enabled": true}},
}}
EOT
torchrun --nproc_per_node 8 pretrain_gpt.py {SIZES} --deepspeed_config $CONFIG SWITCH
"""


def test_a_config_written_by_the_script_is_read() -> None:
    job = one(DEEPSPEED.replace("SWITCH", "--deepspeed"))
    assert str(job.kind) == "megatron-deepspeed-bash" and job.framework == "megatron"
    assert values(job, "zero", "global_batch", "precision") == [1, 64, "fp16=True"]
    stage = next(setting for setting in job.settings if setting.name == "zero_optimization.stage")
    assert (stage.scope, stage.values, stage.line, stage.column) == ("json", (1,), 6, 25)
    fact = next(fact for fact in job.facts if fact.name == "zero")
    assert (fact.line, fact.column) == (6, 25)


def test_a_config_that_is_switched_off_says_nothing() -> None:
    job = one(DEEPSPEED.replace("SWITCH", ""))
    assert values(job, "zero", "global_batch", "precision") == ["none", None, "fp32"]
    assert not any(setting.scope == "json" for setting in job.settings)


def test_a_template_filled_in_by_sed_is_read() -> None:
    text = f"""STAGE=2
sed "s/STAGE/$STAGE/" ds.template | sed "s/BATCH/$(nproc)/g" > ds.json
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py {SIZES} --deepspeed --deepspeed_config ds.json
"""
    template = '{"zero_optimization": {"stage": STAGE}, "train_batch_size": BATCH}'
    job = one(text, folder={"ds.template": template}.get)
    assert values(job, "zero", "global_batch") == [2, "?"]


def test_a_config_beside_the_script_is_read_once() -> None:
    files = {
        "run/job.sh": f"torchrun a.py {SIZES} --deepspeed --deepspeed_config ../conf/ds.json\n",
        "conf/ds.json": '{"zero_optimization": {"stage": 3}}',
    }
    (job,) = read_jobs(files)
    assert job.value("zero") == 3 and set(job.texts) == set(files)
    (alone,) = read_jobs({"run/job.sh": files["run/job.sh"]})
    assert isinstance(alone.value("zero"), Unknown)
    assert "is not here" in alone.unread[0].reason


def test_the_trainers_arguments_fill_in_auto() -> None:
    files = {
        "ds.json": '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
        "job.sh": "torchrun --nproc_per_node 8 train.py --deepspeed ds.json --bf16 True"
        " --per_device_train_batch_size 4 --gradient_accumulation_steps 2\n",
    }
    (job,) = read_jobs(files)
    assert str(job.kind) == "deepspeed-bash" and job.framework == "deepspeed"
    assert values(job, "micro_batch", "microbatches", "zero", "gpus") == [4, 2, 3, 8]


CONFIGS = {
    '{"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}}': ["fp16=auto+bf16=auto", 0, None],
    '{"bf16": {"enabled": true}, "fp16": {"enabled": false}}': ["bf16=True", 0, None],
    '{"bfloat16": {"enabled": true}, "train_batch_size": 5e2}': ["bf16=True", 0, 500],
    "{zero_optimization: {stage: 2,},\n# x\n train_batch_size: 8}": ["fp32", 2, 8],
    '{"train_batch_size": "auto"}': ["fp32", 0, "auto"],
}


@pytest.mark.parametrize("text", CONFIGS)
def test_deepspeed_configs_alone(text: str) -> None:
    (job,) = read_jobs({"ds.json": text})
    assert str(job.kind) == "deepspeed-json"
    assert values(job, "precision", "zero", "global_batch") == CONFIGS[text]
    assert values(job, "gpus", "nodes", "gpus_per_node") == ["?", "?", "?"]


def test_a_broken_config_is_said_with_its_place() -> None:
    (job,) = read_jobs({"ds.json": '{\n  "a": 1,\n  "b" 2\n}'})
    assert [(unread.line, unread.column) for unread in job.unread] == [(3, 7)]


def test_repeated_keys_are_kept_as_settings() -> None:
    (job,) = read_jobs({"ds.json": '{"train_batch_size": 4,\n "train_batch_size": 8}'})
    found = [setting.values[0] for setting in job.settings if setting.name == "train_batch_size"]
    assert job.value("global_batch") == 8 and sorted(map(str, found)) == ["4", "8"]


def test_several_files_are_one_job() -> None:
    files = {
        "job.sbatch": HEADER.replace("=8 #", "=1 #")
        + "source common.sh\nsrun bash $UNKNOWN_ROOT/scripts/train.sh $SLURM_NNODES\n",
        "common.sh": "export MBS=4\n",
        "scripts/train.sh": f"torchrun --nnodes $1 --nproc_per_node 4 a.py {SIZES} --micro-batch-size $MBS\n",
    }
    (job,) = read_jobs(files)
    assert str(job.kind) == "slurm+megatron" and set(job.texts) == set(files)
    assert values(job, "nodes", "gpus_per_node", "slurm_gpus_per_node", "micro_batch") == [
        4,
        4,
        8,
        4,
    ]
    places = {fact.name: (fact.path, fact.line) for fact in job.facts}
    assert places["nodes"] == ("job.sbatch", 2) and places["micro_batch"] == ("common.sh", 1)
    assert places["gpus_per_node"] == ("scripts/train.sh", 1)


def test_a_submitted_script_gets_what_it_is_given() -> None:
    files = {
        "go.sh": "export A=24 B=16\nsbatch --nodes=2 --export=A job.sh 8\n",
        "job.sh": "#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=8\nsrun python a.py --num-layers $A"
        " --hidden-size $1 --num-attention-heads ${B:-4}\n",
    }
    (job,) = read_jobs(files)
    assert values(job, "layers", "hidden", "heads", "nodes", "gpus") == [24, 8, 4, 2, 16]


def test_the_environment_and_arguments_of_the_command_line() -> None:
    text = f"torchrun --nnodes ${{NNODES:-1}} --nproc_per_node $1 a.py {SIZES} --micro-batch-size ${{2:-1}}\n"
    job = one(text, environment={"NNODES": "4"}, arguments=["8"])
    assert values(job, "nodes", "gpus", "micro_batch") == [4, 32, 1]


def test_a_script_that_launches_several_gives_several() -> None:
    text = "".join(f"torchrun a.py {SIZES} --micro-batch-size {size}\n" for size in (1, 2))
    text += "python prepare.py --input x\n"
    text += "for n in 4 8; do torchrun b.py --num-layers $n --hidden-size 8; done\n"
    assert [job.value("micro_batch") for job in read_jobs({"job.sh": text})] == [1, 2, None, None]
    assert [job.value("layers") for job in read_jobs({"job.sh": text})] == [24, 24, 4, 8]


def test_a_script_that_is_told_from_outside() -> None:
    text = '[ -z "$WORKSPACE" ] && exit 1\nif [ $# -eq 0 ]; then echo usage; exit 1; fi\nTP=1\n'
    text += f"while [ $# -gt 0 ]; do case $1 in --tp) TP=$2; shift 2;; esac; done\ntorchrun a.py {SIZES}"
    job = one(text + " --tensor-model-parallel-size $TP --micro-batch-size ${MBS:-2}\n")
    assert values(job, "layers", "tp", "micro_batch") == [24, "?", 2]


def test_scripts_without_a_job_are_still_listed() -> None:
    assert [str(job.kind) for job in read_jobs({"a.sh": "echo hello\n"})] == ["bash"]
    (header,) = read_jobs({"a.sh": "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\nmodule load x\n"})
    assert str(header.kind) == "sbatch" and values(header, "nodes", "gpus_per_node") == [2, 4]
    assert [setting.name for setting in header.settings] == ["--nodes", "--gpus-per-node"]


def test_settings_keep_the_words_of_the_file() -> None:
    text = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
    text += f'torchrun --nproc_per_node 8 a.py {SIZES} \\\n  --bf16 --split "9,1"\n'
    found = {(s.scope, s.name): s for s in one(text).settings}
    assert found["environment", "CUDA_DEVICE_MAX_CONNECTIONS"].values == ("1",)
    assert found["launcher", "--nproc_per_node"].line == 2
    split = found["argument", "--split"]
    assert (split.values, split.line, split.column, split.length) == (("9,1",), 3, 10, 7)
    assert found["argument", "--bf16"].values == ()


EXAMPLES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())


def files_of(example: str, backend: str) -> Mapping[str, str]:
    folder = GOLDEN / example
    slurm = (folder / "slurm" / name for name in (f"{backend}.sbatch", "judge.sh"))
    paths = [*folder.glob(f"{backend}/*"), *slurm]
    return {str(path.relative_to(folder)): path.read_text() for path in paths if path.is_file()}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_what_parc_writes_is_read_as_one_job(example: str, backend: str) -> None:
    files = files_of(example, backend)
    if not any(path.startswith(f"{backend}/") for path in files):
        return
    (job,) = read_jobs(files)
    assert job.framework == backend and not job.unread


GLUED = {
    'A="--bf16"; [ -d x ] && A="$A --sequence-parallel"': ["?", "bf16"],
    'A="--bf16"; [ -d x ] && A="--sequence-parallel $A"': ["?", "bf16"],
    'A="--bf16 --micro-batch-size 1"; if [ -d x ]; then A+=" --sequence-parallel"; fi': [
        "?",
        "bf16",
    ],
    'A="--bf16 --micro-batch-size "; if [ -d x ]; then A+="1 --sequence-parallel"; else A+=2; fi': [
        "?",
        "bf16",
    ],
    "A=(--bf16); [ -d x ] && A+=(--sequence-parallel --micro-batch-size 4)": ["?", "bf16"],
    'A="--bf16 --split $(cat x)/y"': [False, "bf16"],
}


@pytest.mark.parametrize("text", GLUED)
def test_what_a_branch_adds_is_not_overlooked(text: str) -> None:
    use = '"${A[@]}"' if "A=(" in text else "$A"
    job = one(f"{text}\ntorchrun a.py {SIZES} {use} --seed 1\n")
    assert values(job, "sequence_parallel", "precision") == GLUED[text]
