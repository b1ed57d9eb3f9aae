#!/bin/sh
# Dumps the database into the folder for backups.
set -eu
folder=${1:?"usage: nightly.sh FOLDER"}
pg_dump --format=custom --file="$folder/$(date +%Y-%m-%d).dump" shop
