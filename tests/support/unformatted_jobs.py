"""Job files as nobody should write them: sound, with blanks, breaks and comments wherever they may stand."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[str]], str]

BLANKS = st.sampled_from(["", "", " ", "  ", "\t"])
COMMENTS = st.sampled_from(['# a "b" {', "#", "#!x  ", "# ; }", "#\t[sc21]"])
NAMES = st.sampled_from(
    ["tp", "pp", "model.layers", "layers", "a_long_name_of_a_thing", "lets", "x"]
)
NUMBERS = st.sampled_from(
    [
        "4",
        "1_000",
        "3e-4",
        "15T",
        "15 T",
        "80GiB",
        "80  GiB",
        "4 Mi  tokens",
        "92%",
        "2.5$/h",
        "7 foo",
        "7foo",
    ]
)
TEXTS = st.sampled_from(
    ['"c4"', '"# no comment"', r'"a \" {b; "', '"/data/c4_text_document/of/some/length"']
)
PARTS = ("operation", "operation", "minus", "not", "group", "row", "call", "set")
OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    " % ",
    "**",
    " and ",
    " or ",
    "==",
    "<=",
    "..",
    " in ",
    " not in ",
]


@st.composite
def job_texts(draw: Draw) -> str:
    """A whole file."""
    statements = (settings(), lets(), blocks(), st.just('import "parts/a.par"'))
    ends = [draw(st.sampled_from(["\n", "\n\n", "\n\n\n\n", ";", " ; \n"])) for _ in range(4)]
    file = "".join(f"{draw(st.one_of(statements))}{remark(draw)}{end}" for end in ends)
    text = f"{lines(draw)}{file}{lines(draw)}{remark(draw)}"
    return (
        text.replace("\n", "\r\n")
        if draw(st.sampled_from(["lf", "lf", "crlf"])) == "crlf"
        else text
    )


def remark(draw: Draw) -> str:
    """Perhaps a comment with the end of its line."""
    return draw(BLANKS) + draw(st.one_of(st.just(""), COMMENTS.map(lambda text: f"{text}\n")))


def lines(draw: Draw) -> str:
    """Perhaps line breaks and comments between them."""
    count = int(draw(st.sampled_from("0001123")))
    return draw(BLANKS) + "".join(f"{remark(draw)}\n" for _ in range(count)) + draw(BLANKS)


@st.composite
def lets(draw: Draw) -> str:
    return f"let {draw(NAMES)}{draw(BLANKS)}={draw(BLANKS)}{draw(values())}"


@st.composite
def settings(draw: Draw) -> str:
    return f"{draw(NAMES)}{draw(BLANKS)}={draw(BLANKS)}{draw(values())}"


@st.composite
def clauses(draw: Draw) -> str:
    word = draw(st.sampled_from(["maximize", "require", "forbid"]))
    reason = draw(st.sampled_from(["", ' : "reason"', ':"a reason"', f' : "{"long " * 20}"']))
    return f"{word} {draw(expressions(free=False))}{reason}"


@st.composite
def blocks(draw: Draw) -> str:
    head = draw(
        st.sampled_from(["model", "model m", "target  megatron", "model m\tfrom std.x", "goal"])
    )
    return f"{head}{draw(BLANKS)}{draw(bodies(st.one_of(settings(), clauses())))}"


@st.composite
def bodies(draw: Draw, items: st.SearchStrategy[str]) -> str:
    """Braces with items between them, on one line or more."""
    count = int(draw(st.sampled_from("01234")))
    inner = "".join(f"{draw(items)}{separator(draw)}" for _ in range(count))
    return "{" + lines(draw) + inner + "}"


def separator(draw: Draw) -> str:
    return draw(st.sampled_from([";", " ; ", "\n", "\n\n\n", ";\n"])) + lines(draw)


@st.composite
def tables(draw: Draw) -> str:
    keys = st.sampled_from(["a", '"quoted key"', "longer"])
    entry = st.tuples(keys, st.one_of(expressions(free=False))).map(
        lambda pair: f"{pair[0]} = {pair[1]}"
    )
    return "{" + lines(draw) + f"{draw(entry)}{separator(draw)}{draw(entry)}{lines(draw)}" + "}"


def values() -> st.SearchStrategy[str]:
    return st.one_of(expressions(free=False), expressions(free=False), tables())


@st.composite
def expressions(draw: Draw, free: bool, depth: int = 3) -> str:
    """`free`: inside parentheses or brackets, where lines may end anywhere."""
    kind = draw(st.sampled_from(("word", "number", "text", *(PARTS if depth else ()))))
    gap = lines if free else (lambda draw: draw(BLANKS))
    if kind == "operation":
        left, right = (draw(expressions(free=free, depth=depth - 1)) for _ in range(2))
        return f"({left}){gap(draw)}{draw(st.sampled_from(OPERATORS))}{gap(draw)}({right})"
    if kind in ("minus", "not"):
        return f"({kind.replace('minus', '-')} ({draw(expressions(free=True, depth=depth - 1))}))"
    if kind in ("word", "number", "text"):
        return draw({"word": NAMES, "number": NUMBERS, "text": TEXTS}[kind])
    if kind == "group":
        return f"({lines(draw)}{draw(chains(depth - 1))}{lines(draw)})"
    return draw(lists(kind, free, depth))


@st.composite
def chains(draw: Draw, depth: int) -> str:
    """`a + b * c`, long or short, where lines may end anywhere."""
    parts = [draw(st.one_of(NAMES, expressions(free=True, depth=depth)))]
    for _ in range(int(draw(st.sampled_from("01259")))):
        parts += [draw(st.sampled_from([" and ", " or ", "+", "*"])), draw(NAMES)]
    return "".join(f"{part}{lines(draw)}" for part in parts)


@st.composite
def lists(draw: Draw, kind: str, free: bool, depth: int) -> str:
    """A row, a set or a call; in a set alone a line ends after its brace and its commas."""
    opening, closing = {"row": ("[", "]"), "set": ("{", "}"), "call": ("max(", ")")}[kind]
    inside = free or kind != "set"
    items = [
        draw(expressions(free=inside, depth=depth - 1))
        for _ in range(int(draw(st.sampled_from("1123"))))
    ]
    before = lines if inside else (lambda draw: draw(BLANKS))
    inner = ",".join(f"{lines(draw)}{item}{before(draw)}" for item in items)
    last = draw(st.sampled_from(["", ","]))
    end = lines(draw) if last or inside else draw(st.sampled_from(["", "\n", " # end\n\n"]))
    return f"{opening}{inner}{last}{end}{closing}"
