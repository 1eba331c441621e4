"""What is taken out of texts, what stays, and that it costs little whatever a text holds."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger import HUMAN, START
from quiet import cpu_seconds
from redaction_corpus import CORPUS, LINES

from graph import check_digits
from graph.commands import read_command, repeats
from graph.errors import EventConflictError, ValidationError
from graph.lifecycle import decide
from graph.redaction import PERSONAL, redact
from graph.slices import Slice

_MARK = re.compile("\u00ab([a-z-]+)\\|([^\u00bb]*)\u00bb")


def marked(line: str) -> list[str]:
    """What is to be found in a line."""
    return [found for _, found in _MARK.findall(line)]


def unmarked(line: str) -> str:
    """A line as somebody writes it."""
    return _MARK.sub(lambda found: found[2], line)


def _wanted(line: str) -> str:
    return _MARK.sub(lambda found: f"[REDACTED:{found[1]}]", line)


def test_a_corpus_of_seven_hundred_lines_loses_every_secret_whole_and_nothing_else() -> None:
    assert len(CORPUS) == LINES == 700
    missed, false = list[str](), list[str]()
    for line in CORPUS:
        text, _ = redact(unmarked(line))
        if any(found in text for _, found in _MARK.findall(line)):
            missed.append(line)
        elif text != _wanted(line):
            false.append(f"{line!r} -> {text!r}")
    assert missed == []
    assert len(false) <= LINES // 100, "\n".join(false)


def test_each_match_is_counted_by_its_kind() -> None:
    for line in CORPUS:
        text, counts = redact(unmarked(line))
        if text == _wanted(line):
            found = [kind for kind, _ in _MARK.findall(line)]
            assert counts == {kind: found.count(kind) for kind in found}


def test_a_project_may_keep_personal_data_and_never_a_secret() -> None:
    text = "password=hunter2, anna@example.org and 529.982.247-25"
    assert redact(text, frozenset())[0] == "password=[REDACTED:password], anna@example.org and 529.982.247-25"
    assert redact(text, frozenset({"br-cpf"}))[0].endswith("anna@example.org and [REDACTED:br-cpf]")
    assert not {"password", "private-key", "jwt", "secret"} & PERSONAL


_PIECES = st.sampled_from(
    [
        *(unmarked(line) for line in CORPUS),
        "password=",
        '"',
        "'",
        " ",
        ":",
        "=",
        "@",
        "//",
        "4111",
        "-",
        ".",
        "sk-",
        "\n",
    ]
)


@given(st.lists(_PIECES | st.text(max_size=8), max_size=8))
def test_what_went_through_stays_as_it_is(pieces: list[str]) -> None:
    once, _ = redact("".join(pieces))
    assert redact(once) == (once, {})


@given(st.text(alphabet="0123456789ABCXYZ -./+@:=\u0661", max_size=60))
def test_no_text_of_digits_and_letters_is_too_odd(text: str) -> None:
    redact(text)


SECONDS_MAX = 0.05  # of a quiet core, for 100,000 characters
_RANDOM = random.Random(6)
_HOSTILE = {
    "letters": "a" * 100_000,
    "digits": "1" * 100_000,
    "digits and blanks": "1 " * 50_000,
    "mail signs": "a@" * 50_000,
    "points before a mail sign": "a." * 50_000 + "@x",
    "addresses": "://a:" * 20_000,
    "names without values": "password=" * 11_111,
    "open quotes": 'password="x ' * 8_000,
    "begun keys": "-----BEGIN PRIVATE KEY-----" * 3_700,
    "headers of keys": "-----BEGIN PRIVATE KEY-----" + "Aaa: b\n" * 14_000,
    "begun tokens": "eyJ" * 33_000,
    "tokens within tokens": "sk-" * 33_000,
    "begun accounts": "XX89 " * 20_000,
    "starts of accounts": "DE89 " * 20_000,
    "groups of nine digits": "123 456 789 " * 8_300,
    "escapes": "\\n" * 50_000,
    "blanks": " " * 100_000,
    "quotes": '"' * 100_000,
    "dates": "2024-01-05 " * 9_000,
    "anything": "".join(_RANDOM.choice('aA1 -._@:/="\n') for _ in range(100_000)),
    "hex": "".join(_RANDOM.choice("0123456789abcdef") for _ in range(100_000)),
    "numbers of eleven digits": " ".join(str(_RANDOM.randrange(10**10, 10**11)) for _ in range(8_300)),
    "numbers of nine digits behind names": "sin tfn bsn nif ssn " + "123456789 " * 9_900,
    "groups of four digits": " ".join(str(_RANDOM.randrange(1_000, 10_000)) for _ in range(20_000)),
    "rows of one card's digits": "4111 " * 20_000,
    "the same in other blanks": "4111\u00a0" * 20_000,
    "passwords of one program": " -u a:xyz9" * 10_000,
    "settings": "password: hunter2\n" * 5_500,
    "keys": "api_key=a1b2c3d4e5 " * 5_200,
    "mail": "a@b.org " * 12_500,
    "programs": "mysql " * 16_600,
    "options": " -" * 50_000,
    "long options": "--a-" * 25_000,
    "echoes": "echo a|" * 14_200,
    "names on lines": "password:\n" * 10_000,
    "names in tables": "| password " * 9_000,
    "sentences": "password is " * 8_300,
    "who they are of": "password for a b c d e " * 4_300,
    "closed markup": "password</b></b></b>" * 5_000,
    "Chinese": "\u5bc6\u7801\u662f" * 33_000,
    "rows of commands": "mysql -pa\n" * 10_000,
    "one command with many passwords": "zip -P " * 14_300,
    "data sources": "u:p@tcp(" * 12_500,
    "data sources that are closed": "u:p@tcp(h)/d\n" * 7_700,
    "brackets in addresses": "://u:" + "(" * 100_000 + "@h",
    "Chinese sentences": "\u5bc6\u7801\u662fabc12345\n" * 9_100,
    "Chinese sentences and mail": "\u5bc6\u7801\u662fabc12345\uff0c\u90ae\u7bb1a@b.cn\uff0c" * 5_000,
    "Chinese fields": "\u5bc6\u7801\uff1ahunter2 " * 9_100,
    "Polish fields": "Has\u0142o: tajne123 " * 6_250,
    "Russian fields on one line": "\u043f\u0430\u0440\u043e\u043b\u044c: qwerty12 " * 5_900,
    "numbers behind their names": "NIF 501964843\n" * 7_200,
    "numbers behind many names": "tin sin tfn nif bsn ssn id 501964843 " * 2_700,
    "numbers of eleven digits again": "52998224725 " * 8_400,
    "numbers that may be cards": " ".join(f"4{_RANDOM.randrange(10**15):015}" for _ in range(5_900)),
    "the same in groups": re.sub("(....)", r"\1 ", "".join(f"4{_RANDOM.randrange(10**15):015}" for _ in range(5_000))),
    "cards": "4111111111111111 " * 5_900,
    "mail signs in addresses": "https://anna@example.org/inbox" * 3_400,
    "signs of addresses before mail": ("//:" * 80 + "a@b.org ") * 400,
    "forms of ASCII": "".join(chr(0xFF01 + at % 94) for at in range(100_000)),
    "what was taken out": "[REDACTED:password] " * 5_000,
    "kinds that nobody knows": "".join(f"[REDACTED:{'ab'[at % 2] * (1 + at % 40)}]" for at in range(3_200)),
    "prose": "The quick brown fox jumps over the lazy dog. " * 2_200,
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_a_hostile_text_of_a_hundred_kilobytes_takes_little_and_twice_as_much_takes_twice_as_long(name: str) -> None:
    text = _HOSTILE[name][:100_000]
    whole, half = (cpu_seconds(partial(redact, each), SECONDS_MAX, times=5) for each in (text, text[:50_000]))
    assert whole < SECONDS_MAX
    assert whole < 4 * half + 0.005  # a square would be four times, and more with what each call costs


@pytest.mark.slow
@pytest.mark.parametrize("end", [" ", "\n", ", "])
def test_no_line_of_the_corpus_is_dear_over_and_over_nor_is_what_it_holds(end: str) -> None:
    lines = {unmarked(line) for line in CORPUS} | {found for line in CORPUS for found in marked(line)}
    starts = {_MARK.split(line)[0] for line in CORPUS if _MARK.search(line)}
    dear = {line: _dear(line + end) for line in (*lines, *starts)}
    assert [line for line, seconds in dear.items() if seconds is not None] == []


def _dear(line: str) -> float | None:
    """What a hundred kilobytes of it cost; None where that is little."""
    text = (line * (100_000 // len(line) + 1))[:100_000]
    seconds = cpu_seconds(partial(redact, text), SECONDS_MAX)
    return seconds if seconds >= SECONDS_MAX else None


@pytest.mark.parametrize(
    ("rule", "number", "at"),
    [
        (check_digits.payment_card, "4111111111111111", 15),
        (check_digits.iban, "DE89370400440532013000", 3),
        (check_digits.br_cpf, "52998224725", 10),
        (check_digits.br_cnpj, "11222333000181", 13),
        (check_digits.pl_pesel, "44051401359", 10),
        (check_digits.tr_tckn, "17291716060", 10),
        (check_digits.no_fnr, "15108695088", 10),
        (check_digits.be_nn, "85073003328", 10),
        (check_digits.de_steuer_id, "36574261809", 10),
        (check_digits.fr_nir, "255081416802538", 14),
        (check_digits.in_aadhaar, "234123412346", 11),
        (check_digits.jp_my_number, "123456789018", 11),
        (check_digits.ca_sin, "046454286", 8),
        (check_digits.au_tfn, "123456782", 8),
        (check_digits.nl_bsn, "111222333", 8),
        (check_digits.pt_nif, "501964843", 8),
        (check_digits.gb_nhs, "9434765919", 9),
        (check_digits.se_personnummer, "8112289874", 9),
        (check_digits.kr_rrn, "9710139019902", 12),
        (check_digits.ch_ahv, "7569217076985", 12),
        (check_digits.ar_cuit, "20055361682", 10),
        (check_digits.za_id, "8001015009087", 12),
    ],
)
def test_only_one_check_digit_of_ten_is_right(rule: object, number: str, at: int) -> None:
    assert callable(rule)
    changed = [number[:at] + digit + number[at + 1 :] for digit in "0123456789"]
    assert [text for text in changed if rule(text)] == [number]


def test_what_a_command_says_is_redacted_and_what_things_are_known_by_stays() -> None:
    secret, mail = "password=hunter2", "anna@example.org"
    evidence = {
        "key": mail,
        "type": "note",
        "source": f"mailto:{mail}",
        "artifact_ref": f"https://u:hunter2@example.org/{secret}",
        "metadata": {mail: [secret, 1, {"deep": mail}]},
    }
    line = {
        "project": mail,
        "transition": "disproved",
        "key": mail,
        "reason": f"{secret}, says {mail}",
        "actor": {"issuer": "tests", "subject": mail, "type": "human"},
        "payload": {"evidence": [evidence]},
    }
    command = read_command(line, actor=HUMAN)
    assert (command.project, command.key, command.actor.subject) == (mail, mail, mail)
    assert command.reason == "password=[REDACTED:password], says [REDACTED:email]"
    assert command.payload["evidence"] == [
        {
            "key": mail,
            "type": "note",
            "source": "mailto:[REDACTED:email]",
            "artifact_ref": "https://u:[REDACTED:url-password]@example.org/password=[REDACTED:password]",
            "metadata": {"[REDACTED:email]": ["password=[REDACTED:password]", 1, {"deep": "[REDACTED:email]"}]},
        }
    ]
    assert command.redacted == {"password": 3, "url-password": 1, "email": 4}


@pytest.mark.parametrize("part", ["concept", "said"])
def test_the_type_of_a_concept_is_redacted(part: str) -> None:
    said = {"description": "d", "type": "mail anna@example.org", "body": "It holds."}
    payload = {"concept": said} if part == "concept" else {"said": said, "verdict": "same"}
    line = {"transition": "proposed" if part == "concept" else "sighted", "key": "a", "payload": payload}
    assert read_command(line, actor=HUMAN, project="P").payload[part]["type"] == "mail [REDACTED:email]"


def test_the_type_of_a_source_is_redacted_and_its_id_stays() -> None:
    mail = "anna@example.org"
    payload = {"proposition": "It holds.", "lineage": {"sources": [{"type": mail, "id": mail}]}}
    command = read_command({"transition": "proposed", "payload": payload}, actor=HUMAN, project="P")
    assert command.payload["lineage"]["sources"] == [{"type": "[REDACTED:email]", "id": mail}]


def test_a_text_that_redaction_makes_too_long_is_refused() -> None:
    line = {"transition": "proposed", "payload": {"proposition": ("a@b.org " * 1_250).strip()}}
    assert read_command(line, actor=HUMAN, project="P", redacting=frozenset()).payload == line["payload"]
    with pytest.raises(ValidationError) as refused:
        read_command(line, actor=HUMAN, project="P")
    assert refused.value.field == "payload.proposition"


def test_a_repeat_is_one_whatever_was_redacted_when_the_event_was_taken() -> None:
    line = {"event_id": "e", "transition": "proposed", "key": "k", "payload": {"proposition": "ask anna@example.org"}}
    kinds: tuple[frozenset[str] | None, ...] = (None, frozenset(), PERSONAL)
    for then in kinds:
        taken = decide({"P": Slice("P")}, read_command(line, actor=HUMAN, project="P", redacting=then), START).events[0]
        for now in kinds:
            assert repeats(taken, read_command(line, actor=HUMAN, project="P", redacting=now))
        other = line | {"payload": {"proposition": "ask anna@example.org again"}}
        with pytest.raises(EventConflictError):
            repeats(taken, read_command(other, actor=HUMAN, project="P"))
