# frozen_string_literal: true

require "json"
require_relative "counters"
require_relative "output"
require_relative "../plain"

module Memprof
  class << self
    # The file that trace appends to. It is +nil+ at first, which stands for stderr.
    attr_accessor :trace_filename

    # call-seq:
    #   trace { ... } -> value of the block
    #
    # Counts what all threads of the process do during the block. Then writes that as a line of JSON: on stderr, or at the end
    # of the file trace_filename.
    #
    #   require "json"
    #   Memprof.trace_filename = "trace.json"
    #   Memprof.trace { File.write("made.txt", "12345") }   # => 5
    #   line = JSON.parse(File.read("trace.json"))
    #   line["fd"]["write"].values_at("calls", "bytes")     # => [1, 5]
    #
    # [start, time] when the block began, in microseconds since 1970; how long it took, in seconds
    # [objects] created: how many; types: how many by type, with objects that only the VM sees. If the program has Ractors, only
    #           objects of the main Ractor count
    # [gc] calls, time: garbage collections
    # [fd] by function of the C library (read, write, writev, recv, recvfrom, recvmsg, send, sendto, sendmsg, connect,
    #      select, poll, ppoll): calls, time, and bytes if the function has them. A sleeping Ruby thread is in ppoll, in select,
    #      or in no function that is counted
    # [memory] by function (malloc, calloc, realloc, free): calls, requested_bytes, actual_bytes: what the allocator gave, or
    #          free gave back
    # [rusage] utime, stime in seconds; minflt, majflt, inblock, oublock, nvcsw, nivcsw as getrusage(2) has them; maxrss in
    #          bytes, since the process began
    #
    # Times are seconds. fd and memory are +null+ if functions cannot be counted (this takes Linux with glibc). They are +null+,
    # too, while the profiler runs with <tt>malloc: :all</tt>, which counts by the same means. The gem memprof had counters for
    # MySQL, PostgreSQL and memcached. Here these requests are part of fd.
    #
    # If the block raises, nothing is written. Traces may be nested, and may run in several threads at once.
    # Raises ArgumentError without a block. Raises SystemCallError if the file cannot be written.
    def trace(&)
      traced({}, &)
    end

    # call-seq:
    #   trace_request(env) { ... } -> value of the block
    #
    # Does the same for a request of Rack. The line then has the request's method and path, without the query, as +request+.
    #
    #   require "json"
    #   Memprof.trace_filename = "trace.json"
    #   Memprof.trace_request({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/carts" }) { [200, {}, []] }
    #   JSON.parse(File.read("trace.json"))["request"]   # => {"method" => "GET", "path" => "/carts"}
    def trace_request(env, &)
      path = "#{env["SCRIPT_NAME"]}#{env["PATH_INFO"]}"
      traced({ "request" => { "method" => env["REQUEST_METHOD"], "path" => Reflection.text(path) } }, &)
    end

    private

    def traced(fields)
      raise ArgumentError, "a block is needed: what should be traced?" unless block_given?
      counters = Counters.new
      value = yield
      counted = counters.read
      Output.append(trace_filename, "#{Heapprof::Plain.json(JSON.generate(fields.merge(counted)))}\n")
      value
    ensure
      counters&.close
    end
  end
end
