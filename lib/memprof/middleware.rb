# frozen_string_literal: true

# memprof/middleware - Memprof::Middleware, by the gem's name for it. See memprof.rb.

require_relative "../heapprof/memprof/installed"

Heapprof::InstalledMemprof.load("memprof/middleware") || require("heapprof/memprof")
