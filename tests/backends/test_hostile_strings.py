"""Any text of a job reaches the emitted files as text: they parse, nothing of it runs, it arrives whole.

Jobs are written to disk, read, priced and emitted as `parc compile` does; the scripts are run by bash with
recorders in place of all programs that they start, and what those are told is compared.
"""

from __future__ import annotations

import ast
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import parc
from parc.api import Planned, emit
from parc.backends import BACKENDS
from parc.compiler.plan import Plan, Proof
from parc.dsl.diagnostics import JobError
from parc.dsl.syntax.quoting import quoted
from parc.printing.plan_json import lock
from tests.support.hostile_jobs import EXTRA, VARIANTS, Variant, fields, fitting, job_text
from tests.support.hostile_texts import LINES, PIECES
from tests.support.inverses import directive_values
from tests.support.recorded_scripts import run

#: Jobs of each variant; `make fuzz` takes more.
JOBS = int(os.environ.get("PARC_FUZZ_JOBS", "2"))
PROOF = Proof(status="OPTIMAL", objective="mfu", value=1, bound=1, layouts=1, seconds=1)
ANY = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
HOSTILE = st.lists(st.sampled_from((*PIECES, *LINES)) | ANY, min_size=1, max_size=7).map("".join)
#: What a file's name on Linux may be.
NAMES = HOSTILE.map(lambda text: text.replace("/", "%").encode()[:80].decode(errors="ignore"))
SETTINGS = settings(
    max_examples=JOBS,
    phases=(Phase.generate,),  # bash runs for seconds in each step of shrinking
    database=None,
    suppress_health_check=list(HealthCheck),
)


def emitted(job: Path, variant: Variant) -> dict[str, str]:
    """The files of the job at a path, and plan.json beside them."""
    loaded = parc.load(job)
    layout = {"dp_shard": 8, "microbatches": 8, **variant.layout}
    estimate = parc.estimate(loaded, layout, variant.target)
    plan = Plan(job=loaded, target=variant.target, estimate=estimate, proof=PROOF)
    planned, files = emit(Planned(loaded, (plan,)))
    if planned.complaints:
        raise JobError([complaint for _, complaint in planned.complaints])
    return {**files.files, "plan.json": lock(planned, {})}


def leaves(value: Any) -> Iterator[str]:
    """All texts in a value of JSON or TOML, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)


def texts_in(path: str, text: str) -> Iterator[str]:
    """The texts that a file's own language reads in it."""
    if path.endswith(".json"):
        yield from leaves(json.loads(text))
    elif path.endswith(".toml"):
        yield from leaves(tomllib.loads(text))
    elif path.endswith(".py"):
        compile(text, path, "exec")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    elif path.endswith(".sbatch"):
        yield from directive_values(text)


def arrived(files: dict[str, str], variant: Variant, folder: Path) -> list[str]:
    """Every text that some program or reader got; asserts that the scripts ran, and nothing else did."""
    out = folder / "out'p\"u $t"
    for path, text in files.items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")
    found = [each for path, text in files.items() for each in texts_in(path, text)]
    for index, script in enumerate(
        (BACKENDS[variant.target].entry, f"slurm/{variant.target}.sbatch")
    ):
        place = folder / str(index)
        place.mkdir()
        ran = run(out / script, place)
        assert (ran.status, ran.left) == (0, ()), f"{script}: {ran.said}"
        assert any("--nnodes" in word for word in ran.words), f"{script}: {ran.said}"
        found += [*ran.words, *ran.environment]
    return found


#: What was once live, or broke a file, in an emitted script or program, by what it was.
ATTACKS = {
    "a substituted command": "$(touch canary)",
    "a command between backticks": "`touch canary`",
    "a command behind a quote": "'; touch canary; '\"; touch canary; \"",
    "a backslash before the closing quote": "a\\",
    "a line of its own": "a\ntouch canary\nimport os",
    "an apostrophe": "it's",
    "a command for a file": "<(touch canary) >(touch canary)",
    "an argument": "$1 $* $? $$",
    "an escape of Python": "\\N{x} \\u12",
    "the end of a docstring": "\"\"\"\nimport os  # '''",
    "a name of an encoding": "coding: no-such",
    "a template": "{{ 7 * 7 }}{% for %}",
    "a comment of sbatch": "\n#SBATCH --wrap=x",
    "what marks a quoted byte in bash": "a\x01\x7f",
}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("kind", ("megatron", "deepspeed", "torchtitan-0.3"))
def test_what_was_live_is_text(kind: str, attack: str, tmp_path: Path) -> None:
    """As the value of every setting, and as the name of the job's file."""
    variant, text = VARIANTS[kind], ATTACKS[attack]
    job = tmp_path / f"a {text.replace('/', '%')}.par"
    job.write_text(job_text(variant, lambda path: fitting(path, text)), newline="")
    found = arrived(emitted(job, variant), variant, tmp_path)
    for path in fields(variant):
        assert any(fitting(path, text) in each for each in found), path


@pytest.mark.parametrize("kind", VARIANTS)
@SETTINGS
@given(data=st.data(), name=NAMES)
def test_every_text_arrives_whole(kind: str, data: st.DataObject, name: str) -> None:
    variant = VARIANTS[kind]
    texts = {path: fitting(path, data.draw(HOSTILE, path)) for path in fields(variant)}
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, f"a{name}.par")
        job.write_text(job_text(variant, lambda path: texts.get(path, "x")), newline="")
        found = arrived(emitted(job, variant), variant, Path(folder))
    for path, text in texts.items():
        assert any(text in each for each in found), (path, text, found)


#: A name that a plugin of the site may have added to sbatch's.
PLUGIN = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@pytest.mark.parametrize("kind", VARIANTS)
@SETTINGS
@given(key=HOSTILE)
def test_a_key_that_the_framework_lacks_is_a_complaint(kind: str, key: str) -> None:
    variant = VARIANTS[kind]
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder, "job.par")
        text = job_text(variant, lambda path: "/x")
        for known in (EXTRA[variant.target], "comment"):
            if known == "comment" and PLUGIN.fullmatch(key.replace("_", "-")):
                continue
            job.write_text(text.replace(f'"{known}"', quoted(key)), newline="")
            with pytest.raises(JobError):
                emitted(job, variant)
