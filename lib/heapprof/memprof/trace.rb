# frozen_string_literal: true

require "json"
require_relative "counters"
require_relative "output"
require_relative "../plain"

module Memprof
  class << self
    # The file that trace appends to; +nil+, as at first: it is stderr.
    attr_accessor :trace_filename

    # call-seq:
    #   trace { ... } -> value of the block
    #
    # Counts what the process does during the block, by all threads, and writes that as a line of JSON at its end: on stderr,
    # or behind what is in trace_filename.
    #
    #   require "json"
    #   Memprof.trace_filename = "trace.json"
    #   Memprof.trace { File.write("made.txt", "12345") }   # => 5
    #   line = JSON.parse(File.read("trace.json"))
    #   line["fd"]["write"].values_at("calls", "bytes")     # => [1, 5]
    #
    # [start, time] when it began, in microseconds since 1970; how long it took, in seconds
    # [objects] created: how many; types: how many by type, also what only the VM sees. Where there are Ractors, those of the
    #           main one
    # [gc] calls, time: garbage collections
    # [fd] by function of the C library (read, write, writev, recv, recvfrom, recvmsg, send, sendto, sendmsg, connect,
    #      select, poll, ppoll): calls, time, and bytes where there are some. A sleeping thread of Ruby's is in ppoll, select or in
    #      none of them
    # [memory] by function (malloc, calloc, realloc, free): calls, requested_bytes, actual_bytes: what the allocator gave, or
    #          free gave back
    # [rusage] utime, stime in seconds; minflt, majflt, inblock, oublock, nvcsw, nivcsw as getrusage(2) has them; maxrss in
    #          bytes, since the process began
    #
    # Times are seconds. fd and memory are +null+ where functions cannot be counted (this takes Linux with glibc), and
    # while the profiler runs with <tt>malloc: :all</tt>, which counts by the same means. What libraries ask of MySQL,
    # PostgreSQL and memcached has no counters of its own, as memprof had: it is in fd.
    #
    # When the block raises nothing is written. Traces may be within each other, and at once in several threads.
    # Raises ArgumentError without a block, SystemCallError when the file cannot be written.
    def trace(&)
      traced({}, &)
    end

    # call-seq:
    #   trace_request(env) { ... } -> value of the block
    #
    # The same of a request of Rack, whose method and path, without its query, are in the line as +request+.
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
