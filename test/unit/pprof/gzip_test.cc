// gzip_test.cc - what rb_heapprof_gzip writes, read back by zlib's inflate.

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

#include <zlib.h>

extern "C" {
#include "pprof/gzip.h"
}

namespace {

std::string
Gzip(const std::string &data)
{
    size_t size = 0;
    char *bytes = rb_heapprof_gzip(data.data(), data.size(), &size);
    EXPECT_NE(nullptr, bytes);
    std::string gzip(bytes ? bytes : "", size);
    free(bytes);
    return gzip;
}

// Inflates exactly one gzip member that ends where the input ends.
std::string
Gunzip(const std::string &gzip, size_t size)
{
    z_stream stream = {};
    std::string data(size + 1, 0);
    EXPECT_EQ(Z_OK, inflateInit2(&stream, 15 + 16)); // 16: a gzip header is required
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(gzip.data()));
    stream.avail_in = static_cast<uInt>(gzip.size());
    stream.next_out = reinterpret_cast<Bytef *>(&data[0]);
    stream.avail_out = static_cast<uInt>(data.size());
    EXPECT_EQ(Z_STREAM_END, inflate(&stream, Z_FINISH));
    EXPECT_EQ(0u, stream.avail_in);
    data.resize(stream.total_out);
    inflateEnd(&stream);
    return data;
}

std::string
RandomBytes(size_t size, unsigned distinct)
{
    std::mt19937 random(20250701);
    std::string data(size, 0);
    for (char &byte : data) byte = static_cast<char>(random() % distinct);
    return data;
}

TEST(Gzip, TextComesBack)
{
    std::string text("Array#map\0String#<<", 19);
    EXPECT_EQ(text, Gunzip(Gzip(text), text.size()));
}

TEST(Gzip, NothingComesBackAsNothing)
{
    EXPECT_EQ("", Gunzip(Gzip(""), 0));
}

TEST(Gzip, EverySmallSizeComesBack)
{
    std::string data = RandomBytes(300, 256);
    for (size_t size = 0; size <= data.size(); size++) {
        ASSERT_EQ(data.substr(0, size), Gunzip(Gzip(data.substr(0, size)), size)) << size;
    }
}

TEST(Gzip, TenMegabytesThatDoNotCompressComeBack)
{
    std::string data = RandomBytes(10 << 20, 256);
    EXPECT_EQ(data, Gunzip(Gzip(data), data.size()));
}

TEST(Gzip, TenMegabytesOfFewSymbolsShrinkAndComeBack)
{
    std::string data = RandomBytes(10 << 20, 4); // 2 bits of 8: a quarter is the least possible
    std::string gzip = Gzip(data);
    EXPECT_LT(gzip.size(), data.size() / 3);
    EXPECT_EQ(data, Gunzip(gzip, data.size()));
}

TEST(Gzip, HeaderHasNoTimeAndNoName)
{
    std::string gzip = Gzip("profile");
    ASSERT_GE(gzip.size(), 18u);
    EXPECT_EQ(std::string("\x1f\x8b\x08", 3), gzip.substr(0, 3)); // magic, deflate
    EXPECT_EQ(std::string(5, '\0'), gzip.substr(3, 5));           // no flags, no time
}

TEST(Gzip, EqualInputMakesEqualOutput)
{
    std::string data = RandomBytes(100000, 16);
    EXPECT_EQ(Gzip(data), Gzip(data));
}

} // namespace
