"""parc measure without a cluster: known numbers come back out of rows, and what is broken is named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import parc
from parc.__main__ import main
from parc.calibrate.probe.in_training import BIASES
from parc.calibrate.probe.outliers import group_members
from parc.calibrate.probe.program.machine import FORMAT
from parc.dsl import std_cluster, std_gpu
from tests.support.ran import Ran
from tests.support.simulated_probe import TRUE, dgx, machine, record, rows, write

JOB = """
import "site.par"
model m from std.llama3_8b {}
cluster c from site { nodes = 4 }
train { seq_len = 4096; global_batch = 256; steps = 100 }
target megatron { data = synthetic }
"""


Measure = Callable[..., Ran]
#: What is believed of the numbers in training: all are too far from the library's for chance.
BELIEVED = {
    name: value * (BIASES[name].ratio if name in BIASES else 1.0) for name, value in TRUE.items()
}


def test_known_numbers_come_back_and_a_job_takes_them(measure: Measure) -> None:
    record(Path("rows.jsonl"))
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 0, ran.err
    Path("job.par").write_text(JOB)
    cluster = parc.load("job.par").cluster
    found = {name: getattr(cluster.gpu, name, None) or getattr(cluster, name) for name in TRUE}
    assert found == pytest.approx(BELIEVED, rel=0.02)
    assert cluster.gpu.memory == std_gpu("h100_sxm").memory, "the rest is the library's"
    assert (cluster.node_memory, cluster.cpu_cores) == (2**41, 112)
    assert main(["plan", "job.par"]) == 0
    assert main(["fmt", "--check", "site.par"]) == 0, "formatting a folder does not edit it"
    latency = next(line for line in ran.out.splitlines() if "  nvlink_latency" in line)
    assert latency.split()[2] == "us", "numbers have their units"


def test_the_report_counts_cases_and_says_what_is_not_told(measure: Measure) -> None:
    record(Path("rows.jsonl"), nodes=1)
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 0 and "16" not in ran.out.splitlines()[0]
    assert (
        "One node was probed" in ran.out and "One node was probed" in Path("site.par").read_text()
    )
    assert "network_efficiency" in ran.out.split("left as they were: ")[1].splitlines()[0]
    site = json.loads(measure("--rows", "rows.jsonl", "--json").out)
    assert site["cluster"]["entry"] == "dgx_h100" and not site["written"]
    assert {"network_efficiency", "network_latency"} <= set(site["untold"])
    told = {each["name"]: each for each in site["numbers"]}
    assert (
        told["matmul_efficiency"]["cases"] > 20 and 0 < told["matmul_efficiency"]["spread"] < 0.05
    )


def test_half_of_the_cases_tell_nearly_the_same(measure: Measure) -> None:
    cluster = dgx(**TRUE)
    all_rows = rows(cluster, 2)
    write(Path("rows.jsonl"), [machine(cluster, 2), *all_rows[: len(all_rows) // 3]])
    ran = measure("--rows", "rows.jsonl", "--json")
    found = {each["name"]: each["value"] for each in ran.json["numbers"]}
    expected = BELIEVED
    assert {name: found[name] for name in TRUE} == pytest.approx(expected, rel=0.05)


def test_the_fastest_kernel_of_attention_is_the_level(measure: Measure) -> None:
    """FlashAttention-2 is 0.41 of the fastest on an H100 (the compiler's table)."""
    record(Path("rows.jsonl"), nodes=1)
    paces = measure("--rows", "rows.jsonl", "--json").json["attention"]
    assert paces["torch:cudnn"] == pytest.approx(1.0, rel=0.02)
    assert paces["torch:fa2"] > 1.7


def test_a_gpu_that_the_library_lacks_is_written_whole(measure: Measure) -> None:
    cluster = dgx(**TRUE)
    unknown = machine(cluster, 2, name="NVIDIA X9", arch="sm190", sms=200)
    write(Path("rows.jsonl"), [unknown, *rows(cluster, 2)])
    assert measure("--rows", "rows.jsonl").code == 0
    text = Path("site.par").read_text()
    assert "from std." not in text
    Path("job.par").write_text(JOB)
    gpu = parc.load("job.par").cluster.gpu
    assert gpu.bf16 and cluster.gpu.bf16
    reached = BELIEVED["matmul_efficiency"] * cluster.gpu.bf16
    assert gpu.bf16 * gpu.matmul_efficiency == pytest.approx(reached, rel=0.05)
    streamed = BELIEVED["memory_efficiency"] * cluster.gpu.memory_bandwidth
    assert gpu.memory_bandwidth * gpu.memory_efficiency == pytest.approx(streamed, rel=0.05)
    assert main(["plan", "job.par"]) == 0


def test_of_an_unknown_gpu_whose_rate_is_not_measured_nothing_is_told(measure: Measure) -> None:
    cluster = dgx(**TRUE)
    unknown = machine(cluster, 2, name="NVIDIA X9", arch="sm190", sms=200)
    begun = [row for row in rows(cluster, 2) if row.get("dtype") not in ("bf16", "fp16")]
    write(Path("rows.jsonl"), [unknown, *begun])
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 2 and "rows tells of the cluster" in ran.err


def test_of_one_node_the_network_is_marked_as_not_measured(measure: Measure) -> None:
    cluster = dgx(**TRUE)
    unknown = machine(cluster, 1, name="NVIDIA X9", arch="sm190")
    write(Path("rows.jsonl"), [unknown, *rows(cluster, 1)])
    assert measure("--rows", "rows.jsonl").code == 0
    (line,) = (
        line for line in Path("site.par").read_text().splitlines() if line.startswith("  network ")
    )
    assert "not measured" in line
    assert measure("--rows", "rows.jsonl").out.count("One node was probed") == 1


def test_more_than_the_published_peak_is_written_as_a_higher_one(measure: Measure) -> None:
    cluster = dgx(**{**TRUE, "memory_efficiency": 1.25})
    write(Path("rows.jsonl"), [machine(cluster, 1), *rows(cluster, 1)])
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 1 and "PAR787" in ran.err and "memory_efficiency" in ran.err
    Path("job.par").write_text(JOB)
    gpu = parc.load("job.par").cluster.gpu
    assert gpu.memory_efficiency == BIASES["memory_efficiency"].ratio
    assert gpu.memory_bandwidth == pytest.approx(1.25 * cluster.gpu.memory_bandwidth, rel=0.02)


def test_a_slow_gpu_is_named(measure: Measure) -> None:
    def slower(case: dict[str, Any], rank: int) -> float:
        return 1.3 if rank == 11 and case["kind"] == "product" else 1.0

    record(Path("rows.jsonl"), slower=slower)
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 1 and ran.err.count("warning") == 1
    assert "GPU 3 of `n2` takes 1.30 times as long as its peers for matrix products" in ran.err
    assert Path("site.par").exists()


def test_a_slow_link_is_named_once(measure: Measure) -> None:
    """The pair of GPUs 4 and 5 of n1, and every larger group that holds both."""

    def slower(case: dict[str, Any], rank: int) -> float:
        if case["kind"] != "collective":
            return 1.0
        groups = group_members(16, case["size"], case["stride"])
        return 2.0 if any({4, 5} <= set(each) and rank in each for each in groups) else 1.0

    record(Path("rows.jsonl"), slower=slower)
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 1 and ran.err.count("warning") == 1
    assert "GPUs 4 of `n1`, 5 of `n1` exchange 2.0" in ran.err


def test_what_noise_would_do_is_not_called_slow(measure: Measure) -> None:
    """Batches of one rank that differ as much as ranks do tell nothing."""
    cluster = dgx(**TRUE)
    noisy = [
        {**row, "spread": 0.2} for row in rows(cluster, 1, lambda case, rank: 1 + 0.3 * (rank == 3))
    ]
    write(Path("rows.jsonl"), [machine(cluster, 1), *noisy])
    assert measure("--rows", "rows.jsonl").err == ""
    write(Path("rows.jsonl"), [machine(cluster, 1), *({**row, "spread": 0.05} for row in noisy)])
    assert "GPU 3 of `n1` takes 1.3" in measure("--rows", "rows.jsonl").err


BROKEN = {
    "missing": (None, "PAR780"),
    "empty": ("", "PAR780"),
    "no JSON": ("hello\n", "PAR781"),
    "no object": ("[1]\n", "PAR781"),
    "no machine": ('{"kind": "launch", "seconds": [1e-6]}\n', "PAR781"),
    "unknown kind": ('{"kind": "other"}\n', "PAR781"),
    "not a number": ('{"kind": "launch", "seconds": ["x"]}\n', "PAR781"),
    "NaN": ('{"kind": "launch", "seconds": [NaN]}\n', "PAR781"),
    "negative": ('{"kind": "launch", "seconds": [-1.0]}\n', "PAR781"),
    "deep": ("[" * 100_000 + "\n", "PAR781"),
    "binary": ("\x00\ufffd\n", "PAR781"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_rows_that_cannot_be_used_are_named(measure: Measure, what: str) -> None:
    text, code = BROKEN[what]
    if text is not None:
        Path("rows.jsonl").write_text(text)
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 2 and code in ran.err and "rows.jsonl" in ran.err and "help" in ran.err
    assert not Path("site.par").exists()


def test_no_rows_that_are_refused_replace_what_is_known(measure: Measure) -> None:
    """Broken ones, those of two machines, of another format, and those that tell nothing."""
    record(Path("rows.jsonl"), nodes=1)
    assert measure("--rows", "rows.jsonl").code == 0
    before = Path("site.par").read_bytes()
    one, other = machine(dgx(), 1), machine(dgx(), 2)
    failed = {"kind": "launch", "failed": "rank 0: out of memory"}
    foreign = ([one, other], [{**one, "format": FORMAT + 1}], [one, failed])
    texts = [text for text, _ in BROKEN.values() if text is not None]
    texts += ["".join(f"{json.dumps(line)}\n" for line in lines) for lines in foreign]
    for text in texts:
        Path("rows.jsonl").write_text(text)
        ran = measure("--rows", "rows.jsonl")
        assert ran.code == 2 and "error[PAR78" in ran.err, text[:80]
        assert Path("site.par").read_bytes() == before


def test_a_line_that_was_cut_is_left_out_and_one_in_the_middle_is_named(measure: Measure) -> None:
    record(Path("rows.jsonl"), nodes=1)
    text = Path("rows.jsonl").read_text()
    Path("rows.jsonl").write_text(text[:-40])
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 0 and "info[PAR781]: the last line was cut, and is left out" in ran.err
    assert f"rows.jsonl:{text.count(chr(10))}:1" in ran.err
    lines = text.splitlines(keepends=True)
    lines[3] = lines[3][:30] + "\n"
    Path("rows.jsonl").write_text("".join(lines))
    before = Path("site.par").read_text()
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 2 and "rows.jsonl:4:1" in ran.err and "take the line out" in ran.err
    assert Path("site.par").read_text() == before


def test_rows_of_another_machine_or_release_are_refused(measure: Measure) -> None:
    cluster = dgx(**TRUE)
    one, other = machine(cluster, 1), machine(cluster, 2)
    write(Path("rows.jsonl"), [one, *rows(cluster, 1)[:9], other])
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 2 and "PAR782" in ran.err and "8 x NVIDIA H100" in ran.err
    write(Path("rows.jsonl"), [{**one, "format": FORMAT + 1}])
    assert "PAR782" in measure("--rows", "rows.jsonl").err


def test_rows_that_contradict_each_other_are_named_and_nothing_is_written(measure: Measure) -> None:
    """Two starts of the probe may time a case twice, but not at twice the time."""
    cluster = dgx(**TRUE)
    timed = rows(cluster, 1)
    again = {**timed[2], "seconds": [1.1 * each for each in timed[2]["seconds"] if each]}
    write(Path("rows.jsonl"), [machine(cluster, 1), *timed, again])
    assert measure("--rows", "rows.jsonl").code == 0
    before = Path("site.par").read_text()
    doubled = {**again, "seconds": [2 * each for each in again["seconds"]]}
    write(Path("rows.jsonl"), [machine(cluster, 1), *timed, doubled])
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 2 and "PAR788" in ran.err and "in line 4" in ran.err
    assert Path("site.par").read_text() == before


def test_rows_that_tell_nothing_write_nothing(measure: Measure) -> None:
    failed = {"kind": "launch", "failed": "rank 0: out of memory"}
    write(Path("rows.jsonl"), [machine(dgx(), 1), failed])
    ran = measure("--rows", "rows.jsonl")
    assert ran.code == 2 and "PAR784" in ran.err and "out of memory" in ran.err
    assert not Path("site.par").exists()


def test_a_file_of_someone_else_is_kept(measure: Measure) -> None:
    record(Path("rows.jsonl"), nodes=1)
    Path("site.par").write_text("gpu mine {}\n")
    assert measure("--rows", "rows.jsonl").code == 2
    assert Path("site.par").read_text() == "gpu mine {}\n"
    assert measure("--rows", "rows.jsonl", "--force").code == 0
    assert measure("--rows", "rows.jsonl").code == 0, "what parc wrote it may replace"
    Path("site.sbatch").write_text("#!/bin/sh\n")
    ran = measure("--nodes", "2", "--gpus-per-node", "8")
    assert ran.code == 2 and "site.sbatch" in ran.err and not Path("site.probe.py").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--nodes", "2"], "--gpus-per-node"),
        (["--gpus-per-node", "8"], "--nodes"),
        (["--procs", "2"], "--cpu"),
        (["--rows", "a", "--python", "b"], "--python"),
        (["--rows", "a", "--nodes", "2"], "not allowed"),
        (["--minutes", "0"], "minutes"),
        (["--minutes", "nan"], "minutes"),
        (["--nodes", "0"], "whole number"),
    ],
)
def test_options_that_do_not_go_together(measure: Measure, arguments: list[str], says: str) -> None:
    ran = measure(*arguments)
    assert ran.code == 2 and says in ran.err
    assert not list(Path().iterdir())


def test_a_python_without_pytorch_is_named(measure: Measure, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    bare.chmod(0o755)
    ran = measure("--cpu", "--python", str(bare))
    assert ran.code == 2 and "PAR783" in ran.err and "no PyTorch" in ran.err
    ran = measure("--cpu", "--python", "./nowhere")
    assert ran.code == 2 and "`./nowhere` cannot be started" in ran.err
    assert not Path("site.par").exists()


def test_the_batch_files_stand_alone(measure: Measure) -> None:
    ran = measure("--nodes", "3", "--gpus-per-node", "4", "--minutes", "2", output="my site.par")
    assert ran.code == 0 and '\n  sbatch "my site.sbatch"\n' in ran.out
    assert ran.out.endswith('measure --rows "my site.rows.jsonl" -o "my site.par"\n')
    script, program = Path("my site.sbatch"), Path("my site.probe.py")
    assert subprocess.run(["bash", "-n", script]).returncode == 0
    text = script.read_text()
    assert "#SBATCH --nodes=3\n" in text and "#SBATCH --gpus-per-node=4\n" in text
    assert "#SBATCH --time=0-00:12:00\n" in text and '"my site.probe.py"' in text
    told = subprocess.run([sys.executable, "-I", program, "-h"], capture_output=True, text=True)
    assert told.returncode == 0 and "--minutes" in told.stdout
    first = measure("--nodes", "3", "--gpus-per-node", "4", "--minutes", "2", output="my site.par")
    assert first.code == 0 and script.read_text() == text


def test_the_batch_script_passes_shellcheck(measure: Measure) -> None:
    measure("--nodes", "2", "--gpus-per-node", "8")
    told = subprocess.run(["shellcheck", "site.sbatch"], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout


def test_a_cluster_of_the_library_is_found_by_what_the_driver_says(measure: Measure) -> None:
    names = {
        "h100_sxm": "NVIDIA H100 80GB HBM3",
        "a100_80": "NVIDIA A100-SXM4-80GB",
        "a100_pcie_80": "NVIDIA A100 80GB PCIe",
        "a800": "NVIDIA A800-SXM4-80GB",
        "h200": "NVIDIA H200",
        "h800": "NVIDIA H800",
        "b200": "NVIDIA B200",
        "gb200": "NVIDIA GB200",
        "mi300x": "AMD Instinct MI300X OAM",
    }
    for entry, name in names.items():
        cluster = std_cluster("dgx_h100").model_copy(update={"gpu": std_gpu(entry)})
        launch = {"kind": "launch", "seconds": [5e-6] * 8}
        write(Path("rows.jsonl"), [machine(cluster, 1, name=name), launch])
        assert measure("--rows", "rows.jsonl", "--json").json["gpu"]["entry"] == entry
