"""Directives are read as SLURM reads them: what `sbatch -v` of 22.05.8 printed of each header."""

from __future__ import annotations

import pytest

from parc.reading.bash.source import file_source
from parc.reading.bash.values import plain, word
from parc.reading.facts import Unknown
from parc.reading.sbatch_options import SBATCH, SRUN, header, header_words, options

HEADERS: dict[str, dict[str, str | None]] = {
    "#SBATCH --job-name=foo#bar --mem=5": {"job-name": "foo"},
    '#SBATCH --comment="a # b" --mem=5': {"comment": "a # b", "mem": "5"},
    "#SBATCH --partition=a\\ b -N2 -n 3 # a remark": {
        "partition": "a b",
        "nodes": "2",
        "ntasks": "3",
    },
    """#SBATCH --comment="it's" --job-name='a "b"' -N2""": {
        "comment": "it's",
        "job-name": 'a "b"',
        "nodes": "2",
    },
    "#SBATCH--mem=5": {"mem": "5"},
    "   # a comment\n\n#SBATCH --mem=5": {"mem": "5"},
    " #SBATCH --mem=5": {},
    "true\n#SBATCH --mem=5": {},
    "#SBATCH --hold --exclusive --nodes=2": {"hold": None, "exclusive": None, "nodes": "2"},
    "#SBATCH -W -N 2\r": {"wait": None, "nodes": "2"},
    "#SBATCH --ntasks_per_node=5": {"ntasks_per_node": "5"},
}


@pytest.mark.parametrize("text", HEADERS)
def test_headers(text: str) -> None:
    found = header(file_source("job.sbatch", f"#!/bin/bash\n{text}\necho\n"))
    assert {
        each.name: None if each.value is None else plain(each.value) for each in found
    } == HEADERS[text]


def test_words_that_are_no_option() -> None:
    text = "#SBATCH --hold 2 --nodes=2\n#SBATCH --nodes 2 two nodes\n"
    rest = [options(words)[1] for words in header_words(file_source("job.sbatch", text))]
    assert [[str(each.text) for each in words] for words in rest] == [
        ["2", "--nodes=2"],
        ["two", "nodes"],
    ]


def test_wait_is_a_switch_of_sbatch_and_a_number_of_srun() -> None:
    words = [word(text) for text in ["-W", "60", "--nodes", "2"]]
    assert [each.name for each in options(words, SBATCH)[0]] == ["wait"]
    assert [each.name for each in options(words, SRUN)[0]] == ["wait", "nodes"]


def test_an_unknown_value_stays_unknown() -> None:
    given, _ = options([word("--nodes"), word(Unknown("it is not known"))])
    assert given[0].value is not None and isinstance(plain(given[0].value), Unknown)
