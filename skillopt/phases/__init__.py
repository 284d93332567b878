"""The phases of the loop: one module, one subcommand and one rule each, from files to files."""
