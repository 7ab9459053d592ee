"""Links between pages of the repository lead somewhere, also within the site."""

import os
import re

import pytest
from _site.built import check_site
from _site.staging import (
    ROOT,
    is_page,
    links,
    local_target,
    pages,
    rewritten,
    site_path,
    stage_pages,
    with_commands_run,
)

PAGES = [*pages(), ROOT / "README.md", ROOT / "docs" / "gallery" / "README.md"]
# Pages that are written when the site is built.
WRITTEN = {"docs/api/index.md", "docs/start/commands.md", "docs/gallery/index.md"}


def anchors(text):
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", heading)) for heading in headings]
    return {heading.strip().lower().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_of_a_page_lead_somewhere(page):
    if page.suffix != ".md":
        return
    text = page.read_text()
    for link in links(text):
        found = local_target(page, link[2])
        if found is None:
            continue
        path, anchor = found
        if path.relative_to(ROOT).as_posix() in WRITTEN:
            continue
        assert path.exists(), f"{page.name} links to {link[2]}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path.read_text()), f"{page.name} links to {link[2]}"


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in pages():
        if page.suffix != ".md":
            continue
        for block in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    path = site_path(page).parent / line.split("<")[-1].rstrip(">")
                    listed.add(os.path.normpath(path))
    missing = [
        site_path(page).with_suffix("").as_posix()
        for page in pages()
        if site_path(page).with_suffix("").as_posix() not in listed | {"index"}
        and not site_path(page).as_posix().startswith("benchmarks/")
    ]
    assert missing == []
    assert "benchmarks/*/report" in listed


def test_links_are_rewritten_to_where_pages_lie_in_the_site(tmp_path):
    page = ROOT / "docs" / "start" / "install.md"
    (target,) = [
        link[2]
        for link in links(rewritten(page, "see [it](../../SECURITY.md#reports)", tmp_path)[0])
    ]
    assert target == "../project/security.md#reports"
    text = "`[not](a.link)` and [a script](../gallery/and_of_lines.py)\n```\n[nor](this)\n```\n"
    assert "(../gallery/and_of_lines.rst)" in rewritten(page, text, tmp_path)[0]
    assert "`[not](a.link)`" in rewritten(page, text, tmp_path)[0]
    assert is_page(ROOT / "docs" / "gallery" / "and_of_lines.py")


def test_pages_are_staged_with_their_pictures(tmp_path):
    written = {path.relative_to(tmp_path).as_posix() for path in stage_pages(tmp_path)}
    assert {"index.md", "flock.png", "project/changelog.md"} <= written
    assert {"benchmarks/accuracy/report.md", "benchmarks/accuracy/ranks.png"} <= written
    choosing = (tmp_path / "choosing.md").read_text()
    assert "benchmark-table" not in choosing
    assert "| covey, mixed |" in choosing


def test_commands_of_a_page_are_shown_and_run():
    text = with_commands_run("```{sh-run}\ncovey --version\n```\n")
    assert "```sh\ncovey --version\n```" in text
    assert "%%bash\nset -e\nexec 2>&1\ncovey --version\n" in text  # a failure ends the build


def test_a_site_with_a_broken_link_or_a_foreign_script_is_refused(tmp_path):
    (tmp_path / "index.html").write_text(
        "<a href='gone.html'></a><a href='#nowhere'></a><a href='https://example.org'></a>"
        "<script src='https://example.org/x.js'></script><img src='data:image/png;base64,'>"
    )
    faults, counted = check_site(tmp_path)
    assert len(faults) == 3
    assert counted["pages"] == 1
    (tmp_path / "index.html").write_text("<h1 id='here'></h1><a href='#here'></a>")
    assert check_site(tmp_path)[0] == []
