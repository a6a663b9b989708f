/* elf_symbols.c - reads the symbol table of an ELF file (System V ABI). Any program may have
 * written the file, and may still be writing to it.
 *
 *     header --> program headers --> PT_NOTE --> build-id
 *        \-----> sections --> .symtab, or else .dynsym --sh_link--> its strings
 *
 *   I1  Every range is within the file before it is read, by the size that the file had when it
 *       was opened. If the file has become shorter, reading ends.
 *   I2  The file is read, not mapped: a mapping of a file that is cut short faults.
 *   I3  Tables go through one buffer of BUFFER_BYTES, piece by piece. Only names are ever in
 *       memory as a whole, and on demand.
 *
 * Takes no lock and calls no allocator. */
#include "os/elf_symbols.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/read_at.h"

#define BUFFER_BYTES 65536
#define MAX_SEGMENTS 128 /* 13 are usual */

#if UINTPTR_MAX > UINT32_MAX
# define NATIVE_CLASS ELFCLASS64
# define ELF_TYPE_OF_SYMBOL(info) ELF64_ST_TYPE(info)
# define ELF_BINDING_OF_SYMBOL(info) ELF64_ST_BIND(info)
#else
# define NATIVE_CLASS ELFCLASS32
# define ELF_TYPE_OF_SYMBOL(info) ELF32_ST_TYPE(info)
# define ELF_BINDING_OF_SYMBOL(info) ELF32_ST_BIND(info)
#endif

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
# define NATIVE_MACHINE EM_NONE /* any machine: the build-id tells */
#endif

typedef ElfW(Ehdr) elf_header;
typedef ElfW(Phdr) elf_segment;
typedef ElfW(Shdr) elf_section;
typedef ElfW(Sym)  elf_symbol;
typedef ElfW(Nhdr) elf_note;

/* ---- reading ---- */

static bool
within_p(const struct heapprof_elf *elf, uint64_t offset, uint64_t bytes)
{
    return offset <= elf->file_bytes && bytes <= elf->file_bytes - offset;
}

/* Reads all of the range, or returns false. */
static bool
read_at(const struct heapprof_elf *elf, uint64_t offset, void *to, size_t bytes)
{
    return within_p(elf, offset, bytes) && rb_heapprof_read_at(elf->fd, offset, to, bytes);
}

/* Calls function with each of count entries of a table, until function returns false. Returns
 * false if the file does not have all entries. */
static inline bool
each_entry(const struct heapprof_elf *elf, uint64_t offset, uint64_t count, size_t entry_bytes,
           bool (*function)(const char *entry, void *data), void *data)
{
    while (count > 0) {
        size_t here = BUFFER_BYTES / entry_bytes;
        if (here > count) here = (size_t)count;
        if (!read_at(elf, offset, elf->buffer, here * entry_bytes)) return false;
        for (size_t i = 0; i < here; i++) {
            if (!function(elf->buffer + i * entry_bytes, data)) return true;
        }
        offset += here * entry_bytes;
        count -= here;
    }
    return true;
}

/* ---- identity ---- */

void
rb_heapprof_elf_identity_init(struct heapprof_elf_identity *identity, const void *headers,
                              size_t headers_bytes)
{
    const uint8_t *bytes = headers;

    memset(identity, 0, sizeof(*identity));
    identity->headers = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    for (size_t i = 0; i < headers_bytes; i++) {
        identity->headers = (identity->headers ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
}

static uint64_t
aligned(uint64_t bytes, size_t align)
{
    uint64_t unit = align == 8 ? 8 : 4;
    return (bytes + unit - 1) / unit * unit;
}

/* Numbers in a note have 32 bits, so these sums fit in 64. */
void
rb_heapprof_elf_identity_add_notes(struct heapprof_elf_identity *identity, const void *notes,
                                   size_t bytes, size_t align)
{
    static const char owner[] = "GNU";
    elf_note note;

    for (uint64_t at = 0; at <= bytes && bytes - at >= sizeof(note);) {
        memcpy(&note, (const char *)notes + at, sizeof(note));
        uint64_t name = at + sizeof(note);
        uint64_t description = aligned(name + note.n_namesz, align);
        at = aligned(description + note.n_descsz, align);
        if (description > bytes || note.n_descsz > bytes - description) return;
        if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(owner) ||
            memcmp((const char *)notes + name, owner, sizeof(owner)) != 0) continue;
        if (note.n_descsz > HEAPPROF_ELF_BUILD_ID_MAX || identity->build_id_bytes) continue;
        memcpy(identity->build_id, (const char *)notes + description, note.n_descsz);
        identity->build_id_bytes = note.n_descsz;
    }
}

bool
rb_heapprof_elf_same_p(const struct heapprof_elf_identity *a, const struct heapprof_elf_identity *b)
{
    if (a->build_id_bytes != b->build_id_bytes) return false;
    if (a->build_id_bytes == 0) return a->headers == b->headers;
    return memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

static bool
read_notes(struct heapprof_elf *elf, const elf_segment *segment)
{
    size_t bytes = segment->p_filesz < BUFFER_BYTES ? segment->p_filesz : BUFFER_BYTES;

    if (segment->p_type != PT_NOTE) return true;
    if (!read_at(elf, segment->p_offset, elf->buffer, bytes)) return false;
    rb_heapprof_elf_identity_add_notes(&elf->identity, elf->buffer, bytes, segment->p_align);
    return true;
}

static bool
read_identity(struct heapprof_elf *elf, const elf_header *header)
{
    elf_segment segments[MAX_SEGMENTS];
    size_t bytes = header->e_phnum * sizeof(*segments);

    if (header->e_phnum > MAX_SEGMENTS) return false;
    if (header->e_phnum && header->e_phentsize != sizeof(*segments)) return false;
    if (!read_at(elf, header->e_phoff, segments, bytes)) return false;
    rb_heapprof_elf_identity_init(&elf->identity, segments, bytes);
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (!read_notes(elf, &segments[i])) return false;
    }
    return true;
}

/* ---- the symbol table ---- */

static bool
native_p(const elf_header *header)
{
    return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == NATIVE_CLASS && header->e_ident[EI_DATA] == NATIVE_ORDER &&
           (NATIVE_MACHINE == EM_NONE || header->e_machine == NATIVE_MACHINE) &&
           (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

/* Chooses the first symbol table. If there is none, chooses the last table for the dynamic
 * linker. */
static bool
choose_section(const char *entry, void *data)
{
    elf_section section, *chosen = data;

    memcpy(&section, entry, sizeof(section));
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) *chosen = section;
    return section.sh_type != SHT_SYMTAB;
}

static bool
read_sections(struct heapprof_elf *elf, const elf_header *header)
{
    elf_section symbols = { .sh_type = SHT_NULL }, names;

    if (header->e_shnum == 0) return true;
    if (header->e_shentsize != sizeof(symbols)) return false;
    if (!each_entry(elf, header->e_shoff, header->e_shnum, sizeof(symbols), choose_section,
                    &symbols)) {
        return false;
    }
    if (symbols.sh_type == SHT_NULL) return true;
    if (symbols.sh_entsize != sizeof(elf_symbol) || symbols.sh_link >= header->e_shnum)
        return false;
    if (!within_p(elf, symbols.sh_offset, symbols.sh_size)) return false;
    if (!read_at(elf, header->e_shoff + symbols.sh_link * sizeof(names), &names, sizeof(names)))
        return false;
    if (names.sh_type != SHT_STRTAB || !within_p(elf, names.sh_offset, names.sh_size)) return false;

    elf->symbols = symbols.sh_offset;
    elf->dynamic = symbols.sh_type == SHT_DYNSYM;
    elf->symbol_count = symbols.sh_size / sizeof(elf_symbol);
    elf->names = names.sh_offset;
    elf->names_bytes = names.sh_size;
    return true;
}

static bool
read_header(struct heapprof_elf *elf)
{
    elf_header header;

    return read_at(elf, 0, &header, sizeof(header)) && native_p(&header) &&
           read_identity(elf, &header) && read_sections(elf, &header);
}

bool
rb_heapprof_elf_open(struct heapprof_elf *elf, struct heapprof_mem *mem, int fd)
{
    struct stat file;

    *elf = (struct heapprof_elf){ .mem = mem, .fd = fd };
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode)) return false;
    elf->file_bytes = (uint64_t)file.st_size;
    if (!HEAPPROF_MEM_GROW(mem, elf->buffer, elf->buffer_capacity, BUFFER_BYTES)) return false;
    if (read_header(elf)) return true;
    rb_heapprof_elf_close(elf);
    return false;
}

void
rb_heapprof_elf_close(struct heapprof_elf *elf)
{
    HEAPPROF_MEM_RELEASE(elf->mem, elf->buffer, elf->buffer_capacity);
    HEAPPROF_MEM_RELEASE(elf->mem, elf->loaded, elf->loaded_capacity);
}

/* ---- functions ---- */

struct elf_each {
    bool (*function)(const struct heapprof_elf_function *, void *data);
    void *data;
    bool variables;
};

static bool
wanted_p(const struct elf_each *each, unsigned int type)
{
    return each->variables ? type == STT_OBJECT : type == STT_FUNC || type == STT_GNU_IFUNC;
}

static inline bool
each_i(const char *entry, void *data)
{
    const struct elf_each *each = data;
    elf_symbol symbol;

    memcpy(&symbol, entry, sizeof(symbol));
    if (!wanted_p(each, ELF_TYPE_OF_SYMBOL(symbol.st_info)) || symbol.st_shndx == SHN_UNDEF)
        return true;
    struct heapprof_elf_function function = {
        .start = symbol.st_value, .size_bytes = symbol.st_size, .name = symbol.st_name,
        .weak = ELF_BINDING_OF_SYMBOL(symbol.st_info) == STB_WEAK
    };
    return each->function(&function, each->data);
}

void
rb_heapprof_elf_each(struct heapprof_elf *elf,
                     bool (*function)(const struct heapprof_elf_function *, void *data), void *data)
{
    struct elf_each each = { function, data, elf->variables };
    each_entry(elf, elf->symbols, elf->symbol_count, sizeof(elf_symbol), each_i, &each);
}

bool
rb_heapprof_elf_name(const struct heapprof_elf *elf, uint32_t name, char *text, size_t size)
{
    uint64_t bytes = name < elf->names_bytes ? elf->names_bytes - name : 0;

    if (bytes > size - 1) bytes = size - 1;
    if (!read_at(elf, elf->names + name, text, (size_t)bytes)) bytes = 0;
    text[bytes] = '\0';
    return text[0];
}

bool
rb_heapprof_elf_load_names(struct heapprof_elf *elf)
{
    if (elf->names_bytes >= SIZE_MAX) return false;
    size_t bytes = (size_t)elf->names_bytes;

    if (!HEAPPROF_MEM_GROW(elf->mem, elf->loaded, elf->loaded_capacity, bytes + 1)) return false;
    elf->loaded[bytes] = '\0';
    if (read_at(elf, elf->names, elf->loaded, bytes)) return true;
    HEAPPROF_MEM_RELEASE(elf->mem, elf->loaded, elf->loaded_capacity);
    return false;
}

const char *
rb_heapprof_elf_loaded_name(const struct heapprof_elf *elf, uint32_t name)
{
    return name < elf->names_bytes ? elf->loaded + name : "";
}
