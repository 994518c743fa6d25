"""Reading a script does nothing but read: no process, no connection, no file written, nothing fetched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
from parc.dsl.inputs.files import text_of
from parc.reading.named_folders import NamedFolders
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
jobs = read_jobs({"job.sh": text_of(folder / "job.sh")}, folder=NamedFolders(folder))
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
