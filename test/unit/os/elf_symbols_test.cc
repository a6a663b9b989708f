// elf_symbols_test.cc - the functions of ELF files: this very program, and files made by hand,
// whole, cut short, and with any field wrong.

#include <gtest/gtest.h>

#include <cstdio>
#include <fcntl.h>
#include <map>
#include <random>

#include "test/unit/support/elf_image.h"

extern "C" {
#include "os/elf_symbols.h"
}

extern "C" __attribute__((noinline)) int
elf_symbols_test_function(int number)
{
    __asm__ volatile("");
    return number + 1;
}

namespace {

const std::vector<ElfFunction> kFunctions = {
    {"first", 0x1000, 16},
    {"object", 0x4000, 8, STT_OBJECT},
    {"chosen_at_start", 0x1010, 32, STT_GNU_IFUNC},
    {"elsewhere", 0, 0, STT_FUNC, SHN_UNDEF},
    {"last", 0x2000, 1},
};

using Functions = std::map<std::string, std::pair<uintptr_t, size_t>>;

const Functions kFound = {
    {"first", {0x1000, 16}}, {"chosen_at_start", {0x1010, 32}}, {"last", {0x2000, 1}},
};

struct Reading {
    heapprof_elf *elf;
    bool loaded;
    Functions functions;
};

bool
Collect(const heapprof_elf_function *function, void *data)
{
    auto reading = static_cast<Reading *>(data);
    char text[4096];
    bool found = rb_heapprof_elf_name(reading->elf, function->name, text, sizeof(text));
    std::string name =
        reading->loaded ? rb_heapprof_elf_loaded_name(reading->elf, function->name) : text;

    EXPECT_EQ(found, text[0] != '\0');
    if (!name.empty()) reading->functions[name] = {function->start, function->size_bytes};
    return true;
}

class ElfSymbolsTest : public testing::Test {
  protected:
    heapprof_mem mem_;

    void SetUp() override { rb_heapprof_mem_init(&mem_, SIZE_MAX); }
    void TearDown() override { EXPECT_EQ(0u, mem_.used_bytes); }

    static Functions FunctionsOf(heapprof_elf *elf, bool loaded = false) {
        Reading reading = {elf, loaded, {}};
        rb_heapprof_elf_each(elf, Collect, &reading);
        return reading.functions;
    }

    // Both ways to names find the same; none when the file is refused.
    Functions Read(int fd, heapprof_elf_identity *identity = nullptr) {
        heapprof_elf elf;
        if (!rb_heapprof_elf_open(&elf, &mem_, fd)) return {{"refused", {0, 0}}};
        if (identity) *identity = elf.identity;
        Functions functions = FunctionsOf(&elf);
        EXPECT_TRUE(rb_heapprof_elf_load_names(&elf));
        Functions loaded = FunctionsOf(&elf, true);
        for (const auto &function : functions) EXPECT_EQ(function.second, loaded[function.first]);
        EXPECT_EQ(functions.size(), loaded.size());
        rb_heapprof_elf_close(&elf);
        return functions;
    }

    Functions Read(const std::string &bytes) {
        MemoryFile file(bytes);
        return Read(file.fd());
    }

    bool Refused(const ElfImage &image) { return Read(image.Bytes()).count("refused"); }
};

// ---- real files ----

struct Own {
    uintptr_t base;
    heapprof_elf_identity identity;
};

int
IdentifyProgram(dl_phdr_info *info, size_t, void *data)
{
    auto own = static_cast<Own *>(data);
    own->base = info->dlpi_addr;
    rb_heapprof_elf_identity_init(&own->identity, info->dlpi_phdr,
                                  info->dlpi_phnum * sizeof(ElfW(Phdr)));
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) &segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_NOTE) continue;
        rb_heapprof_elf_identity_add_notes(
            &own->identity, reinterpret_cast<void *>(info->dlpi_addr + segment.p_vaddr),
            segment.p_filesz, segment.p_align);
    }
    return 1;
}

TEST_F(ElfSymbolsTest, FindsFunctionsOfThisProgram) {
    Own own;
    heapprof_elf_identity identity;
    int fd = open("/proc/self/exe", O_RDONLY);
    Functions functions = Read(fd, &identity);
    close(fd);

    dl_iterate_phdr(IdentifyProgram, &own);
    ASSERT_TRUE(functions.count("elf_symbols_test_function"));
    uintptr_t start = own.base + functions["elf_symbols_test_function"].first;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(elf_symbols_test_function), start);
    EXPECT_TRUE(rb_heapprof_elf_same_p(&identity, &own.identity));
    EXPECT_EQ(own.identity.headers, identity.headers);
}

TEST_F(ElfSymbolsTest, StrippedFileIsTheSameBuildWithoutItsFunctions) {
    std::string path = testing::TempDir() + "elf_symbols_test." + std::to_string(getpid());
    std::string command = "strip -o " + path + " /proc/" + std::to_string(getpid()) + "/exe";
    ASSERT_EQ(0, system(command.c_str()));
    Own own;
    heapprof_elf_identity identity;
    int fd = open(path.c_str(), O_RDONLY);
    unlink(path.c_str());
    Functions functions = Read(fd, &identity);
    close(fd);

    dl_iterate_phdr(IdentifyProgram, &own);
    EXPECT_FALSE(functions.count("refused"));
    EXPECT_FALSE(functions.count("elf_symbols_test_function"));
    EXPECT_TRUE(rb_heapprof_elf_same_p(&identity, &own.identity));
}

TEST_F(ElfSymbolsTest, WhatIsNoRegularFileIsRefused) {
    int ends[2], directory = open("/", O_RDONLY);
    ASSERT_EQ(0, pipe(ends));
    for (int fd : {directory, ends[0], -1}) EXPECT_TRUE(Read(fd).count("refused"));
    for (int fd : {directory, ends[0], ends[1]}) close(fd);
}

// ---- files made by hand ----

TEST_F(ElfSymbolsTest, FunctionsAreThoseThatAreDefined) {
    EXPECT_EQ(kFound, Read(ElfImage(kFunctions).Bytes()));
    EXPECT_EQ(kFound, Read(ElfImage(kFunctions, SHT_DYNSYM).Bytes()));
}

TEST_F(ElfSymbolsTest, ManyFunctionsAreReadInPieces) {
    std::vector<ElfFunction> functions;
    for (uintptr_t i = 0; i < 10000; i++)
        functions.push_back({ "f" + std::to_string(i), 16 * i, 16 });
    Functions found = Read(ElfImage(functions).Bytes());
    EXPECT_EQ(10000u, found.size());
    EXPECT_EQ(16u * 9999, found["f9999"].first);
}

TEST_F(ElfSymbolsTest, EmptyAndForeignFilesAreRefused) {
    EXPECT_TRUE(Read(std::string()).count("refused"));
    EXPECT_TRUE(Read(std::string(5000, 'x')).count("refused"));
    ElfImage image(kFunctions);
    for (int field : {EI_MAG0, EI_CLASS, EI_DATA}) {
        ElfImage other = image;
        other.header.e_ident[field] ^= 3;
        EXPECT_TRUE(Refused(other)) << field;
    }
    ElfImage other = image;
    other.header.e_machine ^= 1;
    EXPECT_TRUE(Refused(other));
    other = image;
    other.header.e_type = ET_CORE;
    EXPECT_TRUE(Refused(other));
}

TEST_F(ElfSymbolsTest, WidthsOfEntriesAreTheOnesKnown) {
    for (int delta : {-1, 1}) {
        ElfImage image(kFunctions);
        image.header.e_phentsize = static_cast<uint16_t>(image.header.e_phentsize + delta);
        EXPECT_TRUE(Refused(image));
        image = ElfImage(kFunctions);
        image.header.e_shentsize = static_cast<uint16_t>(image.header.e_shentsize + delta);
        EXPECT_TRUE(Refused(image));
        image = ElfImage(kFunctions);
        image.sections[1].sh_entsize += static_cast<uint64_t>(delta);
        EXPECT_TRUE(Refused(image));
    }
    ElfImage image(kFunctions);
    image.sections[1].sh_entsize = 0;
    EXPECT_TRUE(Refused(image));
}

// A sum of such an offset and its size would begin again at 0.
TEST_F(ElfSymbolsTest, SumsDoNotOverflow) {
    for (uint64_t value : { UINT64_MAX, UINT64_MAX - 63, UINT64_MAX - 4095, uint64_t { 1 } << 63,
                            uint64_t { 1 } << 40 }) {
        ElfImage image(kFunctions);
        image.header.e_phoff = value;
        EXPECT_TRUE(Refused(image));
        image = ElfImage(kFunctions);
        image.header.e_shoff = value;
        EXPECT_TRUE(Refused(image));
        for (int section : {1, 2}) {
            image = ElfImage(kFunctions);
            image.sections[section].sh_offset = value;
            EXPECT_TRUE(Refused(image));
            image = ElfImage(kFunctions);
            image.sections[section].sh_size = value;
            EXPECT_TRUE(Refused(image));
        }
        image = ElfImage(kFunctions);
        image.segment.p_filesz = value;
        EXPECT_TRUE(Refused(image));
    }
}

TEST_F(ElfSymbolsTest, HugeCountsAreRefused) {
    ElfImage image(kFunctions);
    image.header.e_phnum = UINT16_MAX;
    EXPECT_TRUE(Refused(image));
    image = ElfImage(kFunctions);
    image.header.e_shnum = UINT16_MAX;
    EXPECT_TRUE(Refused(image));
    image = ElfImage(kFunctions);
    image.sections[1].sh_link = 3;
    EXPECT_TRUE(Refused(image));
    image.sections[1].sh_link = 1; // no names
    EXPECT_TRUE(Refused(image));
}

TEST_F(ElfSymbolsTest, NamesOutsideTheirTableAreNone) {
    ElfImage image(kFunctions);
    image.symbols[0].st_name = static_cast<uint32_t>(image.names.size());
    image.symbols[4].st_name = UINT32_MAX;
    EXPECT_EQ((Functions{{"chosen_at_start", {0x1010, 32}}}), Read(image.Bytes()));
}

TEST_F(ElfSymbolsTest, NameWithoutAnEndIsCutAtTheTablesEnd) {
    ElfImage image({{"last", 0x2000, 1}});
    image.sections[2].sh_size -= 1;
    EXPECT_EQ((Functions{{"last", {0x2000, 1}}}), Read(image.Bytes()));
}

TEST_F(ElfSymbolsTest, NameIsCutToTheRoomThereIs) {
    MemoryFile file(ElfImage(kFunctions).Bytes());
    heapprof_elf elf;
    char name[4];
    ASSERT_TRUE(rb_heapprof_elf_open(&elf, &mem_, file.fd()));
    EXPECT_TRUE(rb_heapprof_elf_name(&elf, 1, name, sizeof(name)));
    EXPECT_STREQ("fir", name);
    EXPECT_FALSE(rb_heapprof_elf_name(&elf, 0, name, sizeof(name)));
    EXPECT_STREQ("", name);
    rb_heapprof_elf_close(&elf);
}

TEST_F(ElfSymbolsTest, FileCutAnywhereIsRefused) {
    std::string whole = ElfImage(kFunctions).Bytes();
    for (size_t size = 0; size < whole.size(); size++) {
        EXPECT_TRUE(Read(whole.substr(0, size)).count("refused")) << size;
    }
}

TEST_F(ElfSymbolsTest, FileCutAfterItWasOpenedHasFewerFunctions) {
    std::string whole = ElfImage(kFunctions).Bytes();
    for (size_t size = 0; size < whole.size(); size++) {
        MemoryFile file(whole);
        heapprof_elf elf;
        ASSERT_TRUE(rb_heapprof_elf_open(&elf, &mem_, file.fd()));
        file.Cut(size);
        for (const auto &function : FunctionsOf(&elf)) EXPECT_EQ(1u, kFound.count(function.first));
        rb_heapprof_elf_load_names(&elf);
        rb_heapprof_elf_close(&elf);
    }
}

TEST_F(ElfSymbolsTest, AnyByteMayBeWrong) {
    std::string whole = ElfImage(kFunctions).Bytes();
    std::mt19937 random(1);
    for (size_t at = 0; at < whole.size(); at++) {
        for (int bit = 0; bit < 8; bit++) {
            std::string wrong = whole;
            wrong[at] = static_cast<char>(wrong[at] ^ 1 << bit);
            if (random() % 2) wrong[random() % wrong.size()] = static_cast<char>(random());
            Read(wrong);
        }
    }
}

TEST_F(ElfSymbolsTest, RefusedMemoryRefusesTheFile) {
    MemoryFile file(ElfImage(kFunctions).Bytes());
    heapprof_elf elf;
    mem_.budget_bytes = 0;
    EXPECT_FALSE(rb_heapprof_elf_open(&elf, &mem_, file.fd()));
    mem_.budget_bytes = SIZE_MAX;
    ASSERT_TRUE(rb_heapprof_elf_open(&elf, &mem_, file.fd()));
    mem_.budget_bytes = mem_.used_bytes;
    EXPECT_FALSE(rb_heapprof_elf_load_names(&elf));
    EXPECT_EQ(kFound, FunctionsOf(&elf));
    rb_heapprof_elf_close(&elf);
}

// ---- identity ----

heapprof_elf_identity
IdentityOf(const ElfImage &image, heapprof_mem *mem)
{
    MemoryFile file(image.Bytes());
    heapprof_elf elf;
    EXPECT_TRUE(rb_heapprof_elf_open(&elf, mem, file.fd()));
    rb_heapprof_elf_close(&elf);
    return elf.identity;
}

TEST_F(ElfSymbolsTest, BuildsDifferByTheirIds) {
    ElfImage image(kFunctions), moved(kFunctions), other(kFunctions);
    moved.segment.p_vaddr = 1;
    other.build_id[19]++;
    heapprof_elf_identity identity = IdentityOf(image, &mem_);
    heapprof_elf_identity of_moved = IdentityOf(moved, &mem_), of_other = IdentityOf(other, &mem_);
    EXPECT_EQ(20u, identity.build_id_bytes);
    EXPECT_EQ(0, memcmp(image.build_id, identity.build_id, 20));
    EXPECT_TRUE(rb_heapprof_elf_same_p(&identity, &of_moved));
    EXPECT_FALSE(rb_heapprof_elf_same_p(&identity, &of_other));
}

TEST_F(ElfSymbolsTest, BuildsWithoutIdsDifferByTheirHeaders) {
    ElfImage image(kFunctions);
    image.note.n_type = 0;
    ElfImage moved = image;
    moved.segment.p_vaddr = 1;
    heapprof_elf_identity none = IdentityOf(image, &mem_), same = IdentityOf(image, &mem_);
    heapprof_elf_identity of_moved = IdentityOf(moved, &mem_),
                          with = IdentityOf(ElfImage(kFunctions), &mem_);
    EXPECT_EQ(0u, none.build_id_bytes);
    EXPECT_TRUE(rb_heapprof_elf_same_p(&none, &same));
    EXPECT_FALSE(rb_heapprof_elf_same_p(&none, &of_moved));
    EXPECT_FALSE(rb_heapprof_elf_same_p(&none, &with));
}

TEST_F(ElfSymbolsTest, NotesThatAreTooLongAreNoId) {
    for (uint32_t size : {uint32_t{0}, uint32_t{21}, uint32_t{33}, UINT32_MAX - 2, UINT32_MAX}) {
        ElfImage image(kFunctions);
        image.note.n_descsz = size;
        EXPECT_EQ(0u, IdentityOf(image, &mem_).build_id_bytes) << size;
        image = ElfImage(kFunctions);
        image.note.n_namesz = size;
        EXPECT_EQ(0u, IdentityOf(image, &mem_).build_id_bytes) << size;
    }
}

} // namespace
