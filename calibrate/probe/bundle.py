"""The modules of `program/` -> one Python file that runs on a cluster without parc."""

import ast
from importlib import resources

#: In the order in which they build on each other; the last one is started.
MODULES = ("cases", "ranks", "training", "kernels", "clock", "machine", "starting", "timed_gpus")


def bundled() -> str:
    """The text of the file: the last module's docstring, then all modules without imports of each other."""
    texts = {name: _text(name) for name in MODULES}
    about = ast.get_docstring(ast.parse(texts[MODULES[-1]]), clean=False)
    body = "\n\n".join(_standing_alone(text).strip() for text in texts.values())
    return f'"""{about}"""\n\nfrom __future__ import annotations\n\n{body}\n'


def _text(name: str) -> str:
    return resources.files(__package__).joinpath("program", f"{name}.py").read_text("utf-8")


def _standing_alone(text: str) -> str:
    """A module without its docstring and the imports that only a package or the top of a file may have."""
    lines = text.splitlines()
    tree = ast.parse(text)
    dropped = [node for node in tree.body if _is_dropped(node)] + tree.body[:1]
    for node in dropped:
        lines[node.lineno - 1 : node.end_lineno] = [""] * ((node.end_lineno or 0) - node.lineno + 1)
    return "\n".join(lines)


def _is_dropped(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and (node.level > 0 or node.module == "__future__")
