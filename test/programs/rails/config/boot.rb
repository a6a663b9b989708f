# The gems are where GEM_HOME says, in one version each: there is nothing for Bundler to do.
ENV["RAILS_ENV"] ||= "production"
