"""What people use: the command line, the workbench, experiments and reports, picking, suggestions, a spaCy step."""
