/* terms.c - what MRI's types are in Ruby's terms, and the plural of a class. */
#include "graph/terms.h"

#include <stdbool.h>
#include <string.h>

#include "report/text.h"

/* One object by itself, and a number of them. */
struct term {
    const char *type, *name, *one, *many;
};

/* An entry whose type ends with '(' is that of all types that begin so. The first one counts. */
static const struct term terms[] = {
    {"T_IMEMO(iseq)", "compiled code", "piece of compiled code", "pieces of compiled code"},
    {"T_IMEMO(ment)", "method entry", "method entry", "method entries"},
    {"T_IMEMO(env)", "local variables of a block", "set of local variables of a block",
     "sets of local variables of blocks"},
    {"T_IMEMO(cref)", "scope of constants", "scope of constants", "scopes of constants"},
    {"T_IMEMO(svar)", "special variables", "set of special variables", "sets of special variables"},
    {"T_IMEMO(callcache)", "call cache", "call cache", "call caches"},
    {"T_IMEMO(callinfo)", "call description", "call description", "call descriptions"},
    {"T_IMEMO(constcache)", "constant cache", "constant cache", "constant caches"},
    {"T_IMEMO(ifunc)", "block in C", "block in C", "blocks in C"},
    {"T_IMEMO(", "note of the VM", "note of the VM", "notes of the VM"},
    {"T_ICLASS", "included module", "included module", "included modules"},
    {"T_CLASS", "internal class", "internal class", "internal classes"},
    {"T_MODULE", "internal module", "internal module", "internal modules"},
    {"T_ARRAY", "internal Array", "internal Array", "internal Arrays"},
    {"T_HASH", "internal Hash", "internal Hash", "internal Hashes"},
    {"T_STRING", "internal String", "internal String", "internal Strings"},
    {"T_OBJECT", "internal object", "internal object", "internal objects"},
    {"T_STRUCT", "internal Struct", "internal Struct", "internal Structs"},
    {"RubyVM", "the VM's own tables", "VM", "VMs"},
    {"T_DATA(", "internal object of C code", "internal object of C code",
     "internal objects of C code"},
};

static const struct term *
find_term(const char *class_name)
{
    for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++) {
        size_t length = strlen(terms[i].type);
        if (terms[i].type[length - 1] != '(') length++; /* with the NUL */
        if (!strncmp(class_name, terms[i].type, length)) return &terms[i];
    }
    return NULL;
}

const char *
graph_term(const char *class_name)
{
    const struct term *term = find_term(class_name);

    return term ? term->name : NULL;
}

/* ---- the plural of a class ---- */

static bool
ends_p(const char *name, size_t length, const char *end)
{
    size_t count = strlen(end);

    return length >= count && !memcmp(name + length - count, end, count);
}

/* What stands behind the name of a class if there are many. A name whose plural would change it, or
 * that looks like a plural already, is followed by a noun. */
static const char *
plural_end(const char *name)
{
    static const char *const es[] = {"sh", "ch", "ss", "x"};
    size_t length = strlen(name);
    char last = length > 0 ? name[length - 1] : '\0';
    char before = length > 1 ? name[length - 2] : '\0';

    for (size_t i = 0; i < sizeof(es) / sizeof(es[0]); i++) {
        if (ends_p(name, length, es[i])) return "es";
    }
    if (last < 'a' || last > 'z' || last == 's' || last == 'z') return " objects";
    return last == 'y' && (before == '\0' || !strchr("aeiou", before)) ? " objects" : "s";
}

void
graph_put_plural(FILE *out, const char *class_name)
{
    const struct term *term = find_term(class_name);

    if (term) fputs(term->many, out);
    else fprintf(out, "%s%s", class_name, plural_end(class_name));
}

void
graph_put_counted(FILE *out, uint64_t count, const char *adjective, const char *class_name)
{
    const struct term *term = find_term(class_name);
    char amount[REPORT_AMOUNT_MAX];

    report_amount(amount, (double)count, "count");
    fprintf(out, "%s %s", amount, adjective);
    if (count != 1) graph_put_plural(out, class_name);
    else fputs(term ? term->one : class_name, out);
}
