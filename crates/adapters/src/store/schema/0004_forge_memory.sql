-- Answers of forges, each kept after its whole body was understood. Losing one costs a request.
CREATE TABLE forge_answers (
    token TEXT NOT NULL,
    url TEXT NOT NULL,
    etag TEXT NOT NULL,
    value TEXT NOT NULL,
    next TEXT,
    PRIMARY KEY (token, url)
) STRICT;

-- What each token may still ask, as its forge last said; `token` is a fingerprint.
CREATE TABLE forge_budgets (
    token TEXT NOT NULL PRIMARY KEY,
    most INTEGER NOT NULL,
    remaining INTEGER NOT NULL,
    resets_at INTEGER NOT NULL,
    paused_until INTEGER
) STRICT;

-- When writes are booked to be sent, in milliseconds, so that all processes together keep the pace.
CREATE TABLE forge_writes (
    token TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX forge_writes_by_token ON forge_writes (token, at);
