"""Small jobs as text: whatever the language can say of a goal, on each target, drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.solver_and_sweep import DENSE, LATENT, MOE, TARGETS, text_of

DEGREES = ("tp", "pp", "vpp", "cp", "ep", "etp", "dp", "dp_replicate", "dp_shard", "zero", "gpus")
COUNTS = ("micro_batch", "microbatches", "recompute_layers", "hpz", "nodes")
WORDS = (
    "recompute == none",
    "recompute in {selective, full}",
    "recompute != full",
    "schedule == 1f1b",
    "schedule == interleaved",
    "offload == none",
    "offload in {none, optimizer}",
)
#: Quantities with bounds around what small jobs reach.
BOUNDS = {
    "memory": ("2 GiB", "6 GiB", "10%", "50%", "tp * 3 GiB", "20 GiB / pp"),
    "mfu": ("5%", "20%", "30%", "tp / 20", "0"),
    "hfu": ("5%", "20%", "35%", "1 / pp"),
    "step_time": ("100 ms", "300 ms", "1 s", "0.1 s * pp", "0 s"),
    "tokens_per_second": ("100K tokens/s", "500K tokens/s", "dp * 50K tokens/s"),
    "days": ("0.001 d", "0.01 d", "nodes * 0.002 d"),
    "cost": ("1 $", "5 $", "nodes * 3 $"),
    "energy": ("1 kWh", "3 kWh", "nodes * 1 kWh"),
    "bubble": ("0", "2%", "10%", "1 / microbatches", "pp / 50"),
    "risk": ("0", "1%", "50%", "100%", "0.1 / pp"),
}
OBJECTIVES = (
    "maximize mfu",
    "maximize tokens_per_second",
    "minimize step_time",
    "minimize cost",
    "minimize energy",
    "minimize days",
    "minimize gpus",
    "minimize memory",
    "minimize bubble",
)


@st.composite
def atoms(draw: st.DrawFn) -> str:
    one, other = draw(st.sampled_from(DEGREES)), draw(st.sampled_from((*DEGREES, *COUNTS)))
    op, number = draw(st.sampled_from(("<", "<=", ">", ">=", "==", "!="))), draw(st.integers(0, 9))
    quantity = draw(st.sampled_from(tuple(BOUNDS)))
    bound = draw(st.sampled_from(BOUNDS[quantity]))
    side = draw(st.sampled_from(("<", "<=", ">", ">=")))
    forms = (
        f"{other} {op} {2 ** (number // 2)}",
        f"{other} in {{1, 2, {number}}}",
        f"{other} not in 2..{number + 2}",
        f"{one} * {other} {op} {number}",
        f"max({one}, {other}) {op} min({number}, {one} + 2)",
        f"{one} % {number + 1} == 0",
        f"ceil({one} / {number + 1}) {op} log2({other})",
        draw(st.sampled_from(WORDS)),
        f"{quantity} {side} {bound}",
        f"{bound} {side} {quantity}",
    )
    return draw(st.sampled_from(forms))


@st.composite
def conditions(draw: st.DrawFn) -> str:
    first, second = draw(atoms()), draw(atoms())
    shape = draw(st.sampled_from(("{0}", "{0}", "not {0}", "{0} or {1}", "{0} and {1}")))
    return shape.format(f"({first})", f"({second})")


@st.composite
def goals(draw: st.DrawFn) -> str:
    clauses = draw(st.lists(st.sampled_from(OBJECTIVES), max_size=2, unique=True))
    kinds = st.sampled_from(("require", "forbid", "prefer"))
    for condition in draw(st.lists(conditions(), max_size=2)):
        clauses.append(f"{draw(kinds)} {condition}")
    if draw(st.booleans()):
        clauses.append(f"within = {draw(st.sampled_from(('0%', '0.5%', '5%', '20%')))}")
    return "\n".join(clauses)


@st.composite
def jobs(draw: st.DrawFn) -> str:
    model = dict(draw(st.sampled_from((DENSE, DENSE, MOE, LATENT))))
    model["layers"] = draw(st.integers(2, 13))
    heads = draw(st.sampled_from((6, 8, 12, 16)))
    model |= {"heads": heads, "hidden": 64 * heads * draw(st.sampled_from((1, 2, 3)))}
    if "kv_heads" in model:
        model["kv_heads"] = draw(st.sampled_from((1, heads // 2, heads)))
    nodes = draw(st.sampled_from(("1", "2", "3", "1..3", "2..4")))
    cluster: dict[str, object] = {
        "nodes": nodes,
        "gpus_per_node": draw(st.sampled_from((1, 2, 6, 8))),
    }
    if draw(st.booleans()):
        cluster["price"] = "2 $/h"
    if draw(st.booleans()):
        cluster |= {"gpu_mtbf": draw(st.sampled_from(("1 h", "2 d", "2000 d")))}
        cluster |= {"storage_bandwidth": "50 MB/s", "restart_time": "10 min"}
    train = {
        "seq_len": draw(st.sampled_from((512, 1000, 2048, 2048))),
        "global_batch": draw(st.sampled_from((6, 16, 48, 64))),
        "steps": 1000,
        "attention": draw(st.sampled_from(("flash", "flash", "unfused"))),
    }
    return text_of(
        draw(goals()),
        target=draw(st.sampled_from(TARGETS)),
        model=model,
        memory=draw(st.sampled_from(("4 GiB", "12 GiB", "80 GiB", "80 GiB"))),
        cluster=cluster,
        train=train,
    )
