#ifndef HEAPPROF_REPORT_EXPORT_H
#define HEAPPROF_REPORT_EXPORT_H
/* Writes profiles in the formats of other programs. Each function writes to a stream, whose errors stay in it
 * (ferror). Each returns false if there was no memory. type says which value of a sample is written, if the
 * format has only one. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "pprof/model.h"

typedef bool report_export_i(FILE *out, const struct heapprof_model *model, uint32_t type);

/* Everything in the file, as one object. A reference to a function, a location or a mapping is its place in
 * that array, from 0. */
report_export_i report_export_json;

/* A line for each stack, "main;Cart#load;Array#map 4096", which flamegraph.pl and many other programs read.
 * For values above 0. */
report_export_i report_export_collapsed;

/* The format of speedscope, with every type. For values of 0 and above. */
report_export_i report_export_speedscope;

/* A trace with a heap profile in it, for Perfetto. For values of 0 and above. */
report_export_i report_export_perfetto;

/* A line for each sample: its values, its labels, its stack (RFC 4180). */
report_export_i report_export_csv;

#endif
