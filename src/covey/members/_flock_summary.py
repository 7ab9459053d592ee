"""A fitted flock on one screen: its members, what they look at, and when they are asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby, islice
from typing import Any

import numpy as np

from covey._core.basis import Basis
from covey._number_words import counted, listed
from covey._plain_words import shortened
from covey.fusers import Gate
from covey.fusers._gate import GatedGroups
from covey.inspection._importance import Importance

WIDTH, HEIGHT = 100, 24
# The lengths that names may have: shorter ones are tried where a line would be too long.
_NAME_LENGTHS = (30, 22, 16, 12)
# How many features of a member are named, and how many conditions of a gate.
_MOST_FEATURES = 3
_MOST_CONDITIONS = 2
_LONGEST_CONDITION = 76
# A column is named if it has at least this share in all that is lost without columns.
_LEAST_NEEDED = 0.02
# A second condition is named if it moves the gate by this share of what the first one does.
_LEAST_SHARE = 1 / 3
# The number of deviations from its mean to which a feature without ramps is followed.
_REACH = 2.0
# An output bends with a feature if less than this share of its ups and downs remains at the end.
_LEAST_NET = 0.5
# How many times more a feature must speak against a class than for any other, to be told so.
_CLEARLY = 1.5
# How far the logarithm of a member's weight must move with one deviation of the gate's input to be
# mentioned, and to be called "mostly": its weight is then about e times as large at one deviation
# above the mean as at one below.
_LEAST_ROUTING = 0.1
_MUCH_ROUTING = 0.5


class Summary(str):
    """Text that consoles and notebooks show as it is, line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self)}</pre>"


@dataclass(frozen=True)
class Effect:
    """The change of outputs, C of them, with one feature, or with a product of two."""

    features: tuple[str, ...]
    size: float  # how far one deviation of its columns moves an output, on average
    rise: np.ndarray  # (C,), by how much outputs are higher at the high end
    bends: bool
    peaks: bool  # whether the first output is higher in between than at the ends

    def name(self, longest: int) -> str:
        """Return the feature's name, or those of both, each of at most this many characters."""
        return " x ".join(shortened(one, longest) for one in self.features)


class ColumnEffects:
    """The columns of a basis in terms of features: ramps and squares of each as one."""

    def __init__(
        self,
        scaled: tuple[Basis, np.ndarray, np.ndarray],
        names: list[str],
        made_of: np.ndarray | None = None,
    ) -> None:
        (basis, self._mean, self._scale), self._names = scaled, names
        self._basis = basis
        partner = np.where(basis.partner >= 0, basis.partner, basis.feature)
        of = np.arange(basis.n_features) if made_of is None else made_of
        # The columns of one feature have one key, and so has each product of two.
        key = of[basis.feature].astype(np.int64) * basis.n_features + of[partner]
        self._keys, self._key_of = np.unique(key, return_inverse=True)

    def strongest(self, coef: np.ndarray) -> Iterator[Effect]:
        """Yield the effects of coefficients (C, P) that are not zero, the strongest first."""
        columns = np.abs(coef * self._scale).mean(axis=0)
        sizes = np.bincount(self._key_of, weights=columns, minlength=len(self._keys))
        for position in np.argsort(-sizes, kind="stable"):
            if sizes[position] == 0:
                return
            own = np.flatnonzero(self._key_of == position)
            # Of the columns that are made of one variable, the strongest is named.
            yield self._effect(int(own[columns[own].argmax()]), own, float(sizes[position]), coef)

    def _effect(self, column: int, own: np.ndarray, size: float, coef: np.ndarray) -> Effect:
        one, other = int(self._basis.feature[column]), int(self._basis.partner[column])
        if other not in (one, -1):
            both = self._names[one], self._names[other]
            return Effect(both, size, coef[:, column], bends=False, peaks=False)
        own = own[self._basis.feature[own] == one]
        curve = self._curve(one, own, coef)
        rise, ups_and_downs = curve[:, -1] - curve[:, 0], np.abs(np.diff(curve)).sum(axis=1)
        most = ups_and_downs.argmax()
        bends = bool(abs(rise[most]) < _LEAST_NET * ups_and_downs[most])
        between = curve[0, 1:-1] if curve.shape[1] > 2 else curve[0]
        peaks = bool(between.mean() > (curve[0, 0] + curve[0, -1]) / 2)
        return Effect((self._names[one],), size, rise, bends, peaks)

    def _curve(self, feature: int, own: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return what the columns of one feature add to outputs (C, n) along its values."""
        basis = self._basis
        ramps = own[~np.isnan(basis.low[own])]
        if len(ramps):
            values = np.unique(np.concatenate([basis.low[ramps], basis.high[ramps]]))
        else:
            values = self._mean[feature] + np.linspace(-_REACH, _REACH, 9) * self._scale[feature]
        rows = np.repeat(basis.center[:, None], len(values), axis=1)
        rows[feature] = values
        curve: np.ndarray = coef[:, own] @ basis.expand(rows)[own]
        return curve


def flock_summary(
    model: Any,
    called: str | None = None,
    importance: Importance | None = None,
    width: int = WIDTH,
    height: int = HEIGHT,
    remarks: Sequence[str] = (),
) -> Summary:
    """Describe the members' features and conditions, in at most this many lines and characters.

    The first line says what the model is ``called``, the second which columns are needed most;
    then there are ``remarks``.
    """
    table, weights, target = model.table, _weights(model), model.target
    names, made_of = table.columns, None if table.preparation is None else table.column_of
    effects = ColumnEffects(model.scaled_basis, names, made_of)
    contrast, asked = model.contrast(), _conditions(model, names, made_of)
    shown: dict[int, list[str]] = {}
    said = (_in_width(line, width) for line in (*corrected(model), *remarks))
    needs = [*needed_most(importance), *said]
    room = height - 2 - len(needs)
    for k in np.argsort(-weights, kind="stable"):
        moving = list(islice(effects.strongest(contrast[k]), _MOST_FEATURES + 1))
        head = f"{k + 1:>{len(str(len(weights)))}}  {100 * weights[k]:3.0f} %  "
        n_used = counted(int(model.support[k].sum()), "feature")
        lines = _member_lines(head, target, n_used, moving, asked[k], width)
        room -= len(lines)
        # One line is for the members that do not fit on the screen.
        if room < (len(shown) + 1 < len(weights)):
            break
        shown[int(k)] = lines
    what = "what y does" if target.is_numeric else "which class gains"
    legend = f"member, weight, features ({what} with more of each), where it is asked:"
    text = [f"{called or type(model).__name__}: {_counts(model)}", *needs, legend]
    text += [line for k in sorted(shown) for line in shown[k]]
    if len(shown) < len(weights):
        rest = 100 * (1 - weights[list(shown)].sum() / weights.sum())
        left_out = counted(len(weights) - len(shown), "more member")
        text.append(f"and {left_out}, with {rest:.0f} % of the weight together")
    return Summary("\n".join(text))


def needed_most(found: Importance | None) -> list[str]:
    """Return a line about the columns without which the most is lost; none if that is unknown."""
    ranked = [] if found is None else [one for one in found.ranked() if one[1] >= _LEAST_NEEDED]
    if not ranked:
        return []
    for longest in _NAME_LENGTHS:
        names = [
            f"{listed((shortened(name, longest) for name in one[:_MOST_FEATURES]), 'or')} "
            f"({100 * share:.0f} %)"
            for one, share in ranked[:_MOST_FEATURES]
        ]
        line = f"needs most: {', '.join(names)}"
        if len(line) <= WIDTH:
            break
    return [_in_width(line, WIDTH)]


def _in_width(line: str, width: int) -> str:
    """Return a line, cut off where it is too long."""
    return line if len(line) <= width else f"{line[: width - 1]}…"


def corrected(model: Any) -> list[str]:
    """Return a line about the corrections of a model; none if there are none."""
    line = f"corrected: {'; '.join(one.said.partition('. ')[0] for one in model.corrections)}"
    return [_in_width(line, WIDTH)] if model.corrections else []


def _weights(model: Any) -> np.ndarray:
    """Return the mean importance (K,) of each member; equal ones where a fuser's is unknown."""
    if hasattr(model.fuser, "member_weights"):
        weights = model.fuser.member_weights(model.n_members)
        return np.asarray(weights / weights.sum())
    return np.asarray(model.shares)


def _member_lines(
    head: str, target: Any, n_features: str, moving: list[Effect], asked: str, width: int
) -> list[str]:
    """Describe a member in one line, or in two if there is much to say."""
    if not moving:
        return [f"{head}predicts the same for every row; asked {asked}"]
    for longest in _NAME_LENGTHS:
        words = _in_words(target, moving[:_MOST_FEATURES], longest)
        more = ", ..." if len(moving) > _MOST_FEATURES else ""
        line = f"{head}{n_features}: {words}{more}"
        if len(line) < width:
            break
    when = f"asked {asked}"
    if len(line) + len(when) + 2 <= width:
        return [f"{line}; {when}"]
    line = line if len(line) < width else f"{line[: width - 2]}…"
    return [f"{line};", " " * len(head) + when]


def _counts(model: Any) -> str:
    """Return how much there is to read."""
    used = model.support.any(axis=0)
    if hasattr(model, "n_terms"):
        n_terms, used = model.n_terms, used | model.gate_support.any(axis=0)
        groups = f" in {counted(len(model.group_weights), 'group')}"
    else:
        n_terms, groups = int(model.support.sum()), ""
        if model.table.preparation is not None:
            n_terms = int((model.coef != 0).any(axis=1).sum())
        if isinstance(model.fuser, Gate):
            n_terms += int(model.fuser.coef_.any(axis=0).sum())
    return (
        f"{counted(model.n_members, 'member')}{groups}, {counted(n_terms, 'term')}, "
        f"{int(used.sum())} of {counted(len(used), 'feature')}"
    )


def _in_words(target: Any, effects: list[Effect], longest: int) -> str:
    """Describe features and their effects, those with the same effect together."""
    parts = []
    for direction, same in groupby(effects, lambda effect: _direction(target, effect)):
        parts.append(direction.format(listed(effect.name(longest) for effect in same)))
    return ", ".join(parts)


def _direction(target: Any, effect: Effect) -> str:
    """Return what more of a feature does to a prediction, with a place for its name."""
    if effect.bends:
        return "bends with {}"
    if target.is_numeric:
        return "rises with {}" if effect.rise[0] > 0 else "falls with {}"
    highest, lowest = effect.rise.argmax(), effect.rise.argmin()
    # With three classes a feature may speak against one, and say nothing about the others.
    against = len(effect.rise) > 2 and -effect.rise[lowest] > _CLEARLY * effect.rise[highest]
    label = shortened(str(target.classes[lowest if against else highest]), _NAME_LENGTHS[1])
    label = label.replace("{", "{{").replace("}", "}}")
    return f"{{}} {'against' if against else 'for'} {label}"


def _conditions(model: Any, names: list[str], made_of: np.ndarray | None) -> list[str]:
    """Return in words when each member is asked."""
    fuser = model.fuser
    if isinstance(fuser, GatedGroups):
        groups = np.repeat(np.arange(len(fuser.sizes)), fuser.sizes)
        scaled, coef = model.scaled_basis, fuser.coef
    elif isinstance(fuser, Gate):
        groups = np.zeros(model.n_members, dtype=int)
        scaled, coef = _standardized(fuser, model.basis.n_features)
    else:
        rule = f"as {fuser.title} decides" if fuser.learns else "everywhere"
        return [rule] * model.n_members
    effects = ColumnEffects(scaled, names, made_of)
    found = []
    for k, group in enumerate(groups):
        together = groups == group
        share = model.shares[together]
        # The gradient of the logarithm of a softmax, at the mean weights.
        routing = coef[k] - share @ coef[together] / share.sum()
        found.append(_condition(effects, routing, scaled[2]))
    return found


def _standardized(gate: Gate, n_features: int) -> tuple[tuple[Basis, Any, Any], np.ndarray]:
    """Return a gate's input, its moments, and the gate's coefficients of it.

    Standardized features have a mean of zero and a deviation of one; so have their squares.
    """
    own = np.arange(n_features)
    nothing, none = np.full(gate.coef_.shape[1], np.nan), np.full(n_features, -1)
    squares = own[: gate.coef_.shape[1] - n_features]
    features, partners = np.concatenate([own, squares]), np.concatenate([none, squares])
    basis = Basis(n_features, features, partners, nothing, nothing, np.zeros(n_features))
    return (basis, np.zeros(len(features)), np.ones(len(features))), gate.coef_


def _condition(effects: ColumnEffects, routing: np.ndarray, scale: np.ndarray) -> str:
    """Return where a gate gives a member more than its mean weight, in words."""
    spread = float(np.sqrt(np.sum((routing * scale) ** 2)))
    if not spread:
        return "everywhere"
    if spread < _LEAST_ROUTING:
        return "about everywhere"
    chosen: list[Effect] = []
    for effect in islice(effects.strongest(routing[None]), _MOST_CONDITIONS):
        if not chosen or effect.size >= _LEAST_SHARE * chosen[0].size:
            chosen.append(effect)
    how_much = "mostly" if spread >= _MUCH_ROUTING else "slightly more"
    for longest in _NAME_LENGTHS:
        text = f"{how_much} where {_where(chosen, longest)}"
        if len(text) <= _LONGEST_CONDITION:
            break
    return text


def _where(effects: list[Effect], longest: int) -> str:
    """Return conditions in words: where the first output is high."""
    levels = []
    for effect in effects:
        if effect.bends:
            levels.append("medium" if effect.peaks else "extreme")
        else:
            levels.append("high" if effect.rise[0] > 0 else "low")
    names = [effect.name(longest) for effect in effects]
    if len(names) == 2 and levels[0] == levels[1]:
        return f"{names[0]} and {names[1]} are {levels[0]}"
    return " and ".join(f"{name} is {level}" for name, level in zip(names, levels, strict=True))
