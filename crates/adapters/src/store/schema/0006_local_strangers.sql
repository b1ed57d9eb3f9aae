-- Every author of the local forge used to get admin permission. The user of the machine gets it by
-- name; other names are strangers unless the settings trust them.
DELETE FROM local_people;
