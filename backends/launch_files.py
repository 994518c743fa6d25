"""Launch files that people have -> one `LaunchConfig` for each job that they start. Nothing is run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..dsl.inputs.budget import Budget
from ..reading import programs, sbatch_options, skypilot
from ..reading.bash.script import Folder, Script, no_folder, read_script, unreadable
from ..reading.bash.values import Word, plain
from ..reading.command_options import options, setting
from ..reading.facts import UNREAD, Fact, Kind, LaunchConfig, Scheduler, Setting, Unread
from ..reading.kubernetes.containers import read_manifest
from ..reading.kubernetes.manifest import Pods, is_manifest
from ..reading.kubernetes.pod_facts import completed, pod_facts
from ..reading.launchers import Started, started
from ..reading.named_files import named_file
from ..reading.sbatch_options import BatchOption
from . import readers
from .reader import ConfigFile

_NOTHING: Mapping[str, str] = MappingProxyType({})


def read_jobs(
    texts: Mapping[str, str],
    *,
    environment: Mapping[str, str] = _NOTHING,
    arguments: Sequence[str] = (),
    folder: Folder = no_folder,
    budget: Budget | None = None,
) -> list[LaunchConfig]:
    """The jobs of these files; the texts by path belong together.

    `environment` are variables that are set when the scripts start, `arguments` their positional ones.
    One config stands for one launched training command, or for one config file that nothing launches. A file
    that is beyond the budget is left out.
    """
    budget, configs = budget or Budget(), config_files()
    scripts = {
        path: read_script(
            path,
            text,
            environment=environment,
            arguments=arguments,
            texts=texts,
            folder=folder,
        )
        for path, text in texts.items()
        if suffix(path) not in configs and budget.has_time(path)
    }
    pods: list[LaunchConfig] = []
    for path, text in texts.items():
        if _is_yaml(path) and budget.goes_on(path) and starts_pods(text):
            pods += budget.spent_on(_manifest(path, texts, environment, folder))
    followed = {path for name, script in scripts.items() for path in script.read if path != name}
    followed |= {path for job in pods if job.program for path in job.texts}
    roots = {path: script for path, script in scripts.items() if path not in followed}
    found: list[LaunchConfig] = []
    for path, script in (roots or ({} if pods else scripts)).items():
        if budget.goes_on(path):
            found += budget.spent_on(_Reading(path, texts, folder, script).jobs())
    found += pods
    linked = {path for config in found for path in config.texts}
    alone: list[LaunchConfig] = []
    for path, text in texts.items():
        if path not in linked and suffix(path) in configs and budget.goes_on(path):
            alone += budget.spent_on(_config(configs[suffix(path)], path, text, texts))
    # What another configuration names is part of that job.
    named = {path for config in alone if len(config.texts) > 1 for path in config.texts}
    return found + [
        config for config in alone if len(config.texts) != 1 or named.isdisjoint(config.texts)
    ]


def config_files() -> dict[str, list[ConfigFile]]:
    """The kinds of configuration files of all programs, by their suffix."""
    found: dict[str, list[ConfigFile]] = {}
    for reader in readers():
        for config_file in reader.configs:
            found.setdefault(config_file.suffix, []).append(config_file)
    return found


def _manifest(
    path: str, texts: Mapping[str, str], environment: Mapping[str, str], folder: Folder
) -> list[LaunchConfig]:
    """The jobs of the commands that the pods of a manifest run; where none starts training, the first pods
    that have GPUs."""
    text = texts[path]
    reader = read_manifest if is_manifest(text) else skypilot.read_task
    try:
        commands = reader(path, text, environment=environment, texts=texts, folder=folder)
    except ValueError as error:
        kind = Kind(scheduler="kubernetes" if reader is read_manifest else "skypilot")
        return [LaunchConfig(kind, (), (Unread.because(error, path),), texts={path: text})]
    readings = [_Reading(path, texts, folder, each.script, each.pods) for each in commands]
    found = [job for each in readings for job in each.jobs()]
    named = [job for job in found if job.command is not None]
    with_gpus = [job for job in found if any(fact.name == "gpus_per_pod" for fact in job.facts)]
    return named or (with_gpus or found)[:1]


def starts_pods(text: str) -> bool:
    """Whether a YAML says what pods, or the nodes of SkyPilot, run."""
    return is_manifest(text) or skypilot.is_task(text)


def _is_yaml(path: str) -> bool:
    return suffix(path) in ("yaml", "yml")


def suffix(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _config(
    kinds: Iterable[ConfigFile], path: str, text: str, texts: Mapping[str, str]
) -> list[LaunchConfig]:
    """The jobs of a configuration file by the first kind that it is one of."""
    for kind in kinds:
        if found := list(_alone(kind, path, text, texts)):
            return found
    if not _is_yaml(path):
        return []
    unread = (Unread("it is not a configuration that parc reads", path, 1),)
    return [LaunchConfig(UNREAD, (), unread, texts={path: text})]


def _alone(
    config_file: ConfigFile, path: str, text: str, texts: Mapping[str, str]
) -> Iterator[LaunchConfig]:
    if reason := unreadable(path, text):
        yield LaunchConfig(UNREAD, (), (reason,), texts={path: text})
        return
    yield from config_file.jobs(path, text.replace("\r\n", "\n"), texts)


@dataclass(frozen=True)
class _Reading:
    """One script that nothing else starts, or one command of the pods of a manifest."""

    path: str
    texts: Mapping[str, str]
    folder: Folder
    script: Script
    pods: Pods | None = None

    def jobs(self) -> list[LaunchConfig]:
        """Training commands, if there are any; else what several processes run, or the Trainer does."""
        launches = [started(launch) for launch in self.script.launches]
        known = [(launch, job) for launch in launches if (job := self._framework(launch))]
        if known:
            return [self._config(launch, job) for launch, job in known]
        spread = [
            launch
            for launch in launches
            if launch.launcher != "none" or launch.launch.wrappers or _of_trainer(launch)
        ]
        if spread or not self.script.directives:
            others = spread or (launches if self.script.directives else [])
            if others:
                return [self._config(launch, self._nameless(launch)) for launch in others]
        return [self._header()]

    def _framework(self, launch: Started) -> LaunchConfig | None:
        recognised = (each.recognise(launch, self.texts, self.folder) for each in readers())
        return next((job for job in recognised if job is not None), None)

    def _nameless(self, launch: Started) -> LaunchConfig:
        """A command whose program is no framework's: its launcher alone says something, or its own file."""
        told = (each.launcher_file(launch, self.texts, self.folder) for each in readers())
        found = next((job for job in told if job is not None), None)
        if found is not None:
            return found
        shape = tuple(
            Fact(name, value, place.path, place.line, place.column)
            for name, (value, place) in launch.shape.items()
        )
        return LaunchConfig(UNREAD, shape, (), tuple(launch.options().settings("argument")))

    def _config(self, launch: Started, job: LaunchConfig) -> LaunchConfig:
        first = launch.launch.words[0]
        scheduler = self._scheduler(launch.launch.directives)
        kind = replace(job.kind, carrier="bash", launcher=launch.launcher, scheduler=scheduler)
        facts = (*job.facts, *_slurm_facts(launch))
        if self.pods is not None:
            facts = completed(self.pods, launch, facts)
        return replace(
            job,
            kind=kind,
            facts=facts,
            unread=(*self.script.unread, *job.unread),
            settings=tuple(dict.fromkeys([*_given(launch), *job.settings])),
            texts={self.path: self.texts[self.path], **self.script.read, **job.texts},
            program=launch.program,
            stops=self.script.stops,
            trace=self.script.trace,
            assignments=self.script.assignments,
            reads=self.script.reads,
            hidden=launch.options().hidden,
            command=(first.path, first.line, first.column),
            program_file=self._program_file(launch),
        )

    def _program_file(self, launch: Started) -> str:
        """The launched file as it is written, or where it lies behind a `cd` or a path of the machine."""
        if launch.entry is None:
            return ""
        written = launch.entry.tail.lstrip("/")
        elsewhere = launch.launch.cwd or launch.entry.lead.startswith(("/", "~"))
        if not elsewhere or not written.endswith(".py"):
            return written
        found = named_file(launch, launch.entry.pieces, self.texts, self.folder)
        return written if found is None or found.text is None else found.path

    def _scheduler(self, directives: Sequence[BatchOption]) -> Scheduler:
        if self.pods is not None:
            return "skypilot" if self.pods.kind == skypilot.KIND else "kubernetes"
        return "slurm" if directives else ""

    def _header(self) -> LaunchConfig:
        given = self.script.directives
        kind = Kind(carrier="bash", scheduler=self._scheduler(given))
        pods = () if self.pods is None else pod_facts(self.pods)
        settings = tuple(_directive(item) for item in given)
        texts = {self.path: self.texts[self.path], **self.script.read}
        facts = (*_header_facts(given), *pods)
        script = self.script
        return LaunchConfig(
            kind,
            facts,
            script.unread,
            settings,
            texts=texts,
            trace=script.trace,
            assignments=script.assignments,
            reads=script.reads,
        )


def _of_trainer(launch: Started) -> bool:
    """Whether a program that one process runs reads the arguments of Transformers' Trainer."""
    names = (option.name.replace("_", "-") for option in launch.options().every)
    return programs.reads_training_arguments(names)


def _slurm_facts(launch: Started) -> Iterator[Fact]:
    for fact in _header_facts(launch.launch.directives):
        yield Fact(f"slurm_{fact.name}", fact.value, fact.path, fact.line, fact.column)


def _header_facts(given: Sequence[BatchOption]) -> Iterator[Fact]:
    """Facts of the resources that the job asks SLURM for."""
    for name, option in (("nodes", "nodes"), ("tasks_per_node", "ntasks-per-node")):
        value = sbatch_options.count(given, option)
        directive = sbatch_options.last(given, option)
        if value is not None and directive is not None:
            yield Fact(name, value, *_place(directive))
    gpus = sbatch_options.gpus_per_node(given)
    if gpus is not None:
        yield Fact("gpus_per_node", gpus[0], *_place(gpus[1]))
    total = sbatch_options.tasks(given)
    directive = sbatch_options.last(given, "ntasks", "ntasks-per-node")
    if total is not None and directive is not None:
        yield Fact("tasks", total, *_place(directive))


def _place(directive: BatchOption) -> tuple[str, int, int]:
    return directive.word.path, directive.word.line, directive.word.column


def _given(launch: Started) -> Iterator[Setting]:
    """Settings of the launchers, SLURM and the environment."""
    for item in launch.launch.directives:
        yield _directive(item)
    yield from launch.given.settings("launcher")
    for wrapper in launch.launch.wrappers:
        yield from options(wrapper[0], wrapper[1:]).settings("launcher")
    for name, value in launch.launch.environment.items():
        if value and not value[0].path.startswith("("):
            yield setting("environment", name, Word(value), (plain(value),))


def _directive(item: BatchOption) -> Setting:
    value = () if item.value is None else (plain(item.value),)
    return setting("sbatch", item.written, item.word, value)
