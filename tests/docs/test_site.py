"""What the site is made of: scripts that stand alone, commands, tables, formulas, notebooks."""

import json
import re

import pytest
from _site.benchmark_tables import chosen, filled, table
from _site.command_pages import commands, write_commands
from _site.gallery_scripts import scripts, standalone
from _site.staging import DOCS

NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.stem)
def test_a_script_of_the_gallery_stands_alone(path):
    text = standalone(path, "picture.png")
    compile(text, path.name, "exec")
    code = re.sub(r'\A""".*?"""', "", text, flags=re.DOTALL)
    assert "_style" not in code
    assert "__file__" not in code
    title = text.splitlines()[2]
    assert text.splitlines()[1] == "=" * len(title)
    assert code.rstrip().endswith("found = main()")
    assert code.count("# %%") >= 2


def test_a_script_without_a_question_or_a_run_is_refused(tmp_path):
    for text, wrong in (("x = 1\n", "docstring"), ('"""Why?"""\nx = 1\n', "main")):
        path = tmp_path / "script.py"
        path.write_text(text)
        with pytest.raises(ValueError, match=wrong):
            standalone(path, "")


def test_every_command_and_option_is_on_the_page_of_commands(tmp_path):
    written = {}
    write_commands(tmp_path / "commands.md", lambda path, text: written.update({path.name: text}))
    text = written["commands.md"]
    for name in commands():
        assert f"\n## covey {name}\n" in text
    assert "`--max-members NUMBER`" in text
    assert "`--effort {fast, balanced, best}`" in text
    assert "| `--json` |" in text
    assert "| `--quiet, -q` |" in text
    # Every row has two cells.
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 3, line


def test_a_table_of_a_benchmark_is_cut_as_a_page_asks():
    block = "```{benchmark-table} accuracy\n:columns: rival; log_loss\n:rows: covey\n```\n"
    text = filled(f"before\n\n{block}\nafter\n")
    (row,) = [row for row in table("accuracy") if row[0] == "covey"]
    assert "| rival | log_loss |\n| --- | --- |\n| covey | " in text
    assert row[table("accuracy")[0].index("log_loss")] in text
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")


@pytest.mark.parametrize("wrong", [{"columns": "speed"}, {"rows": "magic"}, {"heading": "none"}])
def test_a_table_that_is_not_there_is_an_error(wrong):
    with pytest.raises(ValueError, match=r"benchmarks/accuracy/report.md has no"):
        chosen("accuracy", **wrong)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_run_and_keeps_its_outputs(path):
    notebook = json.loads(path.read_text())
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell["outputs"]) for cell in cells) >= len(cells) / 2
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert "error" not in kinds
    assert "stderr" not in {output.get("name") for cell in cells for output in cell["outputs"]}
    assert any("image/png" in str(cell["outputs"]) for cell in cells)
    text = path.read_text()
    assert "site-packages" not in text
    assert "/home/" not in text
    assert "/work/" not in text


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) == 3


def test_names_in_pages_are_resolved_to_the_reference():
    pytest.importorskip("sphinx")
    from _site.linked_names import NAME, TRAILING, resolved, table
    from _site.public_names import public_names

    paths = table(public_names())
    for written, path in {
        "FlockClassifier": "covey.FlockClassifier",
        'FlockClassifier(members="mixed")': "covey.FlockClassifier",
        "covey.fusers.Gate": "covey.Gate",
        "knora_e": "covey.fusers.DynamicSelection",
        '"knora_e"': "covey.fusers.DynamicSelection",
        "FlockClassifier.explain": "covey.FlockClassifier.explain",
        "mean": None,
        "nonsense": None,
    }.items():
        assert resolved(NAME.match(written)[1], paths) == path
    assert TRAILING.sub(r"\1\\_", "(n_estimators_, n)") == r"(n_estimators\_, n)"
    assert TRAILING.sub(r"\1\\_", "see [1]_ and a_b") == "see [1]_ and a_b"


def test_formulas_are_mathml():
    pytest.importorskip("docutils.utils.math.latex2mathml")
    from _site.mathml import _markup

    text = _markup(r"\hat c(x) = \arg\min_c \Big(\sum_{b=1}^{B} |W_{cb}|\Big)", block=True)
    assert text.startswith("<math")
    assert "</math>" in text


def test_pages_of_source_code_lead_back_to_where_names_are_documented():
    pytest.importorskip("sphinx")
    from _site.linked_names import BACK, _back

    for wrong, right in {
        "api/covey.Fuser.html#covey.fusers.Fuser.fit": "api/covey.Fuser.html#covey.Fuser.fit",
        "api/covey.fusers.Max.html#covey.Max": "api/covey.fusers.Max.html#covey.fusers.Max",
        "api/covey.Gate.html#covey.Gate": "api/covey.Gate.html#covey.Gate",
        "api/covey.fuse.html#covey.fusers.fuse": "api/covey.fuse.html#covey.fuse",
        "api/covey.fuse.html#covey.fusers.Fused": "api/covey.fuse.html#covey.fuse",
    }.items():
        assert BACK.sub(_back, f'href="../{wrong}"') == f'href="../{right}"'


def test_markup_that_screen_readers_stumble_over_is_mended():
    from _site.accessible import mended

    signature = '<dt class="sig sig-object py">f(<dl>\n<dd>x,</dd>\n</dl>)</dt><dl><dt>t</dt></dl>'
    mended_signature = mended(signature)
    assert '<span class="sig-params">\n<span class="sig-line">x,</span>' in mended_signature
    assert mended_signature.endswith("<dl><dt>t</dt></dl>")
    assert mended('<div role="list" class="citation-list">') == '<div class="citation-list">'
    link = (
        '<a class="reference internal" href="a.html"><span class="doc">Why?</span></a></p>\n'
        '<div class="sphx-glr-thumbnail-title">Why?</div>'
    )
    assert 'aria-label="Why?"' in mended(link)
