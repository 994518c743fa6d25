"""A setting that its block does not have -> the complaint, with the cure where what was meant is known."""

import re
from collections.abc import Callable, Mapping

from pydantic import BaseModel

from .. import codes
from ..diagnostics import Diagnostic, Edit, Fix, Span, replaced, suggested
from ..expression import VARIABLES
from ..fixes import removal, required
from ..schema import SettingType
from ..syntax.tree import Collection, Identifier, Map, Number, Setting, Text
from ..unsupported import KINDS_OF_GPUS
from .other_blocks import of_another
from .other_launchers import of_other_launcher
from .refused_settings import refused
from .spellings import DECIDED, DECISIONS, GPUS, LENGTHS, SETTINGS, TRUTHS, WORDS

#: Help and cure; None from who does not know the setting.
Cure = tuple[str | None, Fix | None] | None

#: `64`, or `16 x H100`, which are read as a number and its units.
_COUNT = re.compile(r"(\d{1,18})(?:[ \t]*x[ \t]*([A-Za-z][\w.-]*))?")
#: Warmups that are a share of the run in frameworks.
_WARMUP_SHARES = (
    "warmup_ratio",
    "warmup_fraction",
    "lr_warmup_fraction",
    "lr_warmup_steps_ratio",
    "warmup_steps_ratio",
)
#: Decisions whose names are settings too: those of a cluster, and of the learning rate.
_ELSEWHERE = ("nodes", "gpus", "schedule")


def unknown(
    setting: Setting,
    title: str,
    known: Mapping[str, SettingType],
    beside: Mapping[str, Setting],
    targets: Mapping[str, type[BaseModel]] | None = None,
) -> Diagnostic:
    """The complaint about a setting of the block `title`, which has `known`; `beside` are those it gives.
    `targets` are those that the job has."""
    if (said := refused(setting, title)) is not None:
        return said
    key = setting.key.name
    cures = (cure(setting, beside) for cure in _CURES)
    help, fix = next(filter(None, (of_other_launcher(setting, title), *cures)), (None, None))
    if help is None:
        help, fix = _word(setting, known) or suggested(key, setting.key.span, known, SETTINGS)
    if fix is None or not fix.safe:
        help, fix = of_another(setting, title, targets) or (help, fix)
    if help is None and "extra" in known:
        help, fix = _extra(setting, title, beside)
    if help is None and len(known) <= 12:
        names = ", ".join(f"`{name}`" for name in known) or "no settings"
        help = f"{title} knows {names}"
    message = f"unknown setting `{key}` of {title}"
    return Diagnostic(codes.UNKNOWN_NAME, message, setting.span, help=help, fix=fix)


def _decision(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A decision of the search is required in the goal."""
    key = setting.key.name.lower()
    name = key if key in VARIABLES else DECISIONS.get(key)
    if name is None or name in _ELSEWHERE:
        return None
    said = setting.value.span.text
    value = DECIDED.get(key, DECIDED.get(name, {})).get(said.strip('"').lower(), said)
    if value.startswith('"'):
        fix = Fix((removal(setting.span),), safe=False)
        return f"the search decides `{name}`, which is no text: leave it out", fix
    condition = f"{name} == {value}"
    edits = removal(setting.span), required(condition, setting.span.source)
    return f"the search decides it; to fix it, `goal {{ require {condition} }}`", Fix(edits)


def _epochs(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A length in epochs takes the size of the data, which a job does not know."""
    if setting.key.name not in ("epochs", "num_epochs", "num_train_epochs", "max_epochs"):
        return None
    given = "tokens" in beside or "steps" in beside
    help = f"say `tokens`: {setting.value.span.text} times those of the data"
    return help, Fix((removal(setting.span),), safe=False) if given else None


def _length(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A run is as long as its tokens take."""
    if setting.key.name.lower() not in LENGTHS:
        return None
    text = setting.value.span.text
    return f"a run has `tokens` or `steps`; to bound it, `goal {{ require days <= {text} }}`", None


def _checkpoint(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A model by the name of its checkpoint, in a block that has a base instead."""
    if setting.key.name not in (
        "model_name_or_path",
        "model_name",
        "pretrained_model_name_or_path",
        "hf_path",
    ):
        return None
    return f"the block takes it after `from`: `model from {setting.value.span.text} {{}}`", None


def _config(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A framework's own file, such as the `ds_config.json` of the Trainer of Hugging Face."""
    if not isinstance(setting.value, Text) or not setting.value.value.endswith((".json", ".yaml")):
        return None
    fix = Fix((removal(setting.span),), safe=False)
    return "parc writes the configs of its targets: leave it out", fix


def _environment(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """An environment of Python is activated by a line of the script."""
    if setting.key.name.lower() not in ("conda", "conda_env", "venv", "virtualenv", "activate"):
        return None
    return (
        f'a line of the script activates it: `setup = ["source activate {_bare(setting)}"]`',
        None,
    )


def _bare(setting: Setting) -> str:
    return setting.value.span.text.strip('"')


def _gpus(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A number of GPUs is one of nodes, where it is a multiple of those of a node."""
    if setting.key.name not in GPUS or "gpus_per_node" not in beside:
        return None
    if re.search(r"[,+&]", setting.value.span.text):
        return f"parc has no {KINDS_OF_GPUS.what}: {KINDS_OF_GPUS.instead}", None
    counts = (setting.value, beside["gpus_per_node"].value)
    numbers = [
        _COUNT.fullmatch(n.span.text.strip('"') if isinstance(n, Number | Text) else "")
        for n in counts
    ]
    total, per_node = (int(number[1]) if number else 0 for number in numbers)
    kind = numbers[0][2] if numbers[0] else None
    own = "nodes" in beside and beside["nodes"].span.source is setting.span.source
    if not per_node or not total or total % per_node or own:
        return "a cluster has `nodes`, each of `gpus_per_node`", None
    text = f"nodes = {total // per_node}" + (f"; gpu = {kind}" if kind else "")
    return f"a node has {per_node}: say `{text}`", replaced(setting.span, text)


def _betas(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """Both decays of Adam at once."""
    value = setting.value
    if setting.key.name not in ("betas", "adam_betas") or not isinstance(value, Collection):
        return None
    if len(value.items) != 2:
        return "they are `beta1` and `beta2`", None
    first, second = (item.span.text for item in value.items)
    text = f"beta1 = {first}; beta2 = {second}"
    return f"write `{text}`", replaced(setting.span, text)


def _share_of_steps(setting: Setting, beside: Mapping[str, Setting]) -> Cure:
    """A warmup as a share of the run, which is a number of steps here."""
    if setting.key.name not in _WARMUP_SHARES:
        return None
    steps, share = (
        beside[key].value if key in beside else None for key in ("steps", setting.key.name)
    )
    help = "`warmup` counts steps; a twentieth of a short run unless given"
    if (
        not isinstance(steps, Number)
        or not isinstance(share, Number)
        or not 0 < len(steps.text) < 19
        or not steps.text.isdigit()
    ):
        return help, Fix((removal(setting.span),), safe=False)
    text = f"warmup = {round(int(steps.text) * float(share.text))}"
    return f"`warmup` counts steps: `{text}`", replaced(setting.span, text)


def _word(setting: Setting, known: Mapping[str, SettingType]) -> Cure:
    """`bf16 = true`, where a word of another setting bears the name of a switch."""
    key, value = setting.key.name.lower(), setting.value
    word = WORDS.get(key, key)
    takers = [field.key for field in known.values() if word in field.words]
    if len(takers) != 1 or not isinstance(value, Identifier):
        return None
    if TRUTHS.get(value.name.lower()) != "true":
        return f"it is a word of `{takers[0]}`", Fix((removal(setting.span),), safe=False)
    text = f"{takers[0]} = {word}"
    return f"write `{text}`", replaced(setting.span, text)


def _extra(setting: Setting, title: str, beside: Mapping[str, Setting]) -> tuple[str, Fix | None]:
    """Any other option stands in `extra`: of sbatch by its long name."""
    launch = title.startswith("`launch")
    name = setting.key.name.replace("_", "-") if launch else setting.key.name
    entry = (
        f"{name if name.isidentifier() else chr(34) + name + chr(34)} = {setting.value.span.text}"
    )
    text, given = f"extra = {{ {entry} }}", beside.get("extra")
    fix = replaced(setting.span, text, safe=False)
    if given is not None and isinstance(given.value, Map):
        place = given.value.span.start + 1
        edit = Edit(Span(given.span.source, place, place), f" {entry};")
        fix = Fix((removal(setting.span), edit), safe=False)
    return f"any other option of {'sbatch' if launch else 'the framework'} stands in `{text}`", fix


_CURES: tuple[Callable[[Setting, Mapping[str, Setting]], Cure], ...] = (
    _gpus,
    _decision,
    _epochs,
    _length,
    _checkpoint,
    _config,
    _environment,
    _betas,
    _share_of_steps,
)
