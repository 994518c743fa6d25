"""What a newcomer writes in place of a job, with what the cures make of it, and what is right as it is."""

from __future__ import annotations

SIZES = """
  seq_len = 8192
  global_batch = 512
  tokens = 1T"""
TRAIN = f"train {{{SIZES}\n}}"
REST = "target megatron { }\nlaunch slurm { time = 4 h }\n"
JOB = f"""\
model from llama3_8b {{ }}
cluster from dgx_h100 {{ nodes = 2 }}
{TRAIN}
{REST}"""

#: What of the job becomes what a newcomer writes -> what the cures make of that.
TRIES: dict[str, tuple[str, str, str]] = {
    # names of hardware and models
    "a gpu with hyphens": (
        "nodes = 2",
        "nodes = 2; gpu = A100-80GB",
        "nodes = 2; gpu = std.a100_80",
    ),
    "a count of gpus": ("nodes = 2", "gpu = 8*H100", "gpu = std.h100_sxm; gpus_per_node = 8"),
    "a count with x": ("nodes = 2", "gpu = 4xH200", "gpu = std.h200; gpus_per_node = 4"),
    "all gpus": ("nodes = 2", "gpus = 64", "nodes = 8"),
    "an instance": ("from dgx_h100", "from p5.48xlarge", 'from "p5.48xlarge"'),
    "a hub's name": (
        "from llama3_8b",
        "from meta-llama/Llama-3.1-8B",
        'from "meta-llama/Llama-3.1-8B"',
    ),
    "a name without from": (
        "model from llama3_8b",
        "model llama3_8b",
        "model llama3_8b from std.llama3_8b",
    ),
    "one letter off": ("from llama3_8b", "from lama3_8b", "from std.llama3_8b"),
    "model with equals": (
        "model from llama3_8b { }",
        "model = llama3_8b",
        "model from llama3_8b { }",
    ),
    "a block with equals": (
        "cluster from dgx_h100 {",
        "cluster = dgx_h100 {",
        "cluster from dgx_h100 {",
    ),
    "a framework's full name": ("target megatron", "target megatron_lm", "target megatron"),
    "a capital": ("target megatron", "target Megatron", "target megatron"),
    "target with equals": ("target megatron { }", "target = megatron", "target megatron { }"),
    "no launcher": ("launch slurm", "launch", "launch slurm"),
    "another word for a block": ("train {", "training {", "train {"),
    # units
    "bits per second": (
        "nodes = 2",
        "nodes = 2; network = 400 Gbps",
        "nodes = 2; network = 400 Gb/s",
    ),
    "billions": ("1T", "2B", "2G"),
    "billions of tokens": ("1T", "2B tokens", "2G tokens"),
    "a trillion": ("1T", "1 trillion", "1 T"),
    "minutes": ("4 h", "30 minutes", "30 min"),
    "a clock": ("4 h", "48:00:00", "48 h"),
    "a clock with days": ("4 h", "1-12:30:00", "2190 min"),
    "a clock in quotes": ("4 h", '"48:00:00"', "48 h"),
    "dollars first": ("nodes = 2", "nodes = 2; price = $2.5/h", "nodes = 2; price = 2.5 $/h"),
    "a bare price": ("nodes = 2", "nodes = 2; price = 2.5", "nodes = 2; price = 2.5 $/h"),
    "USD": ("nodes = 2", "nodes = 2; price = 2.5 USD/h", "nodes = 2; price = 2.5 $/h"),
    "thousands": ("512", "1,024", "1_024"),
    "no zero before the point": ("1T", "1T; weight_decay = .1", "1T; weight_decay = 0.1"),
    "a power": ("512", "2^9", "2**9"),
    "a range with a hyphen": ("nodes = 2", "nodes = 2-4", "nodes = 2..4"),
    # values
    "yes": ("1T", "1T; compile = yes", "1T; compile = true"),
    "True": ("1T", "1T; compile = True", "1T; compile = true"),
    "off": ("1T", '1T; compile = "off"', "1T; compile = false"),
    "bfloat16": ("1T", "1T; precision = bfloat16", "1T; precision = bf16"),
    "a whole version": (
        "target megatron { }",
        'target megatron { version = "0.19.2" }',
        'target megatron { version = "0.19" }',
    ),
    "BF16": ("1T", "1T; precision = BF16", "1T; precision = bf16"),
    "adamw": ("1T", "1T; optimizer = AdamW", "1T; optimizer = adam"),
    "a word for text": ("time = 4 h", "partition = gpu", 'partition = "gpu"'),
    "single quotes": ("time = 4 h", "partition = 'gpu'", 'partition = "gpu"'),
    "a path": ("megatron { }", "megatron { data = /data/c4 }", 'megatron { data = "/data/c4" }'),
    "one text for a list": ("time = 4 h", 'modules = "cuda/12"', 'modules = ["cuda/12"]'),
    # settings
    "seq_length": ("seq_len =", "seq_length =", "seq_len ="),
    "batch_size": ("global_batch =", "batch_size =", "global_batch ="),
    "lr": ("1T", "1T; lr = 1e-4", "1T; learning_rate = 1e-4"),
    "max_steps": ("tokens = 1T", "max_steps = 1000", "steps = 1000"),
    "epochs": ("  tokens = 1T\n", "  tokens = 1T\n  epochs = 3\n", "  tokens = 1T\n"),
    "lora_rank": ("  tokens = 1T\n", "  tokens = 1T\n  lora_rank = 16\n", "  tokens = 1T\n"),
    "num_nodes": ("nodes = 2", "num_nodes = 2", "nodes = 2"),
    "hidden_size": (
        "llama3_8b { }",
        "llama3_8b { vocab_size = 128256 }",
        "llama3_8b { vocab = 128256 }",
    ),
    "walltime": ("time =", "walltime =", "time ="),
    "tensor_parallel": (
        "target megatron { }\n",
        "target megatron { tensor_parallel = 8 }\ngoal {\n  maximize mfu\n}\n",
        "target megatron { }\ngoal {\n  require tp == 8\n  maximize mfu\n}\n",
    ),
    "tp in train": (
        "  tokens = 1T\n}\n",
        "  tokens = 1T\n  tp = 4\n}\ngoal { maximize mfu }\n",
        "  tokens = 1T\n}\ngoal { require tp == 4; maximize mfu }\n",
    ),
    "two decisions without a goal": (
        "megatron { }\nlaunch slurm { time = 4 h }\n",
        "megatron { tp = 4; pp = 2 }\nlaunch slurm { time = 4 h }\n",
        "megatron { }\nlaunch slurm { time = 4 h }\ngoal { require pp == 2; require tp == 4 }\n",
    ),
    # goals
    "a setting in the goal": (
        "1T\n}\n",
        "1T\n}\ngoal { tp = 8 }\n",
        "1T\n}\ngoal { require tp == 8 }\n",
    ),
    "one equals sign": (
        "1T\n}\n",
        "1T\n}\ngoal { require tp = 8 }\n",
        "1T\n}\ngoal { require tp == 8 }\n",
    ),
    "throughput": (
        "1T\n}\n",
        "1T\n}\ngoal { maximize throughput }\n",
        "1T\n}\ngoal { maximize tokens_per_second }\n",
    ),
    "an objective with equals": (
        "1T\n}\n",
        "1T\n}\ngoal { maximize = mfu }\n",
        "1T\n}\ngoal { maximize mfu }\n",
    ),
    "ampersands": (
        "1T\n}\n",
        "1T\n}\ngoal { require tp <= 8 && pp <= 2 }\n",
        "1T\n}\ngoal { require tp <= 8 and pp <= 2 }\n",
    ),
    "a degree's long name": (
        "1T\n}\n",
        "1T\n}\ngoal { require tensor_parallel <= 8 }\n",
        "1T\n}\ngoal { require tp <= 8 }\n",
    ),
    # habits of other languages
    "a colon": ("nodes = 2", "nodes: 2", "nodes = 2"),
    "colons": (
        "seq_len = 8192\n  global_batch =",
        "seq_len: 8192\n  global_batch:",
        "seq_len = 8192\n  global_batch =",
    ),
    "a colon before the brace": ("train {", "train: {", "train {"),
    "a block of YAML": (
        TRAIN,
        "train:" + SIZES.replace(" =", ":"),
        TRAIN,
    ),
    "indentation alone": (
        TRAIN,
        f"train{SIZES}",
        TRAIN,
    ),
    "a section of TOML": (
        f"{TRAIN}\n{REST}",
        f"{REST}[train]{SIZES}\n",
        f"{REST}{TRAIN}\n",
    ),
    "the brace on its own line": ("train {", "train\n{", "train {"),
    "no braces": ("target megatron { }", "target megatron", "target megatron { }"),
    "commas": (
        "8192\n  global_batch = 512\n",
        "8192,\n  global_batch = 512,\n",
        "8192\n  global_batch = 512\n",
    ),
    "commas on one line": ("time = 4 h", "time = 4 h, requeue = 1", "time = 4 h; requeue = 1"),
    "no semicolon": ("nodes = 2", "nodes = 2 gpu = H200", "nodes = 2; gpu = H200"),
    "no equals sign": ("seq_len = 8192", "seq_len 8192", "seq_len = 8192"),
    "two equals signs": ("seq_len = 8192", "seq_len == 8192", "seq_len = 8192"),
    "a comment of C": ("512\n", "512  // sequences of a step\n", "512  # sequences of a step\n"),
    "a line of C's comments": (
        "train {\n",
        "// how it is trained\ntrain {\n",
        "# how it is trained\ntrain {\n",
    ),
    "the last brace": ("4 h }\n", "4 h\n", "4 h\n}\n"),
}

#: What a newcomer writes and what is right.
RIGHT = {
    "a gpu without std.": ("nodes = 2", "nodes = 2; gpu = a100_40"),
    "a gpu's usual name": ("nodes = 2", "nodes = 2; gpu = H100"),
    "a gpu in quotes": ("nodes = 2", 'nodes = 2; gpu = "A100-80GB"'),
    "a gaming card": ("nodes = 2", "nodes = 2; gpu = rtx4090"),
    "a gaming card in quotes": ("nodes = 2", 'nodes = 2; gpu = "RTX 4090"'),
    "an instance": ("from dgx_h100", "from p5_48xlarge"),
    "an instance in quotes": ("from dgx_h100", 'from "p5.48xlarge"'),
    "a hub's name": ("from llama3_8b", 'from "meta-llama/Llama-3.1-8B"'),
    "a comment": ("train {", "train { # how"),
    "a small number": ("1T", "1T; learning_rate = 1e-4"),
    "a long number": ("1T", "1e12"),
}


def changed(before: str, after: str) -> str:
    assert JOB.count(before) == 1
    return JOB.replace(before, after)
