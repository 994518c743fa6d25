"""A seed -> the sample that CI runs: few generated jobs, and some of the tests that stand for one another."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tests.acceptance.support.environments import TREE

#: After which a sample begins no other test: CI has 90 minutes for it and `make test`, on machines that are
#: several times slower than others.
SAMPLE_MINUTES = 25
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
    """Units that stand for one another, and how many of them a sample runs.

    A text is a unit for each test whose name begins with it; a tuple of texts is one unit, of all tests that
    begin with any of them: they share a costly start or an environment.
    """

    units: tuple[str | tuple[str, ...], ...]
    drawn: int = 1


def _accepted(release: str) -> tuple[str, ...]:
    """Tests of the generated jobs of a release of torchtitan."""
    names = (
        "enough_jobs_have_a_layout",
        "every_job_is_accepted",
        "stages_and_micro_batches_are_the_plans",
        "parameter_bytes_are_the_plans",
    )
    return tuple(f"test_torchtitan_accepts.py::test_{name}[torchtitan-{release}]" for name in names)


def _computed(release: str) -> tuple[str, ...]:
    """Tests of the models of std that a release of torchtitan builds."""
    names = (
        "loss_and_gradients_are_those_of_transformers",
        "another_model_is_told_apart",
        "first_weights_are_the_jobs",
    )
    return tuple(f"test_forward_torchtitan.py::test_{name}[torchtitan-{release}]" for name in names)


RELEASES = ("0.2.0", "0.2.2", "0.3.0")
#: A test that is of none of these kinds always runs.
KINDS = {
    "releases of torchtitan": Alike(tuple(map(_accepted, RELEASES))),
    "models computed": Alike(
        (
            ("test_forward_deepspeed.py::",),
            ("test_forward_megatron.py::",),
            *map(_computed, RELEASES),
        ),
        2,
    ),
    "extra": Alike(
        ("test_extra_is_judged.py::test_the_framework_agrees[", ("test_extra_pairs.py::",))
    ),
    "launches that work": Alike(("test_lint_is_certain.py::test_what_works_passes[",)),
    "launches that stop": Alike(("test_lint_is_certain.py::test_what_stops_fails[",)),
    "broken emitters": Alike(("test_broken_emitters.py::test_a_framework_finds_each_change[",), 2),
    "refused layouts": Alike(("test_refusals_are_real.py::test_the_framework_refuses_it_too[",), 2),
    "options of releases": Alike(
        ("test_released_options.py::test_rows_are_those_of_the_installed_release[",), 2
    ),
    "what prices rest on": Alike(
        (
            "test_host_time.py::test_a_layer_takes_the_host_about_as_long_as_priced[",
            "test_traffic.py::test_gradients_and_weights_travel_as_priced[",
            ("test_hugging_face_models.py::",),
            ("test_torch_schedules.py::",),
        ),
        2,
    ),
    "what is left behind": Alike(
        (
            "test_leaves_nothing.py::test_nothing_is_left[",
            "test_smoke_leaves_nothing.py::test_after_success",
            "test_smoke_leaves_nothing.py::test_after_failure",
            "test_smoke_leaves_nothing.py::test_after_the_time_was_up",
            "test_smoke_leaves_nothing.py::test_after_a_signal[",
        ),
        2,
    ),
    "nodes of SLURM": Alike(
        (
            "test_slurm_runs.py::test_deepspeed_trains_over_two_nodes",
            "test_slurm_runs.py::test_torchtitan_trains_over_two_nodes",
            "test_slurm_runs.py::test_two_jobs_at_once_do_not_meet",
            "test_slurm_runs.py::test_a_failing_rank_ends_the_job_with_its_code",
            "test_slurm_runs.py::test_another_shape_is_refused_by_the_script",
            "test_slurm_runs.py::test_it_saves_requeues_and_continues",
            "test_slurm_runs.py::test_torchtitan_saves_requeues_and_continues",
            "test_slurm_judges.py::test_what_would_come_back_is_started_once[",
            "test_slurm_judges.py::test_an_unknown_failure_without_a_checkpoint_is_started_twice",
            "test_slurm_judges.py::test_a_node_that_failed_twice_is_left_out",
            "test_slurm_judges.py::test_a_node_that_is_lost_is_told_and_slurm_starts_it_again",
            "test_health_check.py::test_sound_nodes_train_and_others_are_named",
        ),
        3,
    ),
    "other starters": Alike(
        (
            ("test_ray_nodes.py::",),
            ("test_sweep_on_ray.py::",),
            ("test_mpirun_starts.py::",),
            ("test_skypilot_accepts.py::",),
        )
    ),
    "measure": Alike(("test_measure.py::",), 2),
    "from a folder to a falling loss": Alike(
        (
            "test_tutorial.py::test_the_tutorial_ends_with_a_falling_loss",
            "test_site_loop.py::test_measure_plan_trials_calibrate_plan",
            "test_site_loop.py::test_the_array_runs_a_trial_in_its_folder",
            "test_smoke_stages.py::test_a_stage_begins_where_the_one_before_ended",
        )
    ),
    "DeepSpeed trains": Alike(("test_smoke_deepspeed.py::test_layouts_train[",)),
    "DeepSpeed trains adapters": Alike(
        (
            "test_adapters_deepspeed.py::test_adapters_are_trained_saved_and_merged[",
            "test_adapters_deepspeed.py::test_the_ledger_is_what_the_libraries_hold",
        )
    ),
    "TRL trains under accelerate": Alike(
        (
            "test_adapters_accelerate.py::test_it_trains_and_what_it_saves_is_read[",
            "test_adapters_accelerate.py::test_told_to_end_it_saves_and_goes_on",
        )
    ),
    "DeepSpeed starts from weights": Alike(
        ("test_weights_deepspeed.py::test_the_first_loss_is_that_of_transformers[",)
    ),
    "DeepSpeed of several starts": Alike(
        (
            "test_smoke_deepspeed.py::test_a_killed_run_goes_on_as_if_it_had_not_been[",
            "test_smoke_deepspeed.py::test_a_run_that_is_told_to_end_goes_on_at_the_next_step[",
            "test_smoke_deepspeed.py::test_a_secondary_partition_trains_over_two_nodes",
            "test_deepspeed_resumes.py::test_it_goes_on_in_another_layout_as_if_it_had_not_changed[",
            "test_deepspeed_resumes.py::test_stages_1_and_2_read_each_other_as_they_are",
            "test_deepspeed_resumes.py::test_what_cannot_go_on_ends_before_the_first_step[",
            "test_runs_deepspeed.py::test_stages_follow_and_jobs_do_not_meet[",
            "test_runs_deepspeed.py::test_a_stage_that_carries_all_goes_on_as_one_training[",
        )
    ),
    "Megatron-LM of several starts": Alike(
        (
            "test_megatron_stops.py::test_told_to_end_and_killed_it_goes_on_as_if_it_had_not_been[",
            "test_megatron_resumes.py::test_it_goes_on_in_another_layout_as_if_it_had_not_changed[",
            "test_megatron_resumes.py::test_a_job_that_is_not_elastic_is_refused_before_the_first_step[",
            "test_runs_megatron.py::test_stages_follow_and_jobs_do_not_meet[",
            "test_runs_megatron.py::test_a_stage_that_carries_all_goes_on_as_one_training",
        )
    ),
    "torchtitan of several starts": Alike(
        (
            "test_torchtitan_stops.py::test_told_to_end_it_saves_and_goes_on_at_the_next_step[",
            "test_torchtitan_stops.py::test_killed_it_goes_on_from_its_last_interval[",
            "test_torchtitan_resumes.py::test_it_goes_on_in_another_layout_as_if_it_had_not_changed[",
            "test_torchtitan_resumes.py::test_a_job_that_is_not_elastic_is_refused_by_torchtitan",
            "test_runs_torchtitan.py::test_stages_follow_and_jobs_do_not_meet",
            "test_runs_torchtitan.py::test_a_stage_that_carries_all_goes_on_as_one_training",
        )
    ),
    "Megatron-LM trains": Alike(("test_smoke_megatron.py::test_layouts_train[",)),
    "Megatron-LM begins with weights": Alike(
        ("test_weights_megatron.py::test_training_begins_with_the_loss_of_the_weights[",)
    ),
    "Megatron-LM keeps": Alike(("test_megatron_keeps.py::",), 4),
    "torchtitan trains": Alike(
        (
            "test_smoke_torchtitan.py::test_layouts_train[",
            "test_smoke_torchtitan_python.py::test_layouts_train[",
        )
    ),
    "what a setting changes": Alike(
        (
            "test_torchtitan_trains.py::",
            "test_smoke_deepspeed.py::test_recomputing_changes_no_loss",
            "test_smoke_torchtitan.py::test_recomputing_changes_no_loss",
            "test_run_deepspeed.py::test_all_settings_train_alike_in_both_ways",
        ),
        2,
    ),
}


def left_out(names: Sequence[str], seed: int) -> dict[str, list[str]]:
    """By kind, the names `file.py::test[case]` that a sample of this seed does not run."""
    found = {}
    for kind, alike in KINDS.items():
        units = sorted(each for unit in alike.units for each in _matched(unit, names))
        Random(f"{kind} {seed}").shuffle(units)
        if units[alike.drawn :]:
            found[kind] = [name for unit in units[alike.drawn :] for name in unit]
    return found


def accepts(file: str) -> bool:
    """Whether a file has frameworks accept generated jobs, which no lack of time leaves out."""
    return file.endswith("_accepts.py")


def place(file: str, seed: int) -> tuple[bool, float]:
    """Where a file of tests stands in a sample: jobs that frameworks accept first, others as drawn."""
    return not accepts(file), Random(f"{file} {seed}").random()


def _matched(unit: str | tuple[str, ...], names: Sequence[str]) -> list[list[str]]:
    """The tests of each unit that `unit` stands for."""
    of_it = sorted(name for name in names if name.startswith(unit))
    if isinstance(unit, str):
        return [[name] for name in of_it]
    return [of_it] if of_it else []


def seed_of_commit() -> int | None:
    """Changes with the commit that is checked out; None where git knows of none."""
    command = ["git", "-C", str(TREE), "rev-parse", "HEAD"]
    try:
        said = subprocess.run(command, text=True, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(said[:8], 16)
