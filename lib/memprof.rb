# frozen_string_literal: true

# memprof - what the gem memprof is required by. If that gem is installed, this is the gem; otherwise it is heapprof/memprof, which
# has its methods by the same names. A gem that is activated, as by a Gemfile, comes first in the load path anyway.

require_relative "heapprof/memprof/installed"

Heapprof::InstalledMemprof.load("memprof") || require("heapprof/memprof")
