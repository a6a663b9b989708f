/* xml.c - escapes text for XML. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* open_memstream */
#endif
#include "report/xml.h"

#include <stdlib.h>

#include "report/text.h"

void
report_xml_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
          case '&': fputs("&amp;", out); break;
          case '<': fputs("&lt;", out); break;
          case '>': fputs("&gt;", out); break;
          case '"': fputs("&quot;", out); break;
          case '\n':
          case '\t': putc(*text, out); break;
          default: putc((unsigned char)*text < ' ' ? '?' : *text, out);
        }
    }
}

void
report_xml_name(FILE *out, const char *text, unsigned width)
{
    char *plain = NULL;
    size_t size;
    FILE *stream = open_memstream(&plain, &size);

    if (!stream) return;
    report_put(stream, text, width, false);
    if (fclose(stream) == 0) report_xml_text(out, plain);
    free(plain);
}
