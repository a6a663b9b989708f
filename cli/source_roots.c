/* source_roots.c - where source is read for a page, and how a file there is opened.
 *
 *     path of the profile   /srv/shop/app/cart.rb          a frame's file
 *     recorded directory    /srv/shop                      as the profile says
 *     root                  /home/me/shop                  --sources, or where the profile is
 *     candidates            /srv/shop/app/cart.rb          not below the root: not touched
 *                           /home/me/shop/app/cart.rb      the same place below the root
 *
 *   I1  A path that is not below a root by its name is not looked at. It is not even checked for
 *       existence.
 *   I2  A file outside the root is not opened, even if a link leads to it. The path is made free
 *       of links, and has to be below the root. It is then walked without following any link. If
 *       somebody replaces a part of it by a link meanwhile, the open fails with ELOOP.
 *   I3  Only a regular file is opened: opening a device or a pipe may have effects.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_PATH */
#endif
#include "cli/source_roots.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- names ---- */

/* Returns the rest of a path below a directory, without a '/' at its beginning. Returns NULL if
 * the path is not below the directory. */
static const char *
rest_below(const char *path, const char *directory)
{
    size_t length = strlen(directory);

    while (length > 0 && directory[length - 1] == '/') length--;
    if (strncmp(path, directory, length) || path[length] != '/') return NULL;
    path += length;
    return path + strspn(path, "/");
}

static bool
climbs_p(const char *path)
{
    for (; (path = strstr(path, "..")) != NULL; path += 2) {
        /* "a../" does not climb, but may be left out, too. */
        if (path[2] == '/' || path[2] == '\0') return true;
    }
    return false;
}

/* Returns the path to look for below the root, or NULL if there is nothing to look for. *moved
 * is set if the path is wanted only because of the recorded directory. */
static const char *
wanted_below(const struct cli_source_roots *roots, const struct cli_source_root *root,
             const char *path, bool *moved)
{
    const char *rest;

    *moved = false;
    if (climbs_p(path)) return NULL;
    if (path[0] != '/') return root->application ? path : NULL;
    rest = rest_below(path, root->path);
    if (!rest) rest = rest_below(path, root->given);
    if (rest || !root->application || !roots->recorded) return rest;
    *moved = true;
    return rest_below(path, roots->recorded);
}

/* ---- opening ---- */

/* Opens the regular file of that name in the directory. A link is not followed. */
static int
open_regular(int directory, const char *name)
{
    struct stat status;
    int fd;

    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
        return -1;
    fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Opens path, which is relative to the root and has no links. The text of path is changed. */
static int
walk(const char *root, char *path)
{
    int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), next, fd;

    for (char *slash; directory >= 0 && (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        *slash = '\0';
        next = openat(directory, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(directory);
        directory = next;
    }
    if (directory < 0) return -1;
    fd = open_regular(directory, path);
    close(directory);
    return fd;
}

static int
open_below(const struct cli_source_root *root, const char *rest)
{
    char path[PATH_MAX], real[PATH_MAX];
    const char *below;

    if ((size_t)snprintf(path, sizeof(path), "%s/%s", root->path, rest) >= sizeof(path)) return -1;
    if (!realpath(path, real)) return -1;
    below = rest_below(real, root->path);
    return below && *below ? walk(root->path, real + (below - real)) : -1;
}

int
cli_source_roots_open(const struct cli_source_roots *roots, const char *path, bool *outside)
{
    bool moved;
    int fd = -1;

    *outside = true;
    for (size_t i = 0; i < roots->count && fd < 0; i++) {
        const char *rest = wanted_below(roots, &roots->all[i], path, &moved);
        if (!rest) continue;
        fd = open_below(&roots->all[i], rest);
        if (!moved || fd >= 0) *outside = false;
    }
    return fd;
}

/* ---- which they are ---- */

/* Adds a directory. Returns false if there is no such directory, or no room for it. */
static bool
add(struct cli_source_roots *roots, const char *directory, bool application)
{
    struct cli_source_root root = {.application = application};
    struct stat status;

    if (roots->count == CLI_SOURCE_ROOTS_MOST) return false;
    root.path = realpath(directory, NULL);
    root.given = strdup(directory);
    if (root.path && root.given && stat(root.path, &status) == 0 && S_ISDIR(status.st_mode)) {
        roots->all[roots->count++] = root;
        return true;
    }
    free(root.path);
    free(root.given);
    return false;
}

/* Adds DIRECTORY/MORE, if the directory is an absolute path. It comes from an environment
 * variable. */
static void
add_known(struct cli_source_roots *roots, const char *directory, size_t length, const char *more)
{
    char path[PATH_MAX];

    if (!directory || directory[0] != '/' || length >= sizeof(path)) return;
    if ((size_t)snprintf(path, sizeof(path), "%.*s%s", (int)length, directory, more) < sizeof(path))
        add(roots, path, false);
}

static void
add_gems(struct cli_source_roots *roots, const char *home, size_t length)
{
    add_known(roots, home, length, "/gems");
    add_known(roots, home, length, "/bundler/gems");
}

/* Adds the directories where this user's RubyGems and Bundler have gems. */
static void
add_gem_directories(struct cli_source_roots *roots)
{
    const char *home = getenv("HOME"), *gem_home = getenv("GEM_HOME"),
               *gem_path = getenv("GEM_PATH");
    const char *bundle = getenv("BUNDLE_PATH");

    if (home) {
        add_known(roots, home, strlen(home), "/.local/share/gem/ruby");
        add_known(roots, home, strlen(home), "/.gem/ruby");
    }
    if (bundle) add_known(roots, bundle, strlen(bundle), "/ruby");
    if (gem_home) add_gems(roots, gem_home, strlen(gem_home));
    for (size_t length; gem_path && *gem_path; gem_path += length + (gem_path[length] == ':')) {
        length = strcspn(gem_path, ":");
        add_gems(roots, gem_path, length);
    }
}

/* Adds the library of this program's ruby: PREFIX/lib/ruby for PREFIX/bin/heapprof. */
static void
add_library(struct cli_source_roots *roots)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

    for (int parts = 0; parts < 2 && length > 0; parts++) {
        path[length] = '\0';
        length = strrchr(path, '/') - path;
    }
    if (length > 0) add_known(roots, path, (size_t)length, "/lib/ruby");
}

/* Whether the directory has all of the user's files below it. */
static bool
wide_p(const char *directory)
{
    const char *home = getenv("HOME");
    char real[PATH_MAX], real_home[PATH_MAX];

    if (!realpath(directory, real)) return true;
    if (!strcmp(real, "/")) return true;
    return home && realpath(home, real_home) &&
           (!strcmp(real, real_home) || rest_below(real_home, real));
}

/* Adds the directory of the profile. */
static void
add_place(struct cli_source_roots *roots, const char *profile)
{
    char path[PATH_MAX];
    size_t length = strlen(profile);

    if (!strcmp(profile, "-") || length >= sizeof(path)) return;
    strcpy(path, profile);
    char *slash = strrchr(path, '/');
    if (!slash) strcpy(path, ".");
    else slash[slash == path] = '\0';
    if (!wide_p(path)) add(roots, path, true);
}

bool
cli_source_roots_find(struct cli_source_roots *roots, const struct cli *cli, const char *directory,
                      const char *profile, const char *recorded)
{
    *roots = (struct cli_source_roots){ .recorded = recorded && recorded[0] == '/' && recorded[1]
                                                         ? recorded
                                                         : NULL };
    if (!directory) add_place(roots, profile);
    else if (!add(roots, directory, true)) {
        cli_wrong(cli, "--sources=%s: is not a directory that can be read", directory);
        return false;
    }
    add_gem_directories(roots);
    add_library(roots);
    return true;
}

void
cli_source_roots_free(struct cli_source_roots *roots)
{
    while (roots->count > 0) {
        roots->count--;
        free(roots->all[roots->count].path);
        free(roots->all[roots->count].given);
    }
}
