"""What each system publishes, beside what runs of it give: `rows()` of each module."""
