"""What the form knows of columns."""

from covey.serving._fields import fields_of
from tests.serving.conftest import NASTY, QUOTES


def test_kinds_and_categories_come_from_the_model(model, table):
    fields = {one.name: one for one in fields_of(model)}
    assert list(fields) == list(table.columns)
    assert [one.kind for one in fields.values()] == [
        "number", "number", "category", "category", "date",
    ]  # fmt: skip
    assert fields[QUOTES].categories == ["<b>bold</b>", "plain", "東京"]
    assert fields["age"].gaps
    assert not fields[NASTY].gaps
    assert not fields["seen on"].clock


def test_typical_values_are_values_that_a_row_may_have(model, table):
    fields = {one.name: one for one in fields_of(model)}
    assert 30 < fields["age"].typical < 80
    assert "2021-01-01" < fields["seen on"].typical < "2021-12-31"


def test_shares_are_those_of_the_model(model):
    shares = [one.share for one in fields_of(model)]
    assert shares == model.feature_importances_.tolist()


def test_what_the_model_does_not_look_at_is_known(model, table):
    used = {one.name for one in fields_of(model) if one.used}
    for name in table.columns:
        changed = table.assign(**{name: table[name].sample(frac=1, random_state=0).to_numpy()})
        same = (model.predict_proba(changed) == model.predict_proba(table)).all()
        assert same == (name not in used)


def test_a_model_without_importances_has_a_form_too(table):
    from sklearn.neighbors import KNeighborsClassifier

    from covey.tables import TableClassifier

    fitted = TableClassifier(KNeighborsClassifier()).fit(table, [0, 1] * (len(table) // 2))
    assert {one.share for one in fields_of(fitted)} == {None}
