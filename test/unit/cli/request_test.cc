// request_test.cc - requests of HTTP as bytes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" {
#include "cli/serve/request.h"
}

namespace {

struct Read {
    cli_request request;
    int status;
    std::string line;

    explicit Read(const std::string &bytes)
    {
        const char *text = "";
        std::vector<char> exact(bytes.begin(), bytes.end());
        status = cli_request_read(&request, exact.data(), exact.size(), &text);
        line = text;
    }
};

std::string
Get(const std::string &target, const std::string &headers = "")
{
    return "GET " + target + " HTTP/1.1\r\n" + headers + "\r\n";
}

TEST(Request, HasWhatItsBytesSay)
{
    Read read(
        Get("/a%20b?c=d&e=%66+g", "Host: localhost:80\r\nX-Empty:\r\nAccept: \t a, b \t\r\n") +
        "behind");

    ASSERT_EQ(0, read.status);
    EXPECT_STREQ("GET", read.request.method);
    EXPECT_STREQ("/a%20b", read.request.path);
    EXPECT_STREQ("c=d&e=%66+g", read.request.query);
    EXPECT_EQ(3u, read.request.header_count);
    EXPECT_STREQ("localhost:80", cli_request_header(&read.request, "host"));
    EXPECT_STREQ("", cli_request_header(&read.request, "x-empty"));
    EXPECT_STREQ("a, b", cli_request_header(&read.request, "ACCEPT"));
    EXPECT_EQ(nullptr, cli_request_header(&read.request, "Acc"));
}

TEST(Request, OfTwoHeadersOfANameHasNone)
{
    Read read(Get("/", "Host: a\r\nhOST: b\r\n"));

    ASSERT_EQ(0, read.status);
    EXPECT_EQ(nullptr, cli_request_header(&read.request, "Host"));
}

TEST(Request, IsNotThereBeforeItsEmptyLine)
{
    std::string whole = Get("/", "Host: localhost\r\nAccept: */*\r\n");

    for (size_t size = 0; size < whole.size(); size++)
        EXPECT_EQ(-1, Read(whole.substr(0, size)).status) << size;
    EXPECT_EQ(0, Read(whole).status);
    EXPECT_EQ(0, Read("GET / HTTP/1.0\nHost: localhost\n\n").status);
}

TEST(Request, IsBounded)
{
    std::string long_path(CLI_REQUEST_MOST, 'x'), many;

    EXPECT_EQ(431, Read(Get("/" + long_path)).status);
    EXPECT_EQ(431, Read(long_path).status);
    EXPECT_EQ(-1, Read(long_path.substr(1)).status);
    std::string fits = Get("/" + long_path.substr(Get("/").size()));
    EXPECT_EQ(CLI_REQUEST_MOST, static_cast<int>(fits.size()));
    EXPECT_EQ(0, Read(fits).status);
    for (int i = 0; i < CLI_REQUEST_HEADERS_MOST; i++) many += "a: b\r\n";
    EXPECT_EQ(0, Read(Get("/", many)).status);
    EXPECT_EQ(431, Read(Get("/", many + "a: b\r\n")).status);
}

TEST(Request, ThatIsWrongSaysHow)
{
    for (const char *bytes :
         { "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n",
           "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1 x\r\n\r\n", "GET http://a/ HTTP/1.1\r\n\r\n",
           "GET * HTTP/1.1\r\n\r\n", "GET /#a HTTP/1.1\r\n\r\n", "GET /\ta HTTP/1.1\r\n\r\n",
           "G?T / HTTP/1.1\r\n\r\n", " / HTTP/1.1\r\n\r\n" }) {
        EXPECT_EQ(400, Read(bytes).status) << bytes;
        EXPECT_EQ("expected GET /PATH HTTP/1.1", Read(bytes).line) << bytes;
    }
    for (const char *header :
         { "a\r\n", ": b\r\n", " a: b\r\n", "a : b\r\n", "a: b\r\n c\r\n", "\xc3\xa9: b\r\n" }) {
        EXPECT_EQ(400, Read(Get("/", header)).status) << header;
        EXPECT_EQ("a header is malformed: expected NAME: VALUE", Read(Get("/", header)).line)
            << header;
    }
    for (const std::string &byte :
         { std::string(1, '\0'), std::string("\r"), std::string("\x01"), std::string("\x7f") }) {
        for (const std::string &bytes : {Get("/" + byte + "a"), Get("/", "a: " + byte + "b\r\n")}) {
            EXPECT_EQ(400, Read(bytes).status);
            EXPECT_EQ("the request has control characters", Read(bytes).line);
        }
    }
}

TEST(Request, IsUTF8OrRefused)
{
    for (const char *bytes : {"\xff", "\xc3", "\xed\xa0\x80", "\xf8\x88\x80\x80\x80", "\x80"}) {
        EXPECT_EQ(403, Read(Get(std::string("/") + bytes)).status);
        EXPECT_EQ(403, Read(Get("/", std::string("a: ") + bytes + "\r\n")).status);
        EXPECT_EQ("the request is not UTF-8",
                  Read(Get("/", std::string("a: ") + bytes + "\r\n")).line);
    }
    // Wherever a character lies in the parts that it is looked at in.
    for (size_t before = 0; before < 600; before++) {
        EXPECT_EQ(0,
                  Read(Get("/" + std::string(before, 'x') + "\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9"))
                      .status)
            << before;
        EXPECT_EQ(403, Read(Get("/" + std::string(before, 'x') + "\xf0\x9f\x98")).status) << before;
    }
}

std::string
Parameter(const std::string &query, const char *key)
{
    Read read(Get("/?" + query));
    char value[CLI_REQUEST_VALUE_MOST];

    switch (cli_request_parameter(&read.request, key, value)) {
      case CLI_PARAMETER_NONE: return "(none)";
      case CLI_PARAMETER_WRONG: return "(wrong)";
      default: return value;
    }
}

TEST(Request, HasParametersDecoded)
{
    EXPECT_EQ("b", Parameter("a=b", "a"));
    EXPECT_EQ("b c/%", Parameter("x=y&a=b+c%2F%25", "a"));
    EXPECT_EQ("1", Parameter("a=1&a=2", "a"));
    EXPECT_EQ("", Parameter("a&ab=1", "a"));
    EXPECT_EQ("", Parameter("a=", "a"));
    EXPECT_EQ("=", Parameter("a==", "a"));
    EXPECT_EQ("(none)", Parameter("ab=1&ba=2&A=3&&", "a"));
    for (const char *query : { "a=%", "a=%4", "a=%4x", "a=%00", "a=b%" })
        EXPECT_EQ("(wrong)", Parameter(query, "a")) << query;
    EXPECT_EQ(std::string(CLI_REQUEST_VALUE_MOST - 1, 'x'),
              Parameter("a=" + std::string(CLI_REQUEST_VALUE_MOST - 1, 'x'), "a"));
    EXPECT_EQ("(wrong)", Parameter("a=" + std::string(CLI_REQUEST_VALUE_MOST, 'x'), "a"));
}

} // namespace
