"""The launched program of Transformers' Trainer -> the arguments that its own parser takes.

It is read as a syntax tree: `HfArgumentParser` of dataclasses of the file and of Transformers' own arguments.
"""

import ast
from functools import lru_cache

from .launched_job import LaunchedJob

#: Transformers' own, and the fields that the second has beside those of the first (training_args_seq2seq.py).
_OWN = {
    "TrainingArguments": frozenset[str](),
    "Seq2SeqTrainingArguments": frozenset(
        {"sortish_sampler", "predict_with_generate", "generation_max_length",
         "generation_num_beams", "generation_config"}
    ),
}  # fmt: skip
#: With them a program takes other arguments than its fields, or leaves out what it does not know.
_OTHERWISE = ("add_argument(", "parse_known", "return_remaining_strings", "aliases", "sys.argv =")


def fields_beside(launch: LaunchedJob) -> frozenset[str] | None:
    """The fields that the program takes beside those of TrainingArguments, whatever else ends it; None where
    its file is not there, or its parser takes what the file does not say."""
    return _fields(launch.program_text or "")


@lru_cache(maxsize=64)
def _fields(text: str) -> frozenset[str] | None:
    if "HfArgumentParser(" not in text or any(mark in text for mark in _OTHERWISE):
        return None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    parsers = [call for call in calls if _name(call.func) == "HfArgumentParser"]
    if len(parsers) != 1 or len(parsers[0].args) != 1 or not _reads_command(calls):
        return None
    given = parsers[0].args[0]
    names = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
    found = [_of_class(_name(name), _classes(tree), 0) for name in names]
    own = any(_is_training(_name(name), _classes(tree), 0) for name in names)
    return _union(found) if own else None


def _reads_command(calls: list[ast.Call]) -> bool:
    read = [call for call in calls if _name(call.func) == "parse_args_into_dataclasses"]
    return len(read) == 1 and not read[0].args and not read[0].keywords


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _of_class(name: str, classes: dict[str, ast.ClassDef], depth: int) -> frozenset[str] | None:
    """Fields of a class and of those that it derives from; None for one that is not in the file."""
    if name in _OWN and name not in classes:
        return _OWN[name]
    if name not in classes or depth > 8:
        return None
    of_bases = [_of_class(_name(base), classes, depth + 1) for base in classes[name].bases]
    fields = (each.target for each in classes[name].body if isinstance(each, ast.AnnAssign))
    return _union([*of_bases, frozenset(_name(field) for field in fields)])


def _is_training(name: str, classes: dict[str, ast.ClassDef], depth: int) -> bool:
    if name in _OWN and name not in classes:
        return True
    if name not in classes or depth > 8:
        return False
    return any(_is_training(_name(base), classes, depth + 1) for base in classes[name].bases)


def _union(found: list[frozenset[str] | None]) -> frozenset[str] | None:
    sets = [each for each in found if each is not None]
    return frozenset[str]().union(*sets) if len(sets) == len(found) else None
