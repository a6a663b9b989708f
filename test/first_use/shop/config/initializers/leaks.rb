Rails.application.config.to_prepare do
  ApplicationController.class_eval do
    include Heartbeat
    include Timing

    before_action do
      Audit.note(request)
      PriceList.quote(request.uuid)
      Feed.say("#{request.uuid} #{request.fullpath} #{'=' * 20_000}")
      heartbeat
      time_queries
      SyncJob.perform_later
      LetterJob.perform_later(Audit::ENTRIES.size)
    end
  end
end
