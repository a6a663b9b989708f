# Leak 6: a job that remembers the records it has seen.
class SyncJob < ApplicationJob
  @seen = []
  singleton_class.attr_reader :seen

  def perform
    self.class.seen << Product.limit(30).to_a
  end
end
