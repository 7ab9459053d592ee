from covey import SubsetEnsembleClassifier
from covey.reporting import build_report


def test_bounds_of_votes_are_for_votes(wine, reports):
    X, X_new, y, y_new = wine
    vote = SubsetEnsembleClassifier(3, fuser="majority", max_iter=20, random_state=0).fit(X, y)
    assert "Vote, tandem" in build_report(vote, X_new, y_new).html
    assert "Vote, tandem" not in reports["product"].html
