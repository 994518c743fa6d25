"""A module -> its docstring, also where Python was told to drop docstrings (`PYTHONOPTIMIZE=2`)."""

import ast
import inspect
from types import ModuleType


def docstring(module: ModuleType) -> str:
    """The text at the top of a module, which commands print as help and rules as their page."""
    if module.__doc__ is not None:
        return inspect.cleandoc(module.__doc__)
    return ast.get_docstring(ast.parse(inspect.getsource(module))) or ""
