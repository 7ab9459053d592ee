"""The page: one file that loads nothing, and may run no script but its own."""

from __future__ import annotations

import json
from base64 import b64encode
from hashlib import sha256
from importlib.resources import files
from typing import Any

from covey._templates import Markup, environment


class Page:
    """A form of a model's columns, with what the script needs to know of them.

    Parameters
    ----------
    facts : dict
        As `facts_of` gives them.

    Attributes
    ----------
    html : str
    policy : str
        The Content-Security-Policy: scripts and styles by their hashes, requests to the same
        host, nothing else.
    """

    def __init__(self, facts: dict[str, Any]):
        folder = files("covey.serving") / "templates"
        style = (folder / "style.css").read_text("utf-8")
        script = (folder / "script.js").read_text("utf-8")
        self.html = (
            environment("covey.serving")
            .get_template("serve.html")
            .render(
                facts=facts,
                data=_embedded(facts),
                style=Markup(style),
                script=Markup(script),
            )
        )
        self.policy = "; ".join(
            (
                "default-src 'none'",
                f"script-src '{_hash(script)}'",
                f"style-src '{_hash(style)}'",
                "connect-src 'self'",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
                "frame-ancestors 'none'",
            )
        )


def _embedded(facts: dict[str, Any]) -> Markup:
    """JSON within a page: no name can end the element that holds it."""
    text = json.dumps(facts, ensure_ascii=True, allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
