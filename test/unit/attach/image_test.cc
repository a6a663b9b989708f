// image_test.cc - descriptors found in real programs, however they were linked, in cores of them,
// and in memory that was made up.

#include <gtest/gtest.h>

#include <algorithm>
#include <elf.h>
#include <fstream>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "test/unit/attach/memory.h"
#include "test/unit/attach/subject.h"

extern "C" {
#include "attach/image.h"
#include "attach/layout.h"
}

namespace {

class Image : public testing::Test {
  protected:
    Scratch scratch_;
    char error_[ATTACH_TARGET_ERROR_MAX] = "";
    attach_image images_[ATTACH_IMAGES_MOST] = {};

    size_t
    Find(attach_target *target)
    {
        return attach_image_find(target, images_, error_);
    }

    // Its thing, by what it says of it.
    void
    ExpectThing(attach_target *target, uint64_t descriptor, uint64_t thing)
    {
        attach_layout *layout = attach_layout_read(target, descriptor, error_);
        attach_global the_thing, hidden;
        attach_field number;
        uint64_t value = 0;
        ASSERT_NE(nullptr, layout) << error_;
        EXPECT_TRUE(attach_layout_global(layout, "the_thing", &the_thing));
        EXPECT_TRUE(attach_layout_global(layout, "hidden", &hidden));
        EXPECT_TRUE(attach_layout_field(layout, "thing.number", &number));
        EXPECT_TRUE(attach_global_read(target, &the_thing, &value));
        EXPECT_EQ(thing, value);
        EXPECT_TRUE(attach_field_read(target, &number, value, &value));
        EXPECT_EQ(-7, static_cast<int64_t>(value));
        EXPECT_TRUE(attach_global_read(target, &hidden, &value));
        EXPECT_EQ(-5, static_cast<int64_t>(value));
        attach_layout_free(layout);
    }

    void
    ExpectFound(pid_t pid, uint64_t thing)
    {
        attach_target *target = attach_target_open_pid(pid, error_);
        ASSERT_NE(nullptr, target) << error_;
        EXPECT_EQ(1u, Find(target)) << error_;
        ExpectThing(target, images_[0].descriptor, thing);
        attach_target_close(target);
    }

    void
    ExpectFoundInCore(const std::string &path, uint64_t thing)
    {
        attach_target *target = attach_target_open_core(path.c_str(), error_);
        ASSERT_NE(nullptr, target) << error_;
        EXPECT_EQ(1u, Find(target)) << error_;
        ExpectThing(target, images_[0].descriptor, thing);
        attach_target_close(target);
    }

    // gcore's, and the kernel's. Both are with the default filter.
    void
    ExpectFoundInItsCores(const std::string &program)
    {
        Child child(program);
        uint64_t thing = child.Ready();
        std::string core = scratch_ / "core";
        ASSERT_TRUE(Scratch::Run("gcore -o '" + core + "' " + std::to_string(child.pid()) +
                                 " >/dev/null 2>&1"));
        ExpectFoundInCore(core + "." + std::to_string(child.pid()), thing);
        attach_target *target =
            attach_target_open_core((core + "." + std::to_string(child.pid())).c_str(), error_);
        ASSERT_NE(nullptr, target) << error_;
        ASSERT_TRUE(attach_target_threads(target));
        EXPECT_EQ(1u, target->thread_count);
        EXPECT_EQ(child.pid(), target->threads[0].tid);
        EXPECT_EQ(child.pid(), target->pid);
        EXPECT_FALSE(target->runs);
        attach_target_close(target);
    }
};

// ---- however it was linked ----

TEST_F(Image, InAProgramThatMayBeAnywhere)
{
    Child child(scratch_.Compile("subject", "-pie -fPIE -rdynamic"));
    ExpectFound(child.pid(), child.Ready());
    EXPECT_NE(0u, images_[0].start);
}

TEST_F(Image, InAProgramAtItsOwnAddresses)
{
    Child child(scratch_.Compile("subject", "-no-pie -fno-pie -rdynamic"));
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, ByTheOldHashTable)
{
    Child child(scratch_.Compile("subject", "-pie -fPIE -rdynamic -Wl,--hash-style=sysv"));
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, InAStrippedProgram)
{
    std::string program = scratch_.Compile("subject", "-pie -fPIE -rdynamic");
    ASSERT_TRUE(Scratch::Run("strip '" + program + "'"));
    Child child(program);
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, InAProgramThatExportsNothing)
{
    Child child(scratch_.Compile("subject", "-pie -fPIE -s"));
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, InAStaticProgram)
{
    Child child(scratch_.Compile("subject", "-static -s"));
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, InAStaticProgramThatMayBeAnywhere)
{
    Child child(scratch_.Compile("subject", "-static-pie -fPIE -s"));
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, InALibrary)
{
    scratch_.Compile("libsubject.so", "-DSUBJECT_PART=2 -shared -fPIC");
    std::string program = scratch_.Compile("subject", "-DSUBJECT_PART=1 -L'" + scratch_.path() +
                                           "' -lsubject -Wl,-rpath,'" + scratch_.path() + "'");
    Child child(program);
    uint64_t thing = child.Ready();
    ExpectFound(child.pid(), thing);
    attach_target *target = attach_target_open_pid(child.pid(), error_);
    ASSERT_NE(nullptr, target);
    const attach_mapping *mapping = attach_target_mapping(target, images_[0].start);
    ASSERT_NE(nullptr, mapping);
    EXPECT_EQ(scratch_ / "libsubject.so", attach_target_path(target, mapping));
    attach_target_close(target);
}

TEST_F(Image, SeveralInOneProcess)
{
    scratch_.Compile("libsubject.so", "-DSUBJECT_PART=2 -shared -fPIC -Wl,-Bsymbolic");
    std::string program =
        scratch_.Compile("subject", "-rdynamic -Wl,--no-as-needed -L'" + scratch_.path() +
                                        "' -lsubject -Wl,-rpath,'" + scratch_.path() + "'");
    Child child(program);
    child.Ready();
    attach_target *target = attach_target_open_pid(child.pid(), error_);
    ASSERT_NE(nullptr, target);
    ASSERT_EQ(2u, Find(target));
    EXPECT_NE(images_[0].descriptor, images_[1].descriptor);
    for (int i = 0; i < 2; i++) {
        attach_layout *layout = attach_layout_read(target, images_[i].descriptor, error_);
        EXPECT_NE(nullptr, layout) << error_;
        attach_layout_free(layout);
    }
    attach_target_close(target);
}

// ---- wherever it is ----

TEST_F(Image, InAProgramThatWasDeleted)
{
    Child child(scratch_.Compile("subject"));
    uint64_t thing = child.Ready();
    child.Tell('u');
    ExpectFound(child.pid(), thing);
}

TEST_F(Image, InAMountNamespaceWhereItsFilesAreNot)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, for a mount namespace";
    std::string program = scratch_.Compile("subject");
    Child child([&] {
        if (unshare(CLONE_NEWNS) != 0 ||
            mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
            _exit(1);
        std::string inner = scratch_ / "inner";
        mkdir(inner.c_str(), 0700);
        if (mount("none", inner.c_str(), "tmpfs", 0, nullptr) != 0) _exit(1);
        Scratch::Run("cp '" + program + "' '" + inner + "/program'");
        execl((inner + "/program").c_str(), "program", nullptr);
    });
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, InAnotherRoot)
{
    if (geteuid() != 0) GTEST_SKIP() << "needs root, for chroot";
    scratch_.Compile("subject", "-static");
    Child child([&] {
        if (chroot(scratch_.path().c_str()) != 0 || chdir("/") != 0) _exit(1);
        execl("/subject", "subject", nullptr);
    });
    ExpectFound(child.pid(), child.Ready());
}

TEST_F(Image, InAUserNamespace)
{
    Child child([program = scratch_.Compile("subject")] {
        if (unshare(CLONE_NEWUSER) != 0) {
            puts("none");
            fflush(stdout);
            _exit(0);
        }
        execl(program.c_str(), "subject", nullptr);
    });
    std::string line = child.Line();
    if (line == "none") GTEST_SKIP() << "no user namespaces here";
    ExpectFound(child.pid(), strtoull(line.c_str() + 6, nullptr, 16));
}

TEST_F(Image, AfterExecTheNewOne)
{
    Child child(scratch_.Compile("subject", "-pie -fPIE"));
    attach_target *target = attach_target_open_pid(child.pid(), error_);
    ASSERT_NE(nullptr, target);
    child.Ready();
    child.Tell('x');
    uint64_t thing = child.Ready();
    ASSERT_TRUE(attach_target_refresh(target, error_)) << error_;
    ASSERT_EQ(1u, Find(target)) << error_;
    ExpectThing(target, images_[0].descriptor, thing);
    attach_target_close(target);
}

TEST_F(Image, NotInAnotherProgram)
{
    Child child([] { execlp("sleep", "sleep", "1000", nullptr); });
    Child::Until([&] {
        return access(("/proc/" + std::to_string(child.pid()) + "/exe").c_str(), F_OK) == 0;
    });
    attach_target *target = attach_target_open_pid(child.pid(), error_);
    ASSERT_NE(nullptr, target);
    EXPECT_EQ(0u, Find(target));
    EXPECT_EQ("process " + std::to_string(child.pid()) +
                  ": it is not a ruby with the heap profiler, which alone heapprof can read",
              std::string(error_));
    attach_target_close(target);
}

// ---- in cores ----

TEST_F(Image, InCoresByGcore)
{
    if (!Scratch::Run("command -v gcore >/dev/null")) GTEST_SKIP() << "needs gcore (Debian: gdb)";
    for (const char *flags : {"-pie -fPIE -rdynamic", "-no-pie -fno-pie -s", "-static -s"}) {
        ExpectFoundInItsCores(scratch_.Compile("subject", flags));
    }
}

// With the default filter: of a file's mapping the first page at most.
TEST_F(Image, InTheKernelsCores)
{
    std::ifstream pattern("/proc/sys/kernel/core_pattern");
    std::string where;
    std::getline(pattern, where);
    if (where.empty() || where[0] == '|' || where[0] == '/')
        GTEST_SKIP() << "cores go elsewhere: " << where;
    for (const char *flags : {"-pie -fPIE -rdynamic", "-no-pie -fno-pie -s", "-static -s"}) {
        std::string program = scratch_.Compile("subject", flags), directory = scratch_ / "cores";
        mkdir(directory.c_str(), 0700);
        Child child([&] {
            rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
            if (chdir(directory.c_str()) != 0 || setrlimit(RLIMIT_CORE, &most) != 0) _exit(1);
            execl(program.c_str(), "subject", nullptr);
        });
        uint64_t thing = child.Ready();
        child.Tell('n');
        pid_t pid = child.pid();
        int status = child.Kill(SIGABRT);
        if (!WCOREDUMP(status)) GTEST_SKIP() << "no core was written";
        ASSERT_TRUE(Scratch::Run("mv '" + directory + "'/* '" + (scratch_ / "core") + "'"));
        ExpectFoundInCore(scratch_ / "core", thing);
        attach_target *target = attach_target_open_core((scratch_ / "core").c_str(), error_);
        ASSERT_NE(nullptr, target);
        ASSERT_TRUE(attach_target_threads(target));
        EXPECT_EQ(2u, target->thread_count);
        EXPECT_EQ(pid, attach_target_tid(target, pid));
        EXPECT_EQ(program,
                  attach_target_path(target, attach_target_mapping(target, images_[0].descriptor)));
        attach_target_close(target);
    }
}

// ---- made up ----

const uint64_t kStart = 0x555500000000, kOther = 0x7f0000000000;

// An object in memory with a table of symbols of which the last is ours, as the linker lays it out.
struct Object {
    Elf64_Ehdr header = {};
    std::vector<Elf64_Phdr> segments;
    std::vector<Elf64_Dyn> dynamic;
    std::vector<Elf64_Sym> symbols = {{}, {2, 0x11, 0, 5, 0, 0}, {1, 0x11, 0, 5, 0x6000, 0}};
    std::string names = std::string("\0ruby_vm_descriptor\0", 20);
    std::vector<uint32_t> hash = {
        1, 3, 1, 0, 2, 0
    }; // the old table: the one bucket's chain is 1, 2
    std::vector<uint32_t> gnu_hash;
    Descriptor descriptor;

    Object()
    {
        memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_type = ET_DYN;
        header.e_machine = EM_AARCH64;
        header.e_phoff = sizeof(header);
        header.e_phentsize = sizeof(Elf64_Phdr);
        segments = {{PT_LOAD, PF_R, 0, 0, 0, 0x6000, 0x6000, 0x1000},
                    {PT_LOAD, PF_R | PF_W, 0x6000, 0x6000, 0, 0x1000, 0x1000, 0x1000},
                    {PT_DYNAMIC, PF_R, 0x1000, 0x1000, 0, 0, 0, 8}};
        dynamic = { { DT_HASH, { 0x2000 } },
                    { DT_SYMTAB, { 0x3000 } },
                    { DT_STRTAB, { 0x4000 } },
                    { DT_STRSZ, { 20 } },
                    { DT_NULL, { 0 } } };
    }

    template <typename Type>
    static void
    Lay(std::string *bytes, size_t at, const std::vector<Type> &values)
    {
        bytes->replace(at, values.size() * sizeof(Type),
                       reinterpret_cast<const char *>(values.data()), values.size() * sizeof(Type));
    }

    std::string
    Bytes()
    {
        std::string bytes(0x7000, '\0');
        header.e_phnum = static_cast<uint16_t>(segments.size());
        segments.back().p_memsz = dynamic.size() * sizeof(Elf64_Dyn);
        bytes.replace(0, sizeof(header), reinterpret_cast<const char *>(&header), sizeof(header));
        Lay(&bytes, sizeof(header), segments);
        Lay(&bytes, 0x1000, dynamic);
        Lay(&bytes, 0x2000, hash);
        Lay(&bytes, 0x3000, symbols);
        bytes.replace(0x4000, names.size(), names);
        Lay(&bytes, 0x5000, gnu_hash);
        std::string said = descriptor.Bytes();
        bytes.replace(0x6000, said.size(), said);
        bytes.resize(0x7000);
        return bytes;
    }
};

class ImageOf : public Image {
  protected:
    Memory memory_;
    Object object_;

    size_t
    Found()
    {
        memory_.Put(kStart, object_.Bytes());
        size_t count = Find(memory_.target());
        return count;
    }

    void
    ExpectByTable()
    {
        object_.segments[1].p_flags = PF_R; // so that the search for the magic has nothing
        ASSERT_EQ(1u, Found()) << error_;
        EXPECT_EQ(kStart + 0x6000, images_[0].descriptor);
        EXPECT_EQ(kStart, images_[0].start);
    }

    void
    ExpectNone()
    {
        object_.segments[1].p_flags = PF_R;
        memory_.runs = true; // and so that no mapping without a file is searched
        EXPECT_EQ(0u, Found());
        EXPECT_STREQ("it: it is not a ruby with the heap profiler, which alone heapprof can read",
                     error_);
    }

    // 2 buckets, symbols from 1, 3 words of a filter, which is not looked at.
    void
    UseGnuHash()
    {
        uint32_t value = 5381;
        for (const char *name = "ruby_vm_descriptor"; *name; name++)
            value = value * 33 + static_cast<uint32_t>(*name);
        object_.dynamic[0] = {DT_GNU_HASH, {0x5000}};
        object_.gnu_hash = {2, 1, 3, 6, 0, 0, 0, 0, 0, 0, 0, 0, (value ^ 2) & ~1u, value | 1};
        object_.gnu_hash[10 + value % 2] = 1;
    }
};

TEST_F(ImageOf, IsFoundByEitherTable)
{
    ExpectByTable();
    UseGnuHash();
    ExpectByTable();
}

// As glibc leaves the table, and musl.
TEST_F(ImageOf, TheTablesAddressesMayHaveBeenMoved)
{
    for (size_t i = 0; i < 3; i++) object_.dynamic[i].d_un.d_ptr += kStart;
    ExpectByTable();
}

TEST_F(ImageOf, TheFirstSegmentsAddressIsTakenAway)
{
    for (auto &segment : object_.segments) segment.p_vaddr += 0x400000;
    for (size_t i = 0; i < 3; i++) object_.dynamic[i].d_un.d_ptr += 0x400000;
    object_.symbols[2].st_value += 0x400000;
    ExpectByTable();
}

TEST_F(ImageOf, ASymbolThatIsOnlyAskedForIsNone)
{
    object_.symbols[2].st_shndx = SHN_UNDEF;
    ExpectNone();
}

TEST_F(ImageOf, ASymbolWithoutTheMagicIsNone)
{
    object_.descriptor.header.magic[0] = 'R';
    ExpectNone();
}

TEST_F(ImageOf, ALongerNameIsNone)
{
    object_.names = std::string("\0ruby_vm_descriptor2\0", 21);
    object_.dynamic[3].d_un.d_val = 21;
    ExpectNone();
}

TEST_F(ImageOf, OtherMachinesAreNone)
{
    object_.header.e_ident[EI_CLASS] = ELFCLASS32;
    ExpectNone();
    object_.header.e_ident[EI_CLASS] = ELFCLASS64;
    object_.header.e_ident[EI_DATA] = ELFDATA2MSB;
    ExpectNone();
    object_.header.e_ident[EI_DATA] = ELFDATA2LSB;
    object_.header.e_type = ET_REL;
    ExpectNone();
}

TEST_F(ImageOf, ChainsThatLeadToThemselvesEnd)
{
    object_.names[1] = 'R';
    object_.hash = {1, 3, 1, 0, 2, 1};
    ExpectNone();
    EXPECT_LT(memory_.reads, 30000u);
}

TEST_F(ImageOf, AChainWithoutAnEndEnds)
{
    UseGnuHash();
    object_.names[1] = 'R';
    object_.gnu_hash.resize(0x400);
    std::fill(object_.gnu_hash.begin() + 12, object_.gnu_hash.end(), object_.gnu_hash[13] & ~1u);
    ExpectNone();
    EXPECT_LT(memory_.reads, 30000u);
}

// However many objects there are with chains that are long, and data that is nothing.
TEST_F(ImageOf, ManyObjectsAreBounded)
{
    UseGnuHash();
    object_.names[1] = 'R';
    object_.descriptor.header.magic[0] = 'R';
    object_.gnu_hash.resize(0x400);
    std::fill(object_.gnu_hash.begin() + 12, object_.gnu_hash.end(), object_.gnu_hash[13] & ~1u);
    object_.segments[2] = {PT_LOAD, PF_R | PF_W, 0, 0x10000, 0, 1, 1, 1};
    while (object_.segments.size() < 63) object_.segments.push_back(object_.segments[2]);
    object_.segments.push_back({PT_DYNAMIC, PF_R, 0x1000, 0x1000, 0, 0, 0, 8});
    std::string bytes = object_.Bytes();
    for (uint64_t i = 0; i < 2000; i++) memory_.Put(kStart + i * 0x8000, bytes);
    EXPECT_EQ(0u, Find(memory_.target()));
    EXPECT_LT(memory_.reads, 500000u);
}

TEST_F(ImageOf, TablesOfNothingAreNone)
{
    object_.hash[0] = 0;
    ExpectNone();
    UseGnuHash();
    object_.gnu_hash[0] = 0;
    ExpectNone();
    object_.dynamic = {{DT_NULL, {0}}};
    ExpectNone();
    object_.segments.clear();
    object_.segments.resize(3);
    ExpectNone();
}

TEST_F(ImageOf, WithoutATableTheMagicIsSearchedFor)
{
    object_.dynamic = {{DT_NULL, {0}}};
    ASSERT_EQ(1u, Found()) << error_;
    EXPECT_EQ(kStart + 0x6000, images_[0].descriptor);
}

// Wherever a chunk of the search ends.
TEST_F(ImageOf, TheMagicIsFoundAcrossChunks)
{
    for (uint64_t at = 65536 - 64; at <= 65536 + 64; at += 8) {
        std::string bytes(3 * 65536, '\0'), said = object_.descriptor.Bytes();
        bytes.replace(at, said.size(), said);
        memory_.Put(kOther, bytes, true, "/a/file");
        ASSERT_EQ(1u, Find(memory_.target())) << at;
        EXPECT_EQ(kOther + at, images_[0].descriptor);
        EXPECT_EQ(0u, images_[0].start);
    }
}

TEST_F(ImageOf, OfAProcessOnlyFilesAreSearchedOfACoreAll)
{
    memory_.Put(kOther, object_.descriptor.Bytes(), true, "[heap]");
    EXPECT_EQ(0u, Find(memory_.target()));
    memory_.runs = false;
    memory_.Put(kOther, object_.descriptor.Bytes(), true, "[heap]");
    EXPECT_EQ(1u, Find(memory_.target()));
    memory_.Put(kOther, object_.descriptor.Bytes(), false, "");
    EXPECT_EQ(0u, Find(memory_.target()));
}

TEST_F(ImageOf, APartIsNotTakenForADescriptor)
{
    Descriptor whole, part, part_of_part;
    whole.Part("part.c", kOther + 0x1000);
    part.Part("inner.c", kOther + 0x800);
    part.Part("part.c", kOther + 0x1000);
    std::string bytes(0x3000, '\0');
    bytes.replace(0x800, part_of_part.Bytes().size(), part_of_part.Bytes());
    bytes.replace(0x1000, part.Bytes().size(), part.Bytes());
    bytes.replace(0x2000, whole.Bytes().size(), whole.Bytes());
    memory_.Put(kOther, bytes, true, "/a/file");
    ASSERT_EQ(1u, Find(memory_.target()));
    EXPECT_EQ(kOther + 0x2000, images_[0].descriptor);
}

TEST_F(ImageOf, TheSearchIsBounded)
{
    memory_.runs = false;
    memory_.Put(kOther, std::string(300 << 20, '\0'));
    EXPECT_EQ(0u, Find(memory_.target()));
    EXPECT_LT(memory_.bytes_read, UINT64_C(260) << 20);
}

} // namespace
