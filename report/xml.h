#ifndef HEAPPROF_REPORT_XML_H
#define HEAPPROF_REPORT_XML_H
/* Text that stands in XML. */
#include <stdbool.h>
#include <stdio.h>

/* Writes a text, which is UTF-8, for an element or an attribute. Control characters that XML does
 * not allow become "?". */
void report_xml_text(FILE *out, const char *text);

/* Writes any text that a file has, as report_put does (text.h): at most width columns, 0 for all of
 * it. */
void report_xml_name(FILE *out, const char *text, unsigned width);

#endif
