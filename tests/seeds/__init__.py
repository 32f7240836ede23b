"""The snippets of the seeds, as their authors wrote them: only the import line may differ."""
