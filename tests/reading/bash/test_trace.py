"""The commands of a script in the order of a run: words, what starts them, and where they are written."""

from __future__ import annotations

from parc.reading.bash.script import Script, read_script
from parc.reading.bash.trace import MOST_COMMANDS, TracedCommand


def trace(text: str, **others: str) -> tuple[TracedCommand, ...]:
    return followed(text, **others).trace


def followed(text: str, **others: str) -> Script:
    texts = {f"{name}.sh": other for name, other in others.items()}
    return read_script("job.sh", text, texts=texts)


def names(commands: tuple[TracedCommand, ...]) -> list[tuple[str, ...]]:
    return [command.programs for command in commands]


def test_commands_come_in_order_without_their_wrappers() -> None:
    first, second = trace("cd /data\nA=1 time srun -N 2 numactl -l python3.11 train.py --lr 1\n")
    assert first.programs == ("cd",) and first.step is None
    assert second.programs == ("time", "srun", "numactl", "python3")
    assert [word.text for word in second.words] == ["python3.11", "train.py", "--lr", "1"]
    assert [word.text for word in second.step or ()] == ["srun", "-N", "2"]


def test_a_step_of_any_program_is_taken_apart() -> None:
    (command,) = trace("srun --ntasks=4 -c 2 hostname -s\n")
    assert [word.text for word in command.words] == ["hostname", "-s"]
    assert [word.text for word in command.step or ()] == ["srun", "--ntasks=4", "-c", "2"]


def test_texts_of_shells_and_written_files_are_scripts_of_the_run() -> None:
    text = """srun bash -c "torchrun train.py"
cat > run.sh <<EOF
deepspeed --num_gpus 8 train.py
EOF
srun bash run.sh
srun ./own.sh
"""
    assert names(trace(text, own="accelerate launch train.py\n")) == [
        ("srun", "bash"), ("srun", "torchrun"), ("cat",),
        ("srun", "bash"), ("srun", "deepspeed"),
        ("srun", "own.sh"), ("srun", "accelerate"),
    ]  # fmt: skip


def test_a_command_has_the_place_of_its_line_and_its_words_have_theirs() -> None:
    command = trace('LAUNCHER="torchrun --nnodes 2"\nsrun $LAUNCHER train.py\n')[0]
    assert command.place == ("job.sh", 2, 1)
    assert (command.words[0].line, command.words[0].column) == (1, 11)
    inner = trace("srun ./own.sh\n", own="\ntorchrun train.py\n")[1]
    assert inner.place == ("own.sh", 2, 1) and inner.scripts == ("job.sh", "own.sh")


def test_what_no_run_executes_is_not_in_it() -> None:
    text = """unused() { rm -rf out; }
used() { sleep "$1"; }
if [ 1 -eq 2 ]; then date; else hostname; fi
if [ -n "$(nvidia-smi)" ]; then ls; else pwd; fi
echo "srun torchrun train.py"
used 3
"""
    said = names(trace(text))
    assert ("hostname",) in said and ("date",) not in said and ("rm",) not in said
    assert ("ls",) in said and ("pwd",) in said
    assert said[-2:] == [("echo",), ("sleep",)]


def test_output_that_is_taken_is_captured() -> None:
    commands = trace("HOST=$(scontrol show hostnames | head -n 1)\nsrun hostname\n")
    assert [(each.programs[0], each.captured) for each in commands] == [
        ("scontrol", True),
        ("head", True),
        ("srun", False),
    ]


def test_a_loop_adds_a_command_once_and_a_trace_is_bounded() -> None:
    assert len(trace("for i in 1 2 3; do sleep 1; done\n")) == 1
    assert [each.words[1].text for each in trace("for i in 1 2 3; do sleep $i; done\n")] == [
        "1",
        "2",
        "3",
    ]
    many = trace("".join(f"sleep {number}\n" for number in range(MOST_COMMANDS + 50)))
    assert len(many) == MOST_COMMANDS


def test_a_text_that_read_takes_whole_is_a_script_of_the_run() -> None:
    text = "read -r -d '' RUN <<'EOF'\ncd $HOME\ntorchrun --nnodes 2 train.py\nEOF\nsrun bash -c \"$RUN\"\n"
    commands = trace(text)
    assert names(commands)[-2:] == [("srun", "cd"), ("srun", "torchrun")]
    assert commands[-1].place == ("job.sh", 3, 1)


def test_a_script_that_is_written_and_submitted_has_its_directives() -> None:
    job = "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun train.py\n"
    script = followed(f"cat > t.sbatch <<EOF\n{job}EOF\nsbatch t.sbatch\n")
    assert names(script.trace)[-1] == ("srun", "torchrun")
    (launched,) = script.launches
    assert [(each.name, each.word.line) for each in launched.directives] == [("nodes", 3)]


def test_what_runs_in_the_background_is_marked() -> None:
    text = "srun a.py &\n{ sleep 1; } &\nif true; then torchrun b.py > log 2>&1 & fi\ndate && wait $!\n"
    assert [(each.programs[-1], each.background) for each in trace(text)] == [
        ("a.py", True), ("sleep", True), ("true", False), ("torchrun", True),
        ("date", False), ("wait", False),
    ]  # fmt: skip
    assert trace("srun a.py &> log\n")[0].background is False


def test_what_a_trap_or_a_failure_runs_is_in_it_and_launches_nothing() -> None:
    script = followed("""trap again USR1 SIGTERM
again() { echo late; scontrol requeue $SLURM_JOB_ID; }
trap - INT
trap 'kill -TERM $PID; torchrun other.py' 10
srun python train.py || sbatch "$0"
""")
    apart = [each for each in script.trace if each.signals]
    assert [(each.programs[-1], each.signals, each.called) for each in apart] == [
        ("sbatch", ("ERR",), False),
        ("echo", ("USR1", "TERM"), True),
        ("scontrol", ("USR1", "TERM"), True),
        ("kill", ("USR1",), False),
        ("torchrun", ("USR1",), False),
    ]
    assert apart[0].words[1].text == "job.sh" and apart[3].place == ("job.sh", 4, 7)
    assert [each.words[1].text for each in script.launches] == ["train.py"] and not script.unread


def test_a_trap_is_followed_no_further_than_its_budget() -> None:
    script = followed("trap 'while :; do x=1$x; date $x; done' USR1\ntorchrun train.py\n")
    assert not script.cut and not script.unread and len(script.launches) == 1
    assert 0 < sum(each.programs == ("date",) for each in script.trace) < 1_000


def test_assignments_have_their_values_and_what_they_read() -> None:
    script = followed("""export A=8
B=$((A * SLURM_NNODES)) sleep 1
declare -x C="$(hostname)"
nodes=("$A" two)
local_only=3
""")
    assigned = [(each.name, each.exported, each.before) for each in script.assignments]
    assert assigned == [
        ("A", True, 0), ("B", True, 0), ("C", True, 2), ("nodes", False, 2), ("local_only", False, 2),
    ]  # fmt: skip
    reads = {each.name: [read.name for read in each.reads] for each in script.assignments}
    assert reads == {"A": [], "B": ["A", "SLURM_NNODES"], "C": [], "nodes": ["A"], "local_only": []}
    nodes = script.assignments[3]
    assert (
        nodes.place == ("job.sh", 4, 1) and nodes.elements is not None and len(nodes.elements) == 2
    )


def test_expansions_have_their_names_operators_and_places() -> None:
    script = followed(
        "echo ${PORT:-29500} \"$1\"\nx=${list[0]} bash -c 'echo $INNER $1' name $PORT\n"
    )
    assert [tuple(each) for each in script.reads] == [
        ("PORT", ":-29500", "job.sh", 1, 6, 6), ("1", "", "job.sh", 1, 22, 2),
        ("PORT", "", "job.sh", 2, 44, 5), ("list", "[0]", "job.sh", 2, 3, 6),
        ("INNER", "", "job.sh", 2, 28, 6), ("1", "", "job.sh", 2, 35, 2),
    ]  # fmt: skip
    by = {each.words[-1].lead: [read.name for read in each.reads] for each in script.trace}
    assert [read.name for read in script.trace[0].reads] == ["PORT", "1"] and by[""] == [
        "INNER",
        "1",
    ]


def test_a_text_that_a_shell_reads_from_its_input_is_a_script_of_the_run() -> None:
    text = """srun bash -s 2 <<'EOF'
torchrun --nnodes $1 train.py
EOF
bash -c 'srun "$@"' name deepspeed b.py
"""
    commands = trace(text)
    assert names(commands) == [
        ("srun", "bash"), ("srun", "torchrun"), ("bash",), ("srun", "deepspeed"),
    ]  # fmt: skip
    assert commands[1].place == ("job.sh", 2, 1) and commands[1].words[2].text == "2"
    assert [each.text for each in commands[3].words] == ["deepspeed", "b.py"]
