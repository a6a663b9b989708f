// core_test.cc - core files made by hand: whole, cut short, and wrong in one thing. Real ones are
// read in image_test.cc.

#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "test/unit/attach/subject.h"
#include "test/unit/support/elf_image.h"

extern "C" {
#include "attach/target.h"
}

namespace {

struct Segment {
    uint64_t address;
    std::string bytes;
    uint64_t more = 0; // of memory that is not in the file
    uint32_t flags = PF_R | PF_W;
};

// header | program headers: the notes', the segments' | notes | what the segments have
struct CoreImage {
    Elf64_Ehdr header = {};
    std::vector<Segment> segments;
    std::string notes;

    CoreImage()
    {
        memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_type = ET_CORE;
        header.e_phoff = sizeof(header);
        header.e_phentsize = sizeof(Elf64_Phdr);
    }

    void Note(uint32_t type, const std::string &description,
              const std::string &owner = std::string("CORE\0", 5))
    {
        Elf64_Nhdr note = { static_cast<uint32_t>(owner.size()),
                            static_cast<uint32_t>(description.size()), type };
        notes += std::string(reinterpret_cast<char *>(&note), sizeof(note)) + Padded(owner) +
                 Padded(description);
    }

    void
    Thread(int32_t tid)
    {
        std::string status(336, '\0');
        memcpy(&status[32], &tid, sizeof(tid));
        Note(NT_PRSTATUS, status);
    }

    void
    Process(int32_t pid)
    {
        std::string info(136, '\0');
        memcpy(&info[24], &pid, sizeof(pid));
        Note(NT_PRPSINFO, info);
    }

    struct File {
        uint64_t start, end, page;
        std::string name;
    };

    void
    Files(const std::vector<File> &files)
    {
        uint64_t head[2] = {files.size(), 4096};
        std::string table(reinterpret_cast<char *>(head), sizeof(head)), names;
        for (const File &file : files) {
            uint64_t entry[3] = {file.start, file.end, file.page};
            table += std::string(reinterpret_cast<char *>(entry), sizeof(entry));
            names += file.name + '\0';
        }
        Note(NT_FILE, table + names);
    }

    std::string
    Bytes()
    {
        std::string heads, bytes;
        uint64_t at = sizeof(header) + (segments.size() + 1) * sizeof(Elf64_Phdr);
        Elf64_Phdr note = {PT_NOTE, 0, at, 0, 0, notes.size(), 0, 4};
        heads = Raw(note);
        bytes = notes;
        for (const Segment &segment : segments) {
            Elf64_Phdr head = { PT_LOAD,
                                segment.flags,
                                at + bytes.size(),
                                segment.address,
                                0,
                                segment.bytes.size(),
                                segment.bytes.size() + segment.more,
                                1 };
            heads += Raw(head);
            bytes += segment.bytes;
        }
        header.e_phnum = static_cast<uint16_t>(segments.size() + 1);
        return std::string(reinterpret_cast<char *>(&header), sizeof(header)) + heads + bytes;
    }

  private:
    static std::string
    Raw(const Elf64_Phdr &head)
    {
        return std::string(reinterpret_cast<const char *>(&head), sizeof(head));
    }

    static std::string
    Padded(std::string text)
    {
        text.resize((text.size() + 3) / 4 * 4);
        return text;
    }
};

class Core : public testing::Test {
  protected:
    char error_[ATTACH_TARGET_ERROR_MAX] = "";
    attach_target *target_ = nullptr;
    MemoryFile file_;

    void TearDown() override { attach_target_close(target_); }

    std::string Path() const { return "/proc/self/fd/" + std::to_string(file_.fd()); }

    bool
    OpenBytes(const std::string &bytes)
    {
        attach_target_close(target_);
        file_.Write(bytes.data(), bytes.size());
        target_ = attach_target_open_core(Path().c_str(), error_);
        return target_;
    }

    // Why not.
    std::string
    Refused(const std::string &bytes)
    {
        EXPECT_FALSE(OpenBytes(bytes));
        std::string error = error_, name = Path() + ": ";
        EXPECT_EQ(name, error.substr(0, name.size()));
        return error.substr(name.size());
    }

    std::string
    Read(uint64_t address, size_t bytes)
    {
        std::string text(bytes, '\0');
        return attach_target_read(target_, address, &text[0], bytes) ? text : "(nothing)";
    }

    static CoreImage
    Usual()
    {
        CoreImage core;
        core.Thread(101);
        core.Process(100);
        core.Thread(100);
        core.Files({{0x1000, 0x1004, 0, "/bin/first"}, {0x3000, 0x3010, 2, "/lib/second"}});
        core.segments = {{0x1000, "abcd"}, {0x1004, "efgh"}, {0x3000, "ijkl", 12, PF_R | PF_X}};
        return core;
    }
};

TEST_F(Core, ReadsWhatIsInTheFile)
{
    ASSERT_TRUE(OpenBytes(Usual().Bytes())) << error_;
    EXPECT_EQ("abcd", Read(0x1000, 4));
    EXPECT_EQ("bc", Read(0x1001, 2));
    EXPECT_EQ("defg", Read(0x1003, 4));
    EXPECT_EQ("abcdefgh", Read(0x1000, 8));
    EXPECT_EQ("(nothing)", Read(0x1000, 9));
    EXPECT_EQ("(nothing)", Read(0xfff, 2));
    EXPECT_EQ("ijkl", Read(0x3000, 4));
    EXPECT_EQ("(nothing)", Read(0x3000, 5));
    EXPECT_EQ("(nothing)", Read(0x3004, 1));
    EXPECT_EQ("(nothing)", Read(UINT64_MAX, 1));
    EXPECT_FALSE(target_->runs);
    EXPECT_EQ(ATTACH_TARGET_SAME, attach_target_state(target_));
}

TEST_F(Core, SaysWhichMappingsThereAre)
{
    ASSERT_TRUE(OpenBytes(Usual().Bytes())) << error_;
    ASSERT_EQ(3u, target_->mapping_count);
    const attach_mapping *first = attach_target_mapping(target_, 0x1003);
    const attach_mapping *other = attach_target_mapping(target_, 0x1004);
    const attach_mapping *second = attach_target_mapping(target_, 0x300f);
    ASSERT_TRUE(first && other && second);
    EXPECT_STREQ("/bin/first", attach_target_path(target_, first));
    EXPECT_STREQ("", attach_target_path(target_, other));
    EXPECT_STREQ("/lib/second", attach_target_path(target_, second));
    EXPECT_EQ(2u * 4096, second->offset);
    EXPECT_TRUE(second->readable && second->executable && !second->writable);
    EXPECT_EQ(nullptr, attach_target_mapping(target_, 0x3010));
    EXPECT_TRUE(attach_target_mapped_p(target_, 0x1000, 8));
}

TEST_F(Core, SaysWhichThreadsThereWere)
{
    CoreImage core = Usual();
    core.Note(NT_PRSTATUS, std::string(336, '\7'), std::string("LINUX\0", 6));
    core.Note(NT_PRSTATUS, std::string(336, '\7'), std::string("KERN\0", 5));
    core.Note(NT_PRSTATUS, "short");
    core.Thread(-5);
    ASSERT_TRUE(OpenBytes(core.Bytes())) << error_;
    for (int times = 0; times < 2; times++) {
        ASSERT_TRUE(attach_target_threads(target_));
        ASSERT_EQ(2u, target_->thread_count);
        EXPECT_EQ(101, target_->threads[0].tid);
        EXPECT_EQ(100, target_->threads[1].inner_tid);
    }
    EXPECT_EQ(100, target_->pid);
}

// At every length: what is left is read, and nothing else.
TEST_F(Core, WhatIsCutShortIsReadAsFarAsItGoes)
{
    const std::string whole = Usual().Bytes();
    size_t opened = 0;
    for (size_t size = 0; size < whole.size(); size++) {
        if (!OpenBytes(whole.substr(0, size))) continue;
        opened++;
        EXPECT_EQ("(nothing)", Read(0x3000, 4)) << size;
        attach_target_threads(target_);
    }
    EXPECT_GT(opened, whole.size() / 2);
    ASSERT_TRUE(OpenBytes(whole.substr(0, whole.size() - 4))) << error_;
    EXPECT_EQ("abcdefgh", Read(0x1000, 8));
    ASSERT_TRUE(OpenBytes(whole));
    file_.Cut(whole.size() - 4);
    EXPECT_EQ("abcdefgh", Read(0x1000, 8));
    EXPECT_EQ("(nothing)", Read(0x3000, 4));
}

TEST_F(Core, SegmentsNeedNotBeInOrder)
{
    CoreImage core;
    core.segments = {{0x3000, "late"}, {0x1000, "soon"}, {0x1002, "over"}, {0x2000, ""}};
    ASSERT_TRUE(OpenBytes(core.Bytes())) << error_;
    EXPECT_EQ(2u, target_->mapping_count);
    EXPECT_EQ("soon", Read(0x1000, 4));
    EXPECT_EQ("late", Read(0x3000, 4));
}

TEST_F(Core, WrongNumbersAreNotFollowed)
{
    CoreImage core = Usual();
    core.segments.push_back({UINT64_MAX - 2, "wrap"});
    core.segments.push_back({0x5000, "", UINT64_MAX - 0x5000});
    std::string bytes = core.Bytes();
    Elf64_Phdr far = {PT_LOAD, PF_R, UINT64_MAX - 8, 0x4000, 0, UINT64_MAX, 0x1000, 1};
    memcpy(&bytes[sizeof(Elf64_Ehdr) + 5 * sizeof(far)], &far, sizeof(far));
    ASSERT_TRUE(OpenBytes(bytes)) << error_;
    EXPECT_EQ("(nothing)", Read(0x4000, 1));
    EXPECT_EQ("(nothing)", Read(0x4010, 1));
    EXPECT_EQ("abcd", Read(0x1000, 4));
}

TEST_F(Core, TablesOfFilesThatAreWrongNameNothing)
{
    for (uint64_t count : {UINT64_C(3), UINT64_MAX, UINT64_C(1) << 61}) {
        CoreImage core;
        core.segments = {{0x1000, "abcd"}};
        uint64_t table[] = {count, 4096, 0x1000, 0x2000, 0, 0};
        core.Note(NT_FILE, std::string(reinterpret_cast<char *>(table), sizeof(table)));
        ASSERT_TRUE(OpenBytes(core.Bytes())) << error_;
        EXPECT_STREQ("", attach_target_path(target_, &target_->mappings[0]));
    }
    CoreImage core;
    core.segments = {{0x1000, "abcd"}};
    core.Note(NT_FILE, "short");
    EXPECT_TRUE(OpenBytes(core.Bytes())) << error_;
}

TEST_F(Core, WhatIsNoCoreIsToldSo)
{
    EXPECT_EQ("it is not a core file", Refused(""));
    EXPECT_EQ("it is not a core file", Refused("#!/bin/sh\n" + std::string(100, '#')));
    CoreImage core = Usual();
    core.header.e_type = ET_EXEC;
    EXPECT_EQ("it is not a core file", Refused(core.Bytes()));
    core = Usual();
    core.header.e_phentsize = 32;
    EXPECT_EQ("it is not a core file", Refused(core.Bytes()));
    core = Usual();
    core.header.e_ident[EI_CLASS] = ELFCLASS32;
    EXPECT_EQ("it is a core file of a machine of another kind", Refused(core.Bytes()));
    core = Usual();
    core.segments.clear();
    EXPECT_EQ("it is a core file without memory", Refused(core.Bytes()));
}

TEST_F(Core, WhatIsNoFileIsToldSo)
{
    Scratch scratch;
    std::string pipe = scratch / "pipe";
    EXPECT_EQ(nullptr, attach_target_open_core((scratch / "none").c_str(), error_));
    EXPECT_EQ(scratch / "none" + ": No such file or directory", error_);
    EXPECT_EQ(nullptr, attach_target_open_core(scratch.path().c_str(), error_));
    EXPECT_EQ(scratch.path() + ": is not a regular file", error_);
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));
    EXPECT_EQ(nullptr, attach_target_open_core(pipe.c_str(), error_));
    EXPECT_EQ(pipe + ": is not a regular file", error_);
}

} // namespace
