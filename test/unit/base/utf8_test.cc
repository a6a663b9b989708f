// utf8_test.cc - rb_heapprof_utf8_copy against the definition of UTF-8; and what is spelled so that
// it is seen.

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" {
#include "base/unseen.h"
#include "base/utf8.h"
}

namespace {

std::string
Copy(const std::string &text)
{
    std::vector<char> out(HEAPPROF_UTF8_MAX(text.size()) + 1);
    size_t length = rb_heapprof_utf8_copy(out.data(), text.data(), text.size());
    return std::string(out.data(), length);
}

// The encoding of a code point in so many bytes, well-formed or not.
std::string
Encode(uint32_t code_point, int bytes)
{
    static const unsigned char first[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    std::string text(bytes, 0);
    for (int i = bytes - 1; i > 0; i--, code_point >>= 6) {
        text[i] = static_cast<char>(0x80 | (code_point & 0x3F));
    }
    text[0] = static_cast<char>(first[bytes] | code_point);
    return text;
}

std::string
Spelled(const std::string &bytes)
{
    std::string text;
    for (unsigned char byte : bytes) {
        char escape[5];
        snprintf(escape, sizeof(escape), "\\x%02X", byte);
        text += escape;
    }
    return text;
}

bool
SurrogateP(uint32_t code_point)
{
    return 0xD800 <= code_point && code_point <= 0xDFFF;
}

std::string
Plain(const std::string &text, bool lines = false)
{
    std::vector<char> out(HEAPPROF_UTF8_MAX(text.size()) + 1);
    return std::string(out.data(),
                       rb_heapprof_utf8_plain(out.data(), text.data(), text.size(), lines));
}

// Which characters they are, is ../ruby/test_unseen.rb's.
TEST(Utf8, WhatIsNotSeenIsSpelledAndAllElseStays)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (SurrogateP(c)) continue;
        std::string text = Encode(c, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        size_t size;
        ASSERT_EQ(c, rb_heapprof_utf8_character(text.c_str(), &size));
        ASSERT_EQ(text.size(), size);
        ASSERT_EQ(rb_heapprof_unseen_p(c) ? Spelled(text) : text, Plain(text))
            << "U+" << std::hex << c;
    }
    for (uint32_t c : { 0u,      0x1bu,   0x7fu,    0x80u,    0x9bu,    0xadu,    0x61cu,
                        0x200bu, 0x200eu, 0x200fu,  0x2028u,  0x2029u,  0x202eu,  0x2066u,
                        0xfeffu, 0xffffu, 0xe0001u, 0xe0020u, 0xe007fu, 0x10ffffu }) {
        EXPECT_TRUE(rb_heapprof_unseen_p(c)) << std::hex << c;
    }
    for (uint32_t c : { 0x20u, 0x7eu, 0xa0u, 0xe9u, 0x3042u, 0x1f600u })
        EXPECT_FALSE(rb_heapprof_unseen_p(c)) << std::hex << c;
    EXPECT_EQ("a\\x0Ab\\xFF", Plain("a\nb\xff"));
    EXPECT_EQ("a\nb\\xFF\\x0D", Plain("a\nb\xff\r", true));
}

TEST(Utf8, APieceEndsBetweenCharacters)
{
    std::string text = "a\u00e9\u200b\U000e0041z";
    for (size_t most = 4; most <= text.size(); most++) {
        size_t size = rb_heapprof_utf8_piece(text.data(), text.size(), most);
        EXPECT_LE(size, most);
        EXPECT_GT(size + 4, most);
        EXPECT_EQ(text.substr(0, size), Copy(text.substr(0, size))) << most;
    }
    EXPECT_EQ(8u, rb_heapprof_utf8_piece(std::string(20, '\x80').c_str(), 20,
                                         12)); // of no character; in bounds
}

TEST(Utf8, EveryCodePointStaysAsItIs)
{
    for (uint32_t c = 0; c <= 0x10FFFF; c++) {
        if (SurrogateP(c)) continue;
        std::string text = Encode(c, c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4);
        ASSERT_EQ(text, Copy(text)) << "U+" << std::hex << c;
    }
}

TEST(Utf8, SurrogatesAreSpelledOut)
{
    for (uint32_t c = 0xD800; c <= 0xDFFF; c++) {
        ASSERT_EQ(Spelled(Encode(c, 3)), Copy(Encode(c, 3))) << std::hex << c;
    }
}

TEST(Utf8, LongerFormsThanNeededAreSpelledOut)
{
    static const uint32_t first_that_needs[] = {0, 0, 0x80, 0x800, 0x10000};
    for (int bytes = 2; bytes <= 4; bytes++) {
        for (uint32_t c = 0; c < first_that_needs[bytes]; c++) {
            ASSERT_EQ(Spelled(Encode(c, bytes)), Copy(Encode(c, bytes))) << c;
        }
    }
}

TEST(Utf8, CodePointsBeyondTheLastAreSpelledOut)
{
    for (uint32_t c = 0x110000; c <= 0x1FFFFF; c++) {
        ASSERT_EQ(Spelled(Encode(c, 4)), Copy(Encode(c, 4))) << std::hex << c;
    }
}

TEST(Utf8, BytesThatStartNoSequenceAreSpelledOut)
{
    for (int byte = 0x80; byte <= 0xFF; byte++) {
        std::string text(1, static_cast<char>(byte));
        EXPECT_EQ(Spelled(text), Copy(text));
    }
}

TEST(Utf8, SequencesCutShortAreSpelledOut)
{
    std::string text = "\xF0\x9F\x92\x8E";
    for (size_t length = 1; length < text.size(); length++) {
        EXPECT_EQ(Spelled(text.substr(0, length)), Copy(text.substr(0, length)));
        EXPECT_EQ(Spelled(text.substr(0, length)) + "a", Copy(text.substr(0, length) + "a"));
    }
}

TEST(Utf8, ABadByteLeavesItsNeighboursAlone)
{
    EXPECT_EQ("\xC3\xA9\\xE9\xC3\xA9#caf\xC3\xA9", Copy("\xC3\xA9\xE9\xC3\xA9#caf\xC3\xA9"));
}

TEST(Utf8, EmptyTextStaysEmpty)
{
    EXPECT_EQ("", Copy(""));
}

} // namespace
