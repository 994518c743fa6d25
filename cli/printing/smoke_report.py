"""The outcome of a smoke run -> text for a person, and JSON."""

from parc.compiler.model.parameters import total
from parc.smoke import Outcome

from .plan_json import JsonObject
from .words.layouts import layout_text


def outcome_text(outcome: Outcome) -> str:
    """The verdict, what was trained, its losses, and what was not exercised."""
    small = outcome.after
    assert small is not None
    name = " ".join(filter(None, (small.target, outcome.before.job.stage)))
    head = f"{name}  {'trained' if outcome.good else 'FAILED'}: {verdict(outcome)}"
    model = small.job.model
    lines = [
        head,
        f"  layout  {layout_text(small.layout)}",
        f"  model   {total(model, seq_len=small.job.train.seq_len):,} parameters in {model.layers} layers, "
        f"{small.job.train.global_batch} sequences of {small.job.train.seq_len} tokens a step",
    ]
    if outcome.steps:
        losses = " ".join(f"{step.loss:.4f}" for step in outcome.steps)
        seconds = outcome.step_seconds
        speed = "" if seconds is None else f"; {seconds:.2f} s a step after the first"
        lines.append(f"  loss    {losses}{speed}")
    if outcome.previous and outcome.steps:
        stage, reached = outcome.previous.before.job.stage, outcome.previous.reached
        lines.append(
            f"  begins  at {outcome.steps[0].loss:.3f} with the weights of {stage}, which reached "
            f"{reached:.3f}; drawn ones began at {outcome.drawn:.3f}"
        )
    lines += [
        f"  {'not' if not index else '':<7} {text}" for index, text in enumerate(outcome.lost)
    ]
    if not outcome.good:
        lines += ["  log", *(f"    {text}" for text in outcome.log)]
    return "\n".join(lines)


def verdict(outcome: Outcome) -> str:
    """One line: the first failure, or how the loss fell."""
    processes = outcome.after.layout.gpus if outcome.after else 0
    took = f"{processes} process{'es' if processes > 1 else ''}, {outcome.seconds:.0f} s"
    logged, wanted = len(outcome.steps), outcome.wanted
    if outcome.status is None:
        return f"the time was up after {logged} of {wanted} steps ({took})"
    if outcome.status:
        return f"exit status {outcome.status} after {logged} of {wanted} steps ({took})"
    if logged < wanted:
        return f"{logged} of {wanted} steps were logged ({took})"
    first, last = outcome.steps[0].loss, outcome.reached
    if outcome.previous:
        moved = "goes on" if outcome.follows else "does not go on where the stage before ended,"
    else:
        moved = "falls" if outcome.falls else "does not fall"
    return f"loss {moved} from {first:.3f} to {last:.3f}, the mean of the last half ({took})"


def outcome_json(outcome: Outcome) -> JsonObject:
    small = outcome.after
    return {
        "target": outcome.before.target,
        **({"stage": outcome.before.job.stage} if outcome.before.job.stage else {}),
        "good": outcome.good,
        "verdict": verdict(outcome),
        "status": outcome.status,
        "layout": outcome.before.layout.in_words,
        "trained": small.layout.in_words if small else None,
        "split": list(small.estimate.split) if small else None,
        "model": small.job.model.model_dump() if small else None,
        "precision": small.job.train.precision if small else None,
        "losses": [step.loss for step in outcome.steps],
        "step_seconds": outcome.step_seconds,
        "seconds": outcome.seconds,
        "not_exercised": list(outcome.lost),
        "log": [] if outcome.good else list(outcome.log),
    }
