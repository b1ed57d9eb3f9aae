-- The journal: what happened, in order, never changed.
CREATE TABLE events (
    run     TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    dedupe  TEXT NOT NULL,
    format  INTEGER NOT NULL,
    body    TEXT NOT NULL,
    at      TEXT NOT NULL,
    PRIMARY KEY (run, seq),
    UNIQUE (run, dedupe)
) STRICT;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
CREATE TRIGGER events_are_never_removed BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

-- The fold of each journal, saved in the same transaction as its last event.
CREATE TABLE runs (
    id         TEXT PRIMARY KEY,
    seq        INTEGER NOT NULL,
    format     INTEGER NOT NULL,
    state      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    active     INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_active ON runs (id) WHERE active = 1;
CREATE INDEX runs_newest ON runs (created_at);

-- The outbox: effects that were decided and have no result yet. `claimed_by` is the lease token of
-- the owner that began to perform one; a later owner begins again, knowing that it may have happened.
CREATE TABLE effects (
    run        TEXT NOT NULL,
    key        TEXT NOT NULL,
    body       TEXT NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0,
    claimed_by INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, key)
) STRICT, WITHOUT ROWID;

-- Timers: absolute instants, so that a restart or a suspended laptop changes nothing.
CREATE TABLE timers (
    run    TEXT NOT NULL,
    name   TEXT NOT NULL,
    due_at TEXT NOT NULL,
    PRIMARY KEY (run, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX timers_due ON timers (due_at);

-- Who may act for a run. `token` grows with every change of owner and fences late writers; `owner` is
-- null once the lease was given back.
CREATE TABLE leases (
    run        TEXT PRIMARY KEY,
    owner      TEXT,
    token      INTEGER NOT NULL,
    expires_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
