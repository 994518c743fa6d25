"""Which rules speak: `--select`, `--ignore`, comments, settings, and codes that are retired."""

from __future__ import annotations

from pathlib import Path

import pytest

from parc.__main__ import main
from parc.compiler.codes import RETIRED, RETIRED_NAMES
from tests.support.linted import BAD, GOOD, Captured, codes, findings, lint


def test_select_and_ignore(capsys: Captured) -> None:
    assert codes(capsys, "bad.sh", "--select", "PAR121") == set()
    assert codes(capsys, "bad.sh", "--select", "PAR1") == {"PAR101"}
    assert "PAR101" not in codes(capsys, "bad.sh", "--ignore", "world-size")
    assert lint("bad.sh", "--select", "PAR999") == 2
    assert "there is no rule `PAR999`" in capsys.readouterr().err


def test_comments_suppress_and_idle_ones_are_told(capsys: Captured) -> None:
    ignored = "# parc: ignore[PAR101] the site has more nodes\n"
    Path("above.sh").write_text(BAD.replace("torchrun", f"set -e\n{ignored}torchrun", 1))
    assert "PAR101" not in codes(capsys, "above.sh")
    Path("head.sh").write_text(BAD.replace("torchrun", f"{ignored}set -e\ntorchrun", 1))
    assert "PAR101" not in codes(capsys, "head.sh")
    Path("idle.sh").write_text(GOOD.replace("torchrun", f"set -e\n{ignored}torchrun", 1))
    (found,) = findings(capsys, "idle.sh", "--select", "PAR9,PAR1")
    assert (found["code"], found["line"]) == ("PAR902", 3)


def test_configuration(capsys: Captured) -> None:
    Path("pyproject.toml").write_text('[tool.parc.per-file-ignores]\n"b*.sh" = ["PAR1"]\n')
    assert not codes(capsys, "bad.sh") & {"PAR101"}
    Path("parc.toml").write_text('fail-on = "info"\nignore = ["PAR101"]\n')
    assert "PAR101" not in codes(capsys, "bad.sh")
    Path("parc.toml").write_text("ignored = []\n")
    assert lint("bad.sh") == 2
    assert "did you mean `ignore`?" in capsys.readouterr().err


UNPAIRED = GOOD.replace("--num-layers", "--tp-comm-overlap --num-layers")


def test_a_retired_code_stands_for_its_successor(capsys: Captured) -> None:
    Path("unpaired.sh").write_text(UNPAIRED)
    assert codes(capsys, "unpaired.sh", "--select", "PAR311") == {"PAR303"}
    assert "PAR303" not in codes(capsys, "unpaired.sh", "--ignore", "PAR311")
    lint("unpaired.sh", "--ignore", "PAR311")
    assert "note: `PAR311` is retired, see `PAR303`" in capsys.readouterr().err
    assert lint("unpaired.sh", "--select", "PAR410") == 0
    assert "note: `PAR410` is retired" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*RETIRED, *RETIRED_NAMES])
def test_settings_and_comments_may_name_what_is_retired(name: str, capsys: Captured) -> None:
    Path("paired.sh").write_text(f"# parc: ignore[{name}]\n{GOOD}")
    Path("parc.toml").write_text(
        f'ignore = ["{name}"]\n[severity]\n{name} = "error"\n[per-file-ignores]\n"*.sh" = ["{name}"]\n'
    )
    assert lint("paired.sh") == 0
    assert f"`{name}` is retired" in capsys.readouterr().err
    assert main(["rules", name]) == 0
    assert f"`{name}` is retired" in capsys.readouterr().out


def test_a_comment_with_a_retired_code_hides_and_says_so(capsys: Captured) -> None:
    Path("unpaired.sh").write_text(
        UNPAIRED.replace("torchrun", "# parc: ignore[PAR311]\ntorchrun", 1)
    )
    (found,) = findings(capsys, "unpaired.sh", "--select", "PAR3,PAR9")
    assert (found["code"], found["severity"]) == ("PAR902", "info")
    assert found["message"] == "`PAR311` is retired, see `PAR303`"
