# frozen_string_literal: true

# rubybin.rb - the ruby that tests start is HEAPPROF_RUBY, if it is not the one that runs them (make check-aarch64).

if (other = ENV["HEAPPROF_RUBY"])
  EnvUtil.singleton_class.prepend(Module.new { define_method(:rubybin) { other } })
end
