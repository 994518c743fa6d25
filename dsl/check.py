"""A job's text -> `Job`, or every complaint about it at once."""

import hashlib
import os
import re
from collections.abc import Sequence

from . import codes
from .diagnostics import Diagnostic, Fix, JobError, Note, Source, Span, did_you_mean, replaced
from .evaluation.assemble import Checker, goal_of, launch_of, parts_of, read_gpus, targets_of
from .evaluation.consistency import CHECKS
from .evaluation.imports import BLOCKS, Loader
from .evaluation.overrides import Targets, path_help, read_overrides
from .evaluation.stage_blocks import check_stages
from .job import Job
from .report import Enough, Report, wrong
from .schema import LAUNCHES
from .syntax.quoting import UNWRITABLE
from .syntax.sources import MAX_BYTES, decode, read
from .syntax.tree import Block, File

#: Complaints about one job after which reading ends.
MAX_COMPLAINTS = 100
#: Complaints that a syntax error or an unreadable import may have caused.
_CONSEQUENCES = {
    codes.UNKNOWN_NAME,
    codes.MISSING_BLOCK,
    codes.MISSING_SETTING,
    codes.EMPTY,
    codes.AMBIGUOUS,
    codes.LENGTH,
}

#: What a text lacks.
_LACKS = {codes.MISSING_SETTING, codes.MISSING_BLOCK, codes.LENGTH}


def load(
    path: str | os.PathLike[str], overrides: Sequence[str] = (), targets: Targets | None = None
) -> Job:
    """The job that a file describes.

    `overrides` are texts such as "train.seq_len=4096"; `targets` gives the class of the
    options of each `target NAME` block. Raises `JobError` with every complaint.
    """
    return read_job(path, overrides, targets)[0]


def loads(
    text: str, name: str = "job.par", overrides: Sequence[str] = (), targets: Targets | None = None
) -> Job:
    """The job that a text describes; its imports are relative to the folder of `name`.

    `overrides` and `targets` as for `load`. Raises `JobError` with every complaint.
    """
    return read_job(name, overrides, targets, text)[0]


def read_job(
    path: str | os.PathLike[str],
    overrides: Sequence[str] = (),
    targets: Targets | None = None,
    text: str | None = None,
) -> tuple[Job, File]:
    """The job of a file, or of a text in its place, with the syntax tree; as `load`."""
    name = os.fspath(path)
    if text is None:
        source, data = read(name, name)
    else:
        source, data = _source(text, name)
    return _check(source, data, overrides, targets or {})


def _source(text: str, name: str) -> tuple[Source, bytes]:
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        message = f"`{name}` has {len(data):,} bytes, at most {MAX_BYTES:,} are read"
        raise wrong(codes.TOO_LARGE, message, None, "a job file is a few kilobytes of text")
    return Source(name, decode(data, name)), data


def _check(
    source: Source, data: bytes, overrides: Sequence[str], targets: Targets
) -> tuple[Job, File]:
    report = Report(MAX_COMPLAINTS)
    loader = Loader(report)
    job, file = None, File(source, ())
    try:
        job, file = _read(loader, source, data, overrides, targets)
    except Enough:
        message = f"more than {MAX_COMPLAINTS} complaints: only the first are shown"
        report.diagnostics[MAX_COMPLAINTS:] = [Diagnostic(codes.TOO_LARGE, message)]
    complaints = _without_consequences(report.diagnostics, loader.broken, source)
    if complaints or job is None:
        raise JobError(complaints)
    return job, file


def _read(
    loader: Loader, source: Source, data: bytes, overrides: Sequence[str], targets: Targets
) -> tuple[Job | None, File]:
    report = loader.report
    changes = read_overrides(overrides, targets, report)
    loader.named = dict.fromkeys(LAUNCHES, "launch") | dict.fromkeys(targets, "target")
    loader.let_changes = {name: setting.value for name, setting in changes.lets.items()}
    file, scope = loader.scope(source, data, source.name)
    checker = Checker(report, file, scope, changes, targets, frozenset(loader.misspelt))
    _report_unknown_lets(checker)
    _sort_blocks(checker)
    job = _staged(checker, source.name, _digest(loader.texts, overrides))
    return job and _with_overrides(job, tuple(overrides)), file


def _with_overrides(job: Job, overrides: tuple[str, ...]) -> Job:
    stages = tuple(_with_overrides(stage, overrides) for stage in job.stages)
    return job.model_copy(update={"overrides": overrides, "stages": stages})


def _staged(checker: Checker, path: str, digest: str) -> Job | None:
    """The job; where it has stages, with a job for each."""
    stages = check_stages(checker)
    if not stages:
        return _job(checker, path, digest)
    found: list[Job | None] = []
    before = None
    for stage in stages:
        own = checker.at(stage, before)
        found.append(_job(own, path, digest))
        before = own.training or before
    jobs = tuple(job for job in found if job is not None)
    if len(jobs) < len(stages):
        return None
    first = jobs[0]
    return first.model_copy(update={"name": _name(path), "stage": "", "stages": jobs})


def _name(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _without_consequences(
    diagnostics: list[Diagnostic], broken: bool, source: Source
) -> list[Diagnostic]:
    """Each complaint once, in the order of the text, those about what a file lacks last: a setting that is
    unknown may be meant. Without what a syntax error, or a setting that a cure brings, may have caused.
    """
    if broken:
        diagnostics = [d for d in diagnostics if d.code not in _CONSEQUENCES] or diagnostics
    brought = {key for each in diagnostics if each.fix for key in _written(each.fix)}
    diagnostics = [each for each in diagnostics if not _brings(brought, each)]

    def place(diagnostic: Diagnostic) -> tuple[bool, str, bool, int]:
        span, lacks = diagnostic.span, diagnostic.code in _LACKS
        if span is None:
            return (True, "~", lacks, 0)
        return (span.source is not source, span.source.name, lacks, span.start)

    return sorted(dict.fromkeys(diagnostics), key=place)


def _written(fix: Fix) -> list[str]:
    """The settings that a cure writes."""
    return [
        key for edit in fix.edits for key in re.findall(r"(?<!\w)(\w++)[ \t]*+=(?!=)", edit.text)
    ]


def _brings(brought: set[str], diagnostic: Diagnostic) -> bool:
    """Whether cures of other complaints bring all that a block is said to lack."""
    if diagnostic.code != codes.MISSING_SETTING:
        return False
    lacking = re.findall(r"`(\w+)`", diagnostic.message.partition(" lacks ")[2])
    return bool(lacking) and brought.issuperset(lacking)


def _digest(texts: list[bytes], overrides: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for text in (*texts, *(change.encode("utf-8", "surrogatepass") for change in overrides)):
        digest.update(b"%d\n" % len(text))
        digest.update(text)
    return digest.hexdigest()


def _report_unknown_lets(checker: Checker) -> None:
    known = checker.scope.lets
    for name, setting in checker.overrides.lets.items():
        if name not in known:
            help = path_help(name) or did_you_mean(name, known)
            message = f"unknown constant `{name}`"
            checker.report.add(codes.UNKNOWN_NAME, message, setting.key.span, help)


#: Blocks that a job has one of.
_ONCE = ("model", "cluster", "train", "goal", "launch")
#: Help for those of which a file to import may have several.
_IN_LIBRARIES = {
    kind: f"a file to `import` may have several, of which `{kind} from NAME {{ }}` takes one"
    for kind in ("model", "cluster")
}


def _sort_blocks(checker: Checker) -> None:
    """Groups the file's own blocks by kind, and reports duplicates and wrong heads."""
    for block in checker.file.statements:
        if isinstance(block, Block) and block.kind.name in BLOCKS:
            same = checker.blocks.setdefault(block.kind.name, [])
            _check_head(block, checker.report)
            first = next((other for other in same if _doubles(block, other)), None)
            if first is None:
                same.append(block)
            elif not _reported_by_name(block, first):
                notes = (Note("first one here", first.head),)
                message = f"a job has one `{_title(block)}` block"
                help = _IN_LIBRARIES.get(block.kind.name)
                checker.report.add(codes.DUPLICATE, message, block.head, help, notes)


def _doubles(block: Block, other: Block) -> bool:
    kind = block.kind.name
    return kind in _ONCE or (kind in ("target", "stage") and _same_name(block, other))


def _same_name(block: Block, other: Block) -> bool:
    return bool(block.name and other.name and block.name.name == other.name.name)


def _reported_by_name(block: Block, other: Block) -> bool:
    """Whether `Scope.add_block` reports the duplicate already: two named blocks that others can refer to."""
    return block.kind.name in ("model", "cluster", "launch") and _same_name(block, other)


def _title(block: Block) -> str:
    if block.kind.name in ("target", "stage") and block.name:
        return f"{block.kind.name} {block.name.name}"
    return block.kind.name


_NAMED = {
    "gpu": "gpu mine",
    "target": "target megatron",
    "launch": "launch slurm",
    "stage": "stage main",
}


def _check_head(block: Block, report: Report) -> None:
    kind = block.kind.name
    if block.base and kind not in ("model", "gpu", "cluster"):
        message = f"`{kind}` cannot be derived with `from`"
        report.add(codes.MISPLACED, message, block.base.span, "only model, gpu and cluster can")
    if block.name and kind in ("train", "goal"):
        report.add(codes.MISPLACED, f"`{kind}` takes no name", block.name.span)
    if not block.name and kind in _NAMED:
        help = f"such as `{_NAMED[kind]} {{ }}`"
        end = Span(block.kind.span.source, block.kind.span.end, block.kind.span.end)
        fix = replaced(end, " slurm") if kind == "launch" else None
        message = f"`{kind}` needs a name"
        report.add(codes.MISSING_SETTING, message, block.kind.span, help, fix=fix)
    if block.name and "." in block.name.name:
        message = f"a name cannot have a dot: `{block.name.name}`"
        report.add(codes.RESERVED, message, block.name.span)


def _job(checker: Checker, path: str, digest: str) -> Job | None:
    report = checker.report
    if not checker.file.statements:
        help = "a job has the blocks model, cluster, train and target"
        report.add(codes.EMPTY, f"`{path}` holds no blocks", None, help)
        return None
    parts = parts_of(checker)
    for check in CHECKS:
        report.extend(check(parts))
    goal = goal_of(checker, parts)
    targets, launch = targets_of(checker), launch_of(checker)
    read_gpus(checker)
    model, cluster, train = parts.model, parts.cluster, parts.train
    name = _name(path)
    if UNWRITABLE.search(name):
        message = f"the name of the file is not UTF-8 text: {ascii(name)}"
        report.add(codes.UNWRITABLE_NAME, message, None, "rename it: emitted files bear its name")
    if report.diagnostics or model is None or cluster is None or train is None:
        return None
    stage = checker.stage.name.name if checker.stage and checker.stage.name else ""
    job = Job(
        name=f"{name}-{stage}" if stage else name,
        path=path,
        digest=digest,
        model=model,
        cluster=cluster,
        train=train,
        goal=goal,
        targets=targets,
        launch=launch,
        stage=stage,
        steps_before=checker.before.total_steps if checker.before and train.carry == "all" else 0,
        open=checker.open,
    )
    blocks = {key: found.block.head for key, found in checker.scope.visible.items()}
    return job.with_spans(checker.spans, blocks)
