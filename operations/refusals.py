"""Which refusals the API tells, and where: for its description, its page, and whoever reads an answer."""

from __future__ import annotations

from operations import rejections

#: Refusals of one record; the rest of its batch is stored.
RECORD_REFUSALS: tuple[type[rejections.Rejection], ...] = (
    rejections.NotJson,
    rejections.Truncated,
    rejections.WrongType,
    rejections.WrongValue,
    rejections.TooLong,
    rejections.RecordTooLarge,
    rejections.TooDeep,
    rejections.RepeatedKey,
    rejections.IdentityMissing,
    rejections.BadTime,
    rejections.TooFarAhead,
    rejections.OlderThanRetention,
    rejections.OutcomeWithoutDone,
    rejections.AnswerWithOtherEnding,
    rejections.BadDigest,
    rejections.EnvironmentNotAllowed,
    rejections.RuntimeNotAllowed,
    rejections.ToolNotAllowed,
    rejections.SpanWithoutIds,
    rejections.Unstorable,
)
#: Refusals of a whole request; nothing of it is stored.
REQUEST_REFUSALS: tuple[type[rejections.Rejection], ...] = (
    rejections.BodyDamaged,
    rejections.BodyNotJson,
    rejections.BodyNotOtlp,
    rejections.ByteOrderMark,
    rejections.NotUtf8,
    rejections.MissingCredential,
    rejections.UnknownKey,
    rejections.KeyRevoked,
    rejections.KeyExpired,
    rejections.ScopeMissing,
    rejections.NoSuchAddress,
    rejections.NoSuchOperation,
    rejections.MethodNotAllowed,
    rejections.BodyTooSlow,
    rejections.BodyTooLarge,
    rejections.TooManyRecords,
    rejections.UnsupportedMediaType,
    rejections.UnsupportedEncoding,
    rejections.BadParameter,
    rejections.UnknownParameter,
    rejections.BadFilter,
    rejections.BadCursor,
    rejections.TooManyRequests,
    rejections.TooManyAtOnce,
    rejections.InternalFault,
    rejections.StoreUnavailable,
)

#: What every door that asks for a key may refuse.
KEY = (
    rejections.MissingCredential,
    rejections.UnknownKey,
    rejections.KeyRevoked,
    rejections.KeyExpired,
)
#: What every door for one scope may refuse.
ALWAYS = (
    *KEY,
    rejections.ScopeMissing,
    rejections.BadParameter,
    rejections.UnknownParameter,
    rejections.TooManyRequests,
    rejections.TooManyAtOnce,
    rejections.StoreUnavailable,
)
#: What a door that reads records may refuse of its body.
BODY = (
    rejections.BodyDamaged,
    rejections.BodyNotJson,
    rejections.ByteOrderMark,
    rejections.NotUtf8,
    rejections.TooDeep,
    rejections.BodyTooSlow,
    rejections.BodyTooLarge,
    rejections.TooManyRecords,
    rejections.UnsupportedMediaType,
    rejections.UnsupportedEncoding,
)
