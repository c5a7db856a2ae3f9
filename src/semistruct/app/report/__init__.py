"""Drawing results: tables and plots. Nothing here trains."""
