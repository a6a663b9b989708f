/* page.c - writes the tables of a page as JSON. Each table is written column by column, because
 * that is shorter. */
#include "report/page.h"

static void
begin(struct report_json *json, const char *key, char bracket)
{
    report_json_line(json);
    report_json_member_begin(json, key, bracket);
}

/* Writes one number of each tuple, minus base, because the page counts from 0. */
static void
put_column(struct report_json *json, const char *key, const struct report_tuples *tuples,
           uint32_t column, int base)
{
    report_json_member_begin(json, key, '[');
    for (uint32_t number = 1; number <= tuples->count; number++) {
        report_json_integer(json, (int64_t)report_tuples_get(tuples, number)[column] - base);
    }
    report_json_end(json, ']');
}

static void
put_facts(struct report_json *json, const struct report_page *page)
{
    const struct heapprof_model *model = page->model;

    report_json_member_text(json, "name", page->name);
    report_json_member_text(json, "old", page->old);
    report_json_member_integer(json, "time", model->time_ns / 1000000);
    begin(json, "comments", '[');
    for (uint32_t i = 0; i < model->comment_count; i++)
        report_json_model_string(json, model, model->comments[i]);
    report_json_end(json, ']');
    begin(json, "types", '[');
    for (uint32_t i = 0; i < model->type_count; i++) {
        report_json_begin(json, '[');
        report_json_model_string(json, model, model->types[i].type);
        report_json_model_string(json, model, model->types[i].unit);
        report_json_end(json, ']');
    }
    report_json_end(json, ']');
    report_json_member_unsigned(json, "default", rb_heapprof_model_default_type(model));
}

static void
put_strings(struct report_json *json, const struct heapprof_strings *strings)
{
    begin(json, "strings", '[');
    for (uint32_t number = 0; number < strings->numbers.end; number++) {
        size_t length;
        const char *text = rb_heapprof_strings_get(strings, number, &length);
        report_json_string(json, text, length);
    }
    report_json_end(json, ']');
}

static void
put_frames(struct report_json *json, const struct report_page_tables *tables)
{
    begin(json, "files", '{');
    put_column(json, "name", &tables->files, 0, 0);
    put_column(json, "gem", &tables->files, 1, 0);
    put_column(json, "own", &tables->files, 2, 0);
    put_column(json, "short", &tables->files, 3, 0);
    report_json_end(json, '}');
    begin(json, "functions", '{');
    put_column(json, "name", &tables->functions, 0, 0);
    put_column(json, "file", &tables->functions, 1, 1);
    put_column(json, "line", &tables->functions, 2, 0);
    report_json_end(json, '}');
    begin(json, "nodes", '{');
    put_column(json, "parent", &tables->nodes, 0, 1);
    put_column(json, "function", &tables->nodes, 1, 1);
    put_column(json, "line", &tables->nodes, 2, 0);
    report_json_end(json, '}');
}

static void
put_label_numbers(struct report_json *json, const struct report_tuples *labels)
{
    report_json_member_begin(json, "number", '[');
    for (uint32_t label = 1; label <= labels->count; label++) {
        const uint32_t *tuple = report_tuples_get(labels, label);
        report_json_integer(json, (int64_t)((uint64_t)tuple[2] << 32 | tuple[3]));
    }
    report_json_end(json, ']');
}

/* Writes the sets. Set 0 is the empty set. The last label of a set comes first. */
static void
put_sets(struct report_json *json, const struct report_tuples *sets)
{
    begin(json, "sets", '[');
    for (uint32_t set = 0; set <= sets->count; set++) {
        report_json_begin(json, '[');
        for (uint32_t rest = set; rest > 0; rest = report_tuples_get(sets, rest)[0]) {
            report_json_unsigned(json, report_tuples_get(sets, rest)[1] - 1);
        }
        report_json_end(json, ']');
    }
    report_json_end(json, ']');
}

static void
put_labels(struct report_json *json, const struct report_page_tables *tables)
{
    begin(json, "labels", '{');
    put_column(json, "key", &tables->labels, 0, 0);
    put_column(json, "text", &tables->labels, 1, 0);
    put_label_numbers(json, &tables->labels);
    put_column(json, "unit", &tables->labels, 4, 0);
    report_json_end(json, '}');
    put_sets(json, &tables->sets);
}

static void
put_rows(struct report_json *json, const struct report_page_tables *tables)
{
    begin(json, "rows", '{');
    put_column(json, "node", &tables->rows, 0, 1);
    put_column(json, "set", &tables->rows, 1, 0);
    begin(json, "values", '[');
    for (uint32_t type = 0; type < tables->type_count; type++) {
        report_json_begin(json, '[');
        for (size_t row = 0; row < tables->rows.count; row++) {
            report_json_integer(json, tables->values[row * tables->type_count + type]);
        }
        report_json_end(json, ']');
    }
    report_json_end(json, ']');
    report_json_end(json, '}');
}

void
report_page_write(FILE *out, const struct report_page *page)
{
    struct report_json json = {.out = out, .markup = true};

    report_json_begin(&json, '{');
    put_facts(&json, page);
    put_strings(&json, &page->tables->strings);
    put_frames(&json, page->tables);
    put_labels(&json, page->tables);
    put_rows(&json, page->tables);
    report_json_line(&json);
    report_json_key(&json, "sources");
    page->put_sources(&json, page->data);
    report_json_end(&json, '}');
}
