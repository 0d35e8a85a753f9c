"""`POST /v1/traces` and `/v1/metrics`: what OpenTelemetry exporters send, by the OTLP/HTTP contract.

Answers have the type of the request. A refusal is a `google.rpc.Status`, and its status code decides the fate of the
exporter's batch: 429 and 503 are sent again, everything else is dropped for good. So trouble of our own that may
pass is always a 503.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from django import http
from django.utils import timezone
from google.rpc import status_pb2
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

from operations import access, bodies, decoding, ingest, limits, otlp, problems, ratelimits, rejections
from operations.views import ingest_api

JSON, PROTOBUF = "application/json", "application/x-protobuf"

View = Callable[[http.HttpRequest], http.HttpResponse]

_encode = msgspec.json.Encoder().encode


def door(view: View) -> View:
    """Make a view a door for exporters: POST only, no cookies, and every refusal told as a Status."""

    def guarded(request: http.HttpRequest) -> http.HttpResponse:
        try:
            problems.refuse_method(request, allowed=("POST",))
            return view(request)
        except Exception as error:
            refusal = problems.refusal_of(error)
        response = refuse(refusal, is_json=_is_json(request))
        if refusal.http_status == 405:
            response["Allow"] = "POST"
        return response

    return problems.mark_door(guarded)


@door
def traces(request: http.HttpRequest) -> http.HttpResponse:
    """Store the tool calls among the spans in the body; the answer comes after the commit."""
    credential = access.credential_for(request, scope="ingest", is_rechecked=True)
    ratelimits.admit(credential, "ingest")
    with ratelimits.at_once(credential), access.refusing_dead(credential):
        is_json, body = _read(request)
        found = otlp.read_traces(body, is_json=is_json)
        ratelimits.charge(credential, "ingest", len(found.entries) - 1)
        results = _store(credential, found.entries)
    refused = [result for result in results if result.result == "rejected"]
    rejected_spans = found.rejected + sum(found.spans_of[result.index] for result in refused)
    reasons = sorted(
        {result.reason or "" for result in refused} | ({"broken_span"} if found.rejected else set())
    )
    return _answer_traces(rejected_spans, reasons, is_json=is_json)


@door
def metrics(request: http.HttpRequest) -> http.HttpResponse:
    """Accept metrics and keep nothing: exporters send them to the same place and would complain for ever."""
    credential = access.credential_for(request, scope="ingest")
    ratelimits.admit(credential, "ingest")
    with ratelimits.at_once(credential):
        is_json, _ = _read(request)
    empty = metrics_service_pb2.ExportMetricsServiceResponse().SerializeToString()
    return _answer(b"{}" if is_json else empty, is_json=is_json)


def refuse(refusal: rejections.Rejection, *, is_json: bool) -> http.HttpResponse:
    """Return the Status that tells `refusal`, with the headers of the problem that would tell it elsewhere."""
    response = problems.answer(refusal)
    if response.status_code == 408:
        # An exporter drops what a 408 answers; a slow network may be faster the next time.
        response.status_code = 503
        response["Retry-After"] = str(problems.RETRY_AFTER_S)
    message = f"{refusal.reason}: {refusal.detail}"
    told = status_pb2.Status(message=message).SerializeToString()
    response.content = _encode({"message": message}) if is_json else told
    response["Content-Type"] = JSON if is_json else PROTOBUF
    return response


def _is_json(request: http.HttpRequest) -> bool:
    told: str = request.META.get("CONTENT_TYPE", "")
    return told.partition(";")[0].strip().lower() != PROTOBUF


def _read(request: http.HttpRequest) -> tuple[bool, bytes]:
    try:
        is_json = bodies.media_type(request, accepted=(PROTOBUF, JSON)) == JSON
    except rejections.UnsupportedMediaType:
        raise rejections.UnsupportedMediaType("Send application/x-protobuf or application/json.") from None
    ingest_api.release_connection()
    body = bodies.read(request, bytes_max=limits.OTLP_BYTES_MAX)
    if is_json:
        bodies.refuse_byte_order_mark(body)
    return is_json, body


def _store(credential: access.Credential, entries: list[decoding.Entry]) -> list[ingest.Result]:
    """Store the entries, a bounded number in one transaction; when a later one fails, a retry is safe.

    None are a request too: its key is looked at all the same.
    """
    results: list[ingest.Result] = []
    for start in range(0, max(1, len(entries)), limits.RECORDS_MAX):
        part = entries[start : start + limits.RECORDS_MAX]
        results += ingest.ingest(credential=credential, entries=part, now=timezone.now()).results
    return results


def _answer_traces(rejected_spans: int, reasons: list[str], *, is_json: bool) -> http.HttpResponse:
    """Answer 200; what was refused is told as a partial success, which no exporter sends again."""
    message = f"Refused: {', '.join(reasons)}." if rejected_spans else ""
    if is_json:
        # A 64-bit integer is text in protobuf's JSON.
        partial = {"rejectedSpans": str(rejected_spans), "errorMessage": message}
        return _answer(_encode({"partialSuccess": partial} if rejected_spans else {}), is_json=True)
    response = trace_service_pb2.ExportTraceServiceResponse()
    if rejected_spans:
        response.partial_success.rejected_spans = rejected_spans
        response.partial_success.error_message = message
    return _answer(response.SerializeToString(), is_json=False)


def _answer(body: bytes, *, is_json: bool) -> http.HttpResponse:
    return http.HttpResponse(body, content_type=JSON if is_json else PROTOBUF)
