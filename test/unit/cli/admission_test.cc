// admission_test.cc - what a request says lets it in with the token alone, and keeps it out where
// it is a proxy's.

#include <gtest/gtest.h>

#include <string>

extern "C" {
#include "cli/serve/admission.h"
}

namespace {

// Why it is refused; "": it is not.
std::string
Refused(const std::string &headers, bool unix_socket = false)
{
    static cli_request request;
    const char *line;
    char why[CLI_ADMISSION_WHY_MAX] = "";
    std::string bytes = "GET / HTTP/1.1\r\n" + headers + "\r\n";

    EXPECT_EQ(0, cli_request_read(&request, bytes.data(), bytes.size(), &line)) << bytes;
    return cli_admission_client_p(&request, unix_socket, why) ? "" : why;
}

bool
Token(const std::string &headers, const std::string &target = "/")
{
    static cli_request request;
    const char *line;
    std::string bytes = "GET " + target + " HTTP/1.1\r\n" + headers + "\r\n";

    EXPECT_EQ(0, cli_request_read(&request, bytes.data(), bytes.size(), &line)) << bytes;
    return cli_admission_token_p(&request, "s3cret");
}

TEST(Admission, TokenIsTheWholeTokenInTheHeaderOrTheQuery)
{
    for (const char *value : {"Bearer s3cret", "bearer s3cret", "BEARER   s3cret"}) {
        EXPECT_TRUE(Token(std::string("Authorization: ") + value + "\r\n")) << value;
    }
    for (const char *value : { "Bearer s3cre", "Bearer s3cretx", "Bearer S3cret",
                               "Bearer s3crets3cret", "Bearer", "Basic s3cret", "s3cret", "" }) {
        EXPECT_FALSE(Token(std::string("Authorization: ") + value + "\r\n")) << value;
    }
    EXPECT_FALSE(Token(""));
    EXPECT_TRUE(Token("", "/?token=s3c%72et"));
    for (const char *query : { "/?token=", "/?token=s3cre", "/?token=s3cret%00", "/?Token=s3cret",
                               "/?token=%", "/?xtoken=s3cret" }) {
        EXPECT_FALSE(Token("", query)) << query;
    }
    // A wrong header is not mended by the query, nor are two headers one.
    EXPECT_FALSE(Token("Authorization: Bearer x\r\n", "/?token=s3cret"));
    EXPECT_FALSE(Token("Authorization: Bearer s3cret\r\nAuthorization: Bearer x\r\n"));
}

const char kLocal[] = "Host: localhost:6066\r\n";

TEST(Admission, ClientsOfThisHostAreNotRefused)
{
    EXPECT_EQ("", Refused(std::string(kLocal) + "User-Agent: curl/7.88.1\r\nAccept: */*\r\n"));
    EXPECT_EQ("", Refused(std::string(kLocal) +
                          "User-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n"));
    EXPECT_EQ("", Refused(std::string(kLocal) +
                          "accept: */*\r\nuser-agent: Ruby\r\nconnection: close\r\n"));
    EXPECT_EQ("", Refused("Host: anything\r\n", true));
    EXPECT_EQ("", Refused("", true));
}

TEST(Admission, AnyOtherHeaderIsAProxys)
{
    for (const char *name : { "Forwarded",
                              "Via",
                              "X-Forwarded-For",
                              "X_Forwarded_For",
                              "X-Real-IP",
                              "True-Client-IP",
                              "CF-Ray",
                              "CDN-Loop",
                              "Fastly-FF",
                              "Akamai-Origin-Hop",
                              "Fly-Client-IP",
                              "X-Vercel-Id",
                              "X-Envoy-Internal",
                              "X-Amzn-Trace-Id",
                              "X-Request-Id",
                              "Proxy-Connection",
                              "Origin",
                              "Hosts",
                              "Hos",
                              "Sec-Fetch",
                              "X" }) {
        for (bool unix_socket : {false, true}) {
            EXPECT_EQ(std::string("a client of this host sends no header ") + name,
                      Refused(std::string(kLocal) + name + ": 127.0.0.1\r\n", unix_socket));
        }
    }
    std::string long_name(1000, 'x');
    EXPECT_EQ("a client of this host sends no header " + long_name.substr(0, 64),
              Refused(long_name + ": a\r\n"));
}

TEST(Admission, BrowsersSayThatNoPageOfElsewhereHasSentThem)
{
    std::string browser =
        std::string(kLocal) +
        "User-Agent: Mozilla/5.0\r\nSec-CH-UA: x\r\nCookie: a\r\nSec-Fetch-Mode: navigate\r\n";
    const std::string sent = "a page of another site has sent the browser here";

    for (const char *site : { "none", "same-origin" })
        EXPECT_EQ("", Refused(browser + "Sec-Fetch-Site: " + site + "\r\n"));
    for (const char *site : { "", "None", "same-site", "cross-site", "none, none" })
        EXPECT_EQ(sent, Refused(browser + "Sec-Fetch-Site: " + site + "\r\n"));
    EXPECT_EQ(sent, Refused(browser + "Sec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n"));
    for (const char *header :
         { "User-Agent: mozilla/4.0", "Referer: http://localhost/", "Cookie: " })
        EXPECT_EQ(sent, Refused(std::string(kLocal) + header + "\r\n"));
    EXPECT_EQ(sent, Refused(std::string(kLocal) + "User-Agent: curl\r\nUser-Agent: Mozilla\r\n"));
}

TEST(Admission, OverTCPTheHostIsThisOne)
{
    for (const char *host : { "localhost", "LocalHost:1", "127.0.0.1", "127.9.9.9:80", "[::1]",
                              "[::1]:80", "[::ffff:127.0.0.1]", "localhost:" }) {
        EXPECT_EQ("", Refused(std::string("Host: ") + host + "\r\n")) << host;
    }
    for (const char *host :
         { "", ":80", "localhost.example", "127.0.0.1.example", "128.0.0.1", "127.1", "::1", "[::1",
           "[::1]x", "[::2]", "[127.0.0.1]", "localhost:x", "localhost:1:2", "localhost:80@example",
           "[::ffff:10.0.0.1]", "[::1%lo]" }) {
        EXPECT_EQ("the request is not for localhost",
                  Refused(std::string("Host: ") + host + "\r\n"))
            << host;
    }
    EXPECT_EQ("the request is not for localhost", Refused(""));
    EXPECT_EQ("the request is not for localhost",
              Refused("Host: localhost\r\nHost: localhost\r\n"));
}

} // namespace
