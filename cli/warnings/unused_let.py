"""A constant is defined and nothing in the file uses it.

Why:
What was to depend on it says another number, and changing the constant changes nothing.

Bad:
let sequences = 1024
train { seq_len = 8192; global_batch = 512; steps = 1000 }

Good:
let sequences = 1024
train { seq_len = 8192; global_batch = sequences; steps = 1000 }
"""

from collections.abc import Iterator

from parc.dsl.diagnostics import Diagnostic, Fix
from parc.dsl.fixes import removal
from parc.dsl.syntax.tree import Block, Clause, File, Let, Node, names_in

from .read_job import ReadJob, warned

CODE = "PAR063"
TITLE = "a constant that nothing uses"
SOURCE = ""


def check(read: ReadJob) -> Iterator[Diagnostic]:
    used = {word.name for value in _values(read.file) for word in names_in(value)}
    for statement in read.file.statements:
        if isinstance(statement, Let) and statement.name.name not in used:
            message = f"`{statement.name.name}` is never used"
            fix = Fix((removal(statement.span),), safe=False)
            yield warned(CODE, message, statement.name.span, "use it, or take it out", fix)


def _values(file: File) -> Iterator[Node]:
    for statement in file.statements:
        if isinstance(statement, Let):
            yield statement.value
        elif isinstance(statement, Block):
            for item in statement.items:
                yield item.condition if isinstance(item, Clause) else item.value
