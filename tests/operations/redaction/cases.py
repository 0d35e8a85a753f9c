"""Texts with secrets in them, built from parts: no file holds what a scanner would take for a token."""

from __future__ import annotations

import base64
import dataclasses
import json
import random
import string

LOWER = string.ascii_lowercase
HEX = "0123456789abcdef"
MIXED = string.ascii_letters + string.digits
BASE32 = string.ascii_uppercase + "234567"


@dataclasses.dataclass(frozen=True)
class Case:
    """A text, what must not survive in it, and what must."""

    kind: str
    text: str
    gone: tuple[str, ...]
    kept: tuple[str, ...] = ()


def some(seed: object, letters: str, length: int) -> str:
    """Return letters that look issued: the same for the same seed, of every sort that `letters` has."""
    dice = random.Random(f"{seed}")
    sorts = [
        sort
        for sort in (string.ascii_lowercase, string.ascii_uppercase, string.digits)
        if set(sort) & set(letters)
    ]
    start = [dice.choice(sorted(set(sort) & set(letters))) for sort in sorts][:length]
    return "".join(start + dice.choices(letters, k=length - len(start)))


def luhn(prefix: str, length: int) -> str:
    """Return a number with a valid check digit."""
    digits = prefix + some(prefix, string.digits, length - len(prefix) - 1)
    total = sum(sum(divmod(int(digit) * (2 - place % 2), 10)) for place, digit in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def iban(country: str, account: str) -> str:
    """Return an account number with valid check digits."""
    number = int("".join(str(int(c, 36)) for c in f"{account}{country}00"))
    return f"{country}{98 - number % 97:02d}{account}"


def fours(text: str) -> str:
    """Return `text` in groups of four."""
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


PASSWORD = "tr0ub4dor&3-" + some("password", MIXED, 6)

TOKENS = {
    "opsconsole": f"ops_{some(1, LOWER + string.digits, 12)}_{some(2, MIXED, 43)}",
    "anthropic": f"sk-ant-api03-{some(3, MIXED, 80)}AA",
    "openai": f"sk-{some(4, MIXED, 48)}",
    "openai project": f"sk-proj-{some(5, MIXED + '_-', 70)}",
    "aws": f"AKIA{some(6, BASE32, 16)}",
    "aws temporary": f"ASIA{some(7, BASE32, 16)}",
    "aws session": f"IQoJb3JpZ2lu{some(8, MIXED + '+/', 200)}",
    "github": f"ghp_{some(9, MIXED, 36)}",
    "github fine": f"github_pat_{some(10, MIXED, 22)}_{some(11, MIXED, 59)}",
    "gitlab": f"glpat-{some(12, MIXED, 20)}",
    "slack": f"xoxb-{some(13, string.digits, 12)}-{some(14, string.digits, 12)}-{some(15, MIXED, 24)}",
    "stripe": f"sk_live_{some(16, MIXED, 24)}",
    "stripe webhook": f"whsec_{some(17, MIXED, 32)}",
    "sendgrid": f"SG.{some(18, MIXED, 22)}.{some(19, MIXED, 43)}",
    "npm": f"npm_{some(20, MIXED, 36)}",
    "pypi": f"pypi-AgEIcHlwaS5vcmc{some(21, MIXED, 80)}",
    "google": f"AIza{some(22, MIXED, 35)}",
    "google oauth": f"ya29.{some(23, MIXED, 100)}",
    "huggingface": f"hf_{some(24, string.ascii_letters, 34)}",
    "jwt": f"eyJ{some(25, MIXED, 30)}.eyJ{some(26, MIXED, 40)}.{some(27, MIXED, 43)}",
    "telegram": f"{some(28, '123456789', 10)}:AA{some(29, MIXED, 33)}",
    "discord": f"M{some(30, MIXED, 23)}.{some(31, MIXED, 6)}.{some(32, MIXED, 38)}",
    "vault": f"hvs.{some(33, MIXED, 90)}",
    "digitalocean": f"dop_v1_{some(34, HEX, 64)}",
    "shopify": f"shpat_{some(35, HEX, 32)}",
    "linear": f"lin_api_{some(36, MIXED, 40)}",
    "notion": f"ntn_{some(37, MIXED, 46)}",
    "age": f"AGE-SECRET-KEY-1{some(38, string.ascii_uppercase + string.digits, 58)}",
    "azure": f"R32{8}Q~{some(39, MIXED, 34)}",
    "databricks": f"dapi{some(40, HEX, 32)}",
    "groq": f"gsk_{some(41, MIXED, 52)}",
}

KEY_BODY = "\n".join(some(f"pem{line}", MIXED + "+/", 64) for line in range(4))
BEGIN, END = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
SECRET = some("secret", MIXED, 26)
_BASIC = base64.b64encode(f"deploy:{PASSWORD}".encode()).decode()
_WRAPPED = base64.b64encode(f"aws_secret_access_key={SECRET}\nregion=eu".encode()).decode()
VISA, AMEX = luhn("4993", 16), luhn("3787", 15)
ACCOUNT = iban("DE", "491689808248938843")
MAIL = "ola.nordmann+billing@example.co.uk"

NAMED = [
    Case(
        "key",
        json.dumps({"user": "svc", "password": PASSWORD, "retries": 3}),
        (PASSWORD,),
        ("svc", "retries"),
    ),
    Case(
        "nested",
        json.dumps({"a": {"Password": PASSWORD}, "b": [{"apiKey": SECRET}], "ok": True}),
        (PASSWORD, SECRET),
    ),
    Case(
        "object",
        json.dumps({"credentials": {"user": "u1", "pin": "918647"}, "next": "keep"}),
        ("918647",),
        ("keep",),
    ),
    Case("number", json.dumps({"otp": 717040, "attempt": 2}), ("717040",), ("attempt",)),
    Case("list", json.dumps({"x-api-key": [SECRET]}), (SECRET,)),
    Case(
        "name and value",
        json.dumps([{"name": "X-Api-Key", "value": SECRET}, {"name": "Accept", "value": "*/*"}]),
        (SECRET,),
        ("X-Api-Key", "*/*"),
    ),
    Case(
        "otlp attribute", json.dumps({"key": "db.password", "value": {"stringValue": PASSWORD}}), (PASSWORD,)
    ),
    Case(
        "pairs",
        json.dumps([["authorization", f"Bearer {SECRET}"], ["accept", "*/*"]]),
        (SECRET,),
        ("accept", "*/*"),
    ),
    Case("arguments", json.dumps(["--password", PASSWORD, "--host", "db"]), (PASSWORD,), ("--host", "db")),
    Case(
        "curl arguments",
        json.dumps(["curl", "-u", f"admin:{SECRET}", "https://x.example"]),
        (SECRET,),
        ("x.example",),
    ),
    Case(
        "kubernetes", json.dumps({"kind": "Secret", "data": {"anything": _BASIC}}), (_BASIC,), ("anything",)
    ),
    Case(
        "secret as key",
        json.dumps({"sessions": {TOKENS["github"]: {"user": "amy"}}}),
        (TOKENS["github"],),
        ("amy",),
    ),
    Case("named twice", f'{{"password":"{PASSWORD}","password":null}}', (PASSWORD,)),
    Case(
        "json in string",
        json.dumps({"body": json.dumps({"client_secret": SECRET, "grant": "cc"})}),
        (SECRET,),
        ("grant",),
    ),
    Case(
        "json in json in string",
        json.dumps({"a": json.dumps({"b": json.dumps({"token": SECRET, "page": 1})})}),
        (SECRET,),
        ("page",),
    ),
    Case(
        "escaped name",
        json.dumps({"args": '{"\\u0070assword":"' + PASSWORD + '","n":1}'}),
        (PASSWORD,),
        ("args",),
    ),
    Case("client address", json.dumps({"client_ip": "10.1.2.3", "status": 200}), ("10.1.2.3",), ("status",)),
    Case("phone", json.dumps({"phone": "0912 345 678", "ok": 1}), ("0912 345 678",), ("ok",)),
    Case("card number", json.dumps({"charged": int(VISA), "currency": "EUR"}), (VISA,), ("EUR",)),
]

WRITTEN = [
    Case(
        "pem",
        f"loaded key:\n{BEGIN}\n{KEY_BODY}\n{END}\ndone",
        tuple(KEY_BODY.split("\n")),
        ("loaded key:", "done"),
    ),
    Case(
        "pem cut",
        f"{BEGIN}\n{KEY_BODY}\n…[truncated 1.2 kB]",
        tuple(KEY_BODY.split("\n")),
        ("[truncated 1.2 kB]",),
    ),
    Case("pem tail", f"out:\n{KEY_BODY}\n{END}\nok", tuple(KEY_BODY.split("\n")), ("out:", "ok")),
    Case(
        "pem escaped",
        f"key={BEGIN}\\n" + KEY_BODY.replace("\n", "\\n") + f"\\n{END}",
        tuple(KEY_BODY.split("\n")),
    ),
    Case(
        "ini",
        f"[default]\naws_secret_access_key = {SECRET}\nregion = eu",
        (SECRET,),
        ("[default]", "region = eu"),
    ),
    Case("environment", f'export DB_PASS="{SECRET}" && ./run --verbose', (SECRET,), ("./run --verbose",)),
    Case("no border", f"PGPASSWORD={SECRET} psql -h db", (SECRET,), ("psql -h db",)),
    Case(
        "odbc",
        f"Server=sql1;Database=crm;Pwd={SECRET};Encrypt=True",
        (SECRET,),
        ("Database=crm", "Encrypt=True"),
    ),
    Case("form", f"client_secret={SECRET}&scope=read", (SECRET,), ("scope=read",)),
    Case("yaml", f"data:\n  password: {SECRET}\ntype: Opaque", (SECRET,), ("type: Opaque",)),
    Case("prose", f"Sure! The admin password is: {SECRET}. Let me know.", (SECRET,), ("Let me know.",)),
    Case("call", f"connect(host='db', password='{SECRET}')", (SECRET,), ("host='db'",)),
    Case("cut json", f'{{"a": 1, "password": "{PASSWORD}", "b', (PASSWORD,), ('"a": 1',)),
    Case("cut list", f'headers=[{{"name": "X-Api-Key", "value": "{SECRET}"}}] done', (SECRET,), ("done",)),
    Case("flag", f"dump --host=db --password={SECRET} --all", (SECRET,), ("--host=db", "--all")),
    Case("flag apart", f"login --token {SECRET} --verbose", (SECRET,), ("--verbose",)),
    Case(
        "curl", f"curl -sS -u admin:{SECRET} https://jenkins.local/x", (SECRET,), ("https://jenkins.local/x",)
    ),
    Case("mysql", f"mysql -uroot -p{SECRET} db", (SECRET,), ("-uroot", "db")),
    Case("sshpass", f"sshpass -p '{SECRET}' ssh host", (SECRET,), ("ssh host",)),
    Case("netrc", f"machine api.example login me password {SECRET}", (SECRET,), ("machine api.example",)),
    Case("sql", f"CREATE USER bob IDENTIFIED BY '{PASSWORD}';", (PASSWORD,), ("CREATE USER bob",)),
    Case(
        "xml",
        f"<c><password>{PASSWORD.replace('&', '')}</password><port>5432</port></c>",
        (PASSWORD.replace("&", ""),),
        ("5432",),
    ),
    Case("bearer", f"authorization:   bearer    {SECRET}\naccept: */*", (SECRET,), ("accept: */*",)),
    Case("basic", f"Authorization: Basic {_BASIC}", (_BASIC,), ("Authorization",)),
    Case(
        "signed",
        f"Authorization: AWS4-HMAC-SHA256 Credential=x, Signature={some('sig', HEX, 64)}",
        (some("sig", HEX, 64),),
        ("Authorization",),
    ),
    Case("cookie", f"Cookie: theme=dark; sessionid={SECRET}\nhost: x", (SECRET,), ("theme=dark", "host: x")),
    Case("set cookie", f"Set-Cookie: sid={SECRET}; Path=/; HttpOnly", (SECRET,), ("Path=/; HttpOnly",)),
    Case("userinfo", f"redis://:{SECRET}@cache:6379/0 unreachable", (SECRET,), ("cache:6379/0 unreachable",)),
    Case(
        "token as user",
        f"git clone https://x:{TOKENS['github']}@github.com/a/b.git",
        (TOKENS["github"],),
        ("github.com/a/b.git",),
    ),
    Case("query", f"GET /v1/x?api_key={SECRET}&limit=10 HTTP/1.1", (SECRET,), ("limit=10 HTTP/1.1",)),
    Case(
        "fragment",
        f"https://a.example/cb#access_token={SECRET}&token_type=bearer",
        (SECRET,),
        ("token_type=bearer",),
    ),
    Case("signature", f"https://a.example/f.bin?sp=r&sig={SECRET}%3D", (SECRET + "%3D",), ("f.bin", "sp=r")),
    Case(
        "webhook",
        f"POST https://hooks.slack.com/services/T{some(1, MIXED, 9)}/B{some(2, MIXED, 9)}/{SECRET} -> 200",
        (SECRET,),
        ("hooks.slack.com", "200"),
    ),
    Case("manifest", f"kind: Secret\ndata:\n  anything: {_BASIC}\n", (_BASIC,), ("kind: Secret", "anything")),
    Case("base64", f"file creds: {_WRAPPED}", (_WRAPPED, _WRAPPED[8:40]), ("file creds",)),
    Case("percent", f"next=token%3D{SECRET}%26page%3D1", (SECRET,), ("next=",)),
    Case("full width", f"ｐａｓｓｗｏｒｄ：{SECRET} keep", (SECRET,), ("keep",)),
    Case(
        "zero width",
        f"see {TOKENS['github'][:9]}\u200b{TOKENS['github'][9:]} here",
        (TOKENS["github"][9:],),
        ("here",),
    ),
    Case("tool name", f"lookup_{TOKENS['stripe']}", (TOKENS["stripe"],), ("lookup_",)),
    Case("far behind", "x" * 65510 + " " + TOKENS["github"] + " tail", (TOKENS["github"],), ("tail",)),
    Case("mail", f"contact Ola at {MAIL} today", (MAIL,), ("contact Ola at", "today")),
    Case("mail idn", "skriv til jürgen@bücher.example nå", ("jürgen@bücher.example",), ("skriv til", "nå")),
    Case("mail encoded", "unsubscribe?email=amy.w%40example.org&id=7", ("amy.w%40example.org",), ("id=7",)),
    Case("card", f"charged {fours(VISA)} for 12.00 EUR", (fours(VISA),), ("for 12.00 EUR",)),
    Case("amex", f"Amex {AMEX[:4]} {AMEX[4:10]} {AMEX[10:]} exp", (AMEX[10:],), ("exp",)),
    Case("ssn", "SSN 536-22-" + "8726 on file", ("536-22-" + "8726",), ("on file",)),
    Case("iban", f"transfer to {ACCOUNT} ref 88", (ACCOUNT,), ("ref 88",)),
    Case("iban spaced", f"pay {fours(ACCOUNT)} now", (fours(ACCOUNT),), ("pay", "now")),
    Case("phone", "call +47 912 34 567 after 9", ("+47 912 34 567",), ("after 9",)),
    Case("phone us", "tel: (415) 555-0132 ext 4", ("(415) 555-0132",), ("tel:", "ext 4")),
    Case("ip", "from 203.0.113.77:443", ("203.0.113.77",), ("443",)),
    Case(
        "ipv6", "peer [2001:db8:85a3::8a2e:370:7334]:443 reset", ("2001:db8:85a3::8a2e:370:7334",), ("reset",)
    ),
    Case("home", "/home/amy.wong/.ssh/config", ("amy.wong",), (".ssh/config",)),
    Case("home windows", "C:\\Users\\amy.wong\\x.log", ("amy.wong",), ("x.log",)),
]

SHAPED = [
    Case(kind, f"401 for {token} (expired)", (token, token[-16:]), ("401 for", "(expired)"))
    for kind, token in TOKENS.items()
]
ALL = [*SHAPED, *NAMED, *WRITTEN]

NEAR = [
    "operation 3f2b8c1e-9d47-4a5b-8c21-0e6f5a9b7d10 finished",
    json.dumps({"trace_id": some(1, HEX, 32), "span_id": some(2, HEX, 16)}),
    f"input digest sha256:{some(3, HEX, 64)} approved",
    f"ghcr.io/acme/app@sha256:{some(4, HEX, 64)}",
    "01JDXK5W3V8Q2M7N4P6R9S1T0Z started",
    "ts=1764500000005 ms, ns=1764500000005123456",
    f"order {int(VISA) + 1} shipped",
    json.dumps({"rows_scanned": 123456789012345678, "bytes": 98765432109876}),
    "123-45-678, 000-12-3456 and 666-12-3456",
    json.dumps({"usage": {"input_tokens": 1532, "output_tokens": 88}, "max_tokens": 4096, "tokens": 7}),
    json.dumps(
        {"tokenizer": "cl100k_base", "token_type": "bearer", "expires_in": 3600, "next_page_token": "abc"}
    ),
    json.dumps({"author": "Ola", "authority": "https://login.example", "authored_at": "2026-01-01"}),
    json.dumps(
        {
            "primary_key": "id",
            "public_key": "x",
            "key": "name",
            "partition_key": "p",
            "secret_name": "prod/db",
        }
    ),
    json.dumps(
        {
            "secretary": "Kim",
            "secret_santa": True,
            "passed": 12,
            "passenger": "Lee",
            "pass_rate": 0.98,
            "pass": 3,
        }
    ),
    json.dumps({"password": None, "api_key": "", "token": False, "has_secret": True}),
    json.dumps(
        {"password": "********", "api_key": "[REDACTED]", "token": "[Filtered]", "secret": "${SECRET}"}
    ),
    json.dumps({"properties": {"password": {"type": "string", "description": "the new one"}}}),
    "Please reset your password and try again. The password field is required.",
    "the bearer of bad news; a standard bearer for the team",
    "Basic auth is enabled; Authorization required",
    "token: expired. password: must be longer. api key: invalid",
    "curl -H 'Authorization: Bearer $API_TOKEN' https://api.example.com",
    "password: {{ vault_db_password }} / api_key=${API_KEY} / token=<YOUR_TOKEN>",
    "-----BEGIN PUBLIC KEY-----\n" + KEY_BODY + "\n-----END PUBLIC KEY-----",
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{some(5, MIXED, 43)}",
    f"pk_live_{some(6, MIXED, 24)} is a publishable key",
    "AKIA123 is not a key; AKIArandomlowercaseabcd neither",
    "sk-learn-pipeline-with-a-long-name and task-abcdefghijklmnopqrstuvwxyz0123456789",
    "Windows 10.0.19045.3803, Chrome/131.0.6778.86, lib 1.2.3.4-beta, app/100.0.48.96",
    "listening on 127.0.0.1:8000 and [::1]:8000, 0.0.0.0, peer 10.0.0.5",
    "npm i @types/node@22.1.0 left-pad@1.3.0; logo@2x.png",
    "@app.task(bind=True)\n@pytest.mark.django_db",
    "git@github.com:acme/app.git cloned",
    "https://medium.com/@alice/post-1 and https://x.example/a@b/c?code=200&key=name",
    "arn:aws:iam::123456789012:role/deploy std::vector a::b",
    "build 2026-11-30 14:05:09, range 1000-2000, ratio 16:9, isbn 978-3-16-148410-0",
    "secret = get_secret('db')\ntoken = request.headers['authorization']\npassword = os.environ[\"DB_PASSWORD\"]",
    "def login(password: str, token: Optional[str] = None): self.password = password",
    "docker run -u 1000:1000 -p 8080:80 image",
    "/usr/share/app and /home and C:\\Users and /home/runner/work, PWD=/srv/app",
    "hello…world “quoted” – m² ½ naïve café 日本語 👩‍👩‍👧 100% of it%20",
]
