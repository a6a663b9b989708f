/* info.c - heapprof info: what a profile says about itself.
 *
 * It shows what was profiled, when, where, how exactly, what was dropped, and what the resident
 * memory consists of. If heapprof did not write the profile, it shows what the profile has of
 * this.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/version.h"
#include "cli/several.h"
#include "report/estimate.h"
#include "report/json.h"
#include "report/text.h"

#define SIGMAS 2 /* of an error: the true value is within this range 19 times out of 20 */

/* ---- what the samples tell ---- */

struct rung {
    uint32_t name;   /* string */
    int64_t  bytes;
};

struct facts {
    const struct heapprof_model *model;
    double  *totals, *variances; /* by type */
    struct report_estimate *estimates;
    struct rung *rungs; /* of the ladder, the largest first */
    size_t   rung_count, rung_capacity;
};

static bool
add_rung(struct facts *facts, const struct heapprof_samples *samples, int64_t bytes)
{
    const struct heapprof_model *model = facts->model;
    const struct heapprof_model_location *location;
    uint64_t function;

    if (samples->location_count == 0) return true;
    location = &model->locations[samples->locations[0]];
    if (location[0].first_line == location[1].first_line) return true;
    function = model->lines[location->first_line].function;
    if (function == HEAPPROF_NO_PLACE) return true;
    if (!HEAPPROF_ARRAY_GROW(facts->rungs, facts->rung_capacity, facts->rung_count + 1))
        return false;
    facts->rungs[facts->rung_count++] = (struct rung){model->functions[function].name, bytes};
    return true;
}

static int
larger(const void *a, const void *b)
{
    const struct rung *one = a, *other = b;

    return (one->bytes < other->bytes) - (one->bytes > other->bytes);
}

static bool
begin(struct facts *facts)
{
    const struct heapprof_model *model = facts->model;

    facts->totals = calloc(model->type_count, sizeof(*facts->totals));
    facts->variances = calloc(model->type_count, sizeof(*facts->variances));
    facts->estimates = calloc(model->type_count, sizeof(*facts->estimates));
    if (!facts->totals || !facts->variances || !facts->estimates) return false;
    for (uint32_t i = 0; i < model->type_count; i++)
        report_estimate_init(&facts->estimates[i], model, i);
    return true;
}

static void
add_values(struct facts *facts, const int64_t *values)
{
    for (uint32_t i = 0; i < facts->model->type_count; i++) {
        facts->totals[i] += (double)values[i];
        facts->variances[i] += report_estimate_variance(&facts->estimates[i], values);
    }
}

static double
error_of(const struct facts *facts, uint32_t type)
{
    return SIGMAS * sqrt(facts->variances[type]);
}

static bool
gather(struct facts *facts)
{
    const struct heapprof_model *model = facts->model;
    uint32_t rss = rb_heapprof_model_type(model, "rss_space");
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    room = begin(facts) && room;
    while (room && rb_heapprof_samples_next(&samples)) {
        add_values(facts, samples.values);
        if (rss < model->type_count && samples.values[rss] != 0) {
            room = add_rung(facts, &samples, samples.values[rss]);
        }
    }
    rb_heapprof_samples_end(&samples);
    if (facts->rung_count) qsort(facts->rungs, facts->rung_count, sizeof(*facts->rungs), larger);
    return room;
}

/* ---- as text ---- */

static const char *
string(const struct heapprof_model *model, uint32_t number)
{
    return rb_heapprof_model_string(model, number, NULL);
}

static void
put_line(const char *title, const char *text)
{
    printf("%-10s", title);
    report_put(stdout, text, 0, false);
    putchar('\n');
}

static void
put_times(const struct heapprof_model *model)
{
    time_t seconds = (time_t)(model->time_ns / 1000000000);
    char text[100], duration[REPORT_AMOUNT_MAX];
    struct tm local;

    if (model->time_ns == 0 || !localtime_r(&seconds, &local)) return;
    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &local);
    if (model->duration_ns > 0) {
        report_amount(duration, (double)model->duration_ns, "nanoseconds");
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ", over %s", duration);
    }
    put_line("taken", text);
}

/* Files from before 1.0.0 do not say their version. A profile without any of heapprof's comments
 * was not written by heapprof. */
static void
put_version(const struct heapprof_model *model)
{
    static const char *const ours[] = {"interval: ", "malloc interval: ", "looks: ", "memcheck: "};
    const char *version = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_VERSION);

    if (version) put_line("heapprof", version);
    for (size_t i = 0; !version && i < sizeof(ours) / sizeof(*ours); i++) {
        if (!rb_heapprof_model_comment(model, ours[i])) continue;
        put_line("heapprof", "a version before 1.0.0: the file does not say which");
        return;
    }
}

/* The ruby that the profile was written by: the length of its version in *text, or 0 if the profile
 * does not say, as those of other programs. */
static int
base_version(const struct heapprof_model *model, const char **text)
{
    static const char ruby[] = "ruby ";
    const char *build = rb_heapprof_model_comment(model, HEAPPROF_COMMENT_BUILD);

    if (!build || strncmp(build, ruby, strlen(ruby)) || !strstr(build, "+heapprof ")) return 0;
    *text = build + strlen(ruby);
    return (int)strcspn(*text, " ");
}

static bool
base_tested_p(const struct heapprof_model *model)
{
    return !strstr(rb_heapprof_model_comment(model, HEAPPROF_COMMENT_BUILD), HEAPPROF_UNTESTED);
}

static void
put_base(const struct heapprof_model *model)
{
    const char *version;
    int length = base_version(model, &version);

    if (length == 0) return;
    report_print(stdout, "ruby      %.*s, %s with heapprof\n", length, version,
                 base_tested_p(model) ? "tested" : "not tested");
}

static void
put_size(const struct heapprof_model *model)
{
    char samples[REPORT_COUNT_MAX], functions[REPORT_COUNT_MAX], locations[REPORT_COUNT_MAX];

    report_count(samples, model->sample_count, "sample", "samples");
    report_count(functions, rb_heapprof_model_functions(model), "function", "functions");
    report_count(locations, rb_heapprof_model_locations(model), "location", "locations");
    printf("%-10s%s, %s, %s\n", "holds", samples, functions, locations);
    for (uint32_t i = 0; i < rb_heapprof_model_mappings(model) && i < 1; i++) {
        put_line("of", string(model, model->mappings[i].filename));
    }
}

static void
put_period(const struct heapprof_model *model)
{
    char period[REPORT_AMOUNT_MAX];
    const char *unit = string(model, model->period_type.unit);

    if (model->period == 0) return;
    report_amount(period, (double)model->period, unit);
    printf("%-10s", "sampled");
    if (!strcmp(unit, "bytes") && model->period == 1) printf("everything: the numbers are exact\n");
    else if (!strcmp(unit, "bytes")) {
        char error[REPORT_AMOUNT_MAX];
        report_amount(error, SIGMAS * sqrt((double)model->period * 64 * 1048576), unit);
        printf("every %s on average: 64 MB of small things are right to \xc2\xb1 %s\n", period,
               error);
    }
    else report_print(stdout, "every %s of %s\n", period, string(model, model->period_type.type));
}

static void
put_values(const struct facts *facts)
{
    const struct heapprof_model *model = facts->model;

    for (uint32_t i = 0; i < model->type_count; i++) {
        char amount[REPORT_AMOUNT_MAX];
        if (facts->estimates[i].variance == i) continue; /* the errors are made of this type */
        report_amount(amount, facts->totals[i], string(model, model->types[i].unit));
        printf("%-10s%14s  ", i ? "" : "values", amount);
        report_put(stdout, string(model, model->types[i].type), 0, false);
        if (facts->variances[i] > 0) {
            report_amount(amount, error_of(facts, i), string(model, model->types[i].unit));
            printf("  \xc2\xb1 %s", amount);
        }
        puts(i == rb_heapprof_model_default_type(model) ? "  (shown first)" : "");
    }
}

static void
put_ladder(const struct facts *facts)
{
    double rss = 0;

    for (size_t i = 0; i < facts->rung_count; i++) rss += (double)facts->rungs[i].bytes;
    if (rss == 0) return;
    for (size_t i = 0; i < facts->rung_count; i++) {
        char amount[REPORT_AMOUNT_MAX], share[REPORT_AMOUNT_MAX];
        report_amount(amount, (double)facts->rungs[i].bytes, "bytes");
        report_share(share, (double)facts->rungs[i].bytes, rss);
        printf("%-10s%14s  %6s  ", i ? "" : "memory", amount, share);
        report_put(stdout, string(facts->model, facts->rungs[i].name), 0, false);
        putchar('\n');
    }
    char amount[REPORT_AMOUNT_MAX];
    report_amount(amount, rss, "bytes");
    printf("%-10s%14s  100.0%%  in memory (RSS)\n", "", amount);
}

static void
put_text(const struct facts *facts, const char *name)
{
    const struct heapprof_model *model = facts->model;

    put_line("file", name);
    put_version(model);
    put_base(model);
    put_times(model);
    put_size(model);
    put_period(model);
    for (uint32_t i = 0; i < model->comment_count; i++)
        put_line(i ? "" : "says", string(model, model->comments[i]));
    put_values(facts);
    put_ladder(facts);
}

/* ---- as JSON ---- */

static void
put_json_values(struct report_json *json, const struct facts *facts)
{
    const struct heapprof_model *model = facts->model;

    report_json_member_begin(json, "values", '[');
    for (uint32_t i = 0; i < model->type_count; i++) {
        report_json_begin(json, '{');
        report_json_member_text(json, "type", string(model, model->types[i].type));
        report_json_member_text(json, "unit", string(model, model->types[i].unit));
        report_json_member_number(json, "total", facts->totals[i]);
        report_json_member_number(json, "error", error_of(facts, i));
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
    report_json_member_begin(json, "memory", '[');
    for (size_t i = 0; i < facts->rung_count; i++) {
        report_json_begin(json, '{');
        report_json_member_text(json, "name", string(model, facts->rungs[i].name));
        report_json_member_integer(json, "bytes", facts->rungs[i].bytes);
        report_json_end(json, '}');
    }
    report_json_end(json, ']');
}

static void
put_json(const struct facts *facts, const char *name)
{
    const struct heapprof_model *model = facts->model;
    struct report_json json = {.out = stdout};
    const char *version;
    int length;

    report_json_begin(&json, '{');
    report_json_member_text(&json, "file", name);
    if ((length = base_version(model, &version)) != 0) {
        report_json_member_string(&json, "ruby", version, (size_t)length);
        report_json_member_bool(&json, "ruby_tested", base_tested_p(model));
    }
    report_json_member_integer(&json, "time_ns", model->time_ns);
    report_json_member_integer(&json, "duration_ns", model->duration_ns);
    report_json_member_integer(&json, "samples", (int64_t)model->sample_count);
    report_json_member_integer(&json, "functions", rb_heapprof_model_functions(model));
    report_json_member_integer(&json, "locations", rb_heapprof_model_locations(model));
    report_json_member_integer(&json, "period", model->period);
    report_json_member_text(&json, "period_type", string(model, model->period_type.type));
    report_json_member_text(&json, "period_unit", string(model, model->period_type.unit));
    report_json_member_begin(&json, "comments", '[');
    for (uint32_t i = 0; i < model->comment_count; i++)
        report_json_text(&json, string(model, model->comments[i]));
    report_json_end(&json, ']');
    put_json_values(&json, facts);
    report_json_end(&json, '}');
    putchar('\n');
}

/* ---- the command ---- */

static int
run(struct cli *cli)
{
    struct cli_sum sum;
    int status = CLI_WRONG;

    if (cli_sum_read(&sum, cli)) {
        struct facts facts = {.model = sum.model};
        if (!gather(&facts)) status = cli_wrong(cli, "%s: no memory", sum.name);
        else {
            if (!cli->values[CLI_JSON]) cli_page();
            (cli->values[CLI_JSON] ? put_json : put_text)(&facts, sum.name);
            status = cli_finish(cli);
        }
        free(facts.totals);
        free(facts.variances);
        free(facts.estimates);
        free(facts.rungs);
    }
    cli_sum_free(&sum);
    return status;
}

static const struct cli_option options[] = {
    {CLI_JSON, NULL, "Write JSON"},
    CLI_OUTPUT_OPTION,
    {0}
};

static const struct cli_example examples[] = {
    {"heapprof info heap.pb.gz", "what it is, when it was taken, how exact its numbers are"},
    {"heapprof info heap.pb.gz --json | jq .values", "the totals, for a script"},
    {0}
};

const struct cli_command cli_info_command = {
    .name = "info", .arguments = "[--json] FILE...",
    .summary = "What a profile says about itself",
    .description =
        "Shows what the profile is of, when it was taken, how exact its numbers are, what was\n"
        "dropped and its totals. If the profile has it, also shows what the resident memory (RSS)\n"
        "consists of.\n"
        "\n"
        CLI_SUM_HELP,
    .options = options, .examples = examples, .least = 1, .most = 1000, .run = run,
};
