/* names.c - what frames and labels are called. */
#include "report/names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/own.h"
#include "report/text.h"

/* ---- frames ---- */

bool
report_definitions_p(const struct heapprof_model *model)
{
    for (uint32_t place = 0; place < rb_heapprof_model_functions(model); place++) {
        if (model->functions[place].start_line > 0) return true;
    }
    return false;
}

/* A program's and a file's own code, "<main>" and "<top (required)>", begins at no line either. */
bool
report_native_p(const struct heapprof_model *model, const struct heapprof_model_function *function)
{
    const char *name = rb_heapprof_model_string(model, function->name, NULL);

    return function->start_line <= 0 && !(name[0] == '<' && isalpha((unsigned char)name[1]));
}

/* Returns the text behind digits, or NULL if there are none. */
static const char *
behind_digits(const char *text)
{
    const char *at = text;

    while (isdigit((unsigned char)*at)) at++;
    return at > text ? at : NULL;
}

/* Returns whether the text ends in two numbers, as "__1234_5678" or "___1234_5678": one of a
 * path, one of an object. */
static bool
two_numbers_p(const char *text)
{
    const char *numbers = NULL, *at = text;

    while ((at = strstr(at, "__")) != NULL) numbers = at++;
    if (!numbers || !(at = behind_digits(numbers + strspn(numbers, "_"))) || *at != '_')
        return false;
    at = behind_digits(at + 1);
    return at && !*at;
}

/* Returns whether a method of that name was compiled from a template: by Action View,
 * "_app_views_carts_show_html_erb___1234_5678", or by Tilt, "__tilt_1234". Its class may stand
 * before it. */
static bool
template_p(const char *name)
{
    static const char tilt[] = "__tilt_";
    const char *method = name;

    for (const char *at = name; *at; at++)
        if (*at == '#' || *at == '.' || *at == ' ') method = at + 1;
    if (method[0] != '_') return false;
    if (!strncmp(method, tilt, sizeof(tilt) - 1)) {
        const char *end = behind_digits(method + sizeof(tilt) - 1);
        return end && !*end;
    }
    return two_numbers_p(method);
}

const char *
report_function_name(const char *name, const char *file, const struct heapprof_model *model)
{
    if (!file[0] || !template_p(name)) return name;
    return report_short_path(file, rb_heapprof_model_comment(model, "directory: "));
}

struct report_frame
report_frame_of(const struct heapprof_model *model, uint64_t line, bool defined,
                const char *directories)
{
    struct report_frame frame = {.name = "", .file = ""};

    if (line & REPORT_NO_LINE) {
        const struct heapprof_model_location *location = &model->locations[line & ~REPORT_NO_LINE];
        frame.address = location->address;
        if (location->mapping != HEAPPROF_NO_PLACE) {
            frame.file =
                rb_heapprof_model_string(model, model->mappings[location->mapping].filename, NULL);
        }
        return frame;
    }
    frame.line = model->lines[line].line;
    if (model->lines[line].function != HEAPPROF_NO_PLACE) {
        const struct heapprof_model_function *function =
            &model->functions[model->lines[line].function];
        frame.file = rb_heapprof_model_string(model, function->filename, NULL);
        frame.name = rb_heapprof_model_string(model, function->name, NULL);
        if (frame.file[0] && template_p(frame.name))
            frame.name = report_short_path(frame.file, directories);
        frame.native = defined && report_native_p(model, function);
    }
    return frame;
}

/* ---- Rust ---- */

struct rust_name {
    char  *out;
    size_t left; /* bytes that are free, without that of the NUL */
};

static void
put_rust(struct rust_name *name, const char *text, size_t length)
{
    if (length > name->left) length = name->left;
    memcpy(name->out, text, length);
    name->out += length;
    name->left -= length;
    *name->out = '\0';
}

/* Puts the character that stands between two '$', such as "LT" for '<' or "u20" for a space. */
static bool
put_rust_sign(struct rust_name *name, const char *sign, size_t length)
{
    static const struct {
        const char *sign, *text;
    } signs[] = { { "LT", "<" }, { "GT", ">" }, { "RF", "&" }, { "BP", "*" },
                  { "C", "," },  { "LP", "(" }, { "RP", ")" }, { "SP", "@" } };

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (strlen(signs[i].sign) != length || strncmp(signs[i].sign, sign, length)) continue;
        put_rust(name, signs[i].text, 1);
        return true;
    }
    if (length != 3 || sign[0] != 'u') return false;
    char code = (char)strtol((char[]){sign[1], sign[2], '\0'}, NULL, 16);
    if (code < ' ' || code > '~') return false;
    put_rust(name, &code, 1);
    return true;
}

/* Puts a part of a path. ".." stands for "::", and a '_' comes before a part that begins with a
 * '$'. */
static void
put_rust_part(struct rust_name *name, const char *part, size_t length)
{
    size_t at = length > 1 && part[0] == '_' && part[1] == '$';

    while (at < length) {
        const char *end = part[at] == '$' ? memchr(part + at + 1, '$', length - at - 1) : NULL;
        if (end && put_rust_sign(name, part + at + 1, (size_t)(end - part) - at - 1))
            at = (size_t)(end - part) + 1;
        else if (part[at] == '.' && at + 1 < length && part[at + 1] == '.') {
            put_rust(name, "::", 2);
            at += 2;
        }
        else put_rust(name, &part[at++], 1);
    }
}

/* Returns whether this part is the hash that ends a path of Rust: "h" and 16 hexadecimal digits. */
static bool
rust_hash_p(const char *part, size_t length)
{
    if (length != 17 || part[0] != 'h') return false;
    for (size_t i = 1; i < length; i++) if (!isxdigit((unsigned char)part[i])) return false;
    return true;
}

/* Writes a name as it was before the compiler put it into letters: "_ZN", parts with their
 * lengths before them, "E". The last part is a hash, which is left out. Returns what follows the
 * name, or NULL if it is not one of Rust. */
static const char *
put_rust_name(const char *symbol, char *buffer, size_t size)
{
    struct rust_name name = {.out = buffer, .left = size - 1};
    const char *at = symbol + 3;

    if (strncmp(symbol, "_ZN", 3)) return NULL;
    while (isdigit((unsigned char)*at)) {
        char *part;
        size_t length = strtoul(at, &part, 10);
        if (length > strlen(part)) return NULL;
        at = part + length;
        if (rust_hash_p(part, length) && *at == 'E') return at + 1;
        if (name.out > buffer) put_rust(&name, "::", 2);
        put_rust_part(&name, part, length);
    }
    return NULL;
}

/* Returns whether a library is ruby itself: "ruby", "ruby-3.4", "libruby.so.3.4". */
static bool
ruby_library_p(const char *library, size_t length)
{
    if (length > 7 && !strncmp(library, "libruby", 7))
        return library[7] == '.' || library[7] == '-';
    if (length < 4 || strncmp(library, "ruby", 4)) return false;
    return length == 4 || !(isalpha((unsigned char)library[4]) || library[4] == '_');
}

const char *
report_caller_library(const char *caller, size_t *length)
{
    const char *begin = strrchr(caller, '(');
    size_t rest = begin ? strlen(begin) : 0;

    if (rest < 3 || begin[rest - 1] != ')' || begin[1] == '?') return NULL;
    *length = rest - 2;
    return begin + 1;
}

const char *
report_caller_name(const char *caller, char *buffer, size_t size)
{
    size_t length;
    const char *library = report_caller_library(caller, &length);
    bool newer =
        !strncmp(caller, "_RNv", 4) || !strncmp(caller, "_RIN", 4) || !strncmp(caller, "_RNC", 4);
    const char *rest = put_rust_name(caller, buffer, size);

    if (!rest && !newer) return caller;
    if (library && ruby_library_p(library, length))
        snprintf(buffer, size, "YJIT (%.*s)", (int)length, library);
    else if (rest) snprintf(buffer + strlen(buffer), size - strlen(buffer), "%s", rest);
    else return caller;
    return buffer;
}

/* ---- labels ---- */

const struct heapprof_model_label *
report_find_label(const struct heapprof_samples *samples, const char *key)
{
    for (uint32_t i = 0; i < samples->label_count; i++) {
        if (!strcmp(rb_heapprof_model_string(samples->model, samples->labels[i].key, NULL), key)) {
            return &samples->labels[i];
        }
    }
    return NULL;
}

const char *
report_label_text(const struct heapprof_model *model, const struct heapprof_model_label *label,
                  char buffer[REPORT_LABEL_MAX])
{
    if (label->str) {
        const char *text = rb_heapprof_model_string(model, label->str, NULL);
        bool caller =
            text[0] == '_' && !strcmp(rb_heapprof_model_string(model, label->key, NULL), "caller");
        return caller ? report_caller_name(text, buffer, REPORT_LABEL_MAX) : text;
    }
    if (!label->unit) snprintf(buffer, REPORT_LABEL_MAX, "%" PRId64, label->num); /* a pid, say */
    else
        report_amount(buffer, (double)label->num,
                      rb_heapprof_model_string(model, label->unit, NULL));
    return buffer;
}

const char *
report_vm_table(const struct heapprof_samples *samples)
{
    static const char vm[] = "[VM] ";
    const struct heapprof_model_label *owner = report_find_label(samples, "owner");

    if (!owner || !owner->str) return NULL;
    const char *name = rb_heapprof_model_string(samples->model, owner->str, NULL);
    return strncmp(name, vm, sizeof(vm) - 1) ? NULL : name;
}
