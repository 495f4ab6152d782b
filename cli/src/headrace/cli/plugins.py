"""Subcommands from installed packages: entry points in the group `headrace.commands`.

Those of the group `headrace.commands.ca` are commands of `headrace ca`.

An entry point's value is a function (a command) or a `typer.Typer` (a group of commands). Listing them imports nothing:
the first line of help is read from the source, so that one slow or broken package slows or breaks no other.
"""

import ast
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group

GROUP: Final = "headrace.commands"


@dataclass(frozen=True)
class Plugin:
    """One subcommand as its package declares it."""

    entry: EntryPoint

    @property
    def name(self) -> str:
        """The subcommand's name."""
        return self.entry.name

    @property
    def package(self) -> str:
        """The distribution it comes from."""
        return self.entry.dist.name if self.entry.dist is not None else "an unknown package"

    def help(self) -> str:
        """Return the help text as the source has it, or what is wrong with it."""
        path = _source(self.entry.module)
        if path is None:
            return f"(not available: {self.package} has no module `{self.entry.module}`)"
        return _docstrings(path).get(self.entry.attr, "")

    def command(self) -> Any:  # noqa: ANN401 - a command of typer's, which keeps its class to itself
        """Load the command; when that fails, say so and end with 1."""
        try:
            found = self.entry.load()
            return get_group(found) if isinstance(found, typer.Typer) else get_command(_app(self.name, found))
        except Exception as error:  # another package's module may raise anything
            what = f"{type(error).__name__}: {error}"
            typer.echo(
                f"headrace: the command `{self.name}` of {self.package} cannot be loaded ({what}). "
                f"The other commands work; reinstall {self.package} to mend this one.",
                err=True,
            )
            raise typer.Exit(1) from error


class Deferred(TyperCommand):
    """A command known by name and first line of help; it is loaded when it is called or completed."""

    def __init__(self, plugin: Plugin) -> None:
        """Stand for `plugin`."""
        super().__init__(plugin.name, help=plugin.help())
        self._plugin = plugin

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:  # noqa: ANN401 - click's
        """Load the command and let it take over."""
        return self._plugin.command().make_context(info_name, args, parent, **extra)


def installed(group: str = GROUP) -> list[Plugin]:
    """Return the subcommands of all installed packages by name; of two with one name, the first package's."""
    found: dict[str, Plugin] = {}
    plugins = [Plugin(entry) for entry in entry_points(group=group)]
    for plugin in sorted(plugins, key=lambda plugin: (plugin.name, plugin.package)):
        found.setdefault(plugin.name, plugin)
    return list(found.values())


def _app(name: str, function: Any) -> typer.Typer:  # noqa: ANN401 - whatever the entry point names
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    settings = getattr(function, "context_settings", None)
    app.command(name, context_settings={"help_option_names": ["-h", "--help"], **(settings or {})})(function)
    return app


@cache
def _source(module: str) -> Path | None:
    """Find a module's source, importing nothing: below its top-level package's folders, or where that module is."""
    top, *rest = module.split(".")
    spec = find_spec(top)
    if spec is None:
        return None
    bases = [Path(folder).joinpath(*rest) for folder in spec.submodule_search_locations or ()]
    found = [path for base in bases for path in (base.with_suffix(".py"), base / "__init__.py")]
    if not rest and spec.origin is not None:
        found.insert(0, Path(spec.origin))
    return next((path for path in found if path.is_file()), None)


@cache
def _docstrings(path: Path) -> dict[str, str]:
    """Return the help of each function and `typer.Typer(help=...)` at a module's top level."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError) as error:
        typer.echo(f"headrace: cannot read the commands in `{path}` ({error}).", err=True)
        return {}
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = ast.get_docstring(node) or ""
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            texts = [
                k.value.value for k in node.value.keywords if k.arg == "help" and isinstance(k.value, ast.Constant)
            ]
            found.update({t.id: str(texts[0]) for t in node.targets if isinstance(t, ast.Name) and texts})
    return found
