# lib.sh - what the benches that count instructions share; sourced, in the repository's directory.
#
# A few objects more at boot shift how many pages a heap begins with, and so how often the collector
# runs: several percent either way that say nothing. So heaps may begin with room to spare.

unset RUBY_HEAPPROF RUBYOPT RUBYLIB

command -v valgrind >/dev/null ||
    { echo "bench/${0##*/}: valgrind is missing: apt-get install valgrind" >&2; exit 1; }

room_to_spare() {
    export RUBY_GC_HEAP_0_INIT_SLOTS=40000 RUBY_GC_HEAP_1_INIT_SLOTS=20000 RUBY_GC_HEAP_2_INIT_SLOTS=10000
    export RUBY_GC_HEAP_3_INIT_SLOTS=5000 RUBY_GC_HEAP_4_INIT_SLOTS=2500
}

# instructions RUBY ARGUMENT...: of that run without gems, by callgrind. Where the stack begins changes what some thousands of
# strcmp at boot cost, by up to two million: one run less another would not be without boot. So what is short is filled up.
# Settings count, too: with a longer RUBY_HEAPPROF an object of bench/kept.rb took ten instructions more or fewer.
instructions() {
    ruby_counted=$1
    shift
    BENCH_FILLED_UP=$(printf '%*s' $((1000 - $(printf '%s' "$*${RUBY_HEAPPROF-}" | wc -c))) '') \
        setarch -R valgrind --tool=callgrind --callgrind-out-file=/dev/null "$ruby_counted" --disable=gems "$@" 2>&1 |
        sed -n 's/^==.*I *refs: *//p' | tr -d ,
}
