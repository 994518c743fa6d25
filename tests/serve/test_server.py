"""`parc serve` over HTTP: who is refused, what is bounded, what is never read, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest

from parc.__main__ import main
from parc.serve.limits import Limits
from tests.support.paths import ROOT
from tests.support.served_page import (
    PATIENCE,
    Served,
    alive,
    ended,
    serving,
    started,
    wait_for_work,
    work,
)
from tests.support.waiting import wait_until

JOB = (ROOT / "examples" / "gpt_125m.par").read_text()
#: More layouts than any machine prices in a second.
LONG = (ROOT / "examples" / "deepseek_v3.par").read_text()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    (folder / "gpt_125m.par").write_text(JOB)
    (folder / "lab.par").write_text("let lab = 7\n")
    (folder / "secret.par").write_text("let secret_word = 1\n")
    with serving("gpt_125m.par", "lab.par", "--seconds", 60, folder=folder) as found:
        yield found


def asked(served: Served, headers: dict[str, str], body: object = None) -> int:
    sent = json.dumps({"text": JOB} if body is None else body).encode()
    return served.request("/api/check", sent, headers)[0]


def test_the_page_itself_is_answered(served: Served) -> None:
    assert asked(served, {}) == 200
    assert (
        asked(
            served,
            {"Host": f"localhost:{served.port}", "Origin": f"http://localhost:{served.port}"},
        )
        == 200
    )


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1"}, 403),
        ({"Host": "127.0.0.1:1"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"X-Parc-Token": ""}, 401),
        ({"X-Parc-Token": "guess"}, 401),
        ({"X-Parc-Token": "\u00e9"}, 401),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_what_is_not_from_the_page_is_refused(
    served: Served, headers: dict[str, str], status: int
) -> None:
    assert asked(served, headers) == status


def test_the_opened_job_needs_the_token_and_files_of_the_page_the_host(served: Served) -> None:
    assert served.request("/api/opened", headers={"X-Parc-Token": "guess"})[0] == 401
    status, _, body = served.request("/api/opened")
    assert status == 200 and json.loads(body)["text"] == JOB
    for path in ("/", "/page/page.js"):
        assert served.request(path)[0] == 200
        assert served.request(path, headers={"Host": "evil.example"})[0] == 403
    assert served.token.encode() not in served.request("/")[2]


@pytest.mark.parametrize(
    "path",
    ["/page/../app.py", "/page/%2e%2e%2fapp.py", "/page/page.html", "/api/none", "/report/none"],
)
def test_nothing_else_is_there(served: Served, path: str) -> None:
    assert served.request(path)[0] == 404


def test_every_answer_is_kept_nowhere_and_framed_by_none(served: Served) -> None:
    _, headers, _ = served.request("/")
    assert headers["cache-control"] == "no-store" and headers["referrer-policy"] == "no-referrer"
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "default-src 'none'" in policy


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b'"text"', 400),
        (b"{}", 400),
        (b'{"text": 1}', 400),
        (b'{"text": "", "more": 1}', 400),
        (b"\xff\xfe", 400),
        (b" " * (256 * 1024 + 1), 413),
    ],
)
def test_a_malformed_body_is_refused(served: Served, body: bytes, status: int) -> None:
    code, _, said = served.request("/api/check", body)
    assert code == status and json.loads(said)["error"]


def test_a_place_is_a_number_in_or_behind_the_text(served: Served) -> None:
    assert served.ask("complete", text="model ", place=10**9)["offers"] is not None
    for place in (-1, True, 1.5, "1"):
        body = json.dumps({"text": "", "place": place}).encode()
        assert served.request("/api/hover", body)[0] == 400


def test_places_are_counted_as_a_browser_counts_them(served: Served) -> None:
    text = "# \U0001f680\n" + JOB.replace("seq_len", "seq_lem")
    found = next(each for each in served.ask("check", text=text)["complaints"] if each["edits"])
    units = text.encode("utf-16-le")
    assert units[2 * found["from"] :].decode("utf-16-le").startswith("seq_lem")


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "secret.par",
        "../secret.par",
        "./sub/../secret.par",
        "/proc/self/environ",
        "none.par",
    ],
)
@pytest.mark.parametrize("kind", ["check", "plan", "files"])
def test_a_file_that_was_not_opened_is_not_read(served: Served, path: str, kind: str) -> None:
    """Nor is it told whether there is one."""
    found = served.ask(kind, text=f'import "{path}"\n{JOB}')["complaints"]
    assert [each["code"] for each in found] == ["PAR002"]
    assert found[0]["message"].endswith("is not opened, so it is not read")
    assert "secret_word" not in str(found) and "root:" not in str(found)


def test_words_of_a_file_that_was_not_opened_are_not_offered(served: Served) -> None:
    text = 'import "secret.par"\nimport "lab.par"\ntrain { seq_len = '
    words = [each["word"] for each in served.ask("complete", text=text, place=len(text))["offers"]]
    assert "lab" in words and "secret_word" not in words


def test_a_file_that_was_opened_is_imported(served: Served) -> None:
    text = f'import "lab.par"\n{JOB}'
    assert [each["severity"] for each in served.ask("check", text=text)["complaints"]].count(
        "error"
    ) == 0


def test_the_zip_is_the_folder_that_compile_writes(served: Served, tmp_path: Path) -> None:
    status, headers, body = served.request("/api/files", json.dumps({"text": JOB}).encode())
    assert (status, headers["content-type"]) == (200, "application/zip")
    (tmp_path / "gpt_125m.par").write_text(JOB)
    assert main(["compile", str(tmp_path / "gpt_125m.par"), "-o", str(tmp_path / "out")]) == 0
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(BytesIO(body)) as archive:
        archive.extractall(unpacked)
        runs = {each.filename for each in archive.infolist() if each.external_attr >> 16 & 0o100}
    assert folder(unpacked) == folder(tmp_path / "out")
    written = tmp_path / "out"
    assert runs == {name for name in folder(written) if os.access(written / name, os.X_OK)} != set()


def folder(place: Path) -> dict[str, bytes]:
    files = (path for path in place.rglob("*") if path.is_file())
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in files}


def test_a_moved_slider_is_a_job(served: Served) -> None:
    found = served.ask("check", text=JOB)["sliders"]
    assert {"train.seq_len", "train.global_batch"} <= {each["name"] for each in found}
    for slider in found:
        assert JOB[slider["from"] : slider["to"]] == slider["choices"][slider["at"]]
        for choice in (slider["choices"][0], slider["choices"][-1]):
            text = JOB[: slider["from"]] + choice + JOB[slider["to"] :]
            again = next(
                e for e in served.ask("check", text=text)["sliders"] if e["name"] == slider["name"]
            )
            assert again["choices"][again["at"]] == choice


def connected(served: Served, sent: bytes) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", served.port), timeout=30)
    found.sendall(sent)
    return found


def test_a_slow_request_is_cut_off(served: Served) -> None:
    """Its head after 5 s, its body after 10 s."""
    head = f"POST /api/check HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    token = f"X-Parc-Token: {served.token}\r\nOrigin: {served.origin}\r\nContent-Type: application/json\r\n"
    slow_head = connected(served, head.encode())
    slow_body = connected(served, f"{head}{token}Content-Length: 100\r\n\r\n{{".encode())
    began = time.monotonic()
    with slow_head, pytest.raises(ConnectionError):
        while time.monotonic() - began < 60:
            time.sleep(0.5)
            slow_head.sendall(b"X: y\r\n")
    # A head that is sent piece by piece has its time, as far as this process had it.
    assert time.monotonic() - began > 4
    with slow_body:
        assert slow_body.recv(1000).startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began < 60 and asked(served, {}) == 200


def test_a_thousand_bad_requests_and_the_next_good_one_is_answered(served: Served) -> None:
    def bad(number: int) -> None:
        sent = (
            b"GET / HTTP/1.1\r\n",
            b"\x00\xff" * 500,
            b"POST /api/plan HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 9000,
            b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n\r\n".encode() * 20,
        )[number % 5]
        try:
            with connected(served, sent) as connection:
                if number % 5 in (1, 3):
                    connection.recv(100)
        except OSError:
            pass

    def large(number: int) -> int:
        try:
            return served.request("/api/check", b"[" * (300_000 if number % 2 else 200_000))[0]
        except OSError:
            return 0

    with ThreadPoolExecutor(40) as threads:
        list(threads.map(bad, range(800)))
        refused = set(threads.map(large, range(200)))
    assert refused <= {0, 400, 413, 503}
    assert asked(served, {}) == 200
    assert served.ask("plan", text=JOB)["plans"]


def test_more_solves_than_may_wait_are_refused_and_the_others_are_answered(served: Served) -> None:
    body = json.dumps({"text": JOB}).encode()
    with ThreadPoolExecutor(12) as threads:
        codes = [
            code
            for code, _, _ in threads.map(lambda _: served.request("/api/plan", body), range(12))
        ]
    assert codes.count(200) >= 6 and set(codes) <= {200, 503} and codes.count(503) >= 1
    assert served.ask("plan", text=JOB)["plans"]


def posted(served: Served, kind: str, **fields: object) -> bytes:
    """A request of the page as it is sent."""
    body = json.dumps(fields)
    headers = "".join(f"{name}: {value}\r\n" for name, value in served.headers().items())
    sent = (
        f"POST /api/{kind} HTTP/1.1\r\n{headers}Content-Length: {len(body.encode())}\r\n\r\n{body}"
    )
    return sent.encode()


def test_a_solve_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    (tmp_path / "job.par").write_text(LONG)
    with serving("job.par", "--seconds", 1, folder=tmp_path) as served:
        before = set(served.processes())
        code, _, said = served.request("/api/plan", json.dumps({"text": LONG}).encode())
        assert code == 504 and "1 s" in json.loads(said)["error"]
        assert len(before - set(served.processes())) == 1
        # Its own second may not do for a check on a machine that others load.
        wait_until(lambda: asked(served, {}) == 200, PATIENCE, "the next answer")


def test_a_solve_that_its_client_leaves_is_killed_and_the_next_is_answered(served: Served) -> None:
    served.ask("plan", text=JOB)
    before = work(served)
    with connected(served, posted(served, "plan", text=LONG)):
        wait_for_work(served, 1, before)
        assert all(map(alive, before))
    assert len(ended(before)) == 1
    assert served.ask("plan", text=JOB)["plans"] and asked(served, {}) == 200


def test_clients_that_leave_while_they_wait_leave_room(served: Served) -> None:
    """Two solve and four wait, which is all that may; once they have gone, none of the next is refused."""
    idle = work(served)
    others = [connected(served, posted(served, "plan", text=LONG)) for _ in range(6)]
    wait_for_work(served, 2, idle)
    body = json.dumps({"text": JOB}).encode()
    assert served.request("/api/plan", body)[0] == 503
    before = set(served.processes())
    for each in others:
        each.close()
    assert ended(before)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: served.request("/api/plan", body)[0], range(2)))
    assert found == [200, 200]


def test_a_solve_that_needs_too_much_memory_says_so_and_the_next_is_answered(
    tmp_path: Path,
) -> None:
    """Parc itself sees that an array has no room, or else the process ends: both are told."""
    (tmp_path / "job.par").write_text(LONG)
    with serving("job.par", "--seconds", 60, "--memory", 144, folder=tmp_path) as served:
        code, _, said = served.request("/api/plan", json.dumps({"text": LONG}).encode())
        found = json.loads(said)
        if code == 200:
            assert {each["code"] for each in found["complaints"]} == {"PAR154"}
        else:
            assert (
                code in (500, 507) and "144 MiB" in found["error"] and "--memory" in found["error"]
            )
        assert served.ask("check", text=JOB)["complaints"] == []


def test_a_port_in_use_is_refused(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", str(served.port)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error[PAR081]: cannot listen at 127.0.0.1:") and "--port" in said


def test_a_job_that_is_not_there_and_a_broken_link_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path / "none.par"), "--port", "0"]) == 2
    assert "error[PAR002]: there is no file" in capsys.readouterr().err
    assert main(["serve", "http://127.0.0.1:8731/#job=AAAA", "--port", "0"]) == 2
    assert "error[PAR082]: the link carries no job" in capsys.readouterr().err


@pytest.mark.parametrize("busy", [False, True])
def test_an_interruption_ends_every_process_at_once(tmp_path: Path, busy: bool) -> None:
    (tmp_path / "job.par").write_text(LONG)
    served = started("job.par", folder=tmp_path)
    wait_until(lambda: len(served.processes()) >= 5, PATIENCE, "all processes")
    idle = work(served)
    connection = connected(served, posted(served, "plan", text=LONG)) if busy else None
    if busy:
        wait_for_work(served, 1, idle)
    running = served.processes()
    os.killpg(served.process.pid, signal.SIGINT)
    # Sooner than a solve ends by itself.
    assert served.process.wait(Limits().solve_seconds - 5) == 130
    assert served.process.stdout and "Traceback" not in served.process.stdout.read()
    served.process.stdout.close()
    wait_until(lambda: not any(map(alive, running)), PATIENCE, "the end of all processes")
    if connection:
        connection.close()


def test_without_its_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [each for each in sys.modules if each.startswith("parc.serve")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error[PAR061]: `parc serve` needs `uvicorn`\n") and "[serve]" in said
