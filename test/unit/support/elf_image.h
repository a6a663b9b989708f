// elf_image.h - small ELF objects made by hand, and files in memory to read them from.

#ifndef HEAPPROF_ELF_IMAGE_H
#define HEAPPROF_ELF_IMAGE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

// A file that has no name; closed at the end.
class MemoryFile {
  public:
    explicit MemoryFile(const void *bytes = "", size_t size = 0)
        : fd_(memfd_create("elf", MFD_CLOEXEC))
    {
        Write(bytes, size);
    }

    explicit MemoryFile(const std::string &bytes) : MemoryFile(bytes.data(), bytes.size()) {}
    MemoryFile(const MemoryFile &) = delete;
    ~MemoryFile() { close(fd_); }

    int fd() const { return fd_; }
    void Cut(size_t size) { if (ftruncate(fd_, static_cast<off_t>(size)) != 0) abort(); }

    void
    Write(const void *bytes, size_t size)
    {
        Cut(0);
        if (pwrite(fd_, bytes, size, 0) != static_cast<ssize_t>(size)) abort();
    }

  private:
    int fd_;
};

struct ElfFunction {
    std::string name;
    uintptr_t start;
    size_t size_bytes;
    unsigned char type = STT_FUNC;
    uint16_t section = 1;
};

// header | program header | note | symbols | names | sections: none, symbols, names
struct ElfImage {
    ElfW(Ehdr) header{};
    ElfW(Phdr) segment{};
    ElfW(Nhdr) note{4, 20, NT_GNU_BUILD_ID};
    char owner[4] = {'G', 'N', 'U', 0};
    uint8_t build_id[20];
    std::vector<ElfW(Sym)> symbols;
    std::string names = std::string(1, '\0');
    ElfW(Shdr) sections[3]{};

    explicit ElfImage(const std::vector<ElfFunction> &functions, uint32_t table = SHT_SYMTAB)
    {
        for (const ElfFunction &function : functions) Add(function);
        for (size_t i = 0; i < sizeof(build_id); i++) build_id[i] = static_cast<uint8_t>(i + 1);
        size_t at = sizeof(header);
        segment.p_type = PT_NOTE;
        segment.p_align = 4;
        segment.p_filesz = sizeof(note) + sizeof(owner) + sizeof(build_id);
        header.e_phoff = at;
        segment.p_offset = at += sizeof(segment);
        sections[1].sh_offset = at += segment.p_filesz;
        sections[1].sh_type = table;
        sections[1].sh_link = 2;
        sections[1].sh_entsize = sizeof(ElfW(Sym));
        sections[1].sh_size = symbols.size() * sizeof(ElfW(Sym));
        sections[2].sh_offset = at += sections[1].sh_size;
        sections[2].sh_type = SHT_STRTAB;
        sections[2].sh_size = names.size();
        header.e_shoff = at + names.size();
        Head();
    }

    std::string
    Bytes() const
    {
        std::string bytes = Raw(&header, sizeof(header)) + Raw(&segment, sizeof(segment));
        bytes +=
            Raw(&note, sizeof(note)) + Raw(owner, sizeof(owner)) + Raw(build_id, sizeof(build_id));
        bytes += Raw(symbols.data(), symbols.size() * sizeof(ElfW(Sym))) + names;
        return bytes + Raw(sections, sizeof(sections));
    }

  private:
    static std::string
    Raw(const void *bytes, size_t size)
    {
        return std::string(static_cast<const char *>(bytes), size);
    }

    void
    Add(const ElfFunction &function)
    {
        ElfW(Sym) symbol{};
        symbol.st_name = static_cast<uint32_t>(names.size());
        symbol.st_info = function.type;
        symbol.st_shndx = function.section;
        symbol.st_value = function.start;
        symbol.st_size = function.size_bytes;
        symbols.push_back(symbol);
        names += function.name + '\0';
    }

    // As this program's own.
    void
    Head()
    {
        ElfW(Ehdr) own;
        MapOwn(&own);
        memcpy(header.e_ident, own.e_ident, sizeof(header.e_ident));
        header.e_type = ET_DYN;
        header.e_machine = own.e_machine;
        header.e_phentsize = sizeof(segment);
        header.e_phnum = 1;
        header.e_shentsize = sizeof(sections[0]);
        header.e_shnum = 3;
    }

    static void
    MapOwn(ElfW(Ehdr) *own)
    {
        extern const char __ehdr_start[];
        memcpy(own, __ehdr_start, sizeof(*own));
    }
};

#endif
