// request_fuzz.cc - bytes of anybody's as a request of heapprof serve: read, judged, and asked what
// it wants. What is read is compared with a model that cuts the bytes in another way; what is
// refused must not depend on how the bytes arrive.

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "fuzz.h"

extern "C" {
#include "cli/serve/admission.h"
#include "cli/serve/wanted.h"
}

namespace {

const char kToken[] = "s3cret";

std::vector<std::string>
Lines(const std::string &head)
{
    std::vector<std::string> lines;
    for (size_t start = 0, end; (end = head.find('\n', start)) != std::string::npos;
         start = end + 1) {
        std::string line = head.substr(start, end - start);
        if (!line.empty() && line.back() == '\r') line.pop_back();
        lines.push_back(line);
    }
    return lines;
}

std::string
Trimmed(std::string text)
{
    text.erase(0, text.find_first_not_of(" \t"));
    text.erase(text.find_last_not_of(" \t") + 1);
    return text;
}

// What was accepted, against the bytes.
void
RequireSame(const cli_request &request, const std::string &bytes)
{
    std::vector<std::string> lines = Lines(bytes);
    size_t end = std::find(lines.begin(), lines.end(), "") - lines.begin();
    std::string target = request.path;

    REQUIRE(end < lines.size() && end == request.header_count + 1);
    if (*request.query || lines[0].find('?') != std::string::npos)
        target += std::string("?") + request.query;
    std::string first = std::string(request.method) + " " + target + " HTTP/1.";
    REQUIRE(lines[0] == first + "0" || lines[0] == first + "1");
    for (size_t i = 0; i < request.header_count; i++) {
        std::string name = request.headers[i].name, value = request.headers[i].value;
        REQUIRE(lines[i + 1].compare(0, name.size() + 1, name + ":") == 0);
        REQUIRE(Trimmed(lines[i + 1].substr(name.size() + 1)) == value);
    }
    for (unsigned char byte : target) REQUIRE(byte >= ' ' && byte != 127);
}

bool
Contains(const std::string &bytes, const char *text)
{
    return bytes.find(text) != std::string::npos;
}

void
Judge(const cli_request &request, const std::string &bytes)
{
    char why[CLI_ADMISSION_WHY_MAX] = "", value[CLI_REQUEST_VALUE_MOST];
    bool unix_ok = cli_admission_client_p(&request, true, why),
         tcp_ok = cli_admission_client_p(&request, false, why);

    REQUIRE(!tcp_ok || unix_ok);
    REQUIRE(tcp_ok || *why);
    REQUIRE(!tcp_ok || cli_request_header(&request, "Host"));
    for (size_t i = 0; i < request.header_count; i++) {
        const char *name = request.headers[i].name;
        if (!strncasecmp(name, "X", 1) || !strcasecmp(name, "Via") ||
            !strcasecmp(name, "Forwarded") || !strcasecmp(name, "Origin")) {
            REQUIRE(!unix_ok);
        }
        if (!strcasecmp(name, "Sec-Fetch-Site")) {
            REQUIRE(!unix_ok || !strcmp(request.headers[i].value, "none") ||
                    !strcmp(request.headers[i].value, "same-origin"));
        }
    }
    // The token stands in the request, but for what is decoded.
    bool token = cli_admission_token_p(&request, kToken);
    REQUIRE(!token || Contains(bytes, kToken) || Contains(request.query, "%"));
    if (cli_request_parameter(&request, "token", value) == CLI_PARAMETER_GIVEN)
        REQUIRE(strlen(value) < sizeof(value));
}

// No part of an accepted query is ignored: each name is known to its path, and given once.
void
RequireNamesOnce(const std::string &query, const cli_wanted &wanted)
{
    bool heap = wanted.kind == CLI_WANTED_HEAP || wanted.kind == CLI_WANTED_ALLOCS;
    std::map<std::string, int> most = {{"token", 1}};
    std::stringstream parts(query);

    if (wanted.pid) most["pid"] = 1;
    if (heap || wanted.kind == CLI_WANTED_PROFILE) most["seconds"] = 1;
    if (heap) most["gc"] = most["debug"] = 1;
    for (std::string part; std::getline(parts, part, '&');) {
        if (!part.empty()) REQUIRE(--most[part.substr(0, part.find('='))] == 0);
    }
}

void
Want(const cli_request &request)
{
    for (int longest : {60, 600}) {
        cli_wanted wanted = {};
        char line[CLI_WANTED_LINE_MAX] = "";
        int status = cli_wanted_read(&request, longest, &wanted, line);
        REQUIRE(status == 0 || status == 400 || status == 404 || status == 405);
        REQUIRE(memchr(line, 0, sizeof(line)));
        if (status) {
            REQUIRE(*line && !strchr(line, '\n'));
            continue;
        }
        bool heap = wanted.kind == CLI_WANTED_HEAP || wanted.kind == CLI_WANTED_ALLOCS;
        bool list = wanted.kind == CLI_WANTED_INDEX || wanted.kind == CLI_WANTED_TARGETS;
        REQUIRE(list ? wanted.pid == 0 : wanted.pid > 0);
        REQUIRE(wanted.seconds >= 0 && wanted.seconds <= longest);
        REQUIRE(wanted.seconds == 0 || heap || wanted.kind == CLI_WANTED_PROFILE);
        REQUIRE(wanted.seconds > 0 || wanted.kind != CLI_WANTED_PROFILE);
        REQUIRE(heap || !wanted.text);
        RequireNamesOnce(request.query, wanted);
    }
}

int
Read(cli_request *request, const std::string &bytes)
{
    std::vector<char> exact(bytes.begin(), bytes.end()); // what lies behind is AddressSanitizer's
    const char *line = nullptr;
    int status = cli_request_read(request, exact.data(), exact.size(), &line);

    REQUIRE(status == -1 || status == 0 || status == 400 || status == 403 || status == 431);
    REQUIRE(status <= 0 || (line && *line));
    return status;
}

} // namespace

extern "C" int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cli_request request, part;
    std::string bytes(reinterpret_cast<const char *>(data), size);
    int status = Read(&request, bytes);

    if (status == 0) {
        RequireSame(request, bytes);
        Judge(request, bytes);
        Want(request);
        // However it comes: it is not there until it is whole, and what comes behind is not looked
        // at.
        size_t cut = bytes.size() / 2;
        int before = Read(&part, bytes.substr(0, cut));
        REQUIRE(before == -1 || before == 0);
        REQUIRE(Read(&part, bytes + "\xff\r\n\r\n") == 0);
        REQUIRE(!strcmp(part.path, request.path) && part.header_count == request.header_count);
    }
    return 0;
}
