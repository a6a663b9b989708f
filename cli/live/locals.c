/* locals.c - local variables as text and as JSON.
 *
 *     app/cart.rb:7:in 'Cart#load'
 *         items: Array                   with values: Array of 12
 *         name: String                   with values: "The beginning of a long te..." (1,200 bytes)
 */
#include "cli/live/locals.h"

#include <inttypes.h>

#include "cli/live/attach.h"
#include "report/text.h"

static const char *
text_of(const struct attach_looks *looks, uint32_t string, size_t *length)
{
    return attach_names_text(looks->names, string, length);
}

static void
put_string(FILE *out, const struct attach_looks *looks, const struct attach_local *local)
{
    char bytes[REPORT_COUNT_MAX];
    size_t length;
    const char *text = text_of(looks, local->text, &length);

    putc('"', out);
    report_put(out, text, 0, false);
    fputs(length < local->size ? "...\"" : "\"", out);
    report_count(bytes, local->size, "byte", "bytes");
    if (length < local->size) fprintf(out, " (%s)", bytes);
}

static void
put_value(FILE *out, const struct attach_looks *looks, const struct attach_local *local)
{
    char number[REPORT_AMOUNT_MAX];

    switch (local->kind) {
      case ATTACH_VALUE_UNSAID: break;
      case ATTACH_VALUE_NIL: fputs("nil", out); return;
      case ATTACH_VALUE_TRUE: fputs("true", out); return;
      case ATTACH_VALUE_FALSE: fputs("false", out); return;
      case ATTACH_VALUE_INTEGER: fprintf(out, "%"PRId64, local->integer); return;
      case ATTACH_VALUE_FLOAT:
        report_exact(number, local->real);
        fputs(number, out);
        return;
      case ATTACH_VALUE_SYMBOL:
        putc(':', out);
        report_put(out, text_of(looks, local->text, NULL), 0, false);
        return;
      case ATTACH_VALUE_STRING: put_string(out, looks, local); return;
      case ATTACH_VALUE_SIZE: break;
    }
    report_put(out, text_of(looks, local->class_name, NULL), 0, false);
    if (local->kind != ATTACH_VALUE_SIZE) return;
    report_amount(number, (double)local->size, "count");
    fprintf(out, " of %s", number);
}

void
cli_locals_text(FILE *out, const struct attach_looks *looks,
                const struct attach_look_frame *frame)
{
    struct attach_locals_frame found = attach_locals_of(&looks->locals, frame->locals);
    const char *why = attach_locals_why(found.state);

    if (why) fprintf(out, "        (local variables are not known: %s)\n", why);
    for (size_t i = 0; i < found.count; i++) {
        const struct attach_local *local = &looks->locals.all[found.first + i];
        fputs("        ", out);
        report_put(out, text_of(looks, local->name, NULL), 0, false);
        fputs(": ", out);
        put_value(out, looks, local);
        putc('\n', out);
    }
}

/* Writes the members "value" and "size" of values that have them. */
static void
json_value(struct report_json *json, const struct attach_looks *looks,
           const struct attach_local *local)
{
    switch (local->kind) {
      case ATTACH_VALUE_UNSAID: return;
      case ATTACH_VALUE_SYMBOL:
        cli_attach_json_name(json, "value", looks->names, local->text);
        return;
      case ATTACH_VALUE_STRING:
        cli_attach_json_name(json, "value", looks->names, local->text);
        report_json_member_unsigned(json, "size", local->size);
        return;
      case ATTACH_VALUE_SIZE: report_json_member_unsigned(json, "size", local->size); return;
      case ATTACH_VALUE_INTEGER: report_json_member_integer(json, "value", local->integer); return;
      case ATTACH_VALUE_NIL: case ATTACH_VALUE_TRUE: case ATTACH_VALUE_FALSE:
      case ATTACH_VALUE_FLOAT: break;
    }
    report_json_key(json, "value");
    if (local->kind == ATTACH_VALUE_NIL) report_json_null(json);
    else if (local->kind == ATTACH_VALUE_FLOAT) report_json_exact(json, local->real);
    else report_json_bool(json, local->kind == ATTACH_VALUE_TRUE);
}

void
cli_locals_json(struct report_json *json, const struct attach_looks *looks,
                const struct attach_look_frame *frame)
{
    struct attach_locals_frame found = attach_locals_of(&looks->locals, frame->locals);

    report_json_member_begin(json, "locals", '[');
    for (size_t i = 0; i < found.count; i++) {
        const struct attach_local *local = &looks->locals.all[found.first + i];
        report_json_begin(json, '{');
        cli_attach_json_name(json, "name", looks->names, local->name);
        cli_attach_json_name(json, "class", looks->names, local->class_name);
        json_value(json, looks, local);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
    if (attach_locals_why(found.state))
        report_json_member_text(json, "locals_unknown", attach_locals_why(found.state));
}
