"""The application: the guard in front of it, the page, and the endpoints."""

# Annotations are not postponed here: FastAPI reads them, and requests are made for each model.
import asyncio
import json
import re
import sys
from base64 import b64encode
from collections.abc import Collection, MutableMapping
from hashlib import sha256
from importlib.resources import files
from secrets import compare_digest
from typing import Annotated, Any

from fastapi import FastAPI, Header
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from covey._templates import Markup, environment
from covey.serving import _requests as api
from covey.serving._answers import Answers
from covey.serving._batches import Batches, Limits
from covey.serving._columns import columns_of, facts_of
from covey.serving._editing import Editing

# The names of this machine for itself.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
# Names and values of a request's headers and its path, in bytes; browsers send some thousand.
MOST_HEADER_BYTES = 32_768
# The most rows of several requests that are answered together. An explanation takes many
# predictions: the most that are made together, and that wait. So does a correction.
_ROWS_AT_ONCE, _EXPLANATIONS, _CORRECTIONS = 2048, (8, 64), (1, 16)
# Headers of every answer: nothing in it is guessed, framed, kept or told to other hosts.
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
]
_SENTENCES = {
    400: "The body is not JSON that can be read.",
    404: "There is no such page; / has a form, /openapi.json describes the endpoints.",
    405: "This page is asked in another way; /openapi.json says how.",
    408: "The body took longer than {0.seconds:g} seconds to arrive.",
    413: "The body is longer than {0.bytes:,} bytes; send fewer rows at a time.",
    415: "The body must be JSON; send it with the header Content-Type: application/json.",
    421: "The name of the host is not this machine's; use 127.0.0.1 or localhost.",
    431: f"The head is longer than {MOST_HEADER_BYTES:,} bytes.",
    500: "The server failed to answer; its terminal says why.",
}
# A connection is of no more use if a body on it was not read to its end.
_CLOSE = {"connection": "close"}
_HEADERS_OF = {408: _CLOSE, 413: _CLOSE, 503: {"retry-after": "1"}}


def make_app(
    model: Any,
    limits: Limits | None = None,
    *,
    hosts: Collection[str] | None = LOOPBACK,
    editing: Editing | None = None,
) -> FastAPI:
    """Make a web application that shows a form, predicts and explains; for any ASGI server.

    Parameters
    ----------
    model : FlockClassifier or FlockRegressor
        Fitted to a data frame.
    limits : Limits, optional
        How much may be asked.
    hosts : collection of str, optional
        The names by which the server may be asked, in small letters and without a port, by default
        those of this machine for itself; None allows any.
    editing : Editing, optional
        Adds a page, /edit, on which a person can correct effects and save a corrected model.

    Returns
    -------
    app : fastapi.FastAPI

    Examples
    --------
    >>> import pandas as pd
    >>> from fastapi.testclient import TestClient
    >>> from covey import FlockClassifier
    >>> from covey.serving import make_app
    >>> table = pd.DataFrame({"age": [31, 25, 54, 60] * 5, "town": ["Rome", "Oslo"] * 10})
    >>> ill = ["no", "no", "yes", "yes"] * 5
    >>> model = FlockClassifier(effort="fast", random_state=0).fit(table, ill)
    >>> client = TestClient(make_app(model), base_url="http://localhost")
    >>> rows = [{"age": 58, "town": "Oslo"}, {"age": None, "town": "Rome"}]
    >>> answer = client.post("/predict", json={"rows": rows}).json()
    >>> answer["predictions"][0]["prediction"]
    'yes'
    >>> client.post("/predict", json={"rows": [{"age": "old", "town": "Oslo"}]}).json()["error"]
    "Row 1, column 'age': 'old' is not a number; give a number, or null if it is not known."
    """
    limits = Limits() if limits is None else limits
    columns = columns_of(model)
    facts, names = facts_of(model, columns), [one.name for one in columns]
    answers = Answers(model, columns)
    Predict, Explain, WhatIf, Smallest = api.requests_of(columns, limits.rows)
    # On first use the model imports and keeps what it needs; and one that cannot predict at all is
    # not served.
    answers.predict([dict.fromkeys(names)])
    # Rows of /predict are counted, for /check; those of what-if are not.
    predicted = Batches(
        lambda rows, how: answers.predict(rows, how[0]),
        *(_ROWS_AT_ONCE, limits.waiting, limits.seconds),
        after=lambda rows, how, made: answers.count(rows, made) if how[1] else None,
    )
    explained = Batches(lambda rows, how: how[0](rows, *how[1:]), *_EXPLANATIONS, limits.seconds)
    page, policy = page_of(facts)
    app = FastAPI(
        title=f"covey: {facts['predicts']}",
        description="Answers of one model, and why. Errors are one sentence, in `error`.",
        version=facts["covey"],
        docs_url=None,  # the usual pages load scripts of other hosts
        redoc_url=None,
        redirect_slashes=False,
        responses={status: {"model": api.Failure} for status in (400, 408, 413, 415, 422, 503)},
    )

    @app.get("/", include_in_schema=False)
    async def form() -> HTMLResponse:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    @app.get("/model", summary="What the model predicts, of which columns")
    async def describe() -> dict[str, Any]:
        return facts

    @app.get("/health", summary="Whether the server answers, and how many rows wait")
    async def health() -> dict[str, Any]:
        return {"status": "ok", "waiting": predicted.waiting}

    @app.get("/check", summary="Whether the model still holds on the last rows of /predict")
    def check() -> dict[str, Any]:
        return answers.check()

    @app.post("/predict", summary="Predict rows", response_model=api.Predictions)
    async def predict(body: Predict) -> JSONResponse:
        made = await predicted.ask(body.rows, (body.level, True))
        return JSONResponse({"predictions": made, "level": body.level})

    @app.post("/explain", summary="Say why a row is predicted so", response_model=api.Explanation)
    async def explain(body: Explain) -> JSONResponse:
        how = (answers.explain, body.level, body.top or len(columns))
        return JSONResponse((await explained.ask([body.row], how))[0])

    @app.post("/what-if", summary="Change a row", response_model=api.Comparison)
    async def what_if(body: WhatIf) -> JSONResponse:
        rows = [body.row, {**body.row, **body.changes}]
        before, after = await predicted.ask(rows, (body.level, False))
        return JSONResponse({"before": before, "after": after})

    @app.post(
        "/smallest-change",
        summary="Find the smallest change that changes the answer",
        response_model=api.SmallestChange,
    )
    async def smallest_change(body: Smallest) -> JSONResponse:
        for name in body.fixed:
            if name not in names:
                raise HTTPException(422, f"fixed: the model has no column {name[:100]!r}.")
        how = (answers.smallest_changes, tuple(body.fixed), answers.wanted(body.to))
        return JSONResponse((await explained.ask([body.row], how))[0])

    @app.exception_handler(HTTPException)
    async def refuse(request: Any, error: HTTPException) -> JSONResponse:
        return refused(error, limits)

    @app.exception_handler(RequestValidationError)
    async def correct(request: Any, error: RequestValidationError) -> JSONResponse:
        return refused(HTTPException(422, api.sentence_of(error)), limits)

    if editing is not None:
        _add_editing(app, editing, facts, limits)
    app.add_middleware(guard, limits=limits, hosts=hosts)
    return app


def _add_editing(app: FastAPI, editing: Editing, facts: dict[str, Any], limits: Limits) -> None:
    """Add the page on which effects are corrected, and what it asks, for which it needs a key."""
    made = Batches(lambda rows, how: how[0](rows, *how[1:]), *_CORRECTIONS, limits.seconds)
    page, policy = page_of({**facts, **editing.facts}, "edit")

    @app.get("/edit", include_in_schema=False)
    async def editor() -> HTMLResponse:
        return HTMLResponse(page, headers={"content-security-policy": policy})

    @app.post("/edit", include_in_schema=False)
    async def edit(
        body: api.EditRequest, key: Annotated[str, Header(alias="covey-key")] = ""
    ) -> JSONResponse:
        if not compare_digest(key.encode(), editing.key.encode()):
            told = "Open the page by the address that covey serve has printed; its end is the key."
            raise HTTPException(403, told)
        drawn = tuple((one.column, one.label, tuple(one.points)) for one in body.corrections)
        how = (editing.answer, body.column, body.label, body.save)
        return JSONResponse((await made.ask([drawn], how))[0])


def refused(error: HTTPException, limits: Limits) -> JSONResponse:
    """Return the answer to a request that is refused: one sentence."""
    status = error.status_code
    text = _SENTENCES[status].format(limits) if status in _SENTENCES else error.detail
    return JSONResponse({"error": text}, status, error.headers or _HEADERS_OF.get(status))


def guard(app: Any, limits: Limits, hosts: Collection[str] | None) -> Any:
    """Return an ASGI application that guards another one: who may ask, how much, which headers.

    It refuses host names that are not among ``hosts``: a foreign page could otherwise reach a
    server on the loopback address by a name that resolves to it. It also refuses bodies that are
    not declared as JSON, which forms of other pages can send, and heads and bodies that are too
    long or too slow. A failure inside becomes a sentence, and every answer gets the headers that
    make browsers careful.
    """

    def fault(scope: dict[str, Any]) -> int | None:
        headers = {name: value.decode("latin-1").lower() for name, value in scope["headers"]}
        host = re.sub(r":\d+$", "", headers.get(b"host", ""))
        if hosts is not None and host not in hosts:
            return 421
        head = sum(len(name) + len(value) for name, value in scope["headers"])
        if head + len(scope["path"]) + len(scope["query_string"]) > MOST_HEADER_BYTES:
            return 431
        kind = headers.get(b"content-type", "").partition(";")[0].strip()
        if scope["method"] == "POST" and kind != "application/json":
            return 415
        length = headers.get(b"content-length", "")
        return 413 if length.isdecimal() and int(length[:20]) > limits.bytes else None

    async def guarded(scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        size, started = 0, False
        until = asyncio.get_running_loop().time() + limits.seconds

        async def limited() -> dict[str, Any]:
            nonlocal size
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            size += len(message.get("body", b""))
            if size > limits.bytes:
                raise HTTPException(413)
            return message

        async def careful(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        status = fault(scope)
        try:
            if status is None:
                await app(scope, limited, careful)
        except Exception as error:
            # In ASCII and quoted: names in it could contain control codes for a terminal.
            print(f"covey: a request failed: {ascii(error)[:300]}", file=sys.stderr, flush=True)
            status = 500
        if status is not None and not started:
            await refused(HTTPException(status), limits)(scope, receive, careful)

    return guarded


def page_of(facts: dict[str, Any], name: str = "serve") -> tuple[str, str]:
    """Return a page about a model, by its name, and its Content-Security-Policy.

    The page is one file that loads nothing. The policy allows its own script and style by their
    hashes, requests to the same host, and nothing else.
    """
    folder = files("covey.serving") / "templates"
    parts = ("style.css",), ("page.js", f"{name}.js")
    style, script = ("".join((folder / one).read_text("utf-8") for one in part) for part in parts)
    # No name can end the element that holds the facts.
    data = re.sub("[<>&]", lambda sign: f"\\u{ord(sign[0]):04x}", json.dumps(facts))
    html = (
        environment("covey.serving")
        .get_template(f"{name}.html")
        .render(facts=facts, data=Markup(data), style=Markup(style), script=Markup(script))
    )
    own, styled = (b64encode(sha256(text.encode()).digest()).decode() for text in (script, style))
    policy = (
        f"default-src 'none'; script-src 'sha256-{own}'; style-src 'sha256-{styled}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return html, policy
