"""The page of what goes with what: one table an estimator, written from the rules that refuse the rest."""

from __future__ import annotations

from sphinx.application import Sphinx

from rkhs.estimators.options.combinations import AXES, RULES

PAGE = "user/combinations"


def named(axis: str, values: tuple[str, ...]) -> str:
    """An axis with its values; many values as all but the others."""
    rest = [value for value in AXES[axis] if value not in values]
    text = f"not {rest[0]}" if len(values) > 2 and len(rest) == 1 else " or ".join(values)
    return f"{axis.replace('_', ' ')}: {text}"


def tables() -> str:
    """One table an estimator: what was asked for, and what it needs."""
    text = ""
    for name, rules in RULES.items():
        text += f"## {name}\n\n| asked for | needs |\n|---|---|\n"
        for rule in rules:
            given = ", ".join(named(axis, values) for axis, values in rule.given.items()) or "anything"
            text += f"| {given} | {named(rule.axis, rule.allowed)} |\n"
        text += "\n"
    return text


def add_tables(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the tables where the page asks for them."""
    if name == PAGE:
        source[0] = source[0].replace("% tables of combinations", tables())


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", add_tables)
    app.connect("env-before-read-docs", lambda app, env, names: names.append(PAGE) if PAGE not in names else None)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
