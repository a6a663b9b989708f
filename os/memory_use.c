/* memory_use.c - how full the limits of this process are, like the gauge of each tank that a
 * process drinks from.
 *
 *     /proc/self/cgroup        0::/a/b             4:cpu,memory:/a/b
 *     directories              /sys/fs/cgroup/a/b  /sys/fs/cgroup/memory/a/b
 *                              .../a, ...          .../a, ...
 *     what is used             memory.current      memory.usage_in_bytes
 *
 * A group is bounded by the groups above it, too. In a container the path may be that of the host,
 * while the directory of the mount is the container's own. So directories that are not there are
 * passed over, and the mount itself is looked at last.
 *
 * memory.stat is long, so page cache is only taken off where it matters: if the group would be
 * fuller than the limits before it. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include "os/memory_use.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define UNLIMITED (UINT64_C(1) << 60) /* the first version writes 2^63, less a page */
#define PROCESSES_MOST 1000

/* What the files of one version of control groups are called. */
struct version {
    const char *mount, *used, *limits[2];
    const char *cache[2];        /* in memory.stat */
};

static const struct version second = {
    "", "memory.current", { "memory.max", "memory.high" }, { "\nactive_file ", "\ninactive_file " }
};
static const struct version first = {
    "/memory", "memory.usage_in_bytes", { "memory.limit_in_bytes", NULL },
    { "\ntotal_active_file ", "\ntotal_inactive_file " }
};

/* ---- files of the kernel ---- */

/* Reads the beginning of a file, with a newline before it. Returns false if there is none. */
static bool
read_text(char *text, size_t size, const char *directory, const char *name)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s%s%s", directory, *name ? "/" : "", name);
    int fd = length < (int)sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    size_t used = 1;
    ssize_t more;

    if (fd < 0) return false;
    text[0] = '\n';
    while (used < size - 1 && (more = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)more;
    close(fd);
    text[used] = '\0';
    return used > 1;
}

/* Returns false if there is no such file, or no number in it ("max"). */
static bool
read_number(uint64_t *number, const char *directory, const char *name)
{
    char text[64], *end;

    if (!read_text(text, sizeof(text), directory, name)) return false;
    *number = strtoull(text, &end, 10);
    return end > text + 1 && text[1] != '-';
}

static uint64_t
number_behind(const char *text, const char *key)
{
    const char *found = strstr(text, key);

    return found ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/* ---- limits ---- */

/* Whether used of limit is fuller than the one in *use. */
static bool
fuller_p(const struct heapprof_memory_use *use, uint64_t used, uint64_t limit)
{
    return use->limit == 0 || (double)used / (double)limit > (double)use->used / (double)use->limit;
}

static void
note(struct heapprof_memory_use *use, uint64_t used, uint64_t limit, const char *name,
     const char *group)
{
    if (!fuller_p(use, used, limit)) return;
    use->used = used;
    use->limit = limit;
    use->name = name;
    snprintf(use->group, sizeof(use->group), "%s", group);
}

static uint64_t
without_cache(uint64_t used, const char *group, const struct version *version)
{
    char text[8192];
    uint64_t cache = 0;

    if (!read_text(text, sizeof(text), group, "memory.stat")) return used;
    for (int i = 0; i < 2; i++) cache += number_behind(text, version->cache[i]);
    return used > cache ? used - cache : 0;
}

static void
look_at_group(struct heapprof_memory_use *use, const char *group, const struct version *version)
{
    uint64_t used, limit, net = UINT64_MAX;

    if (!read_number(&used, group, version->used)) return;
    for (int i = 0; i < 2 && version->limits[i]; i++) {
        if (!read_number(&limit, group, version->limits[i]) || limit == 0 || limit > UNLIMITED)
            continue;
        if (!fuller_p(use, used, limit)) continue;
        if (net == UINT64_MAX) net = without_cache(used, group, version);
        note(use, net, limit, version->limits[i], group);
    }
}

/* The group and those above it. */
static void
look_upwards(struct heapprof_memory_use *use, const char *mounts, const char *path,
             const struct version *version)
{
    char group[sizeof(use->group)];
    int length = snprintf(group, sizeof(group), "%s%s%s", mounts, version->mount, path);
    size_t least = strlen(mounts) + strlen(version->mount);

    if (length >= (int)sizeof(group)) group[least] = '\0';
    for (;;) {
        size_t end = strlen(group);
        while (end > least && group[end - 1] == '/') group[--end] = '\0';
        look_at_group(use, group, version);
        if (end <= least) return;
        while (end > least && group[end - 1] != '/') end--;
        group[end] = '\0';
    }
}

/* Whether "cpu,memory" has memory. */
static bool
has_memory_p(const char *controllers, const char *end)
{
    static const char name[] = "memory";
    size_t length = sizeof(name) - 1;

    for (const char *at = controllers; at < end;) {
        size_t word = strcspn(at, ",:");
        if (word == length && memcmp(at, name, length) == 0) return true;
        at += word + 1;
    }
    return false;
}

/* "0::/a/b" or "4:cpu,memory:/a/b" */
static void
look_at_line(struct heapprof_memory_use *use, const char *mounts, char *line)
{
    char *controllers = strchr(line, ':');
    char *path = controllers ? strchr(controllers + 1, ':') : NULL;

    if (!path) return;
    if (path == controllers + 1) look_upwards(use, mounts, path + 1, &second);
    else if (has_memory_p(controllers + 1, path)) look_upwards(use, mounts, path + 1, &first);
}

static void
look_at_groups(struct heapprof_memory_use *use, const struct heapprof_memory_places *places)
{
    char text[4096], *rest;

    if (!read_text(text, sizeof(text), places->self, "")) return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        look_at_line(use, places->mounts, line);
}

void
rb_heapprof_memory_use(struct heapprof_memory_use *use, const struct heapprof_memory_places *places)
{
    static const struct heapprof_memory_places usual = { "/proc/self/cgroup", "/sys/fs/cgroup" };
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long all = 0, resident = 0;
    struct rlimit space;
    char text[128];

    *use = (struct heapprof_memory_use){0};
    if (read_text(text, sizeof(text), "/proc/self/statm", ""))
        sscanf(text, "%lu %lu", &all, &resident);
    use->resident = resident * page;
    look_at_groups(use, places ? places : &usual);
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && space.rlim_cur > 0)
        note(use, all * page, space.rlim_cur, "RLIMIT_AS", "");
}

/* ---- facts ---- */

static void
look_at_process(struct heapprof_memory_facts *facts, uint64_t pid)
{
    char path[64], text[128];
    unsigned long all, resident;

    snprintf(path, sizeof(path), "/proc/%llu", (unsigned long long)pid);
    if (!read_text(text, sizeof(text), path, "statm") ||
        sscanf(text, "%lu %lu", &all, &resident) != 2)
        return;
    uint64_t bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
    facts->others++;
    facts->other_bytes += bytes;
    if (bytes <= facts->largest_bytes) return;
    facts->largest = pid;
    facts->largest_bytes = bytes;
    if (!read_text(text, sizeof(text), path, "comm")) text[1] = '\0';
    snprintf(facts->largest_name, sizeof(facts->largest_name), "%.*s", (int)strcspn(text + 1, "\n"),
             text + 1);
}

static void
look_at_others(struct heapprof_memory_facts *facts, const char *group, pid_t except)
{
    char text[8 * PROCESSES_MOST];
    char *at = text, *end;

    if (!read_text(text, sizeof(text), group, "cgroup.procs")) return;
    for (;; at = end) {
        uint64_t pid = strtoull(at, &end, 10);
        if (end == at) return;
        if (pid > 0 && pid != (uint64_t)getpid() && pid != (uint64_t)except)
            look_at_process(facts, pid);
    }
}

static void
look_at_events(struct heapprof_memory_facts *facts, const char *group)
{
    char text[512];

    if (read_text(text, sizeof(text), group, "memory.events")) {
        facts->high = number_behind(text, "\nhigh ");
        facts->max = number_behind(text, "\nmax ");
        facts->killed = number_behind(text, "\noom_kill ");
        return;
    }
    read_number(&facts->max, group, "memory.failcnt");
    if (read_text(text, sizeof(text), group, "memory.oom_control"))
        facts->killed = number_behind(text, "\noom_kill ");
}

void
rb_heapprof_memory_facts(struct heapprof_memory_facts *facts,
                         const struct heapprof_memory_use *use, pid_t except)
{
    char text[256];

    *facts = (struct heapprof_memory_facts){0};
    if (use->group[0]) {
        look_at_events(facts, use->group);
        look_at_others(facts, use->group, except);
    }
    if ((use->group[0] && read_text(text, sizeof(text), use->group, "memory.pressure")) ||
        read_text(text, sizeof(text), "/proc/pressure/memory", ""))
        facts->stalled_percent = number_behind(text, "\nsome avg10=");
}
