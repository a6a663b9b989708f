/* suppressions.c - reads files of patterns, and matches records against them. */
#include "memcheck/suppressions.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "memcheck/callers.h"

#define LINE_MOST 4096
#define LINES_MOST 100000
#define SPACES " \t\r\n"

/* ---- reading ---- */

/* Adds a line of the last file; changes the line. Returns NULL, or what is wrong with it. */
static const char *
add_line(struct memcheck_suppressions *suppressions, char *line, unsigned number)
{
    struct memcheck_suppression one = {.file = suppressions->files[suppressions->file_count - 1],
                                       .line = number};
    char *rest = NULL, *words[3];

    line[strcspn(line, "#")] = '\0';
    for (int i = 0; i < 3; i++) words[i] = strtok_r(i ? NULL : line, SPACES, &rest);
    if (!words[0]) return NULL;
    if (!words[1] || strtok_r(NULL, SPACES, &rest)) return "expected LIBRARY FUNCTION [FRAME]";
    if (!HEAPPROF_ARRAY_GROW(suppressions->all, suppressions->capacity, suppressions->count + 1))
        return "no memory";
    one.library = strdup(words[0]);
    one.function = strdup(words[1]);
    one.frame = words[2] ? strdup(words[2]) : NULL;
    suppressions->all[suppressions->count++] = one;
    return one.library && one.function && (one.frame || !words[2]) ? NULL : "no memory";
}

static const char *
read_lines(struct memcheck_suppressions *suppressions, FILE *file, unsigned *number)
{
    char line[LINE_MOST];
    const char *wrong = NULL;

    for (*number = 1; !wrong && fgets(line, sizeof(line), file); ++*number) {
        if (strlen(line) == sizeof(line) - 1) wrong = "a line is too long, or has a NUL in it";
        else if (*number == LINES_MOST) wrong = "too many lines";
        else wrong = add_line(suppressions, line, *number);
    }
    --*number;
    return wrong ? wrong : ferror(file) ? strerror(errno) : NULL;
}

static bool
add_file(struct memcheck_suppressions *suppressions, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t number = suppressions->file_count;

    if (!HEAPPROF_ARRAY_GROW(suppressions->files, suppressions->file_capacity, number + 1)) {
        return false;
    }
    suppressions->files[number] = strdup(slash ? slash + 1 : path);
    suppressions->file_count++;
    return suppressions->files[number] != NULL;
}

static bool
read_file(struct memcheck_suppressions *suppressions, const char *path,
          char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX])
{
    FILE *file = fopen(path, "r");
    unsigned number = 0;

    if (!file) {
        snprintf(error, MEMCHECK_SUPPRESSIONS_ERROR_MAX, "%s", strerror(errno));
        return false;
    }
    const char *wrong =
        add_file(suppressions, path) ? read_lines(suppressions, file, &number) : "no memory";
    fclose(file);
    if (wrong) snprintf(error, MEMCHECK_SUPPRESSIONS_ERROR_MAX, "line %u: %s", number, wrong);
    return !wrong;
}

/* ---- by version ---- */

/* "ruby-3.4.supp", "parser_ruby-3.4.supp" */
static bool
of_version_p(const char *name, const char *version)
{
    static const char ruby[] = "ruby", suffix[] = ".supp";
    const char *behind = strrchr(name, '_');
    size_t length;

    if (behind) name = behind + 1;
    length = strlen(name);
    if (strncmp(name, ruby, strlen(ruby)) != 0 || length < strlen(ruby) + strlen(suffix))
        return false;
    if (strcmp(name + length - strlen(suffix), suffix) != 0) return false;
    name += strlen(ruby);
    length -= strlen(ruby) + strlen(suffix);
    if (length == 0) return true;
    return name[0] == '-' && strncmp(name + 1, version, length - 1) == 0 &&
           (version[length - 1] == '.' || version[length - 1] == '\0');
}

static bool
read_named(struct memcheck_suppressions *suppressions, const char *directory, const char *name,
           char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX])
{
    char path[4096], why[MEMCHECK_SUPPRESSIONS_ERROR_MAX];

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path)) {
        snprintf(error, MEMCHECK_SUPPRESSIONS_ERROR_MAX, "%s", strerror(ENAMETOOLONG));
        return false;
    }
    if (read_file(suppressions, path, why)) return true;
    snprintf(error, MEMCHECK_SUPPRESSIONS_ERROR_MAX, "%.255s: %.100s", name, why);
    return false;
}

static bool
read_directory(struct memcheck_suppressions *suppressions, const char *path, const char *version,
               char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX])
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    bool read = count >= 0;

    if (!read) snprintf(error, MEMCHECK_SUPPRESSIONS_ERROR_MAX, "%s", strerror(errno));
    for (int i = 0; i < count; i++) {
        if (read && of_version_p(entries[i]->d_name, version))
            read = read_named(suppressions, path, entries[i]->d_name, error);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return read;
}

bool
memcheck_suppressions_read(struct memcheck_suppressions *suppressions, const char *path,
                           const char *version,
                           char error[MEMCHECK_SUPPRESSIONS_ERROR_MAX])
{
    struct stat status;

    *suppressions = (struct memcheck_suppressions){0};
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
        return read_directory(suppressions, path, version, error);
    return read_file(suppressions, path, error);
}

void
memcheck_suppressions_free(struct memcheck_suppressions *suppressions)
{
    for (size_t i = 0; i < suppressions->count; i++) {
        free(suppressions->all[i].library);
        free(suppressions->all[i].function);
        free(suppressions->all[i].frame);
    }
    for (size_t i = 0; i < suppressions->file_count; i++) free(suppressions->files[i]);
    free(suppressions->files);
    free(suppressions->all);
    *suppressions = (struct memcheck_suppressions){0};
}

/* ---- matching ---- */

/* A part of a text. Nobody names a part that does not fit. */
static bool
matches_p(const char *pattern, const char *text, size_t length)
{
    char part[LINE_MOST];

    if (length >= sizeof(part)) return false;
    memcpy(part, text, length);
    part[length] = '\0';
    return fnmatch(pattern, part, 0) == 0;
}

static bool
any_frame_p(const char *pattern, const struct memcheck_process *process,
            const struct memcheck_record *record)
{
    for (uint32_t i = 0; i < record->stack.count; i++) {
        const char *name = memcheck_frame_at(process, &record->stack, i).name;
        if (matches_p(pattern, name, strlen(name))) return true;
    }
    return false;
}

const struct memcheck_suppression *
memcheck_suppression_of(const struct memcheck_suppressions *suppressions,
                        const struct memcheck_process *process,
                        const struct memcheck_record *record)
{
    struct memcheck_c_function who = memcheck_callers_named(process, record);

    for (size_t i = 0; i < suppressions->count; i++) {
        const struct memcheck_suppression *one = &suppressions->all[i];
        if (matches_p(one->library, who.library, who.library_length) &&
            matches_p(one->function, who.function, who.function_length) &&
            (!one->frame || any_frame_p(one->frame, process, record))) return one;
    }
    return NULL;
}

/* ---- writing ---- */

/* Writes the name as a pattern of one word that matches it; "" as "*". */
static void
put_pattern(FILE *out, const char *text, size_t length)
{
    if (length == 0) putc('*', out);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte <= ' ' || byte >= 0x7f || byte == '#') putc('?', out);
        else fprintf(out, "%s%c", strchr("*?[\\", byte) ? "\\" : "", byte);
    }
}

void
memcheck_suppression_put(FILE *out, const struct memcheck_process *process,
                         const struct memcheck_record *record)
{
    struct memcheck_c_function who = memcheck_callers_named(process, record);

    put_pattern(out, who.library, who.library_length);
    putc(' ', out);
    put_pattern(out, who.function, who.function_length);
    if (record->stack.count > 0) {
        const char *name = memcheck_frame_at(process, &record->stack, 0).name;
        putc(' ', out);
        put_pattern(out, name, strlen(name));
    }
    putc('\n', out);
}
