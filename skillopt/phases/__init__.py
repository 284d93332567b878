"""The phases of the loop: one module, one subcommand and one rule each, from files to files.

Without a subcommand: `plan`, which every start begins with, and what phases share (`job`, `problems`,
`recorded`, `shapes`, `spending`, `table_text`).
"""
