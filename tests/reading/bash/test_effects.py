"""Reading a script does nothing but read: no process, no connection, no file written, nothing fetched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from parc.backends.launch_files import read_jobs
from parc.reading.files import folder_below, text_of

SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
touch made-by-touch
echo text > made-by-redirection
cat <<EOF > made-by-heredoc
text
EOF
echo more >> existing
mkdir -p folder/inner; rm -rf existing folder; mv existing moved; cp existing copied; ln -s existing linked
tee made-by-tee <<< "text"
sed -i s/kept/lost/ existing
curl http://127.0.0.1:9/x -o fetched; wget http://127.0.0.1:9/x; git clone http://127.0.0.1:9/x
exec 3<>/dev/tcp/127.0.0.1/9
A=$(touch made-in-substitution; echo 8)
B=`touch made-in-back-quotes`
C=$(python -c "open('made-by-python', 'w')")
python3 -c "import os; os.system('touch made-by-system')"
eval "touch made-by-eval"
bash -c "touch made-by-bash"
sh -c 'echo x > made-by-sh'
source ./other.sh
. <(touch made-by-process)
diff <(touch made-one) <(touch made-two)
awk 'BEGIN { system("touch made-by-awk") }'
find . -exec rm {} ;
xargs touch <<< made-by-xargs
trap 'touch made-by-trap' EXIT
kill -9 $$; kill -9 -1
((D = 1, E = 2))
F=${G:=$(touch made-by-default)}
[[ -n $(touch made-by-test) ]]
arr[$(touch made-by-index)]=1
echo $((arr[$(touch made-by-arithmetic)]))
ssh host touch made-by-ssh
sbatch other.sh; srun touch made-by-srun; mpirun touch made-by-mpirun
export PATH=.:$PATH LD_PRELOAD=./evil.so PYTHONPATH=. BASH_ENV=./other.sh
torchrun --nproc_per_node $A train.py --num-layers 4 --hidden-size 8 \\
    --deepspeed --deepspeed_config existing.json
"""


#: Reads the job with a hook that ends the process at whatever has an effect outside it (PEP 578).
GUARDED = """
import os, sys
from pathlib import Path
from parc.reading.files import folder_below, text_of
from parc.backends.launch_files import read_jobs

folder = Path(sys.argv[1])
read_jobs({"warm.sh": "torchrun a.py --num-layers 1 --hidden-size 1"})
HARMLESS = ("open", "os.listdir", "os.scandir", "compile", "exec", "import", "marshal.loads", "code.__new__")

def guard(event, arguments):
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    if event == "open" and (arguments[2] or 0) & writes:
        os._exit(3)
    if event.split(".")[0] in ("subprocess", "socket", "shutil", "urllib", "http") or (
        event.startswith("os.") and event not in HARMLESS
    ):
        os._exit(4)

sys.addaudithook(guard)
jobs = read_jobs({"job.sh": text_of(folder / "job.sh").text}, folder=folder_below(folder))
training = next(job for job in jobs if job.framework == "megatron")
print(training.value("layers"), training.value("zero"))
"""


def test_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(SCRIPT)
    (tmp_path / "other.sh").write_text(
        "touch made-by-source\necho $1 > made-by-redirection-there\n"
    )
    (tmp_path / "existing").write_text("kept\n")
    (tmp_path / "existing.json").write_text('{"zero_optimization": {"stage": 2}}')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", GUARDED, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (0, "4 2\n"), done.stderr
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_guard_sees_effects(tmp_path: Path) -> None:
    for effect in (
        "open('x', 'w')",
        "os.system('true')",
        "os.mkdir('x')",
        "os.kill(os.getpid(), 0)",
    ):
        text = GUARDED.split("jobs = ")[0] + effect
        done = subprocess.run(
            [sys.executable, "-c", text, str(tmp_path)],
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
        )
        assert done.returncode in (3, 4), effect


def test_only_files_below_the_folder_are_read(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.sh").write_text("LAYERS=1\n")
    (inside / "link.sh").symlink_to(tmp_path / "secret.sh")
    os.mkfifo(inside / "pipe.sh")
    text = "\n".join(
        f"source {name}"
        for name in (
            tmp_path / "secret.sh",
            "../secret.sh",
            "link.sh",
            "pipe.sh",
            "/dev/zero",
            "/etc/passwd",
        )
    )
    text += "\ntorchrun a.py --num-layers ${LAYERS:-24} --hidden-size 8\n"
    job = read_jobs({"job.sh": text}, folder=folder_below(inside))[0]
    assert set(job.texts) == {"job.sh"} and len(job.unread) == 6


def test_large_and_odd_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "large.sh").write_bytes(b"#" * 50_000_000)
    (tmp_path / "binary.sh").write_bytes(b"\x7fELF\0\0")
    (tmp_path / "latin.sh").write_bytes("# é\nA=1\n".encode("latin-1"))
    assert "50,000,000 bytes" in str(text_of(tmp_path / "large.sh").problem)
    assert text_of(tmp_path / "binary.sh").problem == "it is binary"
    assert text_of(tmp_path / "latin.sh").text == "# \ufffd\nA=1\n"
    assert text_of(tmp_path / "missing.sh").text is None
    assert text_of(tmp_path).problem == "it is no regular file"
    assert text_of(Path("/dev/zero")).problem == "it is no regular file"
