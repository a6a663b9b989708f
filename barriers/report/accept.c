/* accept.c - matches accepted stores with findings, by comments in the source and by lines of
 * a file. */
#include "barriers/report/accept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "barriers/report/report.h"
#include "barriers/text.h"
#include "report/text.h"

#define MARK "heapprof: no barrier:"

/* ---- files ---- */

/* Reads "PATH:FUNCTION:FIELD REASON", and cuts the line into its parts. */
static bool
parse_line(struct wb_accepted *accepted, char *line)
{
    char *end = line + strcspn(line, " \t"), *field, *function;

    accepted->reason = end + strspn(end, " \t");
    if (!*accepted->reason) return false;
    *end = '\0';
    field = strrchr(line, ':');
    if (!field || field == line) return false;
    *field++ = '\0';
    function = strrchr(line, ':');
    if (!function || function == line) return false;
    *function++ = '\0';
    accepted->path = line;
    accepted->function = function;
    accepted->field = field;
    return *function && *field;
}

bool
wb_acceptance_read(struct wb_acceptance *acceptance, struct wb_arena *arena, const char *file)
{
    struct wb_text *text = wb_text_read(arena, file);

    *acceptance = (struct wb_acceptance){ .file = file };
    if (!text) {
        report_print(stderr, "heapprof barriers: --accept: %s cannot be read\n", file);
        return false;
    }
    acceptance->lines = wb_shared_memory(WB_ACCEPTED_MOST * sizeof(*acceptance->lines));
    for (size_t i = 0; i < text->count; i++) {
        struct wb_accepted *accepted = &acceptance->lines[acceptance->count];
        char *line = (char *)text->lines[i] + strspn(text->lines[i], " \t");
        if (!*line || *line == '#') continue;
        if (acceptance->count == WB_ACCEPTED_MOST) {
            report_print(stderr, "heapprof barriers: %s: more than %d lines\n", file,
                         WB_ACCEPTED_MOST);
            return false;
        }
        accepted->line = (unsigned)i + 1;
        if (!parse_line(accepted, line)) {
            report_print(stderr, "heapprof barriers: %s:%zu: expected PATH:FUNCTION:FIELD REASON\n",
                         file, i + 1);
            return false;
        }
        acceptance->count++;
    }
    return true;
}

/* True if the path ends with those directories and that file. */
static bool
ends_p(const char *path, const char *end)
{
    size_t length = strlen(path), end_length = strlen(end);

    if (end_length > length || strcmp(path + length - end_length, end)) return false;
    return end_length == length || *end == '/' || path[length - end_length - 1] == '/';
}

static bool
accepts_p(const struct wb_accepted *accepted, const struct wb_finding *finding)
{
    if (!finding->place.file || !ends_p(finding->place.file, accepted->path)) return false;
    if (strcmp(accepted->function, "*") && strcmp(accepted->function, finding->function->name)) {
        return false;
    }
    return !strcmp(accepted->field, "*") || !strcmp(accepted->field, finding->field);
}

static void
accept_by_lines(struct wb_findings *findings, const struct wb_acceptance *acceptance)
{
    for (size_t i = 0; i < acceptance->count; i++) {
        struct wb_accepted *accepted = &acceptance->lines[i];
        for (size_t j = 0; j < findings->count; j++) {
            struct wb_finding *finding = findings->all[j];
            if (!wb_missing_p(finding) || !accepts_p(accepted, finding)) continue;
            finding->accepted = accepted->reason;
            accepted->used = true;
        }
    }
}

void
wb_acceptance_report_unused(const struct wb_acceptance *acceptance)
{
    for (size_t i = 0; i < acceptance->count; i++) {
        if (acceptance->lines[i].used) continue;
        report_print(stderr, "heapprof barriers: %s:%u: warning: it accepts nothing\n",
                     acceptance->file, acceptance->lines[i].line);
    }
}

/* ---- comments ---- */

/* The mark in a comment on that line. Returns NULL if there is none. */
static const char *
mark_in(const char *line)
{
    const char *mark = strstr(line, MARK), *before = mark;

    while (before && before > line && (before[-1] == ' ' || before[-1] == '*')) before--;
    return before && before > line && before[-1] == '/' ? mark : NULL;
}

/* True if the line has only a comment. Then the comment is about the next line. */
static bool
alone_p(const char *line)
{
    line += strspn(line, " \t");
    return line[0] == '/' && (line[1] == '*' || line[1] == '/');
}

/* The text behind the mark, up to the end of the comment. Returns NULL if there is none. */
static const char *
reason_of(struct wb_program *program, const char *mark)
{
    const char *start = mark + strlen(MARK), *end = strstr(start, "*/");

    if (!end) end = start + strlen(start);
    start += strspn(start, " \t");
    while (end > start && strchr(" \t\r", end[-1])) end--;
    return end > start ? wb_arena_text(&program->arena, start, (size_t)(end - start)) : NULL;
}

static bool
accept_by_comment(struct wb_findings *findings, const char *file, unsigned line, const char *reason)
{
    bool used = false;

    for (size_t i = 0; i < findings->count; i++) {
        struct wb_finding *finding = findings->all[i];
        if (finding->place.line != line || finding->place.file != file || !wb_missing_p(finding)) {
            continue;
        }
        finding->accepted = reason;
        used = finding->in_source = true;
    }
    return used;
}

static void
accept_by_comments_of(struct wb_program *program, struct wb_findings *findings, const char *file)
{
    const struct wb_text *text = wb_text_read(&program->arena, file);

    for (unsigned line = 1; text && line <= text->count; line++) {
        const char *mark = mark_in(wb_line(text, line)), *reason, *wrong = "it accepts nothing";
        if (!mark) continue;
        reason = reason_of(program, mark);
        if (!reason) wrong = "it gives no reason";
        else if (accept_by_comment(findings, file, line + alone_p(wb_line(text, line)), reason)) {
            continue;
        }
        report_print(stderr, "heapprof barriers: %s:%u: warning: \"" MARK "\": %s\n", file, line,
                     wrong);
    }
}

/* Reads the comments of all files with a function of the extension. */
static void
accept_by_comments(struct wb_program *program, struct wb_findings *findings)
{
    struct wb_commented_file {
        const char               *name;
        struct wb_commented_file *next;
    } *files = NULL, *file;

    for (const struct wb_function *function = program->functions; function;
         function = function->next) {
        if (!function->ours || !function->body || !function->place.file) continue;
        for (file = files; file && file->name != function->place.file; ) file = file->next;
        if (file) continue;
        file = WB_NEW(&program->arena, struct wb_commented_file);
        *file = (struct wb_commented_file){function->place.file, files};
        files = file;
        accept_by_comments_of(program, findings, file->name);
    }
}

void
wb_apply_acceptance(struct wb_program *program, struct wb_findings *findings,
                    const struct wb_acceptance *acceptance)
{
    accept_by_comments(program, findings);
    accept_by_lines(findings, acceptance);
}
