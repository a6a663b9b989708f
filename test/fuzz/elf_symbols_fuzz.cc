// elf_symbols_fuzz.cc - any bytes as an ELF file, read by elf_symbols.c, and by a model that has
// all of it in memory and adds with 128 bits; then the file is cut, and read on.

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <optional>
#include <string>
#include <vector>

#include "test/unit/support/elf_image.h"
#include "fuzz.h"

extern "C" {
#include "os/elf_symbols.h"
}

namespace {

using Wide = unsigned __int128;

struct Function {
    uintptr_t start;
    size_t size_bytes;
    std::string name;
    bool operator==(const Function &other) const
    {
        return start == other.start && size_bytes == other.size_bytes && name == other.name;
    }
};

// ---- the model ----

class Model {
  public:
    std::vector<Function> functions;
    std::string build_id;
    bool whole;

    explicit Model(const std::string &bytes) : bytes_(bytes) { whole = Read(); }

  private:
    const std::string &bytes_;

    bool
    Within(Wide offset, Wide size) const
    {
        return offset + size <= bytes_.size();
    }

    template <typename Type>
    std::optional<Type>
    At(Wide offset) const
    {
        Type value;
        if (!Within(offset, sizeof(value))) return {};
        memcpy(&value, bytes_.data() + static_cast<size_t>(offset), sizeof(value));
        return value;
    }

    static bool
    Native(const ElfW(Ehdr) &header)
    {
        ElfW(Ehdr) own = ElfImage({}).header;
        return memcmp(header.e_ident, own.e_ident, EI_VERSION) == 0 &&
               header.e_machine == own.e_machine &&
               (header.e_type == ET_DYN || header.e_type == ET_EXEC);
    }

    bool
    Read()
    {
        auto header = At<ElfW(Ehdr)>(0);
        return header && Native(*header) && ReadSegments(*header) && ReadSections(*header);
    }

    bool
    ReadSegments(const ElfW(Ehdr) &header)
    {
        if (header.e_phnum > 128 || (header.e_phnum && header.e_phentsize != sizeof(ElfW(Phdr))))
            return false;
        if (!Within(header.e_phoff, Wide{header.e_phnum} * sizeof(ElfW(Phdr)))) return false;
        for (size_t i = 0; i < header.e_phnum; i++) {
            auto segment = *At<ElfW(Phdr)>(Wide{header.e_phoff} + i * sizeof(ElfW(Phdr)));
            if (segment.p_type != PT_NOTE) continue;
            size_t size = segment.p_filesz < 65536 ? segment.p_filesz : 65536;
            if (!Within(segment.p_offset, size)) return false;
            ReadNotes(bytes_.substr(segment.p_offset, size), segment.p_align == 8 ? 8 : 4);
        }
        return true;
    }

    void
    ReadNotes(const std::string &notes, size_t unit)
    {
        auto round = [unit](Wide size) { return (size + unit - 1) / unit * unit; };
        for (Wide at = 0; at + sizeof(ElfW(Nhdr)) <= notes.size();) {
            ElfW(Nhdr) note;
            memcpy(&note, notes.data() + static_cast<size_t>(at), sizeof(note));
            Wide name = at + sizeof(note), text = round(name + note.n_namesz);
            if (text + note.n_descsz > notes.size()) return;
            at = round(text + note.n_descsz);
            if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz > 32)
                continue;
            if (notes.compare(static_cast<size_t>(name), 4, "GNU", 4) != 0) continue;
            if (build_id.empty()) build_id = notes.substr(static_cast<size_t>(text), note.n_descsz);
        }
    }

    bool
    ReadSections(const ElfW(Ehdr) &header)
    {
        std::optional<ElfW(Shdr)> symbols;
        if (header.e_shnum == 0) return true;
        if (header.e_shentsize != sizeof(ElfW(Shdr))) return false;
        // A piece of 64 KiB is read at once, up to the one that has the first symbol table.
        for (size_t i = 0, read = 0;
             i < header.e_shnum && (!symbols || symbols->sh_type != SHT_SYMTAB); i++) {
            if (i == read) {
                read += std::min<size_t>(header.e_shnum - read, 65536 / sizeof(ElfW(Shdr)));
                if (!Within(header.e_shoff, Wide{read} * sizeof(ElfW(Shdr)))) return false;
            }
            auto section = *At<ElfW(Shdr)>(Wide{header.e_shoff} + i * sizeof(ElfW(Shdr)));
            if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) symbols = section;
        }
        if (!symbols) return true;
        if (symbols->sh_entsize != sizeof(ElfW(Sym)) || symbols->sh_link >= header.e_shnum)
            return false;
        auto names = At<ElfW(Shdr)>(Wide { header.e_shoff } +
                                    Wide { symbols->sh_link } * sizeof(ElfW(Shdr)));
        if (!names || names->sh_type != SHT_STRTAB ||
            !Within(symbols->sh_offset, symbols->sh_size) ||
            !Within(names->sh_offset, names->sh_size))
            return false;
        ReadFunctions(*symbols, *names);
        return true;
    }

    void
    ReadFunctions(const ElfW(Shdr) &symbols, const ElfW(Shdr) &names)
    {
        std::string text = bytes_.substr(names.sh_offset, names.sh_size);
        for (size_t i = 0; i < symbols.sh_size / sizeof(ElfW(Sym)); i++) {
            auto symbol = *At<ElfW(Sym)>(Wide{symbols.sh_offset} + i * sizeof(ElfW(Sym)));
            int type = symbol.st_info & 15;
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF)
                continue;
            std::string name = symbol.st_name < text.size() ? text.c_str() + symbol.st_name : "";
            functions.push_back({symbol.st_value, symbol.st_size, name.substr(0, 31)});
        }
    }
};

// ---- what is tested ----

struct Reading {
    heapprof_elf *elf;
    std::vector<Function> functions;
};

bool
Collect(const heapprof_elf_function *function, void *data)
{
    auto reading = static_cast<Reading *>(data);
    char name[32];
    bool found = rb_heapprof_elf_name(reading->elf, function->name, name, sizeof(name));
    REQUIRE(found == (name[0] != '\0'));
    if (reading->elf->loaded) {
        std::string loaded = rb_heapprof_elf_loaded_name(reading->elf, function->name);
        REQUIRE(loaded.substr(0, sizeof(name) - 1) == name);
    }
    reading->functions.push_back({function->start, function->size_bytes, name});
    return true;
}

std::vector<Function>
FunctionsOf(heapprof_elf *elf)
{
    Reading reading = {elf, {}};
    rb_heapprof_elf_each(elf, Collect, &reading);
    return reading.functions;
}

void
Compare(heapprof_elf *elf, const Model &model)
{
    const auto &identity = elf->identity;
    REQUIRE(std::string(identity.build_id, identity.build_id + identity.build_id_bytes) ==
            model.build_id);
    REQUIRE(rb_heapprof_elf_same_p(&identity, &identity));
    REQUIRE(FunctionsOf(elf) == model.functions);
    REQUIRE(rb_heapprof_elf_load_names(elf));
    REQUIRE(FunctionsOf(elf) == model.functions);
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    std::string bytes(reinterpret_cast<const char *>(data), size);
    Model model(bytes);
    MemoryFile file(bytes);
    heapprof_mem mem;
    heapprof_elf elf;

    rb_heapprof_mem_init(&mem, SIZE_MAX);
    REQUIRE(rb_heapprof_elf_open(&elf, &mem, file.fd()) == model.whole);
    if (model.whole) {
        Compare(&elf, model);
        rb_heapprof_elf_close(&elf);
        REQUIRE(rb_heapprof_elf_open(&elf, &mem, file.fd()));
        file.Cut(size / 2);
        FunctionsOf(&elf);
        bool there = elf.names_bytes == 0 || elf.names + elf.names_bytes <= size / 2;
        REQUIRE(rb_heapprof_elf_load_names(&elf) == there);
        rb_heapprof_elf_close(&elf);
    }
    REQUIRE(mem.used_bytes == 0);
    return 0;
}
