"""Values -> the text of a YAML file, which every version of YAML reads as the same values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from .language import Written, one_line, writable

if TYPE_CHECKING:
    import yaml

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
    """The library is loaded when something is written: readers of other files do without."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
            return super().increase_indent(flow, False)

        def ignore_aliases(self, data: object) -> bool:
            return True

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
        style = "|" if "\n" in value else None if plain else '"'
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    Dumper.add_multi_representer(str, lambda dumper, value: text(dumper, str(value)))
    return Dumper
