import numpy as np


def test_features_that_meet_most_often_are_named(wine, product, reports):
    together = np.zeros((13, 13))
    for support in product.support_:
        for i in np.flatnonzero(support):
            for j in np.flatnonzero(support):
                together[i, j] += 1 / len(product.support_)
    names = product.feature_names_in_
    i, j = 0, 12
    share = f"{100 * together[i, j]:.3g}"
    assert f"{names[i]} and {names[j]}: {share}\u00a0% keep both" in reports["product"].html
