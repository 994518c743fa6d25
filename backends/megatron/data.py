"""Training data of `target megatron`: where its settings name data, and where they disagree."""

from collections.abc import Iterator

from ...dsl.diagnostics import Diagnostic, Note
from ...dsl.job import Job
from ...dsl.settings import Data
from .options import Options, asked, option_name

DATA = "PAR384"
CODES = {DATA: ("data", "settings of data clash, or one that they need is missing")}

#: Settings of a target block -> options of Megatron-LM that take one split each.
SPLITS = {
    "train_data": "--train-data-path",
    "valid_data": "--valid-data-path",
    "test_data": "--test-data-path",
}
#: Options by which `extra` names data, and those among them that name each split's.
FILES_OF_SPLITS = frozenset({*SPLITS.values(), "--per-split-data-args-path"})
NAMING = frozenset({"--data-path", "--data-args-path", "--mock-data"}) | FILES_OF_SPLITS


def extra_names(options: Options) -> frozenset[str]:
    """Options of `extra` that name the data."""
    return NAMING & asked(options).keys()


def names_data(key: str) -> bool:
    """Whether a key of `extra` is an option that names data."""
    return option_name(key) in NAMING


def says_data(options: Options) -> bool:
    return options.data is not None or options.train_data is not None or bool(extra_names(options))


def made_up(options: Options) -> bool:
    """Whether the tokens are Megatron-LM's mock data."""
    chosen = options.data or options.train_data
    return not extra_names(options) and (chosen is None or chosen.synthetic)


def problems(job: Job) -> Iterator[Diagnostic]:
    """Settings of the data that disagree."""
    options = job.options("megatron")
    if isinstance(options, Options):
        yield from _twice(job, options)
        yield from _parts(job, options)
        yield from _conversations(job, options)


def _twice(job: Job, options: Options) -> Iterator[Diagnostic]:
    given = [name for name in ("data", *SPLITS) if getattr(options, name) is not None]
    for name in given:
        if name != "data" and "data" in given:
            message = f"`data` and `{name}` both set data"
            help = "`data` with `split`, or `train_data`, `valid_data` and `test_data`"
            notes = (Note("data given here", job.span("target", "megatron", "data")),)
            yield _wrong(job, name, message, help, notes)
    if given and (named := sorted(extra_names(options))):
        message = f"`{given[0]}` and `{named[0]}` of `extra` both set data"
        yield _wrong(job, given[0], message, "leave one of them out")


def _parts(job: Job, options: Options) -> Iterator[Diagnostic]:
    for name in ("valid_data", "test_data"):
        if getattr(options, name) is not None and options.train_data is None:
            yield _wrong(job, name, f"`{name}` is given without `train_data`", 'train_data = "..."')
    for name in SPLITS:
        chosen: Data | None = getattr(options, name)
        if chosen is not None and chosen.synthetic:
            message = f"megatron makes up data for all splits or for none, not only for `{name}`"
            yield _wrong(job, name, message, "data = synthetic")


def _conversations(job: Job, options: Options) -> Iterator[Diagnostic]:
    """SFTDataset reads "messages" of .jsonl lines with a Hugging Face tokenizer (sft_dataset.py,
    sft_tokenizer.py); packed conversations are kept apart by kernels that keep no scores."""
    if not options.sft:
        if options.prompt_format != "default":
            yield _wrong(
                job, "prompt_format", "`prompt_format` has no effect without `sft`", "sft = true"
            )
        return
    if made_up(options):
        yield _wrong(
            job, "sft", "sft needs data: megatron makes up no conversations", 'data = "chats.jsonl"'
        )
    if not options.tokenizer:
        yield _wrong(
            job, "sft", "sft needs the tokenizer of a Hugging Face model", 'tokenizer = "..."'
        )
    elif options.tokenizer_type != "HuggingFaceTokenizer":
        message = f"sft does not support the tokenizer {options.tokenizer_type}"
        yield _wrong(job, "tokenizer_type", message, 'tokenizer_type = "HuggingFaceTokenizer"')
    if job.train.attention == "unfused":
        message = "sft packs conversations, and unfused attention does not separate them"
        yield _wrong(job, "sft", message, "attention = flash")


def _wrong(
    job: Job, name: str, message: str, help: str, notes: tuple[Note, ...] = ()
) -> Diagnostic:
    return Diagnostic(DATA, message, job.span("target", "megatron", name), notes=notes, help=help)
