/* admission.c - decides by what a request says whether it is answered. Only the token lets a
 * request in. Everything else that the request says can only keep it out.
 * lib/heapprof/rack/admission.rb has the same rule. */
#include "cli/serve/admission.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Headers that curl, Go, Net::HTTP and browsers send by themselves. Any other header is taken as
 * a sign of a proxy. The clients' headers are few. The proxies' headers are without number
 * (Forwarded, Via, X-..., CF-..., Fastly-..., True-Client-IP, CDN-Loop). */
static const char *const headers[] = {
    "Accept",
    "Accept-Charset",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "Cache-Control",
    "Connection",
    "Cookie",
    "DNT",
    "Host",
    "If-Modified-Since",
    "If-None-Match",
    "Keep-Alive",
    "Pragma",
    "Priority",
    "Range",
    "Referer",
    "TE",
    "Upgrade-Insecure-Requests",
    "User-Agent",
    "Sec-GPC",
};

/* Families of headers that browsers send. */
static const char *const families[] = {"Sec-CH-", "Sec-Fetch-"};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- the token ---- */

/* Compares in a time that does not tell how much of the given text is right. */
static bool
same_text_p(const char *given, const char *token)
{
    size_t given_length = strlen(given), length = strlen(token);
    unsigned char different = given_length != length;

    for (size_t i = 0; i < given_length; i++)
        different |= (unsigned char)(given[i] ^ token[length ? i % length : 0]);
    return !different;
}

bool
cli_admission_token_p(const struct cli_request *request, const char *token)
{
    const char *given = cli_request_header(request, "Authorization");
    char value[CLI_REQUEST_VALUE_MOST];

    if (given)
        return !strncasecmp(given, "Bearer ", 7) &&
               same_text_p(given + 7 + strspn(given + 7, " "), token);
    return cli_request_parameter(request, "token", value) == CLI_PARAMETER_GIVEN &&
           same_text_p(value, token);
}

/* ---- what keeps out ---- */

static bool
clients_header_p(const char *name)
{
    for (size_t i = 0; i < COUNT(headers); i++) {
        if (!strcasecmp(headers[i], name)) return true;
    }
    for (size_t i = 0; i < COUNT(families); i++) {
        if (!strncasecmp(families[i], name, strlen(families[i]))) return true;
    }
    return false;
}

static size_t
count_of(const struct cli_request *request, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < request->header_count; i++)
        count += !strcasecmp(request->headers[i].name, name);
    return count;
}

/* Whether a page of another site has sent the browser here. The browser says so. A browser that
 * is too old to say so is not let in. */
static bool
sent_here_p(const struct cli_request *request)
{
    const char *site = cli_request_header(request, "Sec-Fetch-Site"),
               *agent = cli_request_header(request, "User-Agent");

    if (count_of(request, "Sec-Fetch-Site"))
        return !site || (strcmp(site, "none") && strcmp(site, "same-origin"));
    return (agent && !strncasecmp(agent, "Mozilla", 7)) || count_of(request, "User-Agent") > 1 ||
           count_of(request, "Referer") || count_of(request, "Cookie");
}

/* Whether the client asked for a name of this host. A page whose name leads here (DNS rebinding)
 * asks for its own name. */
static bool
for_localhost_p(const struct cli_request *request)
{
    const char *host = cli_request_header(request, "Host");
    char name[64];
    struct in_addr four;
    struct in6_addr six;

    if (!host) return false;
    bool bracket = host[0] == '[';
    size_t length = strcspn(host + bracket, bracket ? "]" : ":");
    const char *behind = host + bracket + length;
    if (length >= sizeof(name) || (bracket && *behind++ != ']')) return false;
    if (*behind && (*behind != ':' || behind[1 + strspn(behind + 1, "0123456789")])) return false;
    memcpy(name, host + bracket, length);
    name[length] = 0;
    if (bracket) {
        if (inet_pton(AF_INET6, name, &six) != 1) return false;
        return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
    }
    if (!strcasecmp(name, "localhost")) return true;
    return inet_pton(AF_INET, name, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

bool
cli_admission_client_p(const struct cli_request *request, bool unix_socket,
                       char why[CLI_ADMISSION_WHY_MAX])
{
    for (size_t i = 0; i < request->header_count; i++) {
        if (clients_header_p(request->headers[i].name)) continue;
        snprintf(why, CLI_ADMISSION_WHY_MAX, "a client of this host sends no header %.64s",
                 request->headers[i].name);
        return false;
    }
    if (sent_here_p(request)) {
        snprintf(why, CLI_ADMISSION_WHY_MAX, "a page of another site has sent the browser here");
        return false;
    }
    if (unix_socket || for_localhost_p(request)) return true;
    snprintf(why, CLI_ADMISSION_WHY_MAX, "the request is not for localhost");
    return false;
}
