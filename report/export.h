#ifndef HEAPPROF_REPORT_EXPORT_H
#define HEAPPROF_REPORT_EXPORT_H
/* Writes profiles in the formats of other programs. Each function writes to a stream, whose
 * errors stay in it (ferror). Each returns false if there was no memory. type says which value of
 * a sample is written, if the format has only one. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pprof/model.h"

typedef bool report_export_i(FILE *out, const struct heapprof_model *model, uint32_t type);

struct report_format {
    const char *name;
    report_export_i *write; /* NULL: pprof's, which is no export but the profile */
    bool positive;           /* it has no values below 0 */
};

/* Returns the format of that name, or NULL if no format has it. */
const struct report_format *report_format_find(const char *name);

/* Writes everything in the file as one object. A function, location or mapping is referred to by
 * its place in its array, from 0. */
report_export_i report_export_json;

/* Writes a line for each sample, as "main (app.rb:3);Cart#load (cart.rb:7);Array#map 4096"
 * (report_put_stack). flamegraph.pl and many other programs read this. Only values above 0 are
 * written. */
report_export_i report_export_collapsed;

/* Writes the format of speedscope, with every type. Values have to be 0 or above. */
report_export_i report_export_speedscope;

/* Writes a flame graph, a picture. Values have to be 0 or above. */
report_export_i report_export_svg;

/* Writes the format of callgrind, with every type; the one given is the first. Values have to be 0
 * or above. */
report_export_i report_export_callgrind;

/* Writes the format of the Firefox Profiler. The labels "thread" and "pid" say whose a sample is,
 * and "start", in nanoseconds, when it began. Values have to be 0 or above. */
report_export_i report_export_firefox;

/* Writes a trace with a heap profile in it, for Perfetto. Values have to be 0 or above. */
report_export_i report_export_perfetto;

/* Writes a line for each sample: its values, its labels, its stack (RFC 4180). */
report_export_i report_export_csv;

#endif
