/* strip.h - is included first in each file of an extension, so that its barriers can be removed
 * one at a time while it runs.
 *
 *     BARRIERS_STRIPPED=FILE:LINE    RB_OBJ_WRITE there is only a store, RB_OBJ_WRITTEN does
 *                                    nothing
 *     BARRIERS_SITES=FILE            at exit adds a line for each place: FILE:LINE, how often it
 *                                    was passed, and how often with an object that the field did
 *                                    not hold already
 *
 * Ruby's headers that call barriers are read before the macros are defined. */
#include <ruby.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct strip_site {
    const char *file;
    int line;
    unsigned long calls, needed;
    int stripped;
};

/* One of each for the whole library. */
extern struct strip_site *__start_strip_sites[], *__stop_strip_sites[];
__attribute__((weak, visibility("hidden"))) int strip_begun;
__attribute__((weak, visibility("hidden"))) int strip_ended;

__attribute__((constructor)) static void
strip_begin(void)
{
    const char *wanted = getenv("BARRIERS_STRIPPED");
    char place[256];

    if (strip_begun++ || !wanted) return;
    for (struct strip_site **site = __start_strip_sites; site < __stop_strip_sites; site++) {
        snprintf(place, sizeof(place), "%s:%d", (*site)->file, (*site)->line);
        (*site)->stripped = strcmp(place, wanted) == 0;
    }
}

__attribute__((destructor)) static void
strip_end(void)
{
    const char *path = getenv("BARRIERS_SITES");
    int fd = path && !strip_ended++ ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;

    if (fd < 0) return;
    for (struct strip_site **site = __start_strip_sites; site < __stop_strip_sites; site++) {
        dprintf(fd, "%s:%d %lu %lu\n", (*site)->file, (*site)->line, (*site)->calls,
                (*site)->needed);
    }
    close(fd);
}

static inline int
strip_p(struct strip_site *site, VALUE held, VALUE young)
{
    site->calls++;
    site->needed += !RB_SPECIAL_CONST_P(young) && held != young;
    return site->stripped;
}

static inline VALUE
strip_write(struct strip_site *site, VALUE old, VALUE *slot, VALUE young)
{
    if (!strip_p(site, *slot, young)) return rb_obj_write(old, slot, young, "", 0);
    *slot = young;
    return old;
}

static inline VALUE
strip_written(struct strip_site *site, VALUE old, VALUE young)
{
    return strip_p(site, Qundef, young) ? old : rb_obj_written(old, Qundef, young, "", 0);
}

#define STRIP_SITE __extension__ ({ \
    static struct strip_site strip_site = { __FILE__, __LINE__, 0, 0, 0 }; \
    static struct strip_site *strip_pointer \
        __attribute__((section("strip_sites"), used)) = &strip_site; \
    strip_pointer; \
})

#undef RB_OBJ_WRITE
#undef RB_OBJ_WRITTEN
#define RB_OBJ_WRITE(old, slot, young) \
    strip_write(STRIP_SITE, (VALUE)(old), (VALUE *)(slot), (VALUE)(young))
#define RB_OBJ_WRITTEN(old, oldv, young) strip_written(STRIP_SITE, (VALUE)(old), (VALUE)(young))
