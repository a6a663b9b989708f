/* request.c - reads a request line and headers.
 *
 *     GET /12/debug/pprof/profile?seconds=5 HTTP/1.1
 *     Host: localhost:6066
 *     (an empty line; what follows is not read)
 *
 *   I1  A request is accepted only if it is text: valid UTF-8 without control characters.
 *   I2  The method and the names of headers are tokens. None begins with a space, so no value
 *       goes on in the next line.
 *   I3  CLI_REQUEST_MOST bounds the work and the memory. */
#include "cli/serve/request.h"

#include <string.h>
#include <strings.h>

#include "base/utf8.h"

/* The characters of a token (I2). */
static const char token[] =
    "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

enum { BAD = 400, FORBIDDEN = 403, TOO_LARGE = 431 };

/* ---- the bytes ---- */

/* Returns how long the head is, with its empty line. Returns 0 if the empty line is not there. */
static size_t
head_length(const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\n') continue;
        if (i + 1 < size && bytes[i + 1] == '\n') return i + 2;
        if (i + 2 < size && bytes[i + 1] == '\r' && bytes[i + 2] == '\n') return i + 3;
    }
    return 0;
}

/* Checks I1. The copy is longer than the text if a byte is not valid UTF-8. */
static bool
utf8_p(const char *text, size_t length)
{
    char copy[HEAPPROF_UTF8_MAX(256)];

    while (length > 0) {
        size_t part = length < 256 ? length : 256;
        while (part < length && part > 250 && ((unsigned char)text[part] & 0xc0) == 0x80) part--;
        if (rb_heapprof_utf8_copy(copy, text, part) != part) return false;
        text += part;
        length -= part;
    }
    return true;
}

static bool
control_p(char byte)
{
    return ((unsigned char)byte < ' ' && byte != '\t') || byte == 127;
}

/* Ends a line with NUL, without its CR. Returns where the next line begins. Returns NULL if the
 * line has a control character. */
static char *
cut_line(char *line)
{
    char *end = strchr(line, '\n'), *next = end + 1;

    if (end > line && end[-1] == '\r') end--;
    *end = 0;
    for (char *at = line; at < end; at++) {
        if (control_p(*at)) return NULL;
    }
    return next;
}

static char *
cut_word(char **line)
{
    char *word = *line, *space = strchr(word, ' ');

    *line = space ? space + 1 : word + strlen(word);
    if (space) *space = 0;
    return word;
}

static int
read_first_line(struct cli_request *request, char *line, const char **wrong)
{
    bool tab = strchr(line, '\t');
    char *method = cut_word(&line), *target = cut_word(&line), *query;

    *wrong = "expected GET /PATH HTTP/1.1";
    if (tab || !*method || method[strspn(method, token)]) return BAD;
    if (strcmp(line, "HTTP/1.1") && strcmp(line, "HTTP/1.0")) return BAD;
    if (target[0] != '/' || strchr(target, '#')) return BAD;
    query = strchr(target, '?');
    if (query) *query++ = 0;
    request->method = method;
    request->path = target;
    request->query = query ? query : "";
    return 0;
}

static int
read_header(struct cli_request *request, char *line, const char **wrong)
{
    size_t length = strspn(line, token);
    char *value = line + length + 1;

    *wrong = "a header is malformed: expected NAME: VALUE";
    if (length == 0 || line[length] != ':') return BAD;
    if (request->header_count == CLI_REQUEST_HEADERS_MOST) {
        *wrong = "too many headers";
        return TOO_LARGE;
    }
    line[length] = 0;
    value += strspn(value, " \t");
    for (char *end = value + strlen(value); end > value && strchr(" \t", end[-1]); ) *--end = 0;
    request->headers[request->header_count++] = (struct cli_header){line, value};
    return 0;
}

int
cli_request_read(struct cli_request *request, const char *bytes, size_t size, const char **line)
{
    size_t length = head_length(bytes, size < CLI_REQUEST_MOST ? size : CLI_REQUEST_MOST);
    int status;

    *line = "the request's head is longer than 16384 bytes";
    if (!length) return size < CLI_REQUEST_MOST ? -1 : TOO_LARGE;
    *line = "the request is not UTF-8";
    if (!utf8_p(bytes, length)) return FORBIDDEN;
    *line = "the request has control characters";
    if (memchr(bytes, 0, length)) return BAD;
    memcpy(request->text, bytes, length);
    request->text[length] = 0;
    request->header_count = 0;
    char *at = request->text, *next = cut_line(at);
    status = next ? read_first_line(request, at, line) : BAD;
    while (!status && *(at = next)) {
        next = cut_line(at);
        if (!next) *line = "the request has control characters";
        if (!next) return BAD;
        if (*at) status = read_header(request, at, line);
    }
    return status;
}

/* ---- parts ---- */

const char *
cli_request_header(const struct cli_request *request, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < request->header_count; i++) {
        if (strcasecmp(request->headers[i].name, name)) continue;
        if (value) return NULL;
        value = request->headers[i].value;
    }
    return value;
}

static int
digit_of(char byte)
{
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

/* Decodes application/x-www-form-urlencoded. Returns false if the text is encoded in another
 * way, or does not fit. */
static bool
decode(const char *from, size_t length, char *to, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < length; i++) {
        char byte = from[i] == '+' ? ' ' : from[i];
        if (byte == '%') {
            if (length - i < 3 || digit_of(from[i + 1]) < 0 || digit_of(from[i + 2]) < 0)
                return false;
            byte = (char)(digit_of(from[i + 1]) * 16 + digit_of(from[i + 2]));
            i += 2;
        }
        if (!byte || used == size - 1) return false;
        to[used++] = byte;
    }
    to[used] = 0;
    return true;
}

enum cli_parameter
cli_request_parameter(const struct cli_request *request, const char *key,
                      char value[CLI_REQUEST_VALUE_MOST])
{
    size_t key_length = strlen(key), length;

    for (const char *at = request->query; *at; at += length + (at[length] == '&')) {
        length = strcspn(at, "&");
        if (length < key_length || strncmp(at, key, key_length)) continue;
        if (length == key_length) {
            value[0] = 0;
            return CLI_PARAMETER_GIVEN;
        }
        if (at[key_length] != '=') continue;
        bool fits =
            decode(at + key_length + 1, length - key_length - 1, value, CLI_REQUEST_VALUE_MOST);
        return fits ? CLI_PARAMETER_GIVEN : CLI_PARAMETER_WRONG;
    }
    return CLI_PARAMETER_NONE;
}
