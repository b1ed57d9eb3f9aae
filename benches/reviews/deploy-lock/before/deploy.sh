#!/bin/sh
# Installs a release and restarts the service.
set -eu
release=${1:?"usage: deploy.sh RELEASE"}

tar -xzf "$release" -C /srv/shop
systemctl restart shop
