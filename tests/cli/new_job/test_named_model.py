"""Names of models as people write them -> the library, Hugging Face's cache, or a cure."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from parc.dsl.diagnostics import JobError
from parc.dsl.library import std_entries
from parc.dsl.model_names import library_model
from parc.new_job.named_model import model_of_name, model_of_path
from parc.reading.huggingface.hub import cached_folder

CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 256,
    "num_attention_heads": 4,
    "intermediate_size": 512,
    "vocab_size": 1024,
}


@pytest.fixture(autouse=True)
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    for name in ("HF_HUB_CACHE", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def cached(hub: Path, name: str, commit: str = "abc", main: bool = True, **more: object) -> Path:
    """A snapshot as huggingface_hub lays it out: files are links to blobs."""
    model = hub / f"models--{name.replace('/', '--')}"
    snapshot = model / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (model / "blobs").mkdir(exist_ok=True)
    (model / "refs").mkdir(exist_ok=True)
    (model / "blobs" / commit).write_text(json.dumps(CONFIG | more))
    (snapshot / "config.json").symlink_to(f"../../blobs/{commit}")
    if main:
        (model / "refs" / "main").write_text(commit)
    return snapshot


@pytest.mark.parametrize(
    ("named", "entry"),
    [
        ("meta-llama/Llama-3.1-8B", "llama3_1_8b"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3_1_8b"),
        ("Llama-3.1-8B", "llama3_1_8b"),
        ("llama-3-8b-instruct", "llama3_8b"),
        ("meta-llama/Llama-2-7b-chat-hf", "llama2_7b"),
        ("Llama-3.3-70B-Instruct", "llama3_1_70b"),
        ("Qwen3-8B", "qwen3_8b"),
        ("Qwen/Qwen3-8B", "qwen3_8b"),
        ("qwen/qwen3-8b-base", "qwen3_8b"),
        ("Qwen/Qwen3-8B-Base", "qwen3_8b"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2_5_7b"),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "mixtral_8x7b"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral_7b"),
        ("moonshotai/Kimi-K2-Instruct", "kimi_k2"),
        ("openai/gpt-oss-20b", "gpt_oss_20b"),
        ("std.gpt_125m", "gpt_125m"),
        ("somebody/Qwen3-8B", None),
        ("mistralai/Mistral-7B-v0.1", "mistral_7b_v0_1"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3_30b_a3b_2507"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "llama3_1_8b"),
        ("unsloth/Qwen3-8B-unsloth-bnb-4bit", "qwen3_8b"),
        ("unsloth/gpt-oss-20b-BF16", "gpt_oss_20b"),
        ("NousResearch/Llama-2-70b-chat-hf", "llama2_70b"),
        ("LLM-Research/Meta-Llama-3-8B-Instruct", "llama3_8b"),
        ("Qwen/Qwen-72B-Chat-Int4", "qwen_72b"),
        ("Qwen/Qwen3-14B-FP8", "qwen3_14b"),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", "qwen2_5_32b"),
        ("/data/models/Qwen3-8B-Base/", "qwen3_8b"),
        ("./meta-llama_Llama-3.1-8B", "llama3_1_8b"),
        ("../models/llama-3.1-8b-instruct", "llama3_1_8b"),
        ("/hub/models--Qwen--Qwen3-8B/snapshots/0a1b", "qwen3_8b"),
        ("/hub/models--somebody--Qwen3-8B/snapshots/0a1b", None),
        ("/data/runs/checkpoint-500", None),
        ("google/gemma-2-9b-it", None),
        ("gpt2", None),
        ("", None),
    ],
)
def test_names_of_the_library(named: str, entry: str | None) -> None:
    assert library_model(named) == entry


def test_every_name_that_the_library_lists_is_one() -> None:
    for entry in std_entries():
        for name in (entry.name, *entry.aliases) if entry.kind == "model" else ():
            assert library_model(name) == entry.name
            assert library_model(name.upper()) in (entry.name, None)


def test_the_cache_is_looked_into(hub: Path) -> None:
    cached(hub, "Foo/Bar-7B", "old", main=False, num_hidden_layers=3)
    newest = cached(hub, "Foo/Bar-7B", "new")
    assert cached_folder("Foo/Bar-7B") == newest == cached_folder("Bar-7B")
    for named in ("Foo/Bar-7B", "Bar-7B"):
        for read in (model_of_name, model_of_path):
            assert (read(named).name, read(named).model.layers) == ("bar_7b", 2)


def test_a_name_of_two_owners_is_of_none(hub: Path) -> None:
    cached(hub, "Foo/Bar-7B")
    cached(hub, "Baz/Bar-7B")
    assert cached_folder("Bar-7B") is None and cached_folder("Baz/Bar-7B") is not None


@pytest.mark.parametrize("named", ["*", "Foo/*", "../x", "Foo/../../x", "[a]", "a\x00b"])
def test_no_name_is_a_pattern_or_a_way_out(hub: Path, named: str) -> None:
    cached(hub, "Foo/Bar-7B")
    assert cached_folder(named) is None


def test_what_is_nowhere_has_the_command_that_fetches_it() -> None:
    with pytest.raises(JobError) as caught:
        model_of_path("nobody/Some-Model-3B")
    (found,) = caught.value.diagnostics
    command = (found.help or "").split("`")[1]
    assert found.code == "PAR094"
    fetch, then = (shlex.split(part) for part in command.split("&&"))
    assert fetch == [
        "hf",
        "download",
        "nobody/Some-Model-3B",
        "config.json",
        "--local-dir",
        "Some-Model-3B",
    ]
    assert then == ["parc", "init", "--hf", "Some-Model-3B"]


def test_a_folder_goes_before_the_library_for_hf_alone(tmp_path: Path) -> None:
    folder = tmp_path / "Qwen3-8B"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    assert model_of_path("Qwen3-8B").model.layers == 2
    assert model_of_name("Qwen3-8B").model.layers == 36
