"""Where a parser stopped -> what was meant, by blocks and lines that have the shape of another language's."""

from __future__ import annotations

import re
from collections.abc import Callable

from .naming import block_name
from .stop import BLOCK, END, Cure, Stop

#: What follows the name of a block.
_AFTER_NAME = r"(?=[ \t]*(?:\{|$|from\b))"


def _document(stop: Stop) -> Cure:
    """`---` and `...`, between which YAML has a document."""
    line = re.compile(r"[ \t]*(?:---|\.\.\.)[ \t]*(?:\n|\Z)").match(stop.text, stop.line)
    if line is None:
        return None
    return "a job has no such line: take it out", stop.fix(line.start(), line.end(), "")


def _arguments(stop: Stop) -> Cure:
    """`train(seq_len=8192, steps=100)`, as a call of Python."""
    named = rf"[ \t]*({BLOCK}(?:[ \t]+[\w.]+)*)[ \t]*\(([^(){{}}]*)\)(?:[ \t]*\{{[ \t]*\}})?"
    head = re.compile(named).match(stop.text, stop.line)
    if head is None or not head.start() <= stop.at <= head.end() or not head[2].strip():
        return None
    given = [part.strip() for part in head[2].split(",") if part.strip()]
    if not all(re.fullmatch(r"\w+[ \t]*=(?!=)[^=]+", part) for part in given):
        return None
    settings = "; ".join(" = ".join(map(str.strip, part.split("=", 1))) for part in given)
    text = f"{head[1]} {{ {settings} }}"
    return "settings stand in braces", stop.fix(head.start(1), head.end(), text)


def _two_bases(stop: Stop) -> Cure:
    """`model from std.a, std.b { }`."""
    bases = stop.around(r"\bfrom[ \t]+[\w.\"/-]+([ \t]*,[ \t]*[\w.\"/-]+)+")
    if bases is None or stop.found != ",":
        return None
    first = stop.text[bases.start() : stop.at].rstrip()
    fix = stop.fix(bases.start() + len(first), bases.end(), "", safe=False)
    return "a block has one base: keep one", fix


def _membership(stop: Stop) -> Cure:
    """`nodes in {1, 2}` and `nodes in 1..8` in a block of settings."""
    found = stop.around(r"(?:^|(?<=[{;]))[ \t]*(\w+)([ \t]+in[ \t]+)(?=[{\[\d])")
    if found is None or found[1] in ("require", "forbid", "prefer", "for"):
        return None
    return "a setting has `=`", stop.fix(found.start(2), found.end(2), " = ")


def _counted_gpus(stop: Stop) -> Cure:
    """`8 x H100` on a line of a cluster."""
    found = stop.around(rf"(?:^|(?<=[{{;]))[ \t]*((\d+)[ \t]*x[ \t]*([A-Za-z][\w.-]*)){END}")
    if found is None:
        return None
    name = found[3] if re.fullmatch(r"[\w.]+", found[3]) else f'"{found[3]}"'
    text = f"gpu = {name}; gpus_per_node = {found[2]}"
    return f"write `{text}`", stop.fix(found.start(1), found.end(1), text)


def _several_nodes(stop: Stop) -> Cure:
    """`cluster 8 x dgx_h100 { }` and `cluster c from dgx_h100 x 8`."""
    before = r"(\d+)[ \t]*[x*][ \t]*([A-Za-z][\w.]*)"
    after = r"(?:\w+[ \t]+)?(?:from[ \t]+)?([A-Za-z][\w.]*)[ \t]*[x*][ \t]*(\d+)"
    head = stop.around(rf"^[ \t]*cluster[ \t]+((?:{before}|{after})[ \t]*(?:\{{|$))")
    if head is None:
        return None
    text = f"from {head[3] or head[4]} {{ nodes = {head[2] or head[5]}"
    if not head[0].endswith("{"):
        return f"write `{text} }}`", stop.fix(head.start(1), head.end(1), f"{text} }}")
    closed = re.compile(r"[ \t]*\}").match(stop.text, head.end())
    return f"write `{text} }}`", stop.fix(
        head.start(1), head.end(1), text + ("" if closed else ";")
    )


def _one_value(stop: Stop) -> Cure:
    """`target: megatron` and `goal: maximize mfu`, which YAML has on one line."""
    line = re.compile(r"(target|model|cluster)[ \t]*:[ \t]*([A-Za-z_][\w.]*)[ \t]*$", re.MULTILINE)
    found = line.match(stop.text, stop.line)
    if found is None:
        return None
    text = f"{found[1]}{'' if found[1] == 'target' else ' from'} {found[2]} {{ }}"
    return f"write `{text}`", stop.fix(found.start(), found.end(), text)


def _bare_settings(stop: Stop) -> Cure:
    """`cluster from dgx_h100 nodes=8`, without braces."""
    line = re.compile(
        rf"[ \t]*{BLOCK}[^={{}}\n]*?[ \t]((?:\w++[ \t]*+=[ \t]*+[\w.\"]++[ \t]*+)++)$", re.MULTILINE
    )
    found = line.match(stop.text, stop.line)
    if found is None or not found.start(1) <= stop.at <= found.end():
        return None
    given = re.findall(r"\b(\w+)[ \t]*=[ \t]*([\w.\"]+)", found[1])
    text = f"{{ {'; '.join(f'{name} = {value}' for name, value in given)} }}"
    return "settings stand in braces", stop.fix(found.start(1), found.end(1), text)


def _with(stop: Stop) -> Cure:
    """`model from llama3_8b with { layers = 16 }`."""
    word = stop.around(
        rf"^[ \t]*{BLOCK}[^{{}}=\n]*?((?<![ \t])[ \t]+(?:with|having|where|and|as))[ \t]*(?=\{{)"
    )
    if word is None:
        return None
    return "the settings follow at once", stop.fix(word.start(1), word.end(1), "")


def _same_line(stop: Stop) -> Cure:
    """A block that begins on the line on which another one ends."""
    block = re.compile(rf"{BLOCK}[^=\n]*\{{").match(stop.text, stop.at)
    before = stop.text[stop.line : stop.at].rstrip()
    if block is None or not before.endswith("}"):
        return None
    start = stop.line + len(before)
    return "a block begins on a line of its own", stop.fix(start, stop.at, "\n")


def _option(stop: Stop) -> Cure:
    """`--use-flash-attn` and `--num-workers 4` in a target."""
    option = r"--([a-z][\w-]*)(?:(?:[ \t]+|=)([\w./+-]*\w))?"
    found = re.compile(rf"{option}{END}").match(stop.text, stop.at)
    if stop.found != "-" or found is None or stop.block != "target":
        return None
    value = found[2] or "true"
    told = value if re.fullmatch(r"true|false|[\d.]+(?:e-?\d+)?", value) else f'"{value}"'
    text = f"extra = {{ {found[1].replace('-', '_')} = {told} }}"
    return f"any other option stands in `{text}`", stop.fix(found.start(), found.end(), text, False)


def _listed_targets(stop: Stop) -> Cure:
    """`targets { megatron; torchtitan }` and `targets = [megatron, torchtitan]`."""
    pattern = r"[ \t]*targets?[ \t]*(?:=[ \t]*\[|\{|=[ \t]*\{)([\s\w;,\"]*)[\]}]"
    listed = re.compile(pattern).match(stop.text, stop.line)
    names = re.findall(r"\w+", listed[1]) if listed else []
    if listed is None or not names or not listed.start() <= stop.at <= listed.end():
        return None
    text = "\n".join(f"target {name} {{ }}" for name in names)
    return "each target has a block", stop.fix(listed.start(), listed.end(), text)


def _quoted_name(stop: Stop) -> Cure:
    """`target "megatron" {`, as in Terraform."""
    head = stop.around(rf"^[ \t]*{BLOCK}[ \t]+(\"([A-Za-z_]\w*)\")")
    other = stop.around(r"^[ \t]*(model|gpu|cluster)[ \t]+(\"([^\"\n]+)\")[ \t]*(\{|from\b)?")
    if head is None and other is not None and other[4] == "from":
        text = block_name(other[3], other[1])
        return f"a name has no quotes: `{text}`", stop.fix(other.start(2), other.end(2), text)
    if head is None and other is not None:
        text = f"from {other[2]}" + ("" if other[4] else " { }")
        return f"write `{text}`", stop.fix(other.start(2), other.end(2), text)
    if head is None:
        return None
    return f"a name has no quotes: `{head[2]}`", stop.fix(head.start(1), head.end(1), head[2])


def _include(stop: Stop) -> Cure:
    line = re.compile(r"[ \t]*(?:include|use|source)[ \t]+\"([^\"\n]+)\"[ \t]*$", re.MULTILINE)
    found = line.match(stop.text, stop.line)
    if found is None:
        return None
    text = f'import "{found[1]}"'
    return f"write `{text}`", stop.fix(found.start(), found.end(), text)


def _call(stop: Stop) -> Cure:
    head = stop.around(rf"\b{BLOCK}[ \t]*(\([ \t]*\))[ \t]*\{{")
    if head is None:
        return None
    return "a block has no parentheses", stop.fix(head.start(1), head.end(1), "")


def _several(stop: Stop) -> Cure:
    """`target megatron, deepspeed { }`."""
    head = stop.around(r"^[ \t]*target[ \t]+(\w+(?:[ \t]*,[ \t]*\w+)+)[ \t]*(\{[^{}]*\})")
    if head is None:
        return None
    blocks = "\n".join(f"target {name.strip()} {head[2]}" for name in head[1].split(","))
    return "each target has a block", stop.fix(head.start(), head.end(), blocks)


def _hyphened_name(stop: Stop) -> Cure:
    """`target Megatron-LM`, `cluster pod-2 from dgx_h100 {` and `cluster 2nd-pod {`."""
    head = stop.around(rf"^[ \t]*{BLOCK}[ \t]+([A-Za-z]\w*(?:-\w+)+){_AFTER_NAME}")
    if head is not None:
        text = head[1].replace("-", "_")
        return f"a name has `_` for `-`: `{text}`", stop.fix(head.start(1), head.end(1), text)
    head = stop.around(rf"^[ \t]*(model|gpu|cluster)[ \t]+(\d\w*(?:-\w+)*){_AFTER_NAME}")
    if head is None:
        return None
    text = block_name(head[2], head[1])
    return f"a name begins with a letter: `{text}`", stop.fix(head.start(2), head.end(2), text)


def _yaml_list(stop: Stop) -> Cure:
    """`targets:` and a name below it after each dash, or `require:` and conditions."""
    clauses = re.compile(
        r"[ \t]*(require|forbid|prefer)s?[ \t]*:[ \t]*((?:\n[ \t]*-[ \t]+[^\n]+)+)"
    ).match(stop.text, stop.line)
    if clauses is not None:
        indent = stop.text[stop.line : clauses.start(1)]
        told = re.findall(r"-[ \t]+([^\n]+)", clauses[2])
        text = "\n".join(f"{indent}{clauses[1]} {each.strip()}" for each in told)
        help = f"each condition has its `{clauses[1]}`"
        return help, stop.fix(stop.line, clauses.end(), text)
    listed = re.compile(r"targets?[ \t]*:[ \t]*((?:\n[ \t]*-[ \t]*\w+[ \t]*)+)").match(
        stop.text, stop.line
    )
    if listed is None:
        return None
    text = "\n".join(f"target {name} {{ }}" for name in re.findall(r"\w+", listed[1]))
    return "each target has a block", stop.fix(listed.start(), listed.end(), text)


#: What looks at more characters first.
FOREIGN_BLOCKS: tuple[Callable[[Stop], Cure], ...] = (
    _document,
    _same_line,
    _several_nodes,
    _one_value,
    _bare_settings,
    _with,
    _option,
    _yaml_list,
    _listed_targets,
    _arguments,
    _two_bases,
    _membership,
    _counted_gpus,
    _include,
    _several,
    _quoted_name,
    _hyphened_name,
    _call,
)
