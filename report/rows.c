/* rows.c - what rows are called, and the frames of call sites.
 *
 * A row of groups.c has an example, or a name. Its title is made of what the digest of its row
 * was made of.
 */
#include "report/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/own.h"
#include "report/text.h"
#include "report/text.h"

bool
report_row_of_others_p(const struct report_groups *groups, uint32_t row)
{
    const struct report_row *of = &groups->rows[row];

    return groups->question.group == REPORT_APP && of->example == REPORT_NOTHING && !of->vm;
}

static char *
text_of(const char *text, size_t length)
{
    char *copy = malloc(length + 1);

    if (!copy) return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* Joins several texts into one, in a block from malloc. */
static char *
join(const char *first, const char *between, const char *second, const char *end)
{
    size_t size = strlen(first) + strlen(between) + strlen(second) + strlen(end) + 1;
    char *text = malloc(size);

    if (text) snprintf(text, size, "%s%s%s%s", first, between, second, end);
    return text;
}

static char *
label_title(const struct heapprof_samples *samples, const struct heapprof_model_label *label)
{
    char buffer[REPORT_LABEL_MAX];

    return join(label ? report_label_text(samples->model, label, buffer) : "(none)", "", "", "");
}

/* Returns the name of the innermost function, or "" if there is no function. */
static const char *
innermost(const struct report_groups *groups, const struct report_row *row,
          const struct heapprof_samples *samples)
{
    REPORT_EACH_FRAME(samples, frame, {
        return report_frame_of(samples->model, frame, false, groups->directories[row->profile])
            .name;
    });
    return "";
}

/* Returns a site's title: "String", or "str_enc_new (ruby) for Cart native_leak". If the profile
 * has no classes, returns the name of the function. */
static char *
site_title(const struct report_groups *groups, const struct report_row *row,
           const struct heapprof_samples *samples)
{
    const struct heapprof_model_label *caller = report_find_label(samples, "caller");
    const struct heapprof_model_label *owner = report_find_label(samples, "owner");
    const struct heapprof_model_label *class = report_find_label(samples, "class");
    const char *leak = report_find_label(samples, "native_leak") ? " native_leak" : "";
    char called[REPORT_LABEL_MAX], owned[REPORT_LABEL_MAX];

    if (!caller)
        return class ? label_title(samples, class)
                     : join(innermost(groups, row, samples), "", "", "");
    return join(report_label_text(samples->model, caller, called), owner ? " for " : "",
                owner ? report_label_text(samples->model, owner, owned) : "", leak);
}

static char *
title_of_sample(const struct report_groups *groups, const struct report_row *row)
{
    const struct report_question *question = &groups->question;
    struct heapprof_samples samples;
    char *title = NULL;

    if (rb_heapprof_samples_begin(&samples, groups->models[row->profile])) {
        samples.at = row->example;
        rb_heapprof_samples_next(&samples);
        if (question->group == REPORT_SITE) title = site_title(groups, row, &samples);
        else {
            const char *key = question->group == REPORT_CLASS ? "class" : question->label;
            title = label_title(&samples, report_find_label(&samples, key));
        }
    }
    rb_heapprof_samples_end(&samples);
    return title;
}

/* Returns "Cart#load  app/cart.rb", or "Array#map" of a C function. The name of a template is its
 * file already. */
static char *
function_title(const struct report_frame *frame, const char *directory)
{
    const char *file = frame->native ? "" : report_short_path(frame->file, directory),
               *name = frame->name;
    char address[32];

    snprintf(address, sizeof(address), "0x%llx", (unsigned long long)frame->address);
    if (!name[0]) name = address;
    return join(name, file[0] && strcmp(name, file) ? "  " : "", strcmp(name, file) ? file : "",
                "");
}

static char *
line_title(const struct report_frame *frame, const char *directory)
{
    const char *file = report_short_path(frame->file, directory);
    char line[REPORT_LINE_MAX], behind[REPORT_LINE_MAX + 8];

    report_line(line, frame->line);
    if (!strcmp(frame->name, file)) return join(file, line, "", "");
    snprintf(behind, sizeof(behind), "%s:in '", line);
    return join(file, behind, frame->name, "'");
}

char *
report_row_title(const struct report_groups *groups, uint32_t number)
{
    const struct report_row *row = &groups->rows[number];
    const char *directory = groups->directories[row->profile], *text;
    struct report_frame frame;
    size_t length;

    if (row->name) return text_of(row->name, row->name_length);
    switch (groups->question.group) {
      case REPORT_SITE: case REPORT_CLASS: case REPORT_LABEL: return title_of_sample(groups, row);
      default: break;
    }
    if (row->example == REPORT_NOTHING) {
        return join(report_row_of_others_p(groups, number) ? "(no line of the application)"
                                                           : "(none)",
                    "", "", "");
    }
    frame = report_frame_of(groups->models[row->profile], row->example,
                            groups->defined[row->profile], directory);
    switch (groups->question.group) {
      case REPORT_FUNCTION: return function_title(&frame, directory);
      case REPORT_APP: return line_title(&frame, directory);
      case REPORT_GEM:
        text = report_gem(frame.file, directory, &length);
        return text_of(text, length);
      default:
          return join(frame.file[0] ? report_short_path(frame.file, directory) : "(no file)", "",
                      "", "");
    }
}

const char *
report_row_directory(const struct report_groups *groups, uint32_t row)
{
    return groups->directories[groups->rows[row].profile];
}

bool
report_row_frames(const struct report_groups *groups, uint32_t number, report_frame_i *each,
                  void *data)
{
    const struct report_row *row = &groups->rows[number];
    const struct heapprof_model *model = groups->models[row->profile];
    const char *directory = groups->directories[row->profile];
    struct heapprof_samples samples;
    bool room;

    if (groups->question.group != REPORT_SITE || row->vm) return true;
    room = rb_heapprof_samples_begin(&samples, model);
    if (room) {
        samples.at = row->example;
        rb_heapprof_samples_next(&samples);
        REPORT_EACH_FRAME(&samples, place, {
            struct report_frame frame =
                report_frame_of(model, place, groups->defined[row->profile], directory);
            each(data, &frame, !(place & REPORT_NO_LINE) && report_own_p(frame.file, directory));
        });
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

struct shown_frames {
    const struct report_groups *groups;
    const char *directory; /* the application's */
    size_t count;
    bool   own_shown;
    report_shown_frame_i *each;
    void  *data;
};

static void
show_frame(void *data, const struct report_frame *frame, bool own)
{
    struct shown_frames *frames = data;
    bool near = frames->count++ < frames->groups->question.frames;
    char text[4096], line[REPORT_LINE_MAX];
    int length = 0;

    if (!near && (!own || frames->own_shown)) return;
    frames->own_shown = frames->own_shown || own;
    text[0] = '\0';
    const char *file = report_short_path(frame->file, frames->directory);
    bool template = file[0] && !strcmp(frame->name, file);
    report_line(line, frame->line);
    if (file[0]) length = snprintf(text, sizeof(text), "%s%s", file, line);
    if (length >= 0 && (size_t)length < sizeof(text) && !template) {
        size_t left = sizeof(text) - (size_t)length;
        if (frame->name[0])
            snprintf(text + length, left, "%s'%s'", length ? ":in " : "", frame->name);
        else snprintf(text + length, left, " 0x%llx", (unsigned long long)frame->address);
    }
    frames->each(frames->data, text, near);
}

bool
report_row_shown_frames(const struct report_groups *groups, uint32_t row,
                        report_shown_frame_i *each, void *data)
{
    struct shown_frames frames = {
        .groups = groups, .directory = report_row_directory(groups, row), .each = each,
        .data = data,
    };

    return report_row_frames(groups, row, show_frame, &frames);
}

/* ---- where it is ---- */

struct place_search {
    const char *directory; /* the application's */
    struct report_place place;
};

static void
note_place(void *data, const struct report_frame *frame, bool own)
{
    struct place_search *search = data;

    if (strchr("<([", frame->file[0])) return; /* no file, or none that a user has */
    if (search->place.file && (search->place.own || !own)) return;
    search->place = (struct report_place){
        .file = own ? report_short_path(frame->file, search->directory) : frame->file,
        .line = frame->line, .function = frame->name, .own = own,
    };
}

bool
report_row_place(const struct report_groups *groups, uint32_t number, struct report_place *place)
{
    const struct report_row *row = &groups->rows[number];
    enum report_group group = groups->question.group;
    struct place_search search = {.directory = groups->directories[row->profile]};

    if (group == REPORT_SITE) report_row_frames(groups, number, note_place, &search);
    else if ((group == REPORT_APP || group == REPORT_FUNCTION || group == REPORT_FILE) &&
             row->example != REPORT_NOTHING) {
        struct report_frame frame =
            report_frame_of(groups->models[row->profile], row->example,
                            groups->defined[row->profile], search.directory);
        note_place(&search, &frame, report_own_p(frame.file, search.directory));
        if (group == REPORT_FILE) search.place.line = 0;
    }
    *place = search.place;
    return place->file != NULL;
}

/* ---- no rows ---- */

#define KEYS_MOST 32

/* Notes the keys of a profile's labels, each once. Returns false if there is no memory. */
static bool
find_keys(const struct heapprof_model *model, const char **keys, size_t *count)
{
    struct heapprof_samples samples;
    bool room = rb_heapprof_samples_begin(&samples, model);

    while (room && rb_heapprof_samples_next(&samples)) {
        for (uint32_t i = 0; i < samples.label_count && *count < KEYS_MOST; i++) {
            const char *key = rb_heapprof_model_string(model, samples.labels[i].key, NULL);
            size_t known = 0;
            while (known < *count && strcmp(keys[known], key)) known++;
            if (known == *count) keys[(*count)++] = key;
        }
    }
    rb_heapprof_samples_end(&samples);
    return room;
}

static int
compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
put_no_label(FILE *out, const struct report_groups *groups)
{
    const char *keys[KEYS_MOST];
    size_t count = 0;

    for (uint32_t profile = 0; profile < groups->profiles; profile++) {
        if (!find_keys(groups->models[profile], keys, &count)) return false;
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    fprintf(out, "no label %s; there %s",
            groups->question.group == REPORT_CLASS ? "class" : groups->question.label,
            count == 0   ? "are none"
            : count == 1 ? "is:"
                         : "are:");
    for (size_t i = 0; i < count; i++) fprintf(out, " %s", keys[i]);
    return true;
}

/* "no sample has a frame that matches Cart and a label that matches endpoint=^/cart" */
static void
put_no_match(FILE *out, const struct report_question *question)
{
    bool every = !question->focus && !question->label_focus;
    const char *and = " and ";

    fprintf(out, "%s sample has ", every ? "every" : "no");
    if (question->focus) fprintf(out, "a frame that matches %s", question->focus_text);
    else and = "";
    if (question->label_focus)
        fprintf(out, "%sa label that matches %s", and, question->label_focus_text);
    if (question->ignore)
        fprintf(out, "%s that matches %s", every ? "a frame" : " and none", question->ignore_text);
}

char *
report_why_empty(const struct report_groups *groups)
{
    bool by_label =
             groups->question.group == REPORT_LABEL || groups->question.group == REPORT_CLASS,
         room = true;
    bool no_match = report_question_narrow_p(&groups->question) && !groups->any_wanted;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out) return NULL;
    if (no_match) put_no_match(out, &groups->question);
    else if (groups->digests.count == 0) fputs("no sample has a value", out);
    else if (by_label && !groups->any_label) room = put_no_label(out, groups);
    if (fclose(out) == 0 && room) return text;
    free(text);
    return NULL;
}
