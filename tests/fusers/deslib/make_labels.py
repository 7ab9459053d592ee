"""Makes labels.npz: what DESlib 0.3.7 decides on the problems of problems.py.

DESlib does not run on current scikit-learn; this needs an environment of its own::

    python3 -m venv deslib-env
    deslib-env/bin/pip install deslib==0.3.7 scikit-learn==1.6.1 "numpy<2.3"
    deslib-env/bin/python tests/fusers/deslib/make_labels.py
"""

from pathlib import Path

import numpy as np
from deslib.dcs.lca import LCA
from deslib.dcs.ola import OLA
from deslib.des.des_knn import DESKNN
from deslib.des.des_p import DESP
from deslib.des.knop import KNOP
from deslib.des.knora_e import KNORAE
from deslib.des.knora_u import KNORAU
from deslib.des.meta_des import METADES
from problems import LOADERS, problem

METHODS = {
    "ola": OLA,
    "lca": LCA,
    "knora_e": KNORAE,
    "knora_u": KNORAU,
    "knop": KNOP,
    "des_p": DESP,
    "des_knn": DESKNN,
    "meta_des": METADES,
}


def main():
    labels = {}
    for name in LOADERS:
        pool, known, (X_test, _) = problem(name)
        for method, make in METHODS.items():
            labels[f"{name}-{method}"] = (
                make(pool, k=7).fit(*known).predict(X_test).astype(np.int8)
            )
    path = Path(__file__).with_name("labels.npz")
    np.savez_compressed(path, **labels)
    print(f"wrote {path}: {len(labels)} sets of labels")


if __name__ == "__main__":
    main()
