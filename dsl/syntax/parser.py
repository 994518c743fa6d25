"""Text -> syntax tree, and every syntax error that does not follow from another."""

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lark import Lark, Token, Transformer_NonRecursive, Tree
from lark.exceptions import UnexpectedInput

from .. import codes
from ..diagnostics import Diagnostic, Source, Span
from ..report import Report
from . import tables
from .quoting import ESCAPES, unwritable
from .syntax_errors import explain, without_statement
from .tree import (
    Binary,
    Block,
    Clause,
    Collection,
    Comparison,
    File,
    Function,
    Identifier,
    Import,
    Let,
    Map,
    Membership,
    Node,
    Number,
    Range,
    Setting,
    Statement,
    Text,
    Unary,
    depth,
)

#: Expressions that nest deeper, or have more operations in a row, are refused: walking one never exhausts
#: Python's stack.
MAX_DEPTH, MAX_IN_A_ROW = 60, 240
#: The most syntax errors reported at once.
MAX_ERRORS = 10
#: Texts whose trees are kept: an editor asks for several things of one version of a few files.
KEPT = 8


def parse(source: Source, start: int = 0, end: int | None = None) -> tuple[File, list[Diagnostic]]:
    """The tree of a text, or of a stretch of it, and its syntax errors; broken statements are left out."""
    if start or end is not None:
        return with_tokens(source, start, end)[:2]
    file, diagnostics = _parsed(source)
    return file, [*diagnostics]


@functools.lru_cache(KEPT)
def _parsed(source: Source) -> tuple[File, list[Diagnostic]]:
    return with_tokens(source)[:2]


def with_tokens(
    source: Source, start: int = 0, end: int | None = None
) -> tuple[File, list[Diagnostic], Tree[Token] | None]:
    """The file with its complaints, and Lark's tree, which has every token but comments; its places count
    from `start`."""
    end = len(source.text) if end is None else end
    report = Report()
    tree = _tree(source, start, source.text[start:end], report)
    statements = _Builder(source, start, report).transform(tree) if tree is not None else ()
    shallow = tuple(statement for statement in statements if _shallow(statement, report))
    return File(source, shallow), report.diagnostics, tree


def _tree(source: Source, start: int, text: str, report: Report) -> Tree[Token] | None:
    """Parses, leaves out what a syntax error touches, and parses again; None when nothing sound is left."""
    while len(report.diagnostics) < MAX_ERRORS:
        try:
            return _lark().parse(text)
        except UnexpectedInput as error:
            if (unclosed := _unclosed(error, text, source, start)) is not None:
                complaint, text = unclosed
                report.diagnostics.append(complaint)
                continue
            complaint, position = explain(error, text, source, start)
            stray = text[position : position + 1] == "}" and bool(report.diagnostics)
            report.diagnostics.append(replace(complaint, fix=None) if stray else complaint)
            remaining = without_statement(text, position)
        if remaining is None:
            return None
        text = remaining
    return None


def _unclosed(
    error: UnexpectedInput, text: str, source: Source, offset: int
) -> tuple[Diagnostic, str] | None:
    from .unclosed import unclosed_block

    position = error.pos_in_stream
    return unclosed_block(text, len(text) if position is None else position, source, offset)


class Lines:
    """Drops line breaks inside parentheses and brackets."""

    always_accept = ("_SEP",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        open_brackets = 0
        for token in stream:
            if token.type in ("LPAR", "LSQB"):
                open_brackets += 1
            elif token.type in ("RPAR", "RSQB"):
                open_brackets -= 1
            if token.type != "_SEP" or open_brackets <= 0:
                yield token


@functools.cache
def _lark() -> Lark:
    return tables.parser(Lines())


def _values(statement: Statement) -> Iterator[Node]:
    match statement:
        case Let(_, value) | Setting(_, value):
            yield value
        case Block(items=items):
            for item in items:
                yield item.condition if isinstance(item, Clause) else item.value


def _shallow(statement: Statement, report: Report) -> bool:
    shallow = True
    for value in _values(statement):
        nested, in_a_row = depth(value)
        message = ""
        if nested > MAX_DEPTH:
            message = f"the expression nests {nested} levels deep, at most {MAX_DEPTH} are read"
        elif in_a_row > MAX_IN_A_ROW:
            message = f"{in_a_row} operations in a row, at most {MAX_IN_A_ROW} are read"
        if message:
            report.add(codes.TOO_LARGE, message, value.span, "split it with `let`")
            shallow = False
    return shallow


#: What Lark passes to the method of a rule: its tokens, and what the methods of its sub-rules returned.
Children = list[Any]


class _Builder(Transformer_NonRecursive[Token, Any]):
    """Lark's tree, bottom up, into ours. Each method takes the children of its rule, punctuation included."""

    def __init__(self, source: Source, offset: int, report: Report):
        super().__init__(visit_tokens=False)
        self.source, self.offset, self.report = source, offset, report

    def _span(self, children: Children) -> Span:
        first, last = self._of(children[0]), self._of(children[-1])
        return first.to(last)

    def _of(self, child: Any) -> Span:
        if isinstance(child, Token):
            start, end = child.start_pos or 0, child.end_pos or 0
            return Span(self.source, start + self.offset, end + self.offset)
        if isinstance(child, Tree):
            return self._span(child.children)
        span: Span = child.span
        return span

    def _identifier(self, token: Token) -> Identifier:
        return Identifier(str(token), self._of(token))

    def _name(self, token: Token) -> Identifier:
        """A name, quoted or not."""
        if token.type != "STRING":
            return self._identifier(token)
        text = self._text(token)
        return Identifier(text.value, text.span)

    def _text(self, token: Token) -> Text:
        span = self._of(token)

        def unescape(match: re.Match[str]) -> str:
            if match[1] not in ESCAPES:
                message = f"unknown escape `{match[0]}` in text"
                self.report.add(codes.SYNTAX, message, span, r"a backslash is written `\\`")
            return ESCAPES.get(match[1], match[1])

        self.report.extend(unwritable(token, span))
        return Text(re.sub(r"\\(.)", unescape, token[1:-1]), span)

    def start(self, children: Children) -> tuple[Statement, ...]:
        return tuple(child for child in children if not isinstance(child, Token))

    def use(self, children: Children) -> Import:
        return Import(self._text(children[1]), self._span(children))

    def let(self, children: Children) -> Let:
        return Let(self._identifier(children[1]), children[3], self._span(children))

    def block(self, children: Children) -> Block:
        head, body = children
        names = {"kind": head.children[0], "name": None, "base": None}
        for before, token in zip(head.children, head.children[1:], strict=False):
            if token.type != "FROM":
                names["base" if before.type == "FROM" else "name"] = token
        kind, name, base = (token and self._name(token) for token in names.values())
        items = tuple(child for child in body.children if not isinstance(child, Token))
        return Block(kind, name, base, items, self._of(head), self._span(children))

    def setting(self, children: Children) -> Setting:
        return Setting(self._identifier(children[0]), children[2], self._span(children))

    def quoted(self, children: Children) -> Setting:
        key = self._text(children[0])
        return Setting(Identifier(key.value, key.span), children[2], self._span(children))

    def clause(self, children: Children) -> Clause:
        reason = self._text(children[3]) if len(children) > 3 else None
        return Clause(self._identifier(children[0]), children[1], reason, self._span(children))

    def map(self, children: Children) -> Map:
        settings = tuple(child for child in children if isinstance(child, Setting))
        return Map(settings, self._span(children))

    def identifier(self, children: Children) -> Identifier:
        return self._identifier(children[0])

    def number(self, children: Children) -> Number:
        return Number(str(children[0]).rstrip(), self._of(children[0]))

    def text(self, children: Children) -> Text:
        return self._text(children[0])

    def unary(self, children: Children) -> Unary:
        return Unary(str(children[0]), children[1], self._span(children))

    def binary(self, children: Children) -> Binary:
        left, op, right = children
        return Binary(str(op), left, right, self._span(children))

    def range(self, children: Children) -> Range:
        return Range(children[0], children[2], self._span(children))

    def comparison(self, children: Children) -> Comparison:
        ops = tuple(str(op) for op in children[1::2])
        return Comparison(tuple(children[::2]), ops, self._span(children))

    def membership(self, children: Children) -> Membership:
        return Membership(children[0], children[-1], len(children) == 4, self._span(children))

    def group(self, children: Children) -> Node:
        inner: Node = replace(children[1], span=self._span(children))
        return inner

    def _items(self, children: Children) -> tuple[Node, ...]:
        return tuple(child for child in children if not isinstance(child, Token))

    def call(self, children: Children) -> Function:
        return Function(str(children[0]), self._items(children), self._span(children))

    def row(self, children: Children) -> Collection:
        return Collection("[", self._items(children), self._span(children))

    def members(self, children: Children) -> Collection:
        return Collection("{", self._items(children), self._span(children))
