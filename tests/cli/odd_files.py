"""Writers of odd files: a table of 40 rows in every form that people have."""

import gzip
import io
import json
import sqlite3
import zipfile
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd


def rows(n_rows=40, **columns):
    """Two numbers, a town and a class that goes with them; ``columns`` replace or are added."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n_rows).round(3)
    town = rng.choice(["Köln", "Rome", "Oslo"], n_rows)
    y = np.where(x + (town == "Rome") + 0.3 * rng.normal(size=n_rows) > 0.2, "yes", "no")
    table = pd.DataFrame({"x": x, "z": rng.normal(size=n_rows).round(3), "town": town, "y": y})
    return table.assign(**columns)


def csv(table=None, **options):
    return (rows() if table is None else table).to_csv(index=False, **options)


def xlsx(sheets):
    """A workbook of sheets, each a list of rows, as the bytes of an xlsx file."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        parts, listed, links = [], [], []
        for number, (name, cells) in enumerate(sheets.items(), start=1):
            archive.writestr(f"xl/worksheets/sheet{number}.xml", _sheet(cells, main))
            parts.append(
                f'<Override PartName="/xl/worksheets/sheet{number}.xml" '
                f'ContentType="{kinds}.worksheet+xml"/>'
            )
            listed.append(f'<sheet name="{escape(name)}" sheetId="{number}" r:id="rId{number}"/>')
            links.append(
                f'<Relationship Id="rId{number}" Type="{office}/worksheet" '
                f'Target="worksheets/sheet{number}.xml"/>'
            )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{package}/content-types"><Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/>'
            f"{''.join(parts)}</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}/relationships"><Relationship Id="rId1" '
            f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{"".join(listed)}</sheets>'
            "</workbook>",
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{package}/relationships">{"".join(links)}</Relationships>',
        )
    return file.getvalue()


def _sheet(cells, main):
    lines = []
    for number, row in enumerate(cells, start=1):
        made = []
        for place, cell in enumerate(row):
            where = f"{chr(65 + place)}{number}"
            if isinstance(cell, int | float) and cell == cell:
                made.append(f'<c r="{where}"><v>{cell}</v></c>')
            elif isinstance(cell, str) and cell:
                made.append(f'<c r="{where}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>')
        lines.append(f'<row r="{number}">{"".join(made)}</row>')
    return f'<worksheet xmlns="{main}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def cells(table=None):
    """The header and the rows of a table, as `xlsx` takes them."""
    table = rows() if table is None else table
    return [list(table.columns), *table.astype(object).to_numpy().tolist()]


def json_lines(table=None):
    table = rows() if table is None else table
    return "".join(
        json.dumps(row, ensure_ascii=False) + "\n" for row in table.to_dict("records")
    ).encode()


def sqlite(path, tables, *statements):
    with sqlite3.connect(path) as database:
        for name, table in tables.items():
            table.to_sql(name, database, index=False)
        for statement in statements:
            database.execute(statement)
    database.close()


def packed(text):
    return gzip.compress(text.encode(), mtime=0)
