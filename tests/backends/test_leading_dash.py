"""A value that begins with a dash reaches its option as a value: argparse would take it for an option.

Scripts are run by bash with recorders in place of the programs that they start. What those are told is read
by argparse, with the options that the framework's release has.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from parc.backends import BACKENDS
from parc.backends.released_options import released_options
from tests.backends.test_hostile_strings import emitted
from tests.support.hostile_jobs import VARIANTS, Variant, job_text
from tests.support.recorded_scripts import run

BEGINS = ("-x/data", "--load=x", "-1e-5 y", "-h")
#: Variables of a script that its environment may set; numbers among them, and what is no option's value.
REPLACEABLE = re.compile(r'^([A-Z_]+)="\$\{\1:-|\$\{([A-Z_]+):\+--', re.M)
ELSEWHERE = {"NNODES", "NODE_RANK", "MASTER_PORT", "HF_WEIGHTS", "RUN_START"}


class Refused(Exception):
    """argparse takes the words for something else."""


class Parser(argparse.ArgumentParser):
    """Raises instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise Refused(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Refused(message or "printed its help")


def torchrun(words: Sequence[str]) -> argparse.Namespace:
    """The words as torch.distributed.run reads them; those of Python begin with the program."""
    parser = Parser()
    for name in ("nnodes", "nproc-per-node", "node-rank", "master-addr", "master-port"):
        parser.add_argument(f"--{name}")
    for name in ("log-dir", "redirects", "tee"):
        parser.add_argument(f"--{name}")
    parser.add_argument("-m", "--module", action="store_true")
    parser.add_argument("program")
    parser.add_argument("given", nargs=argparse.REMAINDER)
    found = parser.parse_args(words)
    assert not found.program.startswith("-"), "an option to Python"
    return found


def megatron(words: Sequence[str], release: str) -> list[str]:
    """The values that Megatron-LM's options get."""
    parser = Parser(allow_abbrev=False)
    for option in released_options("megatron", release).values():
        if option.kind == "switch":
            parser.add_argument(option.name, action="store_true")
        else:
            count = int(option.count) if option.count.isdigit() else option.count or None
            parser.add_argument(option.name, nargs=count)
    return texts(parser.parse_args(words))


def named(words: Sequence[str]) -> list[str]:
    """The values of a program whose options are those that it is given, as DeepSpeed's and torchtitan's."""
    parser = Parser(allow_abbrev=False)
    for name in {word.partition("=")[0] for word in words if word.startswith("--")}:
        parser.add_argument(name, action="append")
    return texts(parser.parse_args(words))


def texts(found: argparse.Namespace) -> list[str]:
    listed = (each if isinstance(each, list) else [each] for each in vars(found).values())
    return [text for each in listed for text in each if isinstance(text, str)]


def arrived(script: Path, folder: Path, variant: Variant, **variables: str) -> list[str]:
    """The program of the last torchrun, and the values that its options and the program's get."""
    ran = run(script, folder, **variables)
    assert ran.status == 0, ran.said
    words = ran.told["torchrun"]
    begins = [index for index, word in enumerate(words) if word.startswith("--nnodes")]
    found = torchrun(words[begins[-1] :])
    if variant.target != "megatron":
        return [found.program, found.master_addr, *named(found.given)]
    release = re.search(r"^MEGATRON_RELEASE=(.*)$", script.read_text(), re.M)
    assert release is not None
    return [found.program, found.master_addr, *megatron(found.given, release[1])]


def script_of(variant: Variant, folder: Path, begins: str) -> Path:
    """The script of a job whose texts and name begin so, each told apart by its setting."""
    job = folder / f"{begins.replace('/', '%')}.par"
    job.write_text(job_text(variant, lambda path: f"{begins}/{path}"))
    for path, text in emitted(job, variant).items():
        target = folder / "out" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return folder / "out" / BACKENDS[variant.target].entry


#: Settings of each target that its command line carries; others are in files, or variables of the script.
CARRIED = {
    "megatron": ("path", "data_cache", "checkpoints", "tensorboard", "tokenizer", "wandb", "extra"),
    "deepspeed": ("data", "valid_data", "save", "tensorboard"),
    "torchtitan": (),
}
OF_VARIANT = {
    "megatron": ("data",),
    "megatron-splits": ("train_data", "valid_data", "test_data"),
}


@pytest.mark.parametrize("begins", BEGINS)
@pytest.mark.parametrize("kind", VARIANTS)
def test_texts_of_a_job(kind: str, begins: str, tmp_path: Path) -> None:
    variant = VARIANTS[kind]
    found = arrived(script_of(variant, tmp_path, begins), tmp_path, variant)
    wanted = [
        f"{variant.target}.{name}" for name in (*CARRIED[variant.target], *OF_VARIANT.get(kind, ()))
    ]
    wanted += ["train.weights"] if variant.target != "megatron" else []
    assert [path for path in wanted if not holds(found, f"{begins}/{path}")] == []
    assert variant.target != "megatron" or begins.replace("/", "%") in found, "the job's name"


@pytest.mark.parametrize("begins", BEGINS)
@pytest.mark.parametrize("kind", VARIANTS)
def test_variables_of_a_script(kind: str, begins: str, tmp_path: Path) -> None:
    variant = VARIANTS[kind]
    script = script_of(variant, tmp_path, f"{tmp_path}/x")
    names = {one or two for one, two in REPLACEABLE.findall(script.read_text())} - ELSEWHERE
    found = arrived(script, tmp_path, variant, **{name: f"{begins}/{name}" for name in names})
    assert {"MASTER_ADDR"} < names
    assert [name for name in names if not holds(found, f"{begins}/{name}")] == []


def holds(found: Sequence[str], text: str) -> bool:
    """Whether a text arrived: as it stands, or in the path of a program or of weights."""
    return text in found or any(
        each.startswith(f"./{text}/") or each.endswith(f"/{text}") for each in found
    )
