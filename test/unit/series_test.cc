// series_test.cc - the files of one process: their names, and which are kept.

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

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
    EXPECT_FALSE(rb_heapprof_series_next(&series, std::string(200, 'y').c_str(), path, sizeof(path)));
}

TEST_F(Series, TheOldestIsRemovedWhenThereIsOneTooMany)
{
    Init("a-%n", true, 3);
    Touch("b-1");
    for (int i = 0; i < 3; i++) Write();
    EXPECT_EQ((Names{"a-1", "a-2", "a-3", "b-1"}), Files());
    Write();
    EXPECT_EQ((Names{"a-2", "a-3", "a-4", "b-1"}), Files());
    for (int i = 0; i < 10; i++) Write();
    EXPECT_EQ((Names{"a-12", "a-13", "a-14", "b-1"}), Files());
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
    char **kept = series.kept;
    rb_heapprof_series_fork(&series);
    free(kept[0]); // a child's parent frees them
    free(kept);
    EXPECT_EQ("a-1-" + pid + ".gz", Write());
    EXPECT_EQ("a-2-" + pid + ".gz", Write());
    EXPECT_EQ((Names{"a-1.gz", "a-2-" + pid + ".gz"}), Files());
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
