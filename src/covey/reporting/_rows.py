"""Sections about single rows, and about how to use the model."""

import numpy as np

from covey._blocks import take_rows
from covey.members import SubsetEnsembleClassifier
from covey.reporting._charts import Bar, bars
from covey.reporting._markup import fill, joined, tag
from covey.reporting._parts import Section, lead
from covey.reporting._svg import described, room_for
from covey.reporting._words import name, number, one_line, percent, shortened, strong

_MOST_ASKED = 3
_MOST_BECAUSE = 4


# -- single rows -----------------------------------------------------------------------------


def explained(facts):
    """A few rows: who was asked about them, and what those said and why."""
    chosen = _telling_rows(facts)
    rows = take_rows(facts.asked.seen, np.array([row for row, _ in chosen]))
    if isinstance(facts.flock, SubsetEnsembleClassifier):
        records = _renamed(facts, facts.flock.explain(rows, top=_MOST_BECAUSE))
    else:
        records = _plain_records(facts, rows)
    values = [_values_of(facts, rows, place) for place in range(len(chosen))]
    for record, known in zip(records, values, strict=True):
        for member in record["members"]:
            member["because"] = [
                (f"{column} = {known[column]}" if column in known else column, push)
                for column, push in member["because"]
            ]
    reasons = [column for r in records for m in r["members"] for column, _ in m["because"]]
    left = room_for(reasons, 206) + 10
    cards = joined(
        _row_card(facts, row, why, record, left)
        for (row, why), record in zip(chosen, records, strict=True)
    )
    said = lead(
        "Some rows that tell most: where the model is surest and right, where it is in doubt, and "
        "where it is surest and wrong."
    )
    body = joined([said, tag("div", cards, class_="cards two")])
    return Section("rows", "Single rows", "Single rows, explained", body)


def _telling_rows(facts):
    """Positions of rows with why they are shown, each row once."""
    sure = facts.probabilities.max(axis=1)
    right, wrong = np.flatnonzero(facts.right), np.flatnonzero(~facts.right)
    wanted = [
        ("surest and wrong", wrong[np.argsort(-sure[wrong], kind="stable")][:2]),
        ("most in doubt", np.argsort(sure, kind="stable")[:2]),
        ("surest and right", right[np.argsort(-sure[right], kind="stable")][:2]),
    ]
    chosen = {}
    for why, rows in wanted:
        for row in rows:
            chosen.setdefault(int(row), why)
    return list(chosen.items())


def _renamed(facts, records):
    """Records with the names of the report; a flock in a pipeline may know none."""
    known = facts.flock.estimators_[0].column_names()
    wanted = dict(zip(known, facts.flock.basis_.names(facts.features), strict=True))
    for record in records:
        for member in record["members"]:
            member["because"] = [(wanted[column], push) for column, push in member["because"]]
    return records


def _plain_records(facts, rows):
    """What ``explain`` gives, for flocks whose members have no reasons to show."""
    P = facts.flock._predictions(facts.flock._check_rows(rows))
    importance = facts.flock.explain_fusion(rows)
    fused = facts.flock.predict_proba(rows)
    records = []
    for row in range(len(fused)):
        order = np.argsort(-np.round(importance[row], 12), kind="stable")
        records.append(
            {
                "code": int(fused[row].argmax()),
                "probability": float(fused[row].max()),
                "members": [
                    {
                        "member": int(k) + 1,
                        "weight": float(importance[row, k]),
                        "code": int(P.labels[row, k]),
                        "probability": (
                            float(P.values[row, k, P.labels[row, k]])
                            if P.kind == "probability"
                            else None
                        ),
                        "because": [],
                    }
                    for k in order
                    if importance[row, k] > 0.01
                ],
            }
        )
    return records


def _row_card(facts, row, why, record, left):
    position = {label: code for code, label in enumerate(facts.flock.classes_.tolist())}

    def said_by(entry):
        code = entry["code"] if "code" in entry else position[entry["prediction"]]
        return facts.classes[code]

    truth = facts.classes[facts.codes[row]]
    right = bool(facts.right[row])
    verdict = (
        fill("says {}, {}; rightly", strong(name(said_by(record))), percent(record["probability"]))
        if right
        else fill(
            "says {}, {}; but it is {}",
            strong(name(said_by(record))),
            percent(record["probability"]),
            strong(name(truth)),
        )
    )
    parts = [
        tag("h3", f"Row {row}", tag("span", why, class_="kind")),
        tag("p", verdict, class_="verdict" if right else "verdict wrong"),
    ]
    for place, member in enumerate(record["members"][:_MOST_ASKED]):
        parts.append(_asked_member(facts, row, place, member, said_by(member), left))
    n_more = len(record["members"]) - _MOST_ASKED
    if n_more > 0:
        parts.append(tag("p", f"and {n_more} more with less to say", class_="note"))
    return tag("article", *parts, class_="card")


def _asked_member(facts, row, place, member, label, left):
    who = facts.names[member["member"] - 1]
    sure = "" if member["probability"] is None else fill(", {}", percent(member["probability"]))
    line = tag(
        "p",
        tag("span", fill("{}: {}{}", name(who), strong(name(label)), sure)),
        tag("span", fill("{} of the say", percent(member["weight"])), class_="kind"),
        class_="asked",
    )
    if not member["because"]:
        return line
    items = [Bar(column, push) for column, push in member["because"]]
    drawing = bars(
        f"row-{row}-{place}",
        items,
        width=380,
        left=left,
        title=f"What moved {who} on row {row}",
        description=described((item.name, number(item.value)) for item in items),
    )
    return joined([line, drawing])


def _values_of(facts, rows, place):
    """The row's features, as readers want them."""
    one = take_rows(rows, np.array([place]))
    one = one.toarray() if hasattr(one, "toarray") else np.asarray(one)
    shown = {}
    for feature, value in zip(facts.features, one[0].tolist(), strict=True):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        shown[feature] = number(value) if is_number else shortened(str(value), 14)
    return shown


# -- how to use it ---------------------------------------------------------------------------


def usage(facts):
    """Lines of code that do what this page does."""
    flock = facts.flock
    piped = facts.asked.model is not flock
    columns = getattr(facts.asked.rows, "columns", None)
    if columns is None:
        table_ = f"X_new with {facts.asked.rows.shape[1]} columns"
    else:
        some = [repr(one_line(c)) for c in list(columns)[:3]]
        more = ", ..." if len(columns) > 3 else ""
        table_ = f"X_new with the columns {', '.join(some)}{more}"
    lines = [
        "import joblib",
        "",
        'joblib.dump(model, "model.joblib")    # the model that this page is about',
        'model = joblib.load("model.joblib")   # load only files that you trust',
        "",
        f"# {table_}",
        "labels = model.predict(X_new)",
        "probabilities = model.predict_proba(X_new)   # columns: model.classes_",
    ]
    if not piped:
        if hasattr(flock, "explain"):
            lines.append(
                "reasons = model.explain(X_new)   # who decided, and which features moved them"
            )
        lines.append("say = model.explain_fusion(X_new)   # how much each member had to say")
    lines += [
        "",
        "from covey.reporting import build_report",
        "",
        'build_report(model, X_test, y_test).save("report.html")   # this page, for other rows',
    ]
    said = lead(
        "The model is a scikit-learn estimator: it is saved, loaded and asked like others."
    )
    body = joined([said, tag("pre", tag("code", "\n".join(lines)), tabindex="0")])
    return Section("use", "How to use it", "How to use the model", body)
