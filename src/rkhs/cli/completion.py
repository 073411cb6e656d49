"""``rkhs completion``: a script that completes commands, flags and their values in a shell."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator

from rkhs.cli.parser import all_flags

EXAMPLES = """\
examples:
  eval "$(rkhs completion bash)"            in ~/.bashrc
  eval "$(rkhs completion zsh)"             in ~/.zshrc
"""
OPTIONS = "SHELL {bash,zsh}  the shell that reads the script"

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


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from rkhs.cli.main import command_parsers

    parsers = command_parsers()
    flags = (f"{' ' * 28}{name}) known={_words(all_flags(parser))} ;;" for name, parser in parsers.items())
    values = (line for name, parser in parsers.items() for line in _values(name, parser))
    script = _SCRIPT.format(
        commands=_words([*parsers, "--help", "--version"]), values="\n".join(values), flags="\n".join(flags)
    )
    print((_ZSH if args.shell == "zsh" else "") + script, end="")
    return 0


def _words(words: Iterable[object]) -> str:
    return shlex.quote(" ".join(map(str, words)))


def _values(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """What may stand behind the flags of a command that take one of several words."""
    for action in parser._actions:
        if action.choices is not None:
            # A positional argument stands where the word before is the command.
            places = [f'"{name} {flag}"' for flag in action.option_strings or [name]]
            yield f"{' ' * 12}{'|'.join(places)}) known={_words(action.choices)} ;;"
