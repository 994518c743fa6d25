"""Which options a program knows that leaves out the others, and when that is not decided."""

from __future__ import annotations

import pytest

from parc.reading.python.known_arguments import known_options

HEAD = "import argparse\nimport torch\nfrom os import path\n"
PARSER = "p = argparse.ArgumentParser()\np.add_argument('--lr', '-l')\n"
DROPS = "args, _ = p.parse_known_args()\n"
KEPT = "    return found\n"
IN_FUNCTION = (
    (PARSER + "found = p.parse_known_args()\n").replace("\n", "\n    ").removesuffix("    ")
)
GROUP = "g = p.add_argument_group('a')\ng.add_argument('--wd')\n"
#: Modules of the program's own.
OWN = {"quiet": "import torch\n", "loud": "import sys\nprint(sys.argv)\n", "far": "import loud\n"}


@pytest.mark.parametrize(
    "text, known",
    [
        (PARSER + DROPS, {"--lr", "-l"}),
        (PARSER + "args = p.parse_known_args()[0]\n", {"--lr", "-l"}),
        ("def parse():\n    " + IN_FUNCTION + "    return found\nargs, _ = parse()\n", {"--lr", "-l"}),
        ("def parse():\n    " + IN_FUNCTION + "    return found[0]\nargs = parse()\n", {"--lr", "-l"}),
        ("def parse_args():\n    " + IN_FUNCTION + KEPT + "args, _ = parse_args()\n", {"--lr", "-l"}),
        (PARSER + GROUP + DROPS, {"--lr", "-l", "--wd"}),
        (PARSER + "import quiet\n" + DROPS, {"--lr", "-l"}),
        ("def parse():\n    " + (PARSER + DROPS).strip().replace("\n", "\n    "), {"--lr", "-l"}),
        (
            "import deepspeed\n" + PARSER + "p = deepspeed.add_config_arguments(p)\n" + DROPS,
            {"--lr", "-l", "--deepspeed", "--deepspeed_config", "--deepscale", "--deepscale_config",
             "--deepspeed_mpi"},
        ),
    ],
)  # fmt: skip
def test_options_that_are_known(text: str, known: set[str]) -> None:
    assert known_options(HEAD + text, OWN.get) == frozenset(known)


@pytest.mark.parametrize(
    "text",
    [
        PARSER + "args = p.parse_args()\n",
        PARSER + "args, rest = p.parse_known_args()\nprint(rest)\n",
        "def parse():\n    "
        + IN_FUNCTION
        + "    return found\nargs, rest = parse()\nprint(rest)\n",
        "def parse():\n    " + IN_FUNCTION + "    return found\nother = parse\nargs, _ = parse()\n",
        "def parse():\n    " + IN_FUNCTION + "    return found\nargs, _ = wrapped(parse())\n",
        PARSER + "both = p.parse_known_args()\n",
        PARSER + "args = p.parse_known_args()[1]\n",
        PARSER + "args, _ = p.parse_known_args(['--lr'])\n",
        PARSER + "for name in ('--a', '--b'):\n    p.add_argument(name)\n" + DROPS,
        PARSER + "add_more(p)\n" + DROPS,
        PARSER + "add = p.add_argument\nadd('--b')\n" + DROPS,
        PARSER + "args, _ = p.parse_known_args()\nimport sys\nprint(sys.argv)\n",
        PARSER + "import loud\n" + DROPS,
        PARSER + "import far\n" + DROPS,
        PARSER + "from quiet import loud\nimport unheard_of\n" + DROPS,
        PARSER + "import hydra\n" + DROPS,
        PARSER + "from transformers import HfArgumentParser\n" + DROPS,
        PARSER + "q = argparse.ArgumentParser()\n" + DROPS,
        PARSER.replace("()", "(parents=[base])", 1) + DROPS,
        PARSER + "s = p.add_subparsers()\n" + DROPS,
        "p.add_argument('--lr')\n" + DROPS,
        "not python {",
        "",
    ],
)
def test_programs_that_leave_it_open(text: str) -> None:
    assert known_options(HEAD + text, OWN.get) is None


@pytest.mark.parametrize("text", ["(" * 100_000, "a" * 500_000, "\0", "x = 1\n" * 50_000])
def test_hostile_programs(text: str) -> None:
    assert known_options(text, lambda name: "import a.b.c\n" + PARSER) is None
