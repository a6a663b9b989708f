# frozen_string_literal: true

Gem::Specification.new do |spec|
  spec.name = "heapprof-gem"
  spec.version = "0.1.0"
  spec.authors = ["heapprof"]
  spec.summary = "A live heap profile by a sampled allocation event and weak references"
  spec.license = "BSD-2-Clause"
  spec.required_ruby_version = ">= 3.4"
  spec.files = Dir["{ext,lib}/**/*.{rb,c}"]
  spec.extensions = ["ext/heapprof_gem/extconf.rb"]
end
