"""Random bash, broken bash and mutated cases: reading never raises, ends soon, and is the same each time."""

from __future__ import annotations

import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parc.backends.launch_files import read_jobs
from parc.reading.facts import LaunchConfig, Unknown
from tests.support.drawn_sizes import drawn
from tests.support.paths import CASES

SCRIPTS_OF_CASES = [path.read_text() for path in sorted((CASES / "bash").glob("*.sh"))]
_ATOMS = r"""A B=1 B=$A B="$A $B" C=(1 2) C+=(x) "${C[@]}" ${A:-8} ${A%/*} ${A/b/c} ${#A} ${!A} $1 $@ $# $?
    $((A+1)) $((1/0)) $(echo 1) `pwd` ; && || | & \n if then elif else fi for in while until do done
    case esac ;; { } ( ) [ ] [[ ]] (( )) -z -eq = == != <<EOF EOF <<<x > >> < 2>&1 ' " $ ` \ # !
    f() function return exit break continue shift set -- eval source export local declare unset
    read torchrun srun bash -c python -m
    torch.distributed.run deepspeed sbatch a.py --num-layers 24 --hidden-size --x=1 #SBATCH --nodes=2
    <x> \t 08 {1..3} {a,b} *.sh ~ true false test let getopts printf sed s/a/b/ tr seq 5 $'x' "$"
    ${ $( $(( é"""
ATOMS = st.sampled_from(_ATOMS.split()).map(
    lambda atom: atom.replace("\\n", "\n").replace("\\t", "\t")
)
SCRIPTS = st.lists(ATOMS, max_size=60).map(" ".join)
NOISE = st.text(st.characters(codec="utf-8"), max_size=200)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A case with a stretch cut out, doubled, or replaced."""
    text = draw(st.sampled_from(SCRIPTS_OF_CASES))
    start = draw(st.integers(0, len(text)))
    end = min(len(text), start + draw(st.integers(0, 60)))
    middle = draw(
        st.sampled_from(["", text[start:end] * 2, "$(", '"', "\0", "\r\n"]) | SCRIPTS | NOISE
    )
    return text[:start] + middle + text[end:]


def check(path: str, text: str) -> list[LaunchConfig]:
    start = time.process_time()
    jobs = read_jobs({path: text})
    assert time.process_time() - start < 5
    lines = text.count("\n") + 1
    for job in jobs:
        for fact in job.facts:
            assert isinstance(fact.value, bool | int | float | str | Unknown)
            assert fact.path == path and 1 <= fact.line <= lines and fact.column >= 1
        for setting in job.settings:
            assert setting.name and setting.line >= 1 and setting.length >= 1
        for unread in job.unread:
            assert unread.reason and 1 <= unread.line <= lines
    return jobs


COMMON = settings(suppress_health_check=[HealthCheck.too_slow], max_examples=drawn(50, 600))


@COMMON
@given(SCRIPTS | NOISE | mutated())
def test_scripts(text: str) -> None:
    assert check("job.sh", text) == read_jobs({"job.sh": text})


_JSON = (
    r"""{ } [ ] : , "a" "zero_optimization" "stage" 2 "auto" true null 1e9 // # /* */ a ' \ " """
)
JSON = st.lists(st.sampled_from([*_JSON.split(), "\n"]), max_size=50).map("".join)


@COMMON
@given(JSON | NOISE)
def test_json(text: str) -> None:
    check("ds.json", text)


TOML = st.lists(
    st.sampled_from(
        [
            "[training]\n",
            "[parallelism]\n",
            "[model]\n",
            "seq_len = ",
            "8\n",
            "-1\n",
            '"x"\n',
            "[[a]]\n",
            "tensor_parallel_degree = ",
            "data_parallel_shard_degree = ",
            "flavor = ",
            "{}\n",
            "\n",
            "[1, 2]\n",
        ]
    ),
    max_size=30,
).map("".join)


@COMMON
@given(TOML | NOISE)
def test_toml(text: str) -> None:
    check("train.toml", text)


PYTHON = st.lists(
    st.sampled_from(
        [
            "def f():\n",
            "    return Trainer.Config(",
            "training=T(seq_len=8)",
            ")\n",
            "    c = f()\n",
            "    c.training.seq_len = 4\n",
            "    return c\n",
            ", ",
            "    if x:\n",
            "        c = 1\n",
            "parallelism=P(tensor_parallel_degree=2)",
            "\n",
            "(",
            "x = [1, 2]\n",
        ]
    ),
    max_size=30,
).map("".join)


@COMMON
@given(PYTHON | NOISE)
def test_python(text: str) -> None:
    check("job.py", text + "\n# Trainer.Config")
