"""A YAML file that is a job where no command names it -> that job."""

from collections.abc import Callable, Iterable, Mapping

from ..reading.facts import Fact, Kind, LaunchConfig, Unread
from ..reading.yaml_settings import Scalar, yaml_scalars

#: The values of a file by their dotted names.
Scalars = Mapping[str, Scalar]


def yaml_job(
    path: str,
    text: str,
    program: str | Callable[[Scalars], str],
    facts: Callable[[Scalars], Iterable[Fact]],
) -> LaunchConfig:
    """The job with the facts and settings of a file, of no framework; what is no YAML is unread."""
    scalars: Scalars = {}
    unread: tuple[Unread, ...] = ()
    try:
        scalars = yaml_scalars(path, text)
    except ValueError as error:
        unread = (Unread.because(error, path),)
    named = program if isinstance(program, str) else program(scalars)
    found = tuple(facts(scalars)) if scalars else ()
    told = tuple(scalar.setting() for scalar in scalars.values())
    return LaunchConfig(Kind(named, carrier="yaml"), found, unread, told, None, {path: text})
