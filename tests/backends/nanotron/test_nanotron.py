"""nanotron's YAML, alone and named by a command."""

from __future__ import annotations

import pytest

from benchmarks.lint.mutations.nanotron import JOBS, PATH, SCRIPT
from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge
from parc.reading.facts import Unknown

FILES = dict(JOBS["llama"])
FACTS = {
    "tp": 4, "pp": 2, "cp": 1, "ep": 1, "dp": 2, "zero": 1, "micro_batch": 2, "microbatches": 8,
    "global_batch": 32, "seq_len": 4096, "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8,
    "precision": "bf16", "order": "1f1b",
}  # fmt: skip


def _facts(files: dict[str, str]) -> dict[str, object]:
    (config,) = read_jobs(files)
    return {fact.name: fact.value for fact in config.facts}


def test_what_a_file_says() -> None:
    assert _facts({PATH: FILES[PATH]}) == FACTS


def test_what_a_command_and_its_file_say() -> None:
    found = _facts(FILES)
    assert found == FACTS | {"nodes": 2, "gpus_per_node": 8, "gpus": 16}


@pytest.mark.parametrize(
    "old, new, fact, value",
    [
        ("    num_key_value_heads: 8\n", "", "kv_heads", 32),
        ("num_key_value_heads", "num_kv_heads", "kv_heads", 8),
        ("pp_engine: 1f1b", "pp_engine: afab", "order", "gpipe"),
        ("  tp: 4\n", "  tp: 4\n  recompute_layer: true\n", "recompute", "full"),
        ("    hidden_size: 4096\n", "    moe_config: {num_experts: 8}\n", "experts", 8),
    ],
)
def test_other_words(old: str, new: str, fact: str, value: object) -> None:
    assert _facts({PATH: FILES[PATH].replace(old, new)})[fact] == value


@pytest.mark.parametrize("key", ["tp: 4", "micro_batch_size: 2"])
def test_what_is_no_number_is_unknown(key: str) -> None:
    name = key.partition(":")[0]
    found = _facts({PATH: FILES[PATH].replace(key, f"{name}: many")})
    assert isinstance(found["tp" if name == "tp" else "global_batch"], Unknown)


@pytest.mark.parametrize("steps, severity", [(1, "error"), (6, "error"), (7, "warning"), (8, None)])
def test_the_pipeline_asserts_micro_batches(steps: int, severity: str | None) -> None:
    """`at least PP_SIZE-1`, in 1F1B."""
    text = FILES[PATH].replace("  pp: 2", "  pp: 8").replace("replica: 8", f"replica: {steps}")
    options = LintOptions(select=("PAR204",))
    found = [
        each.severity for job in judge(read_jobs({PATH: text}), options) for each in job.findings
    ]
    assert found == ([severity] if severity else [])


def test_another_file_behind_the_option() -> None:
    found = read_jobs({SCRIPT: FILES[SCRIPT], PATH: "a: 1\n"})
    assert found and all(config.kind.program != "nanotron" for config in found)
