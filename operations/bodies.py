"""Read the body of an API request: plain, gzip or zstd, with one cap before and after decompression.

The stream is read in pieces and each piece is decompressed into a bounded buffer, so a body that would unpack
to gigabytes costs no more memory than the cap. A body that ends early is refused whole: what came of it is
not stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from typing import Protocol

import zstandard
from django import http

from operations import limits, rejections

PIECE_BYTES = 64 * 1024
#: What a sender puts on the wire before it waits for an answer: ten segments, less the headers.
FIRST_FLIGHT_BYTES = 12 * 1024
#: One zstd block of four bytes unpacks to 128 KiB, and its decoder knows no bound on what it gives back.
#: Pieces this small give 4 MiB at the worst.
ZSTD_PIECE_BYTES = 128
#: What RFC 8878 asks every decoder to support; a frame that wants a larger window is refused.
ZSTD_WINDOW_MAX = 8 * 1024 * 1024
#: Members of a gzip body or frames of a zstd body: as many as there may be records.
MEMBERS_MAX = limits.RECORDS_MAX

BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def read(request: http.HttpRequest, *, bytes_max: int = limits.REQUEST_BYTES_MAX) -> bytes:
    """Return the decompressed body of `request`.

    Raises `UnsupportedEncoding`, `BodyTooLarge` (before reading, where the length is told) or `BodyDamaged`.
    """
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    length = _told_length(request)
    if length is not None and length > bytes_max:
        raise rejections.BodyTooLarge(_too_large(bytes_max))
    sent = _sent(request, length, bytes_max)
    if encoding in {"", "identity"}:
        return b"".join(sent)
    if encoding in {"gzip", "x-gzip"}:
        return b"".join(_bounded(_gunzip(sent), bytes_max))
    if encoding == "zstd":
        return b"".join(_bounded(_unzstd(sent), bytes_max))
    raise rejections.UnsupportedEncoding


def may_take_long(request: http.HttpRequest) -> bool:
    """Tell whether the body may still be on its way: it is longer than what comes with the headers."""
    length = _told_length(request)
    return length is None or length > FIRST_FLIGHT_BYTES


def media_type(request: http.HttpRequest, *, accepted: Collection[str]) -> str:
    """Return the media type of `request`'s body, which is one of `accepted`, in UTF-8; else refuse it."""
    told, *parameters = request.META.get("CONTENT_TYPE", "").split(";")
    found: str = told.strip().lower()
    if found not in accepted:
        raise rejections.UnsupportedMediaType
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in {"utf-8", "utf8"}:
            raise rejections.UnsupportedMediaType
    return found


def refuse_byte_order_mark(body: bytes) -> None:
    """Refuse text that begins with a byte order mark: JSON has none, and one may mean another encoding."""
    if body.startswith(BYTE_ORDER_MARKS):
        raise rejections.ByteOrderMark


def _too_large(bytes_max: int) -> str:
    return f"The body is larger than {bytes_max} bytes, before or after decompression."


def _told_length(request: http.HttpRequest) -> int | None:
    told = request.META.get("CONTENT_LENGTH") or ""
    if not told:
        return None
    if not (told.isascii() and told.isdigit()):
        raise rejections.BodyDamaged("Content-Length is not a number.")
    return int(told)


def _sent(request: http.HttpRequest, length: int | None, bytes_max: int) -> Iterator[bytes]:
    """Yield the body as sent; it is refused when it is shorter than was told or longer than the cap."""
    stream = _stream(request)
    if length is None and not request.META.get("HTTP_TRANSFER_ENCODING"):
        return
    left = bytes_max + 1 if length is None else length
    try:
        while left and (piece := stream.read(min(left, PIECE_BYTES) if length is None else left)):
            left -= len(piece)
            yield piece
    except rejections.Rejection:
        raise
    except OSError:
        raise rejections.BodyDamaged from None
    if length is None and not left:
        raise rejections.BodyTooLarge(_too_large(bytes_max))
    if length is not None and left:
        raise rejections.BodyDamaged("The body ended before the length that Content-Length told.")


def _stream(request: http.HttpRequest) -> _Stream:
    # Django's own stream ends at once when no length is told, as in chunked transfer; the server's goes on to
    # the end.
    stream: _Stream = request.META["wsgi.input"]
    return stream


def _bounded(pieces: Iterator[bytes], bytes_max: int) -> Iterator[bytes]:
    left = bytes_max
    for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise rejections.BodyTooLarge(_too_large(bytes_max))
        yield piece


def _gunzip(sent: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what every member of a gzip body holds, at most PIECE_BYTES at a time."""
    member, members = None, 0
    try:
        for piece in _cut(sent, PIECE_BYTES):
            rest = piece
            while True:
                if member is None:
                    # Zeroes after the last member are padding.
                    rest = rest.lstrip(b"\0") if members else rest
                    if not rest:
                        break
                    members = _count(members)
                    member = zlib.decompressobj(wbits=31)
                given = member.decompress(rest, PIECE_BYTES)
                yield given
                if member.eof:
                    rest, member = member.unused_data, None
                    continue
                rest = member.unconsumed_tail
                if not rest and len(given) < PIECE_BYTES:
                    break
    except zlib.error:
        raise rejections.BodyDamaged("The body is not whole gzip.") from None
    if member is not None or not members:
        raise rejections.BodyDamaged("The body is not whole gzip.")


def _unzstd(sent: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what every frame of a zstd body holds."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW_MAX)
    frame, frames = None, 0
    try:
        for piece in _cut(sent, ZSTD_PIECE_BYTES):
            rest = piece
            while rest:
                if frame is None:
                    frames = _count(frames)
                    frame = decompressor.decompressobj()
                yield frame.decompress(rest)
                rest = b""
                if frame.eof:
                    rest, frame = frame.unused_data, None
    except zstandard.ZstdError:
        raise rejections.BodyDamaged("The body is not whole zstd.") from None
    if frame is not None or not frames:
        raise rejections.BodyDamaged("The body is not whole zstd.")


def _count(members: int) -> int:
    if members == MEMBERS_MAX:
        raise rejections.BodyDamaged(f"The body has more than {MEMBERS_MAX} compressed members.")
    return members + 1


def _cut(sent: Iterator[bytes], size: int) -> Iterator[bytes]:
    for piece in sent:
        for start in range(0, len(piece), size):
            yield piece[start : start + size]
