"""`--set train.seq_len=4096`: changes from the command line, by the path of what they change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel

from .. import codes
from ..diagnostics import JobError, Source, Span, did_you_mean
from ..report import Report, wrong
from ..schema import CLASSES, LAUNCHES, SettingType, setting_types
from ..syntax.parser import parse
from ..syntax.quoting import unwritable
from ..syntax.tree import Clause, Identifier, Setting, Text
from ..unsupported import of_setting
from ..unsupported import of_target as unsupported_target
from .fields import SYNTHETIC
from .goal import CLAUSES, WITHIN_KEY
from .refused_settings import MOVED, moved

Targets = Mapping[str, type[BaseModel]]
#: Blocks whose settings a path may name; `target.NAME` and `goal` are read apart.
_BLOCKS = ("model", "cluster", "train", "launch")


@dataclass
class Overrides:
    """Changes to constants, to settings (by block and key) and to the goal; the last of a path counts."""

    lets: dict[str, Setting] = field(default_factory=dict)
    settings: dict[tuple[str, ...], dict[str, Setting]] = field(default_factory=dict)
    clauses: list[Clause] = field(default_factory=list)
    within: Setting | None = None

    def of(self, *block: str) -> dict[str, Setting]:
        return self.settings.get(block, {})


def read_overrides(texts: Sequence[str], targets: Targets, report: Report) -> Overrides:
    """Reads all --set texts, each a line of one pseudo-source so that complaints can point into it."""
    source = Source("--set", "\n".join(text.replace("\n", " ") for text in texts))
    found = Overrides()
    start = 0
    for text in texts:
        with report.catching():
            _read(source, start, start + len(text), targets, found, report)
        start += len(text) + 1
    return found


def _read(
    source: Source, start: int, end: int, targets: Targets, found: Overrides, report: Report
) -> None:
    text = source.text[start:end]
    path, equals, raw = text.partition("=")
    whole = Span(source, start, end)
    if not equals or not path.strip() or not raw.strip():
        message = f"`{text}` is not of the form path=value"
        raise wrong(codes.BAD_OVERRIDE, message, whole, "such as `train.seq_len=4096`")
    words = tuple(path.strip().split("."))
    place = Span(source, start, start + len(path))
    value_at = end - len(raw.lstrip())
    expected = _expected(words, place, targets)
    if expected and _is_bare_text(raw.strip(), expected):
        value = Text(raw.strip(), Span(source, value_at, end))
        report.extend(unwritable(value.value, value.span))
        setting = Setting(Identifier(words[-1], place), value, whole)
    else:
        parsed = _parsed(source, start, end, report)
        if parsed is None:
            return
        setting = Setting(Identifier(words[-1], place), parsed.value, whole)
    _file(words, setting, found)


def _is_bare_text(text: str, expected: SettingType) -> bool:
    """Whether a value stands for the text that it is: without quotes, and no word or list of the language."""
    if expected.optional and text == "none":
        return False
    if expected.kind == "data":
        return text != SYNTHETIC and not text.startswith(('"', "[", "{"))
    return expected.kind == "text" and not text.startswith('"')


def _parsed(source: Source, start: int, end: int, report: Report) -> Setting | None:
    file, diagnostics = parse(source, start, end)
    report.extend(diagnostics)
    match file.statements:
        case (Setting() as setting,):
            return setting
    if not diagnostics:
        span = Span(source, start, end)
        report.add(codes.BAD_OVERRIDE, f"`{span.text}` is not one path=value", span)
    return None


def _file(words: tuple[str, ...], setting: Setting, found: Overrides) -> None:
    if len(words) == 1:
        found.lets[words[0]] = setting
    elif words == ("goal", WITHIN_KEY):
        found.within = setting
    elif words[0] == "goal":
        found.clauses.append(Clause(setting.key, setting.value, None, setting.span))
    else:
        found.settings.setdefault(words[:-1], {})[words[-1]] = setting


def _expected(words: tuple[str, ...], place: Span, targets: Targets) -> SettingType | None:
    """The type of the setting that a path names, None for constants and clauses; raises `JobError`."""
    match words:
        case (_,):
            return None
        case ("goal", clause):
            if clause not in (*CLAUSES, WITHIN_KEY):
                raise _unknown(clause, (*CLAUSES, WITHIN_KEY), place, "clause")
            return None
        case ("target", name, key):
            if name not in targets:
                raise _unknown(name, targets, place, "target")
            if key in MOVED and key not in setting_types(targets[name]):
                raise JobError([moved(key, "...", f"target `{name}`", place)])
            return _known(key, targets[name], place)
        case ("stage", _, key):
            return _known(key, CLASSES["stage"], place)
        case ("cluster", "gpu", key):
            return _known(key, CLASSES["gpu"], place)
        case ("launch", key):
            return _known(key, launch_with(key), place)
        case (block, key) if block in _BLOCKS:
            return _known(key, CLASSES[block], place)
    help = path_help(words[-1]) or "a path is `block.setting`, such as `train.seq_len`"
    raise wrong(codes.BAD_OVERRIDE, f"`{'.'.join(words)}` names no setting", place, help)


def _class(block: str, key: str) -> type[BaseModel]:
    return launch_with(key) if block == "launch" else CLASSES[block]


def launch_with(key: str) -> type[BaseModel]:
    """The class of the first launcher that has a setting, else that of SLURM."""
    return next((of for of in LAUNCHES.values() if key in setting_types(of)), CLASSES["launch"])


def path_help(key: str) -> str | None:
    """Help text naming the path of a setting that was given without its block."""
    found = [f"{block}.{key}" for block in _BLOCKS if key in setting_types(_class(block, key))]
    found += [f"cluster.gpu.{key}"] if key in setting_types(CLASSES["gpu"]) else []
    return f"did you mean `{found[0]}`?" if found else None


def _known(key: str, of: type[BaseModel], place: Span) -> SettingType:
    known = setting_types(of)
    if key not in known:
        raise _unknown(key, known, place, "setting")
    return known[key]


def _unknown(
    name: str, known: Mapping[str, object] | Sequence[str], place: Span, what: str
) -> Exception:
    value = place.source.text.partition("=")[2].strip()
    asked = of_setting(name, value) if what == "setting" else unsupported_target(name)
    if asked is not None:
        return wrong(asked.code, asked.message(place.source.text.strip()), place, asked.instead)
    message = f"unknown {what} `{name}` in `{place.text.strip()}`"
    return wrong(codes.UNKNOWN_NAME, message, place, did_you_mean(name, known))
