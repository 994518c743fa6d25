"""Random programs of assignments, arrays, branches, loops and functions: bash launches the same words."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from parc.reading.facts import Unknown
from tests.support.bash_launches import launches
from tests.support.drawn_sizes import drawn

NAMES = st.sampled_from(["A", "B", "C", "LONG_NAME"])
ARRAYS = st.sampled_from(["X", "Y"])
PLAIN = st.sampled_from(["8", "0", "a", "x/y.z", "--flag", "--k=v", "1_000", "a-b", "07"])
NUMBERS = st.integers(0, 40).map(str)


def quoted(word: str) -> str:
    return f'"{word}"'


def expansions() -> st.SearchStrategy[str]:
    name = NAMES
    forms = [
        name.map("${}".format),
        name.map("${{{}}}".format),
        st.tuples(name, PLAIN).map(lambda p: f"${{{p[0]}:-{p[1]}}}"),
        st.tuples(name, PLAIN).map(lambda p: f"${{{p[0]}-{p[1]}}}"),
        st.tuples(name, PLAIN).map(lambda p: f"${{{p[0]}:+{p[1]}}}"),
        st.tuples(
            name,
            st.sampled_from(
                [
                    "%.*",
                    "%%/*",
                    "#*/",
                    "##*-",
                    "/a/b",
                    "//-/_",
                    "^^",
                    ",,",
                    ":1",
                    ":0:2",
                    "/#-/+",
                    "/%z/9",
                    "#[a-z]",
                    "%[0-9]",
                ]
            ),
        ).map(lambda p: f"${{{p[0]}{p[1]}}}"),
        name.map("${{#{}}}".format),
        ARRAYS.map("${{#{}[@]}}".format),
        ARRAYS.map("${{{}[0]}}".format),
        st.tuples(ARRAYS, st.integers(0, 3)).map(lambda p: f"${{{p[0]}[{p[1]}]}}"),
        ARRAYS.map("${{{}[@]}}".format),
        ARRAYS.map("${{{}[*]}}".format),
        st.tuples(ARRAYS, st.integers(0, 2)).map(lambda p: f"${{{p[0]}[@]:{p[1]}:2}}"),
        arithmetic().map("$(({}))".format),
        PLAIN.map("$(echo {})".format),
        name.map("$(echo ${} | tr a b)".format),
        name.map("`echo ${}`".format),
    ]
    return st.one_of(forms)


def arithmetic() -> st.SearchStrategy[str]:
    leaf = NUMBERS | st.sampled_from(["N", "M", "$N", "${M}"])
    return st.recursive(
        leaf,
        lambda inner: st.tuples(
            inner,
            st.sampled_from(["+", "-", "*", "%", "/", "<", ">=", "==", "&&", "||", "&", "<<"]),
            inner,
        ).map(
            lambda p: (
                f"({p[0]} {p[1]} {p[2]})"
                if p[1] not in "/%"
                else f"({p[0]} {p[1]} (1 + ({p[2]}) * ({p[2]})))"
            )
        ),
        max_leaves=5,
    )


def words() -> st.SearchStrategy[str]:
    pieces = st.lists(PLAIN | expansions(), min_size=1, max_size=3).map("".join)
    blank = st.lists(PLAIN | expansions(), min_size=1, max_size=3).map(" ".join).map(quoted)
    return (
        PLAIN
        | expansions()
        | expansions().map(quoted)
        | pieces
        | blank
        | st.just("'$A b'")
        | st.just('""')
    )


def conditions() -> st.SearchStrategy[str]:
    number = st.tuples(
        st.sampled_from(["$N", "$M", "3"]), st.sampled_from(["-eq", "-lt", "-ge", "-ne"]), NUMBERS
    )
    return st.one_of(
        number.map(lambda p: f"[ {p[0]} {p[1]} {p[2]} ]"),
        number.map(lambda p: f"[[ {p[0]} {p[1]} {p[2]} ]]"),
        st.tuples(NAMES, st.sampled_from(["==", "!=", "="]), PLAIN).map(
            lambda p: f'[ "${p[0]}" {p[1]} {p[2]} ]'
        ),
        st.tuples(NAMES, st.sampled_from(["a*", "*-*", "[0-9]", "?", "x/*"])).map(
            lambda p: f"[[ ${p[0]} == {p[1]} ]]"
        ),
        NAMES.map('[ -z "${}" ]'.format),
        NAMES.map("[[ -n ${} ]]".format),
        arithmetic().map("(({}))".format),
        st.just("true"),
        st.just("! false"),
    )


def statements() -> st.SearchStrategy[str]:
    simple = st.one_of(
        st.tuples(NAMES, words()).map(lambda p: f"{p[0]}={p[1]}"),
        st.tuples(NAMES, words()).map(lambda p: f"{p[0]}+={p[1]}"),
        st.tuples(NAMES, words()).map(lambda p: f'{p[0]}="${p[0]} {p[1].strip(chr(34))}"'),
        st.tuples(NAMES, words()).map(lambda p: f"export {p[0]}={p[1]}"),
        st.tuples(ARRAYS, st.lists(words(), max_size=3)).map(
            lambda p: f"{p[0]}=({' '.join(p[1])})"
        ),
        st.tuples(ARRAYS, st.lists(words(), max_size=3)).map(
            lambda p: f"{p[0]}+=({' '.join(p[1])})"
        ),
        st.tuples(ARRAYS, st.integers(0, 3), words()).map(lambda p: f"{p[0]}[{p[1]}]={p[2]}"),
        st.tuples(st.sampled_from("NM"), arithmetic()).map(lambda p: f"{p[0]}=$(({p[1]}))"),
        st.tuples(st.sampled_from("NM"), NUMBERS).map(lambda p: f"(({p[0]} += {p[1]}))"),
        NAMES.map("unset {}".format),
        st.tuples(NAMES, PLAIN).map(lambda p: f': "${{{p[0]}:={p[1]}}}"'),
        st.tuples(NAMES, words()).map(lambda p: f'eval "{p[0]}=\\"{p[1].strip(chr(34))}\\""'),
        st.lists(words(), max_size=3).map(lambda p: f"call {' '.join(p)}"),
        st.lists(words(), max_size=3).map(lambda p: f"set -- {' '.join(p)}"),
        st.lists(words(), max_size=4).map(lambda p: f"torchrun {' '.join(p)}"),
        words().map(lambda word: f'bash -c \'torchrun "$A" $B "$@"\' x {word}'),
        words().map(lambda word: f"A={word} bash -c 'torchrun \"$A\"'"),
    )

    def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        block = st.lists(inner, min_size=1, max_size=3).map("\n".join)
        return st.one_of(
            st.tuples(conditions(), block, block).map(
                lambda p: f"if {p[0]}; then\n{p[1]}\nelse\n{p[2]}\nfi"
            ),
            st.tuples(conditions(), simple).map(lambda p: f"{p[0]} && {p[1]}"),
            st.tuples(conditions(), simple).map(lambda p: f"{p[0]} || {p[1]}"),
            st.tuples(st.lists(words(), max_size=3), block).map(
                lambda p: f"for I in {' '.join(p[0])}; do\n{p[1]}\nC=$I\ndone"
            ),
            st.tuples(words(), block, block).map(
                lambda p: f"case {p[0]} in\n8|a*) {p[1]} ;;\n--*) {p[1]} ;;\n*) {p[2]} ;;\nesac"
            ),
            block.map(
                lambda text: f"for ((K = 0; K < 3; K++)); do\n{text}\n[ $K -ge 1 ] && break\ndone"
            ),
            block.map(lambda text: f"(\n{text}\n)"),
            block.map(lambda text: f"{{\n{text}\n}}"),
        )

    return st.recursive(simple, nested, max_leaves=6)


PROLOGUE = (
    'N=3 M=5\ncall() { local B="$1"; C="$#"; A="$B-$2"; [ $# -gt 1 ] && return; LONG_NAME="$*"; }\n'
)
EPILOGUE = (
    '\ntorchrun end "$A" "$B" "$C" "$LONG_NAME" $A $B $C '
    '"${X[@]}" "${#Y[@]}" ${Y[@]} "$N" "$M" "$#" "$@" $*\n'
)
PROGRAMS = st.lists(statements(), min_size=1, max_size=8).map(
    lambda parts: PROLOGUE + "\n".join(parts) + EPILOGUE
)
RECORDER = '#!/bin/sh\nfor word; do printf "%s\\0" "$word"; done >> "$RECORD"\nprintf "\\n\\0" >> "$RECORD"\n'


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bash")
    (folder / "torchrun").write_text(RECORDER)
    (folder / "torchrun").chmod(0o755)
    return folder


def passed(folder: Path, text: str) -> list[list[str]]:
    """The words of every call of torchrun; raises `TimeoutExpired` for what does not end."""
    record = folder / "record"
    record.write_bytes(b"")
    subprocess.run(
        ["bash", "-c", text, "job.sh"],
        env={"PATH": f"{folder}:/usr/bin:/bin", "RECORD": str(record)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=5,
    )
    return [call.split("\0")[:-1] for call in record.read_text().split("\n\0")[:-1]]


def agree(read: list[str | Unknown], words: list[str]) -> bool:
    """Known words are those of bash; an unset word is none or an empty one, one unknown may be any number."""
    if not read:
        return not words
    first, *rest = read
    if isinstance(first, Unknown):
        return any(agree(rest, words[count:]) for count in range(len(words) + 1))
    return bool(words) and words[0] == first and agree(rest, words[1:])


@settings(
    max_examples=drawn(40, 400),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(PROGRAMS)
def test_the_same_words(recorder: Path, text: str) -> None:
    try:
        known = passed(recorder, text)
    except subprocess.TimeoutExpired:
        assume(False)
    found = [[word.text for word in launch.words[1:]] for launch in launches(text)]
    for words in known:
        assert any(agree(read, words) for read in found), words
    for read in found:
        assert any(agree(read, words) for words in known), read
