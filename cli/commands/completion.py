"""print what makes a shell complete parc's commands, options and files"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from ..printing.terminal import print_text

NAME = "completion"
#: Shells, and where each reads what is printed: argcomplete 3.7's own forms.
SHELLS = {
    "bash": 'eval "$(parc completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(parc completion zsh)" in ~/.zshrc, below compinit',
    "fish": "parc completion fish > ~/.config/fish/completions/parc.fish",
}


def arguments(parser: ArgumentParser) -> None:
    where = "; ".join(SHELLS.values())
    parser.add_argument("shell", choices=SHELLS, help=where)


def run(arguments: Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print_text(shellcode(["parc"], shell=arguments.shell).strip())
    return 0
