"""Blocks -> pydantic objects: bases unrolled, changes applied, every setting read and checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from .. import codes
from ..diagnostics import Fix, JobError, Note, Span, nearest, replaced
from ..fixes import removal
from ..library import STD, canonical, without_maker
from ..open_settings import Word
from ..report import Report, already_reported, wrong
from ..schema import setting_types
from ..syntax.tree import Block, Clause, Collection, Identifier, Setting, Text
from .dependent_settings import taken_back
from .evaluate import plain
from .open_values import Several, read_or_open
from .scope import Definition, Names

Built = TypeVar("Built", bound=BaseModel)


@dataclass(frozen=True)
class Located:
    """A setting, and the names of the file in which it is written."""

    setting: Setting
    names: Names


@dataclass(frozen=True)
class Gathered:
    """A block with the settings of its bases and all changes; `title` is its name in messages.

    `broken` holds keys that are written as a clause instead of a setting; `whole` is false without the base.
    """

    title: str
    name: str
    head: Span
    settings: dict[str, Located]
    broken: frozenset[str] = frozenset()
    whole: bool = True


def find_definition(kind: str, identifier: Identifier, names: Names) -> Definition:
    """The block that an identifier names: one of the file or its imports, else of the standard library, where
    alone `std.` looks. Raises `JobError` if unknown."""
    name = identifier.name.removeprefix("std.")
    of_std = identifier.name.startswith("std.")
    own = None if of_std else names.find(kind, name)
    alike = [] if own or of_std else _spelt_alike(name, names.known(kind))
    found = own or (None if alike else STD.find(kind, name))
    if found is None:
        raise _unknown_definition(kind, identifier, alike, names)
    return found


def _spelt_alike(name: str, known: Iterable[str]) -> list[str]:
    """Names of the file that a name may mean: `h100` where `H100` is asked for, which is not std's then."""
    return [own for own in known if canonical(own) == canonical(name)]


def _unknown_definition(
    kind: str, identifier: Identifier, alike: list[str], names: Names
) -> JobError:
    message, span = f"unknown {kind} `{identifier.name}`", identifier.span
    name = identifier.name.removeprefix("std.")
    own = nearest(name, names.known(kind))
    near = alike or ([own] if own else [f"std.{known}" for known in STD.near(kind, name)])
    if len(near) == 1:
        begun = canonical(near[0].removeprefix("std.")).startswith(canonical(without_maker(name)))
        help, fix = f"did you mean `{near[0]}`?", replaced(span, near[0], safe=bool(alike) or begun)
        return wrong(codes.UNKNOWN_NAME, message, span, help, fix=fix)
    listed = (
        ", ".join(f"`{each}`" for each in near)
        or f"the standard library has {', '.join(STD.known(kind))}"
    )
    return wrong(codes.UNKNOWN_NAME, message, span, f"one of {listed}" if near else listed)


def gather(definition: Definition, changes: Mapping[str, Located], report: Report) -> Gathered:
    """Unrolls `from`: settings of the base, over them those of each derived block, over them --set."""
    chain = [definition]
    with report.catching():
        _follow(chain)
    settings: dict[str, Located] = {}
    for link in reversed(chain):
        settings = _over(settings, own_settings(link.block, link.names, report))
    block = definition.block
    named = next((link.block.name for link in chain if link.block.name), None)
    clauses = frozenset(item.keyword.name for item in block.items if isinstance(item, Clause))
    return Gathered(
        title=f"`{block.kind.name}`",
        name=named.name if named else "",
        head=block.head,
        settings=_over(settings, changes),
        broken=clauses,
        whole=chain[-1].block.base is None,
    )


def _over(settings: dict[str, Located], own: Mapping[str, Located]) -> dict[str, Located]:
    """Settings of a base below those of a block; runs on one GPU tell nothing of a block with another."""
    gone = taken_back({key: each.setting for key, each in own.items()})
    found = {key: each for key, each in settings.items() if key not in gone} | dict(own)
    if "measured" in settings and "gpu" in own and "measured" not in own:
        before = settings.get("gpu")
        if before is not None and not _derived_gpu(own["gpu"], before):
            del found["measured"]
    return found


def _derived_gpu(gpu: Located, base: Located) -> bool:
    """Whether a `gpu` is another's, or derives from it; and where a name is wrong, which others tell."""
    try:
        ours, (wanted, *_) = (_gpu_chain(each) for each in (gpu, base))
    except JobError:
        return True
    return any(link.block is wanted.block for link in ours)


def _gpu_chain(located: Located) -> list[Definition]:
    value = located.setting.value
    if isinstance(value, Text):
        value = Identifier(value.value, value.span)
    if not isinstance(value, Identifier):
        raise already_reported()
    chain = [find_definition("gpu", value, located.names)]
    _follow(chain)
    return chain


def _follow(chain: list[Definition]) -> None:
    """Appends the bases of a block, nearest first."""
    while (base := chain[-1].block.base) is not None:
        link = find_definition(chain[0].block.kind.name, base, chain[-1].names)
        if any(link.block is seen.block for seen in chain):
            notes = tuple(Note("through this block", seen.block.head) for seen in chain[1:])
            message = f"`{base.name}` is derived from itself"
            raise wrong(codes.RECURSION, message, base.span, *_from_std(link, base.span, notes))
        chain.append(link)


def _from_std(
    link: Definition, base: Span, notes: tuple[Note, ...]
) -> tuple[str | None, tuple[Note, ...], Fix | None]:
    """Words for a block that bears the name of an entry of the library from which it was to be derived."""
    kind, name = link.block.kind.name, link.block.name
    if name is None or STD.find(kind, name.name) is None:
        return None, notes, None
    text = f"std.{name.name}"
    return f"the one of the standard library is `{text}`", notes, replaced(base, text)


def own_settings(block: Block, names: Names, report: Report) -> dict[str, Located]:
    """The settings that a block itself writes down, each once."""
    found: dict[str, Located] = {}
    for item in block.items:
        if isinstance(item, Clause):
            message = (
                f"`{' '.join(item.span.text.split())}` is not a setting of `{block.kind.name}`"
            )
            text = f"{item.keyword.name} = {item.condition.span.text}"
            fix: Fix | None = replaced(item.span, text)
            help = f"write `{text}`"
            if isinstance(item.condition, Collection):
                help = "a block cannot stand inside another one: give it a name and use that"
                fix = None
            report.add(codes.MISPLACED, message, item.span, help, fix=fix)
        elif (first := found.get(item.key.name)) is not None:
            notes = (Note("first given here", first.setting.span),)
            message = f"`{item.key.name}` is given twice"
            help, fix = "keep one of them", Fix((removal(first.setting.span),), safe=False)
            report.add(codes.DUPLICATE, message, item.span, help, notes, fix)
        else:
            found[item.key.name] = Located(item, names)
    return found


@dataclass
class Values:
    """The values that could be read of a block, the keys that were given but could not, and the values of
    settings that are left to the search, whose first ones are `found`."""

    found: dict[str, object]
    failed: set[str]
    open: dict[str, tuple[Word, ...]] = field(default_factory=dict)


def read_settings(
    block: Gathered,
    of: type[BaseModel],
    report: Report,
    without: Iterable[str] = (),
    targets: Mapping[str, type[BaseModel]] | None = None,
) -> Values:
    """Every setting as the type of its field; those in `without` are not read. Unknown ones are reported,
    with where they belong if that is one of the job's `targets`."""
    known = setting_types(of)
    values = Values({}, set(block.broken))
    for key, located in block.settings.items():
        if key not in known:
            from .unknown_settings import unknown

            beside = {each: given.setting for each, given in block.settings.items()}
            complaint = unknown(located.setting, block.title, known, beside, targets)
            report.extend([complaint])
            values.failed |= _meant(complaint.fix, known)
        elif key not in without:
            values.failed.add(key)
            with report.catching():
                value = read_or_open(located.setting.value, known[key], located.names)
                if isinstance(value, Several):
                    values.open[key] = value.words
                values.found[key] = value.words[0] if isinstance(value, Several) else value
                values.failed.discard(key)
    return values


def _meant(fix: Fix | None, known: Mapping[str, object]) -> set[str]:
    """The settings that a cure writes in place of an unknown one: they are misspelt, and not missing."""
    return {edit.text for edit in fix.edits} & set(known) if fix else set()


def build(
    block: Gathered, of: type[Built], values: Values, report: Report, **given: str
) -> Built | None:
    """The object of a block, or None after reporting what is missing or out of bounds."""
    try:
        made = of(**values.found, **given)
    except ValidationError as error:
        _report_invalid(error.errors(), block, of, values, report)
        return None
    return made if block.whole and not values.failed else None


def _report_invalid(
    errors: list[ErrorDetails],
    block: Gathered,
    of: type[BaseModel],
    values: Values,
    report: Report,
) -> None:
    known = setting_types(of)
    missing = [str(error["loc"][0]) for error in errors if error["type"] == "missing"]
    missing = [key for key in missing if key not in values.failed]
    if missing and block.whole:
        names = _listed([f"`{key}`" for key in missing])
        docs = "; ".join(f"{key}: {known[key].doc}" for key in missing if known[key].doc)
        message = f"{block.title} lacks {names}"
        help, fix = _derived(block) or (docs or None, None)
        if fix is None and (kind := block.title.strip("`")) in _DERIVABLE and len(missing) > 2:
            base = f"`{kind} from std.{_DERIVABLE[kind]} {{ }}`"
            help = f"take them from another one, such as {base}, or give {help}"
        report.add(codes.MISSING_SETTING, message, block.head, help, fix=fix)
    for error in errors:
        key = str(error["loc"][0]) if error["loc"] else ""
        if error["type"] != "missing":
            located = block.settings.get(key)
            span = located.setting.value.span if located else block.head
            report.add(codes.OUT_OF_BOUNDS, _bound(key, error), span)


#: What is taken from the library, and an entry of it.
_DERIVABLE = {"model": "llama3_8b", "gpu": "h100_sxm", "cluster": "h100_pod"}


def _derived(block: Gathered) -> tuple[str, Fix] | None:
    """The cure of a block that bears the name of an entry of the library and was to be that."""
    kind = block.title.strip("`")
    found = STD.find(kind, block.name) if block.name else None
    if found is None or found.block.name is None or "from" in block.head.text.split():
        return None
    text = f"{block.head.text} from std.{found.block.name.name}"
    return f"a block takes from another one with `from`: `{text}`", replaced(block.head, text)


_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def _bound(key: str, error: ErrorDetails) -> str:
    context: Mapping[str, Any] = error.get("ctx", {})
    if error["type"] in _BOUNDS:
        name, words = _BOUNDS[error["type"]]
        return f"`{key}` is {plain(error['input'])}, must be {words} {plain(context[name])}"
    if "error" in context:
        return str(context["error"])
    return f"`{key}`: {error['msg'][:1].lower()}{error['msg'][1:]}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
