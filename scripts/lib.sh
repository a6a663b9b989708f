# lib.sh - what every script here shares: where things are, how to fail, how to read `pins`.
#
# Sourced, never run. Sets $top (the repository), $build (everything generated) and $rooms.
# A script that fails says so in one line on stderr, by die, and leaves no half-written file:
# results are made under a temporary name inside $build and renamed.

top=$(cd -P "$(dirname "$0")/.." && pwd)
build=$top/build

# The folders of C, each below those that may include it; check-rooms says which may include which.
rooms='base os pprof profiler report unwind attach dump graph memcheck barriers cli gc vm'

# die MESSAGE: what was wrong, what was expected, what to do; on one line. It is also left in
# build/failed, for the last line of ./bootstrap.
die() {
    echo "${0##*/}: $*" >&2
    [ ! -d "$build" ] || echo "${0##*/}: $*" >"$build/failed"
    exit 1
}

# go_without MESSAGE: what is missing and what will not work, said now and at the end of ./bootstrap.
# go_without: nothing is.
go_without() {
    rm -f "$build/without/${0##*/}"
    [ $# != 0 ] || return 0
    mkdir -p "$build/without"
    echo "${0##*/}: $*" | tee "$build/without/${0##*/}" >&2
}

# need COMMAND PACKAGE: a missing command names the Debian package that has it.
need() {
    command -v "$1" >/dev/null 2>&1 || die "$1 not found: install the Debian package $2"
}

# mri KEY: VERSION, SHA256, ARCHIVE or TESTED of the base: the release of MRI that all is built on. ./configure has written
# them into the Makefile (scripts/base); before that the base is the first of `pins`.
mri() {
    { grep -s '^MRI_' "$top/Makefile" || "$top/scripts/base"; } | sed -n "s/^MRI_$1 = //p"
}

# pin_all NAME KEY: the values of a key that may be repeated in the record of that archive or gem, a line each.
pin_all() {
    release=
    [ "$1" != mri ] || release=$(mri VERSION)
    awk -v name="$1" -v key="$2" -v release="$release" '
        $1 == "archive" || $1 == "gem" { here = $2 == name }
        here && release && $1 == "version" { here = $2 == release }
        here && $1 == key { sub(/^[^ ]+ +/, ""); print }
    ' "$top/pins"
}

# pin NAME KEY [N]: the first of these values, or its Nth word.
pin() {
    pin_all "$1" "$2" | awk -v n="${3:-0}" '{ print n ? $n : $0; exit }'
}

# pinned KIND: the names of the records of that kind, archive or gem.
pinned() {
    awk -v kind="$1" '$1 == kind { print $2 }' "$top/pins"
}

# product_version: of what this repository is, by the one place that says so.
product_version() {
    sed -n 's/^#define HEAPPROF_VERSION "\(.*\)"$/\1/p' "$top/base/version.h"
}

# sha256 FILE: its checksum alone.
sha256() {
    sha256sum "$1" | cut -d' ' -f1
}

# sources CHECK: a checksum of all that can change the result of that check (test/checks.table), below the current
# directory: what git has of it or would have, and how the whole is configured. Nothing when git does not know.
sources() {
    git rev-parse -q --verify 'HEAD^{tree}' >/dev/null 2>&1 || return 0
    sources_paths=$("$top/scripts/checks" sources "$1")
    # shellcheck disable=SC2086 # they are words
    {
        git ls-tree -r HEAD -- $sources_paths
        git diff --binary HEAD -- $sources_paths
        git ls-files -z --others --exclude-standard -- $sources_paths | xargs -0r sha256sum
        sha256 Makefile
    } | sha256sum | cut -d' ' -f1
}

# scratch: a new empty directory $tmp under $build, removed when the script ends.
scratch() {
    mkdir -p "$build/tmp"
    tmp=$(mktemp -d "$build/tmp/${0##*/}.XXXXXX")
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

# queue: the patch files in order of their number, which counts over both directories.
queue() {
    for patch in "$top"/gc/patches/*.patch "$top"/vm/patches/*.patch; do
        [ ! -e "$patch" ] || echo "${patch##*/} $patch"
    done | sort | cut -d' ' -f2-
}

# touched: the upstream files the queue changes.
touched() {
    queue | xargs -r sed -n 's|^+++ b/||p' | sort -u
}

# fixed COMMAND...: runs it with addresses that are not randomised, where that is allowed. Some
# kernels randomise more bits than the sanitizers of gcc 12 and clang 14 leave room for.
fixed() {
    if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}
