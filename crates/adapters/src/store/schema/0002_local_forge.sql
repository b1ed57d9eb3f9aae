-- The local forge. Instants are microseconds since 1970; within a repository they only ever grow,
-- in the order of commits, so that a poll from the last one seen misses nothing.
CREATE TABLE local_repositories (
    id         INTEGER PRIMARY KEY,
    git_dir    TEXT NOT NULL UNIQUE,
    changed_at INTEGER NOT NULL DEFAULT 0,
    -- One count for all three surfaces, so that a person can name a comment by its number alone.
    comments   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE local_pull_requests (
    repository INTEGER NOT NULL REFERENCES local_repositories (id),
    number     INTEGER NOT NULL,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'merged', 'closed')),
    draft      INTEGER NOT NULL,
    branch     TEXT NOT NULL,
    base       TEXT NOT NULL,
    head_sha   TEXT NOT NULL,
    -- The base against which the head was last compared.
    base_sha   TEXT NOT NULL,
    merge_sha  TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (repository, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX local_one_open_a_branch
    ON local_pull_requests (repository, branch) WHERE state = 'open';

CREATE TABLE local_comments (
    repository  INTEGER NOT NULL,
    id          INTEGER NOT NULL,
    pr          INTEGER NOT NULL,
    surface     TEXT NOT NULL CHECK (surface IN ('conversation', 'inline', 'review')),
    author      TEXT NOT NULL,
    is_bot      INTEGER NOT NULL,
    body        TEXT NOT NULL,
    -- The proof a post of drive's own carries; asking twice with it posts once.
    marker      TEXT,
    path        TEXT,
    line        INTEGER,
    commit_sha  TEXT,
    in_reply_to INTEGER,
    -- The review an inline remark was given with.
    review_id   INTEGER,
    verdict     TEXT CHECK (verdict IN ('approved', 'changesRequested', 'commented', 'dismissed')),
    resolved    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (repository, id),
    FOREIGN KEY (repository, pr) REFERENCES local_pull_requests (repository, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX local_one_comment_a_marker
    ON local_comments (repository, pr, marker) WHERE marker IS NOT NULL;
CREATE INDEX local_comments_by_change ON local_comments (repository, updated_at);

CREATE TABLE local_reactions (
    repository INTEGER NOT NULL,
    comment    INTEGER NOT NULL,
    author     TEXT NOT NULL,
    reaction   TEXT NOT NULL,
    PRIMARY KEY (repository, comment, author, reaction),
    FOREIGN KEY (repository, comment) REFERENCES local_comments (repository, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE local_statuses (
    repository  INTEGER NOT NULL REFERENCES local_repositories (id),
    sha         TEXT NOT NULL,
    context     TEXT NOT NULL,
    state       TEXT NOT NULL,
    description TEXT NOT NULL,
    updated_at  INTEGER NOT NULL,
    PRIMARY KEY (repository, sha, context)
) STRICT, WITHOUT ROWID;

-- Whoever wrote here sat at this machine.
CREATE TABLE local_people (
    repository INTEGER NOT NULL REFERENCES local_repositories (id),
    login      TEXT NOT NULL COLLATE NOCASE,
    permission TEXT NOT NULL CHECK (permission IN ('admin', 'write', 'read', 'none')),
    PRIMARY KEY (repository, login)
) STRICT, WITHOUT ROWID;
