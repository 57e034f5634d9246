"""The lab: processes that run `TrainerHooks` and are really killed."""
