"""``rkhs completion``: a script that completes commands, flags and their values in a shell."""

from __future__ import annotations

import argparse
import shlex

__all__ = ["add_arguments", "run"]

_EPILOG = """\
examples:
  eval "$(rkhs completion bash)"            in ~/.bashrc
  eval "$(rkhs completion zsh)"             in ~/.zshrc
"""

_SCRIPT = """\
_rkhs() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command="${{COMP_WORDS[1]}}" known=""
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        known={commands}
    else
        case "$command $before" in
{values}
            *)
                case "$word" in
                    -*)
                        case "$command" in
{flags}
                        esac ;;
                esac ;;
        esac
    fi
    COMPREPLY=( $(compgen -W "$known" -- "$word") )
}}
complete -o default -F _rkhs rkhs
"""
_ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("shell", choices=("bash", "zsh"), help="the shell that reads the script")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from rkhs.cli.main import command_parsers

    parsers = command_parsers()
    values, flags = [], []
    for name, parser in parsers.items():
        options = [action for action in parser._actions if action.option_strings]
        flags.append(
            f"{' ' * 28}{name}) known={shlex.quote(' '.join(f for o in options for f in o.option_strings))} ;;"
        )
        for action in parser._actions:
            if action.choices is not None:
                # A positional argument stands where the word before is the command.
                places = [f'"{name} {flag}"' for flag in action.option_strings] or [f'"{name} {name}"']
                known = shlex.quote(" ".join(map(str, action.choices)))
                values.append(f"{' ' * 12}{'|'.join(places)}) known={known} ;;")
    script = _SCRIPT.format(
        commands=shlex.quote(" ".join([*parsers, "--help", "--version"])),
        values="\n".join(values),
        flags="\n".join(flags),
    )
    print((_ZSH if args.shell == "zsh" else "") + script, end="")
    return 0
