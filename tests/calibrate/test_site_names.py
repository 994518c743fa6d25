"""The file that `parc calibrate` writes: its names, its form, and what is printed of its path."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import parc
from parc.calibrate.site_file import prior
from parc.dsl.diagnostics import Source
from parc.dsl.formatting.canonical import formatted
from parc.printing.words.command_paths import argument, program
from tests.support import simulated_logs
from tests.support.calibrate_command import Calibrate
from tests.support.simulated_logs import JOB

CLUSTER = "cluster pod from std.h100_pod { nodes = 1 }\n"


def job_with(name: str, head: str) -> str:
    Path(name).write_text(JOB.replace(CLUSTER, f"{head}\n"))
    return name


def recorded() -> list[str]:
    return simulated_logs.record(Path(), ["tp1", "spread"], 0.01, simulated_logs.TRUE)


def clusters(path: str) -> list[str]:
    lines = Path(path).read_text().splitlines()
    return [line.split()[1] for line in lines if line.startswith("cluster ")]


def test_calibrating_again_renames_nothing(calibrate: Calibrate) -> None:
    """A job that takes the cluster of its import as it is, and one that derives from it."""
    logs = recorded()
    assert calibrate(*logs, output="site.par").code == 0
    bare = job_with("bare.par", 'import "site.par"')
    derived = job_with("derived.par", 'import "site.par"\ncluster site_2 from site { nodes = 1 }')
    for job in (bare, derived, bare):
        assert calibrate(*logs, job=job, output="site.par").code == 0
        assert clusters("site.par") == ["site"]
        assert parc.load(bare).cluster.measured == parc.load(derived).cluster.measured


def test_a_name_of_another_file_is_not_taken(calibrate: Calibrate) -> None:
    """Of a library with two clusters the job takes one; the file to write is called after it."""
    Path("lib").mkdir()
    Path("lib/sites.par").write_text(
        "gpu us_2_gpu from std.h100_sxm { reserve = 2 GiB }\n"
        "cluster eu_1 from std.h100_pod { nodes = 1 }\n"
        "cluster us_2 from eu_1 { gpu = us_2_gpu }\n"
    )
    Path("all.par").write_text('import "lib/sites.par"\n')
    head = 'import "all.par"\ncluster us from us_2 { nodes = 1 }'
    job = job_with("us.par", head)
    found = calibrate(*recorded(), job=job, output="lib/us-2.par")
    assert found.code == 0, found.err
    name = clusters("lib/us-2.par")[0]
    assert name == "us_2_cluster" and f"cluster us from {name} " in found.out
    both = head.replace("import", 'import "lib/us-2.par"\nimport', 1).replace(
        "from us_2", f"from {name}"
    )
    assert parc.load(job_with("both.par", both)).cluster.measured


def test_formatting_a_folder_edits_no_file_of_measurements(calibrate: Calibrate) -> None:
    assert calibrate(*recorded()).code == 0
    text = Path("site.par").read_text()
    assert formatted(Source("site.par", text)) == text


def test_what_a_figure_was_is_said_with_its_unit_and_read_back(calibrate: Calibrate) -> None:
    """Files of 0.3 have it in comments behind the settings, in their units or in base units."""
    before = parc.load(job_with("job.par", CLUSTER.strip()))
    assert calibrate(*recorded()).code == 0
    text = Path("site.par").read_text()
    assert '"nvlink_latency = ' in text and ' us"' in text and "before calibration" not in text
    job = job_with("new.par", 'import "site.par"\ncluster pod from site { nodes = 1 }')
    assert prior(parc.load(job)) == prior(before)
    latency = before.cluster.gpu.nvlink_latency
    line = next(each for each in text.splitlines() if "  nvlink_latency " in each)
    listed = re.compile(r" *before +=\s*\[[^]]*\]\n")
    for shown in (f"{latency!r} before calibration", "3.4 us before calibration"):
        older = re.sub("# .*", f"# {shown}; the runs hardly tell of it", line)
        Path("site.par").write_text(listed.sub("", text).replace(line, older))
        assert prior(parc.load(job))["nvlink_latency"] == prior(before)["nvlink_latency"] == latency
        assert prior(parc.load(job)) != prior(before)


def test_a_figure_of_the_jobs_own_is_its_prior(calibrate: Calibrate) -> None:
    assert calibrate(*recorded()).code == 0
    own = "gpu mine from site_gpu { matmul_efficiency = 0.5 }"
    head = f'import "site.par"\n{own}\ncluster pod from site {{ gpu = mine; nodes = 1 }}'
    kept = prior(parc.load(job_with("own.par", head)))
    text = Path("site.par").read_text()
    assert kept["matmul_efficiency"] == 0.5 and '"matmul_efficiency = ' in text
    (link,) = re.findall(r'"link_efficiency = ([\d.]+)"', text)
    assert kept["link_efficiency"] == float(link)


@pytest.mark.parametrize("place", ["it's here", "-x", 'a "b" c'])
def test_what_is_printed_can_be_copied(calibrate: Calibrate, place: str) -> None:
    Path(place).mkdir()
    found = calibrate(*recorded(), output=f"./{place}/site.par")
    assert found.code == 0, found.err
    line = next(each for each in found.out.splitlines() if each.startswith("  import "))
    job = job_with("new.par", f"{line.strip()}\ncluster pod from site {{ nodes = 1 }}")
    assert parc.load(job).cluster.measured


def test_commands_have_paths_as_a_shell_reads_them() -> None:
    for path in ("a b/it's", "-n", 'say "x" $HOME', "plain/run.sh"):
        given = ["bash", "-c", f"printf %s {argument(path)}"]
        read = subprocess.run(given, capture_output=True, text=True, check=True).stdout
        assert Path(read) == Path(path) and not read.startswith("-")
    assert program(Path("run.sh")) == "./run.sh" and program("a/run.sh") == "a/run.sh"
