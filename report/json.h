#ifndef HEAPPROF_REPORT_JSON_H
#define HEAPPROF_REPORT_JSON_H
/* Writes JSON (RFC 8259) to a stream, thing by thing. Commas and colons come by themselves; the
 * caller begins and ends in pairs. Errors stay in the stream (ferror). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pprof/model.h"

struct report_json {
    FILE  *out;
    size_t longest; /* bytes of a string, 4 or more: what is longer is cut, and ends with an ellipsis; 0: none is cut */
    bool   comma;   /* before the next thing */
    bool   markup;  /* it will stand in HTML: <, > and & are escaped, too */
    bool   spaced;  /* a space behind each comma, for readers that look for it */
};

/* bracket: '{' or '['; the other one at the end. A newline between things where lines help people. */
void report_json_begin(struct report_json *json, char bracket);
void report_json_end(struct report_json *json, char bracket);
void report_json_line(struct report_json *json);

/* What follows is the value of that key. */
void report_json_key(struct report_json *json, const char *key);

/* Bytes that are not UTF-8 are escaped as base/utf8 does it, what is not seen as \uXXXX (base/unseen). */
void report_json_string(struct report_json *json, const char *text, size_t length);
void report_json_text(struct report_json *json, const char *text);
void report_json_model_string(struct report_json *json, const struct heapprof_model *model, uint32_t string);
void report_json_integer(struct report_json *json, int64_t number);
void report_json_unsigned(struct report_json *json, uint64_t number);
void report_json_number(struct report_json *json, double number); /* null when it is not finite */
void report_json_bool(struct report_json *json, bool value);
void report_json_null(struct report_json *json);

/* A member of an object: that key, and the value as above; a text that is NULL is null. */
void report_json_member_begin(struct report_json *json, const char *key, char bracket);
void report_json_member_string(struct report_json *json, const char *key, const char *text, size_t length);
void report_json_member_text(struct report_json *json, const char *key, const char *text);
void report_json_member_integer(struct report_json *json, const char *key, int64_t number);
void report_json_member_unsigned(struct report_json *json, const char *key, uint64_t number);
void report_json_member_number(struct report_json *json, const char *key, double number);
void report_json_member_bool(struct report_json *json, const char *key, bool value);

#endif
