"""The blocks of a parsed job -> the parts of a `Job`, each as far as it can be built."""

import re
from dataclasses import dataclass, field, replace

from .. import codes
from ..diagnostics import Fix, Note, Span, did_you_mean, replaced, suggested
from ..hardware import Cluster, Gpu
from ..job import AnyLaunch, Goal, TargetSpec, Train
from ..library import STD
from ..model import Model
from ..open_settings import MOST, Word, combinations, of_target
from ..report import Report, already_reported, wrong
from ..schema import LAUNCHES, setting_types
from ..syntax.tree import Block, Clause, Collection, File, Identifier, Setting, Text
from ..units import Measure
from ..unsupported import KINDS_OF_GPUS
from ..unsupported import of_target as unsupported_target
from .blocks import Gathered, Located, Values, build, find_definition, gather, read_settings
from .condition import Context
from .evaluate import evaluate, plain
from .fields import fitting, whole
from .goal import WITHIN_KEY, read_goal
from .goal_settings import misplaced_setting
from .overrides import Overrides, Targets
from .parts import Parts
from .scope import Definition, Names, Scope
from .stage_blocks import carried, of_stage, title_of
from .value_cures import out_of_quotes

Path = tuple[str, ...]


@dataclass
class Checker:
    """One job while it is checked: its own blocks by kind, the names and changes that apply, what was found.

    `misspelt` holds kinds of blocks that the file spells wrong: these are not reported as missing. `training`
    is what is built of a stage, and `before` that of the stage before.
    """

    report: Report
    file: File
    scope: Scope
    overrides: Overrides
    targets: Targets
    misspelt: frozenset[str] = frozenset()
    blocks: dict[str, list[Block]] = field(default_factory=dict)
    spans: dict[Path, Span] = field(default_factory=dict)
    given: set[Path] = field(default_factory=set)
    open: dict[Path, tuple[Word, ...]] = field(default_factory=dict)
    stage: Block | None = None
    before: Train | None = None
    training: Train | None = None

    def at(self, stage: Block, before: Train | None) -> "Checker":
        """A checker of the same job while one of its stages is checked, whose positions are kept apart."""
        return replace(self, spans={}, given=set(), open={}, stage=stage, before=before)

    def changes(self, *path: str) -> dict[str, Located]:
        settings = self.overrides.of(*path)
        return {key: Located(setting, self.scope) for key, setting in settings.items()}

    def place(self, path: Path, block: Gathered) -> None:
        """Remembers the positions of a block and its settings."""
        self.spans[path] = block.head
        for key, located in block.settings.items():
            self.spans[*path, key] = located.setting.span
            self.given.add((*path, key))

    def own_targets(self) -> Targets:
        """The classes of the targets that the file has blocks for."""
        named = {block.name.name for block in self.blocks.get("target", ()) if block.name}
        return {name: self.targets[name] for name in self.targets if name in named}

    def leave_open(self, path: Path, values: Values) -> None:
        """Remembers the settings of a block that are left to the search."""
        self.open |= {(*path, key): words for key, words in values.open.items()}

    def span(self, *path: str) -> Span | None:
        while path:
            if path in self.spans:
                return self.spans[path]
            path = path[:-1]
        return None


def parts_of(checker: Checker) -> Parts:
    """Model, cluster and train; a part is None, and reported, when it is missing or cannot be built."""
    model, cluster, train = _model(checker), _cluster(checker), _train(checker)
    given = checker.given
    title = title_of(checker.stage) if checker.stage else "`train`"
    return Parts(model, cluster, train, checker.span, lambda *path: path in given, title)


def _definition(checker: Checker, kind: str) -> Definition | None:
    """The job's block of a kind: its own, or the only one that its imports offer."""
    own = checker.blocks.get(kind)
    if own:
        return Definition(own[0], checker.scope)
    scopes = checker.scope.imports
    offered = [d for scope in scopes for key, d in scope.own.items() if key[0] == kind]
    if len(offered) > 1:
        names = [d.block.name.name for d in offered if d.block.name]
        notes = tuple(Note("one of them", definition.block.head) for definition in offered)
        message = (
            f"the imports offer {len(names)} {kind} blocks, {', '.join(names)}, and none is chosen"
        )
        help = f"say `{kind} from {names[0]} {{ }}`"
        raise wrong(codes.AMBIGUOUS, message, None, help, notes)
    return offered[0] if offered else None


def _gathered(checker: Checker, kind: str, required: bool = True) -> Gathered | None:
    with checker.report.catching():
        definition = _definition(checker, kind)
        if definition is not None:
            block = gather(definition, checker.changes(kind), checker.report)
            checker.place((kind,), block)
            return block
        if required and kind not in checker.misspelt:
            last = checker.file.statements[-1]
            end = last.head if isinstance(last, Block) else last.span
            raise wrong(codes.MISSING_BLOCK, f"the job has no `{kind}` block", end, _HOW.get(kind))
    return None


_HOW = {
    "model": "`model from std.llama3_8b { }`, or with every size written out",
    "cluster": "`cluster from std.dgx_h100 { nodes = 8 }`, or with every number written out",
    "train": "`train { seq_len = 8192; global_batch = 1024; tokens = 1T }`",
}


def _model(checker: Checker) -> Model | None:
    block = _gathered(checker, "model")
    if block is None:
        return None
    values = read_settings(block, Model, checker.report, targets=checker.own_targets())
    return build(block, Model, values, checker.report, name=block.name)


def _cluster(checker: Checker) -> Cluster | None:
    block = _gathered(checker, "cluster")
    return cluster_of(block, checker) if block else None


def cluster_of(block: Gathered, checker: Checker) -> Cluster | None:
    targets = checker.own_targets()
    values = read_settings(block, Cluster, checker.report, without=("gpu",), targets=targets)
    chosen = block.settings.get("gpu")
    if chosen is not None:
        values.failed.add("gpu")
        with checker.report.catching():
            gpu = _gpu(checker, chosen)
            if gpu is not None:
                values.found["gpu"] = gpu
                values.failed.discard("gpu")
                _without_network(values, gpu)
    return build(block, Cluster, values, checker.report, name=block.name)


def _without_network(values: Values, gpu: Gpu) -> None:
    """One node whose GPUs are one domain sends nothing over a network: PCIe stands in its place."""
    asked = values.found.keys() | values.failed
    if values.found.get("nodes") == (1,) and not asked & {"network", "nvlink_domain"}:
        values.found["network"] = gpu.pcie


def _gpu(checker: Checker, chosen: Located) -> Gpu | None:
    node = chosen.setting.value
    if isinstance(node, Text):
        node = Identifier(node.value, node.span)
    several = isinstance(node, Collection) and len(node.items) > 1
    if several or "+" in node.span.text:
        message = KINDS_OF_GPUS.message(chosen.setting.span.text)
        raise wrong(KINDS_OF_GPUS.code, message, node.span, KINDS_OF_GPUS.instead)
    if not isinstance(node, Identifier):
        message = f"`gpu` takes the name of a gpu, found `{node.span.text}`"
        help, fix = _gpu_meant(node.span, chosen.names)
        raise wrong(codes.WRONG_KIND, message, node.span, help, fix=fix)
    definition = find_definition("gpu", node, chosen.names)
    block = gather(definition, checker.changes("cluster", "gpu"), checker.report)
    checker.place(("cluster", "gpu"), block)
    checker.spans["cluster", "gpu"] = chosen.setting.span
    return gpu_of(block, checker.report)


_COUNTED = re.compile(r"(\d+) ?[*x] ?([A-Za-z_][\w.-]*)|([A-Za-z_][\w.-]*) ?[*x] ?(\d+)")


def _gpu_meant(span: Span, names: Names) -> tuple[str, Fix | None]:
    """The cure of `8*H100`, `A100-80GB` and `my-gpu`, which are no names."""
    text = " ".join(span.text.split())
    if (own := text.replace("-", "_")) in names.known("gpu"):
        return f"a name has `_` for `-`: `{own}`", replaced(span, own)
    counted = _COUNTED.fullmatch(text)
    name = (counted[2] or counted[3]) if counted else text
    found = STD.find("gpu", name)
    if found is None or found.block.name is None:
        return "such as `gpu = std.h100_sxm`", None
    whole = f"std.{found.block.name.name}"
    if counted:
        whole += f"; gpus_per_node = {counted[1] or counted[4]}"
    return f"write `{whole}`", replaced(span, whole)


def gpu_of(block: Gathered, report: Report) -> Gpu | None:
    return build(block, Gpu, read_settings(block, Gpu, report), report, name=block.name)


def read_gpus(checker: Checker) -> None:
    """Reads every gpu block of the file, also those that the cluster does not use."""
    for block in checker.blocks.get("gpu", ()):
        with checker.report.catching():
            gathered = gather(Definition(block, checker.scope), {}, checker.report)
            gpu_of(gathered, checker.report)


def _train(checker: Checker) -> Train | None:
    block = _gathered(checker, "train")
    if block is None:
        return None
    if checker.stage is not None:
        block = of_stage(block, checker.stage, checker)
        checker.place(("train",), block)
    without, targets = ("global_batch",), checker.own_targets()
    values = read_settings(block, Train, checker.report, without, targets)
    batch = block.settings.get("global_batch")
    if batch is not None:
        values.failed.add("global_batch")
        with checker.report.catching():
            values.found["global_batch"] = _batch(batch, values.found.get("seq_len"))
            values.failed.discard("global_batch")
    checker.leave_open(("train",), values)
    checker.training = carried(build(block, Train, values, checker.report), checker)
    return checker.training


def _batch(batch: Located, seq_len: object) -> int:
    """The sequences of a step; a batch given in tokens is divided by the sequence length."""
    node, expected = batch.setting.value, setting_types(Train)["global_batch"]
    value = evaluate(node, batch.names.lookup)
    if not isinstance(value, Measure):
        message = f"`global_batch` takes sequences or tokens, found `{node.span.text}`"
        in_tokens = setting_types(Train)["tokens"]
        text = out_of_quotes(value, node, expected) or out_of_quotes(value, node, in_tokens)
        help, fix = (f"write `{text}`", replaced(node.span, text)) if text else (None, None)
        raise wrong(codes.WRONG_KIND, message, node.span, help, fix=fix)
    if str(value.dimension) != "token":
        return whole(fitting(value, node, expected), node, expected)
    if not isinstance(seq_len, int) or seq_len < 1:
        raise already_reported()
    if value.value % seq_len:
        tokens = plain(value.value)
        near = max(1, round(value.value / seq_len))
        message = f"a batch of {tokens} tokens is not a multiple of seq_len {seq_len}"
        help = f"{near} sequences are {plain(near * seq_len)} tokens"
        fix = replaced(node.span, str(near), safe=False)
        raise wrong(codes.BATCH_TOKENS, message, node.span, help, fix=fix)
    return int(value.value // seq_len)


def launch_of(checker: Checker) -> AnyLaunch | None:
    """The `launch` block of the file or of an import; None when there is none."""
    block = _gathered(checker, "launch", required=False)
    if block is None:
        _refuse_changes(checker, ("launch",), "the job has no `launch` block to change")
        return None
    of = LAUNCHES.get(block.name or "")
    if of is None:
        if block.name:
            message = f"unknown launcher `{block.name}`"
            known = ", ".join(f"`{name}`" for name in LAUNCHES)
            help = did_you_mean(block.name, LAUNCHES) or f"launchers are {known}"
            checker.report.add(codes.UNKNOWN_NAME, message, block.head, help)
        return None
    if of is not LAUNCHES["slurm"]:
        block = replace(block, title=f"`launch {block.name}`")
    values = read_settings(block, of, checker.report, targets=checker.own_targets())
    return build(block, of, values, checker.report)


def targets_of(checker: Checker) -> tuple[TargetSpec, ...]:
    """The `target` blocks in the order of the file."""
    found: list[TargetSpec] = []
    for block in checker.blocks.get("target", ()):
        if block.name is not None:
            with checker.report.catching():
                found += _target(block, block.name, checker)
    if not checker.blocks.get("target") and "target" not in checker.misspelt:
        last = checker.file.statements[-1]
        known = ", ".join(checker.targets)
        help = f"say `target NAME {{ }}`, such as one of {known}" if known else None
        span = last.head if isinstance(last, Block) else last.span
        checker.report.add(codes.MISSING_BLOCK, "the job has no `target` block", span, help)
    for name in checker.targets:
        if name not in [spec.name for spec in found]:
            message = f"the job has no target `{name}` to change"
            _refuse_changes(checker, ("target", name), message)
    return tuple(found)


def _target(block: Block, identifier: Identifier, checker: Checker) -> list[TargetSpec]:
    name, known = identifier.name, checker.targets
    if name not in known and (asked := unsupported_target(name)) is not None:
        raise wrong(asked.code, asked.message(f"target {name}"), identifier.span, asked.instead)
    if name not in known:
        plain = re.sub(r"[^a-z]", "", name.lower())
        longer = {name.lower(): each for each in known if plain.startswith(each)}
        help, fix = suggested(name, identifier.span, known, longer)
        help = help or f"targets are {', '.join(known)}"
        raise wrong(codes.UNKNOWN_NAME, f"unknown target `{name}`", identifier.span, help, fix=fix)
    gathered = gather(
        Definition(block, checker.scope), checker.changes("target", name), checker.report
    )
    gathered = Gathered(f"target `{name}`", name, gathered.head, gathered.settings)
    checker.place(("target", name), gathered)
    values = read_settings(gathered, known[name], checker.report, targets=known)
    checker.leave_open(("target", name), values)
    _refuse_many(checker, name)
    options = build(gathered, known[name], values, checker.report)
    return [TargetSpec(name=name, options=options)] if options is not None else []


def _refuse_many(checker: Checker, target: str) -> None:
    """Complains of more choices of open settings than a target's plan searches."""
    if (count := combinations(checker.open, target)) > MOST:
        *_, last = of_target(checker.open, target)
        message = f"target `{target}` leaves {count} combinations open, at most {MOST} are searched"
        checker.report.add(codes.OPEN_SETTINGS, message, checker.span(*last), "name some of them")


def _refuse_changes(checker: Checker, path: Path, message: str) -> None:
    for setting in checker.overrides.of(*path).values():
        checker.report.add(codes.BAD_OVERRIDE, message, setting.span)


def goal_of(checker: Checker, parts: Parts) -> Goal:
    """The goal with --set laid over: new objectives replace the file's, new conditions join them."""
    clauses: list[Clause] = []
    settings: list[Setting] = []
    for block in checker.blocks.get("goal", ()):
        checker.spans[("goal",)] = block.head
        for item in block.items:
            if isinstance(item, Setting) and item.key.name == WITHIN_KEY:
                settings.append(item)
            elif isinstance(item, Setting):
                checker.report.diagnostics.append(misplaced_setting(item))
            else:
                clauses.append(item)
    changes = checker.overrides.clauses
    if any(_is_objective(clause) for clause in changes):
        clauses = [clause for clause in clauses if not _is_objective(clause)]
    blocks = {"model": parts.model, "cluster": parts.cluster, "train": parts.train}
    memory = parts.cluster.gpu.memory if parts.cluster else None
    context = Context(checker.scope, blocks, memory)
    if checker.overrides.within is not None:
        settings = [checker.overrides.within]
    return read_goal(clauses + changes, settings, context, checker.report)


def _is_objective(clause: Clause) -> bool:
    return clause.keyword.name in ("maximize", "minimize")
