"""What Megatron-LM trains on: what disagrees is said, and what is not said is warned of."""

import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.target import warnings
from parc.dsl.settings import Data
from tests.support.megatron_plans import plan_of, script_of
from tests.support.sample_plans import sample_job, train_of

ONE = Data(parts=(("/data/a", 1.0),))
MADE_UP = Data()


@pytest.mark.parametrize(
    ("options", "complaints"),
    [
        (Options(data=ONE), []),
        (Options(data=MADE_UP), []),
        (Options(data=ONE, train_data=ONE), ["both set data"]),
        (Options(data=ONE, valid_data=ONE), ["both set data", "without `train_data`"]),
        (Options(valid_data=ONE), ["without `train_data`"]),
        (Options(train_data=MADE_UP), ["not only for `train_data`"]),
        (Options(data=ONE, extra={"data-args-path": "x"}), ["`--data-args-path` of `extra`"]),
        (Options(data=ONE, extra={"data-args-path": False}), []),
        (Options(sft=True), ["makes up no conversations", "needs the tokenizer"]),
        (Options(sft=True, data=ONE, tokenizer="t"), []),
        (
            Options(sft=True, data=ONE, tokenizer="t", tokenizer_type="TikTokenizer"),
            ["sft does not support the tokenizer TikTokenizer"],
        ),
        (Options(data=ONE, prompt_format="identity"), ["has no effect without `sft`"]),
    ],
)
def test_settings_that_disagree(options: Options, complaints: list[str]) -> None:
    found = BACKEND.target.refuses(sample_job("megatron", options))
    assert [problem.code for problem in found] == ["PAR384"] * len(complaints)
    assert all(part in problem.message for part, problem in zip(complaints, found, strict=True))
    assert all(problem.help for problem in found)


def test_packed_conversations_need_fused_attention() -> None:
    options = Options(sft=True, data=ONE, tokenizer="t")
    job = sample_job("megatron", options, train=train_of(attention="unfused"))
    assert [problem.code for problem in BACKEND.target.refuses(job)] == ["PAR384"]


@pytest.mark.parametrize(
    ("options", "warned"),
    [
        (Options(), True),
        (Options(data=MADE_UP), False),
        (Options(data=ONE), False),
        (Options(train_data=ONE), False),
        (Options(extra={"mock_data": True}), False),
        (Options(extra={"per-split-data-args-path": "x"}), False),
        (Options(extra={"manual-gc": True}), True),
    ],
)
def test_made_up_data_that_nobody_asked_for(options: Options, warned: bool) -> None:
    codes = [each.code for each in warnings(BACKEND.target, sample_job("megatron", options))]
    assert codes == (["PAR375"] if warned else [])


def test_only_a_single_source_can_be_replaced() -> None:
    assert 'DATA_PATH="${DATA_PATH:-/data/a}"' in script_of(plan_of(options=Options(data=ONE)))
    both = Data(parts=(("/data/a", 1.0), ("/data/b", 2.0)))
    for options in (Options(data=both), Options(train_data=ONE), Options()):
        assert "DATA_PATH" not in script_of(plan_of(options=options))


def test_sources_keep_their_variables_and_are_no_code() -> None:
    parts = (("$HOME/web $(id)", 0.5), ('/it\'s "here"', 1.0))
    text = script_of(plan_of(options=Options(data=Data(parts=parts))))
    assert '--data-path 0.5 "$HOME/web \\$(id)" 1 "/it\'s \\"here\\""' in text


def test_a_source_of_a_blend_is_no_option() -> None:
    """Behind a `=` argparse takes one value alone: the path is given another spelling."""
    parts = (("-x/web", 0.5), ("--mock-data", 1.0))
    text = script_of(plan_of(options=Options(data=Data(parts=parts))))
    assert "--data-path 0.5 ./-x/web 1 ./--mock-data" in text
