/* core.c - a core file as a target: one of the kernel's, or of gcore.
 *
 *     header --> program headers --> PT_LOAD: a mapping, and how much of it is in the file
 *                             \----> PT_NOTE --> NT_PRSTATUS: a thread
 *                                           \--> NT_PRPSINFO: the pid
 *                                            \-> NT_FILE: which file a mapping was of
 *
 * Anybody may have written the file, and may be writing to it.
 *
 *   I1  The file is read, not mapped: if it becomes shorter, pread fails, and no signal comes.
 *   I2  Every number is bounded before it is used: segments, notes, the table of files.
 *   I3  A file that is cut short is read as far as it goes.
 *
 * Of a note only the part is used that all machines with 64 bits have in common, except for the
 * registers: these are read only from a core of the machine that this program is built for. */
#ifndef _GNU_SOURCE
# define _GNU_SOURCE
#endif
#include "attach/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/read_at.h"

#define NOTES_MOST (UINT32_C(1) << 20)
#define NOTE_SEGMENTS_MOST 16
#define FILES_BYTES_MOST (UINT32_C(16) << 20)
#define STATUS_PID 32 /* where the number is in struct elf_prstatus and elf_prpsinfo with 64 bits */
#define STATUS_REGISTERS 112
#define INFO_PID 24

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
# define NATIVE_ORDER ELFDATA2LSB
#else
# define NATIVE_ORDER ELFDATA2MSB
#endif

#if defined(__x86_64__)
# define NATIVE_MACHINE EM_X86_64
#elif defined(__aarch64__)
# define NATIVE_MACHINE EM_AARCH64
#else
# define NATIVE_MACHINE EM_NONE
#endif

/* The part of a mapping that is in the file. */
struct segment {
    uint64_t start, offset, bytes;
    uint32_t flags;
    uint64_t end;         /* in memory: more than bytes where the rest was not written */
};

/* An entry of NT_FILE. */
struct file_entry {
    uint64_t start, end, page;
};

struct core {
    int      fd;
    uint64_t file_bytes;
    bool     native;           /* of our kind of machine */
    struct segment *segments;  /* in the order of their addresses; as many as mappings */
    size_t   segment_count, segment_capacity;
    uint64_t note_offset[NOTE_SEGMENTS_MOST], note_bytes[NOTE_SEGMENTS_MOST],
        note_align[NOTE_SEGMENTS_MOST];
    size_t   note_count;
    char    *files;            /* NT_FILE as it is in the file, and a NUL */
    size_t   files_bytes, files_capacity;
};

/* ---- reading ---- */

static bool
read_file(const struct core *core, uint64_t offset, void *to, size_t bytes)
{
    if (offset > core->file_bytes || bytes > core->file_bytes - offset) return false;
    return rb_heapprof_read_at(core->fd, offset, to, bytes);
}

/* The last segment that begins at the address or before it. NULL if there is none. */
static const struct segment *
find_segment(const struct core *core, uint64_t address)
{
    size_t low = 0, high = core->segment_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (core->segments[middle].start <= address) low = middle + 1;
        else high = middle;
    }
    return low ? &core->segments[low - 1] : NULL;
}

/* A range may lie across neighbouring segments. */
static bool
read_range(const struct core *core, struct attach_range range)
{
    while (range.bytes > 0) {
        const struct segment *segment = find_segment(core, range.address);
        if (!segment || range.address - segment->start >= segment->bytes) return false;
        uint64_t at = range.address - segment->start, here = segment->bytes - at;
        if (here > range.bytes) here = range.bytes;
        if (!read_file(core, segment->offset + at, range.to, (size_t)here)) return false;
        range.address += here;
        range.to = (char *)range.to + here;
        range.bytes -= (size_t)here;
    }
    return true;
}

static bool
core_read(struct attach_target *target, const struct attach_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!read_range(target->data, ranges[i])) return false;
    }
    return true;
}

/* ---- program headers ---- */

static bool
wrong(const struct attach_target *target, char *error, const char *what)
{
    attach_target_say(target, error, "%s", what);
    return false;
}

/* With 65535 segments or more the number is in the first section header. */
static uint64_t
count_segments(const struct core *core, const Elf64_Ehdr *header)
{
    Elf64_Shdr first;

    if (header->e_phnum != PN_XNUM) return header->e_phnum;
    if (!read_file(core, header->e_shoff, &first, sizeof(first))) return 0;
    return first.sh_info;
}

/* The part of a segment that is in the file. Its offset and size are checked once. */
static bool
add_segment(struct attach_target *target, const Elf64_Phdr *header)
{
    struct core *core = target->data;
    size_t count = core->segment_count;

    if (header->p_memsz == 0 || header->p_memsz > UINT64_MAX - header->p_vaddr) return true;
    if (count >= ATTACH_TARGET_MAPPINGS_MOST) return false;
    if (!HEAPPROF_MEM_GROW(&target->mem, core->segments, core->segment_capacity, count + 1))
        return false;
    uint64_t there = header->p_offset < core->file_bytes ? core->file_bytes - header->p_offset : 0;
    uint64_t bytes = header->p_filesz < header->p_memsz ? header->p_filesz : header->p_memsz;
    core->segments[count] = (struct segment){ .start = header->p_vaddr,
                                               .end = header->p_vaddr + header->p_memsz,
                                               .offset = header->p_offset,
                                               .bytes = bytes < there ? bytes : there,
                                               .flags = header->p_flags };
    core->segment_count = count + 1;
    return true;
}

static void
add_notes(struct core *core, const Elf64_Phdr *header)
{
    if (core->note_count == NOTE_SEGMENTS_MOST) return;
    core->note_offset[core->note_count] = header->p_offset;
    core->note_bytes[core->note_count] = header->p_filesz;
    core->note_align[core->note_count] = header->p_align == 8 ? 8 : 4;
    core->note_count++;
}

static bool
read_segments(struct attach_target *target, const Elf64_Ehdr *header, uint64_t count)
{
    struct core *core = target->data;
    Elf64_Phdr segment;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = i * sizeof(segment);
        if (at > UINT64_MAX - header->e_phoff) break;
        if (!read_file(core, header->e_phoff + at, &segment, sizeof(segment))) break;
        if (segment.p_type == PT_NOTE) add_notes(core, &segment);
        if (segment.p_type == PT_LOAD && !add_segment(target, &segment)) return false;
    }
    return true;
}

static int
compare_segments(const void *a, const void *b)
{
    const struct segment *left = a, *right = b;
    return (left->start > right->start) - (left->start < right->start);
}

/* If two segments overlap, the first stays. */
static void
order_segments(struct core *core)
{
    size_t kept = 0;

    if (core->segment_count)
        qsort(core->segments, core->segment_count, sizeof(*core->segments), compare_segments);
    for (size_t i = 0; i < core->segment_count; i++) {
        if (kept && core->segments[i].start < core->segments[kept - 1].end) continue;
        core->segments[kept++] = core->segments[i];
    }
    core->segment_count = kept;
}

/* ---- notes ---- */

static void
add_thread(struct attach_target *target, uint64_t offset, uint32_t bytes)
{
    int32_t tid;

    if (bytes < STATUS_PID + sizeof(tid)) return;
    if (!read_file(target->data, offset + STATUS_PID, &tid, sizeof(tid)) || tid <= 0) return;
    struct attach_native_thread thread = { .tid = tid, .inner_tid = tid };
    if (bytes > STATUS_REGISTERS) {
        thread.registers_at = offset + STATUS_REGISTERS;
        thread.registers_bytes = bytes - STATUS_REGISTERS;
    }
    attach_target_add_thread(target, thread);
}

static void
set_pid(struct attach_target *target, uint64_t offset, uint32_t bytes)
{
    int32_t pid;

    if (bytes < INFO_PID + sizeof(pid)) return;
    if (read_file(target->data, offset + INFO_PID, &pid, sizeof(pid)) && pid > 0) target->pid = pid;
}

static void
keep_files(struct attach_target *target, uint64_t offset, uint32_t bytes)
{
    struct core *core = target->data;

    if (core->files_bytes || bytes > FILES_BYTES_MOST) return;
    if (!HEAPPROF_MEM_GROW(&target->mem, core->files, core->files_capacity, (size_t)bytes + 1))
        return;
    if (!read_file(core, offset, core->files, bytes)) return;
    core->files[bytes] = '\0';
    core->files_bytes = bytes;
}

static void
read_note(struct attach_target *target, const Elf64_Nhdr *note, uint64_t offset)
{
    switch (note->n_type) {
      case NT_PRSTATUS: add_thread(target, offset, note->n_descsz); break;
      case NT_PRPSINFO: set_pid(target, offset, note->n_descsz); break;
      case NT_FILE: keep_files(target, offset, note->n_descsz); break;
    }
}

static uint64_t
aligned(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Sizes in a note have 32 bits, so sums of them fit into 64. The kinds above are those of notes
 * named "CORE". */
static void
read_notes(struct attach_target *target, uint64_t offset, uint64_t bytes, uint64_t unit,
           uint32_t *left)
{
    const struct core *core = target->data;
    Elf64_Nhdr note;
    char owner[5];

    if (offset > core->file_bytes) return;
    if (bytes > core->file_bytes - offset) bytes = core->file_bytes - offset;
    for (uint64_t at = 0; at < bytes && *left > 0; --*left) {
        if (!read_file(core, offset + at, &note, sizeof(note))) return;
        uint64_t name = at + sizeof(note), description = aligned(name + note.n_namesz, unit);
        at = aligned(description + note.n_descsz, unit);
        if (note.n_namesz != sizeof(owner) || !read_file(core, offset + name, owner, sizeof(owner)))
            continue;
        if (memcmp(owner, "CORE", sizeof(owner)) == 0)
            read_note(target, &note, offset + description);
    }
}

static void
read_all_notes(struct attach_target *target)
{
    const struct core *core = target->data;
    uint32_t left = NOTES_MOST;

    target->thread_count = 0;
    for (size_t i = 0; i < core->note_count; i++) {
        read_notes(target, core->note_offset[i], core->note_bytes[i], core->note_align[i], &left);
    }
}

/* ---- mappings ---- */

/* NT_FILE has the count, the bytes of a page, the entries, and then their names, each with a
 * NUL. */
static bool
next_file(const struct core *core, uint64_t *entry, const char **name, struct file_entry *file)
{
    uint64_t count;

    if (core->files_bytes < 16) return false;
    memcpy(&count, core->files, sizeof(count));
    if (count > (core->files_bytes - 16) / sizeof(*file) || *entry >= count) return false;
    if (!*name) *name = core->files + 16 + count * sizeof(*file);
    else *name += strlen(*name) + 1;
    if (*name >= core->files + core->files_bytes) return false;
    memcpy(file, core->files + 16 + *entry * sizeof(*file), sizeof(*file));
    ++*entry;
    return true;
}

/* A mapping of a file of which the core has nothing, as gcore leaves out code. Its rights are not
 * known: it may be code, and it cannot be read. */
static bool
add_absent(struct attach_target *target, const struct file_entry *file, uint64_t page_bytes,
           const char *name)
{
    struct attach_mapping mapping = { .start = file->start, .end = file->end, .executable = true,
                                      .offset = file->page * page_bytes };
    return attach_target_add_mapping(target, mapping, name);
}

/* Mappings and entries are in the order of addresses, as the kernel and gdb write them. If they are
 * not, a mapping stays without a name. */
static bool
list_mappings(struct attach_target *target)
{
    const struct core *core = target->data;
    struct file_entry file = {0, 0, 0};
    const char *name = NULL;
    uint64_t entry = 0, page_bytes = 0;
    bool more = next_file(core, &entry, &name, &file), present = false;

    if (more) memcpy(&page_bytes, core->files + 8, sizeof(page_bytes));
    for (size_t i = 0; i < core->segment_count; i++) {
        const struct segment *segment = &core->segments[i];
        for (; more && file.end <= segment->start; present = false) {
            if (!present && !add_absent(target, &file, page_bytes, name)) return false;
            more = next_file(core, &entry, &name, &file);
        }
        bool named = more && file.start <= segment->start;
        present |= named;
        struct attach_mapping mapping = {
            .start = segment->start, .end = segment->end, .readable = segment->flags & PF_R,
            .writable = segment->flags & PF_W, .executable = segment->flags & PF_X,
            .offset = named ? file.page * page_bytes + (segment->start - file.start) : 0
        };
        if (!attach_target_add_mapping(target, mapping, named ? name : "")) return false;
    }
    for (; more; present = false) {
        if (!present && !add_absent(target, &file, page_bytes, name)) return false;
        more = next_file(core, &entry, &name, &file);
    }
    return true;
}

/* ---- opening ---- */

static bool
core_p(const Elf64_Ehdr *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_type == ET_CORE;
}

static bool
core_refresh(struct attach_target *target, char *error)
{
    struct core *core = target->data;
    Elf64_Ehdr header;

    core->segment_count = core->note_count = core->files_bytes = 0;
    if (!read_file(core, 0, &header, sizeof(header)) || !core_p(&header)) {
        return wrong(target, error, "it is not a core file");
    }
    core->native = header.e_machine == NATIVE_MACHINE;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != NATIVE_ORDER) {
        return wrong(target, error, "it is a core file of a machine of another kind");
    }
    if (header.e_phentsize != sizeof(Elf64_Phdr))
        return wrong(target, error, "it is not a core file");
    if (!read_segments(target, &header, count_segments(core, &header))) {
        return wrong(target, error, "it has too many mappings");
    }
    order_segments(core);
    read_all_notes(target);
    if (!list_mappings(target)) return wrong(target, error, "it has too many mappings");
    if (core->segment_count == 0) return wrong(target, error, "it is a core file without memory");
    return true;
}

static bool
core_list_threads(struct attach_target *target)
{
    read_all_notes(target);
    return true;
}

static enum attach_target_state
core_state(struct attach_target *target)
{
    return (void)target, ATTACH_TARGET_SAME;
}

static void
core_close(struct attach_target *target)
{
    struct core *core = target->data;

    HEAPPROF_MEM_RELEASE(&target->mem, core->segments, core->segment_capacity);
    HEAPPROF_MEM_RELEASE(&target->mem, core->files, core->files_capacity);
    close(core->fd);
    free(core);
}

static bool
core_registers(struct attach_target *target, pid_t tid, void *words, size_t bytes)
{
    const struct core *core = target->data;

    for (size_t i = 0; core->native && i < target->thread_count; i++) {
        const struct attach_native_thread *thread = &target->threads[i];
        if (thread->tid == tid && thread->registers_bytes >= bytes)
            return read_file(core, thread->registers_at, words, bytes);
    }
    return false;
}

static const struct attach_target_kind core_kind = {
    core_read, core_refresh, core_list_threads, core_state, core_close, core_registers,
    NULL, NULL
};

/* Opening a pipe must not wait. */
static int
open_file(const char *path, uint64_t *bytes, char *error)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd < 0) {
        snprintf(error, ATTACH_TARGET_ERROR_MAX, "%s: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) {
        *bytes = (uint64_t)file.st_size;
        return fd;
    }
    snprintf(error, ATTACH_TARGET_ERROR_MAX, "%s: is not a regular file", path);
    close(fd);
    return -1;
}

struct attach_target *
attach_target_open_core(const char *path, char error[ATTACH_TARGET_ERROR_MAX])
{
    uint64_t bytes;
    int fd = open_file(path, &bytes, error);

    if (fd < 0) return NULL;
    struct core *core = calloc(1, sizeof(*core));
    struct attach_target *target = core ? attach_target_new(&core_kind, core) : NULL;
    if (!target) {
        free(core);
        close(fd);
        snprintf(error, ATTACH_TARGET_ERROR_MAX, "%s: no memory", path);
        return NULL;
    }
    core->fd = fd;
    core->file_bytes = bytes;
    snprintf(target->name, sizeof(target->name), "%s", path);
    if (attach_target_refresh(target, error)) return target;
    attach_target_close(target);
    return NULL;
}
