Rails.application.configure do
  config.eager_load = true
  config.enable_reloading = false
  config.consider_all_requests_local = false
  config.action_controller.perform_caching = true
  config.cache_store = :memory_store
  config.active_job.queue_adapter = :async
  config.active_record.dump_schema_after_migration = true
  config.log_level = :debug
  config.logger = ActiveSupport::TaggedLogging.new(ActiveSupport::Logger.new(config.paths["log"].first))
  config.log_tags = [:request_id]
  config.secret_key_base = "a key for tests alone " * 4
  config.hosts.clear
end
