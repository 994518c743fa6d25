"""`parc compile`: what is written, when nothing is, --check and --diff, and targets that refuse."""

from __future__ import annotations

import json
import os
from pathlib import Path

import parc
from tests.support.command_line import IMPOSSIBLE, JOB, Parc, tree


def test_compile_writes_all_and_then_nothing(run: Parc) -> None:
    first = run("compile", "job.par", "-o", "out")
    assert first.code == 0
    files = tree(Path("out"))
    assert {"plan.json", "slurm/megatron.sbatch", "slurm/torchtitan.sbatch"} <= files.keys()
    assert all(f"out/{name}" in first.out for name in files)
    assert os.access("out/megatron/pretrain.sh", os.X_OK)
    again = run("compile", "job.par", "-o", "out")
    assert again.code == 0 and "nothing to change" in again.out
    assert run("compile", "job.par", "-o", "elsewhere").code == 0
    assert tree(Path("elsewhere")) == files


def test_compile_check_and_diff(run: Parc) -> None:
    assert run("compile", "job.par", "-o", "out", "--check").code == 1
    assert not Path("out").exists()
    run("compile", "job.par", "-o", "out")
    assert run("compile", "job.par", "-o", "out", "--check").code == 0
    script = Path("out/slurm/megatron.sbatch")
    edited = script.read_text().replace("--time=0-01:00:00", "--time=0-02:00:00")
    script.write_text(edited)
    ran = run("compile", "job.par", "-o", "out", "--check", "--diff")
    assert ran.code == 1
    assert "--- a/slurm/megatron.sbatch\n+++ b/slurm/megatron.sbatch\n" in ran.out
    assert "\n-#SBATCH --time=0-02:00:00\n+#SBATCH --time=0-01:00:00\n" in ran.out
    assert run("compile", "job.par", "-o", "out", "--diff").code == 0
    assert script.read_text() == edited, "--diff writes nothing"
    ran = run("compile", "job.par", "-o", "out", "--check", "--json")
    assert ran.code == 1
    change = {"path": "slurm/megatron.sbatch", "kind": "change", "edited": True}
    assert json.loads(ran.out)["changes"] == [change]


def test_an_edit_stops_a_compile_and_is_told_from_a_changed_job(run: Parc) -> None:
    run("compile", "job.par", "-o", "out")
    script = Path("out/slurm/megatron.sbatch")
    edited = script.read_text().replace("--time=0-01:00:00", "--time=0-02:00:00")
    script.write_text(edited)
    ran = run("compile", "job.par", "-o", "out", "--check")
    assert ran.out == "would change out/slurm/megatron.sbatch: edited by hand\n"
    ran = run("compile", "job.par", "-o", "out")
    assert ran.code == 2 and script.read_text() == edited
    assert "error[PAR084]: `out/slurm/megatron.sbatch` has been edited" in ran.err
    assert "\n-#SBATCH --time=0-02:00:00\n+#SBATCH --time=0-01:00:00\n" in ran.out
    ran = run("compile", "job.par", "-o", "out", "--target", "torchtitan")
    assert "kept out/slurm/megatron.sbatch: edited by hand" in ran.out
    assert ran.code == 0 and script.read_text() == edited
    script.unlink()
    run("compile", "job.par", "-o", "out")
    script.write_text(edited)
    assert run("compile", "job.par", "-o", "out", "--force").code == 0
    assert run("compile", "job.par", "-o", "out", "--check").code == 0


def test_a_target_that_goes_takes_its_files_along(run: Parc) -> None:
    run("compile", "job.par", "-o", "out")
    Path("out/torchtitan/notes.txt").write_text("mine")
    ran = run("compile", "job.par", "-o", "out", "--target", "megatron")
    assert "removed out/slurm/torchtitan.sbatch" in ran.out
    assert [name for name in tree(Path("out")) if "torchtitan" in name] == ["torchtitan/notes.txt"]


def test_several_jobs_get_a_folder_each(run: Parc) -> None:
    Path("other.par").write_text(JOB.replace("model m", "model other"))
    names = [parc.load(path).name for path in ("job.par", "other.par")]
    assert run("compile", "job.par", "other.par", "-o", "out").code == 0
    assert sorted(path.name for path in Path("out").iterdir()) == sorted(names)
    assert run("compile", "job.par", "other.par", "-o", "out", "--check").code == 0
    ran = run("compile", "job.par", "job.par", "-o", "out")
    assert ran.code == 2 and f"`{names[0]}`" in ran.err


#: torchtitan has no LayerNorm.
HALF_REFUSED = JOB.replace("vocab = 32_000", 'vocab = 32_000; norm = "layernorm"')


def test_a_refusing_target_ends_compile_before_it_writes(run: Parc) -> None:
    run("compile", "job.par", "-o", "out")
    before = tree(Path("out"))
    Path("job.par").write_text(HALF_REFUSED)
    ran = run("compile", "job.par", "-o", "out")
    assert (ran.code, ran.out) == (1, "") and "error[PAR" in ran.err
    assert tree(Path("out")) == before, "nothing is written, and nothing removed"
    assert run("check", "job.par").code == 1
    planned = run("plan", "job.par")
    assert planned.code == 0 and "warning[PAR" in planned.err and "error[" not in planned.err


def test_keep_going_writes_the_other_targets_and_still_fails(run: Parc) -> None:
    Path("job.par").write_text(HALF_REFUSED)
    ran = run("compile", "job.par", "-o", "out", "--keep-going")
    assert ran.code == 1 and "error[PAR" in ran.err
    files = tree(Path("out"))
    assert "slurm/megatron.sbatch" in files and "slurm/torchtitan.sbatch" not in files
    refused = json.loads(files["plan.json"])["refused"]
    assert {entry["target"] for entry in refused} == {"torchtitan"}
    alone = run("compile", "job.par", "-o", "alone", "--target", "torchtitan", "--keep-going")
    assert alone.code == 1 and not Path("alone").exists()


def test_keep_going_leaves_out_a_job_that_no_target_runs(run: Parc) -> None:
    Path("impossible.par").write_text(IMPOSSIBLE.replace("model m", "model other"))
    stopped = run("compile", "job.par", "impossible.par", "-o", "out")
    assert stopped.code == 1 and not Path("out").exists()
    ran = run("compile", "job.par", "impossible.par", "-o", "out", "--keep-going")
    assert ran.code == 1 and [path.name for path in Path("out").iterdir()] == ["job"]


def test_compile_tells_machines_that_it_wrote_nothing(run: Parc) -> None:
    Path("job.par").write_text(HALF_REFUSED)
    ran = run("compile", "job.par", "-o", "out", "--json")
    said = json.loads(ran.out)
    assert ran.code == 1 and (said["written"], said["changes"]) == (False, [])
    assert [entry["target"] for entry in said["jobs"][0]["refused"]] == ["torchtitan"]


#: Experts that nothing balances, and a target that does not say what it trains on.
