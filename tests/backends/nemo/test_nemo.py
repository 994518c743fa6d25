"""Recipes of NeMo and Megatron-Bridge: facts with places, and what the rules say of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.backends.launch_files import read_jobs
from parc.backends.nemo.recipes import MOST_RECIPES
from parc.reading.facts import Unknown, Value
from tests.support.linted import Captured, findings

DIRECT = """from nemo import lightning as nl
from nemo.collections import llm

strategy = nl.MegatronStrategy(tensor_model_parallel_size=4, sequence_parallel=True)
trainer = nl.Trainer(
    devices=8, num_nodes=2, strategy=strategy, plugins=nl.MegatronMixedPrecision(precision="bf16-mixed")
)
data = llm.MockDataModule(seq_length=4096, global_batch_size=32, micro_batch_size=1)
model = llm.LlamaModel(llm.LlamaConfig(num_layers=32, hidden_size=4096, num_attention_heads=32))
llm.train(model=model, data=data, trainer=trainer)
"""
RECIPE = """import nemo_run as run
from nemo.collections import llm


def recipe(nodes: int = 4):
    made = llm.llama3_70b.pretrain_recipe(name="x", num_nodes=nodes, num_gpus_per_node=8)
    made.trainer.strategy.tensor_model_parallel_size = 8
    made.trainer.strategy.pipeline_model_parallel_size = 2
    made.trainer.strategy.context_parallel_size = 1
    made.data.global_batch_size = 128
    made.data.micro_batch_size = 1
    return made


if __name__ == "__main__":
    run.run(recipe(), executor=run.LocalExecutor())
"""
BRIDGE = """from megatron.bridge import AutoBridge
from megatron.bridge.recipes.common import _pretrain_common


def llama3_8b_config():
    cfg = _pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained("meta-llama/Meta-Llama-3-8B").to_megatron_provider()
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.virtual_pipeline_model_parallel_size = None
    cfg.model.recompute_granularity = None
    cfg.train.global_batch_size = 512
    cfg.train.micro_batch_size = 1
    cfg.mixed_precision = "bf16_with_mxfp8_mixed"
    return cfg
"""


def known(text: str, path: str = "train.py") -> dict[str, Value]:
    (config,) = read_jobs({path: text})
    return {fact.name: fact.value for fact in config.facts if not isinstance(fact.value, Unknown)}


def test_objects_of_the_classes_have_their_defaults() -> None:
    assert known(DIRECT) == {
        "nodes": 2, "gpus_per_node": 8, "gpus": 16, "tp": 4, "pp": 1, "cp": 1, "ep": 1, "vpp": 1, "dp": 4,
        "sequence_parallel": True, "micro_batch": 1, "global_batch": 32, "seq_len": 4096, "layers": 32,
        "hidden": 4096, "heads": 32, "precision": "bf16",
    }  # fmt: skip


def test_a_recipe_that_is_changed_says_what_it_sets_and_no_more() -> None:
    assert known(RECIPE) == {
        "nodes": 4, "gpus_per_node": 8, "gpus": 32, "tp": 8, "pp": 2, "cp": 1, "dp": 2,
        "micro_batch": 1, "global_batch": 128,
    }  # fmt: skip


GIVEN = """from nemo.collections.llm.recipes import llama3_8b


def trainer(num_nodes: int = 2):
    return llama3_8b.trainer(
        tensor_parallelism=4,
        pipeline_parallelism=2,
        virtual_pipeline_parallelism=None,
        context_parallelism=2,
        sequence_parallelism=True,
        num_nodes=num_nodes,
        num_gpus_per_node=8,
    )


def pretrain_recipe(num_nodes: int = 2):
    recipe = llama3_8b.pretrain_recipe(num_nodes=num_nodes)
    recipe.trainer = trainer(num_nodes=num_nodes)
    recipe.data = run.Config(MockDataModule, seq_length=16384, global_batch_size=512, micro_batch_size=1)
    return recipe
"""


def test_degrees_that_a_trainer_of_another_module_is_given() -> None:
    assert known(GIVEN) == {
        "nodes": 2, "gpus_per_node": 8, "gpus": 16, "tp": 4, "pp": 2, "vpp": 1, "cp": 2, "dp": 1,
        "sequence_parallel": True, "micro_batch": 1, "global_batch": 512, "seq_len": 16384,
    }  # fmt: skip


def test_megatron_bridge() -> None:
    (config,) = read_jobs({"r.py": BRIDGE})
    assert (str(config.kind), config.program) == ("megatron-bridge-python", "llama3_8b_config")
    assert known(BRIDGE) == {
        "tp": 2, "pp": 4, "vpp": 1, "recompute": "none", "micro_batch": 1, "global_batch": 512,
        "precision": "bf16+mxfp8",
    }  # fmt: skip


def test_a_fact_stands_where_its_value_is_written() -> None:
    (config,) = read_jobs({"train.py": RECIPE})
    places = {fact.name: (fact.line, fact.column) for fact in config.facts}
    assert places["nodes"] == (5, 25) and places["tp"] == (7, 56)


PRECISIONS = [
    ("bf16_mixed()", "bf16"),
    ("bf16_with_fp8_mixed()", "bf16+fp8"),
    ("fp16_mixed()", "fp16"),
    ('nl.MegatronMixedPrecision(precision="bf16-mixed", fp8="hybrid")', "bf16+fp8"),
    (
        'nl.MegatronMixedPrecision(precision="16-mixed", fp8="e4m3", fp8_recipe="mxfp8")',
        "fp16+mxfp8",
    ),
    ("own_precision()", None),
]


@pytest.mark.parametrize("written, precision", PRECISIONS)
def test_mixed_precisions(written: str, precision: str | None) -> None:
    text = DIRECT.replace('nl.MegatronMixedPrecision(precision="bf16-mixed")', written)
    assert known(text).get("precision") == precision


def test_a_helper_of_another_module_may_change_the_recipe() -> None:
    text = BRIDGE.replace(
        "    return cfg", "    tune(cfg)\n    cfg.train.micro_batch_size = 2\n    return cfg"
    )
    assert known(text) == {"micro_batch": 2}


def test_a_helper_of_megatron_bridge_leaves_the_layout() -> None:
    calls = "    set_cuda_graph_modules(cfg.model, [])\n    apply_flex_dispatcher_backend(cfg.model, 'a')\n"
    assert known(BRIDGE.replace("    return cfg", f"{calls}    return cfg")) == known(BRIDGE)


@pytest.mark.parametrize(
    "code, text",
    [
        ("PAR101", DIRECT.replace("tensor_model_parallel_size=4", "tensor_model_parallel_size=3")),
        ("PAR201", DIRECT.replace("global_batch_size=32", "global_batch_size=30")),
        ("PAR111", DIRECT.replace("num_attention_heads=32", "num_attention_heads=30")),
        ("PAR101", RECIPE.replace("nodes: int = 4", "nodes: int = 3")),
    ],
)
def test_the_compilers_predicates_judge_a_recipe(code: str, text: str, capsys: Captured) -> None:
    Path("train.py").write_text(text)
    assert code in {found["code"] for found in findings(capsys, "train.py")}


@pytest.mark.parametrize("text", [DIRECT, RECIPE, BRIDGE])
def test_a_right_recipe_has_no_findings(text: str, capsys: Captured) -> None:
    Path("train.py").write_text(text)
    assert findings(capsys, "train.py") == []


def test_recipes_are_found_in_a_folder_and_tests_of_them_are_not(capsys: Captured) -> None:
    Path("train.py").write_text(RECIPE.replace("= 4)", "= 3)"))
    Path("test_train.py").write_text("import pytest\n" + RECIPE.replace("= 4)", "= 5)"))
    Path("other.py").write_text("import os\n")
    assert {str(found["path"]) for found in findings(capsys, ".")} == {"bad.sh", "train.py"}


def test_of_very_many_recipes_the_first_are_read() -> None:
    recipe = RECIPE[RECIPE.index("def recipe") : RECIPE.index("if __name__")]
    many = [recipe.replace("recipe(nodes", f"recipe{n}(nodes", 1) for n in range(100)]
    *read, last = read_jobs({"train.py": RECIPE[: RECIPE.index("def recipe")] + "".join(many)})
    assert len(read) == MOST_RECIPES and not last.facts
    assert [each.reason for each in last.unread] == [
        f"only its first {MOST_RECIPES} recipes are read"
    ]


def test_what_is_no_python_is_said() -> None:
    (config,) = read_jobs({"train.py": DIRECT + "def ("})
    assert [each.reason for each in config.unread][0].startswith("it is not Python")
