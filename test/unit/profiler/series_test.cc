// series_test.cc - the files of one process: their names, and which are kept.

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

extern "C" {
#include "profiler/series.h"
}

namespace {

class Series : public testing::Test {
protected:
    std::string directory;
    heapprof_series series;

    Series()
    {
        char name[] = "/tmp/series-XXXXXX";
        directory = mkdtemp(name);
    }

    ~Series() override
    {
        rb_heapprof_series_free(&series);
        std::filesystem::remove_all(directory);
    }

    void Init(const char *out, bool numbered, unsigned keep)
    {
        rb_heapprof_series_init(&series, out, directory.c_str(), numbered, keep);
    }

    std::string Next()
    {
        char path[PATH_MAX];
        EXPECT_TRUE(rb_heapprof_series_next(&series, "bin/app", path, sizeof(path)));
        std::string name(path);
        EXPECT_EQ(0u, name.find(directory + "/"));
        return name.substr(directory.size() + 1);
    }

    void Touch(const std::string &name) { std::ofstream(directory + "/" + name) << name; }

    std::string Write()
    {
        std::string name = Next();
        Touch(name);
        rb_heapprof_series_written(&series, (directory + "/" + name).c_str());
        return name;
    }

    std::set<std::string> Files()
    {
        std::set<std::string> names;
        for (const auto &entry : std::filesystem::directory_iterator(directory)) {
            names.insert(entry.path().filename());
        }
        return names;
    }
};

using Names = std::set<std::string>;

TEST_F(Series, NumbersCountFromOneInANumberedSeriesAndAreZeroInAnother)
{
    Init("%e-%n", true, 0);
    EXPECT_EQ("app-1", Next());
    EXPECT_EQ("app-2", Next());
    rb_heapprof_series_free(&series);
    Init("%e-%n", false, 0);
    EXPECT_EQ("app-0", Next());
    EXPECT_EQ("app-0", Next());
}

TEST_F(Series, WhatIsThereAlreadyIsPassedOver)
{
    Init("a-%n", true, 0);
    Touch("a-1");
    Touch("a-2");
    ASSERT_EQ(0, symlink("nowhere", (directory + "/a-3").c_str()));
    EXPECT_EQ("a-4", Next());
}

TEST_F(Series, ANameWithoutANumberIsReplaced)
{
    Init("a", true, 0);
    Touch("a");
    EXPECT_EQ("a", Next());
    EXPECT_EQ("a", Next());
}

TEST_F(Series, TheFirstNameIsThatOfNextAndCountsNothing)
{
    char path[PATH_MAX];
    Init("a-%n", true, 0);
    for (int i = 0; i < 2; i++) {
        ASSERT_TRUE(rb_heapprof_series_first(&series, "app", path, sizeof(path)));
        EXPECT_EQ(directory + "/a-1", path);
    }
    EXPECT_EQ("a-1", Next());
}

TEST_F(Series, ANameThatIsTooLongIsRefused)
{
    char path[PATH_MAX], shorter[8];
    Init("abcdefgh-%n", true, 0);
    EXPECT_FALSE(rb_heapprof_series_next(&series, "app", shorter, sizeof(shorter)));
    rb_heapprof_series_free(&series);
    Init((std::string(4000, 'x') + "/%e").c_str(), true, 0);
    EXPECT_FALSE(
        rb_heapprof_series_next(&series, std::string(200, 'y').c_str(), path, sizeof(path)));
}

// What is there of so many files; a file's number here is one less than the one in its name.
std::vector<uint64_t> Kept(const heapprof_series &series)
{
    std::vector<uint64_t> numbers;
    for (unsigned i = 0; i < series.kept_count; i++) {
        std::string path = series.kept[i].path;
        numbers.push_back(std::stoull(path.substr(path.rfind('-') + 1)) - 1);
    }
    return numbers;
}

TEST_F(Series, TheFirstIsKeptAndOfTheRestOldOnesAreThinned)
{
    Init("a-%n", true, 5);
    Touch("b-1");
    for (int i = 0; i < 5; i++) Write();
    EXPECT_EQ((Names{"a-1", "a-2", "a-3", "a-4", "a-5", "b-1"}), Files());
    Write();
    EXPECT_EQ((Names{"a-1", "a-3", "a-4", "a-5", "a-6", "b-1"}), Files());
    for (int i = 6; i < 15; i++) Write(); // the picture of series.c
    EXPECT_EQ((Names{"a-1", "a-9", "a-13", "a-14", "a-15", "b-1"}), Files());
}

TEST_F(Series, OneIsTheNewestAndTwoAreTheFirstAndTheNewest)
{
    Init("a-%n", true, 1);
    for (int i = 0; i < 100; i++) Write();
    EXPECT_EQ((Names{"a-100"}), Files());
    rb_heapprof_series_free(&series);
    Init("b-%n", true, 2);
    for (int i = 0; i < 100; i++) Write();
    EXPECT_EQ((Names{"a-100", "b-1", "b-100"}), Files());
}

// What series.c proves, after each of 3000 files: never more than keep, nor fewer; the first and
// the newest; for each power of B a file whose age is between it and the next one, where B is the
// least that keep has room for; and gaps that never grow towards the newest. Files are only ever
// removed, and those that are there are those that are known.
TEST_F(Series, AgesAreCoveredByPowersOfTwo)
{
    for (unsigned keep : {2, 3, 4, 5, 8, 10, 11, 13, 14, 20, 40, 200}) {
        Init("a-%n", true, keep);
        std::set<uint64_t> before;
        for (uint64_t newest = 0; newest < 3000; newest++) {
            char path[PATH_MAX];
            snprintf(path, sizeof(path), "%s/a-%ju", directory.c_str(), (uintmax_t)newest + 1);
            Touch(path + directory.size() + 1);
            rb_heapprof_series_written(&series, path);

            std::vector<uint64_t> kept = Kept(series);
            ASSERT_EQ(std::min<uint64_t>(keep, newest + 1), kept.size());
            ASSERT_EQ(0u, kept.front());
            ASSERT_EQ(newest, kept.back());
            before.insert(newest);
            for (uint64_t number : kept)
                ASSERT_TRUE(before.count(number)) << number << " came back";
            before = std::set<uint64_t>(kept.begin(), kept.end());
            for (size_t i = 2; i < kept.size(); i++) {
                ASSERT_GE(kept[i - 1] - kept[i - 2], kept[i] - kept[i - 1])
                    << keep << " of " << newest + 1;
            }
            unsigned bits = 1; // of the least B
            while (newest > 0 && (63u - __builtin_clzll(newest)) / bits + 2 > keep) bits++;
            for (unsigned from = 0; from < 64 && (uint64_t)1 << from <= newest; from += bits) {
                ASSERT_TRUE(std::any_of(kept.begin(), kept.end(),
                                        [&](uint64_t number) {
                                            uint64_t age = newest - number;
                                            return age >> from > 0 && age >> from >> bits == 0;
                                        }))
                    << keep << " of " << newest + 1 << ": no file is 2^" << from << " to 2^"
                    << from + bits << " old";
            }
        }
        EXPECT_EQ(keep, Files().size());
        for (unsigned i = 0; i < series.kept_count; i++)
            EXPECT_TRUE(std::filesystem::remove(series.kept[i].path));
        rb_heapprof_series_free(&series);
    }
}

TEST_F(Series, KeepZeroKeepsAll)
{
    Init("a-%n", true, 0);
    for (int i = 0; i < 20; i++) Write();
    EXPECT_EQ(20u, Files().size());
}

TEST_F(Series, AFileThatIsReplacedIsOne)
{
    Init("a", true, 1);
    for (int i = 0; i < 3; i++) Write();
    EXPECT_EQ(Names{"a"}, Files());
}

// Names by the time may be the same for a while; the beginning stays.
TEST_F(Series, AFileThatIsReplacedAmongOthersIsTheNewest)
{
    Init("a", true, 3);
    auto written = [&](const char *name) {
        Touch(name);
        rb_heapprof_series_written(&series, (directory + "/" + name).c_str());
    };
    for (const char *name : {"a", "b", "b", "b", "c", "b", "d"}) written(name);
    EXPECT_EQ((Names{"a", "b", "d"}), Files());
    written("a");
    written("e");
    EXPECT_EQ((Names{"b", "d", "e"}), Files()); // b is the oldest that is left
}

TEST_F(Series, AFileThatIsGoneByItselfIsNoHarm)
{
    Init("a-%n", true, 1);
    Write();
    std::filesystem::remove(directory + "/a-1");
    Write();
    EXPECT_EQ(Names{"a-2"}, Files());
}

TEST_F(Series, AChildHasNamesOfItsOwnAndRemovesNothingOfItsParents)
{
    std::string pid = std::to_string(getpid());
    Init("a-%n.gz", true, 1);
    Write();
    EXPECT_FALSE(rb_heapprof_series_tell_distinct(&series));
    heapprof_series_file *kept = series.kept;
    rb_heapprof_series_fork(&series);
    free(kept[0].path); // a child's parent frees them
    free(kept);
    EXPECT_EQ("a-1-" + pid + ".gz", Write());
    EXPECT_EQ("a-2-" + pid + ".gz", Write());
    EXPECT_EQ((Names{"a-1.gz", "a-2-" + pid + ".gz"}), Files());
}

TEST_F(Series, AChildHasABeginningOfItsOwn)
{
    Init("a-%n", true, 3);
    for (int i = 0; i < 7; i++) Write();
    Names parents = Files();
    heapprof_series_file *kept = series.kept;
    unsigned count = series.kept_count;
    rb_heapprof_series_fork(&series);
    for (unsigned i = 0; i < count; i++) free(kept[i].path);
    free(kept);
    std::string first = Write(), last;
    for (int i = 0; i < 20; i++) last = Write();
    Names files = Files();
    for (const std::string &name : parents) EXPECT_EQ(1u, files.erase(name));
    EXPECT_EQ(3u, files.size());
    EXPECT_TRUE(files.count(first) && files.count(last));
}

TEST_F(Series, AChildsNameIsLeftAloneWhereItIsItsOwnOrNoRegularFile)
{
    std::string pid = std::to_string(getpid());
    Init("a-%p", false, 0);
    rb_heapprof_series_fork(&series);
    EXPECT_EQ("a-" + pid, Next());
    EXPECT_FALSE(rb_heapprof_series_tell_distinct(&series));
    rb_heapprof_series_free(&series);

    Init("pipe", false, 0);
    ASSERT_EQ(0, mkfifo((directory + "/pipe").c_str(), 0600));
    rb_heapprof_series_fork(&series);
    EXPECT_EQ("pipe", Next());
}

TEST_F(Series, ThatNamesAreDistinctIsToldOnce)
{
    Init("a", false, 0);
    rb_heapprof_series_fork(&series);
    EXPECT_TRUE(rb_heapprof_series_tell_distinct(&series));
    EXPECT_FALSE(rb_heapprof_series_tell_distinct(&series));
}

} // namespace
