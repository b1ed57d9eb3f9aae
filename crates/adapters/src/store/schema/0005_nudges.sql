-- Hints that something changed on a pull request, for whoever owns its run in another process. The
-- number only ever grows, so that a reader knows what is new to it. The oldest go once there are many.
CREATE TABLE nudges (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    repository TEXT NOT NULL,
    pr         INTEGER NOT NULL,
    at         TEXT NOT NULL
) STRICT;
