/* extension.c - finds the files of an extension and the flags that each is compiled by.
 *
 * It keeps only flags that change the meaning of the code. The rest may be of another compiler.
 */
#include "barriers/read/extension.h"

#include <clang-c/CXCompilationDatabase.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "barriers/read/extconf.h"
#include "barriers/read/headers.h"
#include "barriers/read/makefile.h"

#define DEPTH_MOST       6     /* of directories in a gem */
#define DIRECTORIES_MOST 10000

void
wb_search_init(struct wb_search *search)
{
    memset(search, 0, sizeof(*search));
    search->end = &search->extensions;
    search->left = DIRECTORIES_MOST;
}

static void
report_problem(struct wb_search *search, const char *path, const char *what)
{
    size_t size = strlen(path) + strlen(what) + 3;
    char *line = wb_arena_take(&search->arena, size);

    snprintf(line, size, "%s: %s", path, what);
    search->problem_i(search->data, line);
}

static const char *
join_path(struct wb_search *search, const char *directory, const char *name)
{
    size_t length = strlen(directory), size = length + strlen(name) + 2;
    char *path = wb_arena_take(&search->arena, size);
    const char *slash = length && directory[length - 1] == '/' ? "" : "/";

    if (*name == '/') snprintf(path, size, "%s", name);
    else snprintf(path, size, "%s%s%s", directory, slash, name);
    return path;
}

/* The absolute path of a file, without links. Returns NULL, with errno, if the file is not
 * there. */
static const char *
real_path(struct wb_search *search, const char *path)
{
    char real[PATH_MAX];

    return realpath(path, real) ? wb_arena_text(&search->arena, real, strlen(real)) : NULL;
}

/* ---- flags ---- */

static const char *const with_value[] = {"-I", "-D", "-U", "-isystem", "-iquote", "-idirafter",
                                         "-include", NULL};

/* The number of words of a flag, if it is one to keep. Returns 0 otherwise. */
static unsigned
flag_words(const char *const *words)
{
    for (unsigned i = 0; with_value[i]; i++) {
        size_t length = strlen(with_value[i]);
        if (strncmp(words[0], with_value[i], length)) continue;
        if (words[0][length]) return 1;
        return words[1] ? 2 : 0;
    }
    return !strncmp(words[0], "-std=", strlen("-std="));
}

static void
add_flags(struct wb_command *command, const char *const *words)
{
    while (*words) {
        unsigned count = flag_words(words);
        for (unsigned i = 0; i < count; i++) command->flags[command->flag_count++] = words[i];
        words += count ? count : 1;
    }
}

static const char *
joined_flag(struct wb_search *search, const char *path)
{
    size_t size = strlen(path) + 3;
    char *flag = wb_arena_take(&search->arena, size);

    snprintf(flag, size, "-I%s", path);
    return flag;
}

/* In "-I DIR" of the command line DIR begins at the current directory, not at that of a
 * Makefile. */
void
wb_search_flags(struct wb_search *search, const char *text)
{
    const char **words = wb_words(&search->arena, text);
    const char *current = real_path(search, ".");

    search->flags = words;
    for (; *words; words++) {
        bool joined = !strncmp(*words, "-I", 2) && (*words)[2];
        const char *path = *words + (joined ? 2 : 0);
        struct stat status;
        if (!current || *path == '/' || stat(path, &status)) continue;
        path = join_path(search, current, path);
        *words = joined ? joined_flag(search, path) : path;
    }
}

static size_t
count_words(const char *const *words)
{
    size_t count = 0;

    while (words[count]) count++;
    return count;
}

/* ---- extensions ---- */

static struct wb_extension *
new_extension(struct wb_search *search, const char *name)
{
    struct wb_extension *extension = WB_NEW(&search->arena, struct wb_extension);

    extension->name = name;
    return extension;
}

/* True for C and C++. A Makefile may have other sources, such as assembler. */
static bool
source_p(const char *path)
{
    static const char *const suffixes[] = {".c", ".cc", ".cpp", ".cxx", ".C", ".c++", NULL};
    const char *suffix = strrchr(path, '.');

    for (unsigned i = 0; suffix && suffixes[i]; i++) {
        if (!strcmp(suffix, suffixes[i])) return true;
    }
    return false;
}

static void
add_command(struct wb_search *search, struct wb_extension *extension, const char *path,
            const char *directory, const char **words)
{
    if (extension->count == extension->capacity) {
        size_t capacity = extension->capacity * 2 + 16;
        struct wb_command *larger = wb_arena_take(&search->arena, capacity * sizeof(*larger));
        if (extension->count) {
            memcpy(larger, extension->commands, extension->count * sizeof(*larger));
        }
        extension->commands = larger;
        extension->capacity = capacity;
    }
    struct wb_command *command = &extension->commands[extension->count++];
    *command = (struct wb_command){ .path = path, .directory = directory };
    command->flags = wb_arena_take(&search->arena,
                                   (count_words(words) + count_words(search->flags)) *
                                   sizeof(*command->flags));
    add_flags(command, words);
    add_flags(command, search->flags);
}

/* True if one of the directories of the flags has ruby.h. */
static bool
header_found_p(struct wb_search *search, const char *const *words)
{
    for (; *words; words++) {
        const char *path = *words + 2;
        struct stat status;
        if (strncmp(*words, "-I", 2)) continue;
        if (!*path && !(path = *++words)) return false;
        if (stat(join_path(search, path, "ruby.h"), &status) == 0) return true;
    }
    return false;
}

/* The flags of a file that has no Makefile. */
static const char **
ruby_flags(struct wb_search *search)
{
    static const char *none[] = {NULL};

    if (header_found_p(search, search->flags)) return none;
    if (!search->ruby_flags) search->ruby_flags = wb_ruby_flags(&search->arena);
    return search->ruby_flags;
}

static bool
add_extension(struct wb_search *search, struct wb_extension *extension)
{
    if (extension->count == 0) return false;
    *search->end = extension;
    search->end = &extension->next;
    return true;
}

/* ---- mkmf's Makefile ---- */

static bool
mkmf_p(const struct wb_makefile *makefile)
{
    return *wb_makefile_value(makefile, "SRCS") && *wb_makefile_value(makefile, "hdrdir");
}

static const char **
makefile_flags(struct wb_search *search, const struct wb_makefile *makefile, const char *path)
{
    static const char *const names[] = {"INCFLAGS", "CPPFLAGS", NULL};
    const char *suffix = strrchr(path, '.');
    bool c = suffix && !strcmp(suffix, ".c");
    const char *language = wb_makefile_value(makefile, c ? "CFLAGS" : "CXXFLAGS");
    size_t size = strlen(language) + 1;

    for (unsigned i = 0; names[i]; i++) size += strlen(wb_makefile_value(makefile, names[i])) + 1;
    char *all = wb_arena_take(&search->arena, size + 1);
    for (unsigned i = 0; names[i]; i++) {
        strcat(all, wb_makefile_value(makefile, names[i]));
        strcat(all, " ");
    }
    return wb_words(&search->arena, strcat(all, language));
}

/* Finds a source as make does: in the directory, or in one of VPATH. */
static const char *
find_source(struct wb_search *search, const char *directory, const char *vpath, const char *name)
{
    const char *found = real_path(search, join_path(search, directory, name));

    while (!found && *vpath) {
        size_t length = strcspn(vpath, ":");
        const char *part = wb_arena_text(&search->arena, vpath, length);
        found = real_path(search, join_path(search, join_path(search, directory, part), name));
        vpath += length + (vpath[length] == ':');
    }
    return found;
}

static bool
add_makefile(struct wb_search *search, const struct wb_makefile *makefile, const char *directory,
             const char *name)
{
    struct wb_extension *extension = new_extension(search, name);
    const char *vpath = wb_makefile_value(makefile, "VPATH");
    const char **sources = wb_words(&search->arena, wb_makefile_value(makefile, "SRCS"));

    for (; *sources; sources++) {
        const char *path = find_source(search, directory, vpath, *sources);
        if (!path) {
            report_problem(search, *sources,
                           "the Makefile lists it in SRCS, but there is no such file");
        }
        else if (source_p(path)) {
            add_command(search, extension, path, directory, makefile_flags(search, makefile, path));
        }
    }
    return add_extension(search, extension);
}

/* ---- compile_commands.json ---- */

static void
add_compile_command(struct wb_search *search, struct wb_extension *extension,
                    CXCompileCommand command)
{
    unsigned count = clang_CompileCommand_getNumArgs(command);
    const char **words = wb_arena_take(&search->arena, ((size_t)count + 1) * sizeof(*words));
    CXString file = clang_CompileCommand_getFilename(command),
        in = clang_CompileCommand_getDirectory(command);
    const char *directory = real_path(search, clang_getCString(in));
    const char *path = NULL;

    if (directory) {
        path = real_path(search, join_path(search, directory, clang_getCString(file)));
    }
    for (unsigned i = 0; i < count; i++) {
        CXString argument = clang_CompileCommand_getArg(command, i);
        const char *text = clang_getCString(argument);
        words[i] = wb_arena_text(&search->arena, text, strlen(text));
        clang_disposeString(argument);
    }
    if (!path) {
        report_problem(search, clang_getCString(file),
                       "compile_commands.json lists it, but there is no such file");
    }
    else if (source_p(path)) add_command(search, extension, path, directory, words);
    clang_disposeString(file);
    clang_disposeString(in);
}

static bool
add_database(struct wb_search *search, const char *directory, const char *name)
{
    CXCompilationDatabase_Error error;
    CXCompilationDatabase database = clang_CompilationDatabase_fromDirectory(directory, &error);
    struct wb_extension *extension = new_extension(search, name);

    if (error != CXCompilationDatabase_NoError) {
        report_problem(search, name, "its compile_commands.json cannot be read");
        return false;
    }
    CXCompileCommands commands = clang_CompilationDatabase_getAllCompileCommands(database);
    for (unsigned i = 0; i < clang_CompileCommands_getSize(commands); i++) {
        add_compile_command(search, extension, clang_CompileCommands_getCommand(commands, i));
    }
    clang_CompileCommands_dispose(commands);
    clang_CompilationDatabase_dispose(database);
    return add_extension(search, extension);
}

/* ---- directories ---- */

static bool
file_exists_p(struct wb_search *search, const char *directory, const char *name)
{
    struct stat status;

    return stat(join_path(search, directory, name), &status) == 0 && S_ISREG(status.st_mode);
}

/* Adds the extension that is built in this very directory, if there is one. */
static bool
search_here(struct wb_search *search, const char *directory, const char *name)
{
    struct wb_makefile makefile = { .arena = &search->arena };

    if (file_exists_p(search, directory, "Makefile")) {
        int error = wb_makefile_read(&makefile, join_path(search, directory, "Makefile"));
        if (error) report_problem(search, join_path(search, name, "Makefile"), strerror(error));
        else if (mkmf_p(&makefile)) return add_makefile(search, &makefile, directory, name);
    }
    if (file_exists_p(search, directory, "compile_commands.json")) {
        return add_database(search, directory, name);
    }
    if (!file_exists_p(search, directory, "extconf.rb")) return false;
    if (!search->extconf) {
        report_problem(search, name,
                       "it has an extconf.rb but no Makefile: build it, or run again with "
                       "--extconf");
        return false;
    }
    const char *problem, *made = wb_extconf_run(&search->arena, directory, search->arguments,
                                                search->seconds, &problem);
    if (!made) {
        report_problem(search, name, problem);
        return false;
    }
    bool found = wb_makefile_read(&makefile, join_path(search, made, "Makefile")) == 0 &&
                 mkmf_p(&makefile) &&
                 add_makefile(search, &makefile, made, name);
    return found;
}

static bool search_tree(struct wb_search *search, const char *directory, const char *name,
                        unsigned depth);

/* Searches the directories below in the order of their names, so that two runs print the same. */
static bool
search_below(struct wb_search *search, const char *directory, const char *name, unsigned depth)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, NULL, alphasort);
    bool found = false;

    for (int i = 0; i < count; i++) {
        const char *entry = entries[i]->d_name;
        struct stat status;
        if (entry[0] != '.' && lstat(join_path(search, directory, entry), &status) == 0 &&
            S_ISDIR(status.st_mode)) {
            found |= search_tree(search, join_path(search, directory, entry),
                                 join_path(search, name, entry), depth + 1);
        }
        free(entries[i]);
    }
    free(entries);
    return found;
}

static bool
search_tree(struct wb_search *search, const char *directory, const char *name, unsigned depth)
{
    if (depth > DEPTH_MOST || search->left == 0) return false;
    search->left--;
    return search_here(search, directory, name) || search_below(search, directory, name, depth);
}

bool
wb_search_directory(struct wb_search *search, const char *path)
{
    const char *directory = real_path(search, path);

    if (!directory) {
        report_problem(search, path, strerror(errno));
        return false;
    }
    if (search_tree(search, directory, path, 0)) return true;
    report_problem(search, path,
                   "there is no extension in it: no Makefile of mkmf's, and no "
                   "compile_commands.json");
    return false;
}

/* ---- files ---- */

static const char *
directory_of(struct wb_search *search, const char *path)
{
    return wb_arena_text(&search->arena, path,
                         (size_t)(strrchr(path, '/') - path) + (path[1] == '\0'));
}

bool
wb_search_files(struct wb_search *search, char **paths, size_t count)
{
    struct wb_extension *extension = new_extension(search, paths[0]);
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        struct wb_makefile makefile = { .arena = &search->arena };
        const char *path = real_path(search, paths[i]), *directory;
        if (!path || !source_p(path)) {
            report_problem(search, paths[i],
                           path ? "it is no source of C or C++, by its name" : strerror(errno));
            all = false;
            continue;
        }
        directory = directory_of(search, path);
        if (wb_makefile_read(&makefile, join_path(search, directory, "Makefile"))) {
            makefile.settings = NULL;
        }
        bool built = mkmf_p(&makefile);
        add_command(search, extension, path, directory,
                    built ? makefile_flags(search, &makefile, path) : ruby_flags(search));
    }
    return add_extension(search, extension) && all;
}
