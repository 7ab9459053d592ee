import re
import runpy
import sys

import pytest

from covey import _templates
from covey._templates import Markup, environment, escaped


def test_text_is_escaped_and_markup_is_not():
    assert escaped("<b>") == "&lt;b&gt;"
    assert escaped(Markup("<b>")) == "<b>"
    assert escaped(None) == ""


def test_characters_that_no_page_may_hold_are_replaced():
    template = environment("covey.reporting").from_string("{{ name }}|{{ nothing }}")
    assert template.render(name="a\x00\ud800<", nothing=None) == "a\ufffd\ufffd&lt;|"


def test_a_missing_jinja2_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=re.escape('pip install "covey[cli]"')):
        runpy.run_path(_templates.__file__)
