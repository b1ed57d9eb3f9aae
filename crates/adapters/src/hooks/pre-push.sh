#!/bin/sh
# Verifies what is pushed. Written by `drive hooks install`; `drive hooks uninstall` removes it.
# Do not edit it: installing again replaces it. `git push --no-verify` pushes without it.

remote=$1
url=$2
tab=$(printf '\t')

drive=$(command -v drive) || drive=@DRIVE@
if ! [ -x "$drive" ]; then
    echo 'drive: cannot verify this push: `drive` is not installed' >&2
    echo 'drive: install it, or push without verification: git push --no-verify' >&2
    exit 1
fi
repo=$(git rev-parse --show-toplevel 2>/dev/null) || repo=$(git rev-parse --absolute-git-dir) || exit 1

commit_of() {
    git rev-parse --verify --quiet "$1^{commit}"
}

# The tip of the remote's default branch, as the remote says now; else as it was last fetched.
find_base() {
    if heads=$(GIT_TERMINAL_PROMPT=0 git ls-remote --symref "$url" HEAD 2>/dev/null); then
        tip=$(printf '%s\n' "$heads" | sed -n "s/^\([0-9a-f]\{40,64\}\)${tab}HEAD\$/\1/p")
        branch=$(printf '%s\n' "$heads" | sed -n "s|^ref: \(refs/heads/.*\)${tab}HEAD\$|\1|p")
        if [ -n "$tip" ]; then
            commit_of "$tip" && return
            git fetch --quiet --no-tags --no-write-fetch-head "$url" "${branch:-HEAD}" </dev/null >&2
            commit_of "$tip" && return
        fi
    fi
    for name in HEAD main master; do
        commit_of "refs/remotes/$remote/$name" && return
    done
}

base=$(find_base)
seen=
refused=
while read -r local_ref local_id remote_ref _; do
    case $local_id in
    *[!0]*) ;;
    *) continue ;; # Nothing but zeros: a deletion.
    esac
    case $remote_ref in
    refs/notes/*) continue ;;
    esac
    # A tag may name something else than a commit.
    tip=$(commit_of "$local_id") || continue
    case " $seen " in
    *" $tip "*) continue ;;
    esac
    seen="$seen $tip"
    if [ -n "$base" ] && git merge-base --is-ancestor "$tip" "$base"; then
        continue
    fi
    echo "drive: verifying $local_ref before the push" >&2
    "$drive" verify "$tip" ${base:+--base "$base"} --repo "$repo" </dev/null >&2 || refused=yes
done
if [ -n "$refused" ]; then
    echo 'drive: this push was refused; to push without verification: git push --no-verify' >&2
    exit 1
fi
