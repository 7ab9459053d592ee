import re

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline

from covey import SubsetEnsembleClassifier
from covey.reporting import build_report


def test_health_is_found_in_the_rows_where_none_is_given(wine, product):
    pd = pytest.importorskip("pandas")
    X, X_new, y, y_new = wine
    odd = X_new.copy()
    odd["words"] = [f"word {row}" for row in range(len(odd))]
    odd["nothing"] = pd.array([pd.NA] * len(odd), dtype="Int64")
    odd["some"] = np.where(np.arange(len(odd)) < 3, np.nan, 1.0)
    odd["twin"] = np.where(np.arange(len(odd)) % 2, "a", "b")
    model = make_pipeline(
        make_column_transformer(("passthrough", list(X.columns))),
        SubsetEnsembleClassifier(2, fuser="product", random_state=0),
    ).fit(X, y)
    html = build_report(model, odd, y_new).html
    section = html[html.index('id="health"') : html.index('id="accuracy"')]
    rows = {
        row[0]: row[1:]
        for row in (
            re.findall(r"<t[hd][^>]*>(?:<span[^>]*>)?([^<]*)", part)
            for part in section.split("<tr>")[2:]
        )
    }
    assert rows["words"] == ["text", "0", "word 0", "it names the rows (every value is different)"]
    assert rows["nothing"] == ["empty", str(len(odd)), "\u2013", "it is empty"]
    assert rows["some"] == ["number", "3", "always 1", "the same everywhere"]
    assert rows["twin"][:2] == ["one of two", "0"]
    assert rows["alcohol"][:2] == ["number", "0"]


def test_sparse_rows(wine):
    from scipy import sparse

    X, X_new, y, y_new = wine
    flock = SubsetEnsembleClassifier(2, fuser="product", random_state=0)
    flock.fit(sparse.csr_matrix(X.to_numpy()), y)
    dense = build_report(flock, X_new.to_numpy(), y_new)
    thin = build_report(flock, sparse.csr_matrix(X_new.to_numpy()), y_new)
    assert "number, sparse" in thin.html
    cut = slice(thin.html.index('id="accuracy"'), thin.html.index('id="members"'))
    assert thin.html[cut] in dense.html


def test_health_is_shown_as_given(wine, product):
    _, X, _, y = wine
    given = [{"column": "hue", "kind": "number", "missing": 0.25, "note": "odd"}]
    html = build_report(product, X, y, data_health=given).html
    assert "25\u00a0%" in html
    assert "odd" in html
