"""The site's policy: versions and budgets."""
