"""What people bring from Terraform, YAML, Python and everyday units, with what the cures make of it."""

from __future__ import annotations

from .wrong_tries import REST

GOAL = "1T\n}}\ngoal {{ {} }}\n"


def _goal(wrong: str, cure: str) -> tuple[str, str, str]:
    return "1T\n}\n", GOAL.format(wrong), GOAL.format(cure)


def _nodes(wrong: str, cure: str) -> tuple[str, str, str]:
    return "nodes = 2", wrong, cure


#: What of the job becomes what they write -> what the cures make of that.
BORROWED_TRIES: dict[str, tuple[str, str, str]] = {
    # a brace that is missing
    "no brace before a block": ("1T\n}\n", "1T\n\n", "1T\n}\n\n"),
    "no brace after a comment": (
        "1T\n}\n",
        "1T # all of it\n# then\n",
        "1T # all of it\n}\n# then\n",
    ),
    "no brace on the line": ("nodes = 2 }", "nodes = 2", "nodes = 2 }"),
    # units
    "a rate per second twice": _nodes(
        "nodes = 2; network = 400 Gbps/s", "nodes = 2; network = 400 Gb/s"
    ),
    "small bits": _nodes("nodes = 2; network = 400gbit/s", "nodes = 2; network = 400Gb/s"),
    "per": _nodes("nodes = 2; network = 50 GB per second", "nodes = 2; network = 50 GB/s"),
    "a prefix in words": _nodes(
        "nodes = 2; node_memory = 2 terabytes", "nodes = 2; node_memory = 2 TB"
    ),
    "cores": _nodes("nodes = 2; cpu_cores = 96 cores", "nodes = 2; cpu_cores = 96"),
    "weeks": ("4 h", "1.5 weeks", "10.5 d"),
    "days in quotes": ("4 h", '"3 days"', "3 d"),
    "thousands of dollars": _goal("require cost <= $50k", "require cost <= 50 k$"),
    "grouped dollars": _goal("require cost <= $50,000", "require cost <= 50_000 $"),
    # goals
    "an objective as a setting": _goal("objective = cost", "minimize cost"),
    "a bound in the name": _goal("max_memory = 90%", "require memory <= 90%"),
    "a least value": _goal("min_mfu = 40%", "require mfu >= 40%"),
    "a budget": _goal("budget = 50 K$", "require cost <= 50 K$"),
    "a quantity as a setting": _goal("days = 30 d", "require days <= 30 d"),
    "conditions with a comma": _goal(
        "require tp <= 8, pp == 1", "require tp <= 8; require pp == 1"
    ),
    "objectives with a comma": _goal("maximize mfu, hfu", "maximize mfu; maximize hfu"),
    "dollars per hour": _nodes(
        "nodes = 2; price = 2.5 dollars per hour", "nodes = 2; price = 2.5 $/h"
    ),
    "an option as a condition": _goal(
        "require --tensor-model-parallel-size == 4", "require tp == 4"
    ),
    "a number in quotes": _goal('require zero == "3"', "require zero == 3"),
    "an implication": _goal("require tp > 4 => pp == 1", "require not (tp > 4) or pp == 1"),
    "a capital and": _goal(
        "require memory <= 90% AND pp == 1", "require memory <= 90% and pp == 1"
    ),
    "conditions in a list": (
        "1T\n}\n",
        "1T\n}\ngoal {\n  require:\n    - tp <= 8\n    - pp == 1\n}\n",
        "1T\n}\ngoal {\n  require tp <= 8\n  require pp == 1\n}\n",
    ),
    # ranges
    "a slice": _nodes("nodes = 1:8", "nodes = 1..8"),
    "a range without a start": _nodes("nodes = ..8", "nodes = 1..8"),
    "at most": _nodes("nodes <= 8", "nodes = 1..8"),
    "a range with a step": _nodes("nodes = 4..16..4", "nodes = {4, 8, 12, 16}"),
    # names with other characters
    "a cluster with a hyphen": ("cluster from", "cluster pod-2 from", "cluster pod_2 from"),
    "a cluster that begins with a digit": (
        "cluster from",
        "cluster 2nd-pod from",
        "cluster cluster_2nd_pod from",
    ),
    "a cluster in quotes": ("cluster from", 'cluster "pod 2-b" from', "cluster pod_2_b from"),
    "a constant with a hyphen": (
        "cluster from",
        "let my-n = 2\ncluster from",
        "let my_n = 2\ncluster from",
    ),
    "gpus with hyphens": (
        "cluster from dgx_h100 { nodes = 2 }",
        "gpu mine-1 from h200 { }\ngpu mine-2 from mine-1 { }\n"
        "cluster from dgx_h100 { nodes = 2; gpu = mine-2 }",
        "gpu mine_1 from h200 { }\ngpu mine_2 from mine_1 { }\n"
        "cluster from dgx_h100 { nodes = 2; gpu = mine_2 }",
    ),
    # words of other languages
    "extends": ("from llama3_8b", "extends llama3_8b", "from llama3_8b"),
    "a python import": (
        "model from llama3_8b",
        "from std import llama3_8b\nmodel from llama3_8b",
        "model from llama3_8b",
    ),
    "an import of std": (
        "model from llama3_8b",
        "import std\nmodel from llama3_8b",
        "model from llama3_8b",
    ),
    "a variable of terraform": (
        "model from llama3_8b { }\ncluster from dgx_h100 { nodes = 2 }",
        'variable "n" { default = 2 }\nmodel from llama3_8b { }\ncluster from dgx_h100 { nodes = var.n }',
        "let n = 2\nmodel from llama3_8b { }\ncluster from dgx_h100 { nodes = n }",
    ),
    "a maker in the name": _nodes('nodes = 2; gpu = "NVIDIA L40S"', "nodes = 2; gpu = std.l40s"),
    # shapes of blocks and lines
    "a document": ("model from", "---\nmodel from", "model from"),
    "a choice of nodes": _nodes("nodes in {1, 2}", "nodes = {1, 2}"),
    "a fixed value": _goal("fix tp = 8", "require tp == 8"),
    "a switch of sharding": _goal("require fsdp == true", "require zero == 3"),
    "an objective with a bound": _goal("maximize mfu >= 40%", "maximize mfu; require mfu >= 40%"),
    "watt-hours in words": _goal(
        "require energy <= 500 megawatt hours", "require energy <= 500 MWh"
    ),
    "a call of a block": (
        "launch slurm { time = 4 h }",
        "launch slurm(time=4h, job_name = x)",
        'launch slurm { time = 4h; job_name = "x" }',
    ),
    "gpus times a kind": _nodes("nodes = 2; 4 x H200", "nodes = 2; gpu = H200; gpus_per_node = 4"),
    "targets in braces": (
        "target megatron { }",
        "targets { megatron; torchtitan }",
        "target megatron { }\ntarget torchtitan { }",
    ),
    "a batch of tokens in quotes": (
        "global_batch = 512",
        'global_batch = "4Mi tokens"',
        "global_batch = 4Mi tokens",
    ),
    "checkpointing of activations": (
        f"1T\n}}\n{REST}",
        f"1T\n  gradient_checkpointing = true\n}}\n{REST}",
        f"1T\n}}\n{REST}goal {{ require recompute == full }}\n",
    ),
    # goals as they are said
    "a goal without braces": (
        "1T\n}\n",
        "1T\n}\ngoal: minimize cost\n",
        GOAL.format("minimize cost"),
    ),
    "an objective in no block": ("1T\n}\n", "1T\n}\nminimize cost\n", GOAL.format("minimize cost")),
    "subject to": _goal("maximize mfu subject to tp <= 8", "maximize mfu; require tp <= 8"),
    "where": _goal("maximize mfu, where pp == 1", "maximize mfu; require pp == 1"),
    "a bare condition": _goal("memory < 90%; pp <= 2", "require memory < 90%; require pp <= 2"),
    "a clause with a colon": _goal("require: tp <= 8", "require tp <= 8"),
    "without": _goal("require no recompute", "require recompute == none"),
    "a setting without its block": _goal(
        "require tp <= gpus_per_node", "require tp <= cluster.gpus_per_node"
    ),
    "a cost by another name": _goal("minimize training_cost", "minimize cost"),
    "a superlative": _goal("cheapest", "minimize cost"),
    "at least": _goal("maximize mfu; require mfu at least 40%", "maximize mfu; require mfu >= 40%"),
    "under": _goal("require cost under 100 k$", "require cost < 100 k$"),
    "divides": _goal("require tp divides 8", "require 8 % tp == 0"),
    "a bare choice": _goal("tp in {2, 4}", "require tp in {2, 4}"),
    "of one gpu": _goal("require memory < 70 GB per gpu", "require memory < 70 GB"),
    "a mode of sharding": _goal("require fsdp == full_shard", "require zero == 3"),
    "offload to the host": _goal("require offload == cpu", "require offload == optimizer"),
    # heads of blocks
    "a cluster times nodes": (
        "cluster from dgx_h100 { nodes = 2 }",
        "cluster c from dgx_h100 x 2",
        "cluster from dgx_h100 { nodes = 2 }",
    ),
    "settings without braces": ("h100 { nodes = 2 }", "h100 nodes=2", "h100 { nodes = 2 }"),
    "nodes times a cluster": (
        "cluster from dgx_h100 { nodes = 2 }",
        "cluster 2 x dgx_h100 { }",
        "cluster from dgx_h100 { nodes = 2 }",
    ),
    "a base called": (
        "from dgx_h100 { nodes = 2 }",
        "from dgx_h100(nodes=2) { }",
        "from dgx_h100 { nodes = 2 }",
    ),
    "a base with an equals sign": (
        "cluster from dgx_h100 {",
        "cluster c = dgx_h100 {",
        "cluster c from dgx_h100 {",
    ),
    "a base with settings": ("h100 { nodes", "h100 with { nodes", "h100 { nodes"),
    "a target on a line": ("target megatron { }", "target: megatron", "target megatron { }"),
    "two blocks on a line": ("1T\n}\ntarget", "1T\n} target", "1T\n}\ntarget"),
    "an option of the framework": (
        "target megatron { }",
        "target megatron { --num-workers 4 }",
        "target megatron { extra = { num_workers = 4 }}",
    ),
    "a version without quotes": (
        "target megatron { }",
        "target megatron { version = 0.17.0 }",
        'target megatron { version = "0.17" }',
    ),
    "links times a rate": _nodes(
        "nodes = 2; network = 8x400Gb/s", "nodes = 2; network = 8 * 400Gb/s"
    ),
    "hosts": _nodes("hosts = 2", "nodes = 2"),
    "a price per hour": _nodes("nodes = 2; price_per_hour = 2.5 $/h", "nodes = 2; price = 2.5 $/h"),
    "nodes twice": ("time = 4 h", "nodes = 2; time = 4 h", "time = 4 h"),
}

#: What the language does not have -> what is said instead.
ABSENT: dict[str, tuple[str, str, str]] = {
    "a choice": _nodes("nodes = big ? 8 : 4", "name all to choose from"),
    "if": _nodes("nodes = if big then 8 else 4", "name all to choose from"),
    "if behind the value": _nodes("nodes = 8 if big else 4", "name all to choose from"),
    "a loop": ("1T\n}\n", "1T\n}\ngoal { for n in 1..4 { require tp <= n } }\n", "no loops"),
    "an exclusive or": ("1T\n}\n", GOAL.format("require tp == 4 xor pp == 2"), "and not (a and b)"),
    "a length in days": ("1T\n}", "1T\n  duration = 10 d\n}", "goal { require days <= 10 d }"),
    "gpus by arithmetic": _nodes("gpus = 2 * 8", "a cluster has `nodes`"),
    "a condition of a condition": (
        "1T\n}\n",
        GOAL.format("require tp == 8 if pp > 1"),
        "a or not (b)",
    ),
    "an environment": ("time = 4 h", "conda = train", 'setup = ["source activate train"]'),
    "two bases": ("from llama3_8b { }", "from llama3_8b, llama3_70b { }", "keep one"),
    "an item": _nodes("nodes = sizes[0]", "no item is picked from a list"),
    "the environment": _nodes("nodes = $NODES", "parc reads no environment"),
    "the environment by name": _nodes("nodes = env.NODES", "parc reads no environment"),
    "an alias of an import": ("model from", 'import "x.par" as x\nmodel from', "keep their names"),
    "a second cluster": (
        "\nlaunch",
        "\ncluster b from dgx_h200 { }\nlaunch",
        "may have several",
    ),
    "auto": _nodes("nodes = auto", "a range `1..8` or a set"),
    "a kind of network": _nodes("nodes = 2; network = NDR400", "like `450 GB/s`"),
    "no sizes": ("from llama3_8b { }", "{ params = 8B }", "`model from std.llama3_8b { }`"),
    "a link of gpus": _nodes("nodes = 2; nvlink = 900 GB/s", "it is a setting of `gpu`"),
}
