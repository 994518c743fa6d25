"""Reads cases from stdin, prints for each the passes of all ranks as torch's schedules order them.

A case: schedule (torch's name), pp, vpp, microbatches. A pass: kind, chunk, micro-batch. The schedules work
out their orders in methods that need no process group, called here on objects that have what these read.
"""

import json
import sys
from typing import Any

from torch.distributed.pipelining import schedules

KINDS = {"FORWARD": 0, "FULL_BACKWARD": 1, "BACKWARD_INPUT": 2, "BACKWARD_WEIGHT": 3}


def passes(case: dict[str, Any]) -> list[list[list[int]]]:
    kind = schedules.get_schedule_class(case["schedule"])
    listed = single if issubclass(kind, schedules.PipelineScheduleSingle) else multi
    found = listed(kind, case)
    pp = case["pp"]
    return [[each for action in found[rank] for each in words(action, pp)] for rank in range(pp)]


def single(kind: Any, case: dict[str, Any]) -> Any:
    schedule = object.__new__(kind)
    schedule._num_stages, schedule._n_microbatches = case["pp"], case["microbatches"]
    return schedule._get_pipeline_order()


def multi(kind: Any, case: dict[str, Any]) -> Any:
    pp, vpp, microbatches = case["pp"], case["vpp"], case["microbatches"]
    schedule = object.__new__(kind)
    schedule.pp_group_size, schedule.n_local_stages = pp, vpp
    schedule._n_microbatches, schedule._stages = microbatches, [None] * vpp
    schedule.num_stages = schedule._num_stages = pp * vpp
    schedule.number_of_rounds = max(1, microbatches // pp)
    schedule.microbatches_per_round = microbatches // schedule.number_of_rounds
    order = {rank: schedule._calculate_single_rank_operations(rank) for rank in range(pp)}
    if kind is schedules.ScheduleInterleavedZeroBubble:
        schedule.pipeline_order = order
        return schedule._add_bubbles_to_actions(pp * vpp)
    return order


def words(action: Any, pp: int) -> list[list[int]]:
    if action is None:
        return []
    if action.sub_actions:
        return [each for part in action.sub_actions for each in words(part, pp)]
    kind = action.computation_type.name
    if kind not in KINDS:
        return []
    return [[KINDS[kind], action.stage_index // pp, action.microbatch_index]]


print(json.dumps([passes(case) for case in json.load(sys.stdin)]))
