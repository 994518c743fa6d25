"""`parc init --detect`, with stand-ins on PATH that print what the real tools print."""

from __future__ import annotations

from pathlib import Path

import pytest

import parc
from parc.__main__ import main

H100 = "NVIDIA H100 80GB HBM3, 81559\n" * 8
LINKED = "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n"
BRIDGED = "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"


def node(name: str, gres: str, state: str = "IDLE", partitions: str = "gpu") -> str:
    return (
        f"NodeName={name} Arch=x86_64 CoresPerSocket=56 CPUTot=112 AvailableFeatures=(null) "
        f"Gres={gres} NodeAddr={name} NodeHostName={name} RealMemory=2063000 State={state} "
        f"Partitions={partitions} BootTime=2026-11-01T10:00:00\n"
    )


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm" / "slurm.conf"))


def stand_in(name: str, **answers: str) -> None:
    """A program that prints a text by a word of its arguments, and fails for others."""
    cases = []
    for word, text in answers.items():
        Path(f"bin/{name}.{word}").write_text(text)
        cases.append(f'*{word}*) cat "$(dirname "$0")/{name}.{word}" ;;')
    script = Path("bin", name)
    script.write_text('#!/bin/sh\ncase "$*" in ' + " ".join(cases) + " *) exit 1 ;; esac\n")
    script.chmod(0o755)


def detected() -> str:
    assert main(["init", "--model", "llama3_8b", "--detect", "-o", "job.par"]) == 0
    return Path("job.par").read_text()


def test_gpus_of_this_machine() -> None:
    stand_in("nvidia-smi", query=H100, topo=LINKED)
    text = detected()
    assert "# 8 x NVIDIA H100 80GB HBM3, says nvidia-smi\n" in text
    cluster = parc.load("job.par").cluster
    assert (cluster.gpu.name, cluster.nodes, cluster.gpus_per_node) == ("h100_sxm", (1,), 8)
    assert parc.load("job.par").launch is None


def test_cards_without_links_are_remarked() -> None:
    stand_in("nvidia-smi", query="NVIDIA A100-PCIE-40GB, 40960\n" * 2, topo=BRIDGED)
    assert "says nvidia-smi; its topology has no NVLink between them\n" in detected()
    cluster = parc.load("job.par").cluster
    assert (cluster.gpu.name, cluster.gpus_per_node) == ("a100_pcie_40", 2)


def test_the_largest_group_of_nodes_that_run() -> None:
    nodes = "".join(node(f"g{n}", "gpu:h100:8(S:0-1)", "IDLE", "debug,train") for n in range(4))
    nodes += node("g9", "gpu:h100:8(S:0-1)", "DOWN*+DRAIN") + node("cpu1", "(null)")
    nodes += "".join(node(f"a{n}", "gpu:nvidia_a100-sxm4-80gb:4", "MIXED") for n in range(5))
    nodes += node("g8", "gpu:h100:8(S:0-1)", "ALLOCATED", "train")
    stand_in("scontrol", nodes=nodes)
    assert "# 5 nodes of 8 x h100, says scontrol\n" in detected()
    job = parc.load("job.par")
    assert (job.cluster.gpu.name, job.cluster.nodes) == ("h100_sxm", (5,))
    assert job.launch is not None and job.slurm.partition == "train"


def test_nodes_of_four_by_a_drivers_name() -> None:
    stand_in("scontrol", nodes=node("a1", "gpu:nvidia_a100-sxm4-80gb:4") * 2)
    detected()
    cluster = parc.load("job.par").cluster
    assert (cluster.gpu.name, cluster.nodes, cluster.gpus_per_node) == ("a100_80", (2,), 4)


def test_a_type_that_slurm_leaves_out_is_that_of_this_machine() -> None:
    stand_in("scontrol", nodes=node("g1", "gpu:8") * 3)
    stand_in("nvidia-smi", query="NVIDIA H200, 143771\n" * 8)
    detected()
    cluster = parc.load("job.par").cluster
    assert (cluster.gpu.name, cluster.nodes) == ("h200", (3,))


TREE = """SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=g[01-16]
SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=g[17-30,32],login
SwitchName=spine Level=1 LinkSpeed=1 Nodes=g[01-30,32],login Switches=leaf[1-2]
"""


@pytest.mark.parametrize("from_file", [True, False])
def test_leaf_switches_are_remarked(from_file: bool) -> None:
    answers = {} if from_file else {"topology": TREE}
    stand_in("scontrol", nodes=node("g1", "gpu:h100:8") * 2, **answers)
    Path("slurm").mkdir()
    Path("slurm/topology.conf").write_text(TREE if from_file else "")
    assert "says scontrol; its leaf switches join 16 nodes: `pod_gpus` and" in detected()


@pytest.mark.parametrize("said", ["", "No devices were found\n", "Failed to initialize NVML\n"])
def test_nothing_there_is_told(said: str, capsys: pytest.CaptureFixture[str]) -> None:
    stand_in("nvidia-smi", query=said)
    assert main(["init", "--model", "llama3_8b", "--detect", "-o", "job.par"]) == 2
    assert "error[PAR169]" in capsys.readouterr().err and not Path("job.par").exists()


def test_nodes_without_a_type_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    stand_in("scontrol", nodes=node("g1", "gpu:8") * 3)
    assert main(["init", "--model", "llama3_8b", "--detect", "-o", "job.par"]) == 2
    assert "`--gpus 24xH100`" in capsys.readouterr().err
