"""Forms of a defect that reported failures have, each beside what looks like it and is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.__main__ import main
from tests.support.linted import Captured

TRAINER = """torchrun --nproc_per_node 2 run_clm.py --output_dir out --per_device_train_batch_size 4 \\
    --learning_rate 1e-4"""
JSON = '{"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": true}}'


def said(capsys: Captured, code: str, *given: str, **files: str) -> bool:
    """Whether `parc lint .` says a code of these files; `run` is run.sh, `ds` ds.json and so on."""
    names = {"run": "run.sh", "ds": "ds.json", "toml": "train.toml", "yaml": "accelerate.yaml"}
    for name, text in files.items():
        Path(names[name]).write_bytes(text.encode())
    paths = [names[name] for name in files]
    main(["lint", *given, *paths])
    captured = capsys.readouterr()
    assert not captured.err
    return f"[{code}]" in captured.out


@pytest.mark.parametrize(
    "script, expected",
    [
        ("torchrun --nproc_per_node 4 \\ # of this node\n    train.py --lr 1\n", False),
        ("torchrun --nproc_per_node 4 \\ # of this node\n    --nnodes 1 train.py\n", True),
        ("torchrun --nproc_per_node 4 \\\n    --nnodes 1 train.py # \\ and so on\n", False),
        ('echo "a \\ # b\n    --nnodes"\ntorchrun --nproc_per_node 4 train.py\n', False),
        ("torchrun --nproc_per_node 4 \\ \n    train.py \\\n    --lr 1\n", True),
        ("torchrun --nproc_per_node 4 \\ \n    # --lr 1 \\\ntrue\n", False),
        ("torchrun --nproc_per_node 4 train.py --a \\ \necho done \\\n    --lr\n", False),
    ],
)
def test_a_comment_behind_the_backslash(script: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR802", run=script) == expected


@pytest.mark.parametrize("end, expected", [("\r\n", True), ("\n", False)])
def test_line_ends_of_a_script_without_directives(
    end: str, expected: bool, capsys: Captured
) -> None:
    script = f"#!/bin/bash{end}torchrun --nproc_per_node 4 \\{end}    train.py{end}"
    assert said(capsys, "PAR805", run=script) == expected
    if expected:
        main(["lint", "--fix", "run.sh"])
        capsys.readouterr()
        assert Path("run.sh").read_bytes() == script.replace("\r\n", "\n").encode()


@pytest.mark.parametrize(
    "text, expected",
    [
        ("A='x\r\ny'\n", False),
        ('A="${A:-x\r\n"y"}"\n', False),
        ("A=$'x\r\ny'\n", False),
        ("# it's\r\nA='x'\n", True),
        ('A="x"\r\nB="y"\n', True),
        ("#SBATCH --nodes=1\nA='x\r\ny'\n", True),
    ],
)
def test_carriage_returns_in_quotes_are_text_to_bash_and_not_to_sbatch(
    text: str, expected: bool, capsys: Captured
) -> None:
    script = f"#!/bin/bash\n{text}torchrun --nproc_per_node 4 train.py\n"
    assert said(capsys, "PAR805", run=script) == expected


HEADER = "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n"


@pytest.mark.parametrize(
    "script, expected",
    [
        (f"#!/bin/bash\nset -euo pipefail\n{HEADER}srun python train.py\n", True),
        (f"#!/bin/bash\nexport A=1\nB=2\n\n{HEADER}srun python train.py\n", True),
        (f"#!/bin/bash\npython train.py\n{HEADER}", False),
        (f"#!/bin/bash\ncat > job.sh <<E\n{HEADER}E\ntorchrun train.py\n", False),
        ("#!/bin/bash\nset -e\n#SBATCH --nodes=2\nsrun python train.py\n", False),
    ],
)
def test_a_whole_header_below_a_command(script: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR631", run=script) == expected


@pytest.mark.parametrize(
    "host, option, expected",
    [
        ("localhost", "$MASTER_ADDR:$PORT", True),
        ("localhost", "${MASTER_ADDR}:$PORT", True),
        ("localhost", "$HEAD_NODE:$PORT", False),
        ("node1", "$MASTER_ADDR:$PORT", False),
    ],
)
def test_a_host_beside_a_port_that_nobody_knows(
    host: str, option: str, expected: bool, capsys: Captured
) -> None:
    script = f"""#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
export MASTER_ADDR={host}
PORT=$((10000 + RANDOM % 20000))
srun torchrun --nnodes 2 --nproc_per_node 4 --rdzv_backend c10d --rdzv_endpoint {option} train.py
"""
    assert said(capsys, "PAR604", run=script) == expected


@pytest.mark.parametrize(
    "step, expected",
    [
        ("srun torchrun {}$(hostname):29500 train.py", False),
        ("srun torchrun {}`hostname`:29500 train.py", False),
        ("srun torchrun {}$HOSTNAME:29500 train.py", False),
        ('srun bash -c "torchrun {}$(hostname):29500 train.py"', False),
        ("srun bash -c 'torchrun {}$(hostname):29500 train.py'", True),
        ('srun bash -c "torchrun {}\\$(hostname):29500 train.py"', True),
        ("echo 'now' && srun torchrun {}$HOSTNAME:29500 train.py", False),
    ],
)
def test_a_substitution_is_of_the_shell_that_it_stands_in(
    step: str, expected: bool, capsys: Captured
) -> None:
    options = "--nnodes 2 --nproc_per_node 4 --rdzv_backend c10d --rdzv_endpoint="
    script = f"#!/bin/bash\n#SBATCH --nodes=2\n{step.format(options)}\n"
    assert said(capsys, "PAR604", run=script) == expected


@pytest.mark.parametrize(
    "batch, more, expected",
    [
        (4, "", True),
        (8, "", False),
        (8, ', "gradient_accumulation_steps": 2', True),
        (4, ', "tensor_parallel": {"autotp_size": 2}', False),
    ],
)
def test_a_batch_smaller_than_a_node(
    batch: int, more: str, expected: bool, capsys: Captured
) -> None:
    run = "deepspeed --num_gpus 8 train.py --deepspeed_config ds.json\n"
    ds = f'{{"train_batch_size": {batch}{more}, "zero_optimization": {{"stage": 2}}}}'
    assert said(capsys, "PAR205", run=run, ds=ds) == expected


@pytest.mark.parametrize("steps, expected", [(4, True), (2, False)])
def test_accumulation_of_accelerate_and_of_the_trainer(
    steps: int, expected: bool, capsys: Captured
) -> None:
    run = f"accelerate launch --config_file accelerate.yaml {TRAINER[TRAINER.index('run_clm') :]}"
    yaml = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  gradient_accumulation_steps: "
    given = f"{run} --gradient_accumulation_steps 2\n"
    more = "\n  zero_stage: 2\nnum_machines: 1\nnum_processes: 8\n"
    assert said(capsys, "PAR207", run=given, yaml=f"{yaml}{steps}{more}") == expected


@pytest.mark.parametrize(
    "options, expected",
    [("", True), (" --fp16", False), (" --fp16_full_eval", False)],
)
def test_fp16_that_the_trainer_is_not_told(options: str, expected: bool, capsys: Captured) -> None:
    run = f"{TRAINER} --deepspeed ds.json{options}\n"
    assert said(capsys, "PAR502", run=run, ds=JSON) == expected


@pytest.mark.parametrize(
    "command",
    [
        "deepspeed --num_gpus 2 train.py --deepspeed ds.json",
        f"{TRAINER} --deepspeed --deepspeed_config ds.json",
    ],
)
def test_fp16_of_a_program_that_is_no_trainer(command: str, capsys: Captured) -> None:
    assert not said(capsys, "PAR502", run=f"{command}\n", ds=JSON)


BEST = "--load_best_model_at_end"


@pytest.mark.parametrize(
    "options, expected",
    [
        (BEST, True),
        (f"{BEST} --eval_strategy steps", False),
        (f"{BEST} --eval_strategy steps --eval_steps 200", True),
        (f"{BEST} --eval_strategy steps --eval_steps 250", False),
        (f"{BEST} --eval_strategy steps --eval_steps 0.1 --save_steps 0.2", False),
        (f"{BEST} --eval_strategy epoch --save_strategy epoch", False),
        (f"{BEST} --eval_strategy epoch", True),
        (f"{BEST} --eval_strategy epoch --save_strategy best", False),
        (f"{BEST} --eval_strategy $WHEN", False),
        (f"{BEST} False", False),
        ("--save_strategy epoch", False),
    ],
)
def test_the_best_model_is_one_that_was_evaluated(
    options: str, expected: bool, capsys: Captured
) -> None:
    assert said(capsys, "PAR331", run=f"{TRAINER} {options}\n") == expected


@pytest.mark.parametrize(
    "section, expected",
    [
        ("", True),
        ("[compile]\nenable = false\n", True),
        ("[compile]\nenable = true\n", False),
    ],
)
@pytest.mark.parametrize("tp", [1, 2])
def test_overlap_that_nothing_compiles(
    tp: int, section: str, expected: bool, capsys: Captured
) -> None:
    toml = f"""[training]
local_batch_size = 8

[parallelism]
tensor_parallel_degree = {tp}
enable_async_tensor_parallel = true

{section}"""
    assert said(capsys, "PAR366", toml=toml) == (expected and tp > 1)


@pytest.mark.parametrize(
    "launcher, expected",
    [
        ("torchrun --master_port 66660 --nproc_per_node 2", True),
        ("deepspeed --master_port 70000 --num_gpus 2", True),
        ("torchrun --master_port 65535 --nproc_per_node 2", False),
        ("torchrun --standalone --master_port 66660 --nproc_per_node 2", False),
        ("torchrun --rdzv_endpoint h:2950 --master_port 66660 --nproc_per_node 2", False),
        ("torchrun --rdzv_backend c10d --master_port 66660 --nproc_per_node 2", False),
        ("torchrun --rdzv-backend=static --master_port 66660 --nproc_per_node 2", True),
        ("accelerate launch --main_process_port 70000 --rdzv_backend c10d", True),
    ],
)
def test_a_port_that_does_not_exist(launcher: str, expected: bool, capsys: Captured) -> None:
    assert said(capsys, "PAR610", run=f"{launcher} train.py\n") == expected


@pytest.mark.parametrize("release, expected", [("4.51", True), ("4.30", False)])
def test_a_renamed_key_of_a_yaml(release: str, expected: bool, capsys: Captured) -> None:
    yaml = "model_name_or_path: m\nstage: sft\noutput_dir: o\nper_device_train_batch_size: 1\n"
    given = ("--framework-version", f"transformers={release}")
    assert said(capsys, "PAR389", *given, yaml=f"{yaml}evaluation_strategy: no\n") == expected


@pytest.mark.parametrize(
    "command, expected",
    [
        ("deepspeed --include localhost:1 --num_gpus 1", True),
        ("deepspeed --include localhost:1", False),
        ("deepspeed --hostfile hosts --launcher openmpi --num_gpus 8", True),
        ("deepspeed --hostfile hosts --launcher pdsh --num_gpus 8", False),
        ("deepspeed --launcher openmpi --num_gpus 8", False),
        ("CUDA_VISIBLE_DEVICES=2,3 deepspeed --num_gpus 2", True),
        ("CUDA_VISIBLE_DEVICES=0,1,2,3 deepspeed --num_gpus 2", False),
        ("CUDA_VISIBLE_DEVICES=2,3 deepspeed", False),
        ("CUDA_VISIBLE_DEVICES=$GPUS deepspeed --num_gpus 2", False),
        ("deepspeed --num_gpus -1 --include localhost:1", False),
    ],
)
def test_gpus_of_the_deepspeed_launcher(command: str, expected: bool, capsys: Captured) -> None:
    run = f"{command} train.py --deepspeed_config ds.json\n"
    ds = '{"train_micro_batch_size_per_gpu": 1}'
    assert said(capsys, "PAR662", run=run, ds=ds) == expected


@pytest.mark.parametrize(
    "machines, processes, expected",
    [(2, 1, True), (2, 7, True), (2, 16, False), (1, 7, False), (0, 1, False)],
)
def test_processes_of_accelerate(
    machines: int, processes: int, expected: bool, capsys: Captured
) -> None:
    yaml = f"distributed_type: MULTI_GPU\nnum_machines: {machines}\nnum_processes: {processes}\n"
    assert said(capsys, "PAR663", yaml=yaml) == expected


@pytest.mark.parametrize(
    "key, options, expected",
    [
        ('"train_micro_batch_size_per_gpu": 16', "", False),
        ('"train_micro_batch_size_per_gpu": "auto"', "", False),
        ('"gradient_accumulation_steps": 4', "", True),
        ('"gradient_accumulation_steps": 1', "", False),
        ('"gradient_accumulation_steps": 4', " --gradient_accumulation_steps 4", False),
        ('"gradient_clipping": 0.5', "", True),
        ('"gradient_clipping": 0.5', " --max_grad_norm 0.5", False),
    ],
)
def test_defaults_of_the_trainer(key: str, options: str, expected: bool, capsys: Captured) -> None:
    run = TRAINER.replace("train_batch_size 4", "train_batch_size 16")
    given = f"{run} --deepspeed ds.json{options}\n"
    ds = f'{{{key}, "zero_optimization": {{"stage": 2}}}}'
    assert said(capsys, "PAR207", run=given, ds=ds) == expected
    own = given.replace("--deepspeed", "--deepspeed --deepspeed_config")
    assert not said(capsys, "PAR207", run=own, ds=ds)


@pytest.mark.parametrize("fp16, expected", [("true", True), ("false", False)])
def test_two_precisions_of_a_yaml(fp16: str, expected: bool, capsys: Captured) -> None:
    yaml = "model_name_or_path: m\nstage: sft\noutput_dir: o\nper_device_train_batch_size: 1\n"
    assert said(capsys, "PAR501", yaml=f"{yaml}bf16: true\nfp16: {fp16}\n") == expected
