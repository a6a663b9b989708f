/* own.c - tells whose code a file is, by the kinds of paths that Ruby has:
 *
 *     .../gems/NAME-VERSION/lib/...        a gem, also below bundler/gems (NAME-REVISION)
 *     .../extensions/x86_64-linux/3.4.0/NAME-VERSION/...    its library
 *     .../lib/ruby/3.4.0/...               Ruby's library
 *     <internal:kernel>, (eval at ...)     code of the VM; code from a string
 */
#include "report/own.h"

#include <string.h>

/* Returns whether a directory with a '-' in its name is at that place, and sets the name's
 * length. */
static bool
gem_at(const char *name, size_t *length)
{
    const char *end = strchr(name, '/');

    if (!end || !memchr(name, '-', (size_t)(end - name))) return false;
    *length = (size_t)(end - name);
    return true;
}

/* Returns the last "/gems/NAME-..." in which NAME-... is a directory with a '-' in its name, or the
 * "/extensions/PLATFORM/RUBY/NAME-...". Otherwise returns NULL. */
static const char *
find_gem(const char *file, size_t *length)
{
    static const char gems[] = "/gems/", extensions[] = "/extensions/";
    const char *found = NULL;

    for (const char *at = file; (at = strstr(at, gems)) != NULL; at += sizeof(gems) - 2) {
        if (gem_at(at + sizeof(gems) - 1, length)) found = at + sizeof(gems) - 1;
    }
    if (found) return found;
    const char *at = strstr(file, extensions),
               *ruby = at ? strchr(at + sizeof(extensions) - 1, '/') : NULL;
    const char *name = ruby && ruby[1] >= '0' && ruby[1] <= '9' ? strchr(ruby + 1, '/') : NULL;
    return name && gem_at(name + 1, length) ? name + 1 : NULL;
}

/* Returns the "ruby/3.4.0/..." of a path that has its "/lib/ruby/3.4.0/" at that place or behind
 * it, or NULL. */
static const char *
find_ruby(const char *file, const char *from)
{
    static const char lib[] = "/lib/", ruby[] = "ruby/";
    size_t length = sizeof(lib) + sizeof(ruby) - 2;
    const char *path = strstr((size_t)(from - file) > length ? from - length : file, "/lib/ruby/");

    if (!path) return NULL;
    const char *library = path + length;
    if ((*library >= '0' && *library <= '9') || !strncmp(library, "site_ruby/", 10) ||
        !strncmp(library, "vendor_ruby/", 12)) return path + sizeof(lib) - 1;
    return NULL;
}

static bool
ruby_p(const char *file, const char *from)
{
    return find_ruby(file, from) || !strncmp(file, "<internal:", 10);
}

/* Returns whether it is a shared library, whose frames have no line of source. */
static bool
library_p(const char *file)
{
    const char *end = strstr(file, ".so");

    return end && (!end[3] || end[3] == '.');
}

/* Returns whether the path has a gem, what RubyGems has written of one, or Ruby's library at that
 * place or behind it. */
static bool
others_p(const char *file, const char *from)
{
    size_t length;
    const char *gem = find_gem(file, &length), *written = strstr(from, "/specifications/");

    return (gem && gem >= from) || (written && strstr(written, ".gemspec")) || ruby_p(file, from);
}

/* Returns the rest of a path below one of the directories, with its '/', or NULL if it is below
 * none of them. Only the rest is looked at for gems: so a directory that is a gem's can be the
 * application. */
static const char *
below_any(const char *file, const char *directories)
{
    for (size_t length; *directories; directories += length + (directories[length] == '\n')) {
        length = strcspn(directories, "\n");
        size_t most = length > 0 && directories[length - 1] == '/' ? length - 1 : length;
        if (length == 0 || strncmp(file, directories, most) || file[most] != '/') continue;
        if (!others_p(file, file + most)) return file + most;
    }
    return NULL;
}

bool
report_own_p(const char *file, const char *directories)
{
    if (!file[0] || (directories && !directories[0])) return false;
    if (file[0] == '/')
        return directories ? below_any(file, directories) != NULL
                           : !others_p(file, file) && !library_p(file);
    return !others_p(file, file) && file[0] != '<' && file[0] != '(' &&
           file[0] != '['; /* run as "ruby app.rb" */
}

bool
report_below_p(const char *file, const char *directories)
{
    return file[0] == '/' && report_own_p(file, directories);
}

const char *
report_directories(const struct heapprof_model *model)
{
    const char *directories = rb_heapprof_model_comment(model, "directory: ");
    uint32_t count = rb_heapprof_model_functions(model);

    for (uint32_t i = 0; directories && i < count; i++) {
        const char *file = rb_heapprof_model_string(model, model->functions[i].filename, NULL);
        if (report_below_p(file, directories)) return directories;
    }
    return NULL;
}

const char *
report_gem(const char *file, const char *directories, size_t *length)
{
    const char *name = find_gem(file, length);

    if (name) return name;
    if (!file[0]) name = "(no file)";
    else if (ruby_p(file, file)) name = "(ruby)";
    else name = report_own_p(file, directories) ? "(application)" : "(other)";
    *length = strlen(name);
    return name;
}

const char *
report_short_path(const char *file, const char *directories)
{
    size_t length;
    const char *gem = find_gem(file, &length);
    const char *below = directories && file[0] == '/' ? below_any(file, directories) : NULL;

    if (gem) return gem;
    if (below) return below + strspn(below, "/");
    const char *library = find_ruby(file, file);
    return library ? library : file;
}
