"""Logs: real ones, and such as each framework would print, are read as what ran."""

from __future__ import annotations

import random
from statistics import median

import pytest

from parc.backends import BACKENDS
from parc.backends.log import Pace, RunLog
from parc.calibrate.steady_state import steady_state
from tests.support.paths import CASES
from tests.support.simulated_logs import RUNS, log_text

LOGS = CASES / "logs"


def read(target: str, text: str) -> RunLog:
    log = BACKENDS[target].reader.log(text)
    assert log is not None
    return log


@pytest.mark.parametrize("name", RUNS)
def test_a_log_says_what_ran(name: str) -> None:
    ran = RUNS[name]
    log = read(ran.target, log_text(ran, [9.0, 2.0, 1.5, 1.25]))
    known = {**log.assumed, **log.layout}
    expected = {**ran.layout.model_dump(), "gpus": ran.gpus, "dp": ran.layout.dp}
    assert {key: expected[key] for key in known if key in expected} == {
        key: value for key, value in known.items() if key in expected
    }
    assert known.keys() >= {"micro_batch", "recompute", "zero", "dp_shard", "gpus", "pp"}
    assert log.train["global_batch"] == ran.global_batch and log.train["seq_len"] == ran.seq_len
    assert log.clashes == () and len(log.paces) == 4


@pytest.mark.parametrize("name", RUNS)
def test_only_its_own_framework_reads_a_log(name: str) -> None:
    ran = RUNS[name]
    text = log_text(ran, [1.0, 1.0, 1.0])
    assert [target for target in BACKENDS if BACKENDS[target].reader.log(text)] == [ran.target]


@pytest.mark.parametrize("prefix", ["[rank0]:", "[rank0]: ", "[default3]:", " 7: ", "12: "])
@pytest.mark.parametrize("name", ["tp2", "fsdp", "zero3"])
def test_names_of_ranks_and_other_line_ends_change_nothing(name: str, prefix: str) -> None:
    ran = RUNS[name]
    text = log_text(ran, [9.0, 2.0, 1.5, 1.25])
    named = "\r\n".join(prefix + line for line in text.splitlines())
    plain, other = read(ran.target, text), read(ran.target, named)
    assert (other.paces, other.layout, other.train) == (plain.paces, plain.layout, plain.train)


def test_memory_that_torchtitan_reserved() -> None:
    line = "step: {}  loss: 2.3  grad_norm: 1.0  memory: {}GiB(50.00%)  tps: 990  tflops: 1.0\n"
    text = "".join(line.format(*each) for each in ((1, "40.50"), (2, "41.25"), (3, "41.00")))
    assert read("torchtitan", text).reserved == 41.25 * 2**30
    assert read("torchtitan", line.format(1, "-0.00")).reserved is None


@pytest.mark.parametrize("prefix", ["", "[rank3]:"])
def test_timers_of_megatron(prefix: str) -> None:
    """The slowest rank's, in either form, without the first report."""
    text = log_text(RUNS["tp2"], [9.0, 2.0, 1.5])
    for name, told in (("forward-backward", "9.00"), ("forward-backward", "(7.00, 8.50)")):
        text += f"\n{prefix}    {name + ' ':.<48}: {told}\n{prefix}    {'optimizer ':.<48}: 2.00\n"
    assert read("megatron", text).timers == {"passes": 0.0085, "optimizer": 0.002}


def test_timers_of_deepspeed() -> None:
    """Two ranks on a CPU, DeepSpeed 0.19.8 with `wall_clock_breakdown`: all steps but the first."""
    log = read("deepspeed", (LOGS / "deepspeed_timers.log").read_text())
    # Forward and backward of the steps 2 to 8: 192.26, 201.82, 219.58, 208.27, 200.70, 205.22, 249.17.
    assert log.timers == {"passes": pytest.approx(0.20522), "optimizer": pytest.approx(0.01322)}
    told = sum(log.timers.values())
    assert told == pytest.approx(median(pace.value for pace in log.paces[1:]), rel=0.06)


def test_a_real_log_of_torchtitan() -> None:
    """Two ranks on a CPU, torchtitan 0.2.2: both print every line, in colour."""
    log = read("torchtitan", (LOGS / "torchtitan.log").read_text())
    assert log.layout == {
        "tp": 1, "pp": 1, "cp": 1, "ep": 1, "etp": 1, "dp": 2, "gpus": 2, "dp_shard": 2,
        "recompute": 2, "micro_batch": 1, "vpp": 1,
    }  # fmt: skip
    assert log.train == {"global_batch": 4, "seq_len": 128, "compile": False}
    assert log.model == {"layers": 2, "hidden": 256, "heads": 32, "kv_heads": 8}
    assert log.paces[:3] == (Pace(1, 182.0), Pace(2, 589.5), Pace(3, 723.5)) and len(log.paces) == 6


def test_a_real_log_of_deepspeed() -> None:
    """One process on a CPU, DeepSpeed 0.19.8 with its logger at INFO; its own report and parc's."""
    text = (LOGS / "deepspeed.log").read_text()
    log = read("deepspeed", text)
    assert log.layout == {"micro_batch": 2, "microbatches": 4, "zero": 1, "offload": 0}
    assert log.train == {"global_batch": 8, "precision": "bf16"}
    assert log.paces[:2] == (Pace(1, 0.103), Pace(2, 0.037)) and len(log.paces) == 8
    assert log.step_tokens == pytest.approx(8 * 64, rel=0.01)
    own = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("step"))
    timer = read("deepspeed", own)
    assert timer.unit == "sequences/s" and timer.paces[0] == Pace(4, 220.02589636915076)


def test_a_real_log_of_parcs_own_train_py() -> None:
    """One process on a CPU, DeepSpeed 0.19.8: the line that says the layout, and eight steps."""
    log = read("deepspeed", (LOGS / "deepspeed_parc.log").read_text())
    assert log.layout == {
        "pp": 1, "cp": 1, "dp_shard": 1, "zero": 1, "hpz": 1, "recompute": 2, "offload": 0,
        "gpus": 1, "micro_batch": 2,
    }  # fmt: skip
    assert log.train == {"global_batch": 8, "seq_len": 64}
    assert log.paces[:2] == (Pace(1, 0.281), Pace(2, 0.176)) and len(log.paces) == 8


def test_offload_is_not_overlooked() -> None:
    """The compiler does not price it on these targets: a log with it is then refused, not mispriced."""
    text = log_text(RUNS["tp1"], [1.0] * 4)
    more = text.replace("  fp16 ", f"  optimizer_cpu_offload {'.' * 27} True\n  fp16 ", 1)
    assert read("megatron", more).layout["offload"] == 1
    titan = log_text(RUNS["fsdp"], [1.0] * 4).replace("Applied FSDP", "Applied CPU Offloading")
    assert read("torchtitan", titan).layout["offload"] == 2


def test_deepspeed_pipelines_report_their_own_way() -> None:
    line = "steps: {} loss: 2.1234 iter time (s): 1.250 samples/sec: 102.400\n"
    log = read("deepspeed", "".join(line.format(step) for step in (10, 20)))
    assert log.paces == (Pace(10, 1.25), Pace(20, 1.25)) and log.train == {"global_batch": 128}


def test_megatron_without_arguments_and_with_a_ramp_up() -> None:
    """A log whose beginning is lost still tells times; a growing batch counts at its end."""
    text = log_text(RUNS["tp1"], [2.0, 2.0, 2.0])
    lines = [line for line in text.splitlines() if " iteration " in line]
    small = lines[0].replace("global batch size:   128", "global batch size:    32")
    log = read("megatron", "\n".join([small, *lines[1:]]))
    assert log.layout == {} and log.train == {"global_batch": 128}
    assert [pace.step for pace in log.paces] == [20, 30]


def test_two_runs_in_one_log_are_told() -> None:
    both = [log_text(RUNS[name], [1.0] * 6) for name in ("tp1", "tp2")]
    assert "tp is 1 and 2" in read("megatron", "".join(both)).clashes
    both = [log_text(RUNS[name], [1.0] * 6) for name in ("fsdp", "stages")]
    assert any("pp" in clash for clash in read("torchtitan", "".join(both)).clashes)


def test_virtual_stages_and_partial_recomputation_of_megatron() -> None:
    text = log_text(RUNS["tp1"], [1.0] * 4)
    for name, value in {
        "recompute_granularity": "full",
        "recompute_method": "block",
        "recompute_num_layers": "3",
        "virtual_pipeline_model_parallel_size": "4",
        "pipeline_model_parallel_layout": "Et*3|t*3L",
        "fp8": "hybrid",
    }.items():
        head, _, rest = text.partition(f"  {name} .")
        text = f"{head}  {name} {'.' * (48 - len(name))} {value}\n{rest.partition(chr(10))[2]}"
    log = read("megatron", text)
    layout = log.layout
    assert (layout["recompute"], layout["recompute_layers"], layout["vpp"]) == (2, 3, 4)
    assert log.uneven and log.train["precision"] == "fp8"
    fine = (
        text.replace(" full\n", " selective\n") + " 0:   recompute_modules ..... ['mla_up_proj']\n"
    )
    latent = fine + " 0:   multi_latent_attention ..... True\n"
    assert [read("megatron", said).layout["recompute"] for said in (fine, latent)] == [1, 3]
    none = f"num_experts {'.' * 37} None"
    whole = fine.replace("mla_up_proj", "moe").replace(none, none.replace("None", "8"))
    assert none in fine
    assert read("megatron", whole).layout["recompute"] == 4
    assert read("megatron", text.replace("  fp8 .", "  fp4 .")).train["precision"] == "nvfp4"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "Traceback (most recent call last):",
        "step: x",
        "iteration 1/ 2 | elapsed",
        "{" * 5000,
    ],
)
@pytest.mark.parametrize("target", BACKENDS)
def test_other_text_is_no_log(target: str, text: str) -> None:
    assert BACKENDS[target].reader.log(text) is None


@pytest.mark.parametrize("target", BACKENDS)
def test_absurd_numbers_do_not_break_a_reader(target: str) -> None:
    """Digits beyond any count, and JSON that nests without end."""
    ran = next(ran for ran in RUNS.values() if ran.target == target)
    text = log_text(ran, [1.0] * 4)
    read = BACKENDS[target].reader.log
    sound = read(text)
    assert sound is not None
    absurd = {text.replace(old, "9" * 6000) for old in ("4096", "=8", " 1.0", "128")} - {text}
    assert len(absurd) > 1
    assert any(read(each) != sound for each in (*absurd, text.replace("{", "{[" * 9000)))


def test_the_steady_time_leaves_out_what_is_not_steady() -> None:
    found = steady_state(
        [(1, 90.0), (2, 20.0), *((step, 10.0) for step in range(3, 20)), (20, 55.0)]
    )
    assert found is not None and found.seconds == 10.0 and found.spread == 0.0
    assert found.dropped == 4 and found.reports == 16


def test_a_restart_warms_up_again() -> None:
    steps = [(step, 10.0) for step in range(1, 11)] + [(6, 80.0), (7, 40.0), (8, 10.0)]
    found = steady_state(steps)
    assert found is not None and found.dropped == 5 and found.spread == 0.0


def test_too_few_steps_are_none() -> None:
    assert steady_state([(step, 1.0) for step in range(1, 5)]) is None and steady_state([]) is None


@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-20T09:05:5{}.621Z ",
        "2026-11-20T09:05:5{}.6+00:00 stdout F ",
        "[pod/train-0/pytorch] ",
        "train-1  | ",
        "Nov 20 09:05:5{} node7 torchrun[1234]: ",
        "10.1.2.3: ",
        "3: [rank27]:",
        "\x1b]0;title\x07\x1b[?25l\x1b[2K",
    ],
)
@pytest.mark.parametrize("name", ["tp2", "fsdp", "zero3", "own"])
def test_what_stands_before_every_line_changes_nothing(name: str, prefix: str) -> None:
    """Times and names that Docker, Kubernetes, journald and pdsh put there, also inside a configuration."""
    text = (LOGS / "deepspeed.log").read_text() if name == "own" else ""
    text = text or log_text(RUNS[name], [9.0, 2.0, 1.5, 1.25])
    target = "deepspeed" if name == "own" else RUNS[name].target
    named = "".join(
        prefix.format(number % 10) + line for number, line in enumerate(text.splitlines(True))
    )
    plain, other = read(target, text), read(target, named + "\n")
    assert (other.paces, other.layout, other.train) == (plain.paces, plain.layout, plain.train)
    assert (other.model, other.stack, other.clashes) == (plain.model, plain.stack, ())


def test_ranks_that_come_late_are_no_restart() -> None:
    """Eight ranks, each up to three steps behind the first, in one file."""
    dice = random.Random(4)
    lines = [
        line for line in log_text(RUNS["tp2"], [2.0] * 40).splitlines() if " iteration " in line
    ]
    late = [dice.uniform(0, 3) for _ in range(8)]
    order = sorted((step + lag, step) for step in range(40) for lag in late)
    log = read("megatron", "\n".join(lines[step] for _, step in order) + "\n")
    assert [pace.step for pace in log.paces] == [10 * step for step in range(1, 41)]


def test_figures_with_a_comma_for_a_point_are_not_cut_short() -> None:
    """`12,5` is not 12: such a report is left out."""
    lines = {
        "torchtitan": "step: {}  loss: 2.3  grad_norm: 1.0  memory: 9.5GiB(5%)  tps: {}  tflops: 1\n",
        "deepspeed": "steps: {} loss: 2.1234 iter time (s): {} samples/sec: 102.400\n",
    }
    for target, line in lines.items():
        for wrong in ("12,5", "10.840.1", "nan", "-3.0", "inf"):
            assert BACKENDS[target].reader.log(line.format(1, wrong)) is None
    timer = (
        "global_step={}, RunningAvgSamplesPerSec=1.5, CurrSamplesPerSec={}, MemAllocated=0.4GB\n"
    )
    assert BACKENDS["deepspeed"].reader.log(timer.format(1, "14,25")) is None
    assert read("deepspeed", timer.format(1, "14.25")).paces == (Pace(1, 14.25),)


@pytest.mark.parametrize(
    ("name", "before", "after", "clash"),
    [
        ("tp2", "use_distributed_optimizer ....................... True",
         "use_distributed_optimizer ....................... False", "zero is 1 and 0"),
        ("tp2", "fp8 ............................................. None",
         "fp8 ............................................. hybrid", "precision is bf16 and fp8"),
        ("fsdp", "Applied full", "Applied selective", "recompute is full and selective"),
        ("fsdp", '"n_layers": 32', '"n_layers": 16', "layers is 32 and 16"),
        ("own", '"stage": 1', '"stage": 3', "zero is 1 and 3"),
        ("own", '"train_batch_size": 8', '"train_batch_size": 16', "global_batch is 8 and 16"),
    ],
)  # fmt: skip
def test_a_restart_with_other_settings_is_told(
    name: str, before: str, after: str, clash: str
) -> None:
    text = (LOGS / "deepspeed.log").read_text() if name == "own" else ""
    text = text or log_text(RUNS[name], [1.0] * 6)
    target = "deepspeed" if name == "own" else RUNS[name].target
    assert before in text and read(target, text + text).clashes == ()
    assert clash in read(target, text + text.replace(before, after)).clashes
