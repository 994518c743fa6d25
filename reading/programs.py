"""The name of a launched program -> what it is for: training, or what no rule of training judges."""

import re
from collections.abc import Iterable
from pathlib import PurePath

#: Words of a name that say that a program trains, whatever else it says.
_TRAINS_WORDS = (
    "train trainer training pretrain pretraining finetune finetuning sft dpo ppo grpo rlhf"
)
_TRAINS = frozenset(_TRAINS_WORDS.split())
CONVERSION = "conversion"
#: Words of a name, by what such a program does. Each is in the folders `tools`, `tasks` or `tests` of
#: Megatron-LM, Megatron-DeepSpeed and their forks, or in DeepSpeedExamples' `inference`.
_OTHERS = {
    "evaluation": "eval evaluate evaluation evaluator evalharness harness zeroshot perplexity ppl",
    "a test": "test tests unittest pytest",
    CONVERSION: "convert converter conversion checkpoint ckpt export merge reshape split hf2mcore mcore2hf",
    "preprocessing": "preprocess preprocessing prepare tokenize dataset download",
    "generation": "generate generation inference infer",
    "serving": "serve server serving",
}
_PURPOSES = {word: purpose for purpose, words in _OTHERS.items() for word in words.split()}
_TRAINING = "training"


#: Options that tell a command which reads Transformers' TrainingArguments; so many must be there.
TRAINER_OPTIONS = frozenset(
    [
        "--output-dir",
        "--per-device-train-batch-size",
        "--gradient-accumulation-steps",
        "--num-train-epochs",
        "--learning-rate",
        "--logging-steps",
        "--save-steps",
        "--save-strategy",
        "--eval-strategy",
        "--evaluation-strategy",
        "--load-best-model-at-end",
    ]
)
ENOUGH = 3


def reads_training_arguments(options: Iterable[str]) -> bool:
    """Whether options, with `-` for `_`, are those of a program of the Trainer."""
    return len(TRAINER_OPTIONS & set(options)) >= ENOUGH


#: Folders of what a repository tests with.
_TEST_FOLDERS = frozenset({"test", "tests"})


def of_tests(path: str) -> bool:
    """Whether a file lies in a folder of tests, where it may be slow and exact, or what a test expects."""
    return not _TEST_FOLDERS.isdisjoint(PurePath(path).parent.parts)


def purpose(program: str) -> str | None:
    """The purpose of a program by the words of its name, `pretrain_gpt.py` or `megatron.tools.convert`; None
    where they do not tell."""
    name = re.sub(r"\.(py|sh)$", "", program.lower())
    words = [word for word in re.split(r"[^a-z0-9]+", name) if word]
    if any(word in _TRAINS for word in words):
        return _TRAINING
    return next((_PURPOSES[word] for word in reversed(words) if word in _PURPOSES), None)


def trains(program: str) -> bool:
    """Whether a program may train: it says so, or says nothing."""
    return purpose(program) in (None, _TRAINING)
