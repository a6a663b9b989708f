#ifndef HEAPPROF_REPORT_EXPORT_H
#define HEAPPROF_REPORT_EXPORT_H
/* Profiles in formats of others. Each writes to a stream, whose errors stay in it (ferror), and
 * returns whether there was memory. type: which of a sample's values, where the format has one. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pprof/model.h"

typedef bool report_export_i(FILE *out, const struct heapprof_model *model, uint32_t type);

/* All that is in the file, as one object: what refers to a function, a location or a mapping is its
 * place in that array, from 0. */
report_export_i report_export_json;

/* A line a stack, "main;Cart#load;Array#map 4096", as flamegraph.pl and many others read it; for values
 * above 0. */
report_export_i report_export_collapsed;

/* speedscope's own format, with every type; for values of 0 and above. */
report_export_i report_export_speedscope;

/* A trace with a heap profile in it, for Perfetto; for values of 0 and above. */
report_export_i report_export_perfetto;

/* A line a sample: its values, its labels, its stack (RFC 4180). */
report_export_i report_export_csv;

#endif
