"""A seed -> the sample that CI runs: few generated jobs, and some of the tests that stand for one another."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.acceptance.support.environments import TREE

#: Of a whole run, and of a sample outside a git checkout.
FIXED_SEED = 1
#: Jobs with a layout that each target is asked for: in a whole run, and in a sample.
WHOLE_JOBS = {
    "megatron": 500,
    "megatron-0.14": 250,
    "deepspeed": 500,
    "deepspeed-hf": 500,
    "deepspeed-0.15": 250,
    "torchtitan": 500,
    "torchtitan-0.2.0": 250,
    "torchtitan-0.3": 500,
    "slurm": 500,
}
SAMPLE_JOBS = {
    "megatron": 12,
    "megatron-0.14": 4,
    "deepspeed": 8,
    "deepspeed-hf": 4,
    "deepspeed-0.15": 4,
    "torchtitan": 5,
    "torchtitan-0.2.0": 3,
    "torchtitan-0.3": 5,
    "slurm": 6,
}


@dataclass(frozen=True)
class Alike:
    """Tests that stand for one another: what their names begin with, and how many of them a sample runs."""

    names: tuple[str, ...]
    drawn: int = 1


#: A test that is of none of these kinds always runs.
KINDS = {
    "launches that work": Alike(("test_lint_is_certain.py::test_what_works_passes[",)),
    "broken emitters": Alike(("test_broken_emitters.py::test_a_framework_finds_each_change[",), 2),
    "refused layouts": Alike(("test_refusals_are_real.py::test_the_framework_refuses_it_too[",), 2),
    "a layer's time on the host": Alike(
        ("test_host_time.py::test_a_layer_takes_the_host_about_as_long_as_priced[",)
    ),
    "what a session leaves": Alike(("test_leaves_nothing.py::test_nothing_is_left[",)),
    "SLURM: training": Alike(
        (
            "test_slurm_runs.py::test_deepspeed_trains_over_two_nodes",
            "test_slurm_runs.py::test_torchtitan_trains_over_two_nodes",
            "test_slurm_runs.py::test_two_jobs_at_once_do_not_meet",
        )
    ),
    "SLURM: ends": Alike(
        (
            "test_slurm_runs.py::test_a_failing_rank_ends_the_job_with_its_code",
            "test_slurm_runs.py::test_another_shape_is_refused_by_the_script",
            "test_slurm_runs.py::test_it_saves_requeues_and_continues",
            "test_slurm_runs.py::test_torchtitan_saves_requeues_and_continues",
        )
    ),
    "DeepSpeed trains": Alike(("test_smoke_deepspeed.py::test_layouts_train[",)),
    "DeepSpeed trains adapters": Alike(
        ("test_adapters_deepspeed.py::test_adapters_are_trained_saved_and_merged[zero",)
    ),
    "DeepSpeed trains adapters beside 4 bits": Alike(
        ("test_adapters_deepspeed.py::test_adapters_are_trained_saved_and_merged[4 bits",)
    ),
    "TRL trains under accelerate": Alike(
        (
            "test_adapters_accelerate.py::test_it_trains_and_what_it_saves_is_read[",
            "test_adapters_accelerate.py::test_told_to_end_it_saves_and_goes_on",
        )
    ),
    "DeepSpeed starts from weights": Alike(
        ("test_weights_deepspeed.py::test_the_first_loss_is_that_of_transformers[",), 2
    ),
    "Megatron-LM of several starts": Alike(
        (
            "test_megatron_stops.py::test_told_to_end_and_killed_it_goes_on_as_if_it_had_not_been[",
            "test_megatron_resumes.py::test_it_goes_on_in_another_layout_as_if_it_had_not_changed[",
            "test_megatron_resumes.py::test_a_job_that_is_not_elastic_is_refused_before_the_first_step[",
            "test_runs_megatron.py::test_stages_follow_and_jobs_do_not_meet[",
        )
    ),
    "Megatron-LM trains": Alike(("test_smoke_megatron.py::test_layouts_train[",)),
    "Megatron-LM begins with weights": Alike(
        ("test_weights_megatron.py::test_training_begins_with_the_loss_of_the_weights[",)
    ),
    "torchtitan 0.2.2 trains": Alike(("test_smoke_torchtitan.py::test_layouts_train[",)),
    "torchtitan 0.3.0 trains": Alike(("test_smoke_torchtitan_python.py::test_layouts_train[",)),
    "torchtitan starts from weights": Alike(
        (
            "test_torchtitan_trains.py::test_it_starts_from_hugging_faces_weights_and_a_pipeline_changes"
            "_nothing[",
        )
    ),
    "torchtitan 0.2.0 computes": Alike(
        (
            "test_forward_torchtitan.py::test_loss_and_gradients_are_those_of_transformers[torchtitan-0.2.0]",
            "test_forward_torchtitan.py::test_another_model_is_told_apart[torchtitan-0.2.0]",
            "test_forward_torchtitan.py::test_first_weights_are_the_jobs[torchtitan-0.2.0]",
        )
    ),
    "torchtitan's orders of passes": Alike(
        ("test_torchtitan_trains.py::test_an_order_trains_as_no_pipeline_does[",), 2
    ),
    "torchtitan's rates": Alike(
        ("test_torchtitan_trains.py::test_rates_are_the_asked_ones_at_every_step[",), 2
    ),
    "torchtitan evaluates": Alike(
        ("test_torchtitan_trains.py::test_it_evaluates_on_what_was_asked[",)
    ),
    "recomputing": Alike(
        (
            "test_smoke_deepspeed.py::test_recomputing_changes_no_loss",
            "test_smoke_torchtitan.py::test_recomputing_changes_no_loss",
        )
    ),
    "DeepSpeed: stages follow, jobs do not meet": Alike(
        ("test_runs_deepspeed.py::test_stages_follow_and_jobs_do_not_meet[",)
    ),
    "DeepSpeed: a stage carries all": Alike(
        ("test_runs_deepspeed.py::test_a_stage_that_carries_all_goes_on_as_one_training[",)
    ),
    "from a folder to a falling loss": Alike(
        (
            "test_tutorial.py::test_the_tutorial_ends_with_a_falling_loss",
            "test_site_loop.py::test_measure_plan_trials_calibrate_plan",
        )
    ),
    "Ray: ends": Alike(
        (
            "test_ray_nodes.py::test_when_one_fails_the_other_saves_and_its_status_is_the_jobs",
            "test_ray_nodes.py::test_all_save_when_it_is_stopped",
            "test_ray_nodes.py::test_all_save_when_a_pod_is_about_to_end",
        )
    ),
    "mpirun: ends": Alike(("test_mpirun_starts.py::test_all_save_when_it_is_stopped[",)),
    "a run of several starts": Alike(
        (
            "test_smoke_deepspeed.py::test_a_killed_run_goes_on_as_if_it_had_not_been[",
            "test_smoke_deepspeed.py::test_a_run_that_is_told_to_end_goes_on_at_the_next_step[",
            "test_smoke_deepspeed.py::test_a_secondary_partition_trains_over_two_nodes",
        )
    ),
    "torchtitan of several starts": Alike(
        (
            "test_torchtitan_stops.py::test_told_to_end_it_saves_and_goes_on_at_the_next_step[",
            "test_torchtitan_stops.py::test_killed_it_goes_on_from_its_last_interval[",
        )
    ),
    "what `parc smoke` leaves": Alike(
        (
            "test_smoke_leaves_nothing.py::test_after_success",
            "test_smoke_leaves_nothing.py::test_after_failure",
            "test_smoke_leaves_nothing.py::test_after_the_time_was_up",
        )
    ),
    "what a signal to `parc smoke` leaves": Alike(
        ("test_smoke_leaves_nothing.py::test_after_a_signal[",)
    ),
    "torchtitan in another layout": Alike(
        ("test_torchtitan_resumes.py::test_it_goes_on_in_another_layout_as_if_it_had_not_changed[",)
    ),
    "DeepSpeed in another layout": Alike(
        (
            "test_deepspeed_resumes.py::test_it_goes_on_in_another_layout_as_if_it_had_not_changed[",
            "test_deepspeed_resumes.py::test_stages_1_and_2_read_each_other_as_they_are",
        )
    ),
    "DeepSpeed refuses another layout": Alike(
        ("test_deepspeed_resumes.py::test_what_cannot_go_on_ends_before_the_first_step[",)
    ),
    "traffic of DeepSpeed": Alike(
        ("test_traffic.py::test_gradients_and_weights_travel_as_priced[deepspeed",)
    ),
    "traffic of torchtitan": Alike(
        ("test_traffic.py::test_gradients_and_weights_travel_as_priced[torchtitan",)
    ),
}


def left_out(names: Sequence[str], seed: int) -> dict[str, list[str]]:
    """By kind, the names `file.py::test[case]` that a sample of this seed does not run."""
    found = {}
    for kind, alike in KINDS.items():
        of_kind = sorted(name for name in names if name.startswith(alike.names))
        Random(f"{kind} {seed}").shuffle(of_kind)
        if of_kind[alike.drawn :]:
            found[kind] = of_kind[alike.drawn :]
    return found


def seed_of_commit() -> int | None:
    """Changes with the commit that is checked out; None where git knows of none."""
    command = ["git", "-C", str(TREE), "rev-parse", "HEAD"]
    try:
        said = subprocess.run(command, text=True, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(said[:8], 16)
