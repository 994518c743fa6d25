"""An `Explanation` -> JSON: all that its text says, every value of every decision, and all terms."""

from __future__ import annotations

from parc.calibrate.predicted_run import Ran
from parc.compiler.explain.against import Against
from parc.compiler.explain.answers import Best
from parc.compiler.explain.conditions import Binding
from parc.compiler.explain.difference import Difference, Term
from parc.compiler.explain.explaining import Explanation
from parc.compiler.explain.sensitivity import Threshold
from parc.compiler.explain.what_if import Alternative
from parc.compiler.plan import Layout

from .plan_json import JsonObject, changed, measured_json, plan_json, rounded


def explanation_json(explained: Explanation) -> JsonObject:
    """Shares are fractions of the first objective, limits in base units, times in seconds."""
    return {
        **plan_json(explained.plan),
        "quantity": explained.quantity,
        "best_under_goal": _best(explained.best),
        "best_without_conditions": _best(explained.bare),
        "margin": rounded({"margin": explained.margin})["margin"],
        "binds": [_binding(each) for each in explained.bindings],
        "what_if": [_alternative(each) for each in explained.alternatives],
        "losers": [difference_json(each) for each in explained.runners_up],
        "thresholds": [_threshold(each) for each in explained.thresholds],
        "cp_comm_step_seconds": {each.way: each.seconds for each in explained.exchanges},
    }


def _best(best: Best) -> JsonObject:
    value = {"value": best.value, "memory_bytes": best.memory_bytes}
    return rounded({"layout": changed(Layout(**best.layout)), **value})


def _binding(binding: Binding) -> JsonObject:
    step = binding.step
    return rounded(
        {
            "condition": binding.text,
            "place": binding.place,
            "gain": binding.gain,
            "best": _best(binding.best),
            "step": step
            and {
                "quantity": step.name,
                "limit": step.limit,
                "gain": step.gain,
                "best": _best(step.best),
            },
        }
    )


def _alternative(alternative: Alternative) -> JsonObject:
    return rounded(
        {
            "decision": alternative.decision,
            "value": alternative.word,
            "chosen": alternative.chosen,
            "worse": alternative.worse,
            "best": alternative.best and _best(alternative.best),
            "why": alternative.why,
        }
    )


def difference_json(difference: Difference) -> JsonObject:
    """Every term that differs, the largest change first."""
    return rounded(
        {
            "layout": changed(difference.there.layout),
            "scale": difference.scale,
            "decisions": {name: [ours, theirs] for name, ours, theirs in difference.decisions},
            "seconds": difference.seconds,
            "time": [_term(each) for each in difference.time],
            "memory_bytes": difference.memory_bytes,
            "memory": [_term(each) for each in difference.memory],
        }
    )


def _term(term: Term) -> JsonObject:
    return {"term": term.name, "here": term.here, "there": term.there, "change": term.change}


def _threshold(threshold: Threshold) -> JsonObject:
    error = threshold.error
    return rounded(
        {
            "parameter": error.parameter,
            "direction": "exposed" if error.overlap else "longer" if error.sign > 0 else "shorter",
            "value": threshold.value,
            "deviations": threshold.deviations,
            "farthest": threshold.farthest,
            "layout": threshold.layout and changed(Layout(**threshold.layout)),
        }
    )


def against_json(against: Against) -> JsonObject:
    return {
        **difference_json(against.difference),
        "breaks": list(against.breaks),
        **measured_json(against.measured),
    }


def ran_json(ran: Ran) -> JsonObject:
    """A step and its parts, MFU, tokens per second and bytes, each as predicted and as measured."""
    predicted, steps = ran.predicted, ran.run.steps
    return rounded(
        {
            "log": ran.run.path,
            "target": ran.run.target,
            "layout": changed(predicted.layout),
            "filled": list(ran.run.filled),
            "step_seconds": {"predicted": predicted.step_seconds, "measured": steps.seconds},
            "mfu": {"predicted": predicted.mfu, "measured": ran.mfu},
            "tokens_per_second": {
                "predicted": predicted.tokens_per_second,
                "measured": ran.tokens_per_second,
            },
            "parts": {
                part.name: {"predicted": part.predicted, "measured": part.measured}
                for part in ran.parts
            },
            "reserved_bytes": ran.memory
            and {"predicted": ran.memory.predicted, "measured": ran.memory.measured},
            "spread": steps.spread,
            "reports": steps.reports,
            "in_band": ran.expected,
            "time": predicted.time,
            **measured_json(ran.known),
        }
    )
