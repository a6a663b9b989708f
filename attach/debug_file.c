/* debug_file.c - finds a debug file by the object's build-id, or by its .gnu_debuglink.
 *
 * A file that is found by its build-id must have that build-id. One that is found by its name must
 * have the checksum that the link says (CRC-32), of at most CHECKED_MOST bytes. */
#include "attach/debug_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "os/read_at.h"

enum { SECTIONS_MOST = 512, LINK_MAX = 256, PATH_BYTES = 4200, PIECE_BYTES = 65536 };

#define CHECKED_MOST (UINT64_C(1) << 30)

/* What .gnu_debuglink says: a name, and the checksum of the file. */
struct debug_link {
    char     name[LINK_MAX];
    uint32_t checksum;
};

/* ---- the link ---- */

/* The section has the name, a NUL, zeros up to a multiple of 4, and the checksum. */
static bool
read_link(int fd, const Elf64_Shdr *section, struct debug_link *link)
{
    char bytes[LINK_MAX + 8] = "";

    if (section->sh_size < 8 || section->sh_size > LINK_MAX + 4 ||
        !rb_heapprof_read_at(fd, section->sh_offset, bytes, section->sh_size))
        return false;
    size_t length = strnlen(bytes, LINK_MAX - 1), checksum = (length + 4) / 4 * 4;
    if (length == 0 || bytes[length] || strchr(bytes, '/') || checksum + 4 > section->sh_size)
        return false;
    memcpy(link->name, bytes, length + 1);
    memcpy(&link->checksum, bytes + checksum, sizeof(link->checksum));
    return true;
}

static bool
find_link(int fd, struct debug_link *link)
{
    static const char wanted[] = ".gnu_debuglink";
    Elf64_Shdr sections[SECTIONS_MOST];
    Elf64_Ehdr header;
    char name[sizeof(wanted)];

    if (!rb_heapprof_read_at(fd, 0, &header, sizeof(header)) || header.e_shnum > SECTIONS_MOST ||
        header.e_shstrndx >= header.e_shnum || header.e_shentsize != sizeof(*sections) ||
        !rb_heapprof_read_at(fd, header.e_shoff, sections, header.e_shnum * sizeof(*sections)))
        return false;
    uint64_t names = sections[header.e_shstrndx].sh_offset;
    for (size_t i = 0; i < header.e_shnum; i++) {
        if (sections[i].sh_type == SHT_PROGBITS &&
            rb_heapprof_read_at(fd, names + sections[i].sh_name, name, sizeof(name)) &&
            memcmp(name, wanted, sizeof(wanted)) == 0)
            return read_link(fd, &sections[i], link);
    }
    return false;
}

/* ---- the checksum ---- */

static bool
checksum_p(int fd, uint32_t checksum)
{
    unsigned char bytes[PIECE_BYTES];
    uLong sum = crc32(0, NULL, 0);
    uint64_t at = 0;
    ssize_t got;

    while (at < CHECKED_MOST && (got = pread(fd, bytes, sizeof(bytes), (off_t)at)) > 0) {
        sum = crc32(sum, bytes, (uInt)got);
        at += (uint64_t)got;
    }
    return sum == checksum;
}

/* ---- the file ---- */

static bool
regular_p(int fd)
{
    struct stat file;
    return fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

/* Opens the path as the target sees it, or as the reader does. */
static int
open_as(const struct attach_target *target, bool inside, const char *path)
{
    enum { flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };
    char name[PATH_BYTES + 64];

    if (!inside) return open(path, flags);
    if (!target->runs) return -1;
    snprintf(name, sizeof(name), "/proc/%d/root%s", (int)target->pid, path);
    return open(name, flags);
}

/* What the object says of its debug file; link is NULL if the build-id decides. */
struct debug_search {
    const struct attach_target *target;
    const struct attach_elf *object;
    const struct debug_link *link;
    struct heapprof_elf *elf;
    struct heapprof_mem *mem;
};

static int
try_file(const struct debug_search *search, const char *path)
{
    for (int inside = 1; inside >= 0; inside--) {
        int fd = open_as(search->target, inside, path);
        if (fd < 0) continue;
        if (regular_p(fd) && (!search->link || checksum_p(fd, search->link->checksum)) &&
            rb_heapprof_elf_open(search->elf, search->mem, fd)) {
            if (search->link ||
                rb_heapprof_elf_same_p(&search->elf->identity, &search->object->identity))
                return fd;
            rb_heapprof_elf_close(search->elf);
        }
        close(fd);
    }
    return -1;
}

static int
try_build_id(const struct debug_search *search)
{
    const struct heapprof_elf_identity *identity = &search->object->identity;
    char path[PATH_BYTES] = "/usr/lib/debug/.build-id/";

    if (identity->build_id_bytes < 2) return -1;
    for (size_t i = 0; i < identity->build_id_bytes; i++) {
        size_t length = strlen(path);
        snprintf(path + length, sizeof(path) - length, i == 0 ? "%02x/" : "%02x",
                 identity->build_id[i]);
    }
    strcat(path, ".debug");
    return try_file(search, path);
}

static int
try_link(const struct debug_search *search, const char *object_path)
{
    static const char *const forms[] = { "%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s" };
    const char *slash = strrchr(object_path, '/');
    char path[PATH_BYTES];

    for (size_t i = 0; slash && i < sizeof(forms) / sizeof(*forms); i++) {
        int length = snprintf(path, sizeof(path), forms[i], (int)(slash - object_path), object_path,
                              search->link->name);
        int fd = length < (int)sizeof(path) ? try_file(search, path) : -1;
        if (fd >= 0) return fd;
    }
    return -1;
}

int
attach_debug_file_open(const struct attach_target *target, const struct attach_elf *object,
                       const char *path, int fd, struct heapprof_elf *elf, struct heapprof_mem *mem)
{
    struct debug_search search = { target, object, NULL, elf, mem };
    struct debug_link link;
    int found = try_build_id(&search);

    if (found >= 0 || fd < 0 || !find_link(fd, &link)) return found;
    search.link = &link;
    return try_link(&search, path);
}
