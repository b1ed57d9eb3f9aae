#!/bin/sh
# Verifies what is pushed. Written by `drive hooks install`; `drive hooks uninstall` removes it.
# Do not edit it: installing again replaces it. `git push --no-verify` pushes without it.

remote=$1
url=$2
tab=$(printf '\t')

drive=@DRIVE@
[ -x "$drive" ] || drive=$(command -v drive)
if ! [ -x "$drive" ]; then
    echo 'drive: cannot verify this push: `drive` is not installed' >&2
    echo 'drive: install it, or push without verification: git push --no-verify' >&2
    exit 1
fi
repo=$(git rev-parse --show-toplevel 2>/dev/null) || repo=$(git rev-parse --absolute-git-dir) || exit 1

commit_of() {
    git rev-parse --verify --quiet "$1^{commit}"
}

# The remote's default branch and its tip, as the remote says now; else as it was last fetched.
base=
default=
find_base() {
    if heads=$(GIT_TERMINAL_PROMPT=0 git ls-remote --symref "$url" HEAD 2>/dev/null); then
        tip=$(printf '%s\n' "$heads" | sed -n "s/^\([0-9a-f]\{40,64\}\)${tab}HEAD\$/\1/p")
        default=$(printf '%s\n' "$heads" | sed -n "s|^ref: \(refs/heads/.*\)${tab}HEAD\$|\1|p")
        if [ -n "$tip" ]; then
            base=$(commit_of "$tip") && return
            git fetch --quiet --no-tags --no-write-fetch-head "$url" "${default:-HEAD}" </dev/null >&2
            base=$(commit_of "$tip") && return
        fi
    fi
    for name in HEAD main master; do
        base=$(commit_of "refs/remotes/$remote/$name") && return
    done
}

find_base
seen=
refused=
while IFS= read -r line; do
    # From the right: what is pushed may be named by words, such as `HEAD^{/fix it}`.
    rest=${line% *}
    remote_ref=${rest##* }
    rest=${rest% *}
    local_id=${rest##* }
    local_ref=${rest% *}
    case $local_id in
    *[!0]*) ;;
    *) continue ;; # Nothing but zeros: a deletion.
    esac
    case $remote_ref in
    refs/notes/*) continue ;;
    esac
    if ! tip=$(commit_of "$local_id"); then
        # A tag may name something else than a commit.
        git cat-file -e "$local_id" 2>/dev/null && continue
        echo "drive: cannot read what is pushed to $remote_ref" >&2
        refused=yes
        continue
    fi
    forced=
    if [ -n "$base" ] && [ "$remote_ref" = "$default" ] && ! git merge-base --is-ancestor "$base" "$tip"; then
        # The branch is replaced: the commit itself lands, not a merge.
        forced=yes
    elif [ -n "$base" ] && git merge-base --is-ancestor "$tip" "$base"; then
        continue
    fi
    case " $seen " in
    *" $tip$forced "*) continue ;;
    esac
    seen="$seen $tip$forced"
    echo "drive: verifying $local_ref before the push" >&2
    if [ -n "$forced" ] || [ -z "$base" ]; then
        "$drive" verify "$tip" --repo "$repo" </dev/null >&2 || refused=yes
    else
        "$drive" verify "$tip" --base "$base" --repo "$repo" </dev/null >&2 || refused=yes
    fi
done
if [ -n "$refused" ]; then
    echo 'drive: this push was refused; to push without verification: git push --no-verify' >&2
    exit 1
fi
