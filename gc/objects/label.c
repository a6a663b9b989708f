/* label.c - the name tag of an object: its class, or its type if it has no class. Compiled
 * inside gc.c.
 *
 *     an object            Foo                    its class; singleton classes do not count
 *     an imemo, a node     T_IMEMO(iseq) ...      its type
 *     hidden from Ruby     T_ARRAY(hidden) ...    its type
 *
 * A reader outside the process follows the same rule, by the contract "labels" (doc/descriptor.md).
 * When the rule changes, the number of the contract does.
 */
#include "gc/interpreter.h"
#include "gc/book/track.h"
#include "internal/imemo.h"
#include "profiler/late_sites.h"

/* The identity of the type of the object. Types have small numbers as keys, which are no
 * addresses. */
HEAPPROF_COLD static uint32_t
type_identity(VALUE object, const char *detail)
{
    uintptr_t key = 1 + RB_BUILTIN_TYPE(object);
    if (RB_BUILTIN_TYPE(object) == T_IMEMO) key |= (uintptr_t)(imemo_type(object) + 1) << 8;

    uint32_t id = rb_heapprof_identities_find(&rb_heapprof.tables.identities, key);
    if (id) return id;

    rb_heapprof.work.stack_used |= HEAPPROF_STACK_NAMED;

    char name[64];
    const char *format = detail ? "%s(%s)" : "%s";
    const char *type = RB_TYPE_P(object, T_DATA) ? "T_DATA" : obj_type_name(object);
    size_t length = (size_t)snprintf(name, sizeof(name), format, type, detail);
    return rb_heapprof_tables_named(&rb_heapprof.tables, identities_of_page(key), key, name,
                                    length);
}

/* The identity of the label of this object. Returns 0 when memory is refused. *of_class:
 * whether it is the class's, so that all objects with this class pointer have it. */
HEAPPROF_COLD static uint32_t
label_of(VALUE object, bool *of_class)
{
    *of_class = false;
    switch (RB_BUILTIN_TYPE(object)) {
      case T_IMEMO:
        return type_identity(object, rb_imemo_name(imemo_type(object)));
      case T_ICLASS:
      case T_NODE:
        return type_identity(object, NULL);
      default:
        break;
    }
    uint32_t id;

    *of_class = rb_heapprof_class_label(object, &id);
    return *of_class ? id : type_identity(object, "hidden");
}

/* ---- the labels of the program ---- */

/* Texts of labels stay until the profiler stops. So they make others go only as long as all
 * strings are an eighth of the budget at most. */
static bool
label_makes_room_p(void)
{
    return rb_heapprof.tables.strings.bytes_used <= rb_heapprof.mem.budget_bytes / 8;
}

/* The set was seen for the first time in this run. Makes room for its text: a sample without a
 * label counts for nobody. If no room can be made, the sample has no label. */
HEAPPROF_COLD static uint32_t
enter_label(uint32_t set)
{
    size_t length;
    const char *text = rb_heapprof_label_text(set, &length);
    uint32_t string;

    do {
        string = rb_heapprof_tables_label(&rb_heapprof.tables, set, text, length);
    } while (string == UINT32_MAX && label_makes_room_p() && rb_heapprof_gc_make_room());
    return string >= HEAPPROF_LABEL_STRINGS ? 0 : string;
}

static bool sampled_lates[HEAPPROF_LATES + 1]; /* whether a sample waits for the number */

/* What a site is told: its labels, and for whom they wait. */
HEAPPROF_COLD static uint32_t
late_label(const rb_execution_context_t *ec, uint32_t string)
{
    uint32_t number = string ? rb_heapprof_label_late(ec) : 0;

    if (number) sampled_lates[number] = true;
    return string | HEAPPROF_LABEL_LATE(number);
}

/* Of a thread with a name, of a fiber whose labels are named late or leased, and of a set that is
 * new in this run. */
HEAPPROF_COLD static uint32_t
current_label_slow(const rb_execution_context_t *ec)
{
    uint32_t set = rb_heapprof_label_now(ec);
    uint32_t string = rb_heapprof_tables_known_label(&rb_heapprof.tables, set);

    if (string == 0 && set != 0) string = enter_label(set);
    return ec->heapprof_late ? late_label(ec, string) : string;
}

/* What a site is told of the labels that this fiber has now, and its thread (profiler/sites.h).
 * May make room, so a stack has to be held, or be found afterwards. */
HEAPPROF_PART static uint32_t
current_label(void)
{
    const rb_execution_context_t *ec = GET_EC();
    uint32_t label = ec->heapprof_label, name = rb_ec_thread_ptr(ec)->heapprof_name;

    if (!(label | name)) return 0;
    if (!(name | ec->heapprof_late)) {
        uint32_t string = rb_heapprof_tables_known_label(&rb_heapprof.tables, label);
        if (string) return string; /* a lease is larger than any set */
    }
    return current_label_slow(ec);
}
