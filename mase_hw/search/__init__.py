"""Search: candidates from [search.search_space], measured in software and hardware, gone through by Optuna."""
