"""The endpoints of one model."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel
from starlette.responses import Response

from covey.serving._answers import Answers
from covey.serving._batches import Batcher
from covey.serving._counts import Counts
from covey.serving._explanations import Explanations
from covey.serving._facts import facts_of
from covey.serving._fields import fields_of
from covey.serving._limits import Limits
from covey.serving._page import Page
from covey.serving._responses import (
    Comparison,
    Explanation,
    Failure,
    Health,
    Predictions,
    SmallestChange,
)
from covey.serving._rows import Rows
from covey.serving._schema import BadRequestError, Requests

# Rows of requests that are answered together.
_ROWS_AT_ONCE = 2048
# An explanation takes many predictions; the most that wait, and that are made together.
_EXPLANATIONS_WAITING, _EXPLANATIONS_AT_ONCE = 64, 8


class Endpoints:
    """What each path does.

    Parameters
    ----------
    model : TableClassifier or TableRegressor
    limits : Limits
    counts : Counts
    """

    def __init__(self, model: Any, limits: Limits, counts: Counts):
        self._model, self._limits, self._counts = model, limits, counts
        fields = fields_of(model)
        self.facts = facts_of(model, fields)
        self._rows = Rows(model, fields)
        self._requests = Requests(fields, limits.rows)
        self._answers = Answers(model, self._rows)
        self._batcher = Batcher(
            self._answers.predict,
            max_rows=_ROWS_AT_ONCE,
            max_waiting=limits.waiting,
            seconds=limits.seconds,
        )
        self._explanations = Explanations(model, self._rows, self._answers)
        self._explainer = Batcher(
            self._explanations.records,
            max_rows=_EXPLANATIONS_AT_ONCE,
            max_waiting=_EXPLANATIONS_WAITING,
            seconds=limits.seconds,
        )
        self.facts["explains"] = self._explanations.has_reasons
        self._page = Page(self.facts)
        # What the model imports and keeps on first use, it does now; and a model that cannot
        # predict at all is not served.
        self._answers.predict([{one.name: None for one in fields}], None)

    def close(self) -> None:
        """End the threads."""
        self._batcher.close()
        self._explainer.close()

    def add_to(self, app: FastAPI) -> None:
        """Add all paths to an application."""
        get, post, asked = app.get, app.post, self._requests
        get("/", include_in_schema=False)(self.page)
        get("/model", summary="What the model predicts, of which columns")(self.model)
        get("/health", summary="Whether the server answers", response_model=Health)(self.health)
        get("/metrics", summary="Counts of requests, in Prometheus' text format")(self.metrics)
        for path, summary, kind, answer, call in (
            ("/predict", "Predict rows", asked.predict, Predictions, self.predict),
            (
                "/explain",
                "Say why a row is predicted so",
                asked.explain,
                Explanation,
                self.explain,
            ),
            ("/what-if", "Change a row", asked.what_if, Comparison, self.what_if),
            (
                "/smallest-change",
                "Find the smallest change that changes the answer",
                asked.smallest_change,
                SmallestChange,
                self.smallest_change,
            ),
        ):
            described = _described(kind, self._limits)
            post(path, summary=summary, response_model=answer, **described)(call)
        own = app.openapi

        def openapi() -> dict[str, Any]:
            made = own()
            for one in self._requests.all:
                _add_schema(made, one)
            return made

        app.openapi = openapi

    # -- what is asked without a body ------------------------------------------------------

    async def page(self) -> Response:
        """The form."""
        return Response(
            self._page.html,
            media_type="text/html",
            headers={"content-security-policy": self._page.policy},
        )

    async def model(self) -> Response:
        """The facts of the model."""
        return as_json(self.facts)

    async def health(self) -> Response:
        """Whether the server takes requests."""
        if self._counts.draining:
            raise BadRequestError("The server ends.", 503)
        return as_json({"status": "ok", "waiting": self._batcher.waiting})

    async def metrics(self) -> Response:
        """Counts so far."""
        return Response(
            self._counts.text(self._batcher.waiting), media_type="text/plain; version=0.0.4"
        )

    # -- what is asked with rows -----------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        """Predict rows."""
        asked = self._requests.parse(self._requests.predict, await request.body())
        rows = [self._requests.values(row) for row in asked.rows]
        self._rows.check(rows)
        self._check_level(asked.level)
        answers = await self._batcher.ask(rows, asked.level)
        self._counts.rows += len(rows)
        return as_json({"predictions": answers, "level": asked.level})

    async def explain(self, request: Request) -> Response:
        """The answer for a row, what moved it from that of a typical row, and who decided."""
        asked = self._requests.parse(self._requests.explain, await request.body())
        row = self._requests.values(asked.row)
        self._rows.check([row], "The row")
        self._check_level(asked.level)
        top = len(row) if asked.top is None else asked.top
        (answer,) = await self._explainer.ask([row], ("explain", asked.level, top))
        self._counts.rows += 1
        return as_json(answer)

    async def what_if(self, request: Request) -> Response:
        """The answers for a row before and after some of its values are changed."""
        asked = self._requests.parse(self._requests.what_if, await request.body())
        row = self._requests.values(asked.row)
        rows = [row, {**row, **self._requests.given(asked.changes)}]
        self._rows.check(rows, "The row")
        self._check_level(asked.level)
        before, after = await self._batcher.ask(rows, asked.level)
        self._counts.rows += 2
        return as_json({"before": before, "after": after})

    async def smallest_change(self, request: Request) -> Response:
        """The smallest change of one column or two, to values seen, that changes the answer."""
        asked = self._requests.parse(self._requests.smallest_change, await request.body())
        row = self._requests.values(asked.row)
        self._rows.check([row], "The row")
        for name in asked.fixed:
            if name not in row:
                raise BadRequestError(f"fixed: the model has no column {name[:100]!r}.")
        if not self._explanations.has_reasons:
            raise BadRequestError(
                "The model's file does not say which values are usual; fit the model again."
            )
        how = ("change", tuple(asked.fixed), self._wanted(asked.to))
        (answer,) = await self._explainer.ask([row], how)
        self._counts.rows += 1
        return as_json(answer)

    def _wanted(self, to: Any) -> Any:
        """The answer that is wanted, as the model has it."""
        classes = self._answers.classes
        if classes is None:
            if isinstance(to, bool | str | None):
                raise BadRequestError("to: give the number that the prediction is to reach.")
            return to
        if to is None:
            return None
        same = [label for label in classes if label == to or str(label) == str(to)]
        if not same:
            raise BadRequestError(f"to: {str(to)[:100]!r} is not a class of the model.")
        return same[0]

    def _check_level(self, level: float | None) -> None:
        if level is not None and not self._answers.knows_error:
            raise BadRequestError(
                "level: the model does not know how far off it is; leave level out, or fit the "
                "model again with --effort balanced."
            )


def as_json(content: Any, status: int = 200) -> Response:
    """An answer of plain values."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode(), status, media_type="application/json")


def _described(kind: type[BaseModel], limits: Limits) -> dict[str, Any]:
    """What FastAPI is told of an endpoint that reads its body itself."""
    reference = {"$ref": f"#/components/schemas/{kind.__name__}"}
    refusals = {
        408: "The body came too slowly.",
        413: f"The body is longer than {limits.bytes:,} bytes.",
        415: "The body is not JSON.",
        422: "Something is wrong with the values.",
        429: "Too many requests of one client.",
        503: "Too many requests of all clients, or too slow an answer.",
    }
    return {
        "openapi_extra": {
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": reference}},
            }
        },
        "responses": {
            status: {"description": text, "model": Failure} for status, text in refusals.items()
        },
    }


def _add_schema(document: dict[str, Any], kind: type[BaseModel]) -> None:
    schema = kind.model_json_schema(ref_template="#/components/schemas/{model}")
    parts = document.setdefault("components", {}).setdefault("schemas", {})
    parts.update(schema.pop("$defs", {}))
    parts[kind.__name__] = schema
