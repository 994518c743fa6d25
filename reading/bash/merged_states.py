"""The shell states of several branches -> one: what differs is unknown, with its alternatives."""

from collections.abc import Iterable, Sequence

from ..facts import Unknown
from .shell import Shell, Variable
from .values import Piece, Text, lenient, plain, unknown_of


def merged(shells: Sequence[Shell], reason: str) -> Shell:
    """The first state, merged with the others: values that differ become unknown, for this reason."""
    first, *others = shells
    for other in others:
        names = first.variables.keys() | other.variables.keys()
        for name in names:
            one, two = first.variables.get(name), other.variables.get(name)
            if one is not two and one != two:
                first.variables[name] = _merged_variable(one, two, f"`{name}`: {reason}")
        for key in other.files.keys() - first.files.keys():
            first.files[key] = other.files[key]
        for key, text in other.files.items():
            if first.files[key] != text:
                first.files[key] = merged_text(first.files[key], text, reason)
        first.functions.update(other.functions)
        first.outside = first.outside or other.outside
        if first.positional != other.positional:
            first.positional = ()
            first.outside = Unknown(reason)
        if first.cwd != other.cwd:
            first.cwd = ""
        if first.pushed != other.pushed:
            first.pushed = ()
    return first


def _merged_variable(one: Variable | None, two: Variable | None, reason: str) -> Variable:
    filled = one or two
    assert filled is not None
    one, two = one or Variable(()), two or Variable(())
    exported = one.exported or two.exported
    if filled.elements is None and one.elements is None and two.elements is None:
        return Variable(merged_text(one.value, two.value, reason), None, exported)
    parts = [tuple((variable.elements or {}).values()) for variable in (one, two)]
    return Variable((), _merged_elements(parts[0], parts[1], reason), exported)


def merged_text(one: Text, two: Text, reason: str) -> Text:
    """The common prefix, an unknown piece and the common suffix of two texts; equal ones stay."""
    texts = [lenient(text) for text in (one, two)]
    if texts[0] == texts[1] and isinstance(texts[0], str) and unknown_of(one) is None:
        return one
    start = _common(one, two)
    end = _common(one[start:][::-1], two[start:][::-1])
    middles = [text[start : len(text) - end] for text in (one, two)]
    options = [option for middle in middles for option in _alternatives(middle)]
    known = tuple(dict.fromkeys(options)) if None not in options else ()
    place = next(middle[0] for middle in [*middles, one, two, (Piece("", "", 1, 1),)] if middle)
    unknown = Unknown(reason, tuple(text for text in known if text is not None)[:16])
    before = one[:start]
    last = before[-1].text if before else ""
    if isinstance(last, Unknown) and before[-1].split == place.split:
        before, unknown = before[:-1], Unknown(last.reason)
    return (*before, place._replace(text=unknown), *one[len(one) - end :])


def _alternatives(text: Text) -> Iterable[str | None]:
    if len(text) == 1 and isinstance(text[0].text, Unknown) and text[0].text.alternatives:
        return text[0].text.alternatives
    value = lenient(text)
    return (value,) if isinstance(value, str) else (None,)


def _common(one: Sequence[object], two: Sequence[object]) -> int:
    count = 0
    for left, right in zip(one, two, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count


def _merged_elements(one: tuple[Text, ...], two: tuple[Text, ...], reason: str) -> dict[str, Text]:
    start = _common(one, two)
    end = _common(one[start:][::-1], two[start:][::-1])
    middles = [elements[start : len(elements) - end] for elements in (one, two)]
    options: list[str | None] = []
    for middle in middles:
        texts = [plain(text) if text else "" for text in middle]
        options.append(
            " ".join(map(str, texts)) if all(isinstance(t, str) for t in texts) else None
        )
    known = tuple(option for option in options if option is not None)
    place = next((middle[0][0] for middle in middles if middle and middle[0]), Piece("", "", 1, 1))
    unknown = Unknown(reason, known if len(known) == len(options) else ())
    elements = [*one[:start], (place._replace(text=unknown, split=True),), *one[len(one) - end :]]
    return {str(index): text for index, text in enumerate(elements)}
