# frozen_string_literal: true

# variables.rb - leaks through constants and variables of each kind.

class Leaks
  leak "constant Array", <<~RUBY, holder: /Registry::LISTENERS/, path: /Registry::LISTENERS/, holds: %w[Registry LISTENERS]
    module Registry; LISTENERS = []; end
    def leak(n) = n.times { Registry::LISTENERS << Leaked.new } # here
  RUBY

  leak "constant Hash cache", <<~RUBY, holder: /Cart::CACHE/, path: /Cart::CACHE.*@items/, holds: %w[Cart CACHE @items]
    class Cart; CACHE = new; def items = @items ||= {}; end
    def leak(n) = n.times { Cart::CACHE.items[Cart::CACHE.items.size] = Leaked.new } # here
  RUBY

  leak "memoised class ivar", <<~RUBY, holder: /\bRepo\b.*@all|@all of Repo/, path: /@all/, holds: %w[Repo @all]
    class Repo; def self.all = @all ||= {}; end
    def leak(n) = n.times { Repo.all["key \#{Repo.all.size}"] = Leaked.new } # here
  RUBY

  leak "class variable", <<~RUBY, holder: /@@seen/, path: /@@seen/, holds: %w[Visit @@seen]
    class Visit; @@seen = []; def self.add(one) = @@seen << one; end
    def leak(n) = n.times { Visit.add(Leaked.new) } # here
  RUBY

  leak "class variable of a module", <<~RUBY, holder: /@@visited/, path: /@@visited/, holds: %w[Visiting @@visited]
    module Visiting; @@visited = {}; def visit(one) = @@visited[one] = true; end
    class Page; include Visiting; end
    def leak(n) = n.times { Page.new.visit(Leaked.new) } # here
  RUBY

  leak "global", <<~RUBY, holder: /\$log\b/, path: /\$log\b/, holds: %w[$log]
    $log = []
    def leak(n) = n.times { $log << Leaked.new } # here
  RUBY

  leak "ivar of a singleton object", <<~RUBY, holder: /singleton__instance__|Settings/, path: /singleton__instance__.*@values/, holds: %w[Settings @singleton__instance__ @values]
    require "singleton"
    class Settings; include Singleton; def values = @values ||= {}; end
    def leak(n) = n.times { Settings.instance.values[Settings.instance.values.size] = Leaked.new } # here
  RUBY

  leak "memo in Comparable", <<~RUBY, holder: /Comparable/, path: /Comparable.*@memo|@memo of Comparable/, holds: %w[Comparable @memo]
    module Comparable; @memo = {}; def self.memo = @memo; end
    def leak(n) = n.times { Comparable.memo[Comparable.memo.size] = Leaked.new } # here
  RUBY

  leak "one ivar per key", <<~RUBY, holder: /\bMEMO\b/, path: /\bMEMO\b.*@user_/, holds: %w[MEMO], count: 1500
    class Memo; end
    MEMO = Memo.new
    def leak(n) = n.times { MEMO.instance_variable_set("@user_\#{MEMO.instance_variables.size}", Leaked.new) } # here
  RUBY

  leak "one constant per key", <<~RUBY, holder: /\bModels\b/, path: /Models::Record_/, holds: %w[Models]
    module Models; end
    def leak(n) = n.times { Models.const_set("Record_\#{Models.constants.size}", Leaked.new) } # here
  RUBY

  leak "one thread variable per key", <<~RUBY, holder: /thread -> locals|thread variable/i, path: /thread -> locals|thread variable/i, holds: LEAKED, on: :main
    def leak(n) = n.times { |i| Thread.current.thread_variable_set("job_\#{$count = $count.to_i + 1}", Leaked.new) } # here
  RUBY

  leak "one thread-local per key", <<~RUBY, holder: /sentry_|main thread/i, path: /sentry_/, holds: LEAKED, on: :main
    def leak(n) = n.times { |i| Thread.current["sentry_\#{$count = $count.to_i + 1}"] = Leaked.new } # here
  RUBY

  leak "thread-local", <<~RUBY, holder: /\brequests\b/, path: /\brequests\b/, holds: LEAKED, on: :main
    Thread.current[:requests] = []
    def leak(n) = n.times { Thread.current[:requests] << Leaked.new } # here
  RUBY

  leak "thread variable", <<~RUBY, holder: /\bspans\b/, path: /\bspans\b/, holds: LEAKED, on: :main
    Thread.current.thread_variable_set(:spans, [])
    def leak(n) = n.times { Thread.current.thread_variable_get(:spans) << Leaked.new } # here
  RUBY

  leak "fiber storage", <<~RUBY, holder: /\btrace\b/, path: /\btrace\b/, holds: LEAKED, on: :main
    Fiber[:trace] = []
    def leak(n) = n.times { Fiber[:trace] << Leaked.new } # here
  RUBY

  leak "local of the main program", <<~RUBY, holder: /local results|results/, path: /local results/, holds: LEAKED
    results = []
    define_method(:leak) { |n| n.times { results << Leaked.new } } # here
  RUBY

  leak "class_attribute chain", <<~RUBY, holder: /ApplicationJob/, path: /ApplicationJob/, holds: LEAKED
    class Class; def class_attribute(name, value) = define_singleton_method(name) { value }; end
    class ApplicationJob; class_attribute(:callbacks, []); end
    class MailJob < ApplicationJob; end
    def leak(n) = n.times { MailJob.callbacks << Leaked.new } # here
  RUBY

  leak "session store three deep", <<~RUBY, holder: /Sessions.*@store|@store of Sessions/, path: /@store.*@carts/, holds: %w[Sessions @store]
    class Session; def initialize = @carts = {}; def add(one) = (@carts[one] = [one]); end
    module Sessions; @store = Hash.new { |all, user| all[user] = Session.new }; def self.of(user) = @store[user]; end
    def leak(n) = n.times { |i| Sessions.of(i % 50).add(Leaked.new) } # here
  RUBY

  leak "constant that is on the stack, too", <<~RUBY, holder: /\bHELD\b/, path: /\bHELD\b/, holds: %w[HELD]
    HELD = [nil]
    alias dump_alone dump
    def dump = HELD.each { dump_alone; break }
    def leak(n) = n.times { HELD << Leaked.new } # here
  RUBY
end
