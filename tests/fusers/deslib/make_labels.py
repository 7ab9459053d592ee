"""Makes labels.npz: what DESlib 0.3.7 decides on the problems of problems.py.

Beside the labels, for the later methods, the competences of the first rows. DESlib does not run on
current scikit-learn; this needs an environment of its own::

    python3 -m venv deslib-env
    deslib-env/bin/pip install deslib==0.3.7 scikit-learn==1.6.1 "numpy<2.3"
    deslib-env/bin/python tests/fusers/deslib/make_labels.py
"""

from pathlib import Path

import numpy as np
from deslib.dcs import LCA, MCB, MLA, OLA, APosteriori, APriori, Rank
from deslib.des import DESKNN, DESMI, DESP, KNOP, KNORAE, KNORAU, METADES, DESClustering
from deslib.des.probabilistic import DESKL, RRC, Exponential, Logarithmic, MinimumDifference
from deslib.static import StaticSelection
from problems import LOADERS, N_RATED, problem

METHODS = {
    "ola": OLA,
    "lca": LCA,
    "knora_e": KNORAE,
    "knora_u": KNORAU,
    "knop": KNOP,
    "des_p": DESP,
    "des_knn": DESKNN,
    "meta_des": METADES,
    "rank": Rank,
    "mla": MLA,
    "des_mi": DESMI,
}
# DESlib draws one of the members that are nearly as good as the best at random.
DRAWN = {"a_priori": APriori, "a_posteriori": APosteriori, "mcb": MCB}
# All known samples count.
POTENTIAL = {
    "rrc": RRC,
    "des_kl": DESKL,
    "exponential": Exponential,
    "logarithmic": Logarithmic,
    "minimum_difference": MinimumDifference,
}
RATED = ("rank", "mla", "des_mi", *DRAWN, *POTENTIAL)


def main():
    kept = {}
    for name in LOADERS:
        pool, known, (X_test, _) = problem(name)
        models = {method: make(pool, k=7) for method, make in METHODS.items()}
        models |= {method: make(pool, k=7, random_state=0) for method, make in DRAWN.items()}
        models |= {
            f"{method}-all": make(pool, k=7, selection_method="all")
            for method, make in DRAWN.items()
        }
        models |= {method: make(pool) for method, make in POTENTIAL.items()}
        models["des_clustering"] = DESClustering(pool, random_state=0)
        models["static_selection"] = StaticSelection(pool)
        for method, model in models.items():
            kept[f"{name}-{method}"] = model.fit(*known).predict(X_test).astype(np.int8)
        kept[f"{name}-des_clustering-centers"] = models[
            "des_clustering"
        ].clustering_.cluster_centers_
        rows = X_test[:N_RATED]
        decided = np.stack([member.predict(rows) for member in pool], axis=1)
        for method in RATED:
            distances, region = models[method].get_competence_region(rows)
            rated = models[method].estimate_competence(
                region, distances=distances, predictions=decided
            )
            if method == "des_mi":  # too small for float32, and only their order counts
                rated = rated / rated.max(axis=1, keepdims=True)
            kept[f"{name}-{method}-competence"] = np.asarray(rated, dtype=np.float32)
    path = Path(__file__).with_name("labels.npz")
    np.savez_compressed(path, **kept)
    print(f"wrote {path}: {len(kept)} arrays")


if __name__ == "__main__":
    main()
