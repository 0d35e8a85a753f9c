"""Bodies as they come over the wire: plain, compressed, damaged, and made to do harm."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib
from typing import Any

import pytest
import zstandard
from django.core.handlers.wsgi import WSGIRequest
from hypothesis import given
from hypothesis import strategies as st

from operations import bodies, limits, rejections

MIB = 1024 * 1024
CAP = limits.REQUEST_BYTES_MAX


class Trickle(io.BytesIO):
    """A connection that gives a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 0, 7) if size and size > 0 else 7)


class HungUp(io.BytesIO):
    """A connection that breaks."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise ConnectionResetError


def request(body: bytes, *, encoding: str = "", stream: io.BytesIO | None = None, **meta: Any) -> WSGIRequest:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": "/v1/operations",
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": stream or io.BytesIO(body),
        **meta,
    }
    if encoding:
        environ["HTTP_CONTENT_ENCODING"] = encoding
    return WSGIRequest(environ)


def chunked(body: bytes, **more: Any) -> WSGIRequest:
    return request(body, CONTENT_LENGTH="", HTTP_TRANSFER_ENCODING="chunked", **more)


def refusal(sent: WSGIRequest, bytes_max: int = CAP) -> type[rejections.Rejection]:
    with pytest.raises(rejections.Rejection) as refused:
        bodies.read(sent, bytes_max=bytes_max)
    return refused.type


def zstd(body: bytes, level: int = 3) -> bytes:
    return zstandard.ZstdCompressor(level=level).compress(body)


BOMB = b"\0" * (200 * MIB)


@pytest.fixture(scope="module")
def gzip_bomb() -> bytes:
    return gzip.compress(BOMB)


@pytest.fixture(scope="module")
def zstd_bomb() -> bytes:
    return zstd(BOMB)


@given(body=st.binary(max_size=200_000), cut=st.integers(0, 200_000))
def test_what_was_sent_is_read_however_it_was_packed(body, cut):
    parts = [body[:cut], body[cut:]]

    assert bodies.read(request(body)) == body
    assert bodies.read(chunked(body)) == body
    assert bodies.read(request(body, stream=Trickle(body))) == body
    assert bodies.read(request(gzip.compress(body), encoding="gzip")) == body
    assert bodies.read(request(b"".join(map(gzip.compress, parts)), encoding="gzip")) == body
    assert bodies.read(request(zstd(body), encoding="zstd")) == body
    assert bodies.read(request(b"".join(map(zstd, parts)), encoding="zstd")) == body


def test_a_gzip_body_that_trickles_in_is_read_whole():
    body = bytes(range(256)) * 3000
    packed = gzip.compress(body)

    assert bodies.read(request(packed, encoding="gzip", stream=Trickle(packed))) == body


def test_zeroes_after_the_last_gzip_member_are_padding():
    assert bodies.read(request(gzip.compress(b"x") + b"\0" * 512, encoding="gzip")) == b"x"


@pytest.mark.parametrize("encoding", ["GZIP", " gzip ", "x-gzip"])
def test_encodings_are_known_in_any_case(encoding):
    assert bodies.read(request(gzip.compress(b"x"), encoding=encoding)) == b"x"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "deflate", "gzip, identity", "none"])
def test_other_encodings_are_refused(encoding):
    assert refusal(request(b"x", encoding=encoding)) is rejections.UnsupportedEncoding


@pytest.mark.parametrize("cut", [1, 4, 8, 20])
def test_a_truncated_gzip_body_is_refused(cut):
    packed = gzip.compress(b"some words" * 50)[:-cut]

    assert refusal(request(packed, encoding="gzip")) is rejections.BodyDamaged


def test_a_truncated_second_member_is_refused():
    packed = gzip.compress(b"first") + gzip.compress(b"second")[:-3]

    assert refusal(request(packed, encoding="gzip")) is rejections.BodyDamaged


@pytest.mark.parametrize(
    "packed",
    [b"", b"no gzip", gzip.compress(b"x") + b"rest", zlib.compress(b"x")],
    ids=["empty", "text", "more after it", "zlib"],
)
def test_what_is_not_gzip_is_refused(packed):
    assert refusal(request(packed, encoding="gzip")) is rejections.BodyDamaged


@pytest.mark.parametrize("packed", [b"", b"no zstd", zstd(b"x" * 999)[:-2], zstd(b"x") + b"rest of it"])
def test_what_is_not_whole_zstd_is_refused(packed):
    assert refusal(request(packed, encoding="zstd")) is rejections.BodyDamaged


def test_a_wrong_checksum_is_refused():
    packed = bytearray(gzip.compress(b"some words"))
    packed[-6] ^= 1

    assert refusal(request(bytes(packed), encoding="gzip")) is rejections.BodyDamaged


def test_a_zstd_frame_that_wants_a_huge_window_is_refused():
    wants = zstandard.ZstdCompressionParameters.from_level(3, window_log=27)
    packer = zstandard.ZstdCompressor(compression_params=wants).compressobj()
    packed = packer.compress(b"x" * 999) + packer.flush()

    assert refusal(request(packed, encoding="zstd")) is rejections.BodyDamaged


def test_a_body_of_exactly_the_cap_is_read():
    body = b"x" * CAP

    assert len(bodies.read(request(body))) == CAP
    assert len(bodies.read(chunked(body))) == CAP
    assert len(bodies.read(request(gzip.compress(body), encoding="gzip"))) == CAP
    assert len(bodies.read(request(zstd(body), encoding="zstd"))) == CAP


def test_one_byte_more_than_the_cap_is_refused_in_every_packing():
    body = b"x" * (CAP + 1)

    assert refusal(chunked(body)) is rejections.BodyTooLarge
    assert refusal(request(gzip.compress(body), encoding="gzip")) is rejections.BodyTooLarge
    assert refusal(request(zstd(body), encoding="zstd")) is rejections.BodyTooLarge


def test_a_told_length_above_the_cap_is_refused_before_anything_is_read():
    assert refusal(request(b"x" * 20, stream=HungUp()), bytes_max=10) is rejections.BodyTooLarge


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_bomb_is_refused_at_the_cap_and_costs_no_more_memory(packing, gzip_bomb, zstd_bomb):
    packed = gzip_bomb if packing == "gzip" else zstd_bomb
    tracemalloc.start()
    try:
        refused = refusal(request(packed, encoding=packing))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert refused is rejections.BodyTooLarge
    assert peak < 3 * CAP


def test_a_body_of_countless_members_is_refused():
    packed = gzip.compress(b"") * (bodies.MEMBERS_MAX + 1)

    assert refusal(request(packed, encoding="gzip")) is rejections.BodyDamaged


def test_a_body_shorter_than_its_told_length_is_refused():
    assert refusal(request(b"[]", CONTENT_LENGTH="5")) is rejections.BodyDamaged


def test_a_connection_that_breaks_is_a_damaged_body():
    assert refusal(request(b"[]", stream=HungUp())) is rejections.BodyDamaged


@pytest.mark.parametrize("length", ["-1", "many", "1.5", "²"])
def test_a_length_that_is_no_number_is_refused(length):
    assert refusal(request(b"[]", CONTENT_LENGTH=length)) is rejections.BodyDamaged


def test_no_length_and_no_chunks_is_an_empty_body():
    assert bodies.read(request(b"ignored", CONTENT_LENGTH="")) == b""


@pytest.mark.parametrize(
    "told",
    ["application/json", "Application/JSON", 'application/json; charset="UTF-8"', "application/json;v=1"],
)
def test_json_in_utf8_is_accepted(told):
    sent = request(b"", CONTENT_TYPE=told)

    assert bodies.media_type(sent, accepted=("application/json",)) == "application/json"


@pytest.mark.parametrize(
    "told",
    ["", "text/plain", "application/json; charset=latin-1", "application/xml", "json", "multipart/form-data"],
)
def test_other_media_types_and_charsets_are_refused(told):
    with pytest.raises(rejections.UnsupportedMediaType):
        bodies.media_type(request(b"", CONTENT_TYPE=told), accepted=("application/json",))


@pytest.mark.parametrize(
    ("sent", "may"),
    [
        (request(b"x" * 9000), False),
        (request(b"x" * 20_000), True),
        (chunked(b"x"), True),
        (request(b""), False),
    ],
)
def test_only_what_is_longer_than_the_first_flight_may_take_long(sent, may):
    assert bodies.may_take_long(sent) is may


@pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_a_byte_order_mark_is_refused(mark):
    with pytest.raises(rejections.ByteOrderMark):
        bodies.refuse_byte_order_mark(mark + b"[]")
