"""torchtitan 0.3: the emitted Python configuration, and what reading it gives back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import black
import pytest

import parc
from parc.backends.launch_files import read_jobs
from parc.backends.torchtitan import BACKEND
from parc.backends.torchtitan.emit.python_job import CLASSES
from parc.backends.torchtitan.options import Options
from parc.backends.torchtitan.schema import PYTHON_SECTIONS
from parc.compiler.plan import Layout, Plan
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Train
from parc.dsl.model import Model
from parc.dsl.settings import Data
from parc.reading.facts import Unknown
from tests.support import sample_plans
from tests.support.paths import CASES
from tests.support.read_back import assert_plan_is_back, read_back
from tests.support.sample_plans import DEEPSEEK_V3, LLAMA3_8B, MIXTRAL_8X7B, QWEN3_8B

Emitted = tuple[Plan, dict[str, str]]

FOLDER = CASES / "torchtitan_python"
JOB = "torchtitan/parc_job.py"


def plan(
    model: Model = LLAMA3_8B,
    train: Train | None = None,
    split: Sequence[Sequence[int]] | None = None,
    *,
    extra: dict[str, str | int | float | bool] | None = None,
    **layout: int,
) -> Plan:
    options = Options(version="0.3", extra=extra or {})
    chosen = Layout(**layout)
    return sample_plans.sample_plan(
        "torchtitan", options, model=model, layout=chosen, train=train, split=split
    )


PLANS = {
    "single": plan(microbatches=4),
    "fsdp": plan(dp_shard=8, zero=3, microbatches=2, recompute=2),
    "hsdp": plan(dp_replicate=4, dp_shard=8, zero=3, recompute=1),
    "tensor": plan(dp_shard=4, tp=8, zero=2, microbatches=2),
    "context": plan(dp_shard=2, cp=4, zero=3, microbatches=2),
    "pipeline": plan(dp_shard=4, pp=4, zero=1, microbatches=8),
    "interleaved": plan(
        dp_shard=2, pp=4, vpp=2, zero=1, microbatches=8, split=((3, 5), (4, 5), (4, 4), (4, 3))
    ),
    "per_head_norms": plan(QWEN3_8B, dp_shard=8, zero=3, microbatches=2),
    "tied": plan(QWEN3_8B.model_copy(update={"tied": True}), dp_shard=8, zero=3, microbatches=2),
    "experts": plan(MIXTRAL_8X7B, dp_shard=16, ep=8, zero=2, microbatches=2),
    "shared_experts": plan(
        MIXTRAL_8X7B.model_copy(update={"shared_experts": 2}),
        dp_shard=16,
        ep=8,
        zero=2,
        microbatches=2,
    ),
    "experts_in_a_pipeline": plan(MIXTRAL_8X7B, dp_shard=8, ep=8, pp=2, zero=1, microbatches=4),
    "no_clipping": plan(
        dp_shard=8, zero=3, train=Train(seq_len=4096, global_batch=8, steps=9, clip_grad=0.0)
    ),
    "extra": plan(
        dp_shard=8,
        zero=3,
        extra={"profiler.enable_profiling": True, "optimizer.implementation": "foreach"},
    ),
}


@pytest.fixture(params=PLANS)
def emitted(request: pytest.FixtureRequest) -> Emitted:
    chosen = PLANS[request.param]
    return chosen, BACKEND.emit(chosen)


def test_reading_gives_the_plan_back(emitted: Emitted) -> None:
    chosen, files = emitted
    beside = ("parc_data.py", "parc_stop.py", "launch.sh", "run.json", "health.py")
    assert set(files) == {JOB, *(f"torchtitan/{name}" for name in beside)}
    assert_plan_is_back(chosen, files)


def test_facts_point_at_their_lines(emitted: Emitted) -> None:
    _, files = emitted
    lines = files[JOB].splitlines()
    found = {fact.name: fact for fact in read_back(files).facts}
    assert "tensor_parallel_degree" in lines[found["tp"].line - 1]
    assert lines[found["layers"].line - 1].startswith("LAYERS")
    assert "activation_checkpoint" in lines[found["recompute"].line - 1]


def test_the_module_is_black_stable(emitted: Emitted) -> None:
    _, files = emitted
    assert black.format_str(files[JOB], mode=black.Mode()) == files[JOB]


def called(tree: ast.Module) -> dict[str, ast.Call]:
    """The sections of `Trainer.Config(...)` that are calls."""
    train = next(
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "train"
    )
    (returned,) = [node.value for node in train.body if isinstance(node, ast.Return)]
    assert isinstance(returned, ast.Call)
    return {
        keyword.arg: keyword.value
        for keyword in returned.keywords
        if keyword.arg and isinstance(keyword.value, ast.Call)
    }


def test_sections_hold_fields_of_the_release_and_only_public_names_are_used(
    emitted: Emitted,
) -> None:
    _, files = emitted
    tree = ast.parse(files[JOB])
    for section, call in called(tree).items():
        if section in CLASSES:
            assert {keyword.arg for keyword in call.keywords} <= set(PYTHON_SECTIONS[section])
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert imported <= used and not any(name.startswith("_") for name in imported)


def test_cuda_graphs_are_off_where_they_cannot_capture(emitted: Emitted) -> None:
    chosen, files = emitted
    needed = chosen.layout.pp > 1 or chosen.layout.ep > 1
    assert ("disable_cuda_graphs=True" in files[JOB]) == needed


def test_the_need_of_a_later_pytorch_is_said(emitted: Emitted) -> None:
    text = ast.get_docstring(ast.parse(emitted[1][JOB])) or ""
    assert "later than 2.13" in text.replace("\n", " ")


def test_the_launcher_names_the_module_and_takes_paths_from_the_environment() -> None:
    options = Options(version="0.3", data=Data(parts=(("c4", 1.0),)))
    named = sample_plans.sample_plan("torchtitan", options, layout=PLANS["fsdp"].layout)
    files = BACKEND.emit(named)
    assert "--module parc_job" in files["torchtitan/launch.sh"]
    assert "train.toml" not in files["torchtitan/launch.sh"]
    for variable in ("HF_ASSETS_PATH", "DUMP_FOLDER", "DATASET_PATH"):
        assert f'os.environ.get("{variable}"' in files[JOB]


def test_stages_name_the_output_matrix_as_the_release_does() -> None:
    assert '"norm", "lm_head"' in BACKEND.emit(PLANS["interleaved"])[JOB]


def test_shared_experts_are_one_feed_forward_beside_the_routed_ones() -> None:
    text = BACKEND.emit(PLANS["shared_experts"])[JOB]
    assert f"SHARED_FFN = {2 * 14336}" in text and "feed_forward(SHARED_FFN)" in text
    assert "shared_experts" not in BACKEND.emit(PLANS["experts"])[JOB]


REFUSED = {
    "PAR368": plan(DEEPSEEK_V3.model_copy(update={"mtp_layers": 0}), dp_shard=8, zero=3),
    "PAR369": plan(
        dp_shard=8, zero=3, train=Train(seq_len=4096, global_batch=8, steps=9, precision="fp8")
    ),
    "PAR365": plan(dp_shard=8, zero=3, extra={"job.description": "x"}),
    "PAR349": plan(
        LLAMA3_8B.model_copy(update={"tied": True}), dp_shard=4, pp=2, zero=1, microbatches=8
    ),
    "PAR131": plan(dp_shard=8, cp=2, zero=3, train=Train(seq_len=4160, global_batch=8, steps=9)),
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_the_release_lacks_is_refused(code: str) -> None:
    with pytest.raises(JobError) as refused:
        BACKEND.emit(REFUSED[code])
    assert code in {diagnostic.code for diagnostic in refused.value.diagnostics}


def test_what_0_2_lacks_is_not() -> None:
    """Experts in a pipeline or selectively recomputed, tied embeddings over shards."""
    for new in (
        plan(MIXTRAL_8X7B, dp_shard=8, pp=2, zero=1, microbatches=8),
        plan(LLAMA3_8B.model_copy(update={"tied": True}), dp_shard=8, zero=3),
        plan(MIXTRAL_8X7B, dp_shard=16, ep=8, zero=2, recompute=1),
    ):
        old = sample_plans.sample_plan(
            "torchtitan", Options(), model=new.job.model, layout=new.layout
        )
        with pytest.raises(JobError):
            BACKEND.emit(old)
        BACKEND.emit(new)


FOREIGN = """
from torchtitan.trainer import Trainer

def train():
    config = debug()
    return config

def other():
    return Trainer.Config(training=TrainingConfig(local_batch_size=SIZE, seq_len=2048))
"""


def test_what_is_computed_is_unknown_and_what_is_left_out_is_the_default() -> None:
    values = read_jobs({"job.py": FOREIGN})[-1].values()
    assert isinstance(values["micro_batch"], Unknown) and isinstance(values["layers"], Unknown)
    assert values["seq_len"] == 2048 and values["tp"] == 1 and values["recompute"] == "selective"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.par")), ids=lambda path: path.stem)
def test_whole_files(path: Path, update: bool) -> None:
    """A job and the configuration beside it, without its provenance, which names the version of parc."""
    (made,) = parc.compile(parc.load(path))
    text = BACKEND.emit(made)[JOB].partition("\n")[2]
    golden = path.with_suffix(".txt")
    if update:
        golden.write_text(text)
    assert golden.read_text() == text
