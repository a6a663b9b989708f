#ifndef HEAPPROF_REPORT_JSON_H
#define HEAPPROF_REPORT_JSON_H
/* Writes JSON (RFC 8259) to a stream, value by value. The writer adds commas and colons. The
 * caller pairs each begin with an end. Errors stay in the stream (ferror). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "pprof/model.h"

struct report_json {
    FILE  *out;
    size_t longest; /* 4 or more: a string of more bytes is cut and ends with an ellipsis; 0: no
                       limit */
    bool   comma;   /* the next value needs a comma before it */
    bool   markup;  /* the JSON will stand in HTML: <, > and & are escaped, too */
    bool   spaced;  /* a space follows each comma, for readers that expect it */
};

/* bracket is '{' or '[' for begin, and '}' or ']' for end. report_json_line writes a newline
 * between two values, where lines help people. */
void report_json_begin(struct report_json *json, char bracket);
void report_json_end(struct report_json *json, char bracket);
void report_json_line(struct report_json *json);

/* Writes a key. The next value belongs to it. */
void report_json_key(struct report_json *json, const char *key);

/* Bytes that are not UTF-8 are escaped as in base/utf8. Invisible characters become \uXXXX
 * (base/unseen). */
void report_json_string(struct report_json *json, const char *text, size_t length);
void report_json_text(struct report_json *json, const char *text);
void report_json_model_string(struct report_json *json, const struct heapprof_model *model,
                              uint32_t string);
void report_json_integer(struct report_json *json, int64_t number);
void report_json_unsigned(struct report_json *json, uint64_t number);
void report_json_number(struct report_json *json, double number); /* null if not finite */
void report_json_exact(struct report_json *json, double number); /* null if not finite */
void report_json_milliseconds(struct report_json *json, int64_t ns); /* as 12.5, exactly */
void report_json_bool(struct report_json *json, bool value);
void report_json_null(struct report_json *json);

/* Write a member of an object: the key, then the value as above. A text of NULL is written as
 * null. */
void report_json_member_begin(struct report_json *json, const char *key, char bracket);
void report_json_member_string(struct report_json *json, const char *key, const char *text,
                               size_t length);
void report_json_member_text(struct report_json *json, const char *key, const char *text);
void report_json_member_integer(struct report_json *json, const char *key, int64_t number);
void report_json_member_unsigned(struct report_json *json, const char *key, uint64_t number);
void report_json_member_number(struct report_json *json, const char *key, double number);
void report_json_member_bool(struct report_json *json, const char *key, bool value);

#endif
