"""Node type of the grammar -> the function that runs such a statement."""

from collections.abc import Mapping

from ..commands.simple_commands import command, declaration, redirected, unset
from ..shell import Handler
from .assignments import assignment
from .branches import case_statement, if_statement
from .compound_commands import (
    and_or,
    children,
    compound,
    error,
    function,
    negated,
    pipeline,
    subshell,
    test,
)
from .loops import c_style_for, for_statement, while_statement

HANDLERS: Mapping[str, Handler] = {
    "program": children,
    "ERROR": error,
    "list": and_or,
    "if_statement": if_statement,
    "elif_clause": children,
    "else_clause": children,
    "case_statement": case_statement,
    "for_statement": for_statement,
    "c_style_for_statement": c_style_for,
    "while_statement": while_statement,
    "do_group": children,
    "function_definition": function,
    "compound_statement": compound,
    "subshell": subshell,
    "pipeline": pipeline,
    "negated_command": negated,
    "test_command": test,
    "variable_assignment": assignment,
    "variable_assignments": children,
    "command": command,
    "declaration_command": declaration,
    "redirected_statement": redirected,
    "unset_command": unset,
}
