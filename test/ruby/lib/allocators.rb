# frozen_string_literal: true

# allocators.rb - the allocators that a process may have, and cases that run under each of them.

module HeapProfAllocators
  # Debian's package, and its library to preload. glibc's is there anyway.
  LIBRARIES = {
    "jemalloc" => ["libjemalloc2", "libjemalloc.so.2"],
    "tcmalloc" => ["libtcmalloc-minimal4", "libtcmalloc_minimal.so.4"],
    "mimalloc" => ["libmimalloc2.0", "libmimalloc.so.2*"],
  }.freeze

  def self.path(allocator) = Dir["/usr/lib/*/#{LIBRARIES.fetch(allocator)[1]}"].first

  # mimalloc is tested with where it happens to be; the others have to be there.
  ALL = ["glibc", *LIBRARIES.keys].reject { |allocator| allocator == "mimalloc" && !path(allocator) }.freeze

  # The environment of a process that has this allocator.
  def preload(allocator)
    return {} if allocator == "glibc"
    path = HeapProfAllocators.path(allocator)
    path or flunk "#{allocator} not found; install the Debian package #{LIBRARIES.fetch(allocator)[0]}"
    { "LD_PRELOAD" => path }
  end

  # A line for the child: it has this allocator indeed.
  def assert_loaded(allocator)
    return "" if allocator == "glibc"
    "assert_include File.read('/proc/self/maps'), '/lib#{allocator}'\n"
  end

  # For `extend': a test for each allocator, by the script, behind the SETUP of the test's class.
  module Cases
    def under_each_allocator(name, script)
      ALL.each do |allocator|
        define_method("test_#{name}_under_#{allocator}") do
          in_child(self.class::SETUP + assert_loaded(allocator) + script, env: preload(allocator))
        end
      end
    end
  end
end
