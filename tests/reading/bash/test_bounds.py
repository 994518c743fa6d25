"""Texts that would keep a reader busy, or break it: each is read in bounded time, and none raises."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping

import pytest

from parc.backends.launch_files import read_jobs
from parc.reading.bash.script import read_script
from parc.reading.facts import Unknown
from tests.support.bash_launches import said

LAUNCH = "\ntorchrun --nproc_per_node 8 a.py --num-layers 24 --hidden-size 512\n"
MOST_SECONDS = 5.0


def binary() -> str:
    return random.Random(5).randbytes(200_000).decode("utf-8", errors="replace")


TEXTS = {
    "binary": binary(),
    "nul": "A=1\0\0" * 1000 + LAUNCH,
    "large": "# a comment\n" * 4_000_000 + LAUNCH,
    "junk": ")({}`'\"$((;;" * 20_000,
    "brackets": "(" * 20_000 + LAUNCH,
    "nested substitutions": "A=" + "$(echo " * 2000 + ")" * 2000 + LAUNCH,
    "nested arithmetic": "A=$((" + "(" * 5000 + "1" + ")" * 5000 + "))" + LAUNCH,
    "minus": "A=$((" + "-" * 20_000 + "1))" + LAUNCH,
    "powers": "A=$((9**9**9**9**9)) B=$((2**999999999))" + LAUNCH,
    "ternaries": "A=$((" + "1?" * 3000 + "1" + ":1" * 3000 + "))" + LAUNCH,
    "nested braces": "A=" + "${B:-" * 5000 + "}" * 5000 + LAUNCH,
    "nested ifs": "if true; then " * 3000 + LAUNCH + "fi; " * 3000,
    "undecided ifs": "if [ -d x ]; then A=$A.; fi\n" * 3000 + LAUNCH,
    "nested undecided ifs": "if [ -d x ]; then " * 60 + LAUNCH + "fi; " * 60,
    "endless": "while :; do A=$((A+1)); done" + LAUNCH,
    "nested endless": "while :; do " * 12 + "A=$((A+1)); " + "done; " * 12 + LAUNCH,
    "recursion": "f() { f; f; }; f" + LAUNCH,
    "doubling": "A=xxxxxxxxxx\nfor i in {1..200}; do A=$A$A; done" + LAUNCH,
    "doubling array": 'A=(x)\nfor i in {1..200}; do A+=("${A[@]}"); done' + LAUNCH,
    "array": "A=(" + "word " * 100_000 + ')\nB=("${A[@]}")' + LAUNCH,
    "assignments": "A=1\n" * 20_000 + LAUNCH,
    "appends": 'A="$A --flag value"\n' * 5000 + "torchrun a.py $A\n",
    "ranges": "for i in {1..999999999}; do B=$i; done\nfor j in $(seq 999999999); do B=$j; done"
    + LAUNCH,
    "cartesian": "for a in {1..99}; do for b in {1..99}; do for c in {1..99}; do D=$a$b$c; done; done; done",
    "eval": 'A=\'eval "$A"\'\neval "$A"' + LAUNCH,
    "bash": 'A=\'bash -c "$A"\'\nexport A\nbash -c "$A"' + LAUNCH,
    "sources itself": ". ./job.sh\nsource job.sh" + LAUNCH,
    "starts itself": "bash job.sh\nsbatch job.sh\nsrun ./job.sh" + LAUNCH,
    "patterns": "A=" + "a" * 900 + "\nB=${A//" + "*a" * 200 + "b/}\nC=${A##" + "*a" * 200 + "b}\n"
    "[[ $A == " + "*a" * 200 + "b ]]\n[[ $A =~ (a+)+b ]]" + LAUNCH,
    "heredoc": "cat <<EOF\n" + "$A ${B} `c` $(d)\n" * 5000 + "EOF" + LAUNCH,
    "open heredoc": "cat <<EOF > x\n" + "text\n" * 5000,
    "open quote": 'A="' + "text $B\n" * 5000,
    "carriage returns": f"GPUS=8\r\n{LAUNCH}".replace("\n", "\r\n"),
    "many launches": "for i in {1..200}; do torchrun $i.py --num-layers $i --hidden-size 8; done",
    "case": "case x in " + "a) A=1 ;; " * 5000 + "esac" + LAUNCH,
    "long line": "torchrun a.py " + "--flag value " * 20_000,
    "directives": "#SBATCH --nodes=" + "9" * 5000 + "\n#SBATCH --gres=gpu:" + ":" * 3000 + LAUNCH,
    "numbers": f"torchrun a.py --num-layers {'9' * 100_000} --hidden-size {'9' * 4000}",
    "layout": "torchrun a.py --num-layers 4 --hidden-size 4 "
    "--pipeline-model-parallel-layout '(t|)*999999999'",
}


@pytest.mark.parametrize("name", TEXTS)
def test_time_is_bounded(name: str) -> None:
    start = time.process_time()
    jobs = read_jobs({"job.sh": TEXTS[name]})
    assert time.process_time() - start < MOST_SECONDS
    assert jobs and all(job.kind.carrier == "bash" for job in jobs)


#: What follows must still be read: the reader goes on behind these.
GOES_ON = [
    "undecided ifs",
    "endless",
    "array",
    "assignments",
    "powers",
    "patterns",
    "carriage returns",
    "sources itself",
    "heredoc",
    "ranges",
    "case",
]


@pytest.mark.parametrize("name", GOES_ON)
def test_what_stands_behind_is_read(name: str) -> None:
    values = read_jobs({"job.sh": TEXTS[name]})[0].values()
    assert values["layers"] == 24 and values["gpus_per_node"] == 8


@pytest.mark.parametrize("name", ["large", "nul", "endless", "doubling", "sources itself"])
def test_what_was_not_read_is_said(name: str) -> None:
    script = read_script("job.sh", TEXTS[name], texts={"job.sh": TEXTS[name]})
    assert script.unread and all(unread.reason and unread.line >= 1 for unread in script.unread)


OTHERS: Mapping[str, Mapping[str, str]] = {
    "json": {
        "deep": '{"a":' * 5000 + "1" + "}" * 5000,
        "lists": "[" * 20_000,
        "open": '{"zero_optimization": {"stage": 2',
        "empty": "",
        "number": '{"train_batch_size": ' + "9" * 5000 + "}",
        "comments": "{" + "/* x */ // y\n # z\n" * 5000 + "}",
        "keys": "{" + ",".join(f'"k{n}": {n}' for n in range(50_000)) + "}",
        "text": "no json at all",
    },
    "toml": {
        "deep": "a = " + "[" * 3000 + "]" * 3000,
        "open": "[model\nname = 'x'",
        "types": "[parallelism]\ntensor_parallel_degree = [1, {a = 2}]\n[training]\nseq_len = 'x'\n",
    },
    "py": {
        "deep": "x = " + "(" * 5000 + ")" * 5000 + "\n# Trainer.Config",
        "cycle": "def a() -> Trainer.Config:\n    return a()\n",
        "broken": "def Trainer.Config(:",
        "powers": "def a():\n    return Trainer.Config(training=T(seq_len=9**9**9**9))\n",
    },
}


@pytest.mark.parametrize("kind, name", [(kind, name) for kind in OTHERS for name in OTHERS[kind]])
def test_other_files_are_bounded(kind: str, name: str) -> None:
    start = time.process_time()
    for job in read_jobs({f"job.{kind}": OTHERS[kind][name]}):
        assert all(isinstance(unread.reason, str) for unread in job.unread)
    assert time.process_time() - start < MOST_SECONDS


def test_division_by_zero_and_octals_are_unknown() -> None:
    text = "torchrun a.py $((1/0)) $((5%0)) $((09)) $((0 ? 1/0 : 7))\n"
    words = read_script("job.sh", text).launches[0].words
    assert said(words)[2:] == ["?", "?", "?", "?"] or said(words)[2:] == ["?", "?", "?", "7"]
    assert all(isinstance(word.text, Unknown) for word in words[2:5])
