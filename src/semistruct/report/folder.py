"""What is written from the records of a folder: tables, figures and the page."""

from __future__ import annotations

from pathlib import Path

from semistruct.experiments.summary import summary, warnings_of
from semistruct.experiments.tables import all_tables
from semistruct.experiments.view import View
from semistruct.files import replacing
from semistruct.report.figures import draw_all
from semistruct.report.html import page
from semistruct.report.text import markdown, tidy


def write_reports(view: View, folder: Path, command: str) -> list[Path]:
    """The files written: tables.md, tables.csv, figures, report.html."""
    tables, answers, warnings = all_tables(view), summary(view), warnings_of(view)
    figures = draw_all(view, folder)
    texts = {
        "tables.md": markdown(f"{view.title}: methods compared", command, warnings, answers, tables),
        "tables.csv": tidy(view),
        "report.html": page(
            view, command=command, warnings=warnings, answers=answers, tables=tables, figures=figures, folder=folder
        ),
    }
    for name, text in texts.items():
        with replacing(folder / name, "utf-8") as file:
            file.write(text)
    return [folder / name for name in (*texts, *(f"{figure}.svg" for figure in figures))]
