"""Lines with secrets and personal data in them, and lines that only look so: what redaction is measured by.

What is to be found stands between guillemets, with its kind before it: ``«email|a@b.org»``. Tokens are put together
here, so that none stands in a file as it would be found in the wild.
"""

from __future__ import annotations

import base64
import json
import random

_RANDOM = random.Random(20_261_130)
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def _drawn(count: int, alphabet: str = _LETTERS) -> str:
    """Characters drawn by lot, among them always a letter of each case and a digit where the alphabet has them."""
    while True:
        text = "".join(_RANDOM.choice(alphabet) for _ in range(count))
        if any(map(str.isdigit, text)) and (alphabet != _LETTERS or (text.lower() != text and text.upper() != text)):
            return text


def _hex(count: int) -> str:
    return _drawn(count, "0123456789abcdef")


def _segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _jwt() -> str:
    return f"{_segment({'alg': 'HS256', 'typ': 'JWT'})}.{_segment({'sub': _hex(8), 'admin': True})}.{_drawn(43)}"


def _key_block(name: str, broken: str = "\n") -> str:
    lines = [f"-----BEGIN {name}PRIVATE KEY-----", *(_drawn(64) for _ in range(3)), _drawn(20) + "=="]
    return broken.join([*lines, f"-----END {name}PRIVATE KEY-----"])


def _issued() -> list[tuple[str, str]]:
    upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    forge = (
        *(f"gh{of}_{_drawn(36)}" for of in "pousr"),
        f"github_pat_{_drawn(22)}_{_drawn(59)}",
        f"glpat-{_drawn(20)}",
        f"gldt-{_drawn(20)}",
        f"ATBB{_drawn(32)}",
        f"npm_{_drawn(36)}",
        f"pypi-AgEIcHlwaS5vcmc{_drawn(60)}",
        f"dckr_pat_{_drawn(27)}",
    )
    cloud = (
        f"AKIA{_drawn(16, upper)}",
        f"ASIA{_drawn(16, upper)}",
        f"AIza{_drawn(35)}",
        f"GOCSPX-{_drawn(28)}",
        f"ya29.{_drawn(60)}",
        f"dop_v1_{_hex(64)}",
        f"LTAI{_drawn(20)}",
        f"dapi{_hex(32)}",
        f"hvs.{_drawn(90)}",
        f"{_drawn(14)}.atlasv1.{_drawn(67)}",
        f"{_drawn(3)}8Q~{_drawn(34)}",
    )
    service = (
        f"sk-{_drawn(48)}",
        f"sk-proj-{_drawn(20)}_{_drawn(40)}",
        f"sk-ant-api03-{_drawn(80)}",
        f"sk_live_{_drawn(24)}",
        f"rk_test_{_drawn(24)}",
        f"whsec_{_drawn(32)}",
        f"xoxb-{_drawn(11, '0123456789')}-{_drawn(12, '0123456789')}-{_drawn(24)}",
        f"xapp-1-A{_drawn(9, upper)}-{_drawn(12, '0123456789')}-{_hex(64)}",
        f"hf_{_drawn(34)}",
        f"SG.{_drawn(22)}.{_drawn(43)}",
        f"SK{_hex(32)}",
        f"key-{_hex(32)}",
        f"{_hex(32)}-us12",
        f"shpat_{_hex(32)}",
        f"sq0csp-{_drawn(43)}",
        f"glsa_{_drawn(32)}_{_hex(8)}",
        f"lin_api_{_drawn(40)}",
        f"PMAK-{_hex(24)}-{_hex(34)}",
        f"NRAK-{_drawn(27, upper)}",
        f"sbp_{_hex(40)}",
        f"dp.pt.{_drawn(43)}",
        f"r8_{_drawn(37)}",
        f"gsk_{_drawn(52)}",
        f"1{_drawn(8, '0123456789')}:AA{_drawn(33)}",
        f"AGE-SECRET-KEY-1{_drawn(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L')}",
    )
    found = [("forge-token", token) for token in forge] + [("cloud-key", token) for token in cloud]
    return found + [("service-token", token) for token in service] + [("jwt", _jwt()) for _ in range(4)]


_PERSONAL = """
email|anna.meier@example.org
email|o.reilly+news@mail.example.co.uk
email|J_SMITH99@EXAMPLE.COM
email|team-42@sub.domain.museum
email|jos\u00e9@correo.example
payment-card|4111111111111111
payment-card|4111 1111 1111 1111
payment-card|5555-5555-5555-4444
payment-card|378282246310005
payment-card|3782 822463 10005
payment-card|6011111111111117
payment-card|30569309025904
payment-card|3530111333300000
payment-card|6200000000000005
payment-card|2223003122003222
iban|DE89370400440532013000
iban|DE89 3704 0044 0532 0130 00
iban|GB29 NWBK 6016 1331 9268 19
iban|FR1420041010050500013M02606
iban|NL91ABNA0417164300
iban|CH93 0076 2011 6238 5295 7
iban|NO9386011117947
iban|MT84MALT011000012345MTLCAST001S
br-cpf|529.982.247-25
br-cpf|52998224725
br-cnpj|11.222.333/0001-81
br-cnpj|11222333000181
us-ssn|219-09-9999
us-ssn|078-05-1120
gb-nino|AB123456C
gb-nino|AB 12 34 56 C
es-dni|12345678Z
es-dni|12345678-Z
es-dni|X1234567L
it-codice-fiscale|RSSMRA85T10A562S
fr-nir|255081416802538
fr-nir|2 55 08 14 168 025 38
be-nn|85.07.30-033.28
se-personnummer|811228-9874
se-personnummer|19811228-9874
fi-hetu|131052-308T
pl-pesel|44051401359
kr-rrn|971013-9019902
cn-resident-id|11010519491231002X
in-aadhaar|2341 2341 2346
ch-ahv|756.9217.0769.85
cl-rut|12.531.909-2
ar-cuit|20-05536168-2
mx-curp|BOXW310820HNERXN09
sg-nric|S1234567D
tr-tckn|17291716060
no-fnr|15108695088
"""
_TOLD = """
password = "«password|correct-horse-9»"
password: «password|Tr0ub4dor&3»
passwd=«password|hunter2»
DB_PASSWORD=«password|letmein»
export PGPASSWORD=«password|s3cr3tpg»
"password": "«password|qwertz»"
'password': '«password|pass phrase»'
{\\"password\\": \\"«password|escaped1»\\"}
user.password := `«password|tick9tock»`
passphrase: "«password|correct horse battery staple»"
the password is «password|Winter2024!»
Das Passwort ist «password|Sommer#7»
senha=«password|abcd1234»
pwd=«password|Zx81spectrum»;database=main
spring.datasource.password=«password|changeit1»
mysql --user root --password=«password|r00tpw»
psql --password «password|p0stgres»
curl -u deploy:«password|tok3nvalue» https://ci.example.org/job
curl --user 'admin:«password|S3cure!Pass»' https://example.org
<password>«password|xmlpass1»</password>
ALTER USER app IDENTIFIED BY '«password|sqlpass9»';
CREATE ROLE app LOGIN PASSWORD '«password|rolepass7»';
api_key = "«secret|a1b2c3d4e5f6g7h8»"
API-Key: «secret|9f8e7d6c5b4a39281706»
x-api-key: «secret|Zk3Lm9Qp2Rt7Vw5X»
client_secret=«secret|8dyfuiRyq9vVc3RRr0edRk5p»
"access_token": "«secret|2YotnFZFEjr1zCsicMWpAA»"
auth token: «secret|f47ac10b58cc4372a567»
AccountKey=«secret|Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq==»
signing_key: «secret|kX9vB2nM4qW7eR1t»
refresh_token=«secret|1e0f8a7b6c5d4e3f»
https://files.example.org/a.pdf?sv=2022&sig=«signature|aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5z»
https://bucket.example.org/x?X-Amz-Signature=«signature|0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a6978»
Cookie: «cookie|session=8f14e45fceea167a5a36dedd4bea2543»
Set-Cookie: «cookie|sid=s%3Aj2xq9d8f7g6h5; Path=/»
Authorization: Basic «basic-auth|YWRtaW46aHVudGVyMg==»
Authorization: Bearer «bearer-token|mF_9.B5f-4.1JqM2kLpQ8»
authorization: bearer «bearer-token|abcdefghijklmnopqrst»
postgres://app:«url-password|pg-Secret1»@db.internal:5432/app
redis://:«url-password|r3dispass»@cache:6379/0
amqp://guest:«url-password|gu3st»@mq.example.org/%2f
https://bot:«url-password|x7Yz!»@git.example.org/repo.git
mongodb+srv://u:«url-password|m0ng0»@c0.example.net/db
in .htpasswd admin:«password-hash|$2b$12$KIXQv0m1n2o3p4q5r6s7tuVwXyZaBcDeFgHiJkLmNoPqRsTuVwXyZ»
root:«password-hash|$6$rounds5000$usesomesillystringforsalt$KqJWpanXZHKq2BOB43TSaYhEWsQ1Lr5QNyPCDH»:19000:0
IBAN: «iban|DE89 3704 0044 0532 0130 00» BIC COBADEFF
SSN «us-ssn|219-09-9999» was given on 2024-05-06
bsn «nl-bsn|111222333»
NHS number: «gb-nhs|943 476 5919»
SIN «ca-sin|046 454 286» of the applicant
tax file number «au-tfn|123 456 782»
Steuer-ID «de-steuer-id|36574261809»
NIF «pt-nif|501964843»
personnummer «se-personnummer|8112289874»
My Number «jp-my-number|1234 5678 9018»
aadhaar «in-aadhaar|234123412346»
ID number «za-id|8001015009087»
write to «email|anna.meier@example.org», or call
From: Anna <«email|anna@example.org»>
mailto:«email|anna@example.org»?subject=x
card «payment-card|4111 1111 1111 1111», exp 12/27
"card_number":"«payment-card|5555555555554444»"
CPF «br-cpf|529.982.247-25»; CNPJ «br-cnpj|11.222.333/0001-81»
contact «email|a@b.org» or «email|c@d.org»
"""

# Lines that go on are cut where \u23ce stands.
_TOLD_OTHERWISE = """
the password is: «password|hunter2»
The password is: «password|letmein»
the root password is: «password|letmein»
the password for root is: «password|hunter2»
The password of the database is «password|Winter2024!».
password is set to «password|hunter2»
password was changed to «password|Hunter22»
the password is `«password|letmein»`
the password is "«password|letmein»"
the passphrase is "«password|correct horse battery staple»"
the password is «password|12345678»
**password:** «password|hunter2»
**Password**: «password|letmein»
__password__: «password|letmein»
*password:* `«password|tick»`
- **Password:** «password|letmein»
`password`: «password|hunter2»
<b>Password:</b> «password|hunter2»
<td>password</td><td>«password|hunter2»</td>
| password | «password|hunter2» |
| user | anna | password | «password|s3cret» |
password:\u23ce  «password|letmein»
password:\u23ce\u23ce    «password|hunter2»
password:\u23ce«password|hunter2»
Password:\u23ce```\u23ce«password|letmein»\u23ce```
password: |\u23ce  «password|letmein»
"password":\u23ce  "«password|letmein»"
password = \\\u23ce  "«password|letmein»"
api_key:\u23ce  «secret|a1b2c3d4e5f6g7h8»
password\u00a0: «password|letmein»
password:\u00a0«password|letmein»
password\uff1a«password|letmein»
password\uff1d«password|letmein»
\u5bc6\u7801\uff1a«password|hunter2»
\u5bc6\u7801\u662f«password|abc12345»
\u30d1\u30b9\u30ef\u30fc\u30c9\u306f«password|abc12345»\u3067\u3059
client_secret=«secret|QWERTYUIOPASDFGH»
client_secret: «secret|XKCDQWZPLMNB»
"client_secret": "«secret|ABCDEFGHIJKLMNOP»"
api_key="«secret|kjhgfdsaqwrtzxcv»"
secret: «secret|kXqWzRtYpLmNbVcD»
the api key is: «secret|a1b2c3d4e5f6»
the token is «secret|f47ac10b58cc4372a567»
postgres://u:«url-password|p4ss/w0rd»@h
postgres://u:«url-password|p4/s@s»@h:5432/db
mysql://root:«url-password|a/b#c?d»@db.example.org/app
user:«url-password|pw9»@tcp(localhost:3306)/db
mysql -u root -p«password|hunter2» db
mysqldump -p«password|s3cret» --all-databases
mysql -p'«password|pass phrase»' db
sshpass -p «password|hunter2» ssh root@h
sshpass -p'«password|hunter2»' ssh root@h
docker login -u me -p «password|hunter2» registry.example.org
redis-cli -h h -a «password|hunter2» ping
ldapsearch -x -D cn=admin -w «password|hunter2»
sqlplus scott/«password|tiger»@orcl
smbclient //srv/share -U anna%«password|hunter2»
echo «password|hunter2» | sudo -S apt update
echo "«password|root:hunter2»" | chpasswd
openssl enc -k «password|hunter2» -in f
keytool -storepass «password|changeit9» -list
zip -P «password|hunter2» out.zip f
net user anna «password|S3cret!» /add
htpasswd -cb /etc/htpasswd admin «password|hunter2»
gpg --batch --passphrase «password|hunter2» -d f
curl -u anna:«password|hunter2» https://x
«payment-card|4111\u00a01111\u00a01111\u00a01111»
«payment-card|4111.1111.1111.1111»
«payment-card|4111\u20091111\u20091111\u20091111»
«payment-card|4111\u202f1111\u202f1111\u202f1111»
«payment-card|4111\u20111111\u20111111\u20111111»
«iban|DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000»
Wachtwoord: «password|welkom01»
mot de passe : «password|soleil12»
le mot de passe est «password|soleil12»
\u043f\u0430\u0440\u043e\u043b\u044c: «password|qwerty12»
contrase\u00f1a: «password|secreto9»
La contrase\u00f1a es «password|secreto9»
contrasen\u0303a: «password|secreto9»
Has\u0142o: «password|tajne123»
has\u0142o to «password|tajne123»
\ube44\ubc00\ubc88\ud638: «password|abcd1234»
\u5bc6\u78bc\u70ba «password|abcd1234»
password - «password|hunter2»
password \u2013 «password|hunter2»
password -> «password|hunter2»
password (root): «password|letmein»
"""
_LOOK_ALIKE = """
The password is required, and must have at least 12 characters.
Passwords are hashed with argon2id before they are stored.
password: required
password: string
password = getpass.getpass()
password = os.environ["DB_PASSWORD"]
password=${DB_PASSWORD}
password={{ vault.db_password }}
password = settings.database.password
connect(user=user, password=password)
login(username, password=user_password)
"password": "<your password>"
"password": null
"password": ""
Password: ********
PASSWORD=changeme
pwd=/home/anna/projects
label: "Forgot password?"
error: "The password must not be empty"
The secret: never give up.
secret = get_secret("database")
secretName: app-credentials
secretKeyRef: name: database
token: string
token = next(tokens)
tokens: 1200
max_tokens=4096
"next_token": null
token_count: 100000
token: refresh-token-v2
a token bucket of 100 requests a minute
api_key = os.getenv("API_KEY")
API_KEY=your-api-key-here
api_key: <API_KEY>
primary_key = "id"
foreign key: order_id
key: value
sort_key=created_at
public key: none
The token expires: 2024-05-06T12:00:00Z
Authorization: Bearer <token>
Authorization: Bearer ${TOKEN}
Bearer authentication is described in RFC 6750.
A basic understanding of graphs is enough.
Basic authentication over TLS
sk-SK is the locale of Slovakia
class="sk-fading-circle sk-loading-spinner-wrapper"
sk-xxxxxxxxxxxxxxxxxxxxxxxx
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
ghp_short
AKIA is how their key ids begin
The file starts with -----BEGIN PRIVATE KEY----- and ends alike.
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
eyJ is how base64 of an object begins
git@github.com:owner/repository.git
ssh://git@example.org/repository.git
https://anna@example.org/inbox
scp build.tgz deploy@prod.example.org:/srv/app
npm install @scope/package@1.2.3
logo@2x.png and icon@3x.svg
@decorator and @property in Python
a@b where @ is matrix multiplication
user@localhost
https://example.org:8443/path
https://example.org/a:b/c
http://[::1]:8080/
time 12:34:56, ratio 16:9, port 127.0.0.1:7687
9fceb02d0ae598e95dc970b74767f19372d61af8
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
md5 d41d8cd98f00b204e9800998ecf8427e
550e8400-e29b-41d4-a716-446655440000
k-01ARZ3NDEKTSV4RRFFQ69G5FAV
01ARZ3NDEKTSV4RRFFQ69G5FAV
2024-05-06T07:08:09.123456Z
1700000000000
1700000000
20240506070809
v5.26.19, 17.0.12+7, 1.2.3-rc.4
ISBN 978-3-16-148410-0
ISSN 0378-5955
RFC 9110 and PEP 0484
+49 30 901820
+1 555 123 4567
555-123-4567
(030) 1234567
order 1234-5678-9012-3456
invoice 2024-000-123
part 123-45-678
0.4111111111111111
3.141592653589793
1234567890123456
4111 1111 1111 1112
DE00 3704 0044 0532 0130 00
DE12345 is a product
GB 12 years
529.982.247-26
111.111.111-11
000-12-3456
666-12-3456
12345678A
AB123456E
99999999999
12345678901
192.168.100.200
10.0.0.0/8
00:1a:2b:3c:4d:5e
52.520008, 13.404954
$1,234,567.89
1 234 567 890
0x7fffffffffffffff
18446744073709551615
2^63 = 9223372036854775808
#a1b2c3
price: 19.99 EUR
2024-W19-1
1e308
line 4111, column 1111
pages 123-456-789 of the atlas
the 000 000 000 reading
SELECT * FROM users WHERE id = 42
MATCH (n:Knowledge {project: $project}) RETURN n
for (let i = 0; i < 10; i++) {}
$2 and $6 are arguments in awk
cookie: none
The cookie banner accepts all.
Set-Cookie is a response header.
--token is an option
--password prompts
use -u for unbuffered
dp.pt is a domain
sl. and SG. are abbreviations
key-value stores
hf_ is a prefix of theirs
my_secret_ingredient is salt
a pass: yes
PASS: test_model
Passing grade: 4
compass: north
bypass=true
passenger: Anna
The pin is 4 cm long.
secretary: Anna
a credential: none
tokenizer: o200k_base
[REDACTED:password]
password: [REDACTED:password]
https://u:[REDACTED:url-password]@example.org/
\u00dcber 4111 St\u00e4dte
\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669\u0660\u0661
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
Mango is 3 EUR a kilo, DE2024 is a code
XS12 3456 7890 1234 5678
version=1.10.0&page=2
signature: def f(x: int) -> str
?sig=short
x-amz-date: 20240506T070809Z
the password is required
password: required
the token is: expired
the password is: required
The password is weak.
the password is: too short
Password:\u23ceForgot your password?
Username:\u23cePassword:\u23ceLogin
password:\u23ce  required: true
password:\u23ce  type: string
password:\u23ce  string
DB_PASSWORD=\u23ceDB_HOST=localhost
| password | string |
| password | the user's password |
echo $password | base64
cat password | sha256sum
password - must be long
https://example.org:8443/npm/@scope/pkg@1.2.3
git+ssh://git@github.com:owner/repo.git@v1.0
docker://alpine:3.19@sha256:abcdef
http://localhost:8080/@user
mysql -p mydb
mysql -P 3306 -h db
docker run -p 8080:80 nginx
ssh -p 2222 host
the login page -p option
zip -r out.zip dir
unzip -p a.zip f
the key is: value
the secret is: never give up
secret: IMPORTANT
client_secret: CLIENT_SECRET
api_key=YOUR_API_KEY
api_key: CHANGEMEPLEASE
token: authorizationcode
password is: the one you set
the password is not stored
the password was changed yesterday
net user growth was 5 percent
sqlplus and/or rman
The secret token is described in section 4.
password = (\u23ce    os.environ["X"])
4111.1111.1111.1112
version 1.2.3.4 and 10.20.30.40
\u5bc6\u7801\u662f\u5fc5\u586b\u7684
\u5bc6\u7801\uff1a\u8bf7\u8f93\u5165
Passwords:\u23ce- at least 8 characters
password policy:\u23ce  strict
password reset: done
token:\u23ce  refresh
Le mot de passe est obligatoire
passwd -l anna
echo done | tee log
/p:x86
msbuild /p:Configuration=Release
7z a -p out.7z
keyboard: qwertz
tokens are: short
The API key is a string of 32 characters.
Authentication: the password is "required"
"""

_CLEAN_FRAMES = ("{}", "It says {} there.", "- {}\n- next", '{{"note": {}}}')


def _marked(kind: str, value: str) -> str:
    return f"\u00ab{kind}|{value}\u00bb"


def _lines() -> list[str]:
    frames = ("{}", "it is {}, he said", "key={}", '{{"value": "{}"}}', "see ({}) below")
    found = [frames[at % len(frames)].format(_marked(*token)) for at, token in enumerate(_issued())]
    found += [frames[(at + 2) % len(frames)].format(_marked(*token)) for at, token in enumerate(_issued())]
    personal = [line.split("|") for line in _PERSONAL.split("\n") if line]
    found += [
        frames[(at + turn) % len(frames)].format(_marked(*line))
        for turn in range(2)
        for at, line in enumerate(personal)
    ]
    blocks = [_key_block(name) for name in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")] + [_key_block("", "\\n")]
    found += [f"before\n{_marked('private-key', block)}\nafter" for block in blocks]
    told = [line.replace("\u23ce", "\n") for line in (_TOLD + _TOLD_OTHERWISE).split("\n") if line]
    alike = [line.replace("\u23ce", "\n") for line in _LOOK_ALIKE.split("\n") if line]
    found += told + alike
    made = [_hex(40), _hex(64), f"{_hex(8)}-{_hex(4)}-4{_hex(3)}-a{_hex(3)}-{_hex(12)}", f"e-{_drawn(26).upper()}-0"]
    at = 0
    while len(found) < LINES:
        found.append(_CLEAN_FRAMES[at % len(_CLEAN_FRAMES)].format((made + alike)[at % (len(made) + len(alike))]))
        at += 1
    return found


LINES = 700
CORPUS: tuple[str, ...] = tuple(_lines())
"""The lines, with what is to be found in them marked."""
