"""Mail addresses, payment cards, bank accounts and national identity numbers in a text, by shape and check digits.

A number without separators that one check digit alone confirms is one only where its name stands near before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from graph import check_digits as check
from graph.scanning import Seen, Span

_NAME_CHARS = 48  # before a number, in which its name may stand
_MARKER_CHARS = 52
_USER_CHARS_MAX = 64  # RFC 5321
_FILES = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "json", "html", "txt", "yaml", "yml")
)
_DOMAIN = re.compile(r"@(?:[\w-]{1,63}+\.){1,8}([^\W\d_]{2,24}|xn--[a-z0-9-]{2,59})(?![\w-]|\.\w)(?!\()")
_USER_BACKWARDS = re.compile(r"(?:[^\W_]|[._%+-])+")
# Who signs in where, as addresses write it.
_IN_ADDRESS = re.compile(r"//[^\s/:]*+(?::(?!\d{1,5}/)[^\s@]*+|[^\s/]*+)\Z")
_ADDRESS_CHARS = 256  # before the mail sign of one
_NOT_MAIL = re.compile(r":[~\w.-]{0,64}/")  # the place on a machine, as version control and copying write it


@dataclass(frozen=True, slots=True)
class _Number:
    """A kind of number.

    Attributes:
        kind: As it stands in what replaces it.
        valid: Tells by the number without separators.
        named: Words in lower case of which one must stand before it, where the shape alone says little.
        as_written: Whether its separator says something, so that ``valid`` is to see it.
    """

    kind: str
    valid: Callable[[str], bool]
    named: tuple[str, ...] = ()
    as_written: bool = False


_CARD = _Number("payment-card", check.payment_card)
_CARD_START = "(?:4[0-9]|5[1-5]|2[2-7]|3[0-9]|6[0245])[0-9][0-9]"  # of a known scheme, by half
_CPF = _Number("br-cpf", check.br_cpf)
_CNPJ = _Number("br-cnpj", check.br_cnpj)
_TAX_ID = (
    "steuer-id",
    "steuerid",
    "steuer-identifikationsnummer",
    "steueridentifikationsnummer",
    "idnr",
    "tax id",
    "tin",
)
_STEUER_ID = _Number("de-steuer-id", check.de_steuer_id, _TAX_ID)
_AADHAAR = _Number("in-aadhaar", check.in_aadhaar)
_SIN = _Number("ca-sin", check.ca_sin, ("sin", "social insurance", "nas"))
_TFN = _Number("au-tfn", check.au_tfn, ("tfn", "tax file"))
_NHS = _Number("gb-nhs", check.gb_nhs, ("nhs",))
_SSN_NAMED = _Number("us-ssn", check.us_ssn, ("ssn", "social security"))
_MY_NUMBER = _Number("jp-my-number", check.jp_my_number, ("my number", "mynumber", "individual number"))
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
        _Number("nl-bsn", check.nl_bsn, ("bsn", "burgerservicenummer", "sofinummer")),
        _Number("pt-nif", check.pt_nif, ("nif", "contribuinte", "n\u00famero fiscal")),
    ),
    10: (_NHS, _Number("se-personnummer", check.se_personnummer, ("personnummer", "personnr"))),
    11: (
        _CPF,
        _Number("pl-pesel", check.pl_pesel),
        _Number("tr-tckn", check.tr_tckn),
        _FNR,
        _Number("be-nn", check.be_nn),
        _STEUER_ID,
        _Number("ar-cuit", check.ar_cuit, ("cuit", "cuil")),
    ),
    12: (
        _Number("in-aadhaar", check.in_aadhaar, ("aadhaar", "aadhar", "uid", "uidai")),
        _MY_NUMBER,
        _SE,
    ),
    13: (
        _CARD,
        _Number("za-id", check.za_id, ("id", "identity")),
        _Number("ch-ahv", check.ch_ahv, ("ahv", "avs", "oasi")),
        _Number("kr-rrn", check.kr_rrn, ("rrn", "resident registration")),
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
_TIMESTAMP_DIGITS = (14, 17)
# By how it is written: 0 is a digit, A a letter in upper case, and anything else stands for itself.
_SHAPES: Mapping[str, Sequence[_Number]] = {
    "0000 0000 0000 0000": (_CARD,),
    "0000-0000-0000-0000": (_CARD,),
    "0000 000000 00000": (_CARD,),
    "0000-000000-00000": (_CARD,),
    "0000 000000 0000": (_CARD,),
    "0000-000000-0000": (_CARD,),
    "0000.0000.0000.0000": (_CARD,),
    "0000.000000.00000": (_CARD,),
    "0000.000000.0000": (_CARD,),
    "0000 0000 0000 0000 000": (_CARD,),
    "0000-0000-0000-0000-000": (_CARD,),
    "0000 000 000 000": (_CARD,),
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
    "000 00 0000": (_SSN_NAMED,),
    "000.00.0000": (_SSN_NAMED,),
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


def _parted(numbers: Sequence[_Number]) -> tuple[Sequence[_Number], Sequence[_Number]]:
    """Those whose name must stand before them, and the others."""
    return [number for number in numbers if number.named], [number for number in numbers if not number.named]


_RUNS = {length: _parted(numbers) for length, numbers in _BARE.items()}


@dataclass(frozen=True, slots=True)
class _Form:
    """How some kinds of numbers are written.

    Attributes:
        shape: A key of ``_SHAPES``.
        begun: Matches the first digits or letters of one that is no part of a longer word, nor of a row of numbers but
            for cards; in the shape of a text, of cards in the text itself. The next may begin within it.
        separators: What is between its parts.
        named: The kinds whose name must stand before them.
        others: The other kinds.
    """

    shape: str
    begun: re.Pattern[str]
    separators: str
    named: Sequence[_Number]
    others: Sequence[_Number]

    @classmethod
    def of(cls, shape: str, numbers: Sequence[_Number]) -> _Form:
        """The form of a shape; cards alone may stand in a row of numbers."""
        start = re.split("[^0A]", shape)[0]
        rest, separators = re.escape(shape[len(start) :]), "".join(sorted(set(shape) - set("0A")))
        if numbers == (_CARD,):
            digits = rest.replace("0", "[0-9]")
            form = rf"{_CARD_START}(?<![\w.+/@-]....)(?={digits}(?![\w@-]|[.,/][0-9]))"
        else:
            form = rf"{start}(?<![\w.+/@-]{start})(?<!0 {start})(?={rest}(?![\w@-]|[.,/]0| 0))"
        return cls(shape, re.compile(form), separators, *_parted(numbers))


_FORMS = tuple(_Form.of(shape, numbers) for shape, numbers in _SHAPES.items())
_SHAPE_OF = str.maketrans("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0" * 10 + "A" * 26)
_ENOUGH = re.compile(r"\d\d[\d.\- /+A-FU-Y]")  # what every number has somewhere
Checked = dict[str, str | None]
"""What numbers are that need no name, by how they are written: asked once, however often a text is looked through."""
_ALL_NAMES = frozenset(
    name for numbers in (*_BARE.values(), *_SHAPES.values()) for number in numbers for name in number.named
)
KINDS = frozenset(
    {"email", "iban"}
    | {number.kind for numbers in _BARE.values() for number in numbers}
    | {number.kind for numbers in _SHAPES.values() for number in numbers}
)


def personal(seen: Seen, checked: Checked) -> Iterator[Span]:
    """What of a text says who somebody is or where their money is, in no order; spans may overlap.

    Args:
        seen: The text.
        checked: What is known from before, and what becomes known; of one text and what becomes of it.
    """
    text = seen.text
    if "@" in seen.chars:
        yield from _mails(text)
    if not _ENOUGH.search(text):
        return
    shape, numbers = text.translate(_SHAPE_OF), _Numbers(seen, checked)
    if "000000000" in shape:
        for found in _RUN.finditer(text):
            start, end = found.span()
            kind = numbers.kind(start, end, *_RUNS[end - start])
            if kind and not (end - start in _TIMESTAMP_DIGITS and _TIMESTAMP.fullmatch(found[0])):
                yield start, end, kind
    for form in _FORMS:
        if seen.chars.issuperset(form.separators) and form.shape in shape:
            for found in form.begun.finditer(text if form.others == [_CARD] else shape):
                start, end = found.start(), found.start() + len(form.shape)
                if kind := numbers.kind(start, end, form.named, form.others, form.separators):
                    yield start, end, kind
    yield from _accounts(text, shape)


class _Numbers:
    """Tells what the numbers of a text are."""

    def __init__(self, seen: Seen, checked: Checked) -> None:
        self._text = seen.text
        self._checked = checked
        self._names = _Names(seen)

    def kind(
        self, start: int, end: int, named: Sequence[_Number], others: Sequence[_Number], separators: str = ""
    ) -> str | None:
        """Which of some kinds a number is, first of those that are named before it; None for none."""
        written = self._text[start:end]
        if named and (names := self._names.before(start)):
            bare = _bare(written, separators)
            for number in named:
                if not names.isdisjoint(number.named) and number.valid(bare):
                    return number.kind
        kind = self._checked.get(written, "")
        if kind == "":
            kind, bare = None, _bare(written, separators)
            for number in others:
                if number.valid(written if number.as_written else bare):
                    kind = number.kind
                    break
            self._checked[written] = kind
        return kind


class _Names:
    """Where the names of numbers stand in a text in lower case; none counts behind what was taken out after it."""

    def __init__(self, seen: Seen) -> None:
        self._low = seen.low
        named = [name for name in _ALL_NAMES if seen.holds(name)]
        self._names = sorted((end, name) for name in named for end in _ends(seen.low, name))
        self._ends = [end for end, _ in self._names]

    def before(self, start: int) -> set[str]:
        """Those that end near before a place."""
        last = bisect_right(self._ends, start)
        first = max(0, start - _NAME_CHARS)
        if last == 0 or self._ends[last - 1] < first:
            return set()
        marker = self._low.rfind("[redacted:", max(0, first - _MARKER_CHARS), start)
        if marker >= 0:
            first = max(first, self._low.find("]", marker, start))
        near = self._names[bisect_left(self._ends, first, 0, last) : last]
        return {name for end, name in near if end - len(name) >= first}


def _ends(low: str, name: str) -> Iterator[int]:
    """Where a name ends that is no part of a longer word."""
    at = low.find(name)
    while at >= 0:
        end = at + len(name)
        if not low[at - 1 : at].isalpha() and not low[end : end + 1].isalpha():
            yield end
        at = low.find(name, end)


def _bare(written: str, separators: str) -> str:
    for separator in separators:
        written = written.replace(separator, "")
    return written


def _mails(text: str) -> Iterator[Span]:
    in_addresses = "//" in text
    for found in _DOMAIN.finditer(text):
        at = found.start()
        user = _USER_BACKWARDS.match(text[max(0, at - _USER_CHARS_MAX - 1) : at][::-1])
        start = at if user is None else at - user.end()
        if not 0 < at - start <= _USER_CHARS_MAX or found[1].lower() in _FILES or text[start:at].lower() == "git":
            continue
        if in_addresses and _IN_ADDRESS.search(_word_before(text, start)):
            continue
        if not _NOT_MAIL.match(text, found.end()):
            yield start, found.end(), "email"


def _word_before(text: str, end: int) -> str:
    """What stands before a place without a blank between, up to the bound of an address."""
    words = text[max(0, end - _ADDRESS_CHARS) : end].rsplit(None, 1)
    return words[-1] if words and not text[end - 1].isspace() else ""


def _accounts(text: str, shape: str) -> Iterator[Span]:
    at = shape.find("AA00")
    while at >= 0:
        length = check.iban_length(text[at : at + 2])
        if length and (at == 0 or not text[at - 1].isalnum()):
            written = text[at : at + length + length // 3]
            bare = written.replace(" ", "").replace("-", "").replace(".", "")[:length]
            if len(bare) == length and bare.isalnum() and bare.isascii() and bare.isupper() and check.iban(bare):
                end = at
                for _ in range(length):
                    end += 1 + (text[end] in " -.")
                if not text[end : end + 1].isalnum():
                    yield at, end, "iban"
        at = shape.find("AA00", at + 1)
