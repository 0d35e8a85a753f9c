"""Tables that grow with traffic, written in SQL: partitions, generated columns and grants are not the ORM's.

Each leads its primary key with `project_id`. The generated columns of `operation` are the verdicts; `merging.derive`
says the same in Python.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import migrations

FUNCTIONS = """
-- The sum of the legs of one operation, told as JSON [{"name": …, "ms": …}].
CREATE FUNCTION opsconsole_legs_ms(legs text) RETURNS double precision
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (SELECT sum((leg ->> 'ms')::double precision) FROM jsonb_array_elements(legs::jsonb) AS leg);

-- Intervals, since only their epoch is immutable: PostgreSQL writes a function out where it is called, which costs a
-- tenth of calling it, if its body keeps what its declaration promises.
CREATE FUNCTION opsconsole_us_between(earlier timestamptz, later timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (extract(epoch FROM later - earlier) * 1000000)::bigint;

CREATE FUNCTION opsconsole_us(moment timestamptz) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN opsconsole_us_between('1970-01-01 00:00:00+00'::timestamptz, moment);

-- The histogram bucket of a measure: how many edges lie at or below its size, negative below zero.
-- The edges stand in operations/histogram.py too; a test compares them.
CREATE FUNCTION opsconsole_bucket(measured bigint) RETURNS smallint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (sign(measured) * width_bucket(abs(measured), '{
    1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,22,24,26,28,30,33,36,
    39,42,46,50,55,60,66,72,79,86,94,103,113,124,136,149,163,179,196,215,236,259,
    284,312,343,377,414,455,500,550,605,665,731,804,884,972,1069,1175,1292,1421,1563,
    1719,1890,2079,2286,2514,2765,3041,3345,3679,4046,4450,4895,5384,5922,6514,7165,
    7881,8669,9535,10488,11536,12689,13957,15352,16887,18575,20432,22475,24722,27194,
    29913,32904,36194,39813,43794,48173,52990,58289,64117,70528,77580,85338,93871,103258,
    113583,124941,137435,151178,166295,182924,201216,221337,243470,267817,294598,324057,
    356462,392108,431318,474449,521893,574082,631490,694639,764102,840512,924563,1017019,
    1118720,1230592,1353651,1489016,1637917,1801708,1981878,2180065,2398071,2637878,2901665,
    3191831,3511014,3862115,4248326,4673158,5140473,5654520,6219972,6841969,7526165,8278781,
    9106659,10017324,11019056,12120961,13333057,14666362,16132998,17746297,19520926,21473018,
    23620319,25982350,28580585,31438643,34582507,38040757,41844832,46029315,50632246,55695470,
    61265017,67391518,74130669,81543735,89698108,98667918,108534709,119388179,131326996,
    144459695,158905664,174796230,192275853,211503438,232653781,255919159,281511074,309662181,
    340628399,374691238,412160361,453376397,498714036,548585439,603443982,663788380,730167218,
    803183939,883502332,971852565,1069037821,1175941603,1293535763,1422889339,1565178272,
    1721696099,1893865708,2083252278,2291577505,2520735255,2772808780,3050089658,3355098623,
    3690608485,4059669333,4465636266,4912199892,5403419881,5943761869,6538138055,7191951860,
    7911147046,8702261750,9572487925,10529736717,11582710388,12740981426,14015079568,15416587524,
    16958246276,18654070903,20519477993,22571425792,24828568371,27311425208,30042567728,
    33046824500,36351506950,39986657645,43985323409,48383855749,53222241323,58544465455,
    64398912000,70838803200,77922683520,85714951872,94286447059,103715091764,114086600940,
    125495261034,138044787137,151849265850,167034192435,183737611678,202111372845,222322510129,
    244554761141,269010237255,295911260980,325502387078,358052625785,393857888363,433243677199,
    476568044918,524224849409,576647334349,634312067783,697743274561,767517602017,844269362218,
    928696298439,1021565928282,1123722521110,1236094773221,1359704250543,1495674675597,
    1645242143156,1809766357471,1990742993218,2189817292539,2408799021792,2649678923971,
    2914646816368,3206111498004,3526722647804,3879394912584}'::bigint[]))::smallint;
"""

OPERATION = """
CREATE TABLE operation (
    -- Wide columns first, so that no space is lost between them.
    project_id bigint NOT NULL,
    received_at timestamptz NOT NULL,
    told bigint NOT NULL,
    started_at timestamptz NOT NULL,
    timeout_ms bigint,
    input_bytes bigint,
    input_excerpt bigint,
    attributes_excerpt bigint,
    ending_least bigint,
    ending_greatest bigint,
    output_least bigint,
    output_greatest bigint,
    verdict_at timestamptz,
    verdict_excerpt bigint,
    answered_at timestamptz,
    answer_ended_at timestamptz,
    output_bytes bigint,
    output_excerpt bigint,
    error_excerpt bigint,
    ended_at timestamptz GENERATED ALWAYS AS (
        CASE WHEN verdict_status IS NULL THEN coalesce(answer_ended_at, answered_at) ELSE verdict_at END
    ) STORED,
    duration_us bigint GENERATED ALWAYS AS (
        CASE
            WHEN verdict_status IS NULL AND coalesce(answer_ended_at, answered_at) >= started_at
                THEN opsconsole_us_between(started_at, coalesce(answer_ended_at, answered_at))
            WHEN verdict_at >= started_at THEN opsconsole_us_between(started_at, verdict_at)
        END
    ) STORED,
    late_by_us bigint GENERATED ALWAYS AS (
        CASE WHEN verdict_status IS NOT NULL AND answer_status IS NOT NULL
            THEN opsconsole_us_between(verdict_at, answered_at) END
    ) STORED,
    day date NOT NULL,
    job_marks integer NOT NULL DEFAULT 0,
    iteration integer,
    manifest_sequence integer,
    marks integer NOT NULL GENERATED ALWAYS AS (
        CASE WHEN verdict_status IS NULL AND answer_status = 'contract_error' THEN 1 ELSE 0 END
        | CASE WHEN verdict_status IS NULL AND answer_contract_kind = 'unknown_tool'
            AND answer_status = 'contract_error' THEN 2 ELSE 0 END
        | CASE WHEN verdict_status IS NULL AND answer_status = 'done' AND answer_outcome = 'failure' THEN 4 ELSE 0 END
        | CASE WHEN verdict_status IS NULL AND answer_status = 'runtime_error' THEN 8 ELSE 0 END
        | CASE WHEN answer_code = 'stale_revision' OR conflict_resource IS NOT NULL OR expected_revision IS NOT NULL
            OR actual_revision IS NOT NULL THEN 32 ELSE 0 END
        | CASE WHEN verdict_status = 'timed_out' THEN 64 ELSE 0 END
        | CASE WHEN verdict_status IS NOT NULL AND answer_status IS NOT NULL THEN 128 ELSE 0 END
        | CASE WHEN verdict_status IS NOT NULL AND answer_status = 'done' AND answer_outcome = 'success'
            AND effect IN ('write', 'consequential') THEN 256 ELSE 0 END
        | CASE WHEN sent_digest <> input_digest THEN 512 ELSE 0 END
        | CASE WHEN verdict_status IS NULL AND answer_status = 'done' AND answer_outcome = 'success'
            AND NOT verified THEN 1024 ELSE 0 END
        | CASE WHEN (CASE WHEN verdict_status IS NULL THEN answer_flags ELSE verdict_flags END) & 20 = 20
            AND (CASE WHEN verdict_status IS NULL THEN answer_flags ELSE verdict_flags END) & 40 = 32
            THEN 4096 ELSE 0 END
        | CASE WHEN opsconsole_legs_ms(legs) * 110 > timeout_ms * 100 THEN 8192 ELSE 0 END
        | CASE WHEN ending_least <> ending_greatest OR output_least <> output_greatest THEN 16384 ELSE 0 END
        | CASE WHEN greatest_tool <> tool THEN 32768 ELSE 0 END
        | CASE WHEN clock_is_ahead THEN 65536 ELSE 0 END
        | CASE WHEN verdict_status IS NULL AND answer_status = 'done' AND answer_outcome = 'success'
            AND verified IS NOT NULL THEN 16777216 ELSE 0 END
        | CASE WHEN sent_digest IS NOT NULL AND input_digest IS NOT NULL THEN 33554432 ELSE 0 END
        | CASE WHEN legs IS NOT NULL AND timeout_ms IS NOT NULL THEN 67108864 ELSE 0 END
        | CASE WHEN (CASE WHEN verdict_status IS NULL THEN answer_flags ELSE verdict_flags END) & 20 = 20
            THEN 134217728 ELSE 0 END
        -- An ending takes `unfinished` (16) back.
        | CASE WHEN verdict_status IS NULL AND answer_status IS NULL AND NOT awaits_approval
            THEN job_marks ELSE job_marks & ~16 END
    ) STORED,
    attempt smallint NOT NULL,
    verdict_flags smallint,
    answer_flags smallint,
    awaits_approval boolean NOT NULL,
    clock_is_ahead boolean NOT NULL,
    verified boolean,
    operation_id text COLLATE "C" NOT NULL,
    tool text COLLATE "C",
    tool_version text COLLATE "C",
    effect text COLLATE "C",
    mode text COLLATE "C",
    environment text COLLATE "C",
    runtime text COLLATE "C",
    instance text COLLATE "C",
    subject bytea,
    source text COLLATE "C",
    provider text COLLATE "C",
    model text COLLATE "C",
    tool_call_id text COLLATE "C",
    session_id text COLLATE "C",
    turn_id text COLLATE "C",
    parent_id text COLLATE "C",
    trace_id text COLLATE "C",
    span_id text COLLATE "C",
    idempotency_key text COLLATE "C",
    approval_id text COLLATE "C",
    input_digest bytea,
    sent_digest bytea,
    altered text COLLATE "C",
    manifest_digest bytea,
    legs text COLLATE "C",
    greatest_tool text COLLATE "C",
    verdict_rank bytea,
    verdict_status text COLLATE "C",
    verdict_code text COLLATE "C",
    verdict_category text COLLATE "C",
    answer_rank bytea,
    answer_status text COLLATE "C",
    answer_outcome text COLLATE "C",
    answer_code text COLLATE "C",
    answer_category text COLLATE "C",
    answer_contract_kind text COLLATE "C",
    contract_issues text COLLATE "C",
    conflict_resource text COLLATE "C",
    expected_revision text COLLATE "C",
    actual_revision text COLLATE "C",
    output_digest bytea,
    status text COLLATE "C" NOT NULL GENERATED ALWAYS AS (
        coalesce(verdict_status, answer_status, CASE WHEN awaits_approval THEN 'awaiting_approval' ELSE 'running' END)
    ) STORED,
    outcome text COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN verdict_status IS NULL AND answer_status = 'done' THEN answer_outcome END
    ) STORED,
    code text COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN verdict_status IS NULL THEN answer_code ELSE verdict_code END
    ) STORED,
    contract_kind text COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN verdict_status IS NULL THEN answer_contract_kind END
    ) STORED,
    PRIMARY KEY (project_id, operation_id, attempt, day)
) PARTITION BY RANGE (day);

-- The list, newest first, and its keyset paging (find.py).
CREATE INDEX operation_recent ON operation (project_id, started_at);
-- The session page and `session:` (find.py).
CREATE INDEX operation_session ON operation (project_id, session_id) WHERE session_id IS NOT NULL;
-- What the sweep for `unfinished` reads (sweeps.py): what still runs and is not marked yet, so few rows for ever.
CREATE INDEX operation_running ON operation (started_at) WHERE status = 'running' AND job_marks & 16 = 0;
"""

EXCERPT = """
-- Words live here and nowhere else. Filed by the day by which they must be gone, so that purging drops partitions.
CREATE TABLE excerpt (
    project_id bigint NOT NULL,
    hash bigint NOT NULL,
    gone_on date NOT NULL,
    attempt smallint NOT NULL,
    rules_version smallint NOT NULL,
    operation_id text COLLATE "C" NOT NULL,
    words text NOT NULL, -- what one record told, as JSON: [{"kind": …, "hash": …, "content": …}]
    PRIMARY KEY (project_id, operation_id, attempt, hash, gone_on)
) PARTITION BY RANGE (gone_on);

-- Facts that name no start and whose operation has not come.
CREATE TABLE pending (
    project_id bigint NOT NULL,
    operation_id text COLLATE "C" NOT NULL,
    attempt smallint NOT NULL,
    received_at timestamptz NOT NULL,
    facts bytea NOT NULL,
    PRIMARY KEY (project_id, operation_id, attempt)
);

-- Whether facts wait for an operation; refuses when the key (0 for none) or its project died. Volatile, so it sees what
-- was committed until it is asked, where a statement sees what was when it began.
CREATE FUNCTION opsconsole_may_commit(project bigint, key bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM project AS p LEFT JOIN ingest_key AS k ON k.id = key AND k.project_id = p.id
    WHERE p.id = project AND p.deleted_at IS NULL AND (key = 0 OR (k.id IS NOT NULL AND k.revoked_at IS NULL
        AND (k.expires_at <= clock_timestamp()) IS NOT TRUE));
    IF NOT FOUND THEN
        RAISE invalid_authorization_specification;
    END IF;
    RETURN EXISTS (SELECT FROM pending WHERE project_id = project);
END $$;
"""

TALLY = """
-- Sums only: rows with equal keys add up. See docs/data-flow.md for the grains.
CREATE TABLE tally (
    id bigint GENERATED ALWAYS AS IDENTITY,
    project_id bigint NOT NULL,
    grain smallint NOT NULL,
    bucket timestamptz NOT NULL,
    environment text COLLATE "C",
    tool text COLLATE "C",
    tool_version text COLLATE "C",
    effect text COLLATE "C",
    mode text COLLATE "C",
    source text COLLATE "C",
    provider text COLLATE "C",
    model text COLLATE "C",
    runtime text COLLATE "C",
    status text COLLATE "C",
    outcome text COLLATE "C",
    code text COLLATE "C",
    contract_kind text COLLATE "C",
    marks integer NOT NULL,
    operations bigint NOT NULL,
    duration_us numeric NOT NULL,
    PRIMARY KEY (project_id, grain, bucket, id)
);

CREATE TABLE tally_histogram (
    id bigint GENERATED ALWAYS AS IDENTITY,
    project_id bigint NOT NULL,
    grain smallint NOT NULL,
    bucket timestamptz NOT NULL,
    measure text COLLATE "C" NOT NULL,
    environment text COLLATE "C",
    tool text COLLATE "C",
    tool_version text COLLATE "C",
    edge smallint NOT NULL,
    operations bigint NOT NULL,
    PRIMARY KEY (project_id, grain, bucket, id)
);

-- The least told time of each value; read by "what changed".
CREATE TABLE first_seen (
    project_id bigint NOT NULL,
    dimension text COLLATE "C" NOT NULL,
    value text COLLATE "C" NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (project_id, dimension, value)
);

-- The code book. Rows appear by themselves when a code is first told.
CREATE TABLE code_entry (
    project_id bigint NOT NULL,
    code text COLLATE "C" NOT NULL,
    disposition text COLLATE "C" NOT NULL DEFAULT 'new',
    appeared_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project_id, code)
);

-- What ingest answered, per minute: sums only, like the tally.
CREATE TABLE ingest_count (
    id bigint GENERATED ALWAYS AS IDENTITY,
    project_id bigint NOT NULL,
    bucket timestamptz NOT NULL,
    key_id text COLLATE "C",
    result text COLLATE "C" NOT NULL,
    reason text COLLATE "C",
    records bigint NOT NULL,
    PRIMARY KEY (project_id, bucket, id)
);

-- How far senders' clocks are from ours, per minute: told time minus received time.
CREATE TABLE ingest_skew (
    id bigint GENERATED ALWAYS AS IDENTITY,
    project_id bigint NOT NULL,
    bucket timestamptz NOT NULL,
    runtime text COLLATE "C",
    instance text COLLATE "C",
    records bigint NOT NULL,
    sum_us numeric NOT NULL,
    least_us bigint NOT NULL,
    greatest_us bigint NOT NULL,
    PRIMARY KEY (project_id, bucket, id)
);

-- One row per queue; its age drives readiness.
CREATE TABLE heartbeat (queue text PRIMARY KEY, beaten_at timestamptz NOT NULL);
"""

# Partitions are made by a function that runs as the owner, so that the app's role needs no right to alter tables.
PARTITIONS = """
CREATE FUNCTION opsconsole_make_partition(parent text, day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    part text := parent || '_' || to_char(day, 'YYYYMMDD');
    key text := CASE parent WHEN 'operation' THEN 'day' WHEN 'excerpt' THEN 'gone_on' END;
BEGIN
    IF key IS NULL THEN
        RAISE EXCEPTION 'no partitions for %', parent;
    END IF;
    IF to_regclass(part) IS NOT NULL THEN
        RETURN false;
    END IF;
    -- One maker at a time, whoever asks; a second one finds the partition there.
    PERFORM pg_advisory_xact_lock(hashtext('opsconsole.partition.' || parent));
    -- By a query: to_regclass would answer from this session's cache, which still says there is none.
    PERFORM FROM pg_class WHERE relname = part AND relnamespace = 'public'::regnamespace;
    IF FOUND THEN
        RETURN false;
    END IF;
    -- Made standing alone with its constraint, so that attaching it neither scans nor blocks writers.
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part, parent);
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I CHECK (%I >= %L AND %I < %L)',
        part, part || '_range', key, day, key, day + 1);
    -- Operations are merged into; words are written once.
    IF parent = 'operation' THEN
        EXECUTE format('ALTER TABLE %I SET (fillfactor = 90)', part);
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, part, day, day + 1);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', part, part || '_range');
    RETURN true;
END $$;
"""

TABLES = (
    "operation",
    "excerpt",
    "pending",
    "tally",
    "tally_histogram",
    "first_seen",
    "code_entry",
    "ingest_count",
    "ingest_skew",
    "heartbeat",
)


def grant(apps: Any, schema_editor: Any) -> None:
    """Let the app's role read and write rows, and nothing else, where it is another role than the owner."""
    app_role = settings.DATABASES["default"]["USER"]
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("REVOKE ALL ON FUNCTION opsconsole_make_partition(text, date) FROM PUBLIC")
        cursor.execute("SELECT current_user")
        if not app_role or cursor.fetchone()[0] == app_role:
            return
        role = schema_editor.quote_name(app_role)
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {role}")
        cursor.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}")
        cursor.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}")
        cursor.execute(f"GRANT EXECUTE ON FUNCTION opsconsole_make_partition(text, date) TO {role}")
        cursor.execute(
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role}"
        )
        cursor.execute(f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO {role}")


class Migration(migrations.Migration):
    """Create what grows with traffic."""

    dependencies = [("operations", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTIONS, migrations.RunSQL.noop),
        migrations.RunSQL(OPERATION, "DROP TABLE operation"),
        migrations.RunSQL(EXCERPT, "DROP TABLE excerpt; DROP TABLE pending"),
        migrations.RunSQL(TALLY, "; ".join(f"DROP TABLE {table}" for table in TABLES[3:])),
        migrations.RunSQL(PARTITIONS, "DROP FUNCTION opsconsole_make_partition(text, date)"),
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]
