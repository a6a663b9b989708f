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
    #   trace(path) { ... } -> value of the block
    #
    # Counts what all threads of the process do during the block. Then writes that as a line of JSON: at the end of that file, or of
    # the file trace_filename, or else on stderr.
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
    def trace(path = nil)
      raise ArgumentError, "a block is needed: what should be traced?" unless block_given?
      traced(path, ->(counted) { counted }) { yield }
    end

    # call-seq:
    #   trace_request(env) { ... } -> value of the block
    #
    # Counts the same during a request of Rack, and writes a line with:
    #
    # [start, time] as trace has them
    # [tracers] what trace counts: objects, gc, fd, memory, rusage
    # [rails] controller, action: of a request of Rails
    # [request] REQUEST_METHOD, REQUEST_URI, REQUEST_PATH, PATH_INFO, QUERY_STRING, REMOTE_ADDR: those that env has. Values of a
    #           query may be secrets, and are [FILTERED]
    #
    #   require "json"
    #   Memprof.trace_filename = "trace.json"
    #   Memprof.trace_request({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/carts" }) { [200, {}, []] }
    #   JSON.parse(File.read("trace.json"))["request"]   # => {"REQUEST_METHOD" => "GET", "PATH_INFO" => "/carts"}
    def trace_request(env)
      raise ArgumentError, "a block is needed: what should be traced?" unless block_given?
      traced(nil, ->(counted) { request_line(env, counted) }) { yield }
    end

    private

    REQUEST = %w[REQUEST_METHOD REQUEST_URI REQUEST_PATH PATH_INFO QUERY_STRING REMOTE_ADDR].freeze
    RAILS = %w[action_dispatch.request.path_parameters action_dispatch.request.parameters
               action_controller.request.path_parameters].freeze
    private_constant :REQUEST, :RAILS

    # Returns what the block of traced returns. line makes the fields of the line from what was counted.
    def traced(path, line)
      counters = Counters.new
      value = yield
      fields = line.call(counters.read)
      Output.append(path || trace_filename, "#{Heapprof::Plain.json(JSON.generate(fields))}\n")
      value
    ensure
      counters&.close
    end

    def request_line(env, counted)
      rails = RAILS.filter_map { |key| env[key] }.first
      { "start" => counted["start"], "tracers" => counted.except("start", "time"), "rails" => rails && route(rails),
        "request" => request(env), "time" => counted["time"] }.compact
    end

    def request(env)
      fields = texts(env, REQUEST)
      fields["REQUEST_URI"] &&= fields["REQUEST_URI"].sub(/(?<=\?).*/m) { |query| hidden(query) }
      fields["QUERY_STRING"] &&= hidden(fields["QUERY_STRING"])
      fields.compact
    end

    def hidden(query) = query.gsub(/([^&;=]*=)?[^&;]+/) { "#{$1}[FILTERED]" }

    def route(parameters)
      named = parameters.to_h { |key, value| [key.to_s, value] }
      texts(named, %w[controller action])
    end

    def texts(values, names)
      names.filter_map { |name| [name, Reflection.text(values[name])] if String === values[name] }.to_h
    end
  end
end
