"""A plan -> why it was chosen: what is next best, how sure the choice is, what was proven, what binds."""

from __future__ import annotations

from parc.compiler.explain.difference import difference
from parc.compiler.plan import Estimate, Layout, Measured, OtherSettings, Plan, Proof, Simulated
from parc.dsl.expression import COUNTED
from parc.dsl.open_settings import words_of

from ..ranking import objectives, value
from .words.layouts import layout_text, splitting
from .words.numbers import counted, risk, seconds
from .words.paragraphs import BELOW, BETWEEN, words

GIB = 2**30
#: The share by which a simulated step differs at least to be told.
SHOWN = 0.01
#: Quantities whose best is the fastest, the last two on a given number of GPUs.
OF_TIME, OF_GPUS = ("tokens_per_second", "step_time", "days"), ("mfu", "hfu")


def choice_text(plan: Plan) -> list[str]:
    """All of it, a label before each part."""
    return [
        *settings_lines(plan),
        *choice(plan),
        *expected_lines(plan.estimate.step_seconds, plan.measured),
        *simulated_lines(plan),
        *_closest(plan),
        *doubt_lines(plan),
        *_proof(plan),
    ]


def settings_lines(plan: Plan) -> list[str]:
    """The chosen values of the settings that the job leaves open, and what every other choice would bring."""
    if not plan.settings:
        return []
    lines = words("  with    ", words_of(plan.settings))
    for other in plan.other_settings:
        changed = {
            name: word for name, word in other.settings.items() if word != plan.settings[name]
        }
        lines += words(BELOW, f"{words_of(changed)}: {_other_choice(plan, other)}")
    return lines


def _other_choice(plan: Plan, other: OtherSettings) -> str:
    if other.estimate is None:
        return other.why
    found = worse(plan, other.estimate)
    if " better " in found:
        found += f" ({within_noise(plan)})"
    changed = otherwise(plan, other.estimate)
    return f"{found}: {changed}" if changed else found


def within_noise(plan: Plan) -> str:
    """Why a layout that is predicted best is not the chosen one."""
    return f"differences under {plan.job.goal.within:.0%} are within model noise"


def choice(plan: Plan) -> list[str]:
    """Why this layout was chosen, and what that costs where another one is predicted best."""
    if plan.measured is not None and plan.measured.layouts:
        return _measured(plan, plan.measured)
    if plan.simulated is not None and plan.simulated.instead is not None:
        return _judged(plan, plan.simulated, plan.simulated.instead)
    if plan.best is None:
        return [f"  choice  {fastest(plan)} predicted"]
    slower = plan.estimate.step_seconds / plan.best.step_seconds - 1
    cost = f"{slower:.1%} faster" if slower > 0 else f"better in {objective(plan)[1]}"
    roomier = f"frees {plan.freed_bytes / GIB:.1f} GiB of the fullest GPU: roomier"
    return words(
        "  choice  ",
        f"{roomier if plan.freed_bytes else 'simpler'} than {layout_text(plan.best.layout)}, which is "
        f"predicted {cost}: {within_noise(plan)}",
    )


def _judged(plan: Plan, found: Simulated, instead: Layout) -> list[str]:
    """Where the simulator told layouts apart that closed forms hold as good."""
    longer = found.instead_seconds / found.step_seconds - 1
    return words(
        "  choice  ",
        f"simulated pass by pass {layout_text(instead)}, which is predicted as good within "
        f"{plan.job.goal.within:.0%}, takes {longer:.1%} longer",
    )


def expected_lines(predicted: float, measured: Measured | None) -> list[str]:
    """The time that a step which is predicted to take so many seconds is expected to take by runs on the
    cluster, where that is SHOWN or more off."""
    if measured is None or abs(measured.expected) < SHOWN:
        return []
    taken = seconds(predicted * (1 + measured.expected))
    runs = f"by {counted(measured.runs, 'run')} on this cluster"
    return words("  runs    ", f"{runs} a step takes {taken}, {_apart(measured.expected)}")


def simulated_lines(plan: Plan) -> list[str]:
    """By how much a simulated step differs from the predicted one, where that is SHOWN or more."""
    if plan.simulated is None:
        return []
    taken = plan.simulated.step_seconds
    apart = taken / plan.estimate.step_seconds - 1
    if abs(apart) < SHOWN:
        return []
    return words(
        "  passes  ", f"simulated one by one a step takes {seconds(taken)}, {_apart(apart)}"
    )


def _apart(share: float) -> str:
    return f"{abs(share):.1%} {'longer' if share > 0 else 'shorter'} than predicted"


def _measured(plan: Plan, measured: Measured) -> list[str]:
    """The outcome that runs on the cluster tell of the choice."""
    ran = f"{counted(measured.layouts, 'layout')} of this job ran"
    lines = words(
        "  choice  ", f"{ran}; this one {_took(measured.chosen)}{';' if plan.best else ''}"
    )
    if plan.best is not None:
        faster = plan.estimate.step_seconds / plan.best.step_seconds - 1
        fastest = f"{layout_text(plan.best.layout)}, predicted {faster:.1%} faster"
        lines += words(BELOW, f"{fastest}, {_took(measured.best)}")
    return lines


def objective(plan: Plan) -> tuple[str, str]:
    """The goal's first objective: its direction and its quantity."""
    return objectives(plan.job)[0]


def fastest(plan: Plan) -> str:
    """The aim of the chosen layout: `fastest` where the goal is one of time, else `best`."""
    given = len(plan.job.cluster.nodes) == 1
    return "fastest" if objective(plan)[1] in OF_TIME + OF_GPUS * given else "best"


def _closest(plan: Plan) -> list[str]:
    """The next best predictions: by how much each is worse, what it does otherwise, and its worst term."""
    head, lines = "  closest ", list[str]()
    for other in plan.runners_up:
        lines += words(head, f"{worse(plan, other)}: {otherwise(plan, other)}")
        head = BELOW
    return lines


def worse(plan: Plan, other: Estimate) -> str:
    direction, quantity = objective(plan)
    if quantity in COUNTED and plan.estimate.gpus == other.gpus:
        direction, quantity = "minimize", "step_time"
    ours, theirs = (value(each, quantity) for each in (plan.estimate, other))
    share = (theirs - ours) / abs(ours or 1.0) * (1 if direction == "minimize" else -1)
    return f"{abs(share):.1%} {'worse' if share >= 0 else 'better'} in {quantity}"


def otherwise(plan: Plan, other: Estimate) -> str:
    """The decisions that differ, and the term of a step that grows most."""

    found = difference(plan.estimate, other, objective(plan)[1])
    changed = [
        f"{name} {ours} → {theirs}"
        for name, ours, theirs in found.decisions
        if name != "microbatches"
    ]
    grown = [f"{each.name} +{seconds(each.change)}" for each in found.time if each.change > 0]
    return ", ".join([*filter(None, [BETWEEN.join(changed)]), *grown[:1]])


def _took(excess: float | None) -> str:
    if excess is None:
        return "never ran"
    return f"took {abs(excess):.1%} {'more' if excess > 0 else 'less'} than predicted"


def doubt_lines(plan: Plan) -> list[str]:
    """How sure the choice is, and which other ways of splitting the model may be better."""
    doubt = plan.doubt
    if doubt is None or doubt.contenders == 1:
        return []
    chance = f"{risk(doubt.chance)} chance that this is the {fastest(plan)}"
    sure = f"{chance}; expected loss against the true best {doubt.regret:.1%}"
    ways = [(plan.layout, doubt.chance_of_split)]
    ways += [(rival.layout, rival.chance) for rival in doubt.rivals]
    ways.sort(key=lambda way: -way[1])
    named = ", ".join(f"{splitting(layout)} ({risk(chance)})" for layout, chance in ways)
    split = f"how the {fastest(plan)} layout splits the model: {named}"
    return [*words("  doubt   ", sure), *words(BELOW, split)]


def _proven(proof: Proof) -> str:
    if proof.status != "OPTIMAL":
        return f"best found over {proof.layouts:,} priced layouts, not proven optimal"
    if not proof.ruled_out:
        return f"optimal over all {proof.layouts:,} layouts"
    return f"optimal over {proof.layouts:,} priced layouts; the rest excluded by bounds"


def _proof(plan: Plan) -> list[str]:
    proof = plan.proof
    lines = words("  proof   ", f"{_proven(proof)}, {proof.seconds:.2f} s")
    head = "  limits  "
    for each in plan.binding:
        lines += words(head, each)
        head = BELOW
    return lines
