"""Quantities: what is read, what is refused, how it rounds."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import QuantityError
from mooring.model.quantity import (
    MAX_INT64,
    NANOS_PER_MILLI,
    format_quantity,
    nanos,
    parse_quantity,
    round_up,
    whole,
)

DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


def milli(text: str) -> int:
    """As requests of cpu are counted."""
    return round_up(nanos(text), NANOS_PER_MILLI)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("00", 0),
        ("007", 7),
        ("500m", Fraction(1, 2)),
        ("1n", Fraction(1, 10**9)),
        ("3u", Fraction(3, 10**6)),
        (".5", Fraction(1, 2)),
        ("1.", 1),
        ("1.5Gi", 3 * 2**29),
        ("0.1Ki", Fraction(512, 5)),
        ("+2k", 2000),
        ("-2", -2),
        ("1E", 10**18),
        ("1E3", 1000),
        ("1e3", 1000),
        ("1e+3", 1000),
        ("15e-1", Fraction(3, 2)),
        ("1.5e3", 1500),
        (" 4 ", 4),
        (3, 3),
        (-3, -3),
        (0.1, Fraction(1, 10)),
        (1e-07, Fraction(1, 10**7)),
        (1e22, MAX_INT64),
        ("1Ei", 2**60),
    ],
)
def test_reads(text: str | float, value: Fraction | int) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "nonsense",
    [
        "", " ", ".", "+", "-", "Ki", "m", "1.2.3", "12 apples", "1e", "1e+", "1Kii", "1K", "1ki", "1mi",
        "1i", "1GB", "0x10", "1_000", "1,5", "1 Gi", "--1", "1+1", "1e3Ki", "1e1.5", "nan", "inf", "NaN", "١",
        float("nan"), float("inf"), float("-inf"), True, False, None, [], {},
    ],
    ids=repr,
)  # fmt: skip
def test_refuses(nonsense: object) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(nonsense)  # type: ignore[arg-type]
    assert str(nonsense) in str(caught.value)


def test_true_is_refused_even_after_one_was_read() -> None:
    assert whole(1) == 1
    with pytest.raises(QuantityError):
        whole(True)


def test_wrong_suffix_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(QuantityError, match='no suffix "Kii". Did you mean "Ki"'):
        parse_quantity("1Kii")


def test_endless_text_is_refused_and_shown_shortened() -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity("1" * 100_000)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("text", "units", "thousandths"),
    [
        ("1.2", 2, 1200),
        ("100m", 1, 100),
        ("0.1m", 1, 1),
        ("0.1n", 1, 1),
        ("1e-999999999999", 1, 1),
        ("0e-999999999999", 0, 0),
        ("1023", 1023, 1_023_000),
        ("-100m", -1, -100),
        ("-1.5", -2, -1500),
    ],
)
def test_rounds_away_from_zero(text: str, units: int, thousandths: int) -> None:
    assert (whole(text), milli(text)) == (units, thousandths)


@pytest.mark.parametrize("text", ["8Ei", "100Ei", "10E", "9223372036854775808", "1e999999999999", str(2**80)])
def test_caps_at_64_bits(text: str) -> None:
    assert parse_quantity(text) == whole(text) == milli(text) == MAX_INT64
    assert whole(f"-{text}") == -MAX_INT64


def test_caps_thousandths_on_their_own() -> None:
    assert whole("1E") == 10**18
    assert milli("1E") == MAX_INT64


decimals = st.builds(
    lambda sign, integer, fraction: f"{sign}{integer}.{fraction}" if fraction else f"{sign}{integer}",
    st.sampled_from(["", "+", "-"]),
    st.integers(0, 10**12),
    st.text("0123456789", max_size=12),
)
suffixes = st.sampled_from([*DECIMAL, *BINARY])


def scale(suffix: str) -> Fraction:
    return Fraction(2 ** BINARY[suffix]) if suffix in BINARY else Fraction(10) ** DECIMAL[suffix]


def kept(exact: Fraction, per_unit: int) -> Fraction:
    """Rounded away from zero to 1/per_unit, and capped."""
    size = min(Fraction(ceil(abs(exact) * per_unit), per_unit), Fraction(MAX_INT64))
    return size if exact >= 0 else -size


@given(decimals, suffixes)
def test_agrees_with_fractions(number: str, suffix: str) -> None:
    exact = Fraction(number) * scale(suffix)
    assert parse_quantity(number + suffix) == kept(exact, 10**9)
    assert whole(number + suffix) == kept(exact, 1)


@given(st.integers(0, 10**15), st.integers(0, 12))
def test_thousandths_round_up(digits: int, places: int) -> None:
    exact = Fraction(digits, 10**places)
    assert milli(f"{digits}e-{places}") == min(ceil(exact * 1000), MAX_INT64)


@given(decimals, st.sampled_from(list(DECIMAL)))
def test_suffix_equals_exponent(number: str, suffix: str) -> None:
    power = DECIMAL[suffix]
    assert parse_quantity(number + suffix) == parse_quantity(f"{number}e{power}")
    assert parse_quantity(number + suffix) == parse_quantity(f"{number}E{power:+}")


@given(st.integers(0, 10**6), st.sampled_from(list(zip(BINARY, list(BINARY)[1:], strict=False))))
def test_binary_suffixes_are_1024_apart(count: int, pair: tuple[str, str]) -> None:
    smaller, larger = pair
    assert parse_quantity(f"{count}{larger}") == parse_quantity(f"{count * 1024}{smaller}")


@given(st.integers(-(10**15), 10**15))
def test_number_equals_its_text(number: int) -> None:
    assert parse_quantity(number) == parse_quantity(str(number)) == number


@given(st.floats(-1e9, 1e9).map(lambda x: round(x, 6)))
def test_float_is_what_it_prints(number: float) -> None:
    assert parse_quantity(number) == Fraction(repr(number))


@given(st.integers(-(10**24), 10**24).map(lambda n: Fraction(n, 10**9)), st.booleans())
def test_format_reads_back(value: Fraction, binary: bool) -> None:
    assert parse_quantity(format_quantity(value, binary=binary)) == value


@pytest.mark.parametrize(
    ("value", "binary", "text"),
    [
        (0, False, "0"),
        (3, False, "3"),
        (Fraction(3, 2), False, "1500m"),
        (2000, False, "2k"),
        (2**31, True, "2Gi"),
        (1500 * 2**20, True, "1500Mi"),
        (1000, True, "1000"),
        (Fraction(1, 2), True, "500m"),
        (-(2**10), True, "-1Ki"),
        (Fraction(1, 3), False, "333333334n"),
    ],
)
def test_format(value: int | Fraction, binary: bool, text: str) -> None:
    assert format_quantity(value, binary=binary) == text


@given(st.text(max_size=12) | st.from_regex(r"[+-]?[0-9.]{0,4}[eEinumkKMGTP]{0,3}[0-9]{0,2}", fullmatch=True))
def test_any_text_is_a_quantity_or_a_quantity_error(text: str) -> None:
    try:
        assert abs(parse_quantity(text)) <= MAX_INT64
    except QuantityError as error:
        assert text in str(error)
