"""Tables of options, written from the source: what goes with what, and the defaults of the autoencoder."""

from __future__ import annotations

from sphinx.application import Sphinx

from rkhs.estimators.autoencoder.defaults import DEFAULTS
from rkhs.estimators.options.combinations import AXES, RULES


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


def defaults() -> str:
    """One table: each option with the conditions of its values, the first row that holds first."""
    text = "| option | where | value |\n|---|---|---|\n"
    for row in DEFAULTS:
        facts = (f"{name.replace('_', ' ')}: {' or '.join(values)}" for name, values in row.when.items())
        value = row.value if isinstance(row.value, str | bool) else ", ".join(f"({a:g}, {b:g})" for a, b in row.value)
        text += f"| {row.option} | {', '.join(facts) or 'otherwise'} | {value} |\n"
    return text


PAGES = {
    "user/combinations": ("% tables of combinations", tables),
    "results/defaults": ("% table of defaults", defaults),
}


def add_tables(app: Sphinx, name: str, source: list[str]) -> None:
    """Put a table where its page asks for it."""
    if name in PAGES:
        mark, written = PAGES[name]
        source[0] = source[0].replace(mark, written())


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", add_tables)
    app.connect("env-before-read-docs", lambda app, env, names: names.extend(set(PAGES) - set(names)))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
