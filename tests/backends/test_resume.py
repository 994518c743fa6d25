"""Every change of layout has a row in each framework's table; an elastic job is written, and read back."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import parc
from parc.backends import BACKENDS
from parc.backends.resume import CHANGES, PARTS, Saved, judged
from parc.compiler.plan import Layout, Plan, Proof
from parc.compiler.target import Target
from parc.dsl.diagnostics import JobError
from parc.printing.checkpoints_text import checkpoint_lines
from tests.support.megatron_plans import MOE
from tests.support.read_back import read_back
from tests.support.sample_plans import sample_plan, train_of

SOURCE = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.py:\d+")
#: Values of what a side is, of which two differ.
DEGREES = {name: (0, 1, 2, 3) if name == "zero" else (1, 2) for name in CHANGES}


def forms(target: str) -> list[dict[str, str]]:
    """What checkpoints of a framework look like, one after another."""
    if target == "megatron":
        torch = [{"format": "torch_dist", "optimizer state": state} for state in STATES]
        return [*torch, {"format": "fsdp_dtensor", "optimizer state": "tensors"}]
    if target == "torchtitan":
        return [{"data position": each} for each in ("of each rank", "from the step")]
    if target == "accelerate":
        return [{}]
    return [{"checkpoint read": each} for each in ("of one layout", "made universal", "universal")]


STATES = ("whole", "by weight", "buffers of ranks")


@pytest.mark.parametrize("target", BACKENDS)
def test_rows_name_parts_that_there_are_and_lines_of_the_framework(target: str) -> None:
    resume = BACKENDS[target].resume
    for row in resume.rows:
        assert SOURCE.fullmatch(row.source), row
        assert not (row.stops and row.lost), row
        assert set(row.lost) <= set(PARTS)
        assert all(set(cure.lost) <= set(PARTS) and cure.why for cure in row.cures)


@pytest.mark.parametrize("target", BACKENDS)
def test_what_a_target_decides_has_a_row_whatever_the_form(target: str) -> None:
    """A degree that changes alone, between all forms of a checkpoint."""
    backend = BACKENDS[target]
    decided = decides(backend.target)
    for name in decided:
        for old, new in product(DEGREES[name], repeat=2):
            for before, after in product(forms(target), repeat=2):
                sides = (
                    Saved("old", target, "", {name: old}, before),
                    Saved("new", target, "", {name: new}, after),
                )
                found = judged(*sides, backend.resume)
                unknown = [each for each in found.changes if each.row is None]
                assert not unknown, (sides, unknown)
                stops = [each for each in found.changes if each.row and each.row.stops]
                assert (found.answer == "no") == bool(stops)
                assert not stops or found.cures, sides


#: What an elastic job's script says, at each of a target's releases; "" where it says nothing.
ELASTIC = {
    "megatron": dict.fromkeys(("0.15", "0.17", "0.19"), "--dist-ckpt-optim-fully-reshardable")
    | {"0.14": ""},
    "torchtitan": dict.fromkeys(("0.2.0", "0.2.1", "0.2.2", "0.3"), "import parc_position"),
    "deepspeed": dict.fromkeys(("0.15", "0.19"), "--elastic"),
}


@pytest.mark.parametrize(
    ("target", "version"), [(each, version) for each in ELASTIC for version in ELASTIC[each]]
)
def test_an_elastic_job_is_written_and_read_back(target: str, version: str) -> None:
    backend, said = BACKENDS[target], ELASTIC[target][version]
    layout = Layout(dp_shard=8, zero=1 if target == "megatron" else 2, microbatches=4)
    for elastic in (False, True):
        options = backend.target.options(version=version)
        train = train_of(elastic=elastic)
        files = backend.emit(sample_plan(target, options, train=train, layout=layout))
        text = "".join(files.values())
        assert (said in text) == elastic or not said
        read = backend.reader.train(read_back(files))
        assert read.get("elastic", False) == (elastic and bool(said))


OWN, SHARED = "their own", "that of all weights"
#: tp, ep and etp, a release, and whether experts have an optimizer of their own.
APART = [
    (1, 2, 1, "0.19", True), (2, 1, 1, "0.19", True), (2, 1, 2, "0.19", False),
    (2, 1, 1, "0.18", False), (2, 2, 2, "0.18", True),
]  # fmt: skip


def test_whose_optimizer_experts_have_is_read_and_decides() -> None:
    backend = BACKENDS["megatron"]
    for tp, ep, etp, version, apart in APART:
        layout = Layout(tp=tp, ep=ep, etp=etp, dp_shard=8, zero=1, microbatches=4)
        options = backend.target.options(version=version)
        files = backend.emit(sample_plan("megatron", options, model=MOE, layout=layout))
        form = backend.resume.form(read_back(files), version)
        assert form["experts' optimizer"] == (OWN if apart else SHARED)
    dense = Layout(dp_shard=8, zero=1, microbatches=4)
    plain = backend.emit(sample_plan("megatron", backend.target.options(), layout=dense))
    assert "experts' optimizer" not in backend.resume.form(read_back(plain), "")
    for old, words in ((OWN, "KeyError: 'optimizer'"), (SHARED, "Expected ... entries")):
        forms = ({"experts' optimizer": each} for each in (old, SHARED if old == OWN else OWN))
        sides = [Saved("a side", "megatron", "", {}, form) for form in forms]
        (change,) = judged(sides[0], sides[1], backend.resume).changes
        assert change.row is not None and words in change.row.stops


OPEN = """
model tiny {{ layers = 4; hidden = 64; heads = 4; ffn = 128; vocab = 256 }}
cluster some from std.dgx_h100 {{ nodes = {nodes}; gpus_per_node = 2 }}
train {{ seq_len = 256; global_batch = 8; steps = 20; {elastic} }}
goal {{ require nodes == 2; require zero == 1 or zero == 3 }}
target {target} {{}}
"""


@pytest.mark.parametrize("target", ELASTIC)
def test_a_job_that_names_several_numbers_of_nodes_is_elastic(target: str, tmp_path: Path) -> None:
    """Unless it says that it is not; one number is none of several."""
    said = ELASTIC[target][max(ELASTIC[target])]
    path = tmp_path / "open.par"
    for nodes, elastic, found in (
        ("{1, 2}", "", True), ("1..2", "", True), ("2", "", False), ("{1, 2}", "elastic = false", False)
    ):  # fmt: skip
        path.write_text(OPEN.format(nodes=nodes, elastic=elastic, target=target))
        job = parc.load(path)
        zero = 3 if target == "torchtitan" else 1
        estimate = parc.estimate(job, {"dp_shard": 4, "nodes": 2, "zero": zero}, target)
        proof = Proof(status="OPTIMAL", objective="mfu", value=1, bound=1, layouts=1, seconds=1)
        plan = Plan(job=job, target=target, estimate=estimate, proof=proof)
        assert (said in "".join(BACKENDS[target].emit(plan).values())) == found
        told = " ".join(" ".join(checkpoint_lines(job, target, estimate)).split())
        assert ("another number of nodes can go on, since `nodes` is open" in told) == found


def test_open_nodes_refuse_megatron_fsdp_nothing(tmp_path: Path) -> None:
    """What PAR453 refuses a job that says `elastic = true`."""
    path = tmp_path / "open.par"
    for elastic in ("", "elastic = true"):
        path.write_text(OPEN.format(nodes="{1, 2}", elastic=elastic, target="megatron"))
        layout = {"dp_shard": 4, "nodes": 2, "zero": 3}
        if not elastic:
            assert parc.estimate(parc.load(path), layout, "megatron").layout.zero == 3
        else:
            with pytest.raises(JobError, match="Megatron-FSDP"):
                parc.estimate(parc.load(path), layout, "megatron")


def test_what_loads_every_layout_is_not_written_where_nothing_is_saved() -> None:
    for target, save in (("torchtitan", False), ("deepspeed", None), ("megatron", False)):
        backend = BACKENDS[target]
        options = backend.target.options(save=save)
        layout = Layout(dp_shard=8, zero=1 if target == "megatron" else 2, microbatches=4)
        plans = [
            sample_plan(target, options, train=train_of(elastic=each), layout=layout)
            for each in (False, True)
        ]
        assert backend.emit(plans[0]) == backend.emit(plans[1])


#: A folder of checkpoints of DeepSpeed: the files of its newest, and what a start with two ranks of ZeRO 2
#: does: nothing, a conversion, or a refusal.
FOLDERS = {
    "none": ((), ""),
    "ours": (("bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt",
              "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt", "mp_rank_00_model_states.pt"), ""),
    "fewer": (("zero_pp_rank_0_mp_rank_00_optim_states.pt", "mp_rank_00_model_states.pt"), "converts"),
    "more": (tuple(f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt" for rank in range(4)), "converts"),
    "ZeRO 3": (("zero_pp_rank_0_mp_rank_00_model_states.pt",), "require zero == 3"),
    "a pipeline": (("layer_00-model_states.pt", "mp_rank_00_model_states.pt"), "require pp > 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_deepspeed_converts_the_newest_checkpoint_of_another_layout(
    name: str, tmp_path: Path
) -> None:
    """By a converter that only writes what DeepSpeed's would, of names alone."""
    names, wanted = FOLDERS[name]
    layout = Layout(dp_shard=2, zero=2, microbatches=4)
    plan = sample_plan("deepspeed", train=train_of(elastic=True), layout=layout)
    program = tmp_path / "universal.py"
    program.write_text(BACKENDS["deepspeed"].emit(plan)["deepspeed/universal.py"])
    package = tmp_path / "deepspeed" / "checkpoint"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (tmp_path / "deepspeed" / "__init__.py").touch()
    (package / "ds_to_universal.py").write_text(CONVERTER)
    folder = tmp_path / "saved"
    if names:
        (folder / "step4").mkdir(parents=True)
        (folder / "latest").write_text("step4")
        for each in names:
            (folder / "step4" / each).touch()
    command = [sys.executable, str(program), str(folder), "0"]
    for _ in range(2):
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        refused = wanted.startswith("require")
        assert ran.returncode == (2 if refused else 0), ran.stderr
        assert not refused or wanted in ran.stderr
    made = folder / "latest_universal"
    assert made.exists() == (wanted == "converts")
    if wanted == "converts":
        assert made.read_text() == "step4_universal" and "made universal" not in ran.stdout


CONVERTER = """
import os, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
assert sys.argv[-1] == "--inject_missing_state" and os.path.isdir(given["--input_folder"])
os.makedirs(given["--output_folder"])
folder, name = os.path.split(given["--output_folder"])
open(os.path.join(folder, "latest_universal"), "w").write(name)
"""


def decides(target: Target) -> list[str]:
    """The changes that a framework's layouts can make; `dp` follows from the others."""
    job = sample_plan(target.name).job
    return [name for name in CHANGES if name in {*target.domains(job), "dp"}]
