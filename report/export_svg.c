/* export_svg.c - draws a flame graph, as one file that needs no other and no network.
 *
 *     +--------------------------------------------+
 *     | all                                        |    a row for each depth, callers above callees
 *     +--------------------------+-----------------+
 *     | <main>                   | Thread#run      |    a frame is as wide as its value, with what it calls;
 *     +----------------+---+-----+-----------------+    the largest stands first
 *     | Cart#load      |   |
 *     +----------------+---+
 *
 * A frame is a function below its callers; its lines are added up. A frame that is narrower than a
 * tenth of a pixel is left out, and all below it. If more than MOST frames are wider than that, the
 * least width is larger. So the file has at most a few megabytes, whatever the profile has.
 *
 * Any viewer of SVG shows the picture, and each frame's name, file and value when the mouse is over
 * it. A browser also runs the script (svg_script.h): a click enlarges a frame, "f" finds a text.
 * Names are escaped as on a terminal, and then for XML. The script handles them as text only. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* asprintf */
#endif
#include "report/export.h"

#include <stdlib.h>
#include <string.h>

#include "report/own.h"
#include "report/page_tables.h"
#include "report/svg_script.h"
#include "report/text.h"
#include "report/xml.h"

enum {
    MOST = 20000,         /* frames that are drawn */
    LEFT = 10, TOP = 56,  /* of the frame of all */
    WIDTH = 1180, ROW = 17,
    NAME_MOST = 300       /* columns of a name */
};

#define LEAST_WIDTH 0.1
#define COLUMN_WIDTH 7.3 /* of a monospaced letter of 12 pixels */

struct svg_frame {
    uint32_t parent, number; /* of a frame; 0: the frame of all */
    uint32_t depth;
    double   value;          /* with what it calls */
    double   begins, used;   /* its left edge, the width of its callees; in the values' unit */
};

struct svg {
    FILE    *out;
    const struct heapprof_model *model;
    const char *unit;
    struct report_page_tables tables; /* of one type */
    struct report_tuples flames;      /* parent, function: a parent comes before its callees */
    struct svg_frame *frames;         /* by number; [0]: all */
    struct svg_frame *order;          /* the frames that are drawn, by parent and then by value */
    size_t   drawn;
    uint32_t deepest;
};

/* ---- the frames ---- */

/* Finds the frame of each node, which differs from others of its parent only in the line. */
static bool
find_flames(struct svg *svg, uint32_t *flame_of)
{
    const struct report_tuples *nodes = &svg->tables.nodes;

    for (uint32_t node = 1; node <= nodes->count; node++) {
        const uint32_t *tuple = report_tuples_get(nodes, node);
        flame_of[node] =
            report_tuples_add(&svg->flames, (uint32_t[2]){flame_of[tuple[0]], tuple[1]});
        if (!flame_of[node]) return false;
    }
    return true;
}

static void
add_values(struct svg *svg, const uint32_t *flame_of)
{
    struct svg_frame *frames = svg->frames;

    for (uint32_t row = 1; row <= svg->tables.rows.count; row++) {
        double value = (double)svg->tables.values[row - 1];
        frames[flame_of[report_tuples_get(&svg->tables.rows, row)[0]]].value += value;
    }
    for (uint32_t i = 1; i <= svg->flames.count; i++) {
        frames[i].number = i;
        frames[i].parent = report_tuples_get(&svg->flames, i)[0];
        frames[i].depth = frames[frames[i].parent].depth + 1;
    }
    for (uint32_t i = svg->flames.count; i > 0; i--)
        frames[frames[i].parent].value += frames[i].value;
}

static bool
make_frames(struct svg *svg)
{
    uint32_t *flame_of = calloc((size_t)svg->tables.nodes.count + 1, sizeof(*flame_of));
    bool made = flame_of && find_flames(svg, flame_of);

    svg->frames = calloc((size_t)svg->flames.count + 1, sizeof(*svg->frames));
    svg->order = calloc((size_t)MOST + 1, sizeof(*svg->order));
    made = made && svg->frames && svg->order;
    if (made) add_values(svg, flame_of);
    free(flame_of);
    return made;
}

/* ---- where each stands ---- */

static int
compare_frames(const void *a, const void *b)
{
    const struct svg_frame *one = a, *other = b;

    if (one->parent != other->parent) return one->parent < other->parent ? -1 : 1;
    if (one->value != other->value) return one->value > other->value ? -1 : 1;
    return (one->number > other->number) - (one->number < other->number);
}

static size_t
count_frames(const struct svg *svg, double least)
{
    size_t count = 0;

    for (uint32_t i = 1; i <= svg->flames.count; i++) count += svg->frames[i].value >= least;
    return count;
}

/* Chooses the frames that are drawn. A frame is never wider than its caller, so its caller is
 * drawn, too. */
static void
choose_frames(struct svg *svg)
{
    double least = svg->frames[0].value * LEAST_WIDTH / WIDTH;

    if (svg->frames[0].value <= 0) return;
    while (count_frames(svg, least) > MOST) least *= 1.25;
    for (uint32_t i = 1; i <= svg->flames.count; i++) {
        if (svg->frames[i].value < least) continue;
        svg->order[svg->drawn++] = svg->frames[i];
        if (svg->frames[i].depth > svg->deepest) svg->deepest = svg->frames[i].depth;
    }
    if (svg->drawn) qsort(svg->order, svg->drawn, sizeof(*svg->order), compare_frames);
}

/* In this order a frame's caller has its place already. */
static void
place_frames(struct svg *svg)
{
    for (size_t i = 0; i < svg->drawn; i++) {
        struct svg_frame *caller = &svg->frames[svg->order[i].parent];
        svg->order[i].begins = caller->begins + caller->used;
        caller->used += svg->order[i].value;
        svg->frames[svg->order[i].number].begins = svg->order[i].begins;
    }
}

/* ---- the picture ---- */

/* The same of a name in every process. */
static uint32_t
hash_of(const char *name)
{
    uint32_t hash = 2166136261; /* FNV-1a */

    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619;
    return hash ^ hash >> 15;
}

/* The application is warm, gems are blue, all else is grey. */
static unsigned
colour_of(const char *name, enum report_page_owner owner)
{
    uint32_t hash = hash_of(name), a = hash & 0xff, b = hash >> 8 & 0xff, c = hash >> 16 & 0xff;

    if (owner == REPORT_PAGE_OWN)
        return (205 + a % 50) << 16 | (90 + b % 110) << 8 | (25 + c % 40);
    if (owner == REPORT_PAGE_GEM)
        return (90 + a % 70) << 16 | (150 + b % 60) << 8 | (205 + c % 50);
    return (180 + a % 50) * 0x10101;
}

static const char *
string_of(const struct svg *svg, uint32_t string)
{
    return rb_heapprof_strings_get(&svg->tables.strings, string, NULL);
}

static void
put_value(const struct svg *svg, double value)
{
    char amount[REPORT_AMOUNT_MAX], share[REPORT_AMOUNT_MAX];

    report_amount(amount, value, svg->unit);
    report_share(share, value, svg->frames[0].value);
    report_xml_name(svg->out, amount, 0);
    fprintf(svg->out, ", %s", share);
}

/* Writes one frame. The script reads its parts in this order: title, rectangle, label. */
static void
put_flame(const struct svg *svg, const struct svg_frame *frame, const char *name, const char *place,
          unsigned colour)
{
    FILE *out = svg->out;
    double scale = WIDTH / svg->frames[0].value, x = LEFT + frame->begins * scale,
           width = frame->value * scale;
    unsigned y = TOP + frame->depth * ROW, columns = (unsigned)((width - 4) / COLUMN_WIDTH);

    fputs("<g><title>", out);
    report_xml_name(out, name, NAME_MOST);
    if (place[0]) putc('\n', out);
    report_xml_name(out, place, NAME_MOST);
    putc('\n', out);
    put_value(svg, frame->value);
    fprintf(out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
            "height=\"%d\" fill=\"#%06x\"/>",
            x, y, width, ROW - 1, colour);
    fprintf(out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 12);
    if (width > 4 + 3 * COLUMN_WIDTH) report_xml_name(out, name, columns);
    fputs("</text></g>\n", out);
}

static void
put_frame(const struct svg *svg, const struct svg_frame *frame)
{
    const struct report_page_tables *tables = &svg->tables;
    uint32_t number = report_tuples_get(&svg->flames, frame->number)[1];
    const uint32_t *function = report_tuples_get(&tables->functions, number);
    const char *name = string_of(svg, function[0]);
    const char *file = string_of(svg, report_tuples_get(&tables->files, function[1])[3]);
    unsigned colour = colour_of(name, report_page_tables_owner(tables, number));
    char *place = NULL;

    if (file[0] && function[2] && asprintf(&place, "%s:%u", file, function[2]) < 0) place = NULL;
    put_flame(svg, frame, name[0] ? name : "(no name)", place ? place : file, colour);
    free(place);
}

static void
put_heading(const struct svg *svg, uint32_t type)
{
    const char *name = rb_heapprof_model_string(svg->model, svg->model->types[type].type, NULL);
    char amount[REPORT_AMOUNT_MAX], left_out[REPORT_COUNT_MAX];
    uint32_t narrow = svg->flames.count - (uint32_t)svg->drawn;
    FILE *out = svg->out;

    report_amount(amount, svg->frames[0].value, svg->unit);
    fprintf(out, "<text class=\"t\" x=\"%d\" y=\"24\">", LEFT);
    report_xml_name(out, name, 80);
    fputs(": ", out);
    report_xml_name(out, amount, 0);
    fprintf(out, "</text>\n<text id=\"said\" x=\"%d\" y=\"24\" text-anchor=\"end\"></text>\n",
            LEFT + WIDTH);
    fprintf(out, "<text x=\"%d\" y=\"44\">", LEFT);
    fputs("Callers stand above what they call. Orange: the application; blue: gems; grey: Ruby "
          "and C.",
          out);
    report_count(left_out, narrow, "frame is", "frames are");
    if (narrow) fprintf(out, " %s too narrow to draw.", left_out);
    fputs("</text>\n", out);
}

static void
put_svg(const struct svg *svg, uint32_t type)
{
    unsigned width = WIDTH + 2 * LEFT, height = TOP + (svg->deepest + 1) * ROW + LEFT;
    FILE *out = svg->out;

    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
            "viewBox=\"0 0 %u %u\">\n"
            "<style>text { font: 12px monospace } .t { font-size: 17px } g { cursor: pointer } "
            "rect { stroke: #fff; stroke-width: 0.4 }</style>\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    put_heading(svg, type);
    if (svg->frames[0].value > 0)
        put_flame(svg, &svg->frames[0], "all", "", 0xdddddd);
    for (size_t i = 0; i < svg->drawn; i++) put_frame(svg, &svg->order[i]);
    fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", svg_script);
}

bool
report_export_svg(FILE *out, const struct heapprof_model *model, uint32_t type)
{
    struct svg svg = {
        .out = out,
        .model = model,
        .unit = rb_heapprof_model_string(model, model->types[type].unit, NULL)
    };
    const char *directory = report_directories(model);
    bool made = report_page_tables_add_type(&svg.tables, model, type, directory);

    report_tuples_init(&svg.flames, &svg.tables.mem, 2);
    made = made && make_frames(&svg);
    if (made) {
        choose_frames(&svg);
        place_frames(&svg);
        put_svg(&svg, type);
    }
    free(svg.frames);
    free(svg.order);
    report_tuples_free(&svg.flames);
    report_page_tables_free(&svg.tables);
    return made;
}
