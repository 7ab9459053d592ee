"""The application: the page, the endpoints and their description."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from covey.serving._limits import Limits

# The names of this machine, for itself.
LOOPBACK = ("127.0.0.1", "localhost", "::1")


def make_app(
    model: Any, limits: Limits | None = None, *, hosts: Collection[str] | None = LOOPBACK
) -> Any:
    """A web application that shows a form, predicts and explains; for any ASGI server.

    Parameters
    ----------
    model : TableClassifier or TableRegressor
        A fitted one.
    limits : Limits, optional
        How much may be asked.
    hosts : collection of str, optional
        The names by which the server may be asked, by default those of this machine for itself;
        None allows any.

    Returns
    -------
    app : fastapi.FastAPI

    Examples
    --------
    >>> import pandas as pd
    >>> from fastapi.testclient import TestClient
    >>> from covey import FlockClassifier
    >>> from covey.serving import make_app
    >>> from covey.tables import TableClassifier
    >>> table = pd.DataFrame({"age": [31, 25, 54, 60] * 5, "town": ["Rome", "Oslo"] * 10})
    >>> ill = ["no", "no", "yes", "yes"] * 5
    >>> model = TableClassifier(FlockClassifier(effort="fast", random_state=0)).fit(table, ill)
    >>> client = TestClient(make_app(model), base_url="http://localhost")
    >>> rows = [{"age": 58, "town": "Oslo"}, {"age": None, "town": "Rome"}]
    >>> answer = client.post("/predict", json={"rows": rows}).json()
    >>> answer["predictions"][0]["prediction"]
    'yes'
    >>> client.post("/predict", json={"rows": [{"age": "old", "town": "Oslo"}]}).json()["error"]
    "Row 1, column 'age': 'old' is not a number; give a number, or null if it is not known."
    """
    try:
        from fastapi import FastAPI
        from starlette.exceptions import HTTPException
    except ImportError:
        raise ImportError(
            'A server needs FastAPI and uvicorn; install them with: pip install "covey[serve]".'
        ) from None
    from covey.serving._counts import Counts
    from covey.serving._endpoints import Endpoints
    from covey.serving._guard import Guard

    limits = Limits() if limits is None else limits
    counts = Counts()
    endpoints = Endpoints(model, limits, counts)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        yield
        endpoints.close()

    app = FastAPI(
        title=f"covey: {endpoints.facts['predicts']}",
        description="Answers of one model, and why. Errors are one sentence, in `error`.",
        version=endpoints.facts["covey"],
        docs_url=None,  # the usual pages load scripts of other hosts
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused},
    )
    endpoints.add_to(app)
    paths = [route.path for route in app.routes if hasattr(route, "path")]
    app.add_middleware(Guard, limits=limits, counts=counts, paths=paths, hosts=hosts)
    app.state.counts = counts
    return app


async def _refused(request: Any, error: Any) -> Any:
    from starlette.responses import Response

    sentence = {
        404: "There is no such page; / has a form, /openapi.json describes the endpoints.",
        405: "This page is asked in another way; /openapi.json says how.",
    }.get(error.status_code, str(error.detail))
    return Response(
        json.dumps({"error": sentence}),
        error.status_code,
        dict(error.headers or {}),
        "application/json",
    )
