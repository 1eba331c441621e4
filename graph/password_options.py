"""Passwords on command lines: options that carry one in any program, and those that do so in a few alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from graph.placeholders import explains
from graph.scanning import Seen, Span

_COMMAND_CHARS = 400  # behind a program's name, in which its options are looked for
# Not what was taken out already; of one that does not stand alone, explains tells.
_VALUE = (
    r"""(?!["']?\[REDACTED:[a-z-]{1,40}\]["']?(?:\s|\Z))"""
    r"""(?:"([^"\n]{1,200}+)"|'([^'\n]{1,200}+)'|([^\s"';|&<>()`-][^\s"';|&<>()`]*+))"""
)
_USER = r"""["']?[^\s:,%/"']{1,100}+"""


def _form(before: str, value: str = _VALUE) -> re.Pattern[str]:
    return re.compile(before + value)


_SEPARATE_OR_ATTACHED = r"(?<=\s)-%s(?:[ =]|(?=[^\s=]))[ ]?"
# By the programs: the option, or what else stands before the password.
_OF_PROGRAMS: Mapping[str, re.Pattern[str]] = {
    "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlsh mysqlpump mysqlbinlog mycli "
    "mariadb mariadb-dump mariadb-admin mariadb-backup xtrabackup": _form(r"(?<=\s)-p(?=\S)"),
    "7z 7za 7zz 7zr rar unrar": _form(r"(?<=\s)-h?p(?=\S)"),
    "sshpass": _form(_SEPARATE_OR_ATTACHED % "p"),
    "docker podman nerdctl buildah skopeo crane helm oc az cf": _form(r"(?<=\s)login\s(?:[^\n]{0,200}?\s)?-p[ =]"),
    "unlock-keychain mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh cypher-shell "
    "arangosh nodetool rdesktop": _form(r"(?<=\s)-p[ =]"),
    "xfreerdp wlfreerdp": _form(r"(?<=\s)/p:"),
    "redis-cli redli": _form(r"(?<=\s)-a[ =]"),
    "ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldapcompare ldapmodrdn ldapexop": _form(
        _SEPARATE_OR_ATTACHED % "w"
    ),
    "ldappasswd": _form(_SEPARATE_OR_ATTACHED % "[aws]"),
    "sqlcmd bcp osql isql tsql mssql-cli mosquitto_pub mosquitto_sub ipmitool zip unzip": _form(
        _SEPARATE_OR_ATTACHED % "P"
    ),
    "snmpwalk snmpget snmpset snmpbulkwalk": _form(r"(?<=\s)-[AX][ ]"),
    "smbclient rpcclient": _form(rf"(?<=\s)-U[ ]?{_USER}%", r"([^\s\"']{1,200}+)"),
    "sqlplus expdp impdp sqlldr rman": _form(r"(?<=\s)[\w$.]{1,60}/", r"(?=[^\s/])([^\s@\"']{1,200}+)(?=@|\s*\Z)"),
    "lftp": _form(rf"(?<=\s)-u[ ]?{_USER},", r"([^\s\"']{1,200}+)"),
    "htpasswd": _form(
        r"(?<=\s)-[A-Za-z]{0,5}b[A-Za-z]{0,5}[ ]+(?:[^\s-]\S{0,200}+[ ]+){1,2}(?=\S+(?:\s*\Z|[ ]*[\n;|&]))"
    ),
    "rabbitmqctl": _form(r"(?<=\s)(?:add_user|change_password|authenticate_user)[ ]+\S{1,100}+[ ]+"),
    "net": _form(r"(?<=\s)user[ ]+[^\s/]{1,100}+[ ]+(?=[^\s/]\S*[ ]+/)"),
    "wpa_passphrase": _form(r"[ ]+(?:\"[^\"\n]{1,64}\"|\S{1,64}+)[ ]+"),
    "nmcli": _form(r"(?<=\s)(?:password|wifi-sec\.psk|802-11-wireless-security\.psk)[ ]+"),
    "openssl": _form(r"(?<=\s)-[kK][ ]+"),
    "useradd usermod": _form(r"(?<=\s)-p[ ]+"),
    "vault": _form(r"(?<=\s)login[ ]+(?=[hs]\.|hv)"),
    "aws": _form(r"(?<=\s)aws_(?:secret_access_key|session_token)[ ]+"),
}
_PROGRAMS = {name: form for names, form in _OF_PROGRAMS.items() for name in names.split()}
_WHOLE_COMMAND = re.compile(
    rf"""(?:"[^"\n]{{0,200}}+"|'[^'\n]{{0,200}}+'|[^\n|;&"']){{0,{_COMMAND_CHARS}}}+\S{{0,200}}+"""
)
_LONG = _form(
    r"--(?:[a-z0-9]{1,20}+-){0,4}(?:password|passwd|passphrase|pass|pwd|token|secret|api-key|secret-key|access-key"
    r"|(?<=-)auth|psk)(?:[ ]+(?=\S{4})|=)"
)
_SHORT = _form(
    r" -(?:password|passwd|passphrase|pass|pw|passin|passout|(?:src|dest)?storepass|(?:src|dest)?keypass|token)[ ]+"
)
_SLASHED = _form(r"/(?:pass|password|pwd):(?=\S)")
_CREDENTIALS = re.compile(rf""" -[uU][ =]?{_USER}:([^\s"']{{3,}}+)""")
_LONG_CREDENTIALS = re.compile(rf"""--(?:proxy-user|user|auth|creds)[ =]{_USER}:([^\s"']{{3,}}+)""")
_OF_A_WORD = re.compile(r"[\w.-]")
_PIPED = re.compile(
    rf"""(?:echo|printf)[ ]+(?:-[neE]{{1,3}}[ ]+)?(?:'%s(?:\\n)?'[ ]+)?{_VALUE}[ ]*\|[^\n|]{{0,60}}?
    (?:sudo[ ]+-[A-Za-z]*S|--password-stdin|--stdin|--passphrase-fd|chpasswd|kinit|smbpasswd|cryptsetup)""",
    re.VERBOSE,
)
_ELEMENT = re.compile(r"<(?i:password|passwd|pwd|secret|token|apikey)>([^<\s]{3,}+)</")
_QUOTED = re.compile(r"(?i:password|identified by)[ ]+'([^'\n]{3,200}+)'")
# By what must be somewhere in the text in lower case.
_EVERYWHERE = (
    ("--", _LONG),
    (" -", _SHORT),
    (" -u", _CREDENTIALS),
    ("--", _LONG_CREDENTIALS),
    ("/p", _SLASHED),
    ("</", _ELEMENT),
    ("echo", _PIPED),
    ("printf", _PIPED),
)


def on_command_lines(seen: Seen) -> Iterator[Span]:
    """The passwords that options carry, in no order."""
    for found in _found(seen):
        start, end = found.span(found.lastindex or 0)
        if not explains(seen.text[start:end]):
            yield start, end, "password"


def _found(seen: Seen) -> Iterator[re.Match[str]]:
    for part, form in _EVERYWHERE:
        if seen.holds(part):
            yield from form.finditer(seen.text)
    for part in ("password", "identified"):
        yield from seen.matches(part, _QUOTED)
    for program, form in _PROGRAMS.items():
        if seen.holds(program):
            for start, end in _commands(seen.text, program):
                yield from form.finditer(seen.text, start, end)


def _commands(text: str, program: str) -> Iterator[tuple[int, int]]:
    """Where the arguments of a program start and end, each time it is called; none of them are looked at twice."""
    at = text.find(program)
    while at >= 0:
        end = behind = at + len(program)
        stands_alone = text[behind : behind + 1].isspace() and (at == 0 or not _OF_A_WORD.match(text[at - 1]))
        if stands_alone and (command := _WHOLE_COMMAND.match(text, behind)):
            end = command.end()
            yield behind, end
        at = text.find(program, end)
