"""Every code that parc may say: `parc rules` lists it, with one name, a text and where it comes from."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest

import parc
from parc.__main__ import main
from parc.backends import BACKENDS, LAUNCHERS
from parc.commands.rules import all_rules
from parc.compiler.codes import MOVED, RETIRED, change
from parc.compiler.rules.validity import GENERAL
from parc.dsl.diagnostics import JobError
from tests.support.paths import ROOT

LIBRARY = ("dsl", "compiler", "backends", "calibrate", "reading", "lint", "report", "smoke", "cli")
RULES = list(all_rules())


def codes_in(folder: str) -> set[str]:
    texts = (path.read_text() for path in (ROOT / folder).rglob("*.py"))
    return {code for text in texts for code in re.findall(r"[\"']PAR\d{3}[\"']", text)}


@pytest.mark.parametrize("folder", LIBRARY)
def test_every_code_in_the_library_is_listed(folder: str) -> None:
    listed = {rule.code for rule in RULES} | RETIRED.keys()
    assert {code[1:-1] for code in codes_in(folder)} <= listed


def test_codes_are_found() -> None:
    assert len(codes_in("dsl")) > 30 and len(codes_in("backends")) > 40


def test_a_code_has_one_meaning() -> None:
    """One name and one title over all origins, and no other code has either."""
    meanings, codes = defaultdict(set), defaultdict(set)
    for rule in RULES:
        meanings[rule.code].add((rule.name, rule.text))
        codes[rule.name].add(rule.code)
        codes[rule.text].add(rule.code)
    assert {code: found for code, found in meanings.items() if len(found) > 1} == {}
    assert {text: found for text, found in codes.items() if len(found) > 1} == {}


def test_a_retired_code_is_not_used_and_a_moved_one_is_of_lint_alone() -> None:
    origins = defaultdict(set)
    for rule in RULES:
        origins[rule.code].add(rule.origin)
    assert not RETIRED.keys() & origins.keys()
    assert {code for code in RETIRED.values() if code} <= origins.keys()
    for code, now in MOVED.items():
        assert origins[code] == {"lint"} and "lint" not in origins[now] != set()


def test_changed_codes_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    text = capsys.readouterr().out
    assert all(f"changed: {change(code)}\n" in text for code in (*MOVED, *RETIRED))
    assert main(["rules", "PAR121", "PAR350", "PAR410"]) == 0
    text = capsys.readouterr().out
    assert "the compiler's `PAR121` is now `PAR126`" in text and "# PAR121 layers-pp" in text
    assert "`PAR350` is retired, see `PAR320`" in text and "PAR320  no-accelerator" in text
    assert text.endswith("`PAR410` is retired\n")


def test_an_origin_lists_a_code_once() -> None:
    assert len({(rule.code, rule.origin) for rule in RULES}) == len(RULES)


def test_rules_read_well() -> None:
    for rule in RULES:
        assert re.fullmatch(r"PAR\d{3}", rule.code) and re.fullmatch(r"[a-z0-9-]+", rule.name)
        assert len(rule.text) > 15 and not rule.text.endswith(".") and "\n" not in rule.text


def test_what_a_framework_enforces_has_a_source() -> None:
    enforced = [*GENERAL, *(rule for each in BACKENDS.values() for rule in each.target.predicates)]
    assert all(predicate.source for predicate in enforced)
    listed = {(rule.code, rule.name, rule.source) for rule in RULES}
    assert all((rule.code, rule.name, rule.source) in listed for rule in enforced)


def test_every_origin_speaks() -> None:
    everyone = {
        "language",
        "commands",
        "check",
        "calibrate",
        "measure",
        "init",
        "compiler",
        "all targets",
        "lint",
    }
    assert {rule.origin for rule in RULES} == everyone | {*BACKENDS, *LAUNCHERS}


def test_the_command_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert len(printed) == len(RULES) and {"code", "name", "origin", "text"} <= set(printed[0])
    assert main(["rules"]) == 0
    text = capsys.readouterr().out
    assert all(f"{rule.code}  {rule.name}: {rule.text}\n" in text for rule in RULES)
    assert all(f"{rule.origin:<11}  {rule.source}".rstrip() in text for rule in RULES)


def test_the_command_says_where_parc_is_stricter(capsys: pytest.CaptureFixture[str]) -> None:
    predicates = [
        (name, rule) for name, each in BACKENDS.items() for rule in each.target.predicates
    ]
    stricter = {(rule.code, name): rule.stricter for name, rule in predicates if rule.stricter}
    assert len(stricter) > 5
    assert main(["rules", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    said = {(rule["code"], rule["origin"]): rule["stricter"] for rule in printed}
    assert {key: text for key, text in said.items() if text} == stricter
    assert main(["rules"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    wanted = [f"stricter: {text}" for text in stricter.values()]
    assert sorted(line for line in lines if line.startswith("stricter: ")) == sorted(wanted)


#: Variables that a target leaves out of its domains.
FOREIGN = [
    ("deepspeed", {"tp": 2}, "`tp` is always 1 on deepspeed, not 2"),
    ("deepspeed", {"recompute_layers": 1}, "`recompute_layers` is always 0 on deepspeed, not 1"),
    ("torchtitan", {"offload": 2}, "`offload` is always none on torchtitan, not all"),
    ("megatron", {"hpz": 8}, "`hpz` is always 1 on megatron, not 8"),
]


@pytest.mark.parametrize(("target", "layout", "message"), FOREIGN)
def test_a_layout_names_only_what_the_target_decides(
    target: str, layout: dict[str, int], message: str
) -> None:
    job = parc.load(ROOT / "examples" / "llama3_8b.par")
    with pytest.raises(JobError) as caught:
        parc.estimate(job, layout, target)
    assert [(found.code, found.message) for found in caught.value.diagnostics] == [
        ("PAR152", message)
    ]
