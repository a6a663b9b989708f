/* export_formats.c - the formats that a profile is written in, by their names. */
#include "report/export.h"

#include <string.h>

static const struct report_format formats[] = {
    { "pprof", NULL, false },
    { "collapsed", report_export_collapsed, true },
    { "speedscope", report_export_speedscope, true },
    { "json", report_export_json, false },
    { "csv", report_export_csv, false },
    { "perfetto", report_export_perfetto, true },
    { "svg", report_export_svg, true },
    { "callgrind", report_export_callgrind, true },
    { "firefox", report_export_firefox, true },
};

const struct report_format *
report_format_find(const char *name)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (!strcmp(formats[i].name, name)) return &formats[i];
    }
    return NULL;
}
