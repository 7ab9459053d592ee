"""Answers as the description of the endpoints has them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Failure(BaseModel):
    """Why a request was refused."""

    error: str = Field(description="One sentence.")


class Health(BaseModel):
    """Whether the server answers."""

    status: str
    waiting: int = Field(description="Rows that wait for an answer.")


class Prediction(BaseModel):
    """The answer for one row."""

    prediction: Any = Field(description="A class, or a number.")
    probability: float | None = Field(None, description="Of the predicted class.")
    words: str | None = Field(None, description="The same in plain words.")
    probabilities: dict[str, float] | None = Field(None, description="Of each class.")
    set: list[Any] | None = Field(
        None, description="With level: the classes that hold the true one so often."
    )
    low: float | None = Field(None, description="With level: the lower bound of a number.")
    high: float | None = Field(None, description="With level: the upper bound.")
    remarks: list[str] = Field(description="Values that the model has not seen before.")


class Predictions(BaseModel):
    """The answers for all rows of a request, in their order."""

    predictions: list[Prediction]
    level: float | None


class Reason(BaseModel):
    """A column that moves the answer."""

    column: str
    value: Any = Field(description="Of the row; null if it is not known.")
    typical: Any = Field(description="Of the rows that the model was fitted on.")
    push: float = Field(
        description="By how much it moves the probability of the predicted class, or the number."
    )


class Member(BaseModel):
    """A member of the flock, as it counts for the row."""

    name: str
    weight: float
    prediction: Any
    probability: float | None


class Explanation(BaseModel):
    """The answer for a row, and why."""

    answer: Prediction
    baseline: float | None = Field(
        description="The same probability, or number, for a typical row; null if the model's "
        "file does not say what is typical. Baseline, all pushes and `other` sum to the answer."
    )
    because: list[Reason] = Field(description="What speaks for the answer, the strongest first.")
    against: list[Reason] = Field(description="What speaks against it.")
    other: float | None = Field(description="What all other columns add.")
    members: list[Member] = Field(description="Who decided, the most important first.")
    n_members: int = Field(description="How many members have a weight for this row.")


class Comparison(BaseModel):
    """The answers before and after changes."""

    before: Prediction
    after: Prediction


class Change(BaseModel):
    """A column that is to change."""

    column: str
    value: Any = Field(description="Of the row.")
    to: Any


class SmallestChange(BaseModel):
    """The smallest change of one column or two that changes the answer."""

    changes: list[Change] | None = Field(description="Null if there is none.")
    prediction: Any = Field(description="After the change.")
    probability: float | None
    sentence: str
