/* function.c - a C function in a text for people. */
#include <stdio.h>

#include "memcheck/callers.h"
#include "memcheck/report.h"
#include "report/text.h"

/* Names may have any length. */
static void
put_part(FILE *out, const char *text, size_t length)
{
    char part[256];

    snprintf(part, sizeof(part), "%.*s",
             length < sizeof(part) ? (int)length : (int)sizeof(part) - 1, text);
    report_put(out, part, 0, false);
}

void
memcheck_c_function_put(FILE *out, const struct memcheck_c_function *one)
{
    put_part(out, one->function, one->function_length);
    if (one->library_length == 0) return;
    fputs(" (", out);
    put_part(out, one->library, one->library_length);
    putc(')', out);
}

void
memcheck_function_put(FILE *out, const struct memcheck_process *process,
                      const struct memcheck_record *record)
{
    const struct memcheck_c_function own = {record->function, record->library,
                                            record->function_length, record->library_length};
    struct memcheck_c_function whom;

    memcheck_c_function_put(out, &own);
    if (!memcheck_callers_for(process, record, &whom)) return;
    fputs(" for ", out);
    memcheck_c_function_put(out, &whom);
}
