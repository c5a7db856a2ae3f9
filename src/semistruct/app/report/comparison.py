"""What `semistruct reproduce` writes from its records: tables as Markdown, figures, and one page with all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from semistruct.app.experiments.tables import Cell, Table, all_tables
from semistruct.app.experiments.view import View, summary, warnings_of
from semistruct.app.report.figures import draw_all
from semistruct.app.report.pages import inline_svg, render
from semistruct.base.files import replacing

MARKS = {"best": "**", "grey": "*", "peek": ""}


def write_reports(view: View, folder: Path, command: str) -> list[Path]:
    """The files written: tables.md, figures, report.html."""
    tables, answers, warnings = all_tables(view), summary(view), warnings_of(view)
    figures = draw_all(view, folder)
    texts = {
        "tables.md": markdown(f"{view.title}: methods compared", command, warnings, answers, tables),
        "report.html": page(
            view, command=command, warnings=warnings, answers=answers, tables=tables, figures=figures, folder=folder
        ),
    }
    for name, text in texts.items():
        with replacing(folder / name, "utf-8") as file:
            file.write(text)
    return [folder / name for name in (*texts, *(f"{figure}.svg" for figure in figures))]


def page(
    view: View,
    *,
    command: str,
    warnings: Sequence[str],
    answers: Sequence[tuple[str, str]],
    tables: Sequence[Table],
    figures: Mapping[str, str],
    folder: Path,
) -> str:
    """The page; figures are SVG files of the folder by name, with their titles."""
    first = view.records[0]
    return render(
        "report.html",
        title=f"semistruct reproduce: {view.title}",
        view=view,
        command=command,
        warnings=warnings,
        answers=answers,
        tables=tables,
        figures=[
            (name, title, inline_svg((folder / f"{name}.svg").read_text("utf-8"))) for name, title in figures.items()
        ],
        versions=first["versions"],
        digest=first["digest"],
    )


def markdown(
    title: str, command: str, lines: Sequence[str], answers: Sequence[tuple[str, str]], tables: Sequence[Table]
) -> str:
    """One document; `command` made it."""
    parts = [f"# {title}", f"Made by `{command}`.", *(f"> {line}" for line in lines)]
    parts += [f"**{_escaped(question)}** {_escaped(answer)}" for question, answer in answers]
    for table in tables:
        head = "| " + " | ".join(_shown(cell) for cell in table.columns) + " |"
        rule = "|---" * len(table.columns) + "|"
        body = ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in table.rows]
        parts += [f"## {table.title}", "\n".join([head, rule, *body]), *(_escaped(note) for note in table.notes)]
    return "\n\n".join(parts) + "\n"


def _shown(cell: Cell) -> str:
    mark = MARKS.get(cell.style, "") if cell.text else ""
    return f"{mark}{_escaped(cell.text)}{mark}"


def _escaped(text: str) -> str:
    for sign in "\\|*_`":
        text = text.replace(sign, "\\" + sign)
    return text.replace("<", "&lt;")
