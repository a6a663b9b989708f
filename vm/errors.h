/* errors.h - variables of exceptions that have no name. A patch includes it at the end of MRI's
 * error.c, because their IDs are private there. gc/interpreter.h declares the function. */
#include "heapprof/vm/names/fields.h"

HEAPPROF_FIELDS_DEFINE(error, HEAPPROF_FIELDS_ERROR)

const char *
rb_heapprof_hidden_variable_name(ID id)
{
    if (id == id_recv) return "receiver";
    return id == id_iseq ? "code" : NULL;
}
