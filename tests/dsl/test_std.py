"""The standard library: every entry loads, and every number names a source that the file's header lists."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import pytest

import parc.dsl
from parc.dsl import std_cluster, std_entries, std_gpu, std_model
from parc.dsl.hardware import Cluster, Gpu
from parc.dsl.library import canonical
from parc.dsl.model import Model
from parc.dsl.settings import Frozen

LIBRARY = sorted((Path(parc.dsl.__file__).parent / "std").glob("*.par"))
LABEL = re.compile(r"\[([a-z0-9-]+)\]")
SETTING = re.compile(r"^\s+(\w+)\s*=\s*([^#]*)(#.*)?$")
NUMBER = re.compile(r'\d|"[^"]*\d')
#: Values that say nothing of the world outside.
UNSOURCED = {"nodes": "1"}

ASKED = {
    "gpu": """v100_16 v100_32 a100_40 a100_80 a100_pcie_40 h100_sxm h100_pcie h200 h800 b200 gb200 mi300x
        mi325x mi355x tpu_v5p trainium2""",
    "cluster": """dgx_v100 dgx_a100 dgx_h100 dgx_b200 gb200_nvl72 a100_pcie_box cloud_h100 llama3_cluster
        h100_pod a100_pod h800_pod""",
    "model": """gpt_1_7b gpt_3_6b gpt_7_5b gpt_18b gpt_39b gpt_76b gpt_145b gpt_310b gpt_530b gpt_1t
        gpt3_175b gpt_125m llama1_7b llama1_13b llama1_33b llama1_65b llama2_7b llama2_13b llama2_70b
        llama3_8b llama3_70b llama3_405b mixtral_8x7b mixtral_8x22b deepseek_v2 deepseek_v3
        qwen3_8b qwen3_32b qwen3_30b_a3b qwen3_235b_a22b""",
}
LOADERS: dict[str, Callable[[str], Model | Gpu | Cluster]] = {
    "gpu": std_gpu,
    "cluster": std_cluster,
    "model": std_model,
}
ENTRIES = [(entry.kind, entry.name) for entry in std_entries()]
GPUS = [name for kind, name in ENTRIES if kind == "gpu"]
#: FLOP per byte of GPUs beyond the usual: an H20's matrix rate is cut, an L40S has no HBM.
INTENSITIES = {"h20": (36, 38), "l40s": (410, 425), "l4": (400, 410), "h100_500w_hbm2e": (410, 415)}
#: Its datasheet rounds the two rates apart.
DOUBLE = {"l40s": 2.03}


def sources(text: str) -> dict[str, str]:
    """Label -> description, of the comment that opens the file."""
    header = text.split("\n\n")[0]
    entries = re.split(r"^# \[([a-z0-9-]+)\]", header, flags=re.MULTILINE)[1:]
    return dict(
        zip(entries[::2], (" ".join(entry.split()) for entry in entries[1::2]), strict=True)
    )


def uncovered(text: str) -> Iterator[str]:
    """Lines with a number and no label, neither on the line nor in a comment that opens its paragraph."""
    above = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith(("}", "gpu", "cluster", "model")):
            above = ""
        elif line.lstrip().startswith("#"):
            above = line
        elif match := SETTING.match(line):
            key, value, comment = match[1], match[2].strip(), match[3] or ""
            sourced = LABEL.search(comment) or LABEL.search(above)
            if NUMBER.match(value) and not sourced and UNSOURCED.get(key) != value:
                yield f"{number}: {line.strip()}"


def body(text: str) -> str:
    return text.partition("\n\n")[2]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_every_number_has_a_source(path: Path) -> None:
    assert list(uncovered(body(path.read_text()))) == []


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_labels_and_header_agree(path: Path) -> None:
    text = path.read_text()
    known = sources(text)
    assert set(LABEL.findall(body(text))) == set(known)
    assert all(len(description) > 20 for description in known.values())


def test_the_check_finds_a_bare_number() -> None:
    assert list(uncovered("gpu x {\n  power = 700 W  # hot\n  pcie = 1 GB/s  # [a]\n}")) == [
        "2: power = 700 W  # hot"
    ]
    assert list(uncovered("model x {\n  # [a]\n  layers = 2\n\n  heads = 4\n}")) == ["5: heads = 4"]


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_every_block_has_a_line_that_says_what_it_is(path: Path) -> None:
    lines = path.read_text().splitlines()
    for above, line in zip(lines, lines[1:], strict=False):
        if re.match(r"(gpu|cluster|model) \w+.*{", line):
            assert re.match(r"# \w", above), line


@pytest.mark.parametrize("kind", ASKED)
def test_what_was_asked_for_is_there(kind: str) -> None:
    assert {(kind, name) for name in ASKED[kind].split()} <= set(ENTRIES)


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_entry_loads(kind: str, name: str) -> None:
    assert LOADERS[kind](name).name == name


def test_a_name_is_one_entrys() -> None:
    """Also as the part after a slash, and each name says more than the entry's others do."""
    owners: dict[tuple[str, str], str] = {}
    for entry in std_entries():
        names = [canonical(name) for name in (entry.name, *entry.aliases)]
        assert len(names) == len(set(names)), entry.name
        for alias in (entry.name, *entry.aliases):
            for text in (alias, alias.rpartition("/")[2]):
                assert owners.setdefault((entry.kind, canonical(text)), entry.name) == entry.name


@pytest.mark.parametrize(
    ("kind", "said", "name"),
    [
        ("gpu", "H100", "h100_sxm"),
        ("gpu", "A100-80GB", "a100_80"),
        ("gpu", "h100_nvl", "h100_nvl"),
        ("cluster", "p5.48xlarge", "cloud_h100"),
        ("cluster", "p5_48xlarge", "cloud_h100"),
        ("cluster", "DGX-H100", "dgx_h100"),
        ("model", "meta-llama/Llama-3.1-8B", "llama3_1_8b"),
        ("model", "Llama-3-8B", "llama3_8b"),
        ("model", "qwen3-1.7b", "qwen3_1_7b"),
    ],
)
def test_what_people_call_it(kind: str, said: str, name: str) -> None:
    assert LOADERS[kind](said).name == name


def test_digits_that_a_separator_parts_are_not_joined() -> None:
    assert canonical("GPT-14.5B") != canonical("gpt_145b")
    assert canonical("Llama-3.1-8B") == canonical("llama3_1_8b")


def test_products_of_gpus_without_a_run_go_from_kernels_to_training_like_the_others() -> None:
    """What kernels alone reach, by the labels of gpus.par."""
    trained = {"h100_sxm": 0.73, "b200": 0.49, "a100_80": 0.72 * 0.869 / 0.811}
    share = median(std_gpu(name).matmul_efficiency / alone for name, alone in trained.items())
    kernels = {"mi300x": 620 / 1307, "h20": 133.4 / 148}
    best = {"mi325x": 0.604, "mi355x": 1565 / 2517}
    kernels |= {name: each * 620 / 668 for name, each in best.items()}
    for name, alone in kernels.items():
        assert std_gpu(name).matmul_efficiency == pytest.approx(share * alone, abs=0.006), name


def test_clusters_know_their_domains() -> None:
    rack = std_cluster("gb200_nvl72")
    assert (rack.domain, rack.gpus_per_node, rack.nodes) == (72, 4, (18,))
    assert std_cluster("dgx_h100").domain == 8
    llama = std_cluster("llama3_cluster")
    assert llama.nodes[0] * llama.gpus_per_node == 16_384
    assert llama.pod_network == pytest.approx(llama.network / 7, rel=1e-3)


def test_units_arrive_in_base_units() -> None:
    gpu = std_gpu("h100_sxm")
    assert (gpu.bf16, gpu.nvlink, gpu.power) == (989e12, 450e9, 700)
    assert gpu.memory == 81_008 * 2**20
    assert std_cluster("dgx_h100").network == 50e9
    assert std_gpu("v100_16").bf16 is None


@pytest.mark.parametrize("name", GPUS)
def test_rates_are_plausible(name: str) -> None:
    gpu = std_gpu(name)
    peak = gpu.bf16 or gpu.fp16
    assert peak is not None
    assert gpu.fp8 is None or peak <= gpu.fp8 <= DOUBLE.get(name, 2.01) * peak
    least, most = INTENSITIES.get(name, (60, 400))
    assert least < peak / gpu.memory_bandwidth < most
    assert gpu.pcie <= gpu.nvlink


def test_a_job_takes_a_checkpoint_by_its_base() -> None:
    text = 'model from "unsloth/Qwen3-8B-bnb-4bit" {}\ncluster from std.rtx4090_box {}\n'
    text += "train { seq_len = 128; global_batch = 8; steps = 1 }\ntarget deepspeed {}\n"
    job = parc.dsl.loads(text, targets={"deepspeed": Frozen})
    assert job.model == std_model("qwen3_8b")
