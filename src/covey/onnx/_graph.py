"""What covey's models are made of, as parts of an ONNX graph.

What is computed in single precision is first centred and scaled, as it was for training, and the
coefficients are those of scaled columns: a year such as 2024 keeps its digits.
"""

import numpy as np
import onnx
from skl2onnx.common.data_types import guess_proto_type

from covey.fusers import Gate, Majority, Mean, Median, Product
from covey.fusers._gate import GatedGroups

_RULES = "'gate', 'product', 'mean', 'median', 'majority' or a Gate"
# Since this version a softmax is along one axis, and sums take their axes as an input.
_OLDEST_OPSET = 13
# What a probability of zero counts as in products: see `Predictions.log`.
_VETO = float(np.log(np.finfo(np.float64).tiny))
# Products are no larger than this, or they would have no difference.
_LARGEST = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e200}


def check_fuser(fuser, who):
    """Refuse a fuser that has no graph; ``who`` begins the sentence."""
    if type(fuser) not in _RULE:
        raise ValueError(
            f"{who} is fused by {type(fuser).__name__}, which has no ONNX form; fuse by {_RULES}."
        )


def labels_of(classes, who="The model"):
    """Classes as ONNX can hold them: whole numbers or text."""
    listed = np.asarray(classes).tolist()
    if all(isinstance(label, str) for label in listed):
        return np.array(listed, dtype=object)
    try:
        whole = np.array([int(label) for label in listed], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        whole = None
    if whole is None or whole.tolist() != listed:
        raise ValueError(
            f"{who} has the classes {listed}; in ONNX labels are whole numbers or text."
        )
    return whole


class Graph:
    """Where nodes are added, each with one output that is named for it."""

    def __init__(self, scope, operator, container):
        if container.target_opset < _OLDEST_OPSET:
            raise RuntimeError(
                f"covey's graphs need opset {_OLDEST_OPSET} or newer, got "
                f"target_opset={container.target_opset}."
            )
        self.scope, self.operator, self.container = scope, operator, container
        self.mean = self.scale = None
        self._columns = {}
        double = guess_proto_type(operator.inputs[0].type) == onnx.TensorProto.DOUBLE
        self.dtype = np.dtype(np.float64 if double else np.float32)
        self._proto = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
        # Whole numbers are computed with like others.
        self.rows = self.cast(operator.inputs[0].full_name)

    def node(self, kind, *inputs, domain="", output=None, **attributes):
        """A node of constants (arrays) and of other nodes (their names)."""
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = self.scope.get_unique_variable_name(kind.lower()) if output is None else output
        self.container.add_node(
            kind,
            names,
            output,
            op_domain=domain,
            name=self.scope.get_unique_operator_name(kind),
            **attributes,
        )
        return output

    def constant(self, values):
        """An array as a part of the graph."""
        values = np.asarray(values)
        if values.dtype.kind == "f":
            proto, listed = self._proto, values.astype(self.dtype).ravel().tolist()
        elif values.dtype.kind == "O":
            proto, listed = onnx.TensorProto.STRING, [text.encode() for text in values.ravel()]
        else:
            proto, listed = onnx.TensorProto.INT64, values.astype(np.int64).ravel().tolist()
        name = self.scope.get_unique_variable_name("constant")
        self.container.add_initializer(name, proto, list(values.shape), listed)
        return name

    def columns(self, basis):
        """What a basis makes of the rows; made once for each."""
        if id(basis) not in self._columns:
            self._columns[id(basis)] = Columns(self, basis, self.mean, self.scale)
        return self._columns[id(basis)]

    def centred(self, values, mean, rise):
        """``(values - mean) * rise``, with all digits of the mean."""
        whole = np.asarray(mean, dtype=self.dtype).astype(np.float64)
        values = self.node("Sub", values, whole)
        if np.any(mean != whole):
            values = self.node("Sub", values, mean - whole)
        return self.node("Mul", values, rise)

    def cast(self, value):
        return self.node("Cast", value, to=self._proto)

    def total(self, values, axis, keep=False):
        return self.node("ReduceSum", values, np.array([axis]), keepdims=int(keep))

    def normalised(self, mass, fallback):
        """Rows divided by their sum; rows without any are those of ``fallback``."""
        total = self.total(mass, 1, keep=True)
        some = self.node("Greater", total, np.zeros(1))
        divisor = self.node("Where", some, total, np.ones(1))
        return self.node("Where", some, self.node("Div", mass, divisor), fallback)

    def answer(self, probabilities, classes):
        """The outputs: the most probable class, and the probabilities."""
        label, shown = (variable.full_name for variable in self.operator.outputs)
        self.node("Identity", probabilities, output=shown)
        # skl2onnx's option "nocl": classes are numbered, whatever they are called.
        numbered = self.scope.get_options(self.operator.raw_operator, {"nocl": False})["nocl"]
        classes = np.arange(len(classes)) if numbered else labels_of(classes)
        winner = self.node("ArgMax", probabilities, axis=1, keepdims=0)
        self.node("Gather", classes, winner, axis=0, output=label)


class Columns:
    """What members see of the rows, in units that single precision is good at.

    A column is ``factor`` times what is in the graph plus ``shift``, with both as the graph has
    them, rounded.
    """

    def __init__(self, graph, basis, mean=None, scale=None):
        n_features = basis.n_features
        mean = np.zeros(n_features) if mean is None else mean
        scale = np.ones(n_features) if scale is None else scale
        self._graph = graph
        center = np.asarray(mean, dtype=graph.dtype).astype(np.float64)
        width = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
        rise = (1.0 / width).astype(graph.dtype).astype(np.float64)
        width = 1.0 / rise
        centred = graph.centred(graph.rows, center, rise)
        parts = [(np.arange(n_features), centred, width, center)]
        ramps = np.flatnonzero(~np.isnan(basis.low))
        if len(ramps):
            of = basis.feature[ramps]
            low = (basis.low[ramps] - center[of]) / width[of]
            steep = width[of] / (basis.high[ramps] - basis.low[ramps])
            above = graph.node("Sub", graph.node("Gather", centred, of, axis=1), low)
            share = graph.node("Mul", above, steep)
            ramp = graph.node("Clip", share, np.array(0.0), np.array(1.0))
            parts.append((ramps, ramp, np.ones(len(of)), np.zeros(len(of))))
        pairs = np.flatnonzero(basis.partner >= 0)
        if len(pairs):
            parts.append((pairs, *self._products(basis, pairs, rise)))
        names = [name for _, name, _, _ in parts]
        self._name = names[0] if len(names) == 1 else graph.node("Concat", *names, axis=1)
        self._order = np.concatenate([places for places, _, _, _ in parts])
        self._factor = np.concatenate([factor for _, _, factor, _ in parts])
        self._shift = np.concatenate([shift for _, _, _, shift in parts])

    def _products(self, basis, pairs, rise):
        graph = self._graph
        inside = graph.rows
        if basis.seen is not None:
            inside = graph.node("Max", inside, basis.seen[0])
            inside = graph.node("Min", inside, basis.seen[1])
        scaled = graph.centred(inside, basis.center, rise)
        one, other = basis.feature[pairs], basis.partner[pairs]
        product = graph.node(
            "Mul",
            graph.node("Gather", scaled, one, axis=1),
            graph.node("Gather", scaled, other, axis=1),
        )
        if basis.seen is None:
            most = _LARGEST[graph.dtype]
            product = graph.node("Clip", product, np.array(-most), np.array(most))
        return product, 1.0 / (rise[one] * rise[other]), np.zeros(len(pairs))

    def linear(self, coef, intercept):
        """Linear functions of the columns, for coefficients (J, P) and intercepts (J,)."""
        coef = coef[:, self._order]
        return self._graph.node(
            "Gemm", self._name, (coef * self._factor).T, intercept + coef @ self._shift
        )


class Said:
    """What the members say: probabilities (n, K, C), and what is made of them."""

    def __init__(self, graph, values, logs=None, labels=None, seen=None, shape=None):
        self.graph, self.values, self._logs, self._labels = graph, values, logs, labels
        self.n_members, self.n_classes = shape
        self.seen = np.ones(shape, dtype=bool) if seen is None else seen

    def logs(self):
        if self._logs is None:
            graph = self.graph
            tiny = float(np.finfo(graph.dtype).tiny)
            some = graph.node("Greater", self.values, np.array([tiny]))
            above = graph.node("Max", self.values, np.array([tiny]))
            self._logs = graph.node("Where", some, graph.node("Log", above), np.array([_VETO]))
        return self._logs

    def votes(self):
        """Each member's decision as ones and zeros (n, K, C)."""
        graph = self.graph
        if self._labels is None:
            self._labels = graph.node("ArgMax", self.values, axis=2, keepdims=1)
        return graph.cast(graph.node("Equal", self._labels, np.arange(self.n_classes)))

    def weighted(self, values, weights):
        """``sum_k w_k values_k`` as (n, C), for weights (K,) or a node of them (n, K)."""
        graph = self.graph
        if isinstance(weights, str):
            weights = graph.node("Unsqueeze", weights, np.array([2]))
        else:
            weights = np.asarray(weights, dtype=float)[None, :, None]
        return graph.total(graph.node("Mul", values, weights), 1)

    def even(self):
        return np.full((1, self.n_classes), 1.0 / self.n_classes)

    def only(self, members, size):
        """Some of the members, as a slice."""
        graph = self.graph
        ends = (np.array([members.start]), np.array([members.stop]), np.array([1]))
        return Said(
            graph,
            graph.node("Slice", self.values, *ends),
            graph.node("Slice", self.logs(), *ends),
            shape=(size, self.n_classes),
        )


# -- fusion -------------------------------------------------------------------------------------


def fused_by(said, fuser):
    """Probabilities (n, C) by a fuser; each line is that of the fuser's own ``_fuse``."""
    check_fuser(fuser, "The model")
    return _RULE[type(fuser)](said, fuser)


def _pooled(said, gates, pool):
    if pool == "log":
        return said.graph.node("Softmax", said.weighted(said.logs(), gates), axis=1)
    return said.weighted(said.graph.node("Softmax", said.logs(), axis=2), gates)


def _by_groups(said, fuser):
    graph = said.graph
    logits = graph.columns(fuser.basis).linear(np.asarray(fuser.coef), np.asarray(fuser.intercept))
    groups = []
    for size, end, pool, weight in zip(
        fuser.sizes, np.cumsum(fuser.sizes), fuser.pools, fuser.weights, strict=True
    ):
        start = end - size
        ends = (np.array([start]), np.array([end]), np.array([1]))
        gates = graph.node("Softmax", graph.node("Slice", logits, *ends), axis=1)
        group = _pooled(said.only(slice(start, end), size), gates, pool)
        groups.append(graph.node("Mul", group, np.array([float(weight)])))
    return groups[0] if len(groups) == 1 else graph.node("Sum", *groups)


def _by_gate(said, fuser):
    """A gate sees standardised features, and their squares less one if it is quadratic."""
    graph, sees = said.graph, fuser._sees
    n_features = len(sees.mean)
    # A constant column is infinitely wide there: it is zero.
    rise = 1.0 / sees.scale
    scaled = graph.centred(graph.rows, sees.mean, rise)
    parts = [scaled]
    if sees.quadratic:
        if hasattr(sees, "square_mean"):  # learnt from sparse rows: not centred before
            square = graph.node("Mul", graph.rows, rise)
            square = graph.node("Mul", square, square)
            square = graph.node("Sub", square, sees.square_mean)
            parts.append(graph.node("Mul", square, 1.0 / sees.square_scale))
        else:
            square = graph.node("Mul", scaled, scaled)
            parts.append(graph.node("Sub", square, np.ones(n_features)))
    seen = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    logits = graph.node("Gemm", seen, fuser.coef_.T, fuser.intercept_)
    return _pooled(said, graph.node("Softmax", logits, axis=1), fuser.pool)


def _by_product(said, fuser):
    graph = said.graph
    weight = fuser.member_weights(said.n_members)[:, None] * said.seen
    total = weight.sum(axis=0)
    share = weight / np.where(total > 0, total, 1.0)
    logs = graph.total(graph.node("Mul", said.logs(), share[None]), 1)
    # Of a class that nobody has seen nobody speaks: it is ruled out.
    logs = graph.node("Add", logs, np.where(total > 0, 0.0, _VETO)[None])
    return graph.node("Softmax", logs, axis=1)


def _by_mean(said, fuser):
    mean = said.weighted(said.values, fuser.member_weights(said.n_members))
    return said.graph.normalised(mean, said.even())


def _by_median(said, fuser):
    graph = said.graph
    if said.seen.all():
        statistic = _middle(graph, said.values, said.n_members)
    else:
        classes = []
        for code, speaks in enumerate(said.seen.T):
            own = graph.node("Gather", said.values, np.array([code]), axis=2)
            own = graph.node("Gather", own, np.flatnonzero(speaks), axis=1)
            classes.append(_middle(graph, own, int(speaks.sum())))
        statistic = graph.node("Concat", *classes, axis=1)
    equal = np.full(said.n_members, 1.0 / said.n_members)
    mean = graph.normalised(said.weighted(said.values, equal), said.even())
    return graph.normalised(statistic, mean)


def _middle(graph, values, n_members):
    """The median over members (axis 1) of values (n, K, C), as (n, C)."""
    if not n_members:  # a class that nobody has seen
        return graph.total(values, 1)
    ordered = graph.scope.get_unique_variable_name("ordered")
    places = graph.scope.get_unique_variable_name("places")
    graph.container.add_node(
        "TopK",
        [values, graph.constant(np.array([n_members]))],
        [ordered, places],
        name=graph.scope.get_unique_operator_name("TopK"),
        axis=1,
    )
    low, high = (n_members - 1) // 2, n_members // 2
    middle = graph.node("Gather", ordered, np.array([low, high]), axis=1)
    return graph.node("Mul", graph.total(middle, 1), np.array([0.5]))


def _by_majority(said, fuser):
    weights = fuser.weights_ if fuser.learns else fuser.weights
    weights = np.ones(said.n_members) if weights is None else np.asarray(weights, dtype=float)
    votes = said.weighted(said.votes(), weights / weights.sum())
    return said.graph.normalised(votes, said.even())


_RULE = {
    GatedGroups: _by_groups,
    Gate: _by_gate,
    Product: _by_product,
    Mean: _by_mean,
    Median: _by_median,
    Majority: _by_majority,
}
