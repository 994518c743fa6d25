"""`parc reshape` on folders of checkpoints: what names and the starts of their files tell, loading none.

The files begin as those of the frameworks do: with pickles of the same names and values.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from parc.saved_checkpoints import checkpoint_side
from tests.cli.test_reshape import ONE, compiled, job, words
from tests.support.command_line import Parc

#: Arguments of Megatron-LM that its checkpoints keep.
ARGUMENTS: dict[str, Any] = {
    "tensor_model_parallel_size": 4,
    "pipeline_model_parallel_size": 2,
    "virtual_pipeline_model_parallel_size": None,
    "context_parallel_size": 1,
    "expert_model_parallel_size": 1,
    "expert_tensor_parallel_size": 4,
    "world_size": 4096,
    "use_distributed_optimizer": True,
    "dist_ckpt_optim_fully_reshardable": False,
    "num_layers": 126,
    "hidden_size": 16384,
    "num_attention_heads": 128,
    "num_experts": None,
}


def saved(folder: Path, files: dict[str, Any]) -> Path:
    """Files of texts, or of pickles as torch.save has them, behind the head of a zip."""
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = value.encode() if isinstance(value, str) else b"PK\3\4" + pickle.dumps(value, 2)
        path.write_bytes(content)
    return folder


def megatron(
    folder: Path, changed: Mapping[str, Any] | None = None, holds: str = "common.pt"
) -> Path:
    step = "iter_0004000"
    names = [f"{step}/__{rank}_0.distcp" for rank in range(2)]
    arguments = {"args": Namespace(**ARGUMENTS | dict(changed or {})), "iteration": 4000}
    return saved(
        folder,
        {
            "latest_checkpointed_iteration.txt": "4000",
            f"{step}/metadata.json": '{"sharded_backend": "torch_dist", "sharded_backend_version": 1}',
            **dict.fromkeys(names, "tensors"),
            f"{step}/{holds}": arguments,
        },
    )


@pytest.mark.parametrize("holds", ["common.pt", "__0_0.distcp"])
def test_megatrons_arguments_are_read(holds: str, tmp_path: Path) -> None:
    side = checkpoint_side(str(megatron(tmp_path, holds=holds)))
    found = side.saved
    assert (found.framework, found.step, found.ranks) == ("megatron", 4000, 4096)
    assert found.layout == {
        "tp": 4,
        "pp": 2,
        "vpp": 1,
        "cp": 1,
        "ep": 1,
        "etp": 1,
        "dp": 512,
        "zero": 1,
    }
    assert found.form == {"format": "torch_dist", "optimizer state": "buffers of ranks"}
    assert side.sizes == {"layers": 126, "hidden": 16384, "heads": 128}


@pytest.mark.parametrize(
    ("changed", "form"),
    [
        ({"dist_ckpt_optim_fully_reshardable": True}, "by weight"),
        ({"use_distributed_optimizer": False}, "whole"),
    ],
)
def test_megatrons_optimizer_is_told(changed: dict[str, Any], form: str, tmp_path: Path) -> None:
    found = checkpoint_side(str(megatron(tmp_path, changed))).saved
    assert found.form["optimizer state"] == form
    assert found.layout["zero"] == int(form != "whole")


def test_experts_of_megatron_are_told(tmp_path: Path) -> None:
    found = checkpoint_side(
        str(megatron(tmp_path, {"num_experts": 64, "expert_model_parallel_size": 8}))
    )
    assert (found.saved.layout["ep"], found.saved.layout["etp"]) == (8, 4)
    assert found.sizes["experts"] == 64


def deepspeed(
    folder: Path, ranks: int = 2, parts: int = 1, stage: int = 1, piped: bool = False
) -> Path:
    third = "zero_pp_rank_{}_" if stage == 3 else ""
    state = {
        "global_steps": 40, "dp_world_size": ranks, "mp_world_size": parts,
        "ds_config": {"zero_optimization": {"stage": stage}}, "ds_version": "0.19.8",
    }  # fmt: skip
    files: dict[str, Any] = {"latest": "step40"}
    for rank in range(ranks):
        for part in range(parts):
            files[f"step40/{third.format(rank)}mp_rank_{part:02}_model_states.pt"] = state
            if stage:
                name = f"bf16_zero_pp_rank_{rank}_mp_rank_{part:02}_optim_states.pt"
                files[f"step40/{name}"] = "moments"
    return saved(folder, files | ({"step40/layer_00-model_states.pt": "weights"} if piped else {}))


@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize("piped", [False, True])
def test_deepspeeds_files_are_read(stage: int, piped: bool, tmp_path: Path) -> None:
    parts = 4 if piped else 1
    found = checkpoint_side(str(deepspeed(tmp_path, 2, parts, stage, piped))).saved
    assert (found.framework, found.release, found.step) == ("deepspeed", "0.19.8", 40)
    assert found.layout == {"tp": 1, "pp": parts, "cp": 1, "dp": 2, "zero": stage}
    assert found.ranks == 2 * parts


def torchtitan(folder: Path, dp: int = 4, step: int = 6, layers: int = 4) -> Path:
    names = [f"dataloader.dp_rank_{rank}" for rank in range(dp)]
    names += [f"layers.{layer}.attention.wq.weight" for layer in range(layers)]
    shards = {f"step-{step}/__{rank}_0.distcp": "tensors" for rank in range(2 * dp)}
    return saved(folder, {**shards, f"step-{step}/.metadata": dict.fromkeys(names)})


def test_torchtitans_newest_whole_step_is_read(tmp_path: Path) -> None:
    torchtitan(tmp_path, 2, 4)
    torchtitan(tmp_path)
    saved(tmp_path, {"step-8/__0_0.distcp": "a save that was killed"})
    side = checkpoint_side(str(tmp_path))
    assert (side.saved.framework, side.saved.step, side.saved.ranks) == ("torchtitan", 6, 8)
    assert (side.saved.layout, side.sizes) == ({"dp": 4}, {"layers": 4})
    assert checkpoint_side(str(tmp_path / "step-4")).saved.layout == {"dp": 2}


MAKE: dict[str, Callable[[Path], Path]] = {
    "megatron": megatron,
    "deepspeed": deepspeed,
    "torchtitan": torchtitan,
}


@pytest.mark.parametrize("target", MAKE)
def test_a_runs_folder_and_a_step_tell_the_same(target: str, tmp_path: Path) -> None:
    checkpoints = MAKE[target](tmp_path / "run" / "checkpoints")
    (tmp_path / "run" / "run.json").write_text('{"run": "a-b", "train.seed": 1, "digest": "0f"}')
    found = checkpoint_side(str(tmp_path / "run"))
    assert found.saved.folder == "a-b-0f" and found.decided == {"train.seed": 1}
    assert checkpoint_side(str(checkpoints)) == checkpoint_side(found.saved.name) == found


def test_a_checkpoint_stands_for_the_old_job(run: Parc, tmp_path: Path) -> None:
    """Megatron's of another tp stops, as with the job that saved it, and an elastic one goes on."""
    sizes = {"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8, "world_size": 8}
    degrees = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 1}
    megatron(tmp_path / "two", {**sizes, **degrees})
    job(ONE)
    found = run("reshape", str(tmp_path / "two"), "new.par", "--target", "megatron")
    said = words(found.out)
    assert found.code == 1 and "tp 2 → 1: stops (TP, PP) mismatch after resume" in said
    assert "step 4,000 of 8 ranks" in said
    elastic = {"dist_ckpt_optim_fully_reshardable": True}
    megatron(tmp_path / "two", {**sizes, **degrees, **elastic})
    found = run("reshape", str(tmp_path / "two"), "new.par", "--target", "megatron")
    assert found.code == 0 and "NEW resumes OLD whole." in found.out, found.out


def test_a_checkpoint_goes_before_what_the_old_files_say(run: Parc, tmp_path: Path) -> None:
    torchtitan(tmp_path / "saved", dp=2)
    job("require dp == 8")
    assert compiled(run, "new.par", "torchtitan").code == 0
    call = ("reshape", "out", "new.par", "--target", "torchtitan")
    assert run(*call).code == 0
    found = run(*call, "--checkpoint", str(tmp_path / "saved"))
    said = words(found.out)
    assert found.code == 1 and "dp 2 → 8: stops dp_degree is inconsistent" in said
    assert "The checkpoint counts where out (in brackets) says otherwise: dp 2 (8)." in said
    value = json.loads(run(*call, "--checkpoint", str(tmp_path / "saved"), "--json").out)
    assert (value["old"]["step"], value["old"]["ranks"]) == (6, 4) and value["old"]["notes"]
    torchtitan(tmp_path / "same", dp=8)
    found = run(*call, "--checkpoint", str(tmp_path / "same"))
    assert found.code == 0 and "counts" not in found.out
    deepspeed(tmp_path / "other")
    found = run(*call, "--checkpoint", str(tmp_path / "other"))
    assert found.code == 1 and "torchtitan does not read checkpoints of deepspeed" in words(
        found.out
    )
    assert "deepspeed saved it, and out is of torchtitan" in words(found.out)


def test_what_a_checkpoint_does_not_tell_is_said(run: Parc, tmp_path: Path) -> None:
    """Megatron-FSDP's has no degrees in the names of its files."""
    step = {f"iter_0000007/__{rank}_0.distcp": "tensors" for rank in range(2)}
    saved(
        tmp_path, {"latest_checkpointed_iteration.txt": "7", "iter_0000007/.metadata": "", **step}
    )
    job("require zero == 3")
    found = run("reshape", str(tmp_path), "new.par", "--target", "megatron", "--json")
    value = json.loads(found.out)
    assert found.code == 1 and value["old"]["form"]["format"] == "fsdp_dtensor"
    assert value["resumes"] == "whole" and value["untold"] == ["tp", "pp", "vpp", "ep", "etp"]
    said = words(run("reshape", str(tmp_path), "new.par", "--target", "megatron").out)
    assert "NEW resumes OLD whole, as far as the checkpoint tells: not its tp, pp" in said


@pytest.mark.parametrize("target", MAKE)
def test_compile_asks_the_run_itself(run: Parc, target: str, tmp_path: Path) -> None:
    """Each time, and wherever out/ is, until the layout goes on from what the run's folder holds."""
    job("require dp == 8; require zero >= 1; require zero <= 2")
    first = compiled(run, "new.par", target)
    assert first.code == 0 and "PAR158" not in first.err
    said = json.loads(Path(f"out/{target}/run.json").read_text())
    own = Path(f"runs/{said['run']}-{said['digest']}") / "checkpoints"
    degrees = {"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 1, "world_size": 8}
    sizes = {"num_layers": 4, "hidden_size": 512, "num_attention_heads": 8}
    if target == "megatron":
        megatron(own, {**degrees, **sizes})
    else:
        MAKE[target](own)
    for _ in range(2):
        found = compiled(run, "new.par", target)
        text = words(found.err)
        assert found.code == 0 and "PAR158" in text and f"{target}: the run at `runs/" in text
        assert "does not go on in this layout" in text and "`parc reshape runs/" in text
    shutil.rmtree(own)
    assert "PAR158" not in compiled(run, "new.par", target).err


class Trap:
    """Leaves a mark where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("unpickled",)


def test_nothing_is_unpickled(run: Parc, tmp_path: Path) -> None:
    megatron(tmp_path, {"trap": Trap()})
    assert checkpoint_side(str(tmp_path)).saved.layout["tp"] == 4
    assert not Path("unpickled").exists()


def test_hostile_files_are_no_fault(run: Parc, tmp_path: Path) -> None:
    """Names that lead elsewhere, numbers that are none, links to a pipe, very long values."""
    key = b"X\x1a\0\0\0tensor_model_parallel_size"
    tails = (b"", b"q", b"qK", b"J\xff\xff\xff\xff", b"X\xff\xff\xff\xff", b"K\0", b"M\xff\xff")
    for number, tail in enumerate(tails):
        folder = megatron(tmp_path / str(number))
        (folder / "iter_0004000" / "common.pt").write_bytes(key + tail)
        assert checkpoint_side(str(folder)).saved.framework == "megatron"
    os.remove(folder / "iter_0004000" / "common.pt")
    os.mkfifo(folder / "iter_0004000" / "common.pt")
    assert checkpoint_side(str(folder)).saved.layout == {}
    job(ONE)
    for newest in ("../../etc", "/etc", "4000\0", "9" * 400, "..", "³"):
        (folder / "latest_checkpointed_iteration.txt").write_text(newest)
        found = run("reshape", str(folder), "new.par", "--target", "megatron")
        assert found.code == 2 and "start no training" in words(found.err), newest


def test_folders_without_a_checkpoint_are_refused(run: Parc, tmp_path: Path) -> None:
    job(ONE)
    for place, said in (
        (tmp_path / "gone", "cannot be read: no such file or directory"),
        (Path("new.par"), "cannot be read: not a directory"),
        (tmp_path, "holds no checkpoint of Megatron-LM, DeepSpeed or torchtitan that is whole"),
    ):
        found = run(
            "reshape", "new.par", "new.par", "--target", "megatron", "--checkpoint", str(place)
        )
        assert found.code == 2 and "PAR159" in found.err and said in words(found.err)


def test_a_folder_of_very_many_names_is_refused(
    run: Parc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parc.backends.checkpoint_files.MOST_NAMES", 3)
    torchtitan(tmp_path)
    job(ONE)
    found = run("reshape", str(tmp_path), "new.par", "--target", "torchtitan")
    assert found.code == 2 and "it has more than 3 names" in words(found.err)
