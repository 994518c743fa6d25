"""Text of launch files -> facts with their places. Nothing is ever run.

A script goes through these forms, each in the module named:
`bash.source.PlacedText` (text with places) -> tree-sitter's nodes (`bash.syntax_tree`) -> `bash.values.Word`
(expanded, what is unknown with its reason) -> `bash.shell.LaunchedCommand` (`bash.script.read_script`) ->
`launchers.Started` (launcher, program, processes) -> `command_options.CommandOptions` -> `facts.Fact`, by the
reader of a framework under `backends/`. `facts.LaunchConfig` holds the facts of one job, under the names of
`vocabulary.FACTS`. `sbatch_options` reads #SBATCH lines, `files` opens what a script names.
"""
