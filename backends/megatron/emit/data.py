"""`Plan` -> the options that name data, their tokenizer and the seed."""

from collections.abc import Iterator

from ....compiler.plan import Plan
from ....dsl.job import Job
from ....dsl.settings import Data
from ..data import FILES_OF_SPLITS, SPLITS, extra_names, made_up
from ..options import Options, options_of
from ..releases import END_ADDED
from ..target import TRAITS
from .flags import Flag, flag, paths, variable

#: The variable by which the environment names other data, where there is one source.
VARIABLE = "DATA_PATH"


def data_flags(plan: Plan) -> list[Flag]:
    side = plan.job.train.seq_len
    why = f"attention is causal by itself; a {side} x {side} mask is not loaded"
    cache = plan.options.data_cache
    return [
        *_sources(plan.options),
        *([variable("--data-cache-path", "DATA_CACHE")] if cache else []),
        flag("--no-create-attention-mask-in-dataloader", why=why),
        *_tokenizer(plan),
        flag("--seed", plan.job.train.seed),
    ]


def replaceable(options: Options) -> str | None:
    """The one source that DATA_PATH replaces; None for a blend, for several splits and for made-up data."""
    return options.data.parts[0][0] if options.data and len(options.data.parts) == 1 else None


def _sources(options: Options) -> Iterator[Flag]:
    """One source of data: arguments.py:1624 refuses two, and a --split beside data of each split."""
    if made_up(options):
        yield flag("--mock-data", why="random tokens: nothing is learnt from them")
    elif options.train_data:
        for name, option in SPLITS.items():
            chosen: Data | None = getattr(options, name)
            if chosen is not None:
                yield _blend(option, chosen)
        return
    elif options.data:
        single = replaceable(options)
        yield variable("--data-path", VARIABLE) if single else _blend("--data-path", options.data)
    if not extra_names(options) & FILES_OF_SPLITS:
        yield flag("--split", options.split)


def _blend(option: str, data: Data) -> Flag:
    """Weights and prefixes in turn: without weights a source would count by its size."""
    if len(data.parts) == 1:
        return paths(option, data.parts[0][0])
    words = [word for source, weight in data.parts for word in (f"{weight:.12g}", source)]
    return paths(option, *words, why=f"{len(data.parts)} sources by their weights")


def _tokenizer(plan: Plan) -> list[Flag]:
    """The model keeps its own vocabulary, padded as the plan priced it, whatever the tokenizer's is."""
    options, vocab = plan.options, plan.job.model.vocab
    if not options.tokenizer:
        return [flag("--tokenizer-type", "NullTokenizer"), _vocabulary(plan.job)]
    multiple = TRAITS.tensor.vocab_multiple * plan.layout.tp
    padded = -(-vocab // multiple) * multiple
    kind = "SFTTokenizer" if options.sft else options.tokenizer_type
    return [
        *(_conversations(options) if options.sft else []),
        flag("--tokenizer-type", kind),
        variable("--tokenizer-model", "TOKENIZER"),
        flag("--padded-vocab-size", padded, why=f"{vocab} to a multiple of {multiple}"),
    ]


def _vocabulary(job: Job) -> Flag:
    vocab = job.model.vocab
    if options_of(job).version not in END_ADDED:
        return flag("--vocab-size", vocab)
    return flag("--vocab-size", vocab - 1, why=f"the end of a document makes {vocab}")


def _conversations(options: Options) -> list[Flag]:
    why = 'lines of {"messages": [...]}, packed into sequences; the loss counts answers alone'
    return [
        flag("--sft", why=why),
        flag("--sft-tokenizer-prompt-format", options.prompt_format),
    ]
