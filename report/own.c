/* own.c - paths of Ruby's world:
 *
 *     .../gems/NAME-VERSION/lib/...        a gem, also below bundler/gems (NAME-REVISION)
 *     .../lib/ruby/3.4.0/...               Ruby's library
 *     <internal:kernel>, (eval at ...)     the VM's; code from a string
 */
#include "report/own.h"

#include <string.h>

/* The last "/gems/NAME-..." whose NAME-... is a directory with a '-' in it; NULL: there is none. */
static const char *
find_gem(const char *file, size_t *length)
{
    static const char gems[] = "/gems/";
    const char *found = NULL;

    for (const char *at = file; (at = strstr(at, gems)) != NULL; at += sizeof(gems) - 2) {
        const char *name = at + sizeof(gems) - 1, *end = strchr(name, '/');
        if (!end || !memchr(name, '-', (size_t)(end - name))) continue;
        found = name;
        *length = (size_t)(end - name);
    }
    return found;
}

static bool
ruby_p(const char *file)
{
    static const char path[] = "/lib/ruby/";
    const char *library = strstr(file, path);

    if (!library) return !strncmp(file, "<internal:", 10);
    library += sizeof(path) - 1;
    return (*library >= '0' && *library <= '9') || !strncmp(library, "site_ruby/", 10) ||
           !strncmp(library, "vendor_ruby/", 12);
}

static bool
below_p(const char *file, const char *directory)
{
    size_t length = strlen(directory);

    if (length > 0 && directory[length - 1] == '/') length--;
    return !strncmp(file, directory, length) && file[length] == '/';
}

bool
report_own_p(const char *file, const char *directory)
{
    size_t length;

    if (!file[0] || find_gem(file, &length) || ruby_p(file)) return false;
    if (file[0] != '/') return file[0] != '<' && file[0] != '(' && file[0] != '['; /* run as "ruby app.rb" */
    return !directory || below_p(file, directory);
}

const char *
report_gem(const char *file, const char *directory, size_t *length)
{
    const char *name = find_gem(file, length);

    if (name) return name;
    if (!file[0]) name = "(no file)";
    else if (ruby_p(file)) name = "(ruby)";
    else name = report_own_p(file, directory) ? "(application)" : "(other)";
    *length = strlen(name);
    return name;
}
