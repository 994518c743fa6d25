"""`Plan` -> `toy/launch.sh`, which starts a program that descends a parabola and prints its losses."""

from __future__ import annotations

from parc.backends.languages import bash
from parc.backends.plan_facts import plan_facts
from parc.backends.render import provenance
from parc.backends.written_options import WrittenOptions, file_keys
from parc.compiler.plan import Plan
from parc.compiler.rules.validity import problems
from parc.dsl.diagnostics import JobError
from parc.reading.facts import Value
from tests.support.toy_backend.constraints import CONSTRAINTS
from tests.support.toy_backend.target import ENTRY, TARGET, Options

#: Facts of a plan that every job of the toy states by an option of that name.
STATED = (
    "nodes", "gpus_per_node", "tp", "dp", "micro_batch", "global_batch", "seq_len",
    "layers", "hidden", "heads", "kv_heads", "precision",
)  # fmt: skip
LAUNCH = """\
#!/usr/bin/env bash
# {provenance}
set -euo pipefail

HERE="$(cd -- "$(dirname -- "${{BASH_SOURCE[0]}}")" && pwd)"
exec python "$HERE/toy_train.py" \\
{arguments} \\
    "$@"
"""
PROGRAM = """\
import sys

given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
place = 1.0
for step in range(1, int(given["--toy-steps"]) + 1):
    print(f"toy step {step} loss {place * place:.4f} in 0.5 s", flush=True)
    place -= float(given["--toy-rate"]) * 2 * place
"""


def emit(plan: Plan) -> dict[str, str]:
    """The files by path; raises `JobError` for a layout that the target forbids."""
    if found := problems(plan.job, TARGET, plan.layout):
        raise JobError(found)
    job, options = plan.job, plan.options
    assert isinstance(options, Options)
    values = {name: facts(plan)[name] for name in STATED} | {
        "ffn": job.model.ffn,
        "vocab": job.model.vocab,
        "steps": job.train.total_steps,
        "rate": options.rate,
        **options.extra,
    }
    written = {f"--toy-{key}": value for key, value in values.items()}
    keys = {f"--toy-{key}": key for key in options.extra}
    rows = WrittenOptions(job, "toy", "the toy", release="")
    if broken := list(rows.problems(CONSTRAINTS, file_keys(written), keys)):
        raise JobError(broken)
    arguments = " \\\n".join(
        f"    --toy-{name.replace('_', '-')} {bash.word(value)}" for name, value in values.items()
    )
    text = LAUNCH.format(provenance=bash.comment(provenance(plan)), arguments=arguments)
    return {ENTRY: text, "toy/toy_train.py": PROGRAM}


def facts(plan: Plan) -> dict[str, Value]:
    return plan_facts(plan)
