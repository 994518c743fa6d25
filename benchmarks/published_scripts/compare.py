"""NVIDIA's example scripts written as jobs, option by option: what they say, what parc emits, and why.

    python benchmarks/published_scripts/compare.py [--docs]

`jobs/NAME.par` is the script NAME as a job, `options.csv` what the script says (NVIDIA/Megatron-LM@d98e8a64:
examples/llama/train_llama3_8b_h100_fp8.sh, examples/mixtral/train_mixtral_8x7b_distributed.sh,
examples/gpt3/train_gpt3_175b_distributed.sh, and tests/functional_tests/test_cases/mixtral/
deepseekv3_proxy_flex_tp1pp4emp16etp1cp1_release/model_config.yaml), `reasons.csv` why parc writes another
value, or none. What parc writes and they do not says so itself: each line of a script has its reason, or its
group. `--docs` writes the tables of docs/published-scripts.md again.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import parc

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from docs.tables import markdown, renew
from parc.backends.megatron.emit.files import GROUPS
from parc.backends.megatron.emit.flags import Flag
from parc.backends.megatron.extra import given
from parc.backends.megatron.releases import NEWEST
from parc.backends.released_options import released_options
from parc.compiler.plan import Plan

HERE = Path(__file__).resolve().parent
SCRIPTS = {
    "llama3_8b_fp8": "Llama 3 8B in fp8 on one node",
    "mixtral_8x7b": "Mixtral 8x7B",
    "gpt3_175b": "GPT-3 175B",
    "deepseek_v3_proxy": "DeepSeek-V3's release test",
}
DOCUMENT = HERE.parents[1] / "docs" / "published-scripts.md"
#: Values that are places of a machine, whatever they are.
PLACES = (
    "--data-path",
    "--tokenizer-model",
    "--save",
    "--load",
    "--tensorboard-dir",
    "--data-cache-path",
)
DEFAULT = "Megatron-LM's default"


@dataclass(frozen=True)
class Option:
    """One option of both scripts; None where a script does not have it, empty for a switch."""

    name: str
    theirs: str | None
    ours: str | None
    comment: str = ""

    @property
    def same(self) -> bool:
        if self.theirs is None or self.ours is None:
            return False
        return self.name in PLACES or _plain(self.theirs) == _plain(self.ours)

    @property
    def by_default(self) -> bool:
        """Whether one script writes what Megatron-LM takes without the option, as the other leaves it."""
        known = released_options("megatron", NEWEST).get(self.name)
        said = self.theirs if self.ours is None else self.ours
        apart = self.theirs is None or self.ours is None
        return apart and known is not None and _plain(known.default) == _plain(said or "")


def _plain(value: str) -> str:
    """A value without what makes no difference: quotes, and how a number is written."""
    text = value.strip("\"'")
    try:
        return repr(float(text))
    except ValueError:
        return text


@cache
def published() -> Mapping[str, Mapping[str, str]]:
    """Each script's options by name, the last value of each."""
    found: dict[str, dict[str, str]] = {name: {} for name in SCRIPTS}
    with (HERE / "options.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["script"]][row["option"]] = row["value"]
    return found


@cache
def reasons() -> Mapping[tuple[str, str], str]:
    """Why parc writes another value than a script, or none: by script (`*` for all) and option."""
    with (HERE / "reasons.csv").open(newline="") as file:
        return {(row["script"], row["option"]): row["why"] for row in csv.DictReader(file)}


@cache
def plan_of(script: str) -> Plan:
    (plan,) = parc.compile(parc.load(HERE / "jobs" / f"{script}.par"))
    return plan


def emitted(plan: Plan) -> dict[str, Flag]:
    """Every option that parc writes, by name."""
    flags = [flag for build in GROUPS.values() for flag in build(plan)]
    return {flag.name: flag for flag in (*flags, *(flag for _, flag in given(plan.options)))}


def options(script: str) -> list[Option]:
    theirs, ours = published()[script], emitted(plan_of(script))
    return [
        Option(
            name,
            theirs.get(name),
            _value(ours[name]) if name in ours else None,
            ours[name].why if name in ours else "",
        )
        for name in dict.fromkeys((*theirs, *ours))
    ]


def _value(flag: Flag) -> str:
    """Value of an option, in its own words or behind a `=`."""
    first, *others = flag.words
    return " ".join(others) if others else first.removeprefix(flag.name).removeprefix("=")


def reason(script: str, option: Option) -> str:
    """Why the scripts differ; KeyError where nobody has said."""
    stated = reasons().get((script, option.name)) or reasons().get(("*", option.name))
    if stated is not None:
        return stated
    if option.by_default:
        return DEFAULT
    if option.theirs is None and option.comment:
        return option.comment
    raise KeyError(f"{script}: {option}")


def rows(script: str) -> Iterator[tuple[str, str, str, str]]:
    for option in options(script):
        if not option.same:
            shown = (_shown(option.theirs), _shown(option.ours))
            yield (f"`{option.name}`", *shown, reason(script, option))


def _shown(value: str | None) -> str:
    return "" if value is None else f"`{value}`".replace("|", "\\|") if value else "yes"


def tables() -> dict[str, str]:
    """A table for each script, and what both say alike."""
    found = {}
    for script in SCRIPTS:
        differing = markdown(("option", "NVIDIA's", "parc's", "why"), list(rows(script)))
        alike = ", ".join(f"`{option.name}`" for option in options(script) if option.same)
        found[script] = f"{differing}\n\nAlike in both: {alike}."
    return found


def main(arguments: list[str]) -> None:
    if "--docs" in arguments:
        renew(DOCUMENT, tables())
        return
    for script, title in SCRIPTS.items():
        print(f"## {title}\n\n{tables()[script]}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
