"""`launch NAME { ... }`: the settings of each launcher, those of another, and changes by `--set`."""

from __future__ import annotations

import pytest

from parc.backends import OPTIONS
from parc.dsl.check import loads
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Job, Launch
from parc.dsl.launchers import Kubernetes
from parc.dsl.schema import LAUNCHES, setting_types

REST = """
model from std.llama3_8b { }
cluster from std.dgx_h100 { nodes = 2 }
train { seq_len = 8192; global_batch = 64; tokens = 1T }
target megatron { data = "/data/c4" }
"""


def job_of(launch: str, *overrides: str) -> Job:
    return loads(REST + launch, overrides=overrides, targets=OPTIONS)


def complaint(launch: str, *overrides: str) -> tuple[str, str, str | None]:
    with pytest.raises(JobError) as caught:
        job_of(launch, *overrides)
    (found,) = caught.value.diagnostics
    return found.code, found.message, found.help


def test_the_settings_of_kubernetes_are_read() -> None:
    text = 'launch kubernetes { image = "a:1"; volumes = ["runs:/runs"]; restarts = 7; signal = 5 min }'
    launch = job_of(text, "launch.operator=trainjob", "launch.image=b:2").launch
    assert isinstance(launch, Kubernetes)
    assert (launch.image, launch.operator, launch.restarts) == ("b:2", "trainjob", 7)
    assert (launch.volumes, launch.signal, launch.time) == (("runs:/runs",), 300.0, None)


def test_a_job_of_another_launcher_has_the_defaults_of_slurm() -> None:
    job = job_of('launch kubernetes { image = "a:1" }')
    assert job.slurm == Launch()


@pytest.mark.parametrize(
    ("launch", "message", "help"),
    [
        (
            'launch kubernetes { image = "a"; container = "b" }',
            "unknown setting `container` of `launch kubernetes`",
            "it is `image` here",
        ),
        (
            'launch kubernetes { image = "a"; time = 4 h }',
            "unknown setting `time` of `launch kubernetes`",
            "it is a setting of `launch slurm`",
        ),
        (
            "launch slurm { restarts = 4 }",
            "unknown setting `restarts` of `launch`",
            "it is `requeue` here",
        ),
        (
            'launch slurm { rdma = "rdma/ib" }',
            "unknown setting `rdma` of `launch`",
            "it is a setting of `launch kubernetes` and `launch ray`",
        ),
        ("launch kubernets { }", "unknown launcher `kubernets`", "did you mean `kubernetes`?"),
        (
            "launch nomad { }",
            "unknown launcher `nomad`",
            "launchers are `slurm`, `kubernetes`, `hosts`, `skypilot`, `ray`",
        ),
    ],
)
def test_a_setting_of_another_launcher_is_told_with_its_name_here(
    launch: str, message: str, help: str
) -> None:
    assert complaint(launch)[1:] == (message, help)


def test_an_image_has_to_be_named() -> None:
    assert "lacks `image`" in complaint("launch kubernetes { }")[1]


def test_a_change_that_no_launcher_knows_is_refused() -> None:
    code, message, _ = complaint('launch kubernetes { image = "a" }', "launch.imagine=b")
    assert code == "PAR011" and "unknown setting `imagine`" in message


def test_what_several_launchers_have_is_of_one_type() -> None:
    """So that `--set launch.NAME=...` reads it before the launcher is known."""
    found: dict[str, object] = {}
    for of in LAUNCHES.values():
        for key, setting in setting_types(of).items():
            shape = (setting.kind, setting.dimension, setting.words, setting.limits)
            assert found.setdefault(key, shape) == shape, key
