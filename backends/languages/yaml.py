"""Values -> the text of a YAML file, which every version of YAML reads as the same values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .language import Written, one_line, writable

if TYPE_CHECKING:
    import yaml

#: What YAML 1.1 reads as a new line in a block.
_BREAKS = re.compile("[\x85\u2028\u2029]")
#: Text of printable ASCII may stand as a block if no line of it ends with a space.
_ASCII = re.compile(r"[\n -~]+")
#: A text that stands without quotes. Words such as `no`, numbers such as `1e3` and dates do not: YAML 1.1 and
#: 1.2, and the libraries that read them, take different ones of these for something else.
_PLAIN = re.compile(r"[A-Za-z/][\w./-]*(?::[\w./-]+)*", re.ASCII)
_WORDS = {"y", "yes", "n", "no", "true", "false", "on", "off", "null"}


class Yaml(Written):
    """Text of YAML."""

    __slots__ = ()


def documents(values: Iterable[Mapping[str, object]], remarks: Iterable[str] = ()) -> Yaml:
    """A file of documents, below lines of comment. A text of several lines stands as a block."""
    import yaml

    head = "".join(f"# {one_line(remark)}\n" for remark in remarks)
    texts = (
        yaml.dump(each, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=1_000)
        for each in values
    )
    return Yaml(writable(head + "---\n".join(texts)))


@cache
def _dumper() -> type[yaml.SafeDumper]:
    """The library is loaded when something is written: readers of other files do without.

    A manifest carries whole scripts, which the library analyses and writes character by character; those of
    ASCII are seen and written at once, to the same bytes.
    """
    import yaml
    from yaml.emitter import ScalarAnalysis

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
            return super().increase_indent(flow, False)

        def ignore_aliases(self, data: object) -> bool:
            return True

        def analyze_scalar(self, scalar: str) -> Any:
            if not _is_block(scalar):
                return super().analyze_scalar(scalar)
            return ScalarAnalysis(scalar, False, True, False, False, False, True, allow_block=True)

        def write_literal(self, text: str) -> None:
            if not _is_block(text):
                return super().write_literal(text)
            hints = self.determine_block_hints(text)
            self.write_indicator(f"|{hints}", True)
            self.open_ended = self.open_ended or hints.endswith("+")
            self.write_line_break()
            indent = " " * (self.indent or 0)
            lines = (indent + line if line else line for line in text.split("\n"))
            self.stream.write("\n".join(lines) + "\n" * (not text.endswith("\n")))

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        block = "\n" in value and not _BREAKS.search(value)
        style = "|" if block else None if plain else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    Dumper.add_multi_representer(str, lambda dumper, value: text(dumper, str(value)))
    return Dumper


def _is_block(text: str) -> bool:
    """Whether a text is of several lines that stand in a block as they are, seen without the library."""
    plain = "\n" in text and _ASCII.fullmatch(text) is not None
    return plain and " \n" not in text and not text.endswith(" ")
