"""A Python program that reads what it knows of its command and leaves the rest -> the options that it knows.

Nothing runs: the syntax tree alone is read, and whatever it leaves open makes the answer None.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ...dsl.inputs.documents import python_module

#: Modules of the program's own that are followed.
MODULES = 40
#: Functions and names through which the pair of `parse_known_args` is followed.
_DEEPEST = 4
#: Packages that read nothing of the command when they are imported or used as a library.
_LIBRARY_WORDS = """accelerate bitsandbytes cv2 datasets deepspeed einops evaluate flash_attn h5py
    huggingface_hub librosa matplotlib numpy pandas peft PIL psutil safetensors scipy
    sentencepiece sklearn smdistributed soundfile tensorboard tensorboardX timm
    tokenizers torch torchaudio torchvision tqdm transformers trl wandb yaml"""
_LIBRARIES = frozenset(_LIBRARY_WORDS.split())
#: Names with which a module may read the command itself.
_READING_WORDS = """argv orig_argv parse_args parse_known_args parse_intermixed_args HfArgumentParser
    TrlParser"""
_READS = frozenset(_READING_WORDS.split())
#: What declares options of DeepSpeed, and those (deepspeed/__init__.py).
_DEEPSPEED = "add_config_arguments"
_OF_DEEPSPEED = frozenset(
    {"--deepspeed", "--deepspeed_config", "--deepscale", "--deepscale_config", "--deepspeed_mpi"}
)
_GROUPS = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
#: A module's dotted name -> its text, None where it is none of the program's own.
Modules = Callable[[str], str | None]


@dataclass
class _Uses:
    """How the names of a module that hold its parser are used."""

    holders: set[str] = field(default_factory=set)
    options: set[str] = field(default_factory=set)
    reads: list[ast.Call] = field(default_factory=list)
    open: bool = False


def known_options(text: str, modules: Modules) -> frozenset[str] | None:
    """The options as they are declared, such as `--lr`. None for a program that does not drop what it does
    not know, and for one in which something else may read the command."""
    tree = _tree(text)
    if tree is None or not _alone(tree, modules):
        return None
    parsers = [each for each in ast.walk(tree) if _calls(each, "ArgumentParser")]
    if len(parsers) != 1:
        return None
    uses = _uses(tree, parsers[0])
    if uses.open or len(uses.reads) != 1 or not _drops_the_rest(tree, uses.reads[0]):
        return None
    return frozenset(uses.options)


def _tree(text: str) -> ast.Module | None:
    try:
        return python_module(text)
    except (SyntaxError, ValueError):
        return None


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and _last(node.func) == name


def _last(node: ast.expr) -> str:
    """The last name of `a.b.c`."""
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id if isinstance(node, ast.Name) else ""
    )


def _uses(tree: ast.Module, parser: ast.AST) -> _Uses:
    """Uses of the parser and its groups; `open` where it is handed on, or an option is not a literal."""
    found = _Uses()
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _makes(node.value, parser):
            names = [each.id for each in node.targets if isinstance(each, ast.Name)]
            found.holders |= set(names)
            found.open |= len(names) != len(node.targets)
    inside = {id(each.func.value) for each in calls if isinstance(each.func, ast.Attribute)}
    inside |= {id(each) for call in calls if _last(call.func) == _DEEPSPEED for each in call.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.open |= node.id in found.holders and id(node) not in inside
    for call in calls:
        if _last(call.func) == _DEEPSPEED:
            found.options |= _OF_DEEPSPEED
        elif isinstance(call.func, ast.Attribute) and _last(call.func.value) in found.holders:
            _method(call, call.func.attr, found)
    made = [each for each in calls if each is parser]
    found.open |= not found.holders or any(each.arg == "parents" for each in made[0].keywords)
    return found


def _makes(value: ast.expr, parser: ast.AST) -> bool:
    """Whether a value is the parser, or one of its groups."""
    return value is parser or any(_calls(value, each) for each in _GROUPS)


def _method(call: ast.Call, name: str, found: _Uses) -> None:
    if name == "add_argument":
        for each in call.args:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                found.options.add(each.value)
            else:
                found.open = True
        found.open |= not call.args
    elif name == "parse_known_args":
        found.reads.append(call)
        found.open |= bool(call.args or call.keywords)
    elif name not in _GROUPS and name not in ("set_defaults", "print_help", "error", "format_help"):
        found.open = True


def _drops_the_rest(tree: ast.Module, call: ast.Call) -> bool:
    """Whether of the pair that a call gives the second half is nobody's: `a, _ = p.parse_known_args()`, its
    first element alone, or the pair returned by functions whose callers do so."""
    parents = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    read = _read_names(tree)

    def dropped(pair: ast.AST, depth: int) -> bool:
        parent = parents.get(id(pair))
        match parent:
            case ast.Subscript(slice=ast.Constant(value=0)):
                return True
            case ast.Assign(targets=[ast.Tuple(elts=[_, ast.Name(id=rest)])]):
                return rest not in read
            case ast.Assign(targets=[ast.Name(id=name)]) if depth:
                return all_dropped(_loads(_scope(parent, parents) or tree, name), depth)
            case ast.Return() if depth:
                function = _scope(parent, parents)
                name = function.name if function is not None else ""
                loads = _loads(tree, name)
                calls = [parents.get(id(each)) for each in loads]
                called = all(isinstance(each, ast.Call) for each in calls)
                return called and all_dropped([each for each in calls if each is not None], depth)
        return False

    def all_dropped(pairs: list[ast.AST], depth: int) -> bool:
        return bool(pairs) and all(dropped(each, depth - 1) for each in pairs)

    return dropped(call, _DEEPEST)


def _scope(node: ast.AST, parents: dict[int, ast.AST]) -> ast.FunctionDef | None:
    """The function around a node."""
    above = parents.get(id(node))
    while above is not None and not isinstance(above, ast.FunctionDef):
        above = parents.get(id(above))
    return above


def _loads(tree: ast.AST, name: str) -> list[ast.AST]:
    """Where a name is read."""
    names = (each for each in ast.walk(tree) if isinstance(each, ast.Name))
    return [each for each in names if each.id == name and isinstance(each.ctx, ast.Load)]


def _read_names(tree: ast.Module) -> set[str]:
    return {
        each.id
        for each in ast.walk(tree)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }


def _alone(tree: ast.Module, modules: Modules) -> bool:
    """Whether nothing but the one call may read the command: no other name of this module, none of the
    program's own modules, and no package that is not known to leave it."""
    seen: set[str] = set()
    waiting = [(tree, "")]
    while waiting:
        module, package = waiting.pop()
        if _reads_itself(module, main=module is tree):
            return False
        for name, certain in _imported(module, package):
            top = name.split(".")[0]
            if name in seen or top in sys.stdlib_module_names or top in _LIBRARIES:
                continue
            seen.add(name)
            text = modules(name)
            own = None if text is None else _tree(text)
            if own is not None and len(seen) <= MODULES:
                waiting.append((own, name))
            elif text is not None or certain:
                return False
    return True


def _reads_itself(module: ast.Module, main: bool) -> bool:
    """Whether a module names what reads the command; functions of its own may have such names."""
    own = {each.name for each in ast.walk(module) if isinstance(each, ast.FunctionDef)}
    allowed = {"parse_known_args"} if main else set()
    for node in ast.walk(module):
        match node:
            case ast.Attribute(attr=name):
                names = {name} - allowed
            case ast.Name(id=name):
                names = {name} - own
            case ast.ImportFrom(names=aliases):
                names = {each.name for each in aliases}
            case _:
                continue
        if names & _READS:
            return True
    return False


def _imported(module: ast.Module, package: str) -> Iterator[tuple[str, bool]]:
    """The modules that a module of a package imports, and whether each is certainly one: a name that is taken
    from a module may be a module, and what is above one may have no file."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -node.level or None] if node.level else []
            names = [".".join([*above, *([node.module] if node.module else [])])]
            yield from ((f"{names[0]}.{each.name}", False) for each in node.names)
        else:
            continue
        for name in filter(None, names):
            yield name, True
            parts = name.split(".")
            yield from ((".".join(parts[:size]), False) for size in range(1, len(parts)))
