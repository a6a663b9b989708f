/* kinds.c - how the kinds of records are called. */
#include "memcheck/kinds.h"

const char *const memcheck_kind_names[MEMCHECK_KINDS] = {
    "dead_object",
    "use_after_free",  "invalid_write", "invalid_read", "double_free", "invalid_free",
    "mismatched_free", "fatal_signal",  "undefined",    "other_error", "wrong_size",
    "definite",
    "indirect",        "possible",      "reachable"
};
const char *const memcheck_kind_titles[MEMCHECK_KINDS] = {
    "use of a dead object",
    "use after free",  "invalid write", "invalid read",    "double free", "invalid free",
    "mismatched free", "fatal signal",  "undefined value", "error",       "wrong dsize",
    "definitely lost",
    "indirectly lost", "possibly lost", "still reachable"
};
const char memcheck_collected_title[] = "the GC that found it dead began in";

const char *
memcheck_asked_title(enum memcheck_kind kind)
{
    return kind == MEMCHECK_DEAD_OBJECT ? "the object was allocated by"
                                        : "in Ruby, the block was asked for by";
}
