/* smaps.c - the kernel's list of our mappings, /proc/self/smaps, added up by kind.
 *
 *     55d0c8a00000-55d0c8a21000 rw-p 00000000 00:00 0          [heap]
 *     Size:                132 kB
 *     Rss:                 100 kB
 *     ...
 *
 *     a path, [vdso] ...   files          no name, or [anon:...]   anonymous, or executable
 *     [heap]               heap           [stack]                  main stack
 *
 * The file is read in small pieces into the stack: memory from the allocator would be in the list.
 */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE /* O_CLOEXEC */
#endif
#include "os/smaps.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_KEPT 256 /* only so much of a line is looked at */

struct smaps_list {
    struct heapprof_mappings *mappings;
    uint64_t *kind;             /* the sum for the mapping that the lines describe */
    char   line[LINE_MAX_KEPT];
    size_t length;              /* of line, which is cut */
};

static uint64_t *
kind_of(struct heapprof_mappings *mappings, const char *permissions, const char *name)
{
    if (strcmp(name, "[heap]") == 0) return &mappings->heap;
    if (strcmp(name, "[stack]") == 0) return &mappings->main_stack;
    if (*name && strncmp(name, "[anon:", 6) != 0) return &mappings->files;
    return permissions[2] == 'x' ? &mappings->executable : &mappings->anonymous;
}

static const char *
next_field(const char *text)
{
    text += strcspn(text, " ");
    return text + strspn(text, " ");
}

/* "start-end permissions offset device inode name" */
static void
read_mapping(struct smaps_list *list)
{
    const char *permissions = next_field(list->line), *name = permissions;
    char *behind;

    list->kind = NULL;
    if (strcspn(permissions, " ") != 4) return;
    for (int i = 0; i < 4; i++) name = next_field(name);
    list->kind = kind_of(list->mappings, permissions, name);
    if (list->kind == &list->mappings->main_stack) {
        list->mappings->main_stack_begin = strtoul(list->line, &behind, 16);
        list->mappings->main_stack_end = strtoul(behind + 1, NULL, 16);
    }
}

static void
read_line(struct smaps_list *list)
{
    static const char size[] = "Size:", rss[] = "Rss:";
    struct heapprof_mappings *mappings = list->mappings;

    list->line[list->length] = '\0';
    if (strncmp(list->line, rss, sizeof(rss) - 1) == 0) {
        uint64_t bytes = strtoull(list->line + sizeof(rss) - 1, NULL, 10) << 10;
        mappings->rss += bytes;
        if (list->kind) *list->kind += bytes;
    }
    else if (strncmp(list->line, size, sizeof(size) - 1) == 0) {
        if (list->kind != &mappings->heap) return;
        mappings->heap_mapped += strtoull(list->line + sizeof(size) - 1, NULL, 10) << 10;
    }
    else if (list->line[0] < 'A' || list->line[0] > 'Z') {
        read_mapping(list);
    }
}

static void
keep(struct smaps_list *list, const char *text, size_t length)
{
    size_t room = LINE_MAX_KEPT - 1 - list->length;

    if (length > room) length = room;
    memcpy(list->line + list->length, text, length);
    list->length += length;
}

/* Returns whether a line is wanted: Rss, Size, or a mapping, whose address has small letters.
 * The other lines are not copied. */
static bool
wanted_p(char first)
{
    return first == 'R' || first == 'S' || first < 'A' || first > 'Z';
}

static void
read_piece(struct smaps_list *list, const char *piece, const char *end)
{
    const char *newline;

    for (; (newline = memchr(piece, '\n', (size_t)(end - piece))); piece = newline + 1) {
        if (list->length > 0 || wanted_p(*piece)) {
            keep(list, piece, (size_t)(newline - piece));
            read_line(list);
            list->length = 0;
        }
    }
    keep(list, piece, (size_t)(end - piece));
}

bool
rb_heapprof_smaps_read(struct heapprof_mappings *mappings)
{
    struct smaps_list list = {.mappings = mappings};
    int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
    char piece[4096];
    ssize_t size;

    *mappings = (struct heapprof_mappings){0};
    if (file < 0) return false;
    while ((size = read(file, piece, sizeof(piece))) > 0 || (size < 0 && errno == EINTR)) {
        if (size > 0) read_piece(&list, piece, piece + size);
    }
    close(file);
    return size == 0 && mappings->rss > 0;
}
