"""Words of a launched command: quotes, expansions, positions, and what is not decided."""

from __future__ import annotations

from parc.reading.facts import Unknown
from tests.support.bash_launches import command, launches, said


def words(text: str) -> list[str]:
    return said(command(text))


def test_variables_and_defaults() -> None:
    text = 'A=1\nB="${B:-x/$A}"\nC="${A}2"\nD=${A:+set}\ntorchrun $A "$B" ${C} "$D" "${E-none}"\n'
    assert words(text) == ["torchrun", "1", "x/1", "12", "set", "none"]


def test_arrays_with_comments_and_continuations() -> None:
    text = 'A=(\n  --x 1  # a (comment)\n  "b c"\n)\nA+=(--y)\nexec torchrun \\\n  "${A[@]}" \\\n  "$@"\n'
    assert words(text) == ["torchrun", "--x", "1", "b c", "--y"]


def test_positions_are_those_of_the_source() -> None:
    found = command('N=8\nARGS=(\n    --flag  value\n)\ntorchrun "$N" "${ARGS[@]}"\n')
    assert [(word.line, word.column) for word in found] == [(5, 1), (1, 3), (3, 5), (3, 13)]


def test_quotes_and_escapes() -> None:
    assert words("torchrun 'a $b' \"c\\\"d\\$e\" f\\ g 'h'i\n") == [
        "torchrun",
        "a $b",
        'c"d$e',
        "f g",
        "hi",
    ]


def test_last_program_counts_and_others_do_not() -> None:
    text = "mkdir -p x\npython prepare.py\nFOO=1 /opt/bin/torchrun a.py && echo done\n"
    assert words(text) == ["/opt/bin/torchrun", "a.py"]
    assert command("echo hello\n") == ()


def test_redirects_and_pipes_end_the_words() -> None:
    assert words("torchrun a.py 2>&1 | tee log\n") == ["torchrun", "a.py"]
    assert words("torchrun a.py > log b\n") == ["torchrun", "a.py", "b"]


def test_what_runs_is_unknown() -> None:
    text = 'A=$(hostname)\nif [ -d x ]; then\n  B=1\nfi\ntorchrun "$A" "$B" "$C" `date`\n'
    found = command(text)[1:]
    reasons = [word.text.reason for word in found if isinstance(word.text, Unknown)]
    assert len(reasons) == 4
    assert (
        "hostname" in reasons[0]
        and "`[ -d x ]` on line 2 is not decided" in reasons[1]
        and "nothing sets" in reasons[2]
    )


def test_arithmetic_and_unquoted_splitting() -> None:
    text = 'if ((N * 2 != 4)); then\n  echo "$((N + 1))" >&2\nfi\nA="1 2"\ntorchrun $A "$A"\n'
    assert words(text) == ["torchrun", "1", "2", "1 2"]


def test_broken_text_never_raises() -> None:
    for text in ('A=("', "torchrun ${", "torchrun $(", "'", "torchrun \\", "((", "fi\n;;)"):
        launches(text)
