import asyncio
import gzip
import os
import shutil
import ssl
import subprocess
import sys
import traceback
import zlib

import pytest
from clients import KEY, ask
from endpoint import Answer, Endpoint

from skillopt.errors import ConfigError
from skillopt.models.backends import _connection
from skillopt.models.backends._http import Direct, Proxied, open_poster
from skillopt.models.base import CallError, RoleModel
from skillopt.models.registry import backend_spec

BODY = b'{"model": "m", "messages": []}'
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def talk(handle, times=1):
    """Post against a server whose side of each connection is `handle(reader, writer)`."""

    async def main():
        async def serve(reader, writer):
            try:
                await handle(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                pass  # the client has gone
            finally:
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        direct = Direct(f"http://127.0.0.1:{port}/v1", {"Authorization": f"Bearer {KEY}"})
        try:
            return [await direct.post(BODY) for _ in range(times)]
        finally:
            await direct.close()
            server.close()

    return asyncio.run(main())


async def request_from(reader):
    """Read one request to its end; return it."""
    head = await reader.readuntil(b"\r\n\r\n")
    return head + await reader.readexactly(len(BODY))


def post(answer, times=1, poster=Direct, **options):
    async def main():
        async with Endpoint(answer if callable(answer) else lambda call: answer, **options) as endpoint:
            connection = poster(f"{endpoint.url}/chat/completions", {"X-A": "b"})
            try:
                responses = [await connection.post(BODY) for _ in range(times)]
            finally:
                await connection.close()
        return responses[-1], endpoint

    return asyncio.run(main())


def test_a_request_is_whole():
    response, endpoint = post(Answer(text="hi", headers={"X-C": " d "}))
    (call,) = endpoint.calls
    assert (call.path, call.raw, call.headers["x-a"]) == ("/v1/chat/completions", BODY, "b")
    assert call.headers["host"] == endpoint.url.removeprefix("http://").removesuffix("/v1")
    assert (response.status, response.headers["x-c"]) == (200, "d")
    assert b'"hi"' in response.content


@pytest.mark.parametrize(
    ("wire", "close", "content"),
    [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", False, b"abc"),
        ("HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", False, b""),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
            False,
            b"abc0123456789",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n", False, b"a"),
        ("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", False, b"a"),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", False, b"a"),
        ("HTTP/1.0 200 OK\r\n\r\nuntil the end", True, b"until the end"),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", True, b"until the end"),
        ("HTTP/1.1 204 No Content\r\n\r\n", False, b""),
    ],
)
def test_bodies_of_all_framings_are_read(wire, close, content):
    response, _ = post(Answer(wire=wire, close=close), times=2)
    assert response.content == content


@pytest.mark.parametrize(
    "wire",
    [
        "",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc",
        "HTTP/1.1 OK\r\n\r\n",
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nX: " + "x" * 300_000 + "\r\n\r\n",
    ],
)
def test_broken_responses_are_connection_errors(wire):
    with pytest.raises(CallError) as caught:
        post(Answer(wire=wire, close=True))
    assert (caught.value.code, caught.value.transient) == ("connection", True)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "wire",
    [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        "2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nX-Sum: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nabcde",
    ],
)
def test_a_response_in_single_bytes_is_read(wire):
    async def handle(reader, writer):
        await request_from(reader)
        for byte in wire.encode():
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    assert [response.content for response in talk(handle)] == [b"abcde"]


def test_nothing_packed_is_asked_for_and_each_header_is_sent_once():
    seen = []

    async def handle(reader, writer):
        seen.append(await request_from(reader))
        writer.write(OK)

    talk(handle)
    head = seen[0].partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")
    assert head[0] == "post /v1 http/1.1"
    names = [line.partition(":")[0] for line in head[1:]]
    assert sorted(names) == ["accept-encoding", "authorization", "content-length", "host"]
    assert "accept-encoding: identity" in head


def test_a_redirect_is_not_followed():
    response, endpoint = post(Answer(status=307, error="x", headers={"Location": "/v1/chat/completions"}))
    assert (response.status, len(endpoint.calls)) == (307, 1)


@pytest.mark.parametrize("framing", ["length", "chunked", "to the end"])
def test_a_response_that_never_ends_is_cut_off_and_not_asked_for_again(framing, monkeypatch):
    monkeypatch.setattr(_connection, "MOST_BODY", 100_000)
    head = {
        "length": b"Content-Length: 999999999999\r\n\r\n",
        "chunked": b"Transfer-Encoding: chunked\r\n\r\nE8D4A50FFF\r\n",
        "to the end": b"\r\n",
    }[framing]

    async def handle(reader, writer):
        await request_from(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n" + head)
        while True:  # until the client goes
            writer.write(b"x" * 10_000)
            await writer.drain()

    with pytest.raises(CallError, match="larger than 100000 bytes") as caught:
        talk(handle)
    assert (caught.value.code, caught.value.transient) == ("too_large", False)


def packed(body, packing):
    pack = gzip.compress if packing.endswith("gzip") else zlib.compress
    content = pack(body)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {packing}\r\nContent-Length: "

    async def handle(reader, writer):
        await request_from(reader)
        writer.write(f"{head}{len(content)}\r\n\r\n".encode() + content)

    return handle, content, head


@pytest.mark.parametrize("packing", ["gzip", "x-gzip", "deflate", "GZIP"])
def test_what_was_packed_unasked_is_unpacked(packing):
    handle, _, _ = packed(b"body" * 1000, packing.lower())
    assert talk(handle)[0].content == b"body" * 1000


def test_what_grows_beyond_the_limit_when_it_is_unpacked_is_refused_for_good(monkeypatch):
    monkeypatch.setattr(_connection, "MOST_BODY", 100_000)
    handle, content, _ = packed(b"x" * 100_001, "gzip")
    assert len(content) < 1000
    with pytest.raises(CallError) as caught:
        talk(handle)
    assert (caught.value.code, caught.value.transient) == ("too_large", False)


@pytest.mark.parametrize("change", [lambda body: body[:-9], lambda body: b"{" + body])
def test_what_cannot_be_unpacked_is_tried_again(change):
    _, content, head = packed(b"body" * 1000, "gzip")

    async def handle(reader, writer):
        await request_from(reader)
        body = change(content)
        writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)

    with pytest.raises(CallError, match="packed") as caught:
        talk(handle)
    assert (caught.value.code, caught.value.transient) == ("connection", True)


@pytest.mark.parametrize("line", [b"Authorization %s\r\n", b"X: \0%s\r\n", b"%s"])
def test_garbage_that_repeats_the_key_is_not_shown(line):
    async def handle(reader, writer):
        await request_from(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n" + line % KEY.encode() + b"\r\n\r\n")

    with pytest.raises(CallError, match="what came is no HTTP") as caught:
        talk(handle)
    assert KEY not in str(caught.value)


def test_an_echo_of_the_request_is_no_response():
    async def handle(reader, writer):
        writer.write(await request_from(reader))

    with pytest.raises(CallError, match="no HTTP: illegal status line") as caught:
        talk(handle)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("together", [True, False])
def test_a_response_that_nobody_asked_for_is_not_taken_for_the_next(together):
    """A server that gives up an idle connection may say so before it closes it."""
    stray = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 5\r\n\r\nstray"

    async def main():
        written = asyncio.Event()

        async def serve(reader, writer):
            await request_from(reader)
            writer.write(OK + stray if together else OK)
            await go_on.wait()
            if not together:
                writer.write(stray)
            written.set()
            await reader.read()
            writer.close()

        go_on = asyncio.Event()
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        direct = Direct(f"http://127.0.0.1:{port}/v1", {})
        first = await direct.post(BODY)
        go_on.set()
        await written.wait()
        second = await direct.post(BODY)
        await direct.close()
        server.close()
        return first.content, second.content

    assert asyncio.run(main()) == (b"ok", b"ok")


def test_a_large_body_is_sent_and_read():
    text = "x" * 3_000_000
    response, _ = post(Answer(text=text))
    assert text.encode() in response.content


def test_connections_are_used_again():
    _, endpoint = post(Answer(), times=5)
    assert endpoint.connections == 1


def test_a_connection_that_the_other_side_closed_is_not_used_again():
    closing = Answer(headers={"Connection": "close"}, close=True)
    _, endpoint = post(closing, times=3)
    assert endpoint.connections == len(endpoint.calls) == 3


def test_a_connection_closed_while_idle_is_replaced():
    async def main():
        async with Endpoint(lambda call: Answer(close=True)) as endpoint:
            direct = Direct(f"{endpoint.url}/chat/completions", {})
            for _ in range(3):
                await direct.post(BODY)
                while await direct._idle[0].is_quiet():  # until the end of the stream has arrived
                    pass
            await direct.close()
        assert endpoint.connections == 3

    asyncio.run(main())


def test_a_cancelled_call_leaves_no_connection_behind():
    async def main():
        arrived = asyncio.Event()

        async def rule(call):
            if call.number == 1:
                arrived.set()
                await asyncio.Event().wait()
            return Answer(text="second")

        async with Endpoint(rule) as endpoint:
            direct = Direct(f"{endpoint.url}/chat/completions", {})
            call = asyncio.create_task(direct.post(BODY))
            await arrived.wait()
            call.cancel()
            await asyncio.wait([call])
            assert b"second" in (await direct.post(BODY)).content
            await direct.close()
        assert endpoint.connections == 2

    asyncio.run(main())


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://no-such-host.invalid"])
def test_hosts_that_cannot_be_reached_are_named(url):
    async def main():
        with pytest.raises(CallError, match=f"no connection to {url.removeprefix('http://')}") as caught:
            await Direct(f"{url}/v1/chat/completions", {"Authorization": KEY}).post(BODY)
        assert caught.value.transient
        assert KEY not in str(caught.value)

    asyncio.run(main())


def test_a_proxy_is_used_where_one_is_set(monkeypatch):
    async def main():
        async with Endpoint(lambda call: Answer(text=call.path)) as proxy:
            address = proxy.url.removesuffix("/v1")
            monkeypatch.setenv("HTTP_PROXY", address)
            poster = open_poster(
                "http://models.example/v1/chat/completions",
                {"X-A": "b"},
                {"HTTP_PROXY": address},
                local=False,
            )
            response = await poster.post(BODY)
            await poster.close()
        assert isinstance(poster, Proxied)
        assert b"http://models.example/v1/chat/completions" in response.content
        assert (proxy.calls[0].raw, proxy.calls[0].headers["x-a"]) == (BODY, "b")

    asyncio.run(main())


@pytest.mark.parametrize(("name", "used"), [("models.example", 0), ("other.example", 1)])
def test_no_proxy_excepts_an_address(name, used, monkeypatch):
    async def main():
        async with Endpoint() as proxy:
            env = {"HTTP_PROXY": proxy.url.removesuffix("/v1"), "NO_PROXY": name}
            for variable, value in env.items():
                monkeypatch.setenv(variable, value)
            poster = open_poster("http://models.example:9/v1/chat/completions", {}, env, local=False)
            try:
                await poster.post(BODY)
            except CallError as error:
                assert error.code == "connection"  # there is no such host
            await poster.close()
        return len(proxy.calls)

    assert asyncio.run(main()) == used


def test_through_a_proxy_nothing_packed_is_asked_for_and_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(_connection, "MOST_BODY", 100_000)

    async def main():
        async with Endpoint(lambda call: Answer(text="x" * 200_000)) as proxy:
            monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
            proxied = Proxied("http://models.example/v1/chat/completions", {})
            with pytest.raises(CallError, match="larger than 100000 bytes"):
                await proxied.post(BODY)
            await proxied.close()
        return proxy.calls[0].headers["accept-encoding"]

    assert asyncio.run(main()) == "identity"


def test_a_proxy_that_is_gone_is_a_connection_error(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")

    async def main():
        proxied = Proxied("http://models.example/v1/chat/completions", {})
        with pytest.raises(CallError, match="proxy") as caught:
            await proxied.post(BODY)
        await proxied.close()
        assert caught.value.transient

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "env", "local"),
    [
        ("http://a/v1", {}, False),
        ("http://a/v1", {"HTTPS_PROXY": "http://p"}, False),
        ("https://a/v1", {"HTTP_PROXY": "http://p"}, False),
        ("http://a/v1", {"HTTP_PROXY": "http://p"}, True),
    ],
)
def test_without_a_proxy_for_it_an_address_is_called_directly(url, env, local):
    assert isinstance(open_poster(url, {}, env, local=local), Direct)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", folder / "key.pem", "-out", folder / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    return folder


def served(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    return context


def test_a_trusted_certificate_is_accepted(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
    response, endpoint = post(Answer(text="hi"), times=2, tls=served(certificate))
    assert b'"hi"' in response.content
    assert endpoint.connections == 1


@pytest.mark.parametrize("backend", ["openai_compatible", "openai_chat"])
def test_every_backend_trusts_the_same_certificates(backend, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))

    async def main():
        async with Endpoint(tls=served(certificate)) as endpoint:
            opened = opens(backend, endpoint.url)
            reply = await opened.complete(ask("q"))
            await opened.close()
        return reply.text

    assert asyncio.run(main()) == "ok"


def test_an_unknown_certificate_is_refused_for_good(certificate):
    with pytest.raises(CallError, match=r"certificate of 127\.0\.0\.1 is not trusted") as caught:
        post(Answer(), tls=served(certificate))
    assert (caught.value.code, caught.value.transient) == ("tls", False)


BAD_PROXIES = [
    "http://me:hidden-pw@127.0.0.1:999999",
    "socks9://me:hidden-pw@h:1",
    "ftp://me:hidden-pw@h:1",
    "http://me:hidden-pw@h:abc",
    "http://me:hidden-pw@",
    "http://me:hidden-pw@[::1",
    "http://me:hidden-pw@\x7f:80",
    "127.0.0.1:0",
]


def opens(backend, url="http://8.8.8.8/v1"):
    spec = backend_spec(backend)
    where = {"openai_chat": {"endpoint": url, "auth_mode": "openai"}}
    settings = where.get(backend, {"base_url": url})
    role = RoleModel(role="target", backend=backend, model="m", settings=settings)
    env = {name.format(ROLE="TARGET"): KEY for name in spec.secrets}
    return spec.open(role, {**env, "HTTP_PROXY": os.environ.get("HTTP_PROXY", "")})


@pytest.mark.parametrize("backend", ["openai_compatible", "openai_chat"])
@pytest.mark.parametrize("address", BAD_PROXIES)
def test_a_proxy_that_cannot_be_is_refused_without_its_password(backend, address, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", address)
    with pytest.raises(ConfigError, match=r"HTTP_PROXY.*: expected") as caught:
        opens(backend)
    shown = "".join(traceback.format_exception(caught.value))
    assert "hidden-pw" not in str(caught.value)
    assert "hidden-pw" not in shown


@pytest.mark.parametrize("backend", ["openai_compatible", "openai_chat"])
def test_a_socks_proxy_needs_its_package(backend, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "socks5://me:hidden-pw@h:1")
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(ConfigError, match="socksio") as caught:
        opens(backend)
    assert "hidden-pw" not in str(caught.value)
