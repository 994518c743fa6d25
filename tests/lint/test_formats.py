"""How findings are printed: places, facts, every format, and the page of a rule."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import parc
from docs.reference.codes import pages
from parc.__main__ import main
from parc.lint.rule_page import page
from parc.lint.rules import RULES
from tests.support.linted import BAD, GOOD, Captured, findings, lint


def test_the_message_has_numbers_places_and_help(capsys: Captured) -> None:
    (found,) = (each for each in findings(capsys, "bad.sh") if each["code"] == "PAR101")
    assert found["message"] == "tp 8 * pp 16 * cp 1 = 128 does not divide 8 GPUs"
    assert (found["path"], found["line"], found["column"]) == ("bad.sh", 2, 19)
    assert found["name"] == "world-size" and found["severity"] == "error" and found["help"]
    related = found["related"]
    assert isinstance(related, list)
    assert [(each["message"], each["line"]) for each in related][:2] == [("tp 8", 2), ("pp 16", 3)]


def test_json_has_files_with_facts(capsys: Captured) -> None:
    Path("open.sh").write_text(GOOD.replace("--nnodes 1", '--nnodes "$NODES"'))
    lint("open.sh", "--format", "json")
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert file["path"] == "open.sh" and file["kind"] == "megatron-bash"
    assert file["facts"]["tp"] == {"value": 8, "line": 2}
    assert set(file["facts"]["nodes"]) == {"unknown", "line"}


def test_sarif_links_each_rule_to_its_page_of_the_site(capsys: Captured) -> None:
    lint("bad.sh", "--format", "sarif")
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert not any("helpUri" in rule for rule in run["tool"]["driver"]["rules"])
    Path("parc.toml").write_text('site = "https://docs.example.org/parc/"\n')
    lint("bad.sh", "--format", "sarif")
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    (rule,) = (each for each in run["tool"]["driver"]["rules"] if each["id"] == "PAR101")
    path = rule["helpUri"].removeprefix("https://docs.example.org/parc/")
    assert path.replace(".html", ".md") in pages("reference/codes")


@pytest.mark.parametrize("form", ["text", "concise", "json", "github", "sarif", "junit"])
def test_formats(form: str, capsys: Captured) -> None:
    assert lint("bad.sh", "good.sh", "--format", form) == 1
    printed = capsys.readouterr().out
    assert "PAR101" in printed and "bad.sh" in printed


def test_formats_for_machines_are_well_formed(capsys: Captured) -> None:
    lint("bad.sh", "--format", "github")
    assert capsys.readouterr().out.startswith(
        "::error file=bad.sh,line=2,col=19,title=PAR101 world-size::"
    )
    lint("bad.sh", "good.sh", "--format", "junit")
    suite = ElementTree.fromstring(capsys.readouterr().out)
    assert suite.attrib["tests"] == "2" and suite.attrib["failures"] == "1"
    lint("bad.sh", "--format", "sarif")
    log = json.loads(capsys.readouterr().out)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1 and region["endColumn"] > region["startColumn"]
        assert len(result["partialFingerprints"]["parcFinding/v1"]) == 64
    assert run["tool"]["driver"]["version"] == parc.__version__


@pytest.mark.parametrize("form", ["text", "concise", "json", "github", "sarif", "junit"])
def test_what_a_terminal_would_obey_is_not_printed(form: str, capsys: Captured) -> None:
    """Neither of a file's name nor of an option of the script; XML holds no such character."""
    name = "\x1b[31mbad\n::error::.sh"
    option = "--no\x1b]0;owned\x07-such"
    Path(name).write_text(BAD.rstrip() + f" {option}\n")
    assert lint(name, "--format", form, "--facts") == 1
    printed = capsys.readouterr().out
    assert "PAR101" in printed or form == "text"
    assert all(each.isprintable() for each in printed.split("\n"))
    assert "\n::error::" not in printed
    if form == "junit":
        ElementTree.fromstring(printed)


def test_code_scanning_knows_a_finding_that_has_moved(capsys: Captured) -> None:
    def fingerprints(text: str) -> list[str]:
        Path("one.sh").write_text(text)
        lint("one.sh", "--format", "sarif", "--select", "PAR101")
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        return [each["partialFingerprints"]["parcFinding/v1"] for each in run["results"]]

    (before,) = fingerprints(BAD)
    assert fingerprints(BAD.replace("torchrun", "set -e\ntorchrun", 1)) == [before]
    assert fingerprints(BAD.replace("--nproc-per-node 8", "--nproc-per-node 4")) != [before]


def test_many_findings_end_with_their_causes(capsys: Captured) -> None:
    for number in range(12):
        Path(f"{number}.sh").write_text(BAD)
    lint(*(f"{number}.sh" for number in range(12)), "--format", "concise", "--select", "PAR101")
    assert "most often: 12 × PAR101 world-size\n12 errors" in capsys.readouterr().out
    lint("0.sh", "--format", "concise", "--select", "PAR101")
    assert "most often" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["PAR101", "world-size"])
@pytest.mark.parametrize("command", [("lint", "--explain"), ("rules",)])
def test_a_rule_is_explained(command: tuple[str, ...], name: str, capsys: Captured) -> None:
    (rule,) = (rule for rule in RULES if rule.code == "PAR101")
    assert main([*command, name]) == 0
    assert capsys.readouterr().out == page(rule)
    assert main([*command, "world-sise"]) == 2
    assert "did you mean `world-size`?" in capsys.readouterr().err
