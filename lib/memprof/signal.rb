# frozen_string_literal: true

# memprof/signal - a dump of the heap at SIGURG, by the gem's name for it. See memprof.rb.

require_relative "../heapprof/memprof/installed"

Heapprof::InstalledMemprof.load("memprof/signal") || require("heapprof/memprof/signal")
