"""Where the lines of a script end, and what of them is a comment."""

from __future__ import annotations

import pytest

from parc.reading.bash.logical_lines import logical_lines
from parc.reading.bash.source import file_source


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a\n\n# b\nc # d\n", [(1, "a"), (4, "c ")]),
        ("a \\\n  b \\\n  c\nd\n", [(1, "a    b    c"), (4, "d")]),
        ("a 'b\nc' d\ne\n", [(1, "a 'b c' d"), (3, "e")]),
        ('a "$(b \'c\' "d")\ne"\nf\n', [(1, 'a "$(b \'c\' "d") e"'), (3, "f")]),
        ("if a; then\n  b # c \\\nfi\n", [(1, "if a; then"), (2, "  b "), (3, "fi")]),
        ("a 'it#is' b#c ${#d}\n", [(1, "a 'it#is' b#c ${#d}")]),
        ("cat <<E\n# a\nb # c\nE\n", [(1, "cat <<E"), (3, "b # c"), (4, "E")]),
        (
            "python -c \"print(f'{1}')\"\nsrun a\n",
            [(1, "python -c \"print(f'{1}')\""), (2, "srun a")],
        ),
        ("a \\", [(1, "a ")]),
    ],
)
def test_lines_end_where_the_parser_ends_them(text: str, expected: list[tuple[int, str]]) -> None:
    assert list(logical_lines(file_source("job.sh", text))) == expected


def test_a_quote_of_many_lines_is_one_line() -> None:
    inner = "".join(f"export A{number}={number}\n" for number in range(200))
    assert [
        number for number, _ in logical_lines(file_source("job.sh", f"a='\n{inner}'\nb\n"))
    ] == [1, 203]
