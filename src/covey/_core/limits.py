"""Limits beyond which floating point overflows, and differences that count as none."""

#: Numbers beyond this are refused, or clipped to it: a few of them can still be added up.
LARGEST = 1e200
#: Numbers up to this can be squared, and added up.
SQUARABLE = 1e150
#: Coefficients and distances up to this leave room for products with the numbers of a table.
FAR = 1e100
#: Smaller divisors than this count as this.
TINY = 1e-300
#: Weighted accuracies, sums of weights and losses that are closer than this share are equal.
TIE = 1e-12
