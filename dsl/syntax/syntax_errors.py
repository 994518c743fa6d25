"""A parser's failure -> a complaint in words, and the text without the broken statement."""

import re
from collections.abc import Collection

from lark import Token
from lark.exceptions import UnexpectedInput, UnexpectedToken

from .. import codes
from ..diagnostics import Diagnostic, Fix, Note, Source, Span, replaced
from .quoting import shortened

#: Terminals of the grammar in words, in the order in which messages list them.
_WORDS = {
    "NUMBER": "a value",
    "NAME": "a name",
    "STRING": "text in double quotes",
    "EQUAL": "`=`",
    "LBRACE": "`{`",
    "COMMA": "`,`",
    "RPAR": "`)`",
    "RSQB": "`]`",
    "_SEP": "a new line",
    "SEMICOLON": "`;`",
    "RBRACE": "`}`",
    "COMPARE": "an operator",
}
#: Terminals that begin a value; messages name them all by "a value".
_VALUE_STARTS = {"NAME", "STRING", "LBRACE"}

_CHARACTER_HELP = {
    '"': 'close the text with `"` on the same line',
    "'": "text stands in double quotes",
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`, or `!=` to compare",
}


def explain(
    error: UnexpectedInput, text: str, source: Source, offset: int
) -> tuple[Diagnostic, int]:
    """The complaint, and where in `text` the parser stopped; `text` begins at `offset` of the source."""
    if isinstance(error, UnexpectedToken):
        return _unexpected_token(error, text, source, offset)
    position = min(error.pos_in_stream or 0, len(text))
    character = text[position : position + 1]
    shown = f"`{character}`" if character.isprintable() and not character.isspace() else ""
    message = f"unexpected character {shown or f'U+{ord(character):04X}'}"
    if character == '"':
        message = "text is not closed at the end of the line"
    span = Span(source, offset + position, offset + position + 1)
    help, fix = _cure(source, offset, text, position, character)
    help = help or _CHARACTER_HELP.get(character)
    if character == '"' and fix is None:
        end = _end_of_unclosed(text, position)
        closed = len(text[:end].rstrip(" \t"))
        fix = replaced(Span(source, offset + closed, offset + closed), '"', safe=False)
    return Diagnostic(codes.SYNTAX, message, span, help=help, fix=fix), position


def _unexpected_token(
    error: UnexpectedToken, text: str, source: Source, offset: int
) -> tuple[Diagnostic, int]:
    token: Token = error.token
    at_end = token.type == "$END"
    position = len(text.rstrip()) if at_end else (token.start_pos or 0)
    length = 1 if at_end or token.type == "_SEP" else len(token)
    span = Span(source, offset + position, offset + position + length)
    accepted = error.accepts or set()
    opened = _open_brackets(text, position)
    if token.type == "RBRACE" and not opened:
        return _stray_brace(span), position
    notes: tuple[Note, ...] = ()
    if at_end and opened or (opened and text[opened[-1]] in "(["):
        place = Span(source, offset + opened[-1], offset + opened[-1] + 1)
        notes = (Note(f"this `{text[opened[-1]]}` is not closed yet", place),)
    message = f"expected {_expected(accepted, token.type)}, found {_found(token)}"
    before = text[:position].rstrip()
    found = "" if token.type in ("$END", "_SEP") else str(token)
    help, fix = _cure(source, offset, text, position, found)
    help = help or _hint(token, accepted, text[position:], before)
    if help is None and at_end and opened:
        help = "close the block with `}`"
    if fix is None:
        fix = _missing(help, source, offset + len(before), bool(at_end and opened))
    return Diagnostic(codes.SYNTAX, message, span, notes=notes, help=help, fix=fix), position


def _cure(
    source: Source, offset: int, text: str, position: int, found: str
) -> tuple[str | None, Fix | None]:
    """Help and cure of what is known as a habit, which only a file with an error has to load."""
    from .stop import Stop
    from .syntax_cures import cure

    return cure(Stop(source, offset, text, position, found)) or (None, None)


def _stray_brace(span: Span) -> Diagnostic:
    help, fix = "take it out, or open its block above", replaced(span, "", safe=False)
    return Diagnostic(codes.SYNTAX, "this `}` closes nothing", span, help=help, fix=fix)


def _missing(help: str | None, source: Source, place: int, unclosed: bool) -> Fix | None:
    """The `;` between two settings, or the brace that the text ends without, which may belong further up."""
    here = Span(source, place, place)
    if help == _SEMICOLON:
        return replaced(here, ";")
    return replaced(here, "\n}", safe=False) if unclosed else None


def _expected(accepted: Collection[str], found: str) -> str:
    accepted = set(accepted) - (_VALUE_STARTS if "NUMBER" in accepted else set())
    if "COMMA" in accepted:
        accepted -= {"_SEP"}
    elif "_SEP" in accepted:
        accepted |= {"SEMICOLON"}
    phrases = [phrase for terminal, phrase in _WORDS.items() if terminal in accepted]
    if len(phrases) > 1 and found not in ("_SEP", "$END"):
        phrases = [phrase for phrase in phrases if phrase != _WORDS["COMPARE"]]
    if not phrases:
        return "the end of the file"
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} or {phrases[-1]}"


def _found(token: Token) -> str:
    if token.type == "$END":
        return "the end of the file"
    if token.type == "_SEP":
        return "`;`" if token.startswith(";") else "the end of the line"
    return f"`{shortened(token)}`"


_SEMICOLON = "settings on one line need `;` between them"


#: What begins a setting or a clause.
_BEGUN = re.compile(
    r"[A-Za-z_][\w.]*[ \t]*(?:=(?!=)|\{)|(?:maximize|minimize|require|forbid|prefer)\b"
)


def _hint(token: Token, accepted: Collection[str], rest: str, before: str) -> str | None:
    if token.type == "EQUAL" and re.search(r"\blet\s+\w+$", before):
        return "`let` stands outside of the blocks"
    if token.type == "EQUAL" and "COMPARE" in accepted:
        return "`=` gives a setting its value; compare with `==`"
    if token.type in ("NAME", "NUMBER") and "_SEP" in accepted and "COMMA" not in accepted:
        if before.endswith("%"):
            return "`%` after a number is a percentage; a remainder has spaces around it: `a % b`"
        return _SEMICOLON if _BEGUN.match(rest) else None
    if token.type == "RBRACE" and "NUMBER" in accepted:
        return "give a value before the block ends"
    return None


_SCAN = re.compile(r'"(?:\\.|[^"\\\n])*"?|#[^\n]*|[()\[\]{};\n]')
_CLOSES = {")": "(", "]": "[", "}": "{"}


def _open_brackets(text: str, position: int) -> list[int]:
    """Positions of the brackets that are open at a position, outermost first."""
    stack: list[int] = []
    for match in _SCAN.finditer(text, 0, position):
        if match[0] in ("(", "[", "{"):
            stack.append(match.start())
        elif stack and _CLOSES.get(match[0]) == text[stack[-1]]:
            stack.pop()
    return stack


def without_statement(text: str, position: int) -> str | None:
    """The text with the statement at a position blanked out; None when nothing is left to blank."""
    opened = _open_brackets(text, position)
    if not text[position:].strip() and any(text[place] == "{" for place in opened):
        return None
    if text[position : position + 1] == "}" and not opened:
        return text[:position] + " " + text[position + 1 :]
    inside = [place for place in opened if text[place] in "(["]
    start = _before(text, inside[0] if inside else position)
    end = _after(text, position)
    if text[position : position + 1] == '"':
        end = _end_of_unclosed(text, position)
    if not text[start:end].strip() and text[end : end + 1] in ("}", ";"):
        end += 1
    removed = text[start:end]
    if not removed.strip():
        return None
    return text[:start] + re.sub(r"[^\n]", " ", removed) + text[end:]


def _before(text: str, position: int) -> int:
    """The end of the last boundary on the line before a position."""
    start = text.rfind("\n", 0, position) + 1
    for match in _SCAN.finditer(text, start, position):
        if match[0] in ("{", "}", ";"):
            start = match.end()
    return start


def _end_of_unclosed(text: str, position: int) -> int:
    """Where a text without closing quotes ends: with the line, but before a brace that closes its block."""
    line = text[position:].split("\n", 1)[0].rstrip()
    return position + len(line) - line.endswith("}")


def _after(text: str, position: int) -> int:
    """The next boundary at or after a position; the end of the whole block when that is an opening brace."""
    depth = 0
    for match in _SCAN.finditer(text, position):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}" and depth:
            depth -= 1
            if not depth:
                return match.end()
        elif match[0] in ("}", ";", "\n") and not depth:
            return match.start()
    return len(text)
