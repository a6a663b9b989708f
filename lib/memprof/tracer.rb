# frozen_string_literal: true

# memprof/tracer - Memprof::Tracer, by the gem's name for it. See memprof.rb.

require_relative "../heapprof/memprof/installed"

Heapprof::InstalledMemprof.load("memprof/tracer") || require("heapprof/memprof")
