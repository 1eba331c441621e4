"""Mail addresses, payment cards, bank accounts and national identity numbers in a text, by shape and check digits.

A number without separators that one check digit alone confirms is one only where its name stands near before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph import check_digits as check
from graph.secret_forms import Span

_NAME_CHARS = 48  # before a number, in which its name may stand
_USER_CHARS_MAX = 64  # RFC 5321
_FILES = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "json", "html", "txt", "yaml", "yml")
)
_DOMAIN = re.compile(r"@(?:[\w-]{1,63}+\.){1,8}([^\W\d_]{2,24}|xn--[a-z0-9-]{2,59})(?![\w-]|\.\w)(?!\()")
_IN_ADDRESS = re.compile(r"//[^\s/]*\Z")  # who signs in where, as addresses write it
_ADDRESS_CHARS = 256  # before the mail sign of one
_NOT_MAIL = re.compile(r":[~\w.-]{0,64}/")  # the place on a machine, as version control and copying write it


@dataclass(frozen=True, slots=True)
class _Number:
    """A kind of number.

    Attributes:
        kind: As it stands in what replaces it.
        valid: Tells by the number without separators.
        named: What must stand before it, in lower case, where the shape alone says little.
        as_written: Whether its separator says something, so that ``valid`` is to see it.
    """

    kind: str
    valid: Callable[[str], bool]
    named: re.Pattern[str] | None = None
    as_written: bool = False


def _named(*names: str) -> re.Pattern[str]:
    return re.compile(r"(?<![a-z])(?:" + "|".join(names) + r")(?![a-z])")


_CARD = _Number("payment-card", check.payment_card)
_CPF = _Number("br-cpf", check.br_cpf)
_CNPJ = _Number("br-cnpj", check.br_cnpj)
_TAX_ID = _named("steuer-?id(?:entifikationsnummer)?", "idnr", "steuer-?identifikationsnummer", "tax id", "tin")
_STEUER_ID = _Number("de-steuer-id", check.de_steuer_id, _TAX_ID)
_AADHAAR = _Number("in-aadhaar", check.in_aadhaar)
_SIN = _Number("ca-sin", check.ca_sin, _named("sin", "social insurance(?: number)?", "nas"))
_TFN = _Number("au-tfn", check.au_tfn, _named("tfn", "tax file(?: number)?"))
_NHS = _Number("gb-nhs", check.gb_nhs, _named("nhs(?: number| no)?"))
_SSN_NAMED = _Number("us-ssn", check.us_ssn, _named("ssn", "social security(?: number| no)?"))
_MY_NUMBER = _Number("jp-my-number", check.jp_my_number, _named("my ?number", "individual number"))
_RUT = _Number("cl-rut", check.cl_rut)
_DNI = _Number("es-dni", check.es_dni)
_CN = _Number("cn-resident-id", check.cn_id)
_CURP = _Number("mx-curp", check.mx_curp)
_NINO = _Number("gb-nino", check.gb_nino)
_NIR = _Number("fr-nir", check.fr_nir)
_FNR = _Number("no-fnr", check.no_fnr)
_HETU = _Number("fi-hetu", check.fi_hetu, as_written=True)
_SE = _Number("se-personnummer", check.se_personnummer)
_BARE: Mapping[int, Sequence[_Number]] = {
    9: (
        _SSN_NAMED,
        _SIN,
        _TFN,
        _Number("nl-bsn", check.nl_bsn, _named("bsn", "burgerservicenummer", "sofinummer")),
        _Number("pt-nif", check.pt_nif, _named("nif", "contribuinte", "n\u00famero fiscal")),
    ),
    10: (_NHS, _Number("se-personnummer", check.se_personnummer, _named("personnummer", "personnr"))),
    11: (
        _CPF,
        _Number("pl-pesel", check.pl_pesel),
        _Number("tr-tckn", check.tr_tckn),
        _FNR,
        _Number("be-nn", check.be_nn),
        _STEUER_ID,
        _Number("ar-cuit", check.ar_cuit, _named("cui[tl]")),
    ),
    12: (
        _Number("in-aadhaar", check.in_aadhaar, _named("aadhaar", "aadhar", "uidai?")),
        _MY_NUMBER,
        _SE,
    ),
    13: (
        _CARD,
        _Number("za-id", check.za_id, _named("id(?: number| no)?", "identity(?: number| no)?")),
        _Number("ch-ahv", check.ch_ahv, _named("ahv", "avs", "oasi")),
        _Number("kr-rrn", check.kr_rrn, _named("rrn", "resident registration(?: number)?")),
    ),
    14: (_CARD, _CNPJ),
    15: (_CARD, _NIR),
    16: (_CARD,),
    17: (_CARD,),
    18: (_CARD, _CN),
    19: (_CARD,),
}
_RUN = re.compile(r"[0-9](?<![\w.+/@-][0-9])[0-9]{8,18}+(?![\w@-]|[.,/]\d)")
_TIMESTAMP = re.compile(
    r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d(?:\d{3})?"
)
# By how it is written: 0 is a digit, A a letter in upper case, and anything else stands for itself.
_SHAPES: Mapping[str, Sequence[_Number]] = {
    "0000 0000 0000 0000": (_CARD,),
    "0000-0000-0000-0000": (_CARD,),
    "0000 000000 00000": (_CARD,),
    "0000-000000-00000": (_CARD,),
    "0000 000000 0000": (_CARD,),
    "0000-000000-0000": (_CARD,),
    "000.000.000-00": (_CPF,),
    "00.000.000/0000-00": (_CNPJ,),
    "0.000.000-0": (_RUT,),
    "00.000.000-0": (_RUT,),
    "0.000.000-A": (_RUT,),
    "00.000.000-A": (_RUT,),
    "000.0000.0000.00": (_Number("ch-ahv", check.ch_ahv),),
    "00.00.00-000.00": (_Number("be-nn", check.be_nn),),
    "00-00000000-0": (_Number("ar-cuit", check.ar_cuit),),
    "000-00-0000": (_Number("us-ssn", check.us_ssn),),
    "000000-0000000": (_Number("kr-rrn", check.kr_rrn),),
    "000000-0000": (_HETU, _SE),
    "000000+0000": (_HETU, _SE),
    "000000A0000": (_HETU,),
    "000000-000A": (_HETU,),
    "000000+000A": (_HETU,),
    "000000A000A": (_HETU,),
    "00000000-0000": (_SE,),
    "00000000+0000": (_SE,),
    "00000000A": (_DNI,),
    "00000000-A": (_DNI,),
    "A0000000A": (_DNI, _Number("sg-nric", check.sg_nric)),
    "A-0000000-A": (_DNI,),
    "000000 00000": (_FNR,),
    "0000 0000 0000": (_AADHAAR, _MY_NUMBER),
    "0 00 00 00 000 000 00": (_NIR,),
    "00 000 000 000": (_STEUER_ID,),
    "000 000 0000": (_NHS,),
    "000-000-0000": (_NHS,),
    "000 000 000": (_SIN, _TFN),
    "000-000-000": (_SIN, _TFN),
    "00000000000000000A": (_CN,),
    "AAAAAA00A00A000A": (_Number("it-codice-fiscale", check.it_codice_fiscale),),
    "AAAA000000AAAAAAA0": (_CURP,),
    "AAAA000000AAAAAA00": (_CURP,),
    "AA000000A": (_NINO,),
    "AA 00 00 00 A": (_NINO,),
}
# With what separates its parts, and whether it may stand in a row of such numbers.
_FORMS = tuple(
    (form, numbers, "".join(sorted(set(form) - set("0A"))), numbers == (_CARD,)) for form, numbers in _SHAPES.items()
)
_SHAPE_OF = str.maketrans("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0" * 10 + "A" * 26)
_ENOUGH = re.compile(r"\d\d[\d.\- /+A-FU-Y]")  # what every number has somewhere
KINDS = frozenset(
    {"email", "iban"}
    | {number.kind for numbers in _BARE.values() for number in numbers}
    | {number.kind for numbers in _SHAPES.values() for number in numbers}
)


def personal(text: str) -> Iterator[Span]:
    """What of a text says who somebody is or where their money is, in no order; spans may overlap."""
    if "@" in text:
        yield from _mails(text)
    if not _ENOUGH.search(text):
        return
    shape, names = text.translate(_SHAPE_OF), _Names(text)
    if "000000000" in shape:
        for found in _RUN.finditer(text):
            if _TIMESTAMP.fullmatch(found.group()):
                continue
            start, end = found.span()
            if kind := _kind(names, start, end, _BARE.get(end - start, ())):
                yield start, end, kind
    for form, numbers, separators, in_row in _FORMS:
        at = shape.find(form)
        while at >= 0:
            end = at + len(form)
            if _stands_alone(shape, at, end, in_row) and (kind := _kind(names, at, end, numbers, separators)):
                yield at, end, kind
            at = shape.find(form, at + 1)
    yield from _accounts(text, shape)


def _stands_alone(shape: str, start: int, end: int, in_row: bool) -> bool:  # noqa: FBT001  asked at every place
    """Whether a number is no part of a longer word, or of a row of numbers where it may not stand in one."""
    if start and ((before := shape[start - 1]).isalnum() or before in "_.+/@-"):
        return False
    if end < len(shape):
        behind = shape[end]
        if behind.isalnum() or behind in "_@-" or (behind in ".,/" and shape.startswith("0", end + 1)):
            return False
    return in_row or (not shape.startswith("0 ", max(0, start - 2), start) and not shape.startswith(" 0", end))


class _Names:
    """The names of numbers in a text; most texts have none, which is seen once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._low = text.lower()
        self._there: dict[re.Pattern[str], bool] = {}

    def there(self, name: re.Pattern[str]) -> bool:
        """Whether a name stands anywhere."""
        known = self._there.get(name)
        if known is None:
            known = self._there[name] = name.search(self._low) is not None
        return known

    def before(self, name: re.Pattern[str], start: int) -> bool:
        """Whether a name stands near before a place."""
        return name.search(self.text[max(0, start - _NAME_CHARS) : start].lower()) is not None


def _kind(names: _Names, start: int, end: int, numbers: Sequence[_Number], separators: str = "") -> str | None:
    """Which of some kinds a number is, the first that it can be; None for none."""
    bare = written = names.text[start:end]
    for separator in separators:
        bare = bare.replace(separator, "")
    for number in numbers:
        if number.named is not None and not names.there(number.named):
            continue
        if not number.valid(written if number.as_written else bare):
            continue
        if number.named is None or names.before(number.named, start):
            return number.kind
    return None


def _mails(text: str) -> Iterator[Span]:
    for found in _DOMAIN.finditer(text):
        at = start = found.start()
        while start > max(0, at - _USER_CHARS_MAX - 1) and (text[start - 1].isalnum() or text[start - 1] in "._%+-"):
            start -= 1
        place = _IN_ADDRESS.search(text, max(0, start - _ADDRESS_CHARS), start) or _NOT_MAIL.match(text, found.end())
        named = 0 < at - start <= _USER_CHARS_MAX and text[start:at].lower() != "git"
        if named and not place and found.group(1).lower() not in _FILES:
            yield start, found.end(), "email"


def _accounts(text: str, shape: str) -> Iterator[Span]:
    at = shape.find("AA00")
    while at >= 0:
        length = check.iban_length(text[at : at + 2])
        if length and (at == 0 or not text[at - 1].isalnum()):
            written = text[at : at + length + length // 3]
            bare = written.replace(" ", "").replace("-", "")[:length]
            if len(bare) == length and bare.isalnum() and bare.isascii() and bare.isupper() and check.iban(bare):
                end = at
                for _ in range(length):
                    end += 1 + (text[end] in " -")
                if not text[end : end + 1].isalnum():
                    yield at, end, "iban"
        at = shape.find("AA00", at + 1)
