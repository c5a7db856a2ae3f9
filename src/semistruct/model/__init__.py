"""What learning leaves behind: a model labels under rules, ranks labellings, knows how right it is, and is one file."""
