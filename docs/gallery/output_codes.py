"""What do more bits bring where many classes are told apart by binary classifiers?

Errors of single bits that can be corrected. Ten classes need four bits at least, and then every
wrong bit is a wrong class. With more bits code words lie farther apart, and a few wrong ones are
outvoted by the right ones, as long as the learners of the bits do not all err on the same rows.

Ten handwritten digits, told apart by trees of depth 4, each of which learns one bit of the code
words. A third of the rows are tested on, drawn anew for each seed. Codes of 4 to 60 bits have the
greatest distance that a search finds; one against all others and one against one are codes too.

With four bits a third of the digits are wrong, though a bit is wrong for one digit in seven only.
With 60 bits, which are no easier to learn, one digit in eighteen is wrong. One against all (10
bits) and one against one (45 bits) have 17 and 9 % wrong with the same trees.
"""

import numpy as np
from _style import BLUE, GRAY, HERE, INK, ORANGE, band, interval, label, panels, save, title
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from covey import CodeBookClassifier

BITS = (4, 6, 8, 12, 20, 40, 60)
USUAL = {"one_vs_all": "one against all, 10 bits", "one_vs_one": "one against one, 45 bits"}


def one_draw(seed, sizes):
    """Errors of the classes, of the bits and the distances of code words, for each code."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y)
    tree = DecisionTreeClassifier(max_depth=4, random_state=seed)
    found = {}
    for bits in sizes:
        model = CodeBookClassifier(tree, code="max_distance", n_bits=bits, random_state=seed)
        model.fit(X, y)
        book = model.code_book_
        apart = (book[:, None] != book[None]).sum(axis=2)
        bit_errors = [
            np.mean((learner.predict(X_test) > 0) != (book[y_test, bit] > 0))
            for bit, learner in enumerate(model.estimators_)
        ]
        found[bits] = (
            1 - model.score(X_test, y_test),
            np.mean(bit_errors),
            apart[np.triu_indices(10, 1)].min(),
        )
    for code in USUAL:
        model = CodeBookClassifier(tree, code=code, random_state=seed).fit(X, y)
        found[code] = (1 - model.score(X_test, y_test), np.nan, np.nan)
    return found


def draw(out, sizes, found):
    figure, (left, right) = panels(1, 2, size=(8.5, 3.6))
    classes, bits, apart = (
        interval([[one[size][term] for size in sizes] for one in found]) for term in range(3)
    )
    band(left, sizes, classes, BLUE, marker="o", ms=4)
    band(left, sizes, bits, GRAY, marker="o", ms=4)
    label(left, sizes[-1], classes.mean[-1], "class", BLUE)
    label(left, sizes[-1], bits.mean[-1], "bit", GRAY)
    for code, text in USUAL.items():
        value = interval([one[code][0] for one in found])
        n_bits = int(text.split()[-2])
        left.errorbar(n_bits, value.mean, value.half, fmt="s", color=ORANGE, ms=5, capsize=3)
        label(left, n_bits, value.mean, text, ORANGE, offset=(6, 8))
    left.set_ylim(0, None)
    left.set_xlim(0, 1.15 * sizes[-1])
    left.set_xlabel("bits of a code word")
    title(left, "share of test rows that are wrong")
    band(right, sizes, apart, INK, marker="o", ms=4)
    right.set_xlabel("bits of a code word")
    right.set_ylim(0, None)
    title(right, "smallest distance of two code words, bits")
    return save(figure, out, __file__)


def main(out=HERE, quick=False):
    sizes = (4, 12, 20) if quick else BITS
    found = [one_draw(seed, sizes) for seed in range(3 if quick else 6)]
    print(f"{'bits':<12}{'class wrong':<20}{'bit wrong':<20}smallest distance")
    for size in sizes:
        terms = [interval([one[size][term] for one in found]) for term in range(3)]
        print(f"{size:<12}{terms[0].text():<20}{terms[1].text():<20}{terms[2].text(1)}")
    for code in USUAL:
        print(f"{code:<12}{interval([one[code][0] for one in found]).text()}")
    draw(out, sizes, found)
    return {key: interval([one[key][0] for one in found]) for key in found[0]}


if __name__ == "__main__":
    main()
