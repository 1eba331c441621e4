"""Whether a number is well formed by its check digits: payment cards, bank accounts and national identity numbers.

Each function takes the number without separators, letters in upper case, of the length that its shape says, and tells
whether it can be one. By chance a random number passes in one of ten cases or fewer (one check digit), or of a hundred
(two, or one and a date).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from operator import mul

# IBAN registry: the length of each country's account numbers.
_IBAN_LENGTHS = {
    code: int(length)
    for length, codes in {
        "15": "NO", "16": "BE", "18": "DK FI FO GL NL SD FK", "19": "MK SI", "20": "AT BA EE KZ LT LU MN XK",
        "21": "CH HR LI LV", "22": "BG BH CR DE GB GE IE ME RS VA", "23": "AE GI IL IQ OM SO TL",
        "24": "AD CZ ES MD PK RO SA SE SK TN VG", "25": "LY PT ST", "26": "IS TR", "27": "BI DJ FR GR IT MC MR SM",
        "28": "AL AZ BY CY DO GT HN HU LB NI PL SV", "29": "BR EG PS QA UA", "30": "JO KW MU YE", "31": "MT SC",
        "32": "LC", "33": "RU",
    }.items()
    for code in codes.split()
}  # fmt: skip
# Whose account numbers hold no letters, by the same registry.
_DIGITS_ALONE = frozenset(
    ("AT", "BE", "CZ", "DE", "DK", "EE", "ES", "FI", "HR", "HU", "IS", "LT", "NO", "PL", "PT", "SE", "SI", "SK")
)
_IN_DIGITS = {ord(letter): str(int(letter, 36)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
# The first four digits of cards, from and to, and how long these may be.
_CARDS = (
    (4000, 4999, (13, 16, 19)),
    (5100, 5599, (16,)),
    (2221, 2720, (16,)),
    (3400, 3499, (15,)),
    (6011, 6011, (16, 19)),
    (6440, 6599, (16, 19)),
    (3000, 3059, (14,)),
    (3600, 3699, (14,)),
    (3700, 3799, (15,)),
    (3800, 3999, (14,)),
    (3528, 3589, (16, 19)),
    (6200, 6299, (16, 17, 18, 19)),
    (2200, 2204, (16,)),
)
_CARD_LENGTHS = {str(start): lengths for first, last, lengths in _CARDS for start in range(first, last + 1)}
_VALUES = bytes.maketrans(b"0123456789", bytes(range(10)))
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")
_VERHOEFF_TURN = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)
_VERHOEFF_JOIN = (
    "0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
    "5987604321", "6598710432", "7659821043", "8765932104", "9876543210",
)  # fmt: skip
_FOREIGNERS = str.maketrans("XYZ", "012")
_SPANISH = "TRWAGMYFPDXBNJZSQVHLCKE"
_FINNISH = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_CURP = "0123456789ABCDEFGHIJKLMN\u00d1OPQRSTUVWXYZ"
_ITALIAN_ODD = {
    **dict(zip("0123456789", (1, 0, 5, 7, 9, 13, 15, 17, 19, 21), strict=True)),
    **dict(
        zip(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23),
            strict=True,
        )
    ),
}


def luhn(digits: str) -> bool:
    """ISO/IEC 7812: every second digit from the right counts double."""
    written = digits.encode()
    return (sum(written[-1::-2]) + sum(written[-2::-2].translate(_DOUBLED)) - ord("0") * len(written)) % 10 == 0


def payment_card(digits: str) -> bool:
    """A card of a known scheme."""
    return len(digits) in _CARD_LENGTHS.get(digits[:4], ()) and luhn(digits)


def iban_length(start: str) -> int:
    """How long an account number with these first two letters is; 0 where there is no such country."""
    return _IBAN_LENGTHS.get(start, 0)


def iban(text: str) -> bool:
    """ISO 13616: the digits that it spells leave 1 by 97."""
    if text[:2] in _DIGITS_ALONE and not text[4:].isdigit():
        return False
    return len(text) == iban_length(text[:2]) and int((text[4:] + text[:4]).translate(_IN_DIGITS)) % 97 == 1


def _weighted(digits: str, weights: Iterable[int]) -> int:
    return sum(map(mul, digits.encode().translate(_VALUES), weights))


def _is_date(year: int, month: str, day: str) -> bool:
    try:
        date(year, int(month), int(day))
    except ValueError:
        return False
    return True


def _short_date(year: str, month: str, day: str) -> bool:
    """A date whose century is not said."""
    return _is_date(1900 + int(year), month, day) or _is_date(2000 + int(year), month, day)


def _check_11(rest: int) -> int:
    """The digit that makes a sum divisible by eleven; ten and eleven become 0, as in South America."""
    return 0 if rest < 2 else 11 - rest  # noqa: PLR2004  11 - 1 is no digit


_CPF_FIRST, _CPF_SECOND = tuple(range(10, 1, -1)), tuple(range(11, 1, -1))
_CNPJ = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)


def br_cpf(digits: str) -> bool:
    """Brazil: a person's tax number, 11 digits."""
    if _check_11(_weighted(digits, _CPF_FIRST) % 11) != int(digits[9]):
        return False
    return _check_11(_weighted(digits, _CPF_SECOND) % 11) == int(digits[10]) and len(set(digits)) > 1


def br_cnpj(digits: str) -> bool:
    """Brazil: a company's tax number, 14 digits."""
    if _check_11(_weighted(digits, _CNPJ[1:]) % 11) != int(digits[12]):
        return False
    return _check_11(_weighted(digits, _CNPJ) % 11) == int(digits[13]) and len(set(digits)) > 1


def pl_pesel(digits: str) -> bool:
    """Poland: 11 digits, the century in the month."""
    if not "00" < digits[4:6] < "32" or _weighted(digits, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10:
        return False
    century, month = divmod(int(digits[2:4]), 20)
    return _is_date((1900, 2000, 2100, 2200, 1800)[century] + int(digits[:2]), str(month), digits[4:6])


def tr_tckn(digits: str) -> bool:
    """Turkey: 11 digits, the last two check."""
    if digits[0] == "0" or sum(digits[:10].encode()) % 10 != int(digits[10]):  # what the digits' codes add is no rest
        return False
    return _weighted(digits, (7, -1, 7, -1, 7, -1, 7, -1, 7)) % 10 == int(digits[9])


def no_fnr(digits: str) -> bool:
    """Norway: 11 digits, a date and two that check."""
    if digits[:2] > "31" or digits[2:4] > "12" or _weighted(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2, 1)) % 11:
        return False
    second = _weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)) % 11
    return second == 0 and _short_date(digits[4:6], digits[2:4], digits[:2])


def be_nn(digits: str) -> bool:
    """Belgium: 11 digits, a date and two that check by 97; from 2000 on with a 2 before them."""
    if digits[2:4] > "12" or digits[4:6] > "31":
        return False
    check = int(digits[9:])
    rest = {97 - int(digits[:9]) % 97, 97 - int("2" + digits[:9]) % 97}
    return check in rest and _short_date(digits[:2], digits[2:4], digits[4:6])


def de_steuer_id(digits: str) -> bool:
    """Germany: 11 digits, one of the first ten twice or three times, the last by ISO 7064 Mod 11, 10."""
    repeated = sorted(digits[:10].count(d) for d in set(digits[:10]))
    if digits[0] == "0" or repeated[-1] not in (2, 3) or repeated[-2] > 1:
        return False
    product = 10
    for digit in digits[:10]:
        product = 2 * ((int(digit) + product) % 10 or 10) % 11
    return (11 - product) % 10 == int(digits[10])


def fr_nir(digits: str) -> bool:
    """France: 15 digits, the last two by 97."""
    if digits[0] not in "12":
        return False
    month = int(digits[3:5])
    known = 1 <= month <= 12 or 20 <= month <= 42  # noqa: PLR2004  unknown months are counted from 20
    return known and 97 - int(digits[:13]) % 97 == int(digits[13:])


def cn_id(text: str) -> bool:
    """China: 18 characters, a date, the last by ISO 7064 Mod 11, 2."""
    if text[10:12] > "12":
        return False
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return "10X98765432"[_weighted(text, weights) % 11] == text[17] and _is_date(
        int(text[6:10]) or 1, text[10:12], text[12:14]
    )


def in_aadhaar(digits: str) -> bool:
    """India: 12 digits, the last by Verhoeff."""
    check = 0
    for at, digit in enumerate(reversed(digits)):
        check = int(_VERHOEFF_JOIN[check][int(_VERHOEFF_TURN[at % 8][int(digit)])])
    return check == 0 and digits[0] not in "01"


def jp_my_number(digits: str) -> bool:
    """Japan: 12 digits, the last by 11."""
    rest = _weighted(digits, (6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return _check_11(rest) == int(digits[11])


def us_ssn(digits: str) -> bool:
    """United States: 9 digits without a check digit, but with parts that were never given out."""
    return digits[:3] not in ("000", "666") and digits[0] != "9" and digits[3:5] != "00" and digits[5:] != "0000"


def ca_sin(digits: str) -> bool:
    """Canada: 9 digits by Luhn."""
    return digits[0] != "8" and luhn(digits)


def au_tfn(digits: str) -> bool:
    """Australia: 9 digits by 11."""
    return _weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def nl_bsn(digits: str) -> bool:
    """The Netherlands: 9 digits by 11."""
    return _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0 and len(set(digits)) > 1


def pt_nif(digits: str) -> bool:
    """Portugal: 9 digits by 11."""
    return digits[0] != "0" and _check_11(_weighted(digits, range(9, 1, -1)) % 11) == int(digits[8])


def gb_nhs(digits: str) -> bool:
    """United Kingdom: a patient's number, 10 digits by 11."""
    return (11 - _weighted(digits, range(10, 1, -1)) % 11) % 11 == int(digits[9])


def gb_nino(text: str) -> bool:
    """United Kingdom: two letters, six digits and a letter; some pairs were never given out."""
    given_out = text[0] not in "DFIQUV" and text[1] not in "DFIQUVO" and text[-1] in "ABCD"
    return given_out and text[:2] not in ("BG", "GB", "KN", "NK", "NT", "TN", "ZZ")


def es_dni(text: str) -> bool:
    """Spain: 8 digits, or a letter and 7, and a letter by 23."""
    number = text[:-1].translate(_FOREIGNERS)
    return number.isdigit() and _SPANISH[int(number) % 23] == text[-1]


def it_codice_fiscale(text: str) -> bool:
    """Italy: 16 characters, the last by 26."""
    odd = sum(_ITALIAN_ODD[c] for c in text[0:15:2])
    even = sum(int(c) if c.isdigit() else ord(c) - ord("A") for c in text[1:15:2])
    return chr(ord("A") + (odd + even) % 26) == text[15]


def se_personnummer(digits: str) -> bool:
    """Sweden: 10 digits, or 12 with the century, a date and one by Luhn."""
    if not digits.isdigit():
        return False
    short = digits[-10:]
    if short[2:4] > "12":
        return False
    day = str(int(short[4:6]) - 60 * (int(short[4:6]) > 60)).zfill(2)  # noqa: PLR2004  60 is added for who was not born there
    return luhn(short) and _short_date(short[:2], short[2:4], day)


def fi_hetu(text: str) -> bool:
    """Finland: a date, a sign for the century, three digits and a character by 31."""
    number = int(text[:6] + text[7:10])
    return (
        text[6] in "-+ABCDEFUVWXY" and _FINNISH[number % 31] == text[10] and _short_date(text[4:6], text[2:4], text[:2])
    )


def kr_rrn(digits: str) -> bool:
    """South Korea: 13 digits, a date and one by 11."""
    rest = (11 - _weighted(digits, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)) % 11) % 10
    return rest == int(digits[12]) and _short_date(digits[:2], digits[2:4], digits[4:6])


def ch_ahv(digits: str) -> bool:
    """Switzerland: 13 digits by EAN-13."""
    return _weighted(digits, (1, 3) * 6 + (1,)) % 10 == 0


def cl_rut(text: str) -> bool:
    """Chile: 7 or 8 digits and a character by 11."""
    rest = (11 - _weighted(text[-2::-1], (2, 3, 4, 5, 6, 7, 2, 3))) % 11
    return "0123456789K"[rest] == text[-1].upper()


def ar_cuit(digits: str) -> bool:
    """Argentina: 11 digits by 11."""
    rest = (11 - _weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11) % 11
    return rest == int(digits[10]) and digits[:2] in ("20", "23", "24", "27", "30", "33", "34", "50", "51", "55")


def za_id(digits: str) -> bool:
    """South Africa: 13 digits, a date and one by Luhn."""
    return digits[10] in "01" and luhn(digits) and _short_date(digits[:2], digits[2:4], digits[4:6])


def mx_curp(text: str) -> bool:
    """Mexico: 18 characters, a date and one by 10."""
    total = sum(_CURP.index(c) * weight for c, weight in zip(text[:17], range(18, 1, -1), strict=True))
    return (10 - total % 10) % 10 == int(text[17]) and _short_date(text[4:6], text[6:8], text[8:10])


def sg_nric(text: str) -> bool:
    """Singapore: a letter, 7 digits and a letter by 11."""
    if text[0] not in "STFGM":
        return False
    total = _weighted(text[1:8], (2, 7, 6, 5, 4, 3, 2)) + {"T": 4, "G": 4, "M": 3}.get(text[0], 0)
    letters = {"S": "JZIHGFEDCBA", "T": "JZIHGFEDCBA", "M": "KLJNPQRTUWX"}.get(text[0], "XWUTRQPNMLK")
    rest = total % 11
    return letters[10 - rest if text[0] == "M" else rest] == text[8]
